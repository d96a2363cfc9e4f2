/* lowered.h: a program that several predictions share. Lowering takes as long as predicting and does not depend on the GPU, so the
 * model keeps the program of its last prediction for the next one. Predictions outlive the model: whoever lets go of the program
 * last frees it. */
#ifndef SOOTH_PREDICT_LOWERED_H
#define SOOTH_PREDICT_LOWERED_H

#include "predict/work.h"

#include <stdatomic.h>

typedef struct lowered {
    atomic_int holders;
    lower_options options;
    arena arena;
    const program *program; /* nothing in it lies in the model */
    work_list works;        /* what its kernels do */
} lowered;

/* The bound model's program under these options, held once more; lowered now unless it is the model's last one. Fails through
 * the model. */
lowered *lowered_get(sooth_model *model, const lower_options *options);
void lowered_release(lowered *l); /* NULL is allowed */

#endif
