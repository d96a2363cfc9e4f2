/* train_memory.h: memory of a training step over time. */
#ifndef SOOTH_PLAN_TRAIN_MEMORY_H
#define SOOTH_PLAN_TRAIN_MEMORY_H

#include "plan/train_phase.h"

/* Fills the moments. Needs a prediction with memory. */
void train_moments(sooth_train *t, const sooth_prediction *p);

#endif
