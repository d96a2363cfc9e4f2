/* forest.h: boosted trees that correct the times of one kernel group on one GPU. A library's choice of tiles makes
 * times jump, which the smooth networks of net.h average out. Where single kernels were measured, a forest per GPU
 * predicts the remaining factor. Every tree is complete, of one depth and over binned features, so it stores one
 * number per node and leaf. */
#ifndef SOOTH_PREDICT_FOREST_H
#define SOOTH_PREDICT_FOREST_H

#include "predict/net.h"

enum {
    FOREST_DEPTH = 6,
    FOREST_NODES = (1 << FOREST_DEPTH) - 1,
    FOREST_LEAVES = 1 << FOREST_DEPTH,
    FOREST_WIDTH = FEATURE_COUNT + 2, /* Features of a kernel, then the indices of its stack and operator. */
    FOREST_EDGES = 127,               /* Edges between the bins of a feature. */
    FOREST_GROUPS = 3,
    FOREST_EDGES_BYTES = FOREST_GROUPS * FOREST_WIDTH * FOREST_EDGES * (int)sizeof(float),
};

/* Groups that have single-kernel measurements, and times that jump. */
static const work_group FOREST_GROUP[FOREST_GROUPS] = {WORK_PRODUCT, WORK_CONV, WORK_ATTENTION};

typedef struct forest_tree {
    uint8_t feature[FOREST_NODES + 1]; /* Indexed by node; the children of i are 2i + 1 and 2i + 2. */
    uint8_t bin[FOREST_NODES + 1];     /* Kernels with a feature in a higher bin go to the second child. */
    int16_t leaves[FOREST_LEAVES];     /* Logarithm of the factor, in units of FOREST_UNIT. */
} forest_tree;

static const float FOREST_UNIT = 1.0F / 65536;

/* One per group and GPU with enough measurements. */
typedef struct forest {
    uint32_t kind, gpu;                      /* `kind` is an index of FOREST_GROUP. */
    uint32_t first, count;                   /* Range of its trees in forest_set. */
    uint32_t stacks[(MAX_STACKS + 31) / 32]; /* Bit mask: stacks whose kernels are in its training data */
} forest;

/* All forests of a file of weights. */
typedef struct forest_set {
    const forest *items;
    uint32_t count, tree_count;
    const float *edges; /* [FOREST_GROUPS][FOREST_WIDTH][FOREST_EDGES] */
    const forest_tree *trees;
} forest_set;

/* The forest for such kernels; NULL if there is none. */
const forest *forest_find(const forest_set *set, work_group g, int gpu, int stack);
/* The logarithm of the factor for a kernel. */
float forest_correction(const forest_set *set, const forest *f, const float features[FEATURE_COUNT], int stack, int op);

/* Features of a kernel for the trees, without cache reuse, which for single kernels follows from the sizes. */
void forest_input(const float features[FEATURE_COUNT], int stack, int op, float input[FOREST_WIDTH]);
/* Bins of the features: the number of edges below each feature. Edges are float [FOREST_WIDTH][FOREST_EDGES],
 * ascending. */
void forest_bins(const float *edges, const float input[FOREST_WIDTH], uint8_t bins[FOREST_WIDTH]);
/* Clamps the logarithm of the factor. Larger values occur only for kernels unlike any that were measured. */
float forest_log(const forest_tree *trees, size_t count, const uint8_t bins[FOREST_WIDTH]);

#endif
