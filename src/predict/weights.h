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
 *    intervals: float [interval_floats()], as in interval.h
 *    seen: uint32 [seen_count], ascending: kernels (work.kin) that training saw in networks
 *    chains: uint32 [chain_count], ascending: sequences of kernels (work_list.chains) that training saw in networks
 *    graphs: uint32 [graph_count], ascending: networks that training saw (interval_print())
 *    forests: forest [forest_count], their edges, forest_tree [tree_count], as in forest.h */
#ifndef SOOTH_PREDICT_WEIGHTS_H
#define SOOTH_PREDICT_WEIGHTS_H

#include "predict/forest.h"
#include "predict/interval.h"

enum {
    WEIGHTS_VERSION = 9,
    WEIGHTS_NAME = 32,
};

typedef struct weights_header {
    char magic[16];                    /* "sooth weights" */
    uint32_t version, bytes, checksum; /* Size of the whole file; checksum of everything after this field. */
    uint32_t feature_count, group_count, op_count, stack_count, gpu_count, param_count, seen_count, forest_count,
        tree_count, chain_count, graph_count;
} weights_header;

/* A predictor is a view of the bytes of its file. */
struct predictor {
    weights_header header;
    /* The rest of the file follows. */
};

/* Ascending numbers without repetitions. */
typedef struct number_list {
    const uint32_t *items;
    uint32_t count;
} number_list;
bool number_list_has(const number_list *l, uint32_t number);

typedef struct weights_view {
    net net;
    /* The same weights with the parameters for new GPUs, used for groups that training did not see on the GPU. */
    net new_gpu;
    interval_table intervals;
    number_list seen, chains, graphs;
    forest_set forests;
} weights_view;

/* Returns the size of a file with these counts; 0 if they are impossible. */
size_t weights_size(const weights_header *h);
void weights_open(const predictor *p, weights_view *view);
/* Returns an error text for numbers that are not finite, absurd or out of order; NULL if there is none. */
const char *weights_wrong(const weights_view *v);
uint32_t weights_checksum(const void *bytes, size_t size);

#endif
