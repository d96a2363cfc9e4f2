/* algorithm.h: the algorithm that libraries choose for a kernel, and its launch: tiles, thread blocks, waves,
 * workspace.
 *
 * The thresholds were fitted on choices of the real libraries (tests/corpus/algorithms.py reports the agreement). The
 * predicted time does not depend on them. */
#ifndef SOOTH_PREDICT_ALGORITHM_H
#define SOOTH_PREDICT_ALGORITHM_H

#include "predict/features.h"

typedef struct algorithm {
    const char *name;       /* name for people; NULL: no choice (pointwise kernels, norms …) */
    const char *reason;     /* the deciding rule, one clause; algorithm_reason() adds the shape */
    bool uses_tensor_cores; /* of products */
    int32_t tile_m, tile_n; /* of a product's output, per thread block; 0 for other kernels */
    double split_k;         /* thread blocks per tile (split-K); 1: no split */
    double blocks;          /* thread blocks */
    double waves;           /* blocks ÷ blocks resident on all multiprocessors */
    double wave_efficiency; /* blocks ÷ room in their waves, 0 to 1 */
    double occupancy;       /* resident threads ÷ threads that fit, 0 to 1 */
    int64_t workspace_bytes;
} algorithm;

/* `k` is the kernel that `w` describes, not a view. */
algorithm algorithm_of(const work *w, const kernel *k, const device_view *d);

/* Shape and rule: "3 x 3, stride 1, 64 to 128 channels, float32 without tensor cores". In `a`; NULL without an
 * algorithm. */
const char *algorithm_reason(const algorithm *chosen, const work *w, const kernel *k, arena *a);

/* Direction of a convolution; a backward kernel has two. */
typedef enum conv_direction { CONV_FORWARD, CONV_DATA_GRADIENT, CONV_FILTER_GRADIENT } conv_direction;
algorithm algorithm_of_direction(const work *w, const kernel *k, const device_view *d, conv_direction direction);

#endif
