/* relatives.c: compares the numbers of a GPU with those of the GPUs that training saw. */
#include "predict/relatives.h"

#include <math.h>

enum { COMPARED = 4 };
_Static_assert(UNKNOWN == 0, "zeros are unknown GPUs");

/* Sets the numbers of a GPU that bound kernels on a unit. */
static void compared(const device_view *d, work_unit u, double numbers[COMPARED])
{
    numbers[0] = d->bandwidth_b_s;
    numbers[1] = d->l2_bytes;
    numbers[2] = d->vector_flops;
    numbers[3] = unit_peak(u, d);
}

/* Tolerates 1 %, because data sheets round. */
static bool is_no_better(const double *a, const double *b)
{
    for (int i = 0; i < COMPARED; i++)
        if (a[i] > 1.01 * b[i])
            return false;
    return true;
}

static double log_distance(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < COMPARED; i++)
        sum += a[i] > 0 && b[i] > 0 ? fabs(log(a[i] / b[i])) : a[i] != b[i];
    return sum;
}

static bool ran_all(const net *n, int gpu, work_group g, work_unit u, const int16_t *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!net_gpu_ran(n, gpu, g, u, ops[i]))
            return false;
    return true;
}

/* Adds a measured GPU to `below` unless an entry is at least as good, and removes entries that are no better than
 * it. Keeps the nearest ones. */
static void put_below(relatives *r, const net *n, const device_view *d, work_unit u, int gpu, double away,
                      double *aways)
{
    double own[COMPARED], other[COMPARED];
    device_view v = view_unpack(n->gpu_numbers + (size_t)gpu * VIEW_NUMBERS, d->allows_tf32);
    compared(&v, u, own);
    int kept = 0;
    for (int i = 0; i < MOST_BELOW && r->below[i] != UNKNOWN; i++) {
        device_view w = view_unpack(n->gpu_numbers + (size_t)r->below[i] * VIEW_NUMBERS, d->allows_tf32);
        compared(&w, u, other);
        if (is_no_better(own, other))
            return;
        if (is_no_better(other, own))
            continue;
        r->below[kept] = r->below[i];
        aways[kept++] = aways[i];
    }
    int at = kept < MOST_BELOW ? kept : MOST_BELOW - 1;
    if (kept == MOST_BELOW && aways[at] <= away)
        return;
    for (; at > 0 && aways[at - 1] > away; at--) {
        r->below[at] = r->below[at - 1];
        aways[at] = aways[at - 1];
    }
    r->below[at] = gpu;
    aways[at] = away;
    for (int i = kept + 1; i < MOST_BELOW; i++)
        r->below[i] = UNKNOWN;
}

relatives relatives_of(const net *n, const device_view *d, work_group g, work_unit u, const int16_t *ops, size_t count)
{
    relatives r = {.kin = UNKNOWN};
    double own[COMPARED], other[COMPARED], aways[MOST_BELOW] = {0};
    double kin_away = INFINITY, near_away = INFINITY, above_away = INFINITY;
    compared(d, u, own);
    for (int i = 1; i < n->gpu_count; i++) {
        device_view v = view_unpack(n->gpu_numbers + (size_t)i * VIEW_NUMBERS, d->allows_tf32);
        if (v.sms <= 0) /* Left out of the training. */
            continue;
        bool ran = ran_all(n, i, g, u, ops, count);
        compared(&v, u, other);
        double away = log_distance(own, other);
        if (ran && v.chip > 0 && v.chip == d->chip && away < kin_away) {
            kin_away = away;
            r.kin = i;
        }
        if (ran && is_no_better(other, own))
            put_below(&r, n, d, u, i, away, aways);
        if (!ran && away > 0 && away < near_away && is_no_better(other, own)) {
            near_away = away;
            r.near = i;
        }
        if (ran && away < above_away && is_no_better(own, other)) {
            above_away = away;
            r.above = i;
        }
    }
    if (r.below[0] != UNKNOWN && aways[0] <= near_away)
        r.near = UNKNOWN;
    /* Drops GPUs that are no better than `near`, because they already bound the prediction for `near`. */
    if (r.near != UNKNOWN) {
        device_view v = view_unpack(n->gpu_numbers + (size_t)r.near * VIEW_NUMBERS, d->allows_tf32);
        compared(&v, u, own);
        for (int i = 0; i < MOST_BELOW; i++) {
            device_view w = view_unpack(n->gpu_numbers + (size_t)r.below[i] * VIEW_NUMBERS, d->allows_tf32);
            compared(&w, u, other);
            if (is_no_better(other, own))
                r.below[i] = UNKNOWN;
        }
    }
    return r;
}
