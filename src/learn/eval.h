/* eval.h: predictions of Sooth and of simple baselines for all rows of tables, for `sooth eval`. */
#ifndef SOOTH_LEARN_EVAL_H
#define SOOTH_LEARN_EVAL_H

#include "learn/rows.h"
#include "learn/score.h"

typedef struct eval_row {
    const measured_row *row;
    int table;                                          /* index of its table */
    double latency_ms, low_ms, high_ms;                 /* NAN: no prediction */
    double memory_mib, memory_low_mib, memory_high_mib; /* NAN: not measured, or no prediction */
    double energy_j, low_j, high_j;                     /* energy under the row's power limit; NAN without weights */
    double roofline_ms;                                 /* roofline */
    double regression_ms;                               /* regression baseline (baseline.h) */
    double constant_ms;                                 /* baseline from another GPU; NAN if no other GPU has the row */
    const char *interval_kind;                          /* kind of hold-out rows that calibrated the interval */
    const char *reason;                                 /* reason for a missing prediction, or NULL */
    double work[3];                                     /* MACs, activations, parameters of the whole batch */
} eval_row;

/* Called for each predicted row, concurrently from any thread. `index` refers to evaluation.rows. */
typedef void (*eval_seen)(void *context, size_t index, const program *p, const prediction *times);

typedef struct evaluation {
    eval_seen seen; /* set before evaluate(); may be NULL */
    void *seen_context;
    eval_row *rows; /* in the order of the tables */
    size_t count;
    arena *texts; /* one per worker: reasons found during prediction */
    size_t worker_count;
} evaluation;

/* Called at intervals by the calling thread only. */
typedef void (*eval_progress)(void *context, size_t done, size_t all);

/* Predicts every row, with `workers` threads; results do not depend on their number. Loads each graph once. Without
 * weights (`with` NULL) computes only the roofline. `into` must be zero except `seen`; evaluation_free frees it,
 * also after a failure. */
void evaluate(evaluation *into, measured_rows *const *tables, int table_count, const predictor *with, size_t workers,
              eval_progress progress, void *context, arena *a);
void evaluation_free(evaluation *e);

/* Row groups for `--by`. */
typedef enum eval_by {
    BY_GPU,
    BY_FAMILY,
    BY_PRECISION,
    BY_SOURCE,
    BY_STACK,
    BY_RUNTIME,
    BY_MODE,
    BY_LAYOUT,
    BY_MIG,
    BY_COUNT
} eval_by;
const char *eval_by_name(eval_by by);
str eval_group(const eval_row *row, eval_by by);

/* Scored quantities. */
typedef enum eval_metric { EVAL_LATENCY, EVAL_MEMORY, EVAL_ENERGY, EVAL_METRIC_COUNT } eval_metric;
const char *eval_metric_name(eval_metric metric); /* "latency_ms" */
/* Scores Sooth's predictions on the rows of `group` (NULL: all rows) that have this measurement. */
score eval_metric_score(const evaluation *e, eval_metric metric, eval_by by, const str *group, arena *scratch);

typedef enum eval_model { EVAL_SOOTH, EVAL_ROOFLINE, EVAL_REGRESSION, EVAL_CONSTANT, EVAL_MODEL_COUNT } eval_model;
const char *eval_model_name(eval_model model);
/* Scores the rows of `group` (NULL: all rows) that have a prediction and a measured latency. */
score eval_score(const evaluation *e, eval_model model, eval_by by, const str *group, arena *scratch);
/* Error in percent; NAN without a prediction. */
double eval_error(const eval_row *row);

#endif
