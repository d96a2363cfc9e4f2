/* survey_html.c: `sooth survey --format html`: one page with the distributions, utilization over the batch,
 * utilization against MACs and accuracy, the losses, and a sortable table of all rows. */
#include "report/chart.h"
#include "report/page.h"
#include "report/survey_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Columns that charts of a single batch and setting show: those of the largest batch in the first setting. */
typedef struct shown_columns {
    size_t first; /* First of these columns; there is one for each GPU. */
    int64_t batch;
} shown_columns;

static const char LOSS_STYLE[] = ".used{--c:var(--s0)}.launch{--c:var(--s7)}.memory{--c:var(--s1)}.units{--c:var(--s3)}"
                                 ".waves{--c:var(--s2)}.alignment{--c:var(--s4)}.other{--c:var(--s6)}\n"
                                 "tr:target{background:var(--card);outline:2px solid var(--s0)}\n";

static const char *const LOSS_TITLES[SURVEY_LOSSES] = {"waiting for the host", "memory-bound kernels",
                                                       "slower units",         "partly filled waves",
                                                       "padded tiles",         "rest of compute-bound kernels"};

static shown_columns largest_batch(const survey_report *r)
{
    shown_columns s = {0, r->columns[0].like.batch};
    for (size_t i = 0; i < r->column_count; i += r->gpu_count) {
        const sooth_survey_row *like = &r->columns[i].like, *first = &r->columns[0].like;
        bool same =
            like->precision == first->precision && like->layout == first->layout && like->runtime == first->runtime;
        if (same && like->batch > s.batch)
            s = (shown_columns){i, like->batch};
    }
    return s;
}

static const char *const *gpu_names(survey_report *r)
{
    const char **names = ARENA_ARRAY(r->scratch, const char *, r->gpu_count);
    for (size_t g = 0; g < r->gpu_count; g++)
        names[g] = r->columns[g].like.gpu;
    return names;
}

static void heading(text *o, const char *title, const char *note)
{
    text_puts(o, "<h2>");
    text_xml(o, title);
    text_puts(o, "</h2>\n<p>");
    text_xml(o, note);
    text_puts(o, "</p>\n");
}

static const char *joined(arena *a, const char *first, const char *second)
{
    char *both = arena_room(a, strlen(first) + strlen(second) + 1, 1);
    strcpy(stpcpy(both, first), second);
    return both;
}

static void head(survey_report *r)
{
    text *o = r->out;
    const sooth_survey_row *like = &r->columns[0].like;
    page_open(o);
    text_puts(o, "GPU utilization of networks");
    page_begin_body(o, joined(r->scratch, CHART_STYLE, LOSS_STYLE));
    text_printf(o, "GPU utilization of %zu networks</h1>\n<p>%zu predictions on %zu GPUs, %s", r->network_count,
                sooth_survey_row_count(r->survey), r->gpu_count, sooth_survey_mode(r->survey));
    if (r->column_count == r->gpu_count)
        text_printf(o, ", batch %" PRId64 ", %s, %s, %s", like->batch, like->precision, like->layout, like->runtime);
    text_puts(o, "</p>\n");
    if (r->failed)
        text_printf(o, "<p class=\"note\">%zu rows have no prediction; the table says why.</p>\n", r->failed);
}

static void cards(survey_report *r, shown_columns s)
{
    char value[NUMBER_ROOM], note[128];
    text_puts(r->out, "<div class=\"cards\">\n");
    for (size_t g = 0; g < r->gpu_count; g++) {
        const survey_column *c = &r->columns[s.first + g];
        snprintf(note, sizeof note, "median at batch %" PRId64 "; a tenth below %.1f %%, a tenth above %.1f %%",
                 s.batch, c->p10, c->p90);
        page_card(r->out, c->like.gpu, page_percent(value, c->median), note);
    }
    text_puts(r->out, "</div>\n");
}

/* ---- charts ------------------------------------------------------------------------------------------------------ */

