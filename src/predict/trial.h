/* trial.h: the memory of a program at one batch, stored to interpolate other batches. Lowering takes several times as
 * long as replaying requests. At most batches a program requests the same storages in the same order, with bytes linear
 * in the batch, so two trials give the requests of other batches. */
#ifndef SOOTH_PREDICT_TRIAL_H
#define SOOTH_PREDICT_TRIAL_H

#include "predict/footprint.h"

typedef struct memory_trial {
    int64_t batch;
    footprint footprint; /* Without `use`. */
    setting where;
    footprint_basis basis;
    memory_requests requests; /* Data from the basis. The allocator, and the inputs of the parts, are not set. */
    const kernel_workspace *workspaces;
} memory_trial;

/* Stores the data for memory_trial_between() in `a`. */
void memory_trial_keep(memory_trial *t, const footprint *f, const footprint_basis *basis, const setting *where,
                       const kernel_workspace *workspaces, arena *a);

/* Computes the memory at another batch, without limits. Returns false if the programs of the two trials differ.
 * `scratch` holds temporary data. */
bool memory_trial_between(const memory_trial *one, const memory_trial *other, int64_t batch, footprint *f,
                          arena *scratch);

#endif
