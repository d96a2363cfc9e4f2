/* work.h: a kernel in numbers that do not depend on the device: its group (kind of code), its shape as a product,
 * convolution or reduction, the layout of its tensors, and cache reuse of its inputs.
 *
 * Kernels with equal work take equal time, so each distinct one is described once. */
#ifndef SOOTH_PREDICT_WORK_H
#define SOOTH_PREDICT_WORK_H

#include "lower/aten.h"
#include "lower/lower.h"

/* Number of features: those of every group, then those with a meaning per group. Sizes are base-2 logarithms. */
enum { WORK_GENERAL = 26, WORK_SHAPE = 26, WORK_FEATURES = WORK_GENERAL + WORK_SHAPE };
/* Indices of features that are used by name. */
enum {
    WORK_INPUT_BITS_32 = 4, /* Bits per element of the main input, divided by 32. */
    WORK_INPUT_CHANNELS_LAST = 10,
    WORK_BROADCAST_INPUTS = 19,
    WORK_STRIDED_INPUTS = 22,
    WORK_REUSE = 23,                      /* This and the next feature: work.reuse. */
    WORK_CONV_IMAGES = WORK_GENERAL + 22, /* Convolutions: the batch, log2. */
    WORK_REDUCED_LENGTH = WORK_GENERAL,   /* Norms and reductions: size of a row, log2. */
    WORK_REDUCED_ROWS = WORK_GENERAL + 1,
    WORK_NORM_CHANNELS = WORK_GENERAL + 6, /* Norms of maps, log2: dimension 1, the batch, the pixels. */
    WORK_NORM_IMAGES = WORK_GENERAL + 8,
    WORK_NORM_PIXELS = WORK_GENERAL + 10,
};

typedef struct work {
    work_group group;
    int16_t op;
    uint8_t product_dtype; /* Type of the products; DT_UNKNOWN if there are none. */
    bool is_unknown;       /* The operator has no rule. */
    uint32_t kin;          /* Hash of the kernel without its batch: equal for the same layer at any batch size. */
    int32_t like;          /* First work of the list that differs only in cache reuse; itself if there is none. */
    double count;          /* Runs per pass. */
    double library_count;  /* Runs that a library launches by itself. */
    double flops, macs, bytes;
    double weight_bytes; /* Bytes of weights. */
    double gemm[4];      /* Batch, m, n, k; 0 for other kernels. */
    double elements;
    double operands; /* Elements read and written. */
    double threads;  /* Number of threads with work; 0: all threads have work. */
    float reuse[2];  /* Bytes touched since the first and second input were last used, log2. */
    float features[WORK_FEATURES];
} work;

typedef struct work_list {
    work *items; /* distinct */
    int32_t count;
    int32_t *of_kernel; /* Indexed by kernel: its work; -1 for views. */
    /* Indexed by kernel: hash of the sequence of kernels that ends with it, without sizes; 0 for views. */
    uint32_t *chains;
    uint64_t graph; /* Hash of the program's products and convolutions, the same for any batch. */
} work_list;

/* ceil() of a non-negative number without a library call: baseline x86-64 has no instruction for it. */
static inline double round_up(double x)
{
    if (!(x < 0x1p52)) /* No fraction, or NAN. */
        return x;
    double whole = (double)(int64_t)x;
    return whole < x ? whole + 1 : whole;
}

/* Caches base-2 logarithms of sizes, because most sizes are powers of two or repeat. */
enum { WORK_LOG_SLOTS = 64 };
typedef struct work_logs {
    float of[WORK_LOG_SLOTS], log2[WORK_LOG_SLOTS]; /* Logarithm of 0 marks an empty entry. */
} work_logs;
/* Describes the kernel in a work that has its operator, its group and its cache reuse, and zeros otherwise. */
void work_describe(const program *p, const kernel *k, work *w, work_logs *logs);

/* Lists the distinct works of a program. Allocates in `a`. */
work_list work_of_program(const program *p, arena *a);

#endif