static void distribution(survey_report *r, shown_columns s)
{
    heading(r->out, "Distribution of the utilization",
            arena_printf(r->scratch,
                         "Share of the networks that use at most this much of the GPU's peak, at batch %" PRId64 ".",
                         s.batch)
                .ptr);
    chart_legend(r->out, gpu_names(r), r->gpu_count);
    chart_axis x = {"GPU utilization, %", 0, 10, false}, y = {"networks, %", 0, 100, false};
    for (size_t g = 0; g < r->gpu_count; g++)
        chart_widen(&x, r->columns[s.first + g].most);
    chart c;
    chart_open(&c, r->out, x, y, "Cumulative distribution of the GPU utilization for each GPU");
    chart_point *points = ARENA_ARRAY(r->scratch, chart_point, r->network_count + 1);
    for (size_t g = 0; g < r->gpu_count; g++) {
        const survey_column *column = &r->columns[s.first + g];
        for (size_t i = 0; i < column->count; i++)
            points[i + 1] = (chart_point){column->sorted[i], 100 * (double)(i + 1) / (double)column->count};
        chart_line(&c, points, column->count + 1, g, true);
    }
    chart_close(&c);
}

/* Draws the median over the networks at each batch, as one line per GPU. */
static void over_batch(survey_report *r, shown_columns s)
{
    size_t batches = 0;
    size_t *firsts = ARENA_ARRAY(r->scratch, size_t, r->column_count);
    const sooth_survey_row *like = &r->columns[s.first].like;
    for (size_t i = 0; i < r->column_count; i += r->gpu_count) {
        const sooth_survey_row *row = &r->columns[i].like;
        if (row->precision == like->precision && row->layout == like->layout && row->runtime == like->runtime)
            firsts[batches++] = i;
    }
    if (batches < 2)
        return;
    heading(r->out, "Utilization over batch", "Median over the networks; larger batches fill the GPU better.");
    chart_legend(r->out, gpu_names(r), r->gpu_count);
    chart_axis x = {"batch", NAN, NAN, true}, y = {"GPU utilization (median), %", 0, 1, false};
    for (size_t b = 0; b < batches; b++)
        for (size_t g = 0; g < r->gpu_count; g++) {
            chart_widen(&x, (double)r->columns[firsts[b]].like.batch);
            chart_widen(&y, r->columns[firsts[b] + g].median);
        }
    chart c;
    chart_open(&c, r->out, x, y, "Median utilization over the batch for each GPU");
    chart_point *points = ARENA_ARRAY(r->scratch, chart_point, batches);
    for (size_t g = 0; g < r->gpu_count; g++) {
        size_t count = 0;
        for (size_t b = 0; b < batches; b++) {
            const survey_column *column = &r->columns[firsts[b] + g];
            if (isfinite(column->median))
                points[count++] = (chart_point){(double)column->like.batch, column->median};
        }
        chart_line(&c, points, count, g, false);
        for (size_t i = 0; i < count; i++)
            chart_mark(
                &c, points[i], g,
                arena_printf(r->scratch, "%s, batch %.0f: %.1f %%", r->columns[g].like.gpu, points[i].x, points[i].y)
                    .ptr,
                NULL);
    }
    chart_close(&c);
}

typedef double (*figure)(const sooth_survey_row *row);

static double macs_per_sample(const sooth_survey_row *row)
{
    return (double)row->macs / (double)row->batch;
}

static double accuracy(const sooth_survey_row *row)
{
    return row->accuracy;
}

static double utilization(const sooth_survey_row *row)
{
    return row->utilization;
}

static double throughput(const sooth_survey_row *row)
{
    return row->throughput_per_s;
}

static int by_x_descending(const void *a, const void *b)
{
    const chart_point *x = a, *y = b;
    return x->x > y->x ? -1 : x->x < y->x ? 1 : x->y > y->y ? -1 : x->y < y->y;
}

/* Pareto front: points that no other point beats in both directions, by descending x. */
static size_t pareto_front(chart_point *points, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(points, count, sizeof *points, by_x_descending);
    for (size_t i = 0; i < count; i++)
        if (!kept || points[i].y > points[kept - 1].y)
            points[kept++] = points[i];
    return kept;
}

