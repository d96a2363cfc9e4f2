/* trial.h: the memory of a program at one batch, kept to compute that of other batches from it.
 *
 * Lowering takes several times as long as playing requests. A program asks for the same storages in the same order
 * at most batches, and the bytes of each grow in a straight line; so two trials tell the requests of the batches
 * around them. */
#ifndef SOOTH_PREDICT_TRIAL_H
#define SOOTH_PREDICT_TRIAL_H

#include "predict/footprint.h"

typedef struct memory_trial {
    int64_t batch;
    footprint footprint; /* `use` is not filled in */
    setting where;
    footprint_basis basis;
    memory_requests requests; /* of the basis; allocator and what parts are summed from are not filled in */
    const kernel_workspace *workspaces;
} memory_trial;

/* Keeps in `a` what memory_trial_between() needs. */
void memory_trial_keep(memory_trial *t, const footprint *f, const footprint_basis *basis, const setting *where,
                       const kernel_workspace *workspaces, arena *a);

/* The memory at another batch, without limits; false if the programs of the two trials differ. `scratch` gets what
 * is needed on the way. */
bool memory_trial_between(const memory_trial *one, const memory_trial *other, int64_t batch, footprint *f,
                          arena *scratch);

#endif
