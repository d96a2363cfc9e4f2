/* nas_html.c: `sooth nas --format html`: one page with the space as a cloud of points and its Pareto front, the
 * distribution of the utilization, the effect of each choice, and the best architectures. */
#include "base/statistics.h"
#include "report/chart.h"
#include "report/nas_report.h"
#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_POINTS = 3000 }; /* limit on the points of a cloud: more of them hide each other and make the page slow */

static void heading(text *o, const char *title, const char *note)
{
    text_puts(o, "<h2>");
    text_xml(o, title);
    text_puts(o, "</h2>\n<p>");
    text_xml(o, note);
    text_puts(o, "</p>\n");
}

static void head(nas_report *r)
{
    text *o = r->out;
    const sooth_nas_totals *t = &r->totals;
    page_open(o);
    text_xml(o, t->space);
    text_puts(o, " on ");
    text_xml(o, t->gpu);
    page_begin_body(o, CHART_STYLE);
    text_xml(o, t->space);
    text_puts(o, " on ");
    text_xml(o, t->gpu);
    text_printf(o, "</h1>\n<p>batch %" PRId64 ", %s, %s, %s, %s; search: %s</p>\n", t->batch, t->precision, t->layout,
                t->runtime, t->mode, t->method);
}

static void cards(nas_report *r)
{
    const sooth_nas_totals *t = &r->totals;
    char value[64], note[96], room[NUMBER_ROOM];
    text_puts(r->out, "<div class=\"cards\">\n");
    snprintf(value, sizeof value, "%.6g", t->candidates);
    snprintf(note, sizeof note, "%zu predicted, %zu within the limits", t->predicted, t->feasible);
    page_card(r->out, "candidates", value, note);
    snprintf(value, sizeof value, "%zu", t->evaluated);
    snprintf(note, sizeof note, "of %zu that were kept", t->kept);
    page_card(r->out, "evaluated", value, note);
    snprintf(note, sizeof note, "a tenth below %.1f %%, a tenth above %.1f %%", t->utilization_p10, t->utilization_p90);
    page_card(r->out, "GPU utilization (median)", page_percent(room, t->utilization_median), note);
    if (r->has_accuracy) {
        sooth_nas_candidate best = sooth_nas_candidate_at(r->nas, sooth_nas_best(r->nas, 0));
        snprintf(value, sizeof value, "%.2f", best.accuracy);
        snprintf(note, sizeof note, "%s ms", number_digits(room, best.latency_ms.value));
        page_card(r->out, "best accuracy", value, note);
    }
    text_puts(r->out, "</div>\n");
}

/* Returns the step between drawn candidates, so that at most MOST_POINTS are drawn. */
static size_t stride_of(const nas_report *r)
{
    size_t count = r->totals.feasible;
    return count > MOST_POINTS ? (count + MOST_POINTS - 1) / MOST_POINTS : 1;
}

static double value_of(const nas_report *r, const sooth_nas_candidate *c)
{
    return r->has_accuracy ? c->accuracy : (double)c->macs;
}

static void cloud(nas_report *r)
{
    heading(r->out, r->has_accuracy ? "Accuracy against latency" : "MACs against latency",
            "Circles are candidates within the limits; the line is the Pareto front.");
    chart_axis x = {"latency, ms", NAN, NAN, true}, y = {r->has_accuracy ? "accuracy" : "MACs", NAN, NAN, false};
    size_t stride = stride_of(r), seen = 0, index;
    for (size_t i = 0; i < sooth_nas_candidate_count(r->nas); i++) {
        sooth_nas_candidate c = sooth_nas_candidate_at(r->nas, i);
        if (c.is_feasible) {
            chart_widen(&x, c.latency_ms.value);
            chart_widen(&y, value_of(r, &c));
        }
    }
    chart c;
    chart_open(&c, r->out, x, y, "Candidates and the Pareto front");
    for (size_t i = 0; i < sooth_nas_candidate_count(r->nas); i++) {
        sooth_nas_candidate candidate = sooth_nas_candidate_at(r->nas, i);
        double value = value_of(r, &candidate);
        if (!candidate.is_feasible || isnan(value) || seen++ % stride)
            continue;
        nas_names(r, i);
        chart_mark(&c, (chart_point){candidate.latency_ms.value, value}, candidate.is_kept ? 0 : 7, r->architecture,
                   NULL);
    }
    chart_point *front = ARENA_ARRAY(r->scratch, chart_point, sooth_nas_candidate_count(r->nas) + 1);
    size_t count = 0;
    for (; (index = sooth_nas_pareto(r->nas, count)) != SIZE_MAX; count++) {
        sooth_nas_candidate candidate = sooth_nas_candidate_at(r->nas, index);
        front[count] = (chart_point){candidate.latency_ms.value, value_of(r, &candidate)};
    }
    chart_line(&c, front, count, 1, true);
    chart_close(&c);
}

