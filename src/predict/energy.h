/* energy.h: what a device draws while it runs the kernels of a program, and the energy of a pass.
 *
 * Physics with few coefficients. Power while a kernel runs is a sum: what the board draws with its clocks up and nothing running (base),
 * what multiprocessors draw that have a block at all (busy), FLOPs by the unit that does them, bytes by where they come from. A kernel
 * far from the peaks either waits (for its launch, for others) or is slow: one with little work waits and draws little of the busy part, one
 * with much is slow and draws all of it. Most coefficients are
 * shares of the device's own power limit, so that they hold for any device: a chip is built to reach its limit near its peak.
 * No kernel draws more than the limit: there the clocks fall. Between kernels the board draws its base. Energy is the sum of power x
 * time, so rows always add up.
 *
 * The file of coefficients (data/energy.txt is the one that ships, made by `sooth learn --energy`):
 *   1. Text in lines; what follows '#' is a comment and says where a number comes from.
 *   2. `NAME = NUMBER` for each coefficient of power_coefficients(), each once, in any order.
 *   3. `gpu NAME = BASE SCALE CAP`: of a GPU that was measured its own base and cap, and a factor on all else.
 *   4. `interval GPU WORK = HALF`: half the width of the 90 % interval of power, as a logarithm; GPU is known or new, WORK is
 *      one of power_work_kind_name(). */
#ifndef SOOTH_PREDICT_ENERGY_H
#define SOOTH_PREDICT_ENERGY_H

#include "predict/predict.h"

typedef enum power_coefficient {
    POWER_BASE_HBM,  /* share of the limit: clocks up, nothing runs; memory on the package, up to HBM2e */
    POWER_BASE_HBM3, /* the same, HBM3 and later */
    POWER_BASE_GDDR, /* the same, memory on the board */
    POWER_BUSY,      /* share of the limit: a block on every multiprocessor, whatever it does */
    POWER_HALF_BUSY, /* of the peaks that a short kernel reaches, at which multiprocessors draw half of that */
    POWER_SMALL,     /* microseconds of work at the peaks that do the same for a slow kernel: it is busy, not waiting */
    POWER_VECTOR,    /* share of the limit: FLOPs of units that are not tensor cores, at their peak */
    POWER_TENSOR,    /* share of the limit: tensor cores in 16 or 32 bits, at their peak */
    POWER_TENSOR_8,  /* share of the limit: tensor cores in 8 bits */
    POWER_HBM,       /* pJ for each byte that memory on the package reads or writes */
    POWER_GDDR,      /* the same, memory on the board */
    POWER_L2,        /* pJ for each byte that the cache has, beyond what the memory can deliver */
    POWER_CAP,       /* of the limit that a kernel draws at most */
    POWER_CLOCK,     /* exponent: power above the base follows the clock to this power */
    POWER_CLOCK_BOUND, /* share of a kernel's time that follows the clock even where memory bounds it */
    POWER_COEFFICIENT_COUNT,
} power_coefficient;

typedef struct power_coefficient_info {
    const char *name, *summary;
    double least, most;
} power_coefficient_info;
const power_coefficient_info *power_coefficients(void); /* POWER_COEFFICIENT_COUNT rows */

/* What most of the time is spent in; intervals are told apart by it. */
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
    double intervals[2][POWER_WORK_KINDS]; /* [GPU is new] */
} power_model;

/* Reads a file's text, which must live as long as the model. `prefix` stands before every message. */
void power_model_read(power_model *m, str text, const char *prefix, fail *f);
/* What ships. */
void power_model_shipped(power_model *m, fail *f);
/* The same without the GPUs of other names: what one prediction needs of it. */
void power_model_shipped_for(power_model *m, str gpu, fail *f);

/* ---- one device -------------------------------------------------------------------------------------------------------- */

typedef enum power_unit { UNIT_VECTOR, UNIT_TENSOR, UNIT_TENSOR_8, UNIT_COUNT } power_unit;

/* The model for a device in watts. The device may be a slice, whose limit is its share of the whole GPU's: what it draws is its share. */
typedef struct power_view {
    double base_w, busy_w, unit_w[UNIT_COUNT], dram_w, l2_w; /* at full load */
    double half_busy, small_us;
    double limit_w, cap_w, default_cap_w; /* limit; what a kernel draws at most, under it and under the device's own */
    double clock_exponent, clock_bound;
    double sms, tensor_peak; /* FLOP/s of its tensor cores in 16 bits; 0: none */
    double vector_peak;
    bool is_known; /* the GPU was measured */
} power_view;

/* The coefficient that a device without a base of its own has it from. */
power_coefficient power_base_of(const device *d);

/* limit_w 0: the device's own. A device without a known limit draws what GPUs of its peak do. */
power_view power_view_of(const power_model *m, const device *d, double limit_w);

/* What the model looks at of a kernel: times of one run. */
typedef struct power_work {
    double device_us, compute_us, memory_us;
    double active; /* of what busy multiprocessors draw: the root of the share of them that have a block */
    power_unit unit;
} power_work;
power_work power_work_of(const power_view *v, const kernel *k, const kernel_time *t);

/* Watts while the kernel runs, were there no limit. */
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
/* How much longer a kernel takes under the view's limit than under the device's own, which draws `raw` watts. */
double power_stretch(const power_view *v, const power_work *w, double raw);

/* ---- a program --------------------------------------------------------------------------------------------------------- */

typedef struct energy {
    double energy_j, low_j, high_j; /* of one pass or step; 90 % interval */
    double power_w, low_w, high_w;  /* average over the latency */
    double limit_w, waiting_w;      /* the latter between kernels */
    const char *interval_kind;      /* what the interval was calibrated on */
    double *kernels_j;              /* one for each kernel of the program; they sum to the energy */
} energy;

/* What a kernel counts for, and what a program whose kinds of kernels take so long is. */
power_work_kind energy_kind_of(const kernel *k);
power_work_kind energy_main_kind(const double us[POWER_WORK_KINDS]);
/* How long device and host take together, without what is fixed. */
double energy_joint_ms(double device_ms, double host_ms);

/* A limit below the device's own makes kernels take longer: `times` is changed. limit_w 0: the device's own. Everything is in `a`. */
energy energy_of_program(const power_model *m, const program *p, prediction *times, const device *d, double limit_w,
                         arena *a);

#endif
