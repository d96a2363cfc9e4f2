/* eval_report.h: what `sooth eval` writes: figures, baselines, groups, the worst rows; and every row with its answer. */
#ifndef SOOTH_LEARN_EVAL_REPORT_H
#define SOOTH_LEARN_EVAL_REPORT_H

#include "learn/eval.h"
#include "report/text.h"

typedef struct eval_report {
    const evaluation *evaluation;
    const char *const *tables; /* paths, in the order that eval_row.table counts */
    eval_by by[BY_COUNT];
    size_t by_count;
    const char *weights; /* identity of the weights; "": none, the roofline alone predicts */
    sooth_report_options options;
    text *out;
    arena *scratch;
} eval_report;

void eval_table(eval_report *r);
void eval_json(eval_report *r);
/* Every row: what it is, what was measured, what each model says, or why there is no answer. */
void eval_predictions(eval_report *r);

/* The groups that rows with an answer have, sorted by name. */
const str *eval_groups(const eval_report *r, eval_by by, size_t *count);
/* The rows with the largest errors, the worst first. */
const eval_row **eval_worst(const eval_report *r, size_t most, size_t *count);

/* Why rows have no answer, the commonest first. */
typedef struct eval_reason {
    const char *text;
    size_t rows;
    const eval_row *first;
} eval_reason;
const eval_reason *eval_reasons(const eval_report *r, size_t *count);

#endif
