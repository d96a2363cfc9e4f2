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

/* What a training is of: one that differs in any of it is another one, and does not go on from this one's state. */
typedef struct training_identity {
    uint64_t code; /* checkpoint_code() */
    uint64_t data; /* dataset_identity() */
    uint64_t seed;
    double rate;
    uint64_t options; /* hash of all other options that change the result */
} training_identity;

/* Hash of the sources of learn/ and predict/ that this program was built from. */
uint64_t checkpoint_code(void);

/* Where a training is. */
typedef struct training_place {
    int stage, epoch;
} training_place;

/* Writes under another name, brings that to the disk, then renames: a kill or a power cut leaves the old one or the new one. */
void checkpoint_write(const char *path, const trainer *t, const residuals *r, const training_identity *identity,
                      training_place at, fail *f);
/* False if there is no such file. Fails if it is of another training, says in what they differ, or is damaged. */
bool checkpoint_read(const char *path, trainer *t, residuals *r, const training_identity *identity, training_place *at,
                     arena *a, fail *f);

#endif
