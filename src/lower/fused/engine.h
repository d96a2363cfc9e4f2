/* engine.h: groups of operators that an inference engine runs as one kernel. engine.c forms the groups, engine_maps.c
 * chooses types of maps, engine_emit.c writes the kernels. */
#ifndef SOOTH_LOWER_FUSED_ENGINE_H
#define SOOTH_LOWER_FUSED_ENGINE_H

#include "lower/layout.h"

enum { NO_GROUP = -1, MAX_FULL_INPUTS = 3, MAX_GROUP_KERNELS = 64 };

typedef enum group_kind {
    GROUP_POINTWISE,
    GROUP_PRODUCT, /* Fuses pointwise operators on its result. */
    GROUP_ROWS,    /* Norms, softmax, sums. Fuses pointwise operators on inputs and result. */
    GROUP_CALL,    /* Fuses nothing. */
    GROUP_GONE,    /* This group was merged into another. */
} group_kind;

typedef struct group {
    group_kind kind;
    const kernel *main;
    struct {
        int32_t *items;
        int32_t count, capacity;
    } kernels;        /* Kernels in program order. */
    tensor_id output; /* Result of the last kernel. */
    int full_inputs;  /* Number of additional inputs of the output's size. */
    bool has_scores;  /* True if it contains a product and its softmax, which is the first half of attention. */
    bool is_attention;
    const kernel *pad; /* Pad of the first input that was merged into the window; NULL if there is none. */
} group;

typedef struct engine {
    arena *arena;
    network *net;
    const program *in;
    program *out;
    dtype narrow;           /* Type of 8-bit products; DT_UNKNOWN if products use the program's type. */
    int32_t *maker;         /* Indexed by storage: the last group that writes it; NO_GROUP for inputs and weights. */
    int32_t *readers;       /* Indexed by storage: number of kernels that read it, also through views. */
    int32_t *wide_readers;  /* Indexed by storage: number of these kernels that do not read the 8-bit copy. */
    bool *is_output;        /* Indexed by storage: true for outputs of the network. */
    bool *is_constant;      /* Indexed by storage: true for weights and values computed from weights alone. */
    bool *is_read;          /* Indexed by storage: true if this small weight already has a reader. */
    double *packed;         /* Indexed by storage: bytes per element of a packed weight; 0 for other storages. */
    tensor_id *narrow_copy; /* Indexed by tensor: 1 + the id of its 8-bit copy; 0 if there is none. */
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

/* True for a batched product with a weight: experts, or heads with weights of their own. */
static inline bool is_batched_layer(const engine *e, const kernel *k)
{
    return is_op(k, "bmm") && k->input_count == 2 && e->is_constant[storage_of(e, k->inputs[1])];
}

/* True if the kernel runs on 8-bit weights and activations. */
static inline bool is_narrow(const engine *e, const kernel *k)
{
    return e->narrow != DT_UNKNOWN &&
           (is_op(k, "convolution") || is_op(k, "addmm") || is_op(k, "mm") || is_batched_layer(e, k));
}

/* Gives maps that stay in 8 bits the type of 8-bit products. engine_maps.c; after grouping, before engine_emit(). */
void engine_narrow_maps(engine *e);

/* Writes the kernels of all groups, each after the kernels that it reads from. */
void engine_emit(engine *e);

#endif
