#include "report/sweep_report.h"
#include "report/chart.h"
#include "report/grid.h"
#include "report/json.h"
#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { SCHEMA = 1, MOST_FRONT = 12 }; /* SCHEMA: version of the fields, doc/json.md */

typedef struct writing {
    const sweep_summary *summary;
    sooth_report_options options;
    text *out;
    arena *scratch;
} writing;

static const char *setting_name(writing *w, const sweep_setting_row *s)
{
    return arena_printf(w->scratch, "%s%s%s %s %s %s %s%s%s", s->gpu, *s->mig ? " " : "", s->mig, s->precision,
                        s->layout, s->runtime, s->mode, *s->stack ? " " : "", s->stack)
        .ptr;
}

/* ---- table ------------------------------------------------------------------------------------------------------- */

static void write_settings(writing *w)
{
    static const grid_column COLUMNS[] = {{"GPU and setting", CELL_LEFT, 0},
                                          {"points", CELL_RIGHT, 3},
                                          {"latency ms: least", CELL_RIGHT, 1},
                                          {"mean", CELL_RIGHT, 0},
                                          {"most", CELL_RIGHT, 2},
                                          {"most samples/s", CELL_RIGHT, 0},
                                          {"with", CELL_LEFT, 4},
                                          {"GPU: mean", CELL_RIGHT, 2},
                                          {"most", CELL_RIGHT, 5}};
    grid g;
    grid_begin(&g, w->out, w->scratch, &w->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < w->summary->setting_count; i++) {
        const sweep_setting_row *s = &w->summary->settings[i];
        char room[NUMBER_ROOM];
        grid_add(&g, setting_name(w, s));
        grid_printf(&g, "%" PRId64, s->points);
        grid_add(&g, s->points ? number_digits(room, s->latency_ms_least) : "");
        grid_add(&g, s->points ? number_digits(room, s->latency_ms_mean) : "");
        grid_add(&g, s->points ? number_digits(room, s->latency_ms_most) : "");
        grid_add(&g, s->points ? number_digits(room, s->throughput_most) : "");
        if (s->points)
            grid_printf(&g, "%s, batch %" PRId64, s->fastest.spec, s->fastest.batch);
        else
            grid_add(&g, "");
        grid_add(&g, page_percent(room, s->utilization_mean));
        grid_add(&g, page_percent(room, s->utilization_most));
    }
    grid_write(&g);
}

