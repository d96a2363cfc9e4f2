/* eval_table.c: `sooth eval --format table`. */
#include "learn/eval_report.h"
#include "predict/setting.h"
#include "report/grid.h"

#include <math.h>
#include <stdio.h>

enum { MOST_WORST = 20, MOST_REASONS = 20 };

static void title(eval_report *r, const char *s)
{
    text_style(r->out, &r->options, "1");
    text_printf(r->out, "\n  %s\n", s);
    text_style(r->out, &r->options, "0");
}

static void add_real(grid *g, const char *format, double x)
{
    char cell[NUMBER_ROOM];
    snprintf(cell, sizeof cell, format, x);
    grid_add(g, isfinite(x) ? cell : "-");
}

static void add_score(grid *g, const char *name, const score *s)
{
    grid_add(g, name);
    grid_printf(g, "%zu", s->n);
    add_real(g, "%.2f", s->mape);
    add_real(g, "%.2f", s->median);
    add_real(g, "%.2f", s->p90);
    add_real(g, "%.1f", s->within5);
    add_real(g, "%.1f", s->within10);
    add_real(g, "%.4f", s->spearman);
    add_real(g, "%.1f", s->coverage90);
    add_real(g, "%.1f", s->width90);
}

static const grid_column SCORE_COLUMNS[] = {
    {"latency", CELL_LEFT, 0},      {"rows", CELL_RIGHT, 0},     {"MAPE %", CELL_RIGHT, 0},
    {"median %", CELL_RIGHT, 0},    {"p90 %", CELL_RIGHT, 0},    {"within 5 %", CELL_RIGHT, 0},
    {"within 10 %", CELL_RIGHT, 0}, {"Spearman", CELL_RIGHT, 0}, {"in interval %", CELL_RIGHT, 0},
    {"its width %", CELL_RIGHT, 0},
};

static void begin_scores(eval_report *r, grid *g)
{
    grid_begin(g, r->out, r->scratch, &r->options, SCORE_COLUMNS, sizeof SCORE_COLUMNS / sizeof *SCORE_COLUMNS);
}

static void begin_memory_scores(eval_report *r, grid *g)
{
    grid_column *columns = arena_copy(r->scratch, SCORE_COLUMNS, 1, sizeof SCORE_COLUMNS);
    columns[0].title = "memory";
    grid_begin(g, r->out, r->scratch, &r->options, columns, sizeof SCORE_COLUMNS / sizeof *SCORE_COLUMNS);
}

static void totals(eval_report *r)
{
    grid g;
    begin_scores(r, &g);
    for (int m = EVAL_SOOTH; m < EVAL_MODEL_COUNT; m++) {
        score s = eval_score(r->evaluation, (eval_model)m, BY_GPU, NULL, r->scratch);
        add_score(&g, eval_model_name((eval_model)m), &s);
    }
    score energy = eval_metric_score(r->evaluation, EVAL_ENERGY, BY_GPU, NULL, r->scratch);
    if (energy.n)
        add_score(&g, "sooth, energy", &energy);
    grid_write(&g);
    if (!*r->weights)
        text_puts(r->out, "  Without weights, sooth is the roofline.\n");
    text_puts(r->out, "  regression: quadratic in log(MACs, activations, parameters), fitted for each GPU, precision, "
                      "runtime and\n  stack on the other four fifths of the architectures; constant: times of the GPU "
                      "with the most rows in common,\n  scaled by the median ratio.\n");
}

/* Prints the memory errors of the rows with a memory measurement. */
static void memory_totals(eval_report *r)
{
    score s = eval_metric_score(r->evaluation, EVAL_MEMORY, BY_GPU, NULL, r->scratch);
    if (!s.n)
        return;
    text_puts(r->out, "\n");
    grid g;
    begin_memory_scores(r, &g);
    add_score(&g, "sooth", &s);
    for (size_t i = 0; i < r->by_count; i++) {
        size_t count;
        const str *names = eval_groups(r, r->by[i], &count);
        for (size_t k = 0; k < count; k++) {
            s = eval_metric_score(r->evaluation, EVAL_MEMORY, r->by[i], &names[k], r->scratch);
            if (s.n)
                add_score(&g, names[k].len ? arena_str(r->scratch, names[k]).ptr : "(none)", &s);
        }
    }
    grid_write(&g);
}

static void group_scores(eval_report *r, eval_by by)
{
    size_t count;
    const str *names = eval_groups(r, by, &count);
    char heading[64];
    snprintf(heading, sizeof heading, "by %s", eval_by_name(by));
    title(r, heading);
    grid g;
    begin_scores(r, &g);
    for (size_t i = 0; i < count; i++) {
        score s = eval_score(r->evaluation, EVAL_SOOTH, by, &names[i], r->scratch);
        if (s.n)
            add_score(&g, names[i].len ? arena_str(r->scratch, names[i]).ptr : "(none)", &s);
    }
    grid_write(&g);
}

static void worst(eval_report *r)
{
    static const grid_column COLUMNS[] = {{"row", CELL_LEFT, 0},          {"error %", CELL_RIGHT, 0},
                                          {"measured ms", CELL_RIGHT, 0}, {"predicted ms", CELL_RIGHT, 0},
                                          {"batch", CELL_RIGHT, 0},       {"gpu", CELL_LEFT, 0},
                                          {"setting", CELL_LEFT, 0}};
    size_t count;
    const eval_row **rows = eval_worst(r, MOST_WORST, &count);
    title(r, "worst");
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < count; i++) {
        const measured_row *m = rows[i]->row;
        grid_printf(&g, "%.*s (line %d)", STR_ARG(m->name), (int)m->line);
        add_real(&g, "%.1f", eval_error(rows[i]));
        add_real(&g, "%.4g", m->latency_ms);
        add_real(&g, "%.4g", rows[i]->latency_ms);
        grid_printf(&g, "%lld", (long long)m->batch);
        grid_printf(&g, "%.*s", STR_ARG(m->gpu));
        grid_printf(&g, "%s %s %s %s %.*s", setting_name(&m->where, SETTING_PRECISION),
                    setting_name(&m->where, SETTING_LAYOUT), setting_name(&m->where, SETTING_RUNTIME),
                    setting_name(&m->where, SETTING_MODE), STR_ARG(m->where.stack));
    }
    grid_write(&g);
}

/* ---- rows without an answer -------------------------------------------------------------------------------------- */

static void skipped(eval_report *r)
{
    size_t count;
    const eval_reason *reasons = eval_reasons(r, &count);
    if (!count)
        return;
    title(r, "skipped");
    for (size_t i = 0; i < count && i < MOST_REASONS; i++) {
        text_printf(r->out, "  %zu row%s, first in line %d: ", reasons[i].rows, reasons[i].rows == 1 ? "" : "s",
                    (int)reasons[i].first->row->line);
        text_name(r->out, reasons[i].text, SIZE_MAX, r->options.ascii);
        text_puts(r->out, "\n");
    }
    if (count > MOST_REASONS)
        text_printf(r->out, "  and %zu more reasons: --format json lists every row\n", count - MOST_REASONS);
}

void eval_table(eval_report *r)
{
    const evaluation *e = r->evaluation;
    size_t refused = 0;
    for (size_t i = 0; i < e->count; i++)
        refused += e->rows[i].reason != NULL;
    text_printf(r->out, "%zu rows, %zu skipped\n\n", e->count, refused);
    totals(r);
    memory_totals(r);
    for (size_t i = 0; i < r->by_count; i++)
        group_scores(r, r->by[i]);
    worst(r);
    skipped(r);
}
