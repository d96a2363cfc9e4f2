/* energy.h: power of a device while it runs a program, and the energy of a pass.
 *
 * A physical model with few coefficients. Power while a kernel runs is a sum: the base (clocks up, nothing running),
 * the busy part (multiprocessors with at least one block), FLOPs by unit, and bytes by memory or cache. Multiprocessors
 * draw little of the busy part in a short kernel, because they mostly wait. Most coefficients are shares of the
 * device's power limit, so that they hold for any device: a chip is built to reach its limit near its peak. No kernel
 * draws more than the limit: clocks fall. Between kernels the board draws its base. Energy is the sum of power x time,
 * so rows add up.
 *
 * The file of coefficients (data/energy.txt ships, made by `sooth learn --energy`):
 *   1. Lines of text; '#' begins a comment with the origin of a number.
 *   2. `NAME = NUMBER` for each coefficient of power_coefficients(), each once, in any order.
 *   3. `gpu NAME = BASE SCALE CAP`: base, factor on everything else, and cap of a measured GPU.
 *   4. `interval GPU WORK = HALF`: half the width of the 90 % interval of power, as a logarithm; GPU is known or
 *      new, WORK is one of power_work_kind_name(). */
#ifndef SOOTH_PREDICT_ENERGY_H
#define SOOTH_PREDICT_ENERGY_H

#include "predict/predict.h"

typedef enum power_coefficient {
    POWER_BASE_HBM,  /* Idle power at full clocks as a share of the power limit, HBM up to HBM2e. */
    POWER_BASE_HBM3, /* Idle power at full clocks as a share of the power limit, HBM3 and later. */
    POWER_BASE_GDDR, /* Idle power at full clocks as a share of the power limit, GDDR. */
    POWER_BUSY,      /* Power of occupied multiprocessors as a share of the limit. */
    /* Multiprocessors of a short kernel draw half of their power at this share of the peak rates. */
    POWER_HALF_BUSY,
    /* Work in microseconds at the peak rates above which a slow kernel counts as busy, not as waiting. */
    POWER_SMALL,
    POWER_VECTOR,      /* Power of the vector units at peak FLOP/s as a share of the limit. */
    POWER_TENSOR,      /* Power of tensor cores at peak FLOP/s in 16 or 32 bits, as a share of the limit. */
    POWER_TENSOR_8,    /* Power of tensor cores at peak FLOP/s in 8 bits, as a share of the limit. */
    POWER_HBM,         /* pJ per byte read or written, HBM. */
    POWER_GDDR,        /* pJ per byte read or written, GDDR. */
    POWER_L2,          /* pJ per byte of the L2 cache, beyond the bytes from memory. */
    POWER_CAP,         /* Largest share of the limit that a kernel draws. */
    POWER_CLOCK,       /* Exponent of the clock in the power above the base. */
    POWER_CLOCK_BOUND, /* Share of a memory-bound kernel's time that scales with the clock. */
    POWER_COEFFICIENT_COUNT,
} power_coefficient;

typedef struct power_coefficient_info {
    const char *name, *summary;
    double least, most;
} power_coefficient_info;
const power_coefficient_info *power_coefficients(void); /* POWER_COEFFICIENT_COUNT rows */

/* Kind of most of the work. Each kind has its own interval. */
typedef enum power_work_kind {
    POWER_WORK_CONVOLUTION,
    POWER_WORK_PRODUCT,
    POWER_WORK_OTHER,
    POWER_WORK_KINDS
} power_work_kind;
const char *power_work_kind_name(power_work_kind kind);

enum { POWER_MAX_GPUS = 64 };

typedef struct power_gpu {
    str name;
    double base, scale, cap;
} power_gpu;

typedef struct power_model {
    double coefficients[POWER_COEFFICIENT_COUNT];
    power_gpu gpus[POWER_MAX_GPUS];
    int gpu_count;
    double intervals[2][POWER_WORK_KINDS]; /* Second index: 1 for a new GPU. */
} power_model;

