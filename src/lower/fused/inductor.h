/* inductor.h: formulas and buffers of a compiling runtime, for inductor.c and inductor_ops.c. */
#ifndef SOOTH_LOWER_FUSED_INDUCTOR_H
#define SOOTH_LOWER_FUSED_INDUCTOR_H

#include "graph/ops.h"
#include "lower/fused/fusion.h"

enum {
    NO_BOX = -1,
    MAX_OPERANDS = 64,
    MAX_READS = 8, /* largest number of reads of a formula before it becomes a buffer */
};

/* A tensor of the eager program: a buffer, or a formula over buffers that each reader recomputes. */
typedef struct box {
    int32_t buffer; /* NO_BOX while it is a formula */
    extent own;     /* strides: the order of its elements */
    dtype dtype;
    bool is_last;      /* prefers channels last */
    bool is_computed;  /* written by a loop: not an input, not a library's result */
    int32_t reads_all; /* loads per element */
    int32_t op_total;  /* operations per element */
    int32_t read_count, op_count;
    fuse_read *reads;
    const char **ops;
    int64_t flops;
    tensor_id tensor;
} box;

/* A box as an operator views it. */
typedef struct operand {
    int32_t box;
    int32_t part;
    extent at;
} operand;

typedef struct inductor {
    fusion f;
    sooth_model *model;
    const program *in;
    const lower_options *options;
    arena *arena;
    bool is_last;            /* convolutions run channels last */
    const kernel *k;         /* the kernel being lowered */
    bool prefers_last;       /* its result is near a convolution */
    int32_t *box_of_storage; /* current contents */
    tensor_id *first;        /* by storage: the first tensor stored in it */
    tensor_id *same;         /* by tensor: the first that is equal to it */
    int32_t *part;           /* by tensor: which slice of its memory */
    int32_t *user_start;     /* by tensor: where its readers are in `users` */
    int32_t *users;          /* kernels */
    bool *is_dropped;        /* by kernel: equal to an earlier one */
    bool *is_near;           /* by kernel: its result is connected to a convolution */
    bool *is_output;         /* by tensor */
    struct {
        box *items;
        int32_t count, capacity;
    } boxes;
} inductor;

/* Loads of a formula or a reduction, without duplicates. */
typedef struct read_list {
    fuse_read items[MAX_OPERANDS * (MAX_READS + 1)];
    int count;
} read_list;

static inline const placed_tensor *tensor_at(const inductor *c, tensor_id t)
{
    return &c->f.out->tensors.items[t];
}

/* Most names differ in their first letter. */
static inline bool is_op(const kernel *k, const char *op)
{
    return k->op[0] == op[0] && strcmp(k->op, op) == 0;
}

/* ---- inside: shared by inductor.c and inductor_reduce.c ---------------------------------------------------------- */

tensor_id inductor_new_tensor(inductor *c, const extent *x, dtype type);
int32_t inductor_add_buffer(inductor *c, tensor_id t, int32_t writer);
int32_t inductor_add_box(inductor *c, tensor_id t);
fuse_node *inductor_add_node(inductor *c, fuse_kind kind);
/* The operand's dimensions in this order, as loops. */
access inductor_walk_operand(inductor *c, const operand *x, const int *order, int count);
void inductor_add_read(read_list *l, fuse_read r);
/* Loads of the operand in the loops `outer`, and `inner` of a reduction if not NULL. */
void inductor_read_operand(inductor *c, read_list *l, const operand *x, const access *outer, const access *inner,
                           int times);
/* Names of the computation: those of the operands that are formulas, and op. */
void inductor_keep_ops(inductor *c, const char ***ops, int32_t *count, const char *op, const operand *in, int operands);

/* ---- what operators are lowered with ----------------------------------------------------------------------------- */

void inductor_operand_of(inductor *c, tensor_id t, operand *made);
/* Its dimensions align from first_dim on. `made` must not be `x`. */
void inductor_operand_broadcast(operand *made, const operand *x, const extent *to, int first_dim);
/* A formula over operands that broadcast to `out`. */
int32_t inductor_make_pointwise(inductor *c, const char *op, const extent *out, dtype type, const operand *in,
                                int count, int op_total);
/* Adds a formula that reads its operands at irregular positions, `times` loads from each. `is_gathered`: adjacent
 * elements may come from distant memory. */
int32_t inductor_make_scattered(inductor *c, const char *op, const extent *out, dtype type, const operand *in,
                                int count, int times, bool is_gathered);
/* Adds a reduction: loops over `full` and reduces the dimensions marked in `is_reduced`. The outputs have the given
 * type and the shape `out`; their boxes are numbered consecutively. */
int32_t inductor_make_reduction(inductor *c, const char *op, const extent *full, const bool *is_reduced,
                                const extent *out, dtype type, const operand *in, int count, int output_count);
void inductor_realize(inductor *c, int32_t b);
void inductor_mark_reuse(inductor *c, int32_t b, int users);
void inductor_set_tensor(inductor *c, tensor_id t, int32_t b);
void inductor_call_library(inductor *c);
/* Buffers that together are the output of c->k; nothing is launched. */
void inductor_join_buffers(inductor *c, fuse_read *reads, int count, bool is_last);
/* Products of rows that eager PyTorch copies first become batched ones (inductor_products.c). */
void inductor_batch_turned_products(program *p, arena *a);
/* Lowers c->k. */
void lower_kernel(inductor *c);
bool inductor_needs_buffers(const kernel *k); /* true if it reads memory, not formulas */
bool inductor_is_elementwise(const kernel *k);

#endif
