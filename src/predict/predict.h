/* predict.h: how long a program takes on a device, kernel by kernel.
 *
 * Physics first: each kernel has a time that its FLOPs need at the device's peak and one that its bytes need at the
 * memory's. A learned part (weights made by `sooth learn`, read-only) says how far from it the kernel stays. The time of the
 * program is the sum of its kernels plus what the host's launches add, so rows always add up. */
#ifndef SOOTH_PREDICT_PREDICT_H
#define SOOTH_PREDICT_PREDICT_H

#include "device/device.h"
#include "lower/lower.h"

/* Where a program runs. */
typedef struct setting {
    const device *device;
    lower_options lower;
    bool autotunes; /* cuDNN tries its algorithms out (torch.backends.cudnn.benchmark) */
    bool returns;   /* a pass is a function that lets go of its outputs, as in timm's benchmark; for memory alone */
    bool norms_in_place; /* batch norms write over what they read (InPlace-ABN); for memory alone */
    bool is_operator;    /* one by itself: its timer does not wait for the launch */
    str stack;           /* software, as the labels name it ("pt2.4-cu124"); empty or not known: 'unknown' */
} setting;

typedef enum kernel_bound { BOUND_COMPUTE, BOUND_MEMORY, BOUND_LAUNCH, BOUND_NOTHING /* a view */ } kernel_bound;

/* What kernels that do the same have in common. */
typedef struct kernel_figures {
    double host_us;        /* what the host needs to launch it */
    double compute_us;     /* on the ideal machine: FLOPs at the peak of the units it can use */
    double memory_us;      /* on the ideal machine: bytes at the memory's bandwidth */
    double peak_flops;     /* of those units, FLOP/s */
    const char *algorithm; /* of products and convolutions ("implicit GEMM", "Winograd" …); NULL: nothing to choose */
    const char *reason;    /* why that one */
    int64_t gemm[4];       /* batch, m, n, k; 0 if it is no product */
    int32_t tile_m, tile_n; /* 0 if it is no product */
    bool uses_tensor_cores; /* of products */
    double blocks, waves;   /* thread blocks, and rounds of them over the multiprocessors */
    double wave_efficiency; /* blocks by the room of the rounds they need, 0 to 1 */
    double occupancy;       /* resident threads by the most that fit, 0 to 1 */
    kernel_bound bound;
} kernel_figures;

typedef struct kernel_time {
    double device_us; /* of one run; 0 for views */
    double share_ms;  /* its part of the latency: all runs, and waiting for the host. These sum to the latency */
    const kernel_figures *figures; /* one of the prediction's */
} kernel_time;

typedef struct prediction {
    double latency_ms, low_ms, high_ms; /* of one pass or step; 90 % interval */
    double device_ms, host_ms;          /* sums over the kernels */
    double unknown_share;               /* of the device's time in kernels without a rule */
    double novelty;                     /* of it in kernels that training has not seen, or without a rule */
    const char *interval_kind;          /* what the interval was calibrated on ("known GPUs with familiar layers" …) */
    const char *stack_note; /* which software stands in for the one asked for; NULL: that one was measured */
    kernel_time *kernels;   /* one for each kernel of the program */
    const kernel_figures *figures;
    int32_t figures_count;
} prediction;

typedef struct predictor predictor;

/* The weights that ship; NULL if the library was built without any. Shared by all threads. */
const predictor *predictor_shipped(fail *f);
/* Weights of a file's bytes, which must outlive it. Fails with SOOTH_ERROR_INPUT if they are damaged or of another version. */
const predictor *predictor_read(str bytes, const char *prefix, arena *a, fail *f);

/* 8 hexadecimal digits that tell weights apart, from the checksum of their file; "" for NULL. */
const char *predictor_identity(const predictor *p, arena *a);

/* Everything is in `a`. `with` may be NULL: physics alone. `works` are those of the program (work.h). */
struct work_list;
prediction *predict_program(const predictor *with, const program *p, const struct work_list *works,
                            const setting *where, arena *a);

/* The latency of a program whose kernels and whose launches take so long: the longer one, and some of the other where they are near. */
double predict_joint_ms(double device_ms, double host_ms);

#endif
