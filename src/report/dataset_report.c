#include "report/dataset_report.h"
#include "report/grid.h"
#include "report/json.h"

#include <inttypes.h>
#include <math.h>

enum { SCHEMA = 1 }; /* version of the fields, doc/json.md */

typedef struct writing {
    const dataset_summary *summary;
    sooth_report_options options;
    text *out;
    arena *scratch;
} writing;

/* ---- table ------------------------------------------------------------------------------------------------------- */

static void add_range(grid *g, int64_t low, int64_t high)
{
    if (low == high)
        grid_printf(g, "%" PRId64, low);
    else
        grid_printf(g, "%" PRId64 " to %" PRId64, low, high);
}

static void write_families(writing *w)
{
    static const grid_column COLUMNS[] = {{"family", CELL_LEFT, 0},         {"graphs", CELL_RIGHT, 0},
                                          {"architectures", CELL_RIGHT, 3}, {"nodes", CELL_RIGHT, 2},
                                          {"batches", CELL_RIGHT, 2},       {"MACs: least", CELL_RIGHT, 1},
                                          {"median", CELL_RIGHT, 0},        {"largest", CELL_RIGHT, 1}};
    grid g;
    grid_begin(&g, w->out, w->scratch, &w->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < w->summary->family_count; i++) {
        const dataset_family *f = &w->summary->families[i];
        char room[NUMBER_ROOM];
        grid_add(&g, *f->name ? f->name : "(given networks)");
        grid_printf(&g, "%" PRId64, f->graphs);
        grid_printf(&g, "%" PRId64, f->architectures);
        add_range(&g, f->nodes_low, f->nodes_high);
        add_range(&g, f->batch_low, f->batch_high);
        grid_add(&g, number_short(room, (int64_t)f->macs_low));
        grid_add(&g, number_short(room, (int64_t)f->macs_median));
        grid_add(&g, number_short(room, (int64_t)f->macs_high));
    }
    grid_write(&g);
}

static void add_quantiles(grid *g, const double x[3])
{
    char rooms[3][NUMBER_ROOM];
    if (isnan(x[1]))
        grid_add(g, "");
    else
        grid_printf(g, "%s, %s, %s", number_digits(rooms[0], x[0]), number_digits(rooms[1], x[1]),
                    number_digits(rooms[2], x[2]));
}

static void write_settings(writing *w)
{
    static const grid_column COLUMNS[] = {{"GPU", CELL_LEFT, 0},         {"setting", CELL_LEFT, 0},
                                          {"labels", CELL_RIGHT, 0},     {"kind", CELL_LEFT, 0},
                                          {"latency ms", CELL_RIGHT, 0}, {"energy J", CELL_RIGHT, 2},
                                          {"memory MiB", CELL_RIGHT, 1}, {"utilization %", CELL_RIGHT, 3}};
    if (!w->summary->setting_count)
        return;
    text_puts(w->out, "\n  labels; quantiles of 10, 50 and 90 %\n\n");
    grid g;
    grid_begin(&g, w->out, w->scratch, &w->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < w->summary->setting_count; i++) {
        const dataset_setting *s = &w->summary->settings[i];
        grid_printf(&g, "%s%s%s", s->gpu, *s->mig ? " " : "", s->mig);
        grid_printf(&g, "%s %s %s %s%s%s", s->precision, s->layout, s->runtime, s->mode, *s->stack ? " " : "",
                    s->stack);
        grid_printf(&g, "%" PRId64, s->labels);
        grid_add(&g, s->kind);
        add_quantiles(&g, s->latency_ms);
        add_quantiles(&g, s->energy_j);
        add_quantiles(&g, s->memory_mib);
        add_quantiles(&g, s->utilization);
    }
    grid_write(&g);
}

static void write_findings(writing *w)
{
    const dataset_summary *s = w->summary;
    if (!s->was_checked)
        return;
    if (!s->finding_count)
        text_puts(w->out, "\n  checked: every graph, label and sum is right\n");
    else
        text_printf(w->out, "\n  %" PRId64 " faults\n", (int64_t)s->finding_count + s->more_findings);
    for (size_t i = 0; i < s->finding_count; i++) {
        text_puts(w->out, "  ");
        text_name(w->out, s->findings[i], SIZE_MAX, w->options.ascii);
        text_puts(w->out, "\n");
    }
    if (s->more_findings)
        text_printf(w->out, "  and %" PRId64 " more\n", s->more_findings);
}

