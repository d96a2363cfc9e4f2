/* run.h: a network and its memory, to run forward, backward and update on this processor.
 *
 * Every layer runs in a backend: a library (oneDNN, OpenBLAS) or plain C. A library may keep tensors in a layout of its
 * own; others get row-major copies. */
#ifndef SOOTH_MEASURE_RUN_H
#define SOOTH_MEASURE_RUN_H

#include "measure/net.h"

typedef enum run_library { LIBRARY_ONEDNN, LIBRARY_OPENBLAS, LIBRARY_PLAIN } run_library;
enum { RUN_LIBRARIES = 3 };
const char *run_library_name(run_library library); /* "onednn", "openblas", "plain" */
/* NULL if the library can be used; otherwise the reason, and what to install. */
const char *run_library_missing(run_library library);

typedef enum run_part { /* What memory is used for. */
                        PART_WEIGHTS,
                        PART_GRADIENTS,
                        PART_OPTIMIZER,
                        PART_FEATURE_MAPS,
                        PART_MAP_GRADIENTS,
                        PART_WORKSPACE,
                        RUN_PARTS,
} run_part;

typedef enum run_pass { PASS_FORWARD, PASS_BACKWARD_DATA, PASS_BACKWARD_WEIGHTS, PASS_UPDATE, RUN_PASSES } run_pass;

typedef struct run run;
typedef struct run_layout run_layout; /* Layout of a tensor, owned by its backend; a NULL pointer means row-major. */

typedef struct run_backend {
    const char *name;
    /* Chooses layouts of the layer's output and parameters, and allocates what backward needs. Returns false if the
     * backend cannot run the layer. */
    bool (*prepare)(run *r, int layer);
    void (*forward)(run *r, int layer);
    /* NULL if backward_data computes the gradients of parameters too. */
    void (*backward_weights)(run *r, int layer);
    void (*backward_data)(run *r, int layer);
    const char *(*algorithm)(const run *r, int layer);
} run_backend;

/* Memory for the gradient of a tensor. If a sum passes its gradient to both operands, they share it. */
typedef struct run_buffer {
    float *data;
    size_t bytes;
    int references;
} run_buffer;

typedef struct run_tensor {
    const run_layout *layout;
    size_t bytes;
    float *data;
    float *plain;      /* row-major copy if some layer needs one; otherwise NULL */
    bool plain_is_new; /* True if the copy is newer than the last forward pass of the tensor's producer. */
    run_buffer *gradient;
} run_tensor;

typedef struct run_weights {
    const run_layout *layout;
    size_t bytes;
    float *data, *gradient, *momentum; /* buffers (statistics) have only `data` */
} run_weights;

struct run {
    arena *arena;
    fail *fail;
    const run_net *net;
    run_library library;
    size_t threads;
    const run_backend **backends; /* indexed by layer */
    void **states;                /* indexed by layer: state of its backend */
    run_tensor *tensors;          /* indexed by value */
    run_weights *weights;         /* indexed by parameter */
    const int32_t *labels;        /* (batch) */
    double loss;
    double (*times_ms)[RUN_PASSES]; /* indexed by layer: times in the last step */
    size_t *workspaces;             /* indexed by layer: bytes of workspace */
    size_t bytes[RUN_PARTS];        /* allocated */
    size_t peak_bytes;
    struct {
        run_buffer **items;
        int32_t count, capacity;
    } buffers; /* memory for gradients; a buffer without references is free */
    struct {
        void **items;
        int32_t count, capacity;
    } blocks;
    float *scratch; /* shared by all layers */
    size_t scratch_bytes;
    struct onednn *onednn;
    struct openblas *openblas;
    bool needs_input_gradient; /* false in training */
};

/* Creates a run without memory. The caller must call run_free even after a failure. */
run *run_new(const run_net *net, run_library library, size_t threads, arena *a, fail *f);
void run_free(run *r);

/* Chooses backends and layouts, and allocates. */
void run_prepare(run *r);
/* One step on the data in the input's tensor. Fills times_ms and loss. */
void run_forward(run *r);
void run_backward(run *r);
/* SGD with momentum, as PyTorch computes it. */
void run_update(run *r, double rate, double momentum);

/* Reads a parameter, or its gradient, as row-major numbers. */
void run_read_weights(run *r, int param, bool gradient, float *to);
void run_write_weights(run *r, int param, const float *from);

/* ---- for backends ------------------------------------------------------------------------------------------------ */

/* Allocates zeroed memory aligned to a cache line; fails if out of memory. */
void *run_alloc(run *r, run_part part, size_t bytes);
/* Returns at least that many bytes of scratch memory, which all layers share, so its contents are lost between
 * calls. */
float *run_scratch(run *r, size_t bytes);
void run_need_scratch(run *r, int layer, size_t bytes);

static inline const run_layer *run_layer_of(const run *r, int layer)
{
    return &r->net->layers[layer];
}
static inline run_tensor *run_input(const run *r, int layer, int i)
{
    return &r->tensors[r->net->layers[layer].inputs[i]];
}
static inline run_tensor *run_output(const run *r, int layer)
{
    return &r->tensors[r->net->layers[layer].output];
}
/* NULL if the layer has no such parameter. */
static inline run_weights *run_param_of(const run *r, int layer, int i)
{
    int index = r->net->layers[layer].params[i];
    return index == NO_RUN ? NULL : &r->weights[index];
}
/* True if backward must compute the gradient of input i. */
bool run_wants(const run *r, int layer, int i);

/* Returns memory for the gradient of input i, to be filled and passed to run_give: in the layout of the tensor, or
 * row-major. */
run_buffer *run_gradient_room(run *r, int layer, int i, bool row_major);
/* The same for layers whose gradient may overwrite that of their output: returns the output's buffer if nothing else
 * needs it. */
run_buffer *run_gradient_in_place(run *r, int layer);
/* Adds a filled buffer to the gradient of input i and drops the reference. */
void run_give(run *r, int layer, int i, run_buffer *buffer, bool row_major);
void run_drop(run_buffer *buffer);
/* Takes temporary memory, with one reference. */
run_buffer *run_take(run *r, size_t bytes);

/* Return row-major inputs and the row-major gradient of the output. Only for tensors for which run_keep_plain() was
 * called. */
void run_keep_plain(run *r, int value);
const float *run_plain_input(run *r, int layer, int i);
/* Returns a reference, which the caller drops. */
run_buffer *run_plain_gradient(run *r, int layer);

extern const run_backend PLAIN_BACKEND, OPENBLAS_BACKEND, ONEDNN_BACKEND;
/* Opens the library for the run. */
void openblas_open(run *r);
void openblas_close(run *r);
const char *openblas_missing(void);
void onednn_open(run *r);
void onednn_close(run *r);
const char *onednn_missing(void);
/* Bytes of a layout, and conversions between layouts (NULL: row-major). */
size_t onednn_bytes(const run_layout *layout);
void onednn_convert(run *r, const run_layout *from, const float *source, const run_layout *to, float *target);
bool onednn_same(const run *r, const run_layout *a, const run_layout *b);

/* Calls work(context, first, end) for parts of 0 … count on the run's threads, with at least `least` items each. */
typedef void (*run_range)(void *context, int64_t first, int64_t end);
void run_parallel(const run *r, int64_t count, int64_t least, run_range work, void *context);

#endif
