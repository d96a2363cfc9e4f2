/* algorithm.h: which algorithm the libraries choose for a kernel, and how it is launched: tiles, thread blocks, rounds
 * of them, room that it needs beside its tensors. * Rules with thresholds that were fitted on the choices of the real
 * libraries (tests/corpus/algorithms.py has how often they are right). They explain; the predicted time does not
 * depend on them. */
#ifndef SOOTH_PREDICT_ALGORITHM_H
#define SOOTH_PREDICT_ALGORITHM_H

#include "predict/features.h"

typedef struct algorithm {
    const char *name;       /* for people; NULL: nothing to choose (pointwise work, norms …) */
    const char *reason;     /* the rule that decided, one clause; algorithm_reason() has it with the shape */
    bool uses_tensor_cores; /* of products */
    int32_t tile_m, tile_n; /* of a product's output that one thread block makes; 0 if it is no product */
    double split_k;         /* thread blocks that share a tile; 1: none do */
    double blocks;          /* thread blocks */
    double waves;           /* rounds of them: blocks by those that are resident on all multiprocessors */
    double wave_efficiency; /* blocks by the room of the rounds they need, 0 to 1 */
    double occupancy;       /* resident threads by the most that fit, 0 to 1 */
    int64_t workspace_bytes;
} algorithm;

/* `k` is the kernel that `w` was made of, not a view. */
algorithm algorithm_of(const work *w, const kernel *k, const device_view *d);

/* "3 x 3, stride 1, 64 to 128 channels, float32 without tensor cores": the shape and the rule. In `a`; NULL if there
 * is no name. */
const char *algorithm_reason(const algorithm *chosen, const work *w, const kernel *k, arena *a);

/* One direction of a convolution: what backward kernels have two of. */
typedef enum conv_direction { CONV_FORWARD, CONV_DATA_GRADIENT, CONV_FILTER_GRADIENT } conv_direction;
algorithm algorithm_of_direction(const work *w, const kernel *k, const device_view *d, conv_direction direction);

#endif
