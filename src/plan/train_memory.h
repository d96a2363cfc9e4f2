/* train_memory.h: memory of a training step over time, and activation checkpoints. */
#ifndef SOOTH_PLAN_TRAIN_MEMORY_H
#define SOOTH_PLAN_TRAIN_MEMORY_H

#include "plan/train_phase.h"

/* Fills the moments. Needs a prediction with memory. */
void train_moments(sooth_train *t, const sooth_prediction *p);

/* Segments of consecutive layers whose outputs alone are kept; backward computes each again. */
typedef struct train_checkpoints {
    int segments;
    double saved_mib; /* at the peak */
} train_checkpoints;
/* The segments with the least memory: outputs of segments plus the largest segment. A segment ends where one tensor
 * alone carries the network. Needs the layers. */
train_checkpoints train_checkpoints_of(sooth_train *t, const sooth_model *model);
/* Changes the totals' memory and the moments. */
void train_apply_checkpoints(sooth_train *t, const train_checkpoints *c);

#endif
