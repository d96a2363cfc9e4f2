/* limits.h: the shortest and the longest time that a kernel can take. Predictions and trainings apply both. */
#ifndef SOOTH_PREDICT_LIMITS_H
#define SOOTH_PREDICT_LIMITS_H

#include "predict/features.h"

/* Bytes that a run moves to and from memory. */
double limits_traffic(const work *w, const device_view *view);

/* `pass_bytes`: bytes of all kernels of the pass. */
double limits_least_us(const work *w, const ideal_time *ideal, const device_view *view, double pass_bytes,
                       bool is_winograd);
/* `gpu_ran_kind`: the GPU ran kernels of this kind, however slow. INFINITY: no limit. */
double limits_most_us(const work *w, const ideal_time *ideal, bool gpu_ran_kind);

#endif
