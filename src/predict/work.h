/* work.h: what a kernel does, in numbers that do not depend on the device: its group (what kind of code runs it), its
 * shape as a product, a convolution or a reduction, how its tensors lie in memory, and what of its input may still be in cache.
 *
 * Kernels with equal work take equal time, so each distinct one is looked at once. */
#ifndef SOOTH_PREDICT_WORK_H
#define SOOTH_PREDICT_WORK_H

#include "lower/lower.h"

/* Each group has a network of its own: its numbers mean the same for all kernels in it. */
typedef enum work_group {
    WORK_CONV,
    WORK_DEPTHWISE,
    WORK_GROUPED,
    WORK_CONV_BACKWARD,
    WORK_DEPTHWISE_BACKWARD, /* grouped ones too */
    WORK_PRODUCT,
    WORK_ATTENTION,
    WORK_NORM,
    WORK_REDUCE,
    WORK_POINTWISE,
    WORK_MOVE,
    WORK_WINDOW, /* pooling, resizing */
    WORK_RESIZE, /* interpolation whose threads each go through the images and channels of one pixel */
    WORK_FUSED,  /* made by a compiler */
    WORK_UPDATE, /* of many parameters at once */
    WORK_OTHER,
    WORK_GROUP_COUNT,
} work_group;

/* Operators by name. Number 0 is any that is not in the table. The numbers are part of the weights' format: append only. */
int work_op_count(void);
int work_op_find(const char *name);
work_group work_op_group(int op);

/* Numbers that every group has, then those that the group gives a meaning. Sizes are logarithms to base 2. */
enum { WORK_GENERAL = 26, WORK_SHAPE = 26, WORK_FEATURES = WORK_GENERAL + WORK_SHAPE };
/* Where some of them lie, for those who look at one. */
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
    uint8_t product_dtype; /* dtype in which products are computed; DT_UNKNOWN if there are none */
    bool is_unknown;       /* an operator without a rule */
    uint32_t kin;          /* hash of the kernel but for its batch: equal for the same layer at any batch size */
    int32_t
        like; /* the first work of the list that does the same, maybe with its inputs elsewhere; itself if there is none */
    double count; /* how often it runs */
    double flops, macs, bytes;
    double weight_bytes; /* of the bytes, those of weights */
    double gemm[4];      /* batch, m, n, k; 0 if it is no product */
    double elements;
    double operands; /* elements that are read and written */
    double threads;  /* that it has work for; 0: as many as there are */
    float reuse[2];  /* bytes that were touched since the first and the second input were, log2 */
    float features[WORK_FEATURES];
} work;

typedef struct work_list {
    work *items; /* distinct */
    int32_t count;
    int32_t *of_kernel; /* by kernel: its index here; -1 for views */
} work_list;

/* ceil() of a number that is not negative, without a call where the processor of all x86-64 has no instruction for it. */
static inline double round_up(double x)
{
    if (!(x < 0x1p52)) /* has no fraction, or is none */
        return x;
    double whole = (double)(int64_t)x;
    return whole < x ? whole + 1 : whole;
}

/* The distinct works of a program. Everything is in `a`. */
work_list work_of_program(const program *p, arena *a);

#endif
