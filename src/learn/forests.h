/* forests.h: which forests (predict/forest.h) are worth growing, and on which rows. */
#ifndef SOOTH_LEARN_FORESTS_H
#define SOOTH_LEARN_FORESTS_H

#include "learn/train.h"
#include "predict/forest.h"

/* Forests on how far the trainer's averaged parameters are off on these operators, `order[0 … count)`. Everything is in `a`. */
forest_set forests_grow(const trainer *t, const dataset *data, const int32_t *order, int32_t count, arena *a);

/* Sets the corrections of all samples by the forests; by none: to nothing. */
void forests_apply(const forest_set *set, const trainer *t, dataset *data);

#endif
