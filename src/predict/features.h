/* features.h: features of a kernel on a device, and the roofline times that the learned factors correct. */
#ifndef SOOTH_PREDICT_FEATURES_H
#define SOOTH_PREDICT_FEATURES_H

#include "predict/predict.h"
#include "predict/work.h"

/* Numbers of a device that every kernel needs. */
typedef struct device_view {
    const device *device;
    double sms, bandwidth_b_s, l2_bytes, vector_flops;
    double peak_fp32, peak_tf32, peak_fp16, peak_bf16, peak_fp8, peak_int8; /* FLOP/s; 0 if there is no such unit. */
    bool allows_tf32;                                                       /* Products in fp32 may use TF32. */
    double threads_per_sm;
    double capability;                 /* NVIDIA's compute capability; other vendors have Ampere's. */
    float generation, clocks, l2_log2; /* Features shared by all kernels. */
    float chip;                        /* Hash of the chip's name; 0: not given. */
} device_view;

/* Arithmetic units. Measurements of a GPU on one unit say little about its other units. */
typedef enum work_unit { UNIT_NONE, UNIT_FP32, UNIT_TF32, UNIT_HALF, UNIT_BYTE, WORK_UNITS } work_unit;
work_unit unit_of(const work *w, const device_view *d);
double unit_peak(work_unit u, const device_view *d);

/* The numbers of a device that the weights record for each GPU of the training. */
enum { VIEW_NUMBERS = 15 };
void view_pack(const device_view *d, float numbers[VIEW_NUMBERS]);
device_view view_unpack(const float numbers[VIEW_NUMBERS], bool allows_tf32);

enum { DEVICE_FEATURES = 23, FEATURE_COUNT = WORK_FEATURES + DEVICE_FEATURES };

device_view view_device(const setting *where);

/* Roofline in microseconds: FLOPs at the peak of the usable units, bytes at the memory bandwidth. */
typedef struct ideal_time {
    double compute_us, memory_us, peak_flops;
    double steady_us; /* compute_us at the base clock; learned factors are relative to it. */
} ideal_time;
/* Returns the longer of both, for shares of kernels in a program. */
static inline double ideal_total(const ideal_time *t)
{
    return t->steady_us > t->memory_us ? t->steady_us : t->memory_us;
}
ideal_time ideal_of(const work *w, const device_view *d);

void features_of(const work *w, const device_view *d, const ideal_time *ideal, float features[FEATURE_COUNT]);
/* Copies the features of a kernel that differs only in cache reuse. */
void features_set_reuse(const work *w, const device_view *d, float features[FEATURE_COUNT]);
/* Removes cache reuse from the features. */
void features_forget_reuse(float features[FEATURE_COUNT]);

#endif
