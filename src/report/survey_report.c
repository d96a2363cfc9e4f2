/* survey_report.c: `sooth survey` for programs (CSV, JSON), and the public function that chooses the writer. */
#include "report/survey_report.h"
#include "report/json.h"

#include <math.h>

enum { SCHEMA = 1 }; /* version of the fields: doc/json.md */

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static void csv_figures(text *out, const sooth_survey_row *row)
{
    double losses[SURVEY_LOSSES];
    text_csv_real(out, row->latency_ms.value);
    text_csv_real(out, row->latency_ms.low);
    text_csv_real(out, row->latency_ms.high);
    text_csv_real(out, row->throughput_per_s);
    text_csv_number(out, row->flops);
    text_csv_real(out, row->utilization);
    text_csv_real(out, row->dram_utilization);
    text_csv_real(out, row->occupancy);
    survey_losses(&row->lost, losses);
    for (size_t i = 0; i < SURVEY_LOSSES; i++)
        text_csv_real(out, losses[i]);
}

static void survey_csv(survey_report *r)
{
    text *out = r->out;
    text_puts(out, "name,graph,gpu,batch,precision,layout,runtime,latency_ms,latency_ms_low,latency_ms_high,"
                   "throughput_per_s,flops,utilization,dram_utilization,occupancy,lost_launch,lost_memory,lost_units,"
                   "lost_waves,lost_alignment,lost_other,accuracy,error,params,macs,device_ms,energy_j,memory_mib\n");
    for (size_t i = 0; i < sooth_survey_row_count(r->survey); i++) {
        sooth_survey_row row = sooth_survey_row_at(r->survey, i);
        bool has_figures = !*row.error;
        text_csv(out, row.name);
        text_csv_text(out, row.graph);
        text_csv_text(out, row.gpu);
        text_csv_number(out, row.batch);
        text_csv_text(out, row.precision);
        text_csv_text(out, row.layout);
        text_csv_text(out, row.runtime);
        if (has_figures)
            csv_figures(out, &row);
        else
            text_repeat(out, ",", 8 + SURVEY_LOSSES);
        text_csv_real(out, row.accuracy);
        text_csv_text(out, row.error);
        text_csv_number(out, has_figures ? row.params : -1);
        text_csv_number(out, has_figures ? row.macs : -1);
        text_csv_real(out, has_figures ? row.device_ms : NAN);
        text_csv_real(out, has_figures ? row.energy_j.value : NAN);
        text_csv_real(out, has_figures ? row.memory_mib.value : NAN);
        text_puts(out, "\n");
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_figures(json *j, const sooth_survey_row *row)
{
    double losses[SURVEY_LOSSES];
    json_pair_real(j, "latency_ms", row->latency_ms.value);
    json_pair_real(j, "latency_ms_low", row->latency_ms.low);
    json_pair_real(j, "latency_ms_high", row->latency_ms.high);
    json_pair_real(j, "throughput_per_s", row->throughput_per_s);
    json_pair_number(j, "flops", row->flops);
    json_pair_real(j, "utilization", row->utilization);
    json_pair_real(j, "dram_utilization", row->dram_utilization);
    json_pair_real(j, "occupancy", row->occupancy);
    survey_losses(&row->lost, losses);
    for (size_t i = 0; i < SURVEY_LOSSES; i++) {
        char key[32] = "lost_";
        strcat(key, SURVEY_LOSS_NAMES[i]);
        json_pair_real(j, key, losses[i]);
    }
    json_pair_number(j, "params", row->params);
    json_pair_number(j, "macs", row->macs);
    json_pair_real(j, "device_ms", row->device_ms);
    json_pair_real(j, "energy_j", row->energy_j.value);
    if (isfinite(row->memory_mib.value))
        json_pair_real(j, "memory_mib", row->memory_mib.value);
}

static void json_setting(json *j, const sooth_survey_row *row)
{
    json_pair_number(j, "batch", row->batch);
    json_pair_string(j, "precision", row->precision);
    json_pair_string(j, "layout", row->layout);
    json_pair_string(j, "runtime", row->runtime);
}

static void json_rows(survey_report *r, json *j)
{
    json_key(j, "rows");
    json_open(j, '[', false);
    for (size_t i = 0; i < sooth_survey_row_count(r->survey); i++) {
        sooth_survey_row row = sooth_survey_row_at(r->survey, i);
        json_open(j, '{', true);
        json_pair_string(j, "name", row.name);
        json_pair_string(j, "graph", row.graph);
        json_pair_string(j, "gpu", row.gpu);
        json_setting(j, &row);
        if (!*row.error)
            json_figures(j, &row);
        json_pair_real(j, "accuracy", row.accuracy);
        json_pair_text(j, "error", row.error);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_summary(survey_report *r, json *j)
{
    json_key(j, "summary");
    json_open(j, '{', false);
    json_key(j, "utilization");
    json_open(j, '[', false);
    for (size_t i = 0; i < r->column_count; i++) {
        const survey_column *c = &r->columns[i];
        json_open(j, '{', true);
        json_pair_string(j, "gpu", c->like.gpu);
        json_setting(j, &c->like);
        json_pair_number(j, "n", (int64_t)c->count);
        json_pair_real(j, "p10", c->p10);
        json_pair_real(j, "p25", c->p25);
        json_pair_real(j, "median", c->median);
        json_pair_real(j, "p75", c->p75);
        json_pair_real(j, "p90", c->p90);
        json_pair_real(j, "max", c->most);
        json_pair_real(j, "mean", c->mean);
        for (size_t k = 0; k < SURVEY_LOSSES; k++) {
            char key[32] = "lost_";
            strcat(key, SURVEY_LOSS_NAMES[k]);
            json_pair_real(j, key, c->losses[k]);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
    json_key(j, "rank_correlation");
    json_open(j, '[', false);
    for (size_t i = 0; i < r->correlation_count; i++) {
        const survey_correlation *c = &r->correlations[i];
        json_open(j, '{', true);
        json_key(j, "gpus");
        json_open(j, '[', true);
        json_string(j, r->columns[c->a].like.gpu);
        json_string(j, r->columns[c->b].like.gpu);
        json_close(j, ']');
        json_setting(j, &r->columns[c->a].like);
        json_pair_number(j, "n", (int64_t)c->count);
        json_pair_real(j, "spearman", c->rho);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void survey_json(survey_report *r)
{
    json j = {.out = r->out};
    json_open(&j, '{', false);
    json_identity(&j, SCHEMA, sooth_survey_weights(r->survey));
    json_pair_string(&j, "mode", sooth_survey_mode(r->survey));
    json_rows(r, &j);
    json_summary(r, &j);
    json_close(&j, '}');
    text_puts(r->out, "\n");
}

/* ---- the writer -------------------------------------------------------------------------------------------------- */

static void write_report(void *report, text *out, arena *scratch)
{
    survey_report *r = report;
    r->out = out;
    r->scratch = scratch;
    survey_summarize(r);
    switch (r->options.format) {
    case SOOTH_FORMAT_TABLE:
        survey_table(r);
        break;
    case SOOTH_FORMAT_CSV:
        survey_csv(r);
        break;
    case SOOTH_FORMAT_JSON:
        survey_json(r);
        break;
    case SOOTH_FORMAT_HTML:
        survey_html(r);
        break;
    default:
        fail_with(out->fail, SOOTH_ERROR_USAGE, "a survey is written as a table, CSV, JSON or HTML");
    }
}

sooth_status sooth_survey_report(const sooth_survey *survey, const sooth_report_options *options, char **bytes,
                                 size_t *size, sooth_error *error)
{
    survey_report r = {.survey = survey, .options = options ? *options : (sooth_report_options){0}};
    return text_report(write_report, &r, bytes, size, error);
}