static void distribution(nas_report *r)
{
    size_t most = sooth_nas_candidate_count(r->nas), count = 0;
    double *sorted = ARENA_ARRAY(r->scratch, double, most + 1);
    for (size_t i = 0; i < most; i++) {
        sooth_nas_candidate c = sooth_nas_candidate_at(r->nas, i);
        if (c.is_feasible)
            sorted[count++] = c.utilization;
    }
    qsort(sorted, count, sizeof *sorted, statistics_ascending);
    heading(r->out, "Distribution of the utilization",
            "Share of the candidates that use at most this much of the GPU's peak.");
    chart_axis x = {"GPU utilization, %", 0, 1, false}, y = {"candidates, %", 0, 100, false};
    chart_widen(&x, count ? sorted[count - 1] : 1);
    chart c;
    chart_open(&c, r->out, x, y, "Cumulative distribution of the utilization");
    enum { STEPS = 200 };
    chart_point points[STEPS + 1];
    for (size_t i = 0; i <= STEPS; i++)
        points[i] = (chart_point){statistics_quantile(sorted, count, (double)i / STEPS), 100 * (double)i / STEPS};
    chart_line(&c, points, count ? STEPS + 1 : 0, 0, false);
    chart_close(&c);
}

static void effects(nas_report *r)
{
    text *o = r->out;
    char room[NUMBER_ROOM];
    heading(o, "What each choice does", "Means over the candidates within the limits that have this value.");
    text_printf(o,
                "<div class=\"wide\"><table><thead><tr><th>choice</th><th>value</th><th class=\"n\">candidates</th>"
                "<th class=\"n\">GPU</th><th class=\"n\">ms</th>%s</tr></thead><tbody>\n",
                r->has_accuracy ? "<th class=\"n\">accuracy</th>" : "");
    for (size_t i = 0;; i++) {
        sooth_nas_effect e = sooth_nas_effect_at(r->nas, i);
        if (!e.choice)
            break;
        text_puts(o, "<tr>");
        page_cell(o, e.choice);
        page_cell(o, e.value);
        page_number_cell(o, (double)e.count, number_grouped(room, (int64_t)e.count));
        page_number_cell(o, e.utilization, page_percent(room, e.utilization));
        page_number_cell(o, e.latency_ms, e.count ? number_digits(room, e.latency_ms) : "");
        if (r->has_accuracy)
            page_number_cell(o, e.accuracy, isnan(e.accuracy) ? "" : number_digits(room, e.accuracy));
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

static void list(nas_report *r, const char *title, size_t (*at)(const sooth_nas *, size_t), size_t most)
{
    text *o = r->out;
    size_t index;
    text_printf(o,
                "<h2>%s</h2>\n<div class=\"wide\"><table><thead><tr><th>architecture</th><th class=\"n\">ms</th>"
                "<th class=\"n\">GPU</th><th class=\"n\">MACs</th><th class=\"n\">params</th><th class=\"n\">J</th>%s"
                "</tr></thead><tbody>\n",
                title, r->has_accuracy ? "<th class=\"n\">accuracy</th>" : "");
    for (size_t i = 0; i < most && (index = at(r->nas, i)) != SIZE_MAX; i++) {
        sooth_nas_candidate c = sooth_nas_candidate_at(r->nas, index);
        char room[NUMBER_ROOM];
        nas_names(r, index);
        text_puts(o, "<tr>");
        page_cell(o, r->architecture);
        page_number_cell(o, c.latency_ms.value, number_digits(room, c.latency_ms.value));
        page_number_cell(o, c.utilization, page_percent(room, c.utilization));
        page_number_cell(o, (double)c.macs / 1e6, number_short(room, c.macs));
        page_number_cell(o, (double)c.params / 1e6, number_short(room, c.params));
        page_number_cell(o, c.energy_j, number_digits(room, c.energy_j));
        if (r->has_accuracy)
            page_number_cell(o, c.accuracy, number_digits(room, c.accuracy));
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

void nas_html(nas_report *r)
{
    head(r);
    cards(r);
    if (r->totals.feasible) {
        cloud(r);
        distribution(r);
        list(r, r->has_accuracy ? "Most accurate" : "Highest utilization", sooth_nas_best, r->top);
        list(r, "Pareto front", sooth_nas_pareto, SIZE_MAX);
        effects(r);
    }
    page_close(r->out);
}
