/* score.c: error figures of predictions. */
#include "learn/score.h"

#include <math.h>
#include <stdlib.h>

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_reals(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, compare_reals);
}

double quantile(const double *sorted, size_t count, double at)
{
    if (!count)
        return NAN;
    double place = at * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

typedef struct ranked {
    double value;
    size_t index;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    int by_value = (x->value > y->value) - (x->value < y->value);
    return by_value ? by_value : (x->index > y->index) - (x->index < y->index);
}

/* Sets ranks[i]; equal values get the mean of their ranks. */
static void rank_all(ranked *items, size_t count, double *ranks)
{
    qsort(items, count, sizeof *items, compare_ranked);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && items[end].value == items[i].value)
            end++;
        for (size_t k = i; k < end; k++)
            ranks[items[k].index] = (double)(i + end - 1) / 2;
        i = end;
    }
}

static double correlation(const double *x, const double *y, size_t count)
{
    double mean = (double)(count - 1) / 2; /* of ranks, ties or not */
    double xy = 0, xx = 0, yy = 0;
    for (size_t i = 0; i < count; i++) {
        xy += (x[i] - mean) * (y[i] - mean);
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

static double spearman_of(const scored *rows, size_t count, arena *scratch)
{
    ranked *items = ARENA_ARRAY(scratch, ranked, count + 1);
    double *measured = ARENA_ARRAY(scratch, double, count + 1), *predicted = ARENA_ARRAY(scratch, double, count + 1);
    for (size_t i = 0; i < count; i++)
        items[i] = (ranked){rows[i].measured, i};
    rank_all(items, count, measured);
    for (size_t i = 0; i < count; i++)
        items[i] = (ranked){rows[i].predicted, i};
    rank_all(items, count, predicted);
    return count ? correlation(measured, predicted, count) : NAN;
}

/* ---- all figures ------------------------------------------------------------------------------------------------- */

score score_of(const scored *rows, size_t count, arena *scratch)
{
    scored *sound = ARENA_ARRAY(scratch, scored, count + 1);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].measured > 0 && rows[i].predicted > 0 && isfinite(rows[i].measured) && isfinite(rows[i].predicted))
            sound[n++] = rows[i];
    score s = {.n = n, .mape = NAN, .within5 = NAN, .within10 = NAN, .coverage90 = NAN, .width90 = NAN};
    double *errors = ARENA_ARRAY(scratch, double, n + 1);
    double sum = 0, width = 0;
    size_t within5 = 0, within10 = 0, intervals = 0, covered = 0;
    for (size_t i = 0; i < n; i++) {
        const scored *r = &sound[i];
        errors[i] = 100 * fabs(r->predicted - r->measured) / r->measured;
        sum += errors[i];
        within5 += errors[i] <= 5;
        within10 += errors[i] <= 10;
        if (isnan(r->low) || isnan(r->high))
            continue;
        intervals++;
        covered += r->low <= r->measured && r->measured <= r->high;
        width += (r->high - r->low) / r->predicted;
    }
    sort_reals(errors, n);
    s.median = quantile(errors, n, 0.5);
    s.p90 = quantile(errors, n, 0.9);
    s.spearman = spearman_of(sound, n, scratch);
    if (n) {
        s.mape = sum / (double)n;
        s.within5 = 100 * (double)within5 / (double)n;
        s.within10 = 100 * (double)within10 / (double)n;
    }
    if (intervals) {
        s.coverage90 = 100 * (double)covered / (double)intervals;
        s.width90 = 100 * width / (double)intervals;
    }
    return s;
}
