/* forests.h: which forests (predict/forest.h) are worth growing, and on which rows. */
#ifndef SOOTH_LEARN_FORESTS_H
#define SOOTH_LEARN_FORESTS_H

#include "learn/train.h"
#include "predict/forest.h"

/* It takes a while: what to tell of it, and when to end. */
typedef struct forests_watch {
    void (*progress)(void *context, int done, int all); /* in forests that may be; NULL: none */
    void *context;
    const volatile int *stop; /* as in learn.h */
} forests_watch;

/* Forests on how far the trainer's averaged parameters are off on these operators, `order[0 … count)`. Everything is in `a`. Some are missing where it was
 * stopped. */
forest_set forests_grow(const trainer *t, const dataset *data, const int32_t *order, int32_t count,
                        const forests_watch *watch, arena *a);

/* Sets the corrections of the examples `order[0 … count)` by the forests. */
void forests_apply(const forest_set *set, const trainer *t, dataset *data, const int32_t *order, int32_t count);
/* No example has corrections any more. */
void forests_forget(dataset *data);

#endif
