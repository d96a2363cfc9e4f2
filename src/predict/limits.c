#include "predict/limits.h"

#include <math.h>

/* Bytes that a kernel moves to and from memory. Inputs that the cache still holds from their last use are not read
 * from memory. Weights always are, because a pass reads them once. */
double limits_traffic(const work *w, const device_view *view)
{
    float nearest = fminf(w->reuse[0], w->reuse[1]);
    double held = nearest <= view->l2_log2 ? fmin(view->l2_bytes, w->bytes - w->weight_bytes) : 0;
    return w->bytes - held;
}

/* True if the kernel touches all of its counted bytes. Batched experts read part of their matrices, attention may
 * read a window of its keys, and lookups read part of their table. */
static bool touches_all(const work *w)
{
    switch (w->group) {
    case WORK_PRODUCT:
        return w->gemm[0] <= 1;
    case WORK_ATTENTION:
    case WORK_MOVE:
    case WORK_OTHER:
        return false;
    default:
        return true;
    }
}

/* The physical floor of a kernel: its FLOPs at the peak of its unit, its bytes at the bandwidth, and a launch. The
 * compute time of kernels without products is a guess and does not count. */
double limits_least_us(const work *w, const ideal_time *ideal, const device_view *view, double pass_bytes,
                       bool is_winograd)
{
    static const double START_US = 1, CACHES = 8, WINOGRAD = 1 / 2.25;
    double least = fmax(w->macs > 0 ? (is_winograd ? WINOGRAD : 1) * ideal->compute_us : 0, START_US);
    /* A pass that touches far more than the cache must read its weights from memory. */
    if (w->gemm[0] == 1 && pass_bytes > CACHES * view->l2_bytes)
        least = fmax(least, w->weight_bytes / view->bandwidth_b_s * 1e6);
    return touches_all(w) ? fmax(least, limits_traffic(w, view) / view->bandwidth_b_s * 1e6) : least;
}

/* Upper bound on the time of convolutions and attention unlike any that were measured, as a multiple of the roofline
 * plus some microseconds. `gpu_ran_kind` relaxes it, because measured kernels may be slow: up to 440 times the
 * roofline for depthwise convolutions in 16 bits with large windows, and 1,200 times for gradients of short ones.
 * Other kernels have net_bounds(). */
double limits_most_us(const work *w, const ideal_time *ideal, bool gpu_ran_kind)
{
    double ideal_us = ideal->compute_us + ideal->memory_us;
    switch (w->group) {
    case WORK_ATTENTION:
        return 40 * ideal_us + 60;
    case WORK_DEPTHWISE:
        if (w->product_dtype == DT_FLOAT32) /* Longer kernels get nearer to the roofline. */
            return 25 * fmin(ideal_us, 100) + 12 * fmax(ideal_us - 100, 0) + 400;
        return gpu_ran_kind ? INFINITY : 60 * ideal_us + 50;
    case WORK_CONV:
        return gpu_ran_kind ? 30 * ideal_us + 80 : 20 * ideal_us + 40;
    case WORK_GROUPED:
        return gpu_ran_kind ? INFINITY : 20 * ideal_us + 40;
    case WORK_CONV_BACKWARD:
    case WORK_DEPTHWISE_BACKWARD:
        return gpu_ran_kind ? INFINITY : 15 * ideal_us + 60;
    default:
        return INFINITY;
    }
}
