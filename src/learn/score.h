/* score.h: error figures of predictions, as papers use them. */
#ifndef SOOTH_LEARN_SCORE_H
#define SOOTH_LEARN_SCORE_H

#include "base/arena.h"

/* A prediction and its measurement. `low` and `high` are NAN without an interval. */
typedef struct scored {
    double measured, predicted, low, high;
} scored;

/* Shares are in percent. NAN: no rows to compute the figure from. */
typedef struct score {
    size_t n;
    double mape;              /* mean of |predicted - measured| / measured */
    double median, p90;       /* quantiles of the same relative errors */
    double within5, within10; /* share of rows with an error of at most 5 or 10 percent */
    double spearman;          /* rank correlation, -1 to 1; equal values share a rank */
    double coverage90;        /* share of rows whose interval contains the measurement */
    double width90;           /* mean of (high - low) / predicted */
} score;

/* Skips rows without a positive measurement or prediction. */
score score_of(const scored *rows, size_t count, arena *scratch);

#endif
