/* weights.h: the file that `sooth learn` writes and the predictor reads: what was learned, and how far off it was on rows that were
 * kept apart.
 *
 * Little endian, in this order, each part at a multiple of 4 bytes:
 *   weights_header
 *   names of stacks, then of GPUs: WEIGHTS_NAME bytes each, zero-padded; the first ones are the unknown (net.h)
 *   what training saw: uint32 [stack], [gpu], [op], as in net.h
 *   parameters: float [2][param_count], in the layout of net.h, for what training saw of a GPU and for new GPUs; first layers take features as they are, not
 *   standardized
 *   ranges: float [2][group][feature]: the least and the greatest that training saw of each feature
 *   intervals: float [INTERVAL_KINDS][stack]: half the width of the 90 % interval, as a logarithm; 0: not calibrated
 *   seen: uint32 [seen_count], ascending: kernels (work.kin) that training saw in networks
 *   forests: forest [forest_count], their edges, forest_tree [tree_count], as in forest.h */
#ifndef SOOTH_PREDICT_WEIGHTS_H
#define SOOTH_PREDICT_WEIGHTS_H

#include "predict/forest.h"
#include "predict/predict.h"

enum {
    WEIGHTS_VERSION = 7,
    WEIGHTS_NAME = 32,
    /* By the share of the time in kernels that training has not seen. */
    NOVELTY_BINS = 4,
};

/* What is asked for: some are predicted far better than others. */
typedef enum interval_class {
    INTERVAL_EAGER, /* inference of networks, in the order of lower_runtime */
    INTERVAL_COMPILED,
    INTERVAL_ENGINE,
    INTERVAL_TRAINING,
    INTERVAL_OPERATOR, /* one by itself */
    INTERVAL_CONVOLUTION,
    INTERVAL_CLASSES,
} interval_class;
interval_class interval_class_of(const setting *where, uint32_t groups);

/* A class on a known or a new GPU with a bin of novelty. */
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
    uint32_t version, bytes, checksum; /* of the whole file; of all that follows this field */
    uint32_t feature_count, group_count, op_count, stack_count, gpu_count, param_count, seen_count, forest_count,
        tree_count;
} weights_header;

/* What a predictor is: the file's own bytes, nothing else. */
struct predictor {
    weights_header header;
    /* the rest follows */
};

typedef struct weights_view {
    net net;
    net new_gpu; /* the same but for its parameters: for kernels of kinds that training did not see on the GPU */
    const float *intervals; /* [INTERVAL_KINDS][stack] */
    const uint32_t *seen;
    uint32_t seen_count;
    forest_set forests;
} weights_view;

/* Bytes of a file with these counts; 0 if that cannot be. */
size_t weights_size(const weights_header *h);
void weights_open(const predictor *p, weights_view *view);
/* What is wrong with the numbers, which are anybody's: not finite, absurd, out of order. NULL if they are sound. */
const char *weights_wrong(const weights_view *v);
uint32_t weights_checksum(const void *bytes, size_t size);

/* The share of a program that is new: of its time on the ideal machine or of the time that is predicted, whichever is larger. What is predicted
 * for a kernel that nobody measured may be anything, and the ideal machine knows no slow kernels. */
double novelty_of(double new_ideal_us, double ideal_us, double new_us, double us);
/* The bin of a share, 0 to 1, of time in kernels that are new. */
int novelty_bin(double share);
bool weights_seen(const weights_view *v, uint32_t kin);
/* Half of the interval's width as a logarithm, for a kind and a stack; and what it was calibrated on. */
double weights_interval(const weights_view *v, interval_class c, bool gpu_known, double novelty, int stack);
const char *interval_kind_name(bool gpu_known, double novelty);

#endif
