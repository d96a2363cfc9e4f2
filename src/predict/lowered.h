/* lowered.h: a program that several predictions share. Lowering takes as long as predicting and seldom depends on
 * the GPU (a compiler splits reductions by its multiprocessors), so the model keeps the program of its last
 * prediction for the next one. Predictions outlive the model: the last holder frees the program. */
#ifndef SOOTH_PREDICT_LOWERED_H
#define SOOTH_PREDICT_LOWERED_H

#include "predict/trial.h"
#include "predict/work.h"

#include <stdatomic.h>

/* Tensors that a kernel reads and writes on the device, without scalars of the program text. */
typedef struct device_tensors {
    const tensor_id *inputs, *outputs;
    int32_t input_count, output_count;
} device_tensors;

typedef struct layer_names {
    const char *name, *op;
} layer_names;

enum { KEPT_BASES = 4 };

typedef struct lowered {
    atomic_int holders;
    lower_options options;
    arena arena;
    const program *program;        /* owns all of its data */
    work_list works;               /* description of its kernels */
    const layer_names *names;      /* by layer; NULL until first requested */
    const device_tensors *tensors; /* by kernel; empty for views */
    struct {
        footprint_key key;
        const footprint_basis *basis;
        kept_uses uses;
    } bases[KEPT_BASES]; /* of the first keys that were requested; NULL: none yet */
} lowered;

/* Cap of a prediction's arenas, proportional to the nodes of the file: large graphs are predicted, and small files that
 * ask for much are refused. */
size_t lowered_memory_cap(const sooth_model *model);
/* Returns the program of the bound model under these options and adds a reference. Reuses the model's last program if
 * the options are equal, else lowers the model. Fails through the model. */
lowered *lowered_get(sooth_model *model, const lower_options *options);
/* Memory of the program, computed from cached bases where possible. New data that is not cached, and temporaries, are
 * in `own`. `trial` may be NULL; otherwise its data is in `trial_arena`. Fails through the model. */
footprint lowered_footprint(lowered *l, sooth_model *model, const setting *where, arena *own, memory_trial *trial,
                            arena *trial_arena);
/* Names of the layers, followed by one name per phase for kernels outside any layer. They outlive the model. Fails
 * through the model. */
enum { OUTSIDE_COUNT = 3 };
const layer_names *lowered_names(lowered *l, sooth_model *model, int32_t *count);
void lowered_release(lowered *l); /* NULL is allowed */

#endif
