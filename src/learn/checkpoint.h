/* checkpoint.h: the state of a training between two epochs, in a file. */
#ifndef SOOTH_LEARN_CHECKPOINT_H
#define SOOTH_LEARN_CHECKPOINT_H

#include "learn/train.h"

/* Error of a hold-out row. */
typedef struct residual {
    int16_t kind, stack;
    float error; /* log(predicted / measured) */
} residual;

typedef struct residuals {
    residual *items;
    int32_t count, capacity;
    int resumed_at; /* epochs before this run */
} residuals;

/* Identity of a training: one that differs in any of it does not resume from this state. */
typedef struct training_identity {
    uint64_t code; /* checkpoint_code() */
    uint64_t data; /* dataset_identity() */
    uint64_t seed;
    double rate;
    uint64_t options; /* hash of all other options that change the result */
} training_identity;

/* Hash of the sources of learn/ and predict/ in this program. */
uint64_t checkpoint_code(void);

/* Progress of a training. */
typedef struct training_place {
    int stage, epoch;
} training_place;

/* Writes under another name, syncs, then renames: after a kill or a power cut the old or the new file is there. */
void checkpoint_write(const char *path, const trainer *t, const residuals *r, const training_identity *identity,
                      training_place at, fail *f);
/* False if there is no such file. Fails if it is damaged, or of another training, and says how they differ. */
bool checkpoint_read(const char *path, trainer *t, residuals *r, const training_identity *identity, training_place *at,
                     arena *a, fail *f);

#endif