static void as_table(writing *w)
{
    const dataset_summary *s = w->summary;
    text_name(w->out, s->path, SIZE_MAX, w->options.ascii);
    text_printf(w->out, ": %" PRId64 " graphs, %" PRId64 " distinct, %" PRId64 " architectures, %" PRId64 " labels",
                s->graphs, s->distinct, s->architectures, s->labels);
    if (!s->is_complete)
        text_printf(w->out, "; not complete, %" PRId64 " are planned", s->planned);
    text_puts(w->out, "\n\n");
    write_families(w);
    write_settings(w);
    write_findings(w);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_range(json *j, const char *key, double low, double high)
{
    json_key(j, key);
    json_open(j, '[', true);
    json_real(j, low);
    json_real(j, high);
    json_close(j, ']');
}

static void json_quantiles(json *j, const char *key, const double x[3])
{
    json_key(j, key);
    json_open(j, '{', true);
    json_pair_real(j, "p10", x[0]);
    json_pair_real(j, "median", x[1]);
    json_pair_real(j, "p90", x[2]);
    json_close(j, '}');
}

static void json_family(json *j, const dataset_family *f)
{
    json_open(j, '{', true);
    json_pair_string(j, "family", f->name);
    json_pair_number(j, "graphs", f->graphs);
    json_pair_number(j, "architectures", f->architectures);
    json_range(j, "nodes", (double)f->nodes_low, (double)f->nodes_high);
    json_range(j, "batch", (double)f->batch_low, (double)f->batch_high);
    json_pair_number(j, "macs_low", (int64_t)f->macs_low);
    json_pair_number(j, "macs_median", (int64_t)f->macs_median);
    json_pair_number(j, "macs_high", (int64_t)f->macs_high);
    json_close(j, '}');
}

static void json_setting(json *j, const dataset_setting *s)
{
    json_open(j, '{', true);
    json_pair_string(j, "gpu", s->gpu);
    json_pair_text(j, "mig", s->mig);
    json_pair_text(j, "precision", s->precision);
    json_pair_text(j, "layout", s->layout);
    json_pair_text(j, "runtime", s->runtime);
    json_pair_text(j, "mode", s->mode);
    json_pair_text(j, "stack", s->stack);
    json_pair_string(j, "kind", s->kind);
    json_pair_number(j, "labels", s->labels);
    json_quantiles(j, "latency_ms", s->latency_ms);
    json_quantiles(j, "energy_j", s->energy_j);
    json_quantiles(j, "memory_mib", s->memory_mib);
    json_quantiles(j, "utilization", s->utilization);
    json_close(j, '}');
}

static void as_json(writing *w)
{
    const dataset_summary *s = w->summary;
    json writer = {.out = w->out}, *j = &writer;
    json_open(j, '{', false);
    json_identity(j, SCHEMA, s->weights);
    json_pair_string(j, "file", s->path);
    json_pair_bool(j, "complete", s->is_complete);
    json_pair_number(j, "graphs", s->graphs);
    json_pair_number(j, "planned", s->planned);
    json_pair_number(j, "distinct", s->distinct);
    json_pair_number(j, "architectures", s->architectures);
    json_pair_number(j, "labels", s->labels);
    json_pair_number(j, "operators", s->operators);
    json_key(j, "families");
    json_open(j, '[', false);
    for (size_t i = 0; i < s->family_count; i++)
        json_family(j, &s->families[i]);
    json_close(j, ']');
    json_key(j, "settings");
    json_open(j, '[', false);
    for (size_t i = 0; i < s->setting_count; i++)
        json_setting(j, &s->settings[i]);
    json_close(j, ']');
    if (s->was_checked) {
        json_key(j, "faults");
        json_open(j, '[', false);
        for (size_t i = 0; i < s->finding_count; i++)
            json_string(j, s->findings[i]);
        json_close(j, ']');
        json_pair_number(j, "more_faults", s->more_findings);
    }
    json_close(j, '}');
    text_puts(w->out, "\n");
}

static void write_report(void *report, text *out, arena *scratch)
{
    writing *w = report;
    w->out = out;
    w->scratch = scratch;
    if (w->options.format == SOOTH_FORMAT_JSON)
        as_json(w);
    else
        as_table(w);
}

sooth_status dataset_report(const dataset_summary *summary, const sooth_report_options *options, char **bytes,
                            size_t *size, sooth_error *error)
{
    writing w = {.summary = summary, .options = *options};
    return text_report(write_report, &w, bytes, size, error);
}
