/* eval_json.c: `sooth eval --format json`. */
#include "learn/eval_report.h"
#include "report/json.h"

#include <math.h>

enum { SCHEMA = 1 }; /* version of the fields: doc/json.md */

enum { MOST_WORST = 20 };

static void figures(json *j, const score *s)
{
    json_pair_number(j, "n", (int64_t)s->n);
    json_pair_real(j, "mape", s->mape);
    json_pair_real(j, "median", s->median);
    json_pair_real(j, "p90", s->p90);
    json_pair_real(j, "within5", s->within5);
    json_pair_real(j, "within10", s->within10);
    json_pair_real(j, "spearman", s->spearman);
    json_pair_real(j, "coverage90", s->coverage90);
    json_pair_real(j, "width90", s->width90);
}

static void metric(json *j, const char *name, const score *s)
{
    json_key(j, name);
    json_open(j, '{', true);
    figures(j, s);
    json_close(j, '}');
}

/* Writes the latency figures twice: as members of the object, and under `latency_ms` like the other metrics. */
static void latency(json *j, const char *key, const score *s)
{
    json_key(j, key);
    json_open(j, '{', true);
    figures(j, s);
    metric(j, "latency_ms", s);
    json_close(j, '}');
}

/* Scores of all measured quantities, for Sooth's predictions. */
static void metrics(eval_report *r, json *j, const char *key, eval_by by, const str *group)
{
    json_key(j, key);
    json_open(j, '{', true);
    for (int m = 0; m < EVAL_METRIC_COUNT; m++) {
        score s = eval_metric_score(r->evaluation, (eval_metric)m, by, group, r->scratch);
        if (m == EVAL_LATENCY && group)
            figures(j, &s);
        if (m == EVAL_LATENCY || s.n)
            metric(j, eval_metric_name((eval_metric)m), &s);
    }
    json_close(j, '}');
}

static void skipped(eval_report *r, json *j)
{
    json_key(j, "skipped");
    json_open(j, '[', false);
    for (size_t i = 0; i < r->evaluation->count; i++) {
        const eval_row *row = &r->evaluation->rows[i];
        if (!row->reason)
            continue;
        json_open(j, '{', true);
        json_pair_number(j, "row", row->row->line);
        json_pair_string(j, "reason", row->reason);
        json_pair_string(j, "table", r->tables[row->table]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void groups(eval_report *r, json *j)
{
    json_key(j, "by");
    json_open(j, '{', false);
    for (size_t i = 0; i < r->by_count; i++) {
        size_t count;
        const str *names = eval_groups(r, r->by[i], &count);
        json_key(j, eval_by_name(r->by[i]));
        json_open(j, '{', false);
        for (size_t k = 0; k < count; k++) {
            metrics(r, j, arena_str(r->scratch, names[k]).ptr, r->by[i], &names[k]);
        }
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void worst(eval_report *r, json *j)
{
    size_t count;
    const eval_row **rows = eval_worst(r, MOST_WORST, &count);
    json_key(j, "worst");
    json_open(j, '[', false);
    for (size_t i = 0; i < count; i++) {
        const measured_row *m = rows[i]->row;
        json_open(j, '{', true);
        json_pair_string(j, "name", arena_str(r->scratch, m->name).ptr);
        json_pair_string(j, "gpu", arena_str(r->scratch, m->gpu).ptr);
        json_pair_number(j, "batch", m->batch);
        json_pair_number(j, "row", m->line);
        json_pair_string(j, "table", r->tables[rows[i]->table]);
        json_pair_real(j, "latency_ms", m->latency_ms);
        json_pair_real(j, "latency_ms_pred", rows[i]->latency_ms);
        json_pair_real(j, "error", eval_error(rows[i]));
        json_close(j, '}');
    }
    json_close(j, ']');
}

void eval_json(eval_report *r)
{
    json j = {.out = r->out};
    json_open(&j, '{', false);
    json_identity(&j, SCHEMA, r->weights);
    json_pair_number(&j, "rows", (int64_t)r->evaluation->count);
    skipped(r, &j);
    json_key(&j, "learned");
    json_bool(&j, *r->weights != 0);
    metrics(r, &j, "metrics", BY_GPU, NULL);
    json_key(&j, "baselines");
    json_open(&j, '{', false);
    for (int m = EVAL_SOOTH + 1; m < EVAL_MODEL_COUNT; m++) {
        score s = eval_score(r->evaluation, (eval_model)m, BY_GPU, NULL, r->scratch);
        latency(&j, eval_model_name((eval_model)m), &s);
    }
    json_close(&j, '}');
    groups(r, &j);
    worst(r, &j);
    json_close(&j, '}');
    text_puts(r->out, "\n");
}