/* Reads the text of a coefficient file, which must outlive the model. `prefix` precedes every message. */
void power_model_read(power_model *m, str text, const char *prefix, fail *f);
/* Returns the shipped model. */
void power_model_shipped(power_model *m, fail *f);

typedef struct power_gpu_line {
    str name, numbers; /* As in the text. */
    int line;
} power_gpu_line;

/* The shipped model, read once for many GPUs. Must be zero-initialized. */
typedef struct power_shipped {
    bool is_read;
    power_model model; /* `gpus` contains only the GPU of the last call. */
    power_gpu_line gpus[POWER_MAX_GPUS];
    int gpu_count;
} power_shipped;
/* Returns the shipped model with only this GPU; valid until the next call. */
const power_model *power_shipped_for(power_shipped *s, str gpu, fail *f);

/* ---- one device -------------------------------------------------------------------------------------------------- */

typedef enum power_unit { UNIT_VECTOR, UNIT_TENSOR, UNIT_TENSOR_8, UNIT_COUNT } power_unit;

/* The model for a device, in watts. A slice has its share of the GPU's limit. */
typedef struct power_view {
    double base_w, busy_w, unit_w[UNIT_COUNT], dram_w, l2_w; /* Power at full load. */
    double half_busy, small_us;
    /* Limit, and the largest power of a kernel: under this limit, and under the device's own. */
    double limit_w, cap_w, default_cap_w;
    double clock_exponent, clock_bound;
    double sms, tensor_peak; /* FLOP/s of its tensor cores in 16 bits; 0 if it has none. */
    double vector_peak;
    bool is_known; /* The GPU was measured. */
} power_view;

/* Returns the coefficient for the base of a device without its own base. */
power_coefficient power_base_of(const device *d);

/* limit_w 0 means the device's own limit. If that is unknown, GPUs of a similar peak determine it. */
power_view power_view_of(const power_model *m, const device *d, double limit_w);

/* Inputs of the power model for one run of a kernel. */
typedef struct power_work {
    double device_us, compute_us, memory_us;
    double active; /* Factor on the busy part: square root of the share of multiprocessors with a block. */
    power_unit unit;
} power_work;
power_work power_work_of(const power_view *v, const kernel *k, const kernel_time *t);

/* Watts while the kernel runs, without a limit. */
static inline double power_raw(const power_view *v, const power_work *w)
{
    double by_time = w->device_us > 0 ? 1 / w->device_us : 0;
    double memory = w->memory_us * by_time, compute = w->compute_us * by_time;
    double dram = memory < 1 ? memory : 1, load = memory + compute < 1 ? memory + compute : 1;
    double work = load / v->half_busy + (w->memory_us + w->compute_us) / v->small_us,
           busy = w->active * work / (1 + work);
    return v->base_w + v->busy_w * busy + v->unit_w[w->unit] * (compute < 1 ? compute : 1) + v->dram_w * dram +
           v->l2_w * (memory - dram);
}
/* Returns the slowdown of a kernel that draws `raw` watts under the view's limit. */
double power_stretch(const power_view *v, const power_work *w, double raw);

/* ---- a program --------------------------------------------------------------------------------------------------- */

typedef struct energy {
    double energy_j, low_j, high_j; /* Energy of one pass or step, with its 90 % interval. */
    double power_w, low_w, high_w;  /* Average power over the latency. */
    double limit_w, waiting_w;      /* Power between kernels. */
    const char *interval_kind;      /* Calibration set. */
    double *kernels_j;              /* One per kernel; they sum to the energy. */
} energy;

/* Return the kind of a kernel, and the kind of a program from the times of its kinds. */
power_work_kind energy_kind_of(const kernel *k);
power_work_kind energy_main_kind(const double us[POWER_WORK_KINDS]);

/* Computes the energy. A limit below the device's own slows kernels and changes `times`; limit_w 0 means the device's
 * own. Unless the setting was measured, kernels are no faster than the limit allows in the long run.
 * Allocates in `a`. */
energy energy_of_program(const power_model *m, const program *p, prediction *times, const device *d, double limit_w,
                         bool is_measured, arena *a);

#endif
