/* eval_report.h: output of `sooth eval`: scores, baselines, groups, the worst rows, and the prediction for every
 * row. */
#ifndef SOOTH_LEARN_EVAL_REPORT_H
#define SOOTH_LEARN_EVAL_REPORT_H

#include "learn/eval.h"
#include "report/text.h"

typedef struct eval_report {
    const evaluation *evaluation;
    const char *const *tables; /* paths, indexed by eval_row.table */
    eval_by by[BY_COUNT];
    size_t by_count;
    const char *weights; /* identity of the weights; "" without weights (roofline only) */
    sooth_report_options options;
    text *out;
    arena *scratch;
} eval_report;

void eval_table(eval_report *r);
void eval_json(eval_report *r);
/* Writes every row: its setting, its measurements, and the prediction of each model or the reason for none. */
void eval_predictions(eval_report *r);

/* Groups of the rows with a prediction, sorted by name. */
const str *eval_groups(const eval_report *r, eval_by by, size_t *count);
/* Returns the rows with the largest errors, worst first. */
const eval_row **eval_worst(const eval_report *r, size_t most, size_t *count);

/* A reason for missing predictions. Lists are sorted by frequency. */
typedef struct eval_reason {
    const char *text;
    size_t rows;
    const eval_row *first;
} eval_reason;
const eval_reason *eval_reasons(const eval_report *r, size_t *count);

#endif
