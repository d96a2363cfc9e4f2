/* features.h: what the learned part sees of a kernel on a device, and the times of the ideal machine that it corrects. */
#ifndef SOOTH_PREDICT_FEATURES_H
#define SOOTH_PREDICT_FEATURES_H

#include "predict/predict.h"
#include "predict/work.h"

/* Numbers of a device that recur for every kernel. */
typedef struct device_view {
    const device *device;
    double sms, bandwidth_b_s, l2_bytes, vector_flops;
    double peak_fp32, peak_tf32, peak_fp16, peak_bf16, peak_fp8, peak_int8; /* FLOP/s; 0: none */
    bool allows_tf32;                                                       /* products of fp32 may use it */
    double threads_per_sm;
    double capability;                 /* NVIDIA's compute capability; that of Ampere where there is none */
    float generation, clocks, l2_log2; /* features that are the same for all kernels */
} device_view;

enum { DEVICE_FEATURES = 23, FEATURE_COUNT = WORK_FEATURES + DEVICE_FEATURES };

device_view view_device(const setting *where);

/* The ideal machine: FLOPs at the peak of the units that can do them, bytes at the memory's rate. Microseconds. */
typedef struct ideal_time {
    double compute_us, memory_us, peak_flops;
    double steady_us; /* compute_us at the base clock: what is learned is relative to it */
} ideal_time;
/* One number of both, for shares of kernels in a program. */
static inline double ideal_total(const ideal_time *t)
{
    return t->steady_us > t->memory_us ? t->steady_us : t->memory_us;
}
ideal_time ideal_of(const work *w, const device_view *d);

void features_of(const work *w, const device_view *d, const ideal_time *ideal, float features[FEATURE_COUNT]);
/* Makes the features of a work those of another that does the same but finds its inputs elsewhere. */
void features_set_reuse(const work *w, const device_view *d, float features[FEATURE_COUNT]);
/* Takes out what of its inputs may be in a cache. */
void features_forget_reuse(float features[FEATURE_COUNT]);

#endif
