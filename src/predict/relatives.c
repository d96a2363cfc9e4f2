/* relatives.c: compares the numbers of a GPU with those of the GPUs that training saw. */
#include "predict/relatives.h"

#include <math.h>

enum { COMPARED = 4 };

/* The numbers that bound kernels on a unit. */
static void compared(const device_view *d, work_unit u, double numbers[COMPARED])
{
    numbers[0] = d->bandwidth_b_s;
    numbers[1] = d->l2_bytes;
    numbers[2] = d->vector_flops;
    numbers[3] = unit_peak(u, d);
}

/* Data sheets round, so a hundredth less still counts as equal. */
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

relatives relatives_of(const net *n, const device_view *d, work_group g, work_unit u, const int16_t *ops, size_t count)
{
    relatives r = {.kin = UNKNOWN, .below = UNKNOWN, .above = UNKNOWN};
    double own[COMPARED], other[COMPARED], kin_away = INFINITY, below_away = INFINITY, above_away = INFINITY;
    compared(d, u, own);
    for (int i = 1; i < n->gpu_count; i++) {
        device_view v = view_unpack(n->gpu_numbers + (size_t)i * VIEW_NUMBERS, d->allows_tf32);
        if (v.sms <= 0) /* left out of the training */
            continue;
        bool ran = ran_all(n, i, g, u, ops, count);
        compared(&v, u, other);
        double away = log_distance(own, other);
        if (ran && v.chip > 0 && v.chip == d->chip && away < kin_away) {
            kin_away = away;
            r.kin = i;
        }
        if (away > 0 && is_no_better(other, own) && away < below_away) {
            below_away = away;
            r.below = i;
            r.ran_below = ran;
        }
        if (ran && is_no_better(own, other) && away < above_away) {
            above_away = away;
            r.above = i;
        }
    }
    return r;
}
