/* lowered.h: a program shared by several predictions. Lowering takes as long as predicting and rarely depends on the
 * GPU, so the model keeps the program of its last prediction. Predictions outlive the model; the last reference frees
 * the program. */
#ifndef SOOTH_PREDICT_LOWERED_H
#define SOOTH_PREDICT_LOWERED_H

#include "predict/trial.h"
#include "predict/work.h"

#include <stdatomic.h>

/* Tensors that a kernel reads and writes on the device. Excludes the program's scalars. */
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
    const program *program;        /* Owns all of its data. */
    work_list works;               /* Description of its kernels. */
    const layer_names *names;      /* Indexed by layer; NULL until first requested. */
    const device_tensors *tensors; /* Indexed by kernel; empty for views. */
    struct {
        footprint_key key;
        const footprint_basis *basis;
        kept_uses uses;
    } bases[KEPT_BASES]; /* First keys requested and their bases; NULL until then. */
} lowered;

/* Memory cap of a prediction, proportional to the nodes of the file. It admits large graphs and refuses small files
 * that ask for huge amounts. */
size_t lowered_memory_cap(const sooth_model *model);
/* Returns the program of the bound model under these options and adds a reference. Reuses the model's last program if
 * the options are equal, else lowers the model. Fails through the model. */
lowered *lowered_get(sooth_model *model, const lower_options *options);
/* Computes the memory of the program, from cached bases where possible. Temporaries and uncached data are in `own`.
 * `trial` may be NULL; otherwise its data is in `trial_arena`. Fails through the model. */
footprint lowered_footprint(lowered *l, sooth_model *model, const setting *where, arena *own, memory_trial *trial,
                            arena *trial_arena);
/* Returns the names of the layers, then one name per phase for kernels outside any layer. They outlive the model. Fails
 * through the model. */
enum { OUTSIDE_COUNT = 3 };
const layer_names *lowered_names(lowered *l, sooth_model *model, int32_t *count);
void lowered_release(lowered *l); /* `l` may be NULL. */
/* Drops the model's last program, which a change of model->regions makes stale. */
void lowered_forget(sooth_model *model);

/* A program that is held while a prediction runs. The entry is in the arena of the answer, which outlives a failure. */
typedef struct lowered_hold {
    lowered *lowered; /* NULL: released, or owned by the answer. */
    struct lowered_hold *before;
} lowered_hold;
/* lowered_get(), registered with the model so that a failure releases it. */
lowered_hold *lowered_take(sooth_model *model, const lower_options *options, arena *a);
void lowered_give_back(lowered_hold *hold);
/* Releases what a failed prediction still holds. Call it before freeing the arena of its entries. */
void lowered_end_holds(sooth_model *model);

#endif
