/* ops.h: the operator table. One operator is one row: everything Sooth knows about it.
 *
 * Canonical names are those of ONNX where ONNX has the operator ("Conv", "Gemm"), in whatever format the file came; the
 * contrib operators keep theirs under "com.microsoft"; what only the recovery passes make ("Linear", "Silu" …) is under
 * the domain "sooth". To add an operator: add a row to ops_table.c, a shape rule if none of shape.h fits, and a test. */
#ifndef SOOTH_GRAPH_OPS_H
#define SOOTH_GRAPH_OPS_H

#include "graph/graph.h"

typedef struct infer infer; /* infer.h */

/* Gives every output its dtype and shape. Leaves unknown what it cannot know. */
typedef void (*shape_rule)(infer *c);
/* Computes the outputs' data from the inputs' data where those are known. Runs after the shape rule. */
typedef void (*fold_rule)(infer *c);
/* Sets node->macs and node->flops (without repeat). Runs with all shapes in place; NULL = no arithmetic. */
typedef void (*cost_rule)(network *net, node *n);

/* What a runtime does with it; lowering starts from this. */
typedef enum op_kind {
    OP_CONTROL,   /* If, Loop, Scan, sequences, optionals: no kernel of its own */
    OP_VIEW,      /* new shape over the same bytes: Reshape, Squeeze, Flatten, Identity */
    OP_MOVE,      /* copies bytes: Transpose, Concat, Slice, Gather, Pad, Expand, Cast */
    OP_POINTWISE, /* each output element from the same element of the inputs */
    OP_REDUCE,    /* sums, means, maxima over axes; softmax */
    OP_NORM,      /* statistics and scaling */
    OP_POOL,
    OP_CONV,
    OP_MATMUL,
    OP_ATTENTION,
    OP_RECURRENT, /* RNN, GRU, LSTM */
    OP_SORT,      /* TopK, NonMaxSuppression, Unique */
    OP_OTHER,     /* everything else that runs: FFT, random numbers, image decoding, trees, text */
} op_kind;

/* Memory rule: where the first output lives. */
typedef enum op_memory {
    MEM_NEW,      /* fresh memory */
    MEM_VIEW,     /* shares the bytes of input 0 */
    MEM_IN_PLACE, /* fresh, but a runtime may write over input 0 */
} op_memory;

/* Backward rule, first part: what of the forward pass must be kept for the gradient. */
typedef enum op_saved {
    SAVE_NOTHING = 0,
    SAVE_INPUTS = 1,   /* the activations among the inputs */
    SAVE_OUTPUT = 2,   /* the first output */
    SAVE_BYTE_MASK = 4 /* one byte per output element (dropout, pooling indices use 8) */
} op_saved;

enum { ANY = 127 }; /* as a maximum of inputs or outputs: any number */

struct op_info {
    const char *name;
    const char *domain; /* "" = ai.onnx, "ai.onnx.ml", "com.microsoft", "sooth" */
    int8_t min_inputs, max_inputs, min_outputs, max_outputs;
    op_kind kind;
    op_memory memory;
    uint8_t saved;   /* bits of op_saved */
    uint16_t params; /* bit i: input i is trainable if it is a constant (bit 15: inputs 15 and up) */
    shape_rule shape;
    fold_rule fold;          /* NULL: results are never folded */
    cost_rule cost;          /* NULL: no floating-point arithmetic */
    float flops_per_element; /* read by cost_pointwise and cost_reduce */
};

/* Is it the operator of that canonical name? Passes ask this of every node many times: the first letter answers most. A node
 * with an operator has its canonical name as its type. */
static inline bool node_is(const node *n, const char *canonical_name)
{
    return n->op && n->type.ptr[0] == canonical_name[0] && str_is(n->type, canonical_name);
}

/* The whole table, for listing and tests. */
const op_info *ops_all(size_t *count);

/* A hash of the table; built once per model, so that there is no global state. */
ops_index *ops_index_new(arena *a);
/* "" and "ai.onnx" are one domain; other spellings of contrib domains are mapped too. NULL if not known. */
const op_info *ops_find(const ops_index *index, str domain, str type);
/* Of a recovered or canonical operator by name only; for passes and builders. */
const op_info *ops_find_canonical(const ops_index *index, const char *name);

#endif