static bool point_of(const sooth_survey_row *row, figure x, figure y, bool x_is_log, chart_point *point)
{
    *point = (chart_point){x(row), y(row)};
    return !*row->error && isfinite(point->x) && isfinite(point->y) && (!x_is_log || point->x > 0);
}

/* Draws one circle per network and GPU. `front` connects the Pareto front. */
static void scatter(survey_report *r, shown_columns s, figure x, figure y, chart_axis x_axis, chart_axis y_axis,
                    bool has_front, const char *label)
{
    chart_point *points = ARENA_ARRAY(r->scratch, chart_point, r->network_count), point;
    for (size_t n = 0; n < r->network_count; n++)
        for (size_t g = 0; g < r->gpu_count; g++) {
            sooth_survey_row row = survey_row(r, n, s.first + g);
            if (point_of(&row, x, y, x_axis.is_log, &point)) {
                chart_widen(&x_axis, point.x);
                chart_widen(&y_axis, point.y);
            }
        }
    chart_legend(r->out, gpu_names(r), r->gpu_count);
    chart c;
    chart_open(&c, r->out, x_axis, y_axis, label);
    for (size_t g = 0; g < r->gpu_count; g++) {
        size_t count = 0;
        for (size_t n = 0; n < r->network_count; n++) {
            sooth_survey_row row = survey_row(r, n, s.first + g);
            if (!point_of(&row, x, y, x_axis.is_log, &point))
                continue;
            points[count++] = point;
            char link[32];
            snprintf(link, sizeof link, "#r%zu", n * r->column_count + s.first + g);
            chart_mark(
                &c, point, g,
                arena_printf(r->scratch, "%.200s on %s: %.1f %% utilization", row.name, row.gpu, row.utilization).ptr,
                link);
        }
        if (has_front)
            chart_line(&c, points, pareto_front(points, count), g, false);
    }
    chart_close(&c);
}

static void scatters(survey_report *r, shown_columns s)
{
    chart_axis percent = {"GPU utilization, %", 0, 1, false};
    heading(r->out, "Utilization against work",
            "Each circle is a network on a GPU; a click shows its row. Multiply-adds of one sample.");
    scatter(r, s, macs_per_sample, utilization, (chart_axis){"MACs of a sample", NAN, NAN, true}, percent, false,
            "Utilization against multiply-adds");
    if (!r->has_accuracy)
        return;
    heading(r->out, "Utilization against accuracy",
            "The lines join networks that no other one beats in both accuracy and utilization.");
    scatter(r, s, accuracy, utilization, (chart_axis){"accuracy", NAN, NAN, false}, percent, true,
            "Utilization against accuracy");
    heading(r->out, "Accuracy against throughput",
            "The lines join networks that no other one beats in both accuracy and throughput.");
    scatter(r, s, throughput, accuracy, (chart_axis){"samples per second", NAN, NAN, true},
            (chart_axis){"accuracy", NAN, NAN, false}, true, "Accuracy against throughput");
}

/* ---- where the peak goes ----------------------------------------------------------------------------------------- */

enum { BAR_LEFT = 230, BAR_WIDTH = 660, BAR_HEIGHT = 20, BAR_STEP = 27 };

static void bar_part(text *o, const char *class, const char *title, double percent, double y, double *x)
{
    double width = fmax(percent, 0) / 100 * BAR_WIDTH;
    text_printf(o, "<rect class=\"%s\" height=\"%d\"", class, BAR_HEIGHT);
    page_coordinate(o, "y", y);
    page_coordinate(o, "x", *x);
    page_coordinate(o, "width", width);
    text_puts(o, "><title>");
    text_xml(o, title);
    text_printf(o, ": %.1f %%</title></rect>\n", percent);
    *x += width;
}

