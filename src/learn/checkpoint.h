/* checkpoint.h: the state of a training between two epochs, in a file. */
#ifndef SOOTH_LEARN_CHECKPOINT_H
#define SOOTH_LEARN_CHECKPOINT_H

#include "learn/train.h"

/* How far a row that was kept apart was off. */
typedef struct residual {
    int16_t kind, stack;
    float error; /* log(predicted / measured) */
} residual;

typedef struct residuals {
    residual *items;
    int32_t count, capacity;
    int resumed_at; /* epochs that were done before this run */
} residuals;

/* Writes under another name, then renames: a kill leaves the old one or the new one. */
void checkpoint_write(const char *path, const trainer *t, const residuals *r, int stage, int epoch, fail *f);
/* False if there is no such file. Fails if it is of another data set or version. */
bool checkpoint_read(const char *path, trainer *t, residuals *r, int *stage, int *epoch, arena *a, fail *f);

#endif
