/* score.h: how far predictions are from what was measured, in the figures that papers use. */
#ifndef SOOTH_LEARN_SCORE_H
#define SOOTH_LEARN_SCORE_H

#include "base/arena.h"

/* One prediction beside its measurement. low and high are NAN where there is no interval. */
typedef struct scored {
    double measured, predicted, low, high;
} scored;

/* Percentages are in percent. NAN: there is nothing to compute it from. */
typedef struct score {
    size_t n;
    double mape;              /* mean of |predicted - measured| / measured */
    double median, p90;       /* of the same */
    double within5, within10; /* share of rows whose error is at most that many percent */
    double spearman;          /* rank correlation, -1 to 1; equal values share their rank */
    double coverage90;        /* share of rows whose interval has the measurement in it */
    double width90;           /* mean of (high - low) / predicted */
} score;

/* Rows of which measured or predicted is no positive number are left out and do not count. */
score score_of(const scored *rows, size_t count, arena *scratch);

void sort_reals(double *numbers, size_t count); /* ascending */
/* The value below which the share `at` (0 to 1) of the sorted numbers lies, between two of them where it falls there. */
double quantile(const double *sorted, size_t count, double at);

#endif
