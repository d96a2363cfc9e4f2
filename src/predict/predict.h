/* predict.h: predicts the time of a program on a device, kernel by kernel. Each kernel has a roofline: its FLOPs at
 * the device's peak and its bytes at the memory bandwidth. Learned factors (weights from `sooth learn`, read-only)
 * scale it. The time of the program is the time of its kernels plus the wait for launches; the rows of a report sum
 * to it. */
#ifndef SOOTH_PREDICT_PREDICT_H
#define SOOTH_PREDICT_PREDICT_H

#include "device/device.h"
#include "lower/lower.h"

/* Setting of a program. */
typedef struct setting {
    const device *device;
    lower_options lower;
    bool autotunes; /* cuDNN autotunes (torch.backends.cudnn.benchmark). */
    /* Each pass is a function call that releases its outputs, as in timm's benchmark. Affects memory only. */
    bool returns;
    bool norms_in_place;   /* Batch norms work in place if lifetime_has_abn() (InPlace-ABN). Affects memory only. */
    bool is_operator;      /* A single operator, whose timer does not wait for the launch. */
    bool on_own_host;      /* A measured row: launched by the host of its measurements, and not limited. */
    bool on_measured_host; /* The host of the GPU's measurements launches, not the reference host. */
    bool has_graph;        /* A CUDA graph launches the pass at once. */
    double launch_share;   /* Launch time ÷ that of the reference host; 0: 1. */
    str stack;             /* Software stack ("pt2.4-cu124"). An empty or unknown name selects 'unknown'. */
} setting;

/* What limits a kernel; a view launches nothing. */
typedef enum kernel_bound { BOUND_COMPUTE, BOUND_MEMORY, BOUND_LAUNCH, BOUND_NOTHING } kernel_bound;

/* Figures that equal kernels share. */
typedef struct kernel_figures {
    double host_us;       /* Host time of its launch. */
    double compute_us;    /* Roofline: FLOPs at the peak of the usable units. */
    double memory_us;     /* Roofline: bytes at the memory bandwidth. */
    double peak_flops;    /* Peak of those units, FLOP/s. */
    double least_us;      /* Physical floor of one run. */
    double traffic_bytes; /* Bytes moved to and from memory in one run; excludes what the cache holds. */
    /* Algorithm of a product or convolution ("implicit GEMM", "Winograd" …); NULL for other kernels. */
    const char *algorithm;
    const char *reason;     /* Reason for the algorithm. */
    int64_t gemm[4];        /* Batch, m, n, k; 0 for other kernels. */
    int32_t tile_m, tile_n; /* Tile; 0 for other kernels. */
    bool uses_tensor_cores; /* Products run on tensor cores. */
    double blocks, waves;   /* Thread blocks and waves. */
    double wave_efficiency; /* Thread blocks ÷ capacity of their waves, 0 to 1. */
    double occupancy;       /* Resident threads ÷ maximum, 0 to 1. */
    kernel_bound bound;
} kernel_figures;

typedef struct kernel_time {
    double device_us; /* Time of one run; 0 for views. */
    double runs;
    double share_ms; /* Its share of the latency: all runs, and the wait for the host. Sums to the latency. */
    const kernel_figures *figures; /* One of the prediction's figures. */
} kernel_time;

enum { INTERVAL_LEVELS = 5, INTERVAL_90 = 2 };
extern const int INTERVAL_PERCENT[INTERVAL_LEVELS]; /* Levels of intervals, ascending. */

typedef struct prediction {
    double latency_ms, low_ms, high_ms; /* Latency of one pass or step, with its 90 % interval. */
    double least_ms;                    /* Sum of the physical floors of the kernels; no interval reaches below. */
    double widths[INTERVAL_LEVELS];     /* Widths of the other levels as multiples of that of 90 %, as logarithms. */
    double device_ms, host_ms;          /* Sums over the kernels. */
    double unknown_share;               /* Share of device time in kernels without a rule. */
    const char *interval_kind;          /* Calibration set of the interval, in one phrase. */
    /* Stack used instead of the requested one; NULL if the requested one was measured. */
    const char *stack_note;
    bool stack_is_measured; /* A measured stack was named. */
    double fixed_ms;        /* Time of a pass outside of its kernels. */
    kernel_time *kernels;   /* One per kernel of the program. */
    int32_t kernel_count;
    kernel_figures *figures;
    int32_t figures_count;
} prediction;

typedef struct predictor predictor;

/* Returns the shipped weights; NULL if the library has none. Shared by all threads. */
const predictor *predictor_shipped(fail *f);
/* Reads weights from a file's bytes, which must outlive them. SOOTH_ERROR_INPUT: damaged or another version. */
const predictor *predictor_read(str bytes, const char *prefix, arena *a, fail *f);

/* Returns the identity of the weights: the checksum of their file in 8 hexadecimal digits; "" for NULL. */
const char *predictor_identity(const predictor *p, arena *a);

/* Predicts a program. `with` may be NULL: roofline only. `works` describe its kernels (work.h). Allocates in `a`. */
struct work_list;
prediction *predict_program(const predictor *with, const program *p, const struct work_list *works,
                            const setting *where, arena *a);

/* Limits the times of `p` to those of `other`, which its runtime could run instead. */
void prediction_limit(prediction *p, const prediction *other);

/* Latency of a program from kernel time and host time: a smooth maximum. */
double predict_joint_ms(double device_ms, double host_ms);

/* Returns the index of a level of the intervals; -1 for others than INTERVAL_PERCENT. */
int interval_level(int percent);

#endif
