/* ops.h: the operator table. One row holds everything Sooth knows about an operator.
 *
 * Canonical names are ONNX's where ONNX has the operator ("Conv", "Gemm"), whatever the file's format. Contrib
 * operators are under "com.microsoft", those that only passes make ("Linear", "Silu" …) under "sooth". To add an
 * operator: add a row to ops_table.c, a shape rule if none of shape.h fits, and a test. */
#ifndef SOOTH_GRAPH_OPS_H
#define SOOTH_GRAPH_OPS_H

#include "graph/graph.h"

typedef struct infer infer; /* infer.h */

/* Sets dtype and shape of every output, as far as they can be inferred. */
typedef void (*shape_rule)(infer *c);
/* Computes output data if the input data are known. Runs after the shape rule. */
typedef void (*fold_rule)(infer *c);
/* Sets node->macs and node->flops for one run, with all shapes inferred. NULL: no arithmetic. */
typedef void (*cost_rule)(network *net, node *n);

/* Kind of work for a runtime; lowering starts from it. */
typedef enum op_kind {
    OP_CONTROL,   /* If, Loop, Scan, sequences, optionals; launches no kernel. */
    OP_VIEW,      /* New shape over the same bytes: Reshape, Squeeze, Flatten, Identity. */
    OP_MOVE,      /* Copies bytes: Transpose, Concat, Slice, Gather, Pad, Expand, Cast. */
    OP_POINTWISE, /* Each output element depends on the same element of the inputs. */
    OP_REDUCE,    /* Sums, means, maxima over axes; softmax. */
    OP_NORM,      /* Statistics and scaling. */
    OP_POOL,
    OP_CONV,
    OP_MATMUL,
    OP_ATTENTION,
    OP_RECURRENT, /* RNN, GRU, LSTM */
    OP_SORT,      /* TopK, NonMaxSuppression, Unique */
    OP_OTHER,     /* Everything else: FFT, random numbers, image decoding, trees, text. */
} op_kind;

/* Memory of the first output. */
typedef enum op_memory {
    MEM_NEW,  /* New memory. */
    MEM_VIEW, /* Shares the bytes of input 0. */
} op_memory;

enum { ANY = 127 }; /* Unlimited number of inputs or outputs. */

struct op_info {
    const char *name;
    const char *domain; /* "" = ai.onnx, "ai.onnx.ml", "com.microsoft", "sooth" */
    int8_t min_inputs, max_inputs, min_outputs, max_outputs;
    op_kind kind;
    op_memory memory;
    uint16_t params; /* Bit i: input i is trainable if it is a constant (bit 15: inputs 15 and up). */
    shape_rule shape;
    fold_rule fold;          /* NULL if results are never folded. */
    cost_rule cost;          /* NULL if the operator has no floating-point arithmetic. */
    float flops_per_element; /* Used by cost_pointwise and cost_reduce. */
};

/* True if the node has this canonical operator. Compares the first letter first, because passes call this often. A
 * known operator's `type` is its canonical name. */
static inline bool node_is(const node *n, const char *canonical_name)
{
    return n->op && n->type.ptr[0] == canonical_name[0] && str_is(n->type, canonical_name);
}

/* The whole table, for listing and tests. */
const op_info *ops_all(size_t *count);

/* Hash index of the table. Each model builds its own, so that there is no global state. */
ops_index *ops_index_new(arena *a);
/* "" and "ai.onnx" are one domain; other spellings of contrib domains are mapped too. NULL: unknown operator. */
const op_info *ops_find(const ops_index *index, str domain, str type);
/* Finds a recovered or canonical operator by name alone; for passes and builders. */
const op_info *ops_find_canonical(const ops_index *index, const char *name);

#endif
