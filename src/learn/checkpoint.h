/* checkpoint.h: the file that stores a training's state between two epochs. */
#ifndef SOOTH_LEARN_CHECKPOINT_H
#define SOOTH_LEARN_CHECKPOINT_H

#include "learn/intervals.h"
#include "learn/train.h"

typedef struct residuals {
    residual *items;
    int32_t count, capacity;
    int resumed_at; /* epochs completed before this run */
} residuals;

/* Identity of a training. A checkpoint resumes only a training with the same identity. */
typedef struct training_identity {
    uint64_t code; /* checkpoint_code() */
    uint64_t data; /* dataset_identity() */
    uint64_t seed;
    double rate;
    uint64_t options; /* hash of all other options that affect the result */
} training_identity;

/* Hash of the sources of learn/ and predict/ that this program was built from. */
uint64_t checkpoint_code(void);

/* Progress of a training. */
typedef struct training_place {
    int stage, epoch;
} training_place;

/* Writes a temporary file, syncs and renames it, so that a crash leaves either the old or the new file. */
void checkpoint_write(const char *path, const trainer *t, const residuals *r, const training_identity *identity,
                      training_place at, fail *f);
/* Returns false if the file does not exist. Fails if it is damaged or belongs to another training, and names the
 * difference. */
bool checkpoint_read(const char *path, trainer *t, residuals *r, const training_identity *identity, training_place *at,
                     arena *a, fail *f);

#endif
