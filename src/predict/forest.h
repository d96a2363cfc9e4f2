/* forest.h: boosted trees that correct the times of kernels of one group on one GPU.
 *
 * Which tiles a library takes for a product is a rule of its own for every size, with leaps that the smooth networks of net.h even out. Where kernels were measured by themselves,
 * a forest for each GPU says by what factor the networks are off, for the software that was measured. Every tree is complete, of the same depth, over features in bins: a number for
 * each node and each leaf is all that is kept of it. */
#ifndef SOOTH_PREDICT_FOREST_H
#define SOOTH_PREDICT_FOREST_H

#include "predict/net.h"

enum {
    FOREST_DEPTH = 6,
    FOREST_NODES = (1 << FOREST_DEPTH) - 1,
    FOREST_LEAVES = 1 << FOREST_DEPTH,
    FOREST_WIDTH = FEATURE_COUNT + 2, /* of a kernel, then the numbers of its stack and operator */
    FOREST_EDGES = 127,               /* between the bins of a feature */
    FOREST_GROUPS = 3,
    FOREST_EDGES_BYTES = FOREST_GROUPS * FOREST_WIDTH * FOREST_EDGES * (int)sizeof(float),
};

/* Of these groups there are tables of single kernels with more leaps than the networks follow. */
static const work_group FOREST_GROUP[FOREST_GROUPS] = {WORK_PRODUCT, WORK_CONV, WORK_ATTENTION};

typedef struct forest_tree {
    uint8_t feature[FOREST_NODES + 1]; /* by node; the children of i are 2i + 1 and 2i + 2 */
    uint8_t bin[FOREST_NODES + 1];     /* a kernel whose feature is in a higher bin goes to the second one */
    int16_t leaves[FOREST_LEAVES];     /* of the logarithm of the factor, in units of FOREST_UNIT */
} forest_tree;

static const float FOREST_UNIT = 1.0F / 65536;

/* One for each group of kernels and GPU of which enough was measured. */
typedef struct forest {
    uint32_t kind, gpu;                      /* kind: in FOREST_GROUP */
    uint32_t first, count;                   /* of its trees */
    uint32_t stacks[(MAX_STACKS + 31) / 32]; /* bits: those whose kernels it was grown on */
} forest;

/* All of a file of weights. */
typedef struct forest_set {
    const forest *items;
    uint32_t count, tree_count;
    const float *edges; /* [FOREST_GROUPS][FOREST_WIDTH][FOREST_EDGES] */
    const forest_tree *trees;
} forest_set;

/* The one for such kernels; NULL if there is none. */
const forest *forest_find(const forest_set *set, work_group g, int gpu, int stack);
/* The logarithm of the factor for a kernel. */
float forest_correction(const forest_set *set, const forest *f, const float features[FEATURE_COUNT], int stack, int op);

/* What a kernel is to the trees. What it may find in the caches is left to the networks: of kernels by themselves, sizes tell it. */
void forest_input(const float features[FEATURE_COUNT], int stack, int op, float input[FOREST_WIDTH]);
/* The bin of each feature: how many of its edges, float [FOREST_WIDTH][FOREST_EDGES] in ascending order, lie below it. */
void forest_bins(const float *edges, const float input[FOREST_WIDTH], uint8_t bins[FOREST_WIDTH]);
/* The leaf of a tree for a kernel by its bins. */
int forest_leaf(const forest_tree *tree, const uint8_t bins[FOREST_WIDTH]);
/* The logarithm of the factor, within bounds: where the trees say more, nothing like the kernel was measured. */
float forest_log(const forest_tree *trees, size_t count, const uint8_t bins[FOREST_WIDTH]);

#endif
