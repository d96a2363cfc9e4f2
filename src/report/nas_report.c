/* nas_report.c: `sooth nas` for other programs (CSV, JSON), and the public function that chooses the writer. */
#include "report/nas_report.h"
#include "report/json.h"

#include <math.h>

enum { SCHEMA = 1, DEFAULT_TOP = 10 }; /* SCHEMA: version of the fields, doc/json.md */

void nas_names(nas_report *r, size_t candidate)
{
    if (sooth_nas_name(r->nas, candidate, r->architecture, r->graph, SOOTH_NAS_NAME_ROOM) != SOOTH_OK)
        r->architecture[0] = r->graph[0] = '\0';
}

static void nas_csv(nas_report *r)
{
    text *out = r->out;
    text_puts(out,
              "architecture,graph,latency_ms,latency_ms_low,latency_ms_high,utilization,dram_utilization,macs,params,"
              "memory_mib,energy_j,accuracy,feasible,kept,error\n");
    for (size_t i = 0; i < sooth_nas_candidate_count(r->nas); i++) {
        sooth_nas_candidate c = sooth_nas_candidate_at(r->nas, i);
        bool has_figures = !*c.error;
        nas_names(r, i);
        text_csv(out, r->architecture);
        text_csv_text(out, r->graph);
        text_csv_real(out, has_figures ? c.latency_ms.value : NAN);
        text_csv_real(out, has_figures ? c.latency_ms.low : NAN);
        text_csv_real(out, has_figures ? c.latency_ms.high : NAN);
        text_csv_real(out, has_figures ? c.utilization : NAN);
        text_csv_real(out, has_figures ? c.dram_utilization : NAN);
        text_csv_number(out, has_figures ? c.macs : -1);
        text_csv_number(out, has_figures ? c.params : -1);
        text_csv_real(out, has_figures ? c.memory_mib : NAN);
        text_csv_real(out, has_figures ? c.energy_j : NAN);
        text_csv_real(out, c.accuracy);
        text_printf(out, ",%d,%d", c.is_feasible, c.is_kept);
        text_csv_text(out, c.error);
        text_puts(out, "\n");
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_candidate(nas_report *r, json *j, size_t index)
{
    sooth_nas_candidate c = sooth_nas_candidate_at(r->nas, index);
    nas_names(r, index);
    json_open(j, '{', true);
    json_pair_string(j, "architecture", r->architecture);
    json_pair_string(j, "graph", r->graph);
    json_pair_interval(j, "latency_ms", c.latency_ms);
    json_pair_real(j, "utilization", c.utilization);
    json_pair_number(j, "macs", c.macs);
    json_pair_number(j, "params", c.params);
    json_pair_real(j, "memory_mib", c.memory_mib);
    json_pair_real(j, "energy_j", c.energy_j);
    json_pair_real(j, "accuracy", c.accuracy);
    json_close(j, '}');
}

static void json_list(nas_report *r, json *j, const char *key, size_t (*at)(const sooth_nas *, size_t), size_t most)
{
    json_key(j, key);
    json_open(j, '[', false);
    size_t index;
    for (size_t i = 0; i < most && (index = at(r->nas, i)) != SIZE_MAX; i++)
        json_candidate(r, j, index);
    json_close(j, ']');
}

static void json_space(nas_report *r, json *j)
{
    const sooth_nas_totals *t = &r->totals;
    json_key(j, "utilization");
    json_open(j, '{', true);
    json_pair_real(j, "p10", t->utilization_p10);
    json_pair_real(j, "median", t->utilization_median);
    json_pair_real(j, "p90", t->utilization_p90);
    json_pair_real(j, "max", t->utilization_max);
    json_pair_real(j, "spearman_latency", t->utilization_with_latency);
    json_pair_real(j, "spearman_accuracy", t->utilization_with_accuracy);
    json_pair_real(j, "macs_spearman_accuracy", t->macs_with_accuracy);
    json_close(j, '}');
    json_key(j, "choices");
    json_open(j, '[', false);
    for (size_t i = 0;; i++) {
        sooth_nas_effect e = sooth_nas_effect_at(r->nas, i);
        if (!e.choice)
            break;
        json_open(j, '{', true);
        json_pair_string(j, "choice", e.choice);
        json_pair_string(j, "value", e.value);
        json_pair_number(j, "n", (int64_t)e.count);
        json_pair_real(j, "utilization", e.utilization);
        json_pair_real(j, "latency_ms", e.latency_ms);
        json_pair_real(j, "accuracy", e.accuracy);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_repeats(nas_report *r, json *j)
{
    if (!sooth_nas_repeat_at(r->nas, 0).repeats)
        return;
    json_key(j, "repeats");
    json_open(j, '[', false);
    for (size_t i = 0;; i++) {
        sooth_nas_repeat s = sooth_nas_repeat_at(r->nas, i);
        if (!s.repeats)
            break;
        json_open(j, '{', true);
        json_pair_real(j, "within", s.within);
        json_pair_number(j, "repeats", (int64_t)s.repeats);
        json_pair_number(j, "reached", (int64_t)s.reached);
        json_pair_real(j, "mean", s.mean);
        json_pair_real(j, "low", s.low);
        json_pair_real(j, "high", s.high);
        json_pair_real(j, "median", s.median);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void nas_json(nas_report *r)
{
    const sooth_nas_totals *t = &r->totals;
    json writer = {.out = r->out}, *j = &writer;
    json_open(j, '{', false);
    json_identity(j, SCHEMA, t->weights);
    json_pair_string(j, "space", t->space);
    json_pair_string(j, "gpu", t->gpu);
    json_pair_number(j, "batch", t->batch);
    json_pair_string(j, "precision", t->precision);
    json_pair_string(j, "layout", t->layout);
    json_pair_string(j, "runtime", t->runtime);
    json_pair_string(j, "mode", t->mode);
    json_pair_string(j, "search", t->method);
    json_key(j, "candidates"); /* written with an exponent if it is beyond 2^63 */
    if (t->candidates < 9e15)
        json_number(j, (int64_t)t->candidates);
    else
        json_string(j, arena_printf(r->scratch, "%.6g", t->candidates).ptr);
    json_pair_number(j, "predicted", (int64_t)t->predicted);
    json_pair_number(j, "failed", (int64_t)t->failed);
    json_pair_number(j, "feasible", (int64_t)t->feasible);
    json_pair_number(j, "kept", (int64_t)t->kept);
    json_pair_number(j, "evaluated", (int64_t)t->evaluated);
    json_pair_real(j, "best_accuracy", t->best_accuracy);
    json_list(r, j, "best", sooth_nas_best, r->top);
    json_list(r, j, "pareto", sooth_nas_pareto, SIZE_MAX);
    json_space(r, j);
    json_repeats(r, j);
    json_close(j, '}');
    text_puts(r->out, "\n");
}

/* ---- the writer -------------------------------------------------------------------------------------------------- */

static void write_report(void *report, text *out, arena *scratch)
{
    nas_report *r = report;
    r->out = out;
    r->scratch = scratch;
    switch (r->options.format) {
    case SOOTH_FORMAT_TABLE:
        nas_table(r);
        break;
    case SOOTH_FORMAT_CSV:
        nas_csv(r);
        break;
    case SOOTH_FORMAT_JSON:
        nas_json(r);
        break;
    case SOOTH_FORMAT_HTML:
        nas_html(r);
        break;
    default:
        fail_with(out->fail, SOOTH_ERROR_USAGE, "a search is written as a table, CSV, JSON or HTML");
    }
}

static bool any_accuracy(const sooth_nas *nas)
{
    size_t best = sooth_nas_best(nas, 0);
    return best != SIZE_MAX && !isnan(sooth_nas_candidate_at(nas, best).accuracy);
}

sooth_status sooth_nas_report(const sooth_nas *nas, const sooth_report_options *options, char **bytes, size_t *size,
                              sooth_error *error)
{
    nas_report r = {.nas = nas,
                    .totals = sooth_nas_totals_of(nas),
                    .options = options ? *options : (sooth_report_options){0},
                    .has_accuracy = any_accuracy(nas),
                    .has_trials = sooth_nas_trial(nas, 0) != SIZE_MAX};
    r.top = r.options.top ? r.options.top : DEFAULT_TOP;
    return text_report(write_report, &r, bytes, size, error);
}
