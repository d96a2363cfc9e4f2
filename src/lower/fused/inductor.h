/* inductor.h: formulas and buffers of a compiling runtime, shared by inductor.c, inductor_ops.c, inductor_products.c
 * and inductor_reduce.c. */
#ifndef SOOTH_LOWER_FUSED_INDUCTOR_H
#define SOOTH_LOWER_FUSED_INDUCTOR_H

#include "graph/ops.h"
#include "lower/fused/fusion.h"

enum {
    NO_BOX = -1,
    MAX_OPERANDS = 64,
    MAX_READS = 8, /* A formula with more reads is stored: realize_acc_reads_threshold of torch/_inductor/config.py. */
};

/* A tensor of the eager program: either a buffer, or a formula over buffers that each reader computes again. */
typedef struct box {
    int32_t buffer; /* NO_BOX for a formula. */
    extent own;     /* Shape, and strides that give the order of elements. */
    dtype dtype;
    bool is_last;      /* True if channels last is preferred. */
    bool is_computed;  /* True if a loop writes it, not a library or the caller. */
    int32_t reads_all; /* Loads per element. */
    int32_t op_total;  /* Operations per element. */
    int32_t read_count, op_count;
    fuse_read *reads;
    const char **ops;
    int64_t flops;
    tensor_id tensor;
} box;

/* An operator's view of a box. */
typedef struct operand {
    int32_t box;
    int32_t part;
    extent at;
} operand;

/* Where one part of a training step put a tensor that another part reads. */
typedef struct inductor_kept {
    access layout;
    tensor_id placed; /* 1 + the tensor; 0 if no part wrote it. */
} inductor_kept;

typedef struct inductor {
    fusion f;
    bool trains;         /* The kernels are a part of a training step. */
    inductor_kept *kept; /* Indexed by storage; NULL for inference. */
    int32_t kept_count;
    sooth_model *model;
    const program *in;
    const lower_options *options;
    arena *arena;
    bool is_last;            /* True if convolutions run channels last. */
    const kernel *k;         /* Kernel being lowered. */
    bool prefers_last;       /* True if its result is connected to a convolution. */
    int32_t *box_of_storage; /* Indexed by storage: box with the current contents. */
    tensor_id *first;        /* Indexed by storage: first tensor stored in it. */
    tensor_id *same;         /* Indexed by tensor: first tensor equal to it. */
    int32_t *part;           /* Indexed by tensor: number of its slice; 0 for a whole storage. */
    int32_t *user_start;     /* Indexed by tensor: start of its readers in `users`. */
    int32_t *users;          /* kernels */
    bool *is_dropped;        /* Indexed by kernel: true if it equals an earlier kernel or is a view without readers. */
    bool *is_near;           /* Indexed by kernel: its result is connected to a convolution. */
    bool *is_output;         /* Indexed by tensor: output of the network. */
    struct {
        box *items;
        int32_t count, capacity;
    } boxes;
} inductor;

/* Reads of a formula or a reduction, without duplicates. */
typedef struct read_list {
    fuse_read items[MAX_OPERANDS * (MAX_READS + 1)];
    int count;
} read_list;

static inline const placed_tensor *tensor_at(const inductor *c, tensor_id t)
{
    return &c->f.out->tensors.items[t];
}

/* Compares the first letter before calling strcmp(), because most names differ there. */
static inline bool is_op(const kernel *k, const char *op)
{
    return k->op[0] == op[0] && strcmp(k->op, op) == 0;
}

/* ---- whole programs ---------------------------------------------------------------------------------------------- */

/* Returns a program without kernels that has the tensors of `in`. */
program *inductor_program(const program *in, arena *a);
/* Lowers the kernels of `in` and appends the result to `out`. `is_kept`, indexed by storage, marks what readers outside
 * of `in` need; NULL for inference: the network's outputs. */
void inductor_compile(inductor *c, program *in, program *out, const bool *is_kept);
/* Compiles an eager training program in two parts (inductor_train.c). */
program *inductor_train(sooth_model *model, const lower_options *options, program *in, arena *a);
/* Number of nodes that the operator has in the compiler's graph after decomposition. */
int32_t inductor_graph_nodes(const kernel *k);

/* ---- inside: shared by inductor.c and inductor_reduce.c ---------------------------------------------------------- */

tensor_id inductor_new_tensor(inductor *c, const extent *x, dtype type);
int32_t inductor_add_buffer(inductor *c, tensor_id t, int32_t writer);
int32_t inductor_add_box(inductor *c, tensor_id t);
fuse_node *inductor_add_node(inductor *c, fuse_kind kind);
/* Returns an access with loops over the operand's dimensions, in the given order. */
access inductor_walk_operand(inductor *c, const operand *x, const int *order, int count);
void inductor_add_read(read_list *l, fuse_read r);
/* Appends the reads of an operand to the list. They run in the loops `outer` and, in a reduction, `inner`; otherwise
 * `inner` is NULL. */
void inductor_read_operand(inductor *c, read_list *l, const operand *x, const access *outer, const access *inner,
                           int times);
/* Sets `*ops` to the operator names of the computation: those of operands that are formulas, then `op`. */
void inductor_keep_ops(inductor *c, const char ***ops, int32_t *count, const char *op, const operand *in, int operands);

/* ---- what operators are lowered with ----------------------------------------------------------------------------- */

void inductor_operand_of(inductor *c, tensor_id t, operand *made);
/* Broadcasts `x` to the shape `to`; its first dimension aligns with `first_dim`. `made` must differ from `x`. */
void inductor_operand_broadcast(operand *made, const operand *x, const extent *to, int first_dim);
/* Adds a formula over operands that are broadcast to `out`. */
int32_t inductor_make_pointwise(inductor *c, const char *op, const extent *out, dtype type, const operand *in,
                                int count, int op_total);
/* Adds a formula that loads `times` elements at irregular positions of each operand. With `is_gathered`, adjacent
 * elements may come from distant memory. */
int32_t inductor_make_scattered(inductor *c, const char *op, const extent *out, dtype type, const operand *in,
                                int count, int times, bool is_gathered);
/* Adds a reduction of the dimensions marked in `is_reduced`, over loops of shape `full`. Each output has the given type
 * and the shape `out`; their boxes are numbered consecutively. Returns the first box. */
int32_t inductor_make_reduction(inductor *c, const char *op, const extent *full, const bool *is_reduced,
                                const extent *out, dtype type, const operand *in, int count, int output_count);
void inductor_realize(inductor *c, int32_t b);
void inductor_mark_reuse(inductor *c, int32_t b, int users);
void inductor_set_tensor(inductor *c, tensor_id t, int32_t b);
void inductor_call_library(inductor *c);
/* Makes the output of c->k a concatenation of buffers that are written in place. Launches nothing. */
void inductor_join_buffers(inductor *c, fuse_read *reads, int count, bool is_last);
/* Turns linear layers on copied rows into batched products on the strided rows (inductor_products.c). */
void inductor_batch_turned_products(program *p, arena *a);
/* Lowers the kernel c->k. */
void lower_kernel(inductor *c);
bool inductor_needs_buffers(const kernel *k); /* True if the kernel reads buffers, not formulas. */

#endif