static void losses(survey_report *r)
{
    text *o = r->out;
    heading(
        o, "Where the peak goes",
        "Means over the networks. Utilization and losses sum to 100 % of the time; doc/survey.md has the formulas.");
    text_puts(o, "<p class=\"legend\"><i class=\"used\"></i>utilization");
    for (size_t k = 0; k < SURVEY_LOSSES; k++)
        text_printf(o, "<i class=\"%s\"></i>%s", SURVEY_LOSS_NAMES[k], LOSS_TITLES[k]);
    text_printf(o,
                "</p>\n<div class=\"wide\"><svg class=\"chart\" viewBox=\"0 0 900 %zu\" role=\"img\" "
                "aria-label=\"Utilization and losses by GPU and batch\">\n",
                r->column_count * BAR_STEP + 4);
    for (size_t i = 0; i < r->column_count; i++) {
        const survey_column *column = &r->columns[i];
        if (!column->count)
            continue;
        double y = (double)i * BAR_STEP + 2, x = BAR_LEFT;
        text_puts(o, "<text x=\"0\"");
        page_coordinate(o, "y", y + 15);
        text_puts(o, ">");
        text_xml(o, column->like.gpu);
        text_printf(o, ", batch %" PRId64 "</text>\n", column->like.batch);
        bar_part(o, "used", "utilization", column->mean, y, &x);
        for (size_t k = 0; k < SURVEY_LOSSES; k++)
            bar_part(o, SURVEY_LOSS_NAMES[k], LOSS_TITLES[k], column->losses[k], y, &x);
    }
    text_puts(o, "</svg></div>\n");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void row_figures(text *o, const sooth_survey_row *row, bool has_accuracy)
{
    char room[NUMBER_ROOM];
    double lost[SURVEY_LOSSES];
    size_t largest = survey_largest_loss(&row->lost);
    survey_losses(&row->lost, lost);
    page_number_cell(o, row->latency_ms.value, number_digits(room, row->latency_ms.value));
    page_number_cell(o, row->throughput_per_s, number_digits(room, row->throughput_per_s));
    page_number_cell(o, row->utilization, page_percent(room, row->utilization));
    page_number_cell(o, row->dram_utilization, page_percent(room, row->dram_utilization));
    page_number_cell(o, row->occupancy, page_percent(room, row->occupancy));
    page_number_cell(o, (double)row->macs / 1e6, number_short(room, row->macs));
    if (has_accuracy)
        page_number_cell(o, row->accuracy, isfinite(row->accuracy) ? number_digits(room, row->accuracy) : "");
    text_printf(o, "<td>%s %.0f %%</td>", SURVEY_LOSS_NAMES[largest], lost[largest]);
}

static void row_table(survey_report *r)
{
    text *o = r->out;
    text_printf(o,
                "<h2>All rows</h2>\n<p>A click on a heading sorts.</p>\n<div class=\"wide\"><table><thead><tr>"
                "<th>network</th><th>GPU</th><th class=\"n\">batch</th><th>setting</th><th class=\"n\">ms</th>"
                "<th class=\"n\">samples/s</th><th class=\"n\">GPU</th><th class=\"n\">DRAM</th>"
                "<th class=\"n\">occupancy</th><th class=\"n\">MACs</th>%s<th>largest loss</th></tr></thead><tbody>\n",
                r->has_accuracy ? "<th class=\"n\">accuracy</th>" : "");
    for (size_t i = 0; i < sooth_survey_row_count(r->survey); i++) {
        sooth_survey_row row = sooth_survey_row_at(r->survey, i);
        char room[NUMBER_ROOM];
        text_printf(o, "<tr id=\"r%zu\">", i);
        page_cell(o, row.name);
        page_cell(o, row.gpu);
        page_number_cell(o, (double)row.batch, number_grouped(room, row.batch));
        text_printf(o, "<td>%s %s %s</td>", row.precision, row.layout, row.runtime);
        if (!*row.error) {
            row_figures(o, &row, r->has_accuracy);
        } else {
            text_printf(o, "<td colspan=\"%d\">", 7 + r->has_accuracy);
            text_xml(o, row.error);
            text_puts(o, "</td>");
        }
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

void survey_html(survey_report *r)
{
    shown_columns s = largest_batch(r);
    head(r);
    cards(r, s);
    distribution(r, s);
    over_batch(r, s);
    losses(r);
    scatters(r, s);
    row_table(r);
    page_close(r->out);
}