static void write_front(writing *w, const sweep_setting_row *s)
{
    static const grid_column COLUMNS[] = {{"network", CELL_LEFT, 0},     {"batch", CELL_RIGHT, 0},
                                          {"latency ms", CELL_RIGHT, 0}, {"MACs", CELL_RIGHT, 0},
                                          {"samples/s", CELL_RIGHT, 1},  {"J", CELL_RIGHT, 2}};
    text_printf(w->out, "\n  most MACs in the shortest time, on %s: %zu points", setting_name(w, s), s->front_count);
    text_puts(w->out, s->front_count > MOST_FRONT ? ", these among them\n\n" : "\n\n");
    grid g;
    grid_begin(&g, w->out, w->scratch, &w->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    size_t shown = s->front_count < MOST_FRONT ? s->front_count : MOST_FRONT;
    for (size_t i = 0; i < shown; i++) {
        const sweep_front_point *p = &s->front[shown > 1 ? i * (s->front_count - 1) / (shown - 1) : 0];
        char room[NUMBER_ROOM];
        grid_add(&g, p->spec);
        grid_printf(&g, "%" PRId64, p->batch);
        grid_add(&g, number_digits(room, p->latency_ms));
        grid_add(&g, number_short(room, p->macs));
        grid_add(&g, number_digits(room, p->throughput_per_s));
        grid_add(&g, number_digits(room, p->energy_j));
    }
    grid_write(&g);
}

static void as_table(writing *w)
{
    const sweep_summary *s = w->summary;
    text_name(w->out, s->plan, SIZE_MAX, w->options.ascii);
    text_printf(w->out, ": %" PRId64 " of %" PRId64 " combinations in ", s->points + s->failed_points, s->planned);
    text_name(w->out, s->database, SIZE_MAX, w->options.ascii);
    text_puts(w->out, "\n\n");
    write_settings(w);
    if (s->setting_count && s->settings[0].front_count)
        write_front(w, &s->settings[0]);
    if (s->failed_networks || s->failed_points) {
        text_printf(w->out,
                    "\n  %" PRId64 " networks cannot be built, %" PRId64
                    " combinations cannot be predicted; the first: ",
                    s->failed_networks, s->failed_points);
        text_name(w->out, s->first_error, SIZE_MAX, w->options.ascii);
        text_puts(w->out, "\n");
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_point(json *j, const sweep_front_point *p)
{
    json_open(j, '{', true);
    json_pair_string(j, "graph", p->spec);
    json_pair_number(j, "batch", p->batch);
    json_pair_number(j, "macs", p->macs);
    json_pair_real(j, "latency_ms", p->latency_ms);
    json_pair_real(j, "throughput_per_s", p->throughput_per_s);
    json_pair_real(j, "energy_j", p->energy_j);
    json_close(j, '}');
}

static void json_setting(json *j, const sweep_setting_row *s)
{
    json_open(j, '{', false);
    json_pair_string(j, "gpu", s->gpu);
    json_pair_text(j, "mig", s->mig);
    json_pair_string(j, "precision", s->precision);
    json_pair_string(j, "layout", s->layout);
    json_pair_string(j, "runtime", s->runtime);
    json_pair_string(j, "mode", s->mode);
    json_pair_text(j, "stack", s->stack);
    json_pair_number(j, "points", s->points);
    json_pair_number(j, "failed", s->failed);
    json_pair_real(j, "latency_ms_least", s->latency_ms_least);
    json_pair_real(j, "latency_ms_mean", s->latency_ms_mean);
    json_pair_real(j, "latency_ms_most", s->latency_ms_most);
    json_pair_real(j, "throughput_most", s->throughput_most);
    json_pair_real(j, "utilization_mean", s->utilization_mean);
    json_pair_real(j, "utilization_most", s->utilization_most);
    json_key(j, "pareto");
    json_open(j, '[', false);
    for (size_t i = 0; i < s->front_count; i++)
        json_point(j, &s->front[i]);
    json_close(j, ']');
    json_close(j, '}');
}

static void json_names(json *j, const char *key, const char *const *names, size_t count)
{
    json_key(j, key);
    json_open(j, '[', true);
    for (size_t i = 0; i < count; i++)
        json_string(j, names[i]);
    json_close(j, ']');
}

static void json_map(json *j, const sweep_map *m)
{
    json_open(j, '{', false);
    json_pair_string(j, "family", m->family);
    json_pair_string(j, "title", m->title);
    json_names(j, "rows", m->rows, m->row_count);
    json_names(j, "columns", m->columns, m->column_count);
    json_key(j, "cells");
    json_open(j, '[', true);
    for (size_t i = 0; i < m->row_count; i++) {
        json_open(j, '[', true);
        for (size_t k = 0; k < m->column_count; k++)
            json_real(j, m->cells[i * m->column_count + k]);
        json_close(j, ']');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void as_json(writing *w)
{
    const sweep_summary *s = w->summary;
    json writer = {.out = w->out}, *j = &writer;
    json_open(j, '{', false);
    json_identity(j, SCHEMA, s->weights);
    json_pair_string(j, "plan", s->plan);
    json_pair_string(j, "file", s->database);
    json_pair_bool(j, "complete", s->is_complete);
    json_pair_number(j, "combinations", s->planned);
    json_pair_number(j, "points", s->points);
    json_pair_number(j, "networks", s->networks);
    json_pair_number(j, "failed_networks", s->failed_networks);
    json_pair_number(j, "failed_points", s->failed_points);
    json_pair_text(j, "first_error", s->first_error);
    json_key(j, "settings");
    json_open(j, '[', false);
    for (size_t i = 0; i < s->setting_count; i++)
        json_setting(j, &s->settings[i]);
    json_close(j, ']');
    json_key(j, "maps");
    json_open(j, '[', false);
    for (size_t i = 0; i < s->map_count; i++)
        json_map(j, &s->maps[i]);
    json_close(j, ']');
    json_close(j, '}');
    text_puts(w->out, "\n");
}

/* ---- page -------------------------------------------------------------------------------------------------------- */

static const char MAP_STYLE[] =
    ".map td{text-align:right;min-width:3.2em;padding:.3em .5em;font-variant-numeric:tabular-nums}"
    ".map th{font-weight:500;white-space:nowrap}.map td.c{background:color-mix(in srgb,var(--s0) "
    "var(--p),var(--paper))}"
    ".map td.dark{color:#fff}\n";

/* Colours cells by their logarithm, from the smallest cell of the map to the largest. */
static void html_map(writing *w, const sweep_map *m)
{
    text *o = w->out;
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < m->row_count * m->column_count; i++)
        if (m->cells[i] > 0) {
            least = fmin(least, m->cells[i]);
            most = fmax(most, m->cells[i]);
        }
    text_puts(o, "<h2>");
    text_xml(o, m->family);
    text_puts(o, ": ");
    text_xml(o, m->title);
    text_puts(o, "</h2>\n<div class=\"wide\"><table class=\"map\"><thead><tr><th>");
    text_xml(o, m->row_title);
    text_puts(o, " \\ ");
    text_xml(o, m->column_title);
    text_puts(o, "</th>");
    for (size_t k = 0; k < m->column_count; k++) {
        text_puts(o, "<th class=\"n\">");
        text_xml(o, m->columns[k]);
        text_puts(o, "</th>");
    }
    text_puts(o, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < m->row_count; i++) {
        text_puts(o, "<tr><th>");
        text_xml(o, m->rows[i]);
        text_puts(o, "</th>");
        for (size_t k = 0; k < m->column_count; k++) {
            double x = m->cells[i * m->column_count + k];
            char room[NUMBER_ROOM];
            if (!(x > 0)) {
                text_puts(o, "<td></td>");
                continue;
            }
            double share = most > least ? log(x / least) / log(most / least) : 1;
            text_printf(o, "<td class=\"c%s\" style=\"--p:%d%%\">%s</td>", share > 0.6 ? " dark" : "",
                        (int)lround(8 + 92 * share), m->is_percent ? page_percent(room, x) : number_digits(room, x));
        }
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

static void html_fronts(writing *w)
{
    const sweep_summary *s = w->summary;
    text *o = w->out;
    chart_axis x = {"latency, ms", NAN, NAN, true}, y = {"MACs of a pass", NAN, NAN, true};
    const char *names[CHART_SERIES];
    size_t shown = s->setting_count < CHART_SERIES ? s->setting_count : CHART_SERIES;
    for (size_t i = 0; i < shown; i++)
        for (size_t k = 0; k < s->settings[i].front_count; k++) {
            chart_widen(&x, s->settings[i].front[k].latency_ms);
            chart_widen(&y, (double)s->settings[i].front[k].macs);
        }
    text_puts(
        o, "<h2>Pareto front: most MACs in the shortest time</h2>\n<p>Networks and batches that no other one beats in "
           "both. Point at a circle for its name.</p>\n");
    chart c;
    chart_open(&c, o, x, y, "Pareto fronts of latency and MACs");
    for (size_t i = 0; i < shown; i++) {
        const sweep_setting_row *r = &s->settings[i];
        chart_point *points = ARENA_ARRAY(w->scratch, chart_point, r->front_count + 1);
        for (size_t k = 0; k < r->front_count; k++)
            points[k] = (chart_point){r->front[k].latency_ms, (double)r->front[k].macs};
        chart_line(&c, points, r->front_count, i, true);
        for (size_t k = 0; k < r->front_count; k++) {
            char title[512];
            snprintf(title, sizeof title, "%.300s, batch %" PRId64 ", %.4g ms", r->front[k].spec, r->front[k].batch,
                     r->front[k].latency_ms);
            chart_mark(&c, points[k], i, title, NULL);
        }
        names[i] = setting_name(w, r);
    }
    chart_close(&c);
    chart_legend(o, names, shown);
}

static void html_settings(writing *w)
{
    text *o = w->out;
    text_puts(
        o, "<h2>GPUs and settings</h2>\n<div class=\"wide\"><table><thead><tr><th>GPU and setting</th>"
           "<th class=\"n\">points</th><th class=\"n\">least ms</th><th class=\"n\">mean ms</th><th class=\"n\">most "
           "ms</th><th class=\"n\">most samples/s</th><th>with</th><th class=\"n\">GPU</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < w->summary->setting_count; i++) {
        const sweep_setting_row *s = &w->summary->settings[i];
        char room[NUMBER_ROOM];
        text_puts(o, "<tr>");
        page_cell(o, setting_name(w, s));
        page_number_cell(o, (double)s->points, number_grouped(room, s->points));
        page_number_cell(o, s->latency_ms_least, number_digits(room, s->latency_ms_least));
        page_number_cell(o, s->latency_ms_mean, number_digits(room, s->latency_ms_mean));
        page_number_cell(o, s->latency_ms_most, number_digits(room, s->latency_ms_most));
        page_number_cell(o, s->throughput_most, number_digits(room, s->throughput_most));
        page_cell(o, s->points ? arena_printf(w->scratch, "%s, batch %" PRId64, s->fastest.spec, s->fastest.batch).ptr
                               : "");
        page_number_cell(o, s->utilization_mean, page_percent(room, s->utilization_mean));
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

static void as_html(writing *w)
{
    const sweep_summary *s = w->summary;
    text *o = w->out;
    char value[64], note[96];
    page_open(o);
    text_puts(o, "Sweep of ");
    text_xml(o, s->plan);
    size_t style = strlen(CHART_STYLE);
    char *both = arena_room(w->scratch, style + sizeof MAP_STYLE, 1);
    memcpy(both, CHART_STYLE, style);
    memcpy(both + style, MAP_STYLE, sizeof MAP_STYLE);
    page_begin_body(o, both);
    text_puts(o, "Sweep of ");
    text_xml(o, s->plan);
    text_puts(o, "</h1>\n<div class=\"cards\">\n");
    snprintf(value, sizeof value, "%" PRId64, s->points);
    snprintf(note, sizeof note, "of %" PRId64 " combinations", s->planned);
    page_card(o, "predictions", value, note);
    snprintf(value, sizeof value, "%" PRId64, s->networks);
    snprintf(note, sizeof note, "%" PRId64 " cannot be built", s->failed_networks);
    page_card(o, "networks and batches", value, note);
    snprintf(value, sizeof value, "%zu", s->setting_count);
    page_card(o, "GPUs and settings", value, "");
    text_puts(o, "</div>\n");
    html_fronts(w);
    for (size_t i = 0; i < s->map_count; i++)
        html_map(w, &s->maps[i]);
    html_settings(w);
    page_close(o);
}

static void write_report(void *report, text *out, arena *scratch)
{
    writing *w = report;
    w->out = out;
    w->scratch = scratch;
    if (w->options.format == SOOTH_FORMAT_JSON)
        as_json(w);
    else if (w->options.format == SOOTH_FORMAT_HTML)
        as_html(w);
    else
        as_table(w);
}

sooth_status sweep_report(const sweep_summary *summary, const sooth_report_options *options, char **bytes, size_t *size,
                          sooth_error *error)
{
    writing w = {.summary = summary, .options = *options};
    return text_report(write_report, &w, bytes, size, error);
}
