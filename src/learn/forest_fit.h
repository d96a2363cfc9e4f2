/* forest_fit.h: grows the trees of predict/forest.h by gradient boosting. */
#ifndef SOOTH_LEARN_FOREST_FIT_H
#define SOOTH_LEARN_FOREST_FIT_H

#include "predict/forest.h"

/* Rows to fit: `bins` [FOREST_WIDTH][count] holds the binned features, `target` the logarithm of the factor, and
 * `weight` the weight of each row. */
typedef struct forest_rows {
    size_t count;
    const uint8_t *bins;
    const float *target, *weight;
} forest_rows;

/* Edges of bins, [FOREST_WIDTH][FOREST_EDGES], at quantiles of the inputs [count][FOREST_WIDTH]. False: out of
 * memory. */
bool forest_edges(const float *inputs, size_t count, float *edges);

/* Number of trees for this many rows. */
size_t forest_tree_count(size_t rows);

/* Grows `count` trees; the result does not depend on the number of cores. False: out of memory. */
bool forest_fit(const forest_rows *rows, forest_tree *trees, size_t count);

#endif
