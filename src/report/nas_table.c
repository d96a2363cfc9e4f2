/* nas_table.c: `sooth nas` for people at a terminal: the best architectures, the Pareto front, utilization over the
 * space. */
#include "report/grid.h"
#include "report/nas_report.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_PARETO = 20, MOST_EFFECTS = 40 };

static const grid_column COLUMNS[] = {{"architecture", CELL_LEFT, 0}, {"latency ms", CELL_RIGHT, 0},
                                      {"low", CELL_RIGHT, 4},         {"high", CELL_RIGHT, 4},
                                      {"GPU", CELL_RIGHT, 0},         {"MACs", CELL_RIGHT, 1},
                                      {"params", CELL_RIGHT, 2},      {"memory MiB", CELL_RIGHT, 3},
                                      {"J", CELL_RIGHT, 3},           {"accuracy", CELL_RIGHT, 0}};

static void add_candidate(grid *g, nas_report *r, size_t index)
{
    sooth_nas_candidate c = sooth_nas_candidate_at(r->nas, index);
    char room[NUMBER_ROOM];
    nas_names(r, index);
    grid_add(g, r->architecture);
    grid_add(g, number_digits(room, c.latency_ms.value));
    grid_add(g, number_digits(room, c.latency_ms.low));
    grid_add(g, number_digits(room, c.latency_ms.high));
    grid_printf(g, "%.1f %%", c.utilization);
    grid_add(g, number_short(room, c.macs));
    grid_add(g, number_short(room, c.params));
    grid_add(g, isnan(c.memory_mib) ? "" : number_grouped(room, (int64_t)round(c.memory_mib)));
    grid_add(g, number_digits(room, c.energy_j));
    if (r->has_accuracy)
        grid_printf(g, "%.2f", c.accuracy);
}

static void write_list(nas_report *r, const char *title, size_t (*at)(const sooth_nas *, size_t), size_t most)
{
    size_t index, shown = 0;
    if (at(r->nas, 0) == SIZE_MAX)
        return;
    text_printf(r->out, "\n  %s\n", title);
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS - !r->has_accuracy);
    for (; shown < most && (index = at(r->nas, shown)) != SIZE_MAX; shown++)
        add_candidate(&g, r, index);
    grid_write(&g);
    size_t more = 0;
    while (at(r->nas, shown + more) != SIZE_MAX)
        more++;
    if (more && at == sooth_nas_pareto)
        text_printf(r->out, "  … and %zu more: --format json\n", more);
}

static void write_effects(nas_report *r)
{
    static const grid_column EFFECTS[] = {{"choice", CELL_LEFT, 0},      {"value", CELL_LEFT, 0},
                                          {"n", CELL_RIGHT, 0},          {"GPU", CELL_RIGHT, 0},
                                          {"latency ms", CELL_RIGHT, 0}, {"accuracy", CELL_RIGHT, 0}};
    size_t count = 0;
    while (sooth_nas_effect_at(r->nas, count).choice)
        count++;
    if (!count || count > MOST_EFFECTS)
        return;
    text_puts(r->out, "\n  means by value of each choice, over the candidates within the limits\n");
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, EFFECTS, sizeof EFFECTS / sizeof *EFFECTS - !r->has_accuracy);
    for (size_t i = 0; i < count; i++) {
        sooth_nas_effect e = sooth_nas_effect_at(r->nas, i);
        char room[NUMBER_ROOM];
        grid_add(&g, e.choice);
        grid_add(&g, e.value);
        grid_printf(&g, "%zu", e.count);
        grid_printf(&g, "%.1f %%", e.count ? e.utilization : 0);
        grid_add(&g, e.count ? number_digits(room, e.latency_ms) : "");
        if (r->has_accuracy)
            grid_printf(&g, "%.2f", e.accuracy);
    }
    grid_write(&g);
}

static void write_repeats(nas_report *r)
{
    for (size_t i = 0;; i++) {
        sooth_nas_repeat s = sooth_nas_repeat_at(r->nas, i);
        if (!s.repeats)
            return;
        text_printf(
            r->out,
            "\n  within %g points of the best (%.2f): %.1f evaluations on average (95 %% interval %.1f to %.1f), "
            "median %.0f; reached by %zu of %zu searches",
            s.within, r->totals.best_accuracy, s.mean, s.low, s.high, s.median, s.reached, s.repeats);
    }
}

static void add_correlation(nas_report *r, const char *name, double rho)
{
    if (!isnan(rho))
        text_printf(r->out, "; %s %.2f", name, rho);
}

void nas_table(nas_report *r)
{
    const sooth_nas_totals *t = &r->totals;
    text *o = r->out;
    text_printf(o, "%s on %s  batch %" PRId64 ", %s, %s, %s, %s\n\n", t->space, t->gpu, t->batch, t->precision,
                t->layout, t->runtime, t->mode);
    text_printf(o, "  %.6g candidates, %zu predicted, %zu within the limits, %zu kept, %zu evaluated (%s)\n",
                t->candidates, t->predicted, t->feasible, t->kept, t->evaluated, t->method);
    if (t->failed)
        text_printf(o, "  %zu candidates have no prediction; --format csv says why\n", t->failed);
    if (!t->feasible)
        return;
    text_printf(o, "  GPU utilization: a tenth below %.1f %%, median %.1f %%, a tenth above %.1f %%, at most %.1f %%\n",
                t->utilization_p10, t->utilization_median, t->utilization_p90, t->utilization_max);
    text_puts(o, "  rank correlations of the utilization");
    add_correlation(r, "with latency", t->utilization_with_latency);
    add_correlation(r, "with accuracy", t->utilization_with_accuracy);
    add_correlation(r, "(MACs with accuracy:", t->macs_with_accuracy);
    text_puts(o, isnan(t->macs_with_accuracy) ? "\n" : ")\n");
    write_list(r, r->has_accuracy ? "most accurate" : "highest utilization", sooth_nas_best, r->top);
    write_list(r, r->has_accuracy ? "Pareto front of latency and accuracy" : "Pareto front of latency and MACs",
               sooth_nas_pareto, MOST_PARETO);
    write_effects(r);
    write_repeats(r);
    text_puts(o, sooth_nas_repeat_at(r->nas, 0).repeats ? "\n" : "");
}
