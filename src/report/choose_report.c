/* choose_report.c: `sooth choose`: a table for people, CSV and JSON for programs. */
#include "report/grid.h"
#include "report/json.h"

#include <inttypes.h>
#include <math.h>

enum { SCHEMA = 1, MOST_FAILING = 12 }; /* SCHEMA: version of the fields, doc/json.md */

typedef struct choose_report {
    const sooth_choices *choices;
    sooth_choose_totals totals;
    sooth_report_options options;
    text *out;
    arena *scratch;
} choose_report;

/* ---- table ------------------------------------------------------------------------------------------------------- */

static void write_target(choose_report *r)
{
    const sooth_choose_totals *t = &r->totals;
    text_name(r->out, t->file, SIZE_MAX, r->options.ascii);
    text_printf(r->out, "  %s", t->mode);
    if (t->latency_ms > 0)
        text_printf(r->out, ", at most %g ms", t->latency_ms);
    if (t->throughput_per_s > 0)
        text_printf(r->out, ", at least %g samples/s", t->throughput_per_s);
    if (t->epoch_samples)
        text_printf(r->out, ", epochs of %" PRId64 " samples", t->epoch_samples);
    text_puts(r->out, "\n");
}

static const char *place_of(choose_report *r, const sooth_choice *c)
{
    return *c->mig ? arena_printf(r->scratch, "%s %s", c->gpu, c->mig).ptr : c->gpu;
}

static void add_row(grid *g, choose_report *r, const sooth_choice *c)
{
    char room[NUMBER_ROOM];
    grid_add(g, place_of(r, c));
    grid_printf(g, "%s %s %s", c->precision, c->layout, c->runtime);
    grid_printf(g, "%" PRId64, c->batch);
    grid_add(g, number_digits(room, c->latency_ms.value));
    grid_printf(g, "up to %s", number_digits(room, c->latency_ms.high));
    grid_add(g, number_digits(room, c->throughput_per_s));
    grid_add(g, number_grouped(room, (int64_t)round(c->memory_mib.high)));
    grid_add(g, number_digits(room, c->energy_j.value * 1e3 / (double)c->batch));
    grid_printf(g, "%.1f %%", c->utilization);
    bool in_epochs = r->totals.epoch_samples > 0;
    double cost = in_epochs ? c->usd_per_epoch : c->usd_per_million;
    if (in_epochs)
        grid_add(g, number_digits(room, c->epoch_h));
    if (r->totals.has_prices)
        grid_add(g, isfinite(cost) ? number_digits(room, cost) : "?");
}

static void write_meeting(choose_report *r, size_t meeting)
{
    const bool in_epochs = r->totals.epoch_samples > 0;
    grid_column columns[11] = {{"GPU", CELL_LEFT, 0},         {"setting", CELL_LEFT, 2},
                               {"batch", CELL_RIGHT, 0},      {"ms", CELL_RIGHT, 0},
                               {"", CELL_RIGHT, 4},           {"samples/s", CELL_RIGHT, 0},
                               {"MiB, up to", CELL_RIGHT, 3}, {"J per 1,000", CELL_RIGHT, 3},
                               {"GPU", CELL_RIGHT, 4}};
    size_t count = 9;
    if (in_epochs)
        columns[count++] = (grid_column){"hours per epoch", CELL_RIGHT, 0};
    if (r->totals.has_prices)
        columns[count++] = (grid_column){in_epochs ? "USD per epoch" : "USD per million", CELL_RIGHT, 0};
    text_puts(r->out, "\n");
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, columns, count);
    for (size_t i = 0; i < meeting; i++) {
        sooth_choice c = sooth_choice_at(r->choices, i);
        add_row(&g, r, &c);
    }
    grid_write(&g);
}

static void write_failing(choose_report *r, size_t meeting)
{
    size_t count = sooth_choice_count(r->choices);
    if (meeting == count)
        return;
    text_printf(r->out, "\n  %zu do not meet the target, the nearest first:\n", count - meeting);
    for (size_t i = meeting; i < count && i < meeting + MOST_FAILING; i++) {
        sooth_choice c = sooth_choice_at(r->choices, i);
        text_printf(r->out, "  %s: ", place_of(r, &c));
        text_name(r->out, c.reason, SIZE_MAX, r->options.ascii);
        text_puts(r->out, "\n");
    }
    if (count - meeting > MOST_FAILING)
        text_printf(r->out, "  … and %zu more: --format csv\n", count - meeting - MOST_FAILING);
}

static void as_table(choose_report *r)
{
    size_t count = sooth_choice_count(r->choices), meeting = 0;
    while (meeting < count && sooth_choice_at(r->choices, meeting).meets)
        meeting++;
    write_target(r);
    if (meeting)
        write_meeting(r, meeting);
    write_failing(r, meeting);
}

/* ---- CSV and JSON ------------------------------------------------------------------------------------------------ */

