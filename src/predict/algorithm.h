/* algorithm.h: predicts the algorithm that a library selects for a kernel, and its launch: tiles, thread blocks, waves,
 * workspace. Thresholds are fitted to the choices of real libraries (tests/corpus/algorithms.py reports the agreement).
 * Predicted times do not depend on them. */
#ifndef SOOTH_PREDICT_ALGORITHM_H
#define SOOTH_PREDICT_ALGORITHM_H

#include "predict/features.h"

typedef struct algorithm {
    const char *name;       /* Name to display; NULL if there is no choice (pointwise kernels, norms …). */
    const char *reason;     /* Deciding rule, one clause. */
    bool uses_tensor_cores; /* Products run on tensor cores. */
    int32_t tile_m, tile_n; /* Tile of a product's output per thread block; 0 for other kernels. */
    double split_k;         /* Thread blocks per tile (split-K); 1 if it is not split. */
    double blocks;          /* Number of thread blocks. */
    double waves;           /* Thread blocks ÷ blocks resident on all multiprocessors. */
    double wave_efficiency; /* Thread blocks ÷ capacity of their waves, 0 to 1. */
    double occupancy;       /* Resident threads ÷ maximum, 0 to 1. */
    int64_t workspace_bytes;
} algorithm;

/* `k` is the kernel that `w` describes; it is not a view. */
algorithm algorithm_of(const work *w, const kernel *k, const device_view *d);

/* Directions of a convolution; a backward kernel has two. */
typedef enum conv_direction { CONV_FORWARD, CONV_DATA_GRADIENT, CONV_FILTER_GRADIENT } conv_direction;
algorithm algorithm_of_direction(const work *w, const kernel *k, const device_view *d, conv_direction direction);

#endif
