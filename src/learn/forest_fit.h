/* forest_fit.h: grows the trees of predict/forest.h by gradient boosting. */
#ifndef SOOTH_LEARN_FOREST_FIT_H
#define SOOTH_LEARN_FOREST_FIT_H

#include "predict/forest.h"

/* Rows to fit: `bins` [FOREST_WIDTH][count] are the binned features, `target` is the logarithm of the factor,
 * `weight` the row's weight. */
typedef struct forest_rows {
    size_t count;
    const uint8_t *bins;
    const float *target, *weight;
} forest_rows;

/* Sets the bin edges, [FOREST_WIDTH][FOREST_EDGES], to quantiles of the inputs [count][FOREST_WIDTH]. Returns false
 * if out of memory. */
bool forest_edges(const float *inputs, size_t count, float *edges);

/* Number of trees for this many rows. */
size_t forest_tree_count(size_t rows);

/* Grows `count` trees. The result does not depend on the number of threads. Returns false if out of memory. */
bool forest_fit(const forest_rows *rows, size_t threads, forest_tree *trees, size_t count);

#endif
