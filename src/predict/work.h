/* work.h: a kernel in numbers that do not depend on the device: its group (kind of code), its shape as a product,
 * convolution or reduction, the layout of its tensors, and cache reuse of its inputs.
 *
 * Kernels with equal work take equal time, so each distinct one is described once. */
#ifndef SOOTH_PREDICT_WORK_H
#define SOOTH_PREDICT_WORK_H

#include "lower/aten.h"
#include "lower/lower.h"

/* Features of every group, then those with a meaning per group. Sizes are base-2 logarithms. */
enum { WORK_GENERAL = 26, WORK_SHAPE = 26, WORK_FEATURES = WORK_GENERAL + WORK_SHAPE };
/* Positions of features that are used by name. */
enum {
    WORK_INPUT_BITS_32 = 4, /* of the main input's elements, by 32 */
    WORK_INPUT_CHANNELS_LAST = 10,
    WORK_BROADCAST_INPUTS = 19,
    WORK_STRIDED_INPUTS = 22,
    WORK_REUSE = 23,                      /* and the next: work.reuse */
    WORK_CONV_IMAGES = WORK_GENERAL + 22, /* of convolutions: the batch, log2 */
    WORK_REDUCED_LENGTH = WORK_GENERAL,   /* of norms and reductions: of a row, log2 */
    WORK_REDUCED_ROWS = WORK_GENERAL + 1,
};

typedef struct work {
    work_group group;
    int16_t op;
    uint8_t product_dtype; /* type of the products; DT_UNKNOWN: none */
    bool is_unknown;       /* an operator without a rule */
    uint32_t kin;          /* hash of the kernel but for its batch: equal for the same layer at any batch size */
    int32_t like;          /* first work of the list that differs only in cache reuse; itself if there is none */
    double count;          /* runs per pass */
    double flops, macs, bytes;
    double weight_bytes; /* of weights */
    double gemm[4];      /* batch, m, n, k; 0 if it is no product */
    double elements;
    double operands; /* elements that are read and written */
    double threads;  /* threads it has work for; 0: all */
    float reuse[2];  /* bytes touched since the first and second input were, log2 */
    float features[WORK_FEATURES];
} work;

typedef struct work_list {
    work *items; /* distinct */
    int32_t count;
    int32_t *of_kernel; /* index by kernel; -1 for views */
} work_list;

/* ceil() of a non-negative number without a library call: baseline x86-64 has no instruction for it. */
static inline double round_up(double x)
{
    if (!(x < 0x1p52)) /* no fraction, or NAN */
        return x;
    double whole = (double)(int64_t)x;
    return whole < x ? whole + 1 : whole;
}

/* Lists the distinct works of a program. Everything is in `a`. */
work_list work_of_program(const program *p, arena *a);

#endif
