/* forest_fit.h: grows the trees of predict/forest.h, each on what those before it left. */
#ifndef SOOTH_LEARN_FOREST_FIT_H
#define SOOTH_LEARN_FOREST_FIT_H

#include "predict/forest.h"

/* Rows to fit: `bins` [FOREST_WIDTH][count], by feature; what the logarithm of the factor should be, and how much a row counts. */
typedef struct forest_rows {
    size_t count;
    const uint8_t *bins;
    const float *target, *weight;
} forest_rows;

/* Edges of bins, [FOREST_WIDTH][FOREST_EDGES], with about as many of the inputs [count][FOREST_WIDTH] between any two of them. False: no memory. */
bool forest_edges(const float *inputs, size_t count, float *edges);

/* How many trees are worth growing on so many rows. */
size_t forest_tree_count(size_t rows);

/* Grows `count` trees, the same ones whatever the number of cores. False: no memory. */
bool forest_fit(const forest_rows *rows, forest_tree *trees, size_t count);

#endif
