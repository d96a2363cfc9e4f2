/* engine.h: groups of operators that an inference engine runs as one kernel: made by engine.c, written by
 * engine_emit.c. */
#ifndef SOOTH_LOWER_FUSED_ENGINE_H
#define SOOTH_LOWER_FUSED_ENGINE_H

#include "lower/layout.h"

enum { NO_GROUP = -1, MAX_FULL_INPUTS = 3, MAX_GROUP_KERNELS = 64 };

typedef enum group_kind {
    GROUP_POINTWISE,
    GROUP_PRODUCT, /* fuses pointwise work on its result */
    GROUP_ROWS,    /* norms, softmax, sums: the same, and pointwise work on their inputs */
    GROUP_CALL,    /* fuses nothing */
    GROUP_GONE,    /* merged into another */
} group_kind;

typedef struct group {
    group_kind kind;
    const kernel *main;
    struct {
        int32_t *items;
        int32_t count, capacity;
    } kernels;        /* in order */
    tensor_id output; /* result of its last kernel */
    int full_inputs;  /* number of inputs after the first that are as large as the output */
    bool has_scores;  /* a product whose softmax is in it: half of an attention */
    bool is_attention;
    const kernel *pad; /* padding of its first input, merged into its window; NULL: none */
} group;

typedef struct engine {
    arena *arena;
    network *net;
    const program *in;
    program *out;
    dtype narrow;           /* type of matrix products; DT_UNKNOWN: the program's type */
    int32_t *maker;         /* by storage: the group that wrote it last; NO_GROUP: it exists before the pass */
    int32_t *readers;       /* by storage: kernels that read it, through views */
    int32_t *wide_readers;  /* those of them that are not narrow products */
    bool *is_output;        /* by storage */
    bool *is_constant;      /* by storage: weights, and what the engine precomputes from them */
    bool *is_read;          /* by storage of a small weight: some kernel reads it already */
    double *packed;         /* by storage of a weight: bytes per element if packed in the file; else 0 */
    tensor_id *narrow_copy; /* by tensor: 1 + the tensor of its 8-bit copy; 0: none */
    struct {
        group *items;
        int32_t count, capacity;
    } groups;
} engine;

/* ---- what kernels are -------------------------------------------------------------------------------------------- */

static inline bool is_op(const kernel *k, const char *op)
{
    return strcmp(k->op, op) == 0;
}

static inline bool is_in(const kernel *k, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_op(k, names[i]))
            return true;
    return false;
}
#define IS_IN(k, names) is_in((k), (names), sizeof(names) / sizeof *(names))

static inline bool is_product(const kernel *k)
{
    static const char *const NAMES[] = {"convolution", "addmm", "mm", "bmm", "baddbmm"};
    return IS_IN(k, NAMES);
}

static inline bool is_batch_norm(const kernel *k)
{
    return (is_op(k, "cudnn_batch_norm") || is_op(k, "native_batch_norm")) && k->input_count > 2;
}

/* Runs on 8-bit weights and activations if the precision says so. */
static inline bool is_narrow(const engine *e, const kernel *k)
{
    return e->narrow != DT_UNKNOWN && (is_op(k, "convolution") || is_op(k, "addmm") || is_op(k, "mm"));
}

static inline const placed_tensor *tensor_at(const engine *e, tensor_id t)
{
    return &e->out->tensors.items[t];
}

static inline int64_t elements_of(const engine *e, tensor_id t)
{
    extent x = extent_of(tensor_at(e, t));
    return extent_elements(&x);
}

static inline int32_t storage_of(const engine *e, tensor_id t)
{
    return tensor_at(e, t)->storage;
}

/* The kernels of all groups, each after everything it reads. */
void engine_emit(engine *e);

#endif
