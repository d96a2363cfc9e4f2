/* forests.h: decides which forests (predict/forest.h) to grow, and on which rows. */
#ifndef SOOTH_LEARN_FORESTS_H
#define SOOTH_LEARN_FORESTS_H

#include "learn/train.h"
#include "predict/forest.h"

/* Progress and cancellation. */
typedef struct forests_watch {
    void (*progress)(void *context, int done, int all); /* counts candidate forests; may be NULL */
    void *context;
    const volatile int *stop; /* as in learn.h */
} forests_watch;

/* Grows forests on the errors of the averaged networks for the operator rows `order[0 … count)`. Allocates in `a`.
 * If training is stopped, the set is incomplete. */
forest_set forests_grow(const trainer *t, const dataset *data, const int32_t *order, int32_t count,
                        const forests_watch *watch, arena *a);

/* Sets the corrections of the examples `order[0 … count)` from the forests. */
void forests_apply(const forest_set *set, const trainer *t, dataset *data, const int32_t *order, int32_t count);
/* Removes the corrections of all examples. */
void forests_forget(dataset *data);

#endif
