/* train_memory.h: memory of a training step over time, and activation checkpoints. */
#ifndef SOOTH_PLAN_TRAIN_MEMORY_H
#define SOOTH_PLAN_TRAIN_MEMORY_H

#include "plan/train_phase.h"

/* Fills the moments. Needs a prediction with memory. */
void train_moments(sooth_train *t, const sooth_prediction *p);

/* Segments of consecutive layers. Only their outputs are kept; the backward pass recomputes the rest. */
typedef struct train_checkpoints {
    int segments;
    double saved_mib; /* at the peak */
} train_checkpoints;
/* Finds the segments that need the least memory: outputs of all segments plus the largest segment. A segment ends
 * where a single tensor connects it to the rest of the network. Needs the layers. */
train_checkpoints train_checkpoints_of(sooth_train *t, const sooth_model *model);
/* Changes the memory of the totals and of the moments. */
void train_apply_checkpoints(sooth_train *t, const train_checkpoints *c);

#endif
