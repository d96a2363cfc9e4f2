/* eval_report.h: output of `sooth eval`: scores, baselines, groups, the worst rows; and every row with its answer. */
#ifndef SOOTH_LEARN_EVAL_REPORT_H
#define SOOTH_LEARN_EVAL_REPORT_H

#include "learn/eval.h"
#include "report/text.h"

typedef struct eval_report {
    const evaluation *evaluation;
    const char *const *tables; /* paths, in the order that eval_row.table counts */
    eval_by by[BY_COUNT];
    size_t by_count;
    const char *weights; /* identity of the weights; "": none, roofline only */
    sooth_report_options options;
    text *out;
    arena *scratch;
} eval_report;

void eval_table(eval_report *r);
void eval_json(eval_report *r);
/* Every row: its setting, its measurements, the predictions of each model, or the reason without an answer. */
void eval_predictions(eval_report *r);

/* Groups of the rows with an answer, sorted by name. */
const str *eval_groups(const eval_report *r, eval_by by, size_t *count);
/* The rows with the largest errors, the worst first. */
const eval_row **eval_worst(const eval_report *r, size_t most, size_t *count);

/* Reasons of rows without an answer, the most frequent first. */
typedef struct eval_reason {
    const char *text;
    size_t rows;
    const eval_row *first;
} eval_reason;
const eval_reason *eval_reasons(const eval_report *r, size_t *count);

#endif
