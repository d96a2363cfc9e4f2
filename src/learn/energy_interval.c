/* energy_interval.c: quantiles of the errors of held-out sources. */
#include "learn/energy_interval.h"

#include <math.h>
#include <stdlib.h>

typedef struct weighted {
    double error, weight;
} weighted;

static int by_error(const void *a, const void *b)
{
    const weighted *x = a, *y = b;
    return (x->error > y->error) - (x->error < y->error);
}

/* Weighted 90 % quantile of the errors of one kind of work (POWER_WORK_KINDS: all kinds). Negative if fewer than two
 * sources have rows. */
static double width_of(const interval_row *rows, size_t count, bool is_new, int kind, int without, arena *a)
{
    weighted *list = ARENA_ARRAY(a, weighted, count + 1);
    bool has[INTERVAL_MAX_SOURCES] = {0};
    int sources = 0;
    size_t n = 0;
    double all = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        const interval_row *r = &rows[i];
        if (r->is_new != is_new || r->source == without || (kind != POWER_WORK_KINDS && (int)r->kind != kind))
            continue;
        sources += !has[r->source];
        has[r->source] = true;
        list[n++] = (weighted){r->error, r->weight};
        all += r->weight;
    }
    qsort(list, n, sizeof *list, by_error);
    for (size_t i = 0; i < n && sources > 1; i++) {
        sum += list[i].weight;
        if (sum >= 0.9 * all)
            return list[i].error;
    }
    return -1;
}

double interval_half(const interval_row *rows, size_t count, bool is_new, power_work_kind kind, int without, arena *a)
{
    static const double UNKNOWN_HALF = 0.5;
    double any = width_of(rows, count, true, POWER_WORK_KINDS, without, a);
    double known = width_of(rows, count, false, (int)kind, without, a);
    if (any < 0)
        any = UNKNOWN_HALF;
    if (known < 0)
        known = any;
    if (!is_new)
        return known;
    double new = width_of(rows, count, true, (int)kind, without, a);
    return fmax(new < 0 ? any : new, known);
}
