/* predict.h: the time of a program on a device, kernel by kernel.
 *
 * Each kernel has a roofline: its FLOPs at the device's peak and its bytes at the memory bandwidth. Learned factors
 * (weights by `sooth learn`, read-only) scale it. The time of the program is the sum of its kernels and the waiting for
 * launches, so rows add up. */
#ifndef SOOTH_PREDICT_PREDICT_H
#define SOOTH_PREDICT_PREDICT_H

#include "device/device.h"
#include "lower/lower.h"

/* Setting of a program. */
typedef struct setting {
    const device *device;
    lower_options lower;
    bool autotunes;      /* cuDNN autotunes (torch.backends.cudnn.benchmark) */
    bool returns;        /* a pass is a function that releases its outputs, as in timm's benchmark; memory only */
    bool norms_in_place; /* batch norms work in place if lifetime_has_abn() (InPlace-ABN); memory only */
    bool is_operator;    /* a single operator: its timer does not wait for the launch */
    str stack;           /* software stack ("pt2.4-cu124"); empty or not known: 'unknown' */
} setting;

typedef enum kernel_bound { BOUND_COMPUTE, BOUND_MEMORY, BOUND_LAUNCH, BOUND_NOTHING /* a view */ } kernel_bound;

/* Figures shared by equal kernels. */
typedef struct kernel_figures {
    double host_us;         /* host time of its launch */
    double compute_us;      /* roofline: FLOPs at the peak of the units it can use */
    double memory_us;       /* roofline: bytes at the memory bandwidth */
    double peak_flops;      /* of those units, FLOP/s */
    const char *algorithm;  /* of products and convolutions ("implicit GEMM", "Winograd" …); NULL: no choice */
    const char *reason;     /* why that one */
    int64_t gemm[4];        /* batch, m, n, k; 0 for other kernels */
    int32_t tile_m, tile_n; /* 0 for other kernels */
    bool uses_tensor_cores; /* of products */
    double blocks, waves;   /* thread blocks, and waves of them */
    double wave_efficiency; /* blocks ÷ room in their waves, 0 to 1 */
    double occupancy;       /* resident threads ÷ threads that fit, 0 to 1 */
    kernel_bound bound;
} kernel_figures;

typedef struct kernel_time {
    double device_us; /* of one run; 0 for views */
    double share_ms;  /* its part of the latency: all runs, and waiting for the host; sums to the latency */
    const kernel_figures *figures; /* one of the prediction's */
} kernel_time;

typedef struct prediction {
    double latency_ms, low_ms, high_ms; /* of one pass or step; 90 % interval */
    double device_ms, host_ms;          /* sums over the kernels */
    double unknown_share;               /* share of device time in kernels without a rule */
    double novelty;                     /* share of it in unfamiliar kernels */
    const char *interval_kind;          /* rows of the calibration ("known GPUs with familiar layers" …) */
    const char *stack_note;             /* the stack used instead of the requested one; NULL: that one was measured */
    kernel_time *kernels;               /* one per kernel of the program */
    const kernel_figures *figures;
    int32_t figures_count;
} prediction;

typedef struct predictor predictor;

/* The weights that ship; NULL if the library was built without. Shared by all threads. */
const predictor *predictor_shipped(fail *f);
/* Reads weights from a file's bytes, which must outlive them. SOOTH_ERROR_INPUT: damaged or of another version. */
const predictor *predictor_read(str bytes, const char *prefix, arena *a, fail *f);

/* Identity of the weights: 8 hexadecimal digits, the checksum of their file; "" for NULL. */
const char *predictor_identity(const predictor *p, arena *a);

/* `with` may be NULL: roofline only. `works` are those of the program (work.h). Everything is in `a`. */
struct work_list;
prediction *predict_program(const predictor *with, const program *p, const struct work_list *works,
                            const setting *where, arena *a);

/* Latency of a program from kernel time and host time: a smooth maximum. */
double predict_joint_ms(double device_ms, double host_ms);

#endif
