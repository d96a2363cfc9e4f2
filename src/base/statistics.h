/* statistics.h: quantiles and rank correlation of plain arrays. */
#ifndef SOOTH_BASE_STATISTICS_H
#define SOOTH_BASE_STATISTICS_H

#include <stddef.h>

/* For qsort: doubles in ascending order. */
int statistics_ascending(const void *a, const void *b);

/* Interpolates between the two nearest values of an ascending array, as NumPy does by default; NAN if it is empty. */
double statistics_quantile(const double *sorted, size_t count, double share);

/* Scratch memory for statistics_spearman, one per value. */
typedef struct statistics_rank {
    double value;
    size_t index;
} statistics_rank;

/* Spearman's rank correlation; ties share the mean of their ranks. Replaces both arrays by ranks. NAN if all values of
 * one array are equal. */
double statistics_spearman(double *x, double *y, size_t count, statistics_rank *room);

#endif
