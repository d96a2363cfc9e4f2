/* weights.h: the file of weights that `sooth learn` writes and the predictor reads: parameters and calibrated
 * intervals.
 *
 * Little endian, in this order, each part at a multiple of 4 bytes:
 *    weights_header
 *    names of stacks, then of GPUs: WEIGHTS_NAME bytes each, zero-padded; the first ones are 'unknown' (net.h)
 *    groups that training saw: uint32 [stack], [gpu], [op], as in net.h
 *    the same by arithmetic unit: uint32 [gpu][WORK_UNITS]; by operator: uint32 [gpu][net_op_words()]
 *    numbers of the GPUs that training saw: float [gpu][VIEW_NUMBERS]
 *    parameters: float [2][param_count], in the layout of net.h, for known and for new GPUs; first layers take raw
 *      features
 *    ranges: float [2][group][feature]: minimum and maximum of each feature in training
 *    intervals: float [INTERVAL_KINDS][stack]: half the width of the 90 % interval, as a logarithm; 0: not
 *      calibrated
 *    seen: uint32 [seen_count], ascending: kernels (work.kin) that training saw in networks
 *    forests: forest [forest_count], their edges, forest_tree [tree_count], as in forest.h */
#ifndef SOOTH_PREDICT_WEIGHTS_H
#define SOOTH_PREDICT_WEIGHTS_H

#include "predict/forest.h"
#include "predict/predict.h"

enum {
    WEIGHTS_VERSION = 8,
    WEIGHTS_NAME = 32,
    /* Bins of the share of time in unfamiliar kernels. */
    NOVELTY_BINS = 4,
};

/* Classes, each with its own interval. */
typedef enum interval_class {
    INTERVAL_EAGER, /* Inference of networks, in the order of lower_runtime. */
    INTERVAL_COMPILED,
    INTERVAL_ENGINE,
    INTERVAL_TRAINING,
    INTERVAL_OPERATOR, /* A single operator. */
    INTERVAL_CONVOLUTION,
    INTERVAL_CLASSES,
} interval_class;
interval_class interval_class_of(const setting *where, uint32_t groups);

/* Kinds of intervals: combinations of a class, a known or new GPU, and a bin of novelty. */
enum { INTERVAL_KINDS = INTERVAL_CLASSES * 2 * NOVELTY_BINS };
static inline int interval_kind(interval_class c, bool gpu_known, int bin)
{
    return ((int)c * 2 + (gpu_known ? 0 : 1)) * NOVELTY_BINS + bin;
}
static inline interval_class interval_kind_class(int kind)
{
    return (interval_class)(kind / (2 * NOVELTY_BINS));
}
static inline bool interval_kind_knows_gpu(int kind)
{
    return kind / NOVELTY_BINS % 2 == 0;
}

typedef struct weights_header {
    char magic[16];                    /* "sooth weights" */
    uint32_t version, bytes, checksum; /* Size of the whole file; checksum of everything after this field. */
    uint32_t feature_count, group_count, op_count, stack_count, gpu_count, param_count, seen_count, forest_count,
        tree_count;
} weights_header;

/* A predictor is a view of the bytes of its file. */
struct predictor {
    weights_header header;
    /* The rest of the file follows. */
};

typedef struct weights_view {
    net net;
    /* The same weights with the parameters for new GPUs, used for groups that training did not see on the GPU. */
    net new_gpu;
    const float *intervals; /* [INTERVAL_KINDS][stack] */
    const uint32_t *seen;
    uint32_t seen_count;
    forest_set forests;
} weights_view;

/* Returns the size of a file with these counts; 0 if they are impossible. */
size_t weights_size(const weights_header *h);
void weights_open(const predictor *p, weights_view *view);
/* Returns an error text for numbers that are not finite, absurd or out of order; NULL if there is none. */
const char *weights_wrong(const weights_view *v);
uint32_t weights_checksum(const void *bytes, size_t size);

/* Share of a program's time in unfamiliar kernels: the larger of its shares of roofline time and of predicted time.
 * Predicted times of unfamiliar kernels may be far off, and the roofline misses slow kernels. */
double novelty_of(double new_ideal_us, double ideal_us, double new_us, double us);
/* Returns the bin of a share, 0 to 1. */
int novelty_bin(double share);
bool weights_seen(const weights_view *v, uint32_t kin);
/* Returns half the width of the interval as a logarithm, for a kind and a stack, and the name of its calibration
 * set. */
double weights_interval(const weights_view *v, interval_class c, bool gpu_known, double novelty, int stack);
const char *interval_kind_name(bool gpu_known, double novelty);

#endif
