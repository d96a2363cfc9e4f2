#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

int statistics_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double statistics_quantile(const double *sorted, size_t count, double share)
{
    if (!count)
        return NAN;
    double at = share * (double)(count - 1);
    size_t below = (size_t)at;
    double above = below + 1 < count ? sorted[below + 1] : sorted[below];
    return sorted[below] + (at - (double)below) * (above - sorted[below]);
}

static int by_value(const void *a, const void *b)
{
    const statistics_rank *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

static void rank_values(double *values, size_t count, statistics_rank *room)
{
    if (!count) /* qsort does not accept NULL, which an empty array may be */
        return;
    for (size_t i = 0; i < count; i++)
        room[i] = (statistics_rank){values[i], i};
    qsort(room, count, sizeof *room, by_value);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && room[end].value == room[i].value)
            end++;
        for (size_t k = i; k < end; k++)
            values[room[k].index] = (double)(i + end - 1) / 2;
        i = end;
    }
}

double statistics_spearman(double *x, double *y, size_t count, statistics_rank *room)
{
    rank_values(x, count, room);
    rank_values(y, count, room);
    double mean = ((double)count - 1) / 2, xy = 0, xx = 0, yy = 0;
    for (size_t i = 0; i < count; i++) {
        xy += (x[i] - mean) * (y[i] - mean);
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}