static void as_csv(choose_report *r)
{
    text *out = r->out;
    text_puts(out, "rank,gpu,mig,meets,precision,layout,runtime,batch,latency_ms,latency_ms_low,latency_ms_high,"
                   "throughput_per_s,throughput_per_s_low,memory_mib,memory_mib_high,capacity_mib,energy_j,utilization,"
                   "usd_per_hour,usd_per_million,epoch_h,usd_per_epoch,reason\n");
    for (size_t i = 0; i < sooth_choice_count(r->choices); i++) {
        sooth_choice c = sooth_choice_at(r->choices, i);
        bool has_figures = c.batch > 0;
        text_printf(out, "%zu", i + 1);
        text_csv_text(out, c.gpu);
        text_csv_text(out, c.mig);
        text_printf(out, ",%d", c.meets);
        text_csv_text(out, c.precision);
        text_csv_text(out, c.layout);
        text_csv_text(out, c.runtime);
        text_csv_number(out, has_figures ? c.batch : -1);
        const double figures[] = {c.latency_ms.value,
                                  c.latency_ms.low,
                                  c.latency_ms.high,
                                  c.throughput_per_s,
                                  c.throughput_per_s_low,
                                  c.memory_mib.value,
                                  c.memory_mib.high,
                                  c.capacity_mib,
                                  c.energy_j.value,
                                  c.utilization,
                                  c.usd_h,
                                  c.usd_per_million,
                                  c.epoch_h,
                                  c.usd_per_epoch};
        for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
            text_csv_real(out, has_figures ? figures[k] : NAN);
        text_csv_text(out, c.reason);
        text_puts(out, "\n");
    }
}

static void json_choice(json *j, const sooth_choice *c)
{
    json_open(j, '{', true);
    json_pair_string(j, "gpu", c->gpu);
    json_pair_text(j, "mig", c->mig);
    json_pair_bool(j, "meets", c->meets);
    json_pair_string(j, "precision", c->precision);
    json_pair_string(j, "layout", c->layout);
    json_pair_string(j, "runtime", c->runtime);
    if (c->batch > 0) {
        json_pair_number(j, "batch", c->batch);
        json_pair_interval(j, "latency_ms", c->latency_ms);
        json_pair_real(j, "throughput_per_s", c->throughput_per_s);
        json_pair_real(j, "throughput_per_s_low", c->throughput_per_s_low);
        json_pair_interval(j, "memory_mib", c->memory_mib);
        json_pair_real(j, "capacity_mib", c->capacity_mib);
        json_pair_interval(j, "energy_j", c->energy_j);
        json_pair_real(j, "utilization", c->utilization);
        json_pair_real(j, "usd_per_hour", c->usd_h);
        json_pair_real(j, "usd_per_million", c->usd_per_million);
        json_pair_real(j, "epoch_h", c->epoch_h);
        json_pair_real(j, "usd_per_epoch", c->usd_per_epoch);
    }
    json_pair_text(j, "reason", c->reason);
    json_close(j, '}');
}

static void as_json(choose_report *r)
{
    const sooth_choose_totals *t = &r->totals;
    json writer = {.out = r->out}, *j = &writer;
    json_open(j, '{', false);
    json_identity(j, SCHEMA, t->weights);
    json_pair_string(j, "model", t->file);
    json_pair_string(j, "mode", t->mode);
    json_key(j, "target");
    json_open(j, '{', true);
    json_pair_real(j, "latency_ms", t->latency_ms > 0 ? t->latency_ms : NAN);
    json_pair_real(j, "throughput_per_s", t->throughput_per_s > 0 ? t->throughput_per_s : NAN);
    json_close(j, '}');
    json_key(j, "choices");
    json_open(j, '[', false);
    for (size_t i = 0; i < sooth_choice_count(r->choices); i++) {
        sooth_choice c = sooth_choice_at(r->choices, i);
        json_choice(j, &c);
    }
    json_close(j, ']');
    json_close(j, '}');
    text_puts(r->out, "\n");
}

static void write_report(void *report, text *out, arena *scratch)
{
    choose_report *r = report;
    r->out = out;
    r->scratch = scratch;
    if (r->options.format == SOOTH_FORMAT_TABLE)
        as_table(r);
    else if (r->options.format == SOOTH_FORMAT_CSV)
        as_csv(r);
    else if (r->options.format == SOOTH_FORMAT_JSON)
        as_json(r);
    else
        fail_with(out->fail, SOOTH_ERROR_USAGE, "choices are written as a table, CSV or JSON");
}

sooth_status sooth_choose_report(const sooth_choices *choices, const sooth_report_options *options, char **bytes,
                                 size_t *size, sooth_error *error)
{
    choose_report r = {.choices = choices,
                       .totals = sooth_choose_totals_of(choices),
                       .options = options ? *options : (sooth_report_options){0}};
    return text_report(write_report, &r, bytes, size, error);
}
