/* eval.h: answers to all rows of tables, beside what simpler models answer: what `sooth eval` scores. */
#ifndef SOOTH_LEARN_EVAL_H
#define SOOTH_LEARN_EVAL_H

#include "learn/rows.h"
#include "learn/score.h"

typedef struct eval_row {
    const measured_row *row;
    int table;                                          /* which of those given */
    double latency_ms, low_ms, high_ms;                 /* NAN: there is no answer */
    double memory_mib, memory_low_mib, memory_high_mib; /* NAN: none was measured, or there is no answer */
    double energy_j, low_j, high_j; /* under the row's power limit, as is the latency; NAN where nothing was learned */
    double roofline_ms;             /* physics alone: FLOPs and bytes at the device's peaks */
    double regression_ms;           /* by a quadratic in the logarithms of MACs, activations, parameters (baseline.h) */
    double constant_ms;             /* another GPU's time by one constant; NAN where no other GPU has the row */
    const char *interval_kind;      /* what the interval was calibrated on */
    const char *reason;             /* why there is no answer; NULL if there is one */
    double work[3];                 /* MACs, activations, parameters of the whole batch */
} eval_row;

/* Called for each row that is answered, by any thread: what is asked of programs that is not part of the answer. Several calls of
 * different rows at once; `index` is the row's in evaluation.rows. */
typedef void (*eval_seen)(void *context, size_t index, const program *p, const prediction *times);

typedef struct evaluation {
    eval_seen seen; /* NULL: nobody asks. Set before evaluate() */
    void *seen_context;
    eval_row *rows; /* in the order of the tables */
    size_t count;
    arena *texts; /* of each worker: reasons that only showed up while answering */
    size_t worker_count;
} evaluation;

/* Called now and then, by the calling thread alone. */
typedef void (*eval_progress)(void *context, size_t done, size_t all);

/* Answers every row: each graph is loaded once, rows are shared by `workers` threads. The answers do not depend on their number.
 * `with` may be NULL: physics alone. `into` must be zero but for `seen`; what it holds is given back by evaluation_free, also when this fails. */
void evaluate(evaluation *into, measured_rows *const *tables, int table_count, const predictor *with, size_t workers,
              eval_progress progress, void *context, arena *a);
void evaluation_free(evaluation *e);

/* How `--by` groups rows. */
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

/* What is scored. */
typedef enum eval_metric { EVAL_LATENCY, EVAL_MEMORY, EVAL_ENERGY, EVAL_METRIC_COUNT } eval_metric;
const char *eval_metric_name(eval_metric metric); /* "latency_ms" */
/* Scores what Sooth answers, of those of the rows (all if `group` is NULL) of which it was measured. */
score eval_metric_score(const evaluation *e, eval_metric metric, eval_by by, const str *group, arena *scratch);

typedef enum eval_model { EVAL_SOOTH, EVAL_ROOFLINE, EVAL_REGRESSION, EVAL_CONSTANT, EVAL_MODEL_COUNT } eval_model;
const char *eval_model_name(eval_model model);
/* Scores those of the rows (all if `group` is NULL) that have an answer and a measured latency. */
score eval_score(const evaluation *e, eval_model model, eval_by by, const str *group, arena *scratch);
/* The error in percent; NAN without an answer. */
double eval_error(const eval_row *row);

#endif
