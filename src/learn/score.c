/* score.c: error figures of predictions. */
#include "learn/score.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

static double spearman_of(const scored *rows, size_t count, arena *scratch)
{
    statistics_rank *room = ARENA_ARRAY(scratch, statistics_rank, count + 1);
    double *measured = ARENA_ARRAY(scratch, double, count + 1), *predicted = ARENA_ARRAY(scratch, double, count + 1);
    for (size_t i = 0; i < count; i++) {
        measured[i] = rows[i].measured;
        predicted[i] = rows[i].predicted;
    }
    return statistics_spearman(measured, predicted, count, room);
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
    qsort(errors, n, sizeof *errors, statistics_ascending);
    s.median = statistics_quantile(errors, n, 0.5);
    s.p90 = statistics_quantile(errors, n, 0.9);
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
