/* eager.h: the vocabulary of the rules of eager PyTorch. A rule calls these as Python code calls tensors: each call
 * appends what PyTorch dispatches for it. */
#ifndef SOOTH_LOWER_EAGER_EAGER_H
#define SOOTH_LOWER_EAGER_EAGER_H

#include "graph/ops.h"
#include "lower/layout.h"

typedef struct eager eager;
typedef void (*lower_rule)(eager *e);
typedef struct repeats repeats;

/* Where a view put the dimensions of its input, for the backward pass. */
typedef struct turn {
    int32_t kernel;
    int8_t places[MAX_PLACED_RANK];
} turn;

struct eager {
    sooth_model *model;
    network *net;
    program *out;
    const lower_options *options;
    arena *arena;
    struct {
        int64_t *items;
        int32_t count, capacity;
    } bytes;                     /* by tensor_id: see tensor_bytes() */
    dtype low;                   /* type of autocast's products; DT_UNKNOWN without autocast */
    dtype weight_dtype;          /* of floating-point weights and inputs */
    tensor_id *of_value;         /* by value_id */
    const int32_t *readers;      /* by value_id: number of readers; an output of the network counts as one more */
    const bool *is_static;       /* by value_id: computed from constants only */
    const node_id *first_reader; /* by value_id */
    bool has_steps;              /* some attention beyond four dimensions runs in steps */
    bool standardises;           /* some weights are */
    bool has_gains;              /* some weight is standardized with a learned gain: then all are */
    bool trains;
    bool autocasts; /* autocast is on for the current node */
    struct {
        turn *items;
        int32_t count, capacity;
    } turns;                           /* in training, by kernel */
    const op_info *ops;                /* the table of operators */
    const struct lowering **lowerings; /* by its rows: the rule of an operator that occurred; NULL until then */
    lower_rule *instead;               /* by node_id: the rule of a pattern; NULL: the operator's own */
    const node *node;                  /* the current node */
    /* TensorFlow's files are channels last (attribute channels_last): rules see such a node's first input and output as
     * channels-first views, as PyTorch sees the same memory. */
    bool is_turned;
    bool turns_all;       /* pointwise nodes on such views keep them: all inputs are transposed */
    tensor_id *of_turned; /* by value_id: the channels-first view; NO_TENSOR until requested */
    node_id layer;
    repeats *repeats; /* layers that later ones may repeat */
};

bool eager_has_channels_last(const node *n);
/* True for a pointwise node on channels-first views. */
bool eager_continues_turned(const eager *e);

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static inline const placed_tensor *tensor_at(const eager *e, tensor_id t) /* valid until the next tensor is made */
{
    return &e->out->tensors.items[t];
}

static inline extent tensor_extent(const eager *e, tensor_id t)
{
    return extent_of(tensor_at(e, t));
}

/* Bytes of its elements; broadcast dimensions count once. */
static inline int64_t tensor_bytes(const eager *e, tensor_id t)
{
    return e->bytes.items[t];
}

/* A tensor with its own memory; fails if its size does not fit. */
tensor_id eager_tensor_new(eager *e, dtype type, const extent *x);
/* The tensor of a value: made by its layer, or a weight. */
tensor_id eager_tensor_of(eager *e, value_id v);
/* Input i of the layer; NO_TENSOR if absent. */
tensor_id eager_input_of(eager *e, int i);
int eager_input_rank(eager *e, int i);
/* Sets output i of the layer. Checks that the shape is the network's. */
void eager_set_result(eager *e, int i, tensor_id t);
/* Dimensions of a value of the network, without strides; fails if they are unknown. */
extent eager_value_extent(eager *e, value_id v);
extent eager_output_extent(eager *e, int i);

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* Appends a kernel. NO_TENSOR and scalars among the inputs are omitted. The result is valid until the next kernel. */
kernel *eager_launch(eager *e, const char *op, const tensor_id *inputs, int input_count, tensor_id output, int flags);
/* Adds an output to the last kernel, with its own memory. */
tensor_id eager_add_output(eager *e, dtype type, const extent *x);
/* All outputs of the last kernel. */
void eager_set_outputs(eager *e, const tensor_id *outputs, int count);
/* With a new output of the given type, and the strides of x. */
tensor_id eager_launch_new(eager *e, const char *op, const tensor_id *inputs, int count, dtype type, const extent *x);
/* FLOPs of the last kernel, per element of its output. */
void eager_count_flops(eager *e, double per_element);

/* ---- types ------------------------------------------------------------------------------------------------------- */

static inline dtype tensor_dtype(const eager *e, tensor_id t)
{
    return tensor_at(e, t)->dtype;
}

bool eager_is_low(dtype t); /* float16, bfloat16 */
/* Result type of operands of these types; scalars do not count beside tensors. */
dtype eager_promote(const eager *e, const tensor_id *inputs, int count);
tensor_id eager_cast(eager *e, tensor_id t, dtype to); /* _to_copy; the tensor itself if it has that type */
/* Autocast's two lists: products run in `low`, sensitive operators in float32. No-ops without autocast and for
 * integers. PyTorch casts a shared weight once per pass; but exporters merge equal weights of layers that share none,
 * which is more common, so each layer casts its own. */
tensor_id eager_to_low(eager *e, tensor_id t);
tensor_id eager_to_float(eager *e, tensor_id t);

/* ---- views and copies -------------------------------------------------------------------------------------------- */

tensor_id eager_view_as(eager *e, const char *op, tensor_id t,
                        const extent *x); /* dims and strides of x on the memory of t */
tensor_id eager_permute(eager *e, tensor_id t, const int64_t *perm);
/* In training: the last view put dimension i at places[i]. */
void eager_note_turn(eager *e, const int8_t *places, int rank);
tensor_id eager_transpose_last(eager *e, tensor_id t);
tensor_id eager_expand(eager *e, tensor_id t, int rank, const int64_t *dims);
/* A view if the strides allow it, else a clone and a view. */
tensor_id eager_reshape(eager *e, tensor_id t, int rank, const int64_t *dims);
tensor_id eager_contiguous(eager *e, tensor_id t);
tensor_id eager_clone(eager *e, tensor_id t); /* into contiguous memory in any case */

/* ---- operators --------------------------------------------------------------------------------------------------- */

tensor_id eager_pointwise(eager *e, const char *op, const tensor_id *inputs, int count, dtype type);
tensor_id eager_unary(eager *e, const char *op, tensor_id t);
tensor_id eager_binary(eager *e, const char *op, tensor_id a, tensor_id b);
tensor_id eager_softmax(eager *e, const char *op, tensor_id t);                  /* in float32 under autocast */
tensor_id eager_matmul(eager *e, tensor_id a, tensor_id b, bool folds_always);   /* operands as they are: no casts */
tensor_id eager_batched_product(eager *e, tensor_id a, tensor_id b);             /* (B,m,k) by (B,k,n) */
tensor_id eager_linear(eager *e, tensor_id x, tensor_id weight, tensor_id bias); /* weight (out, in); casts */

/* A convolution and the kernels it launches inside: copies of x into the layout of the result, and the sum with the
 * bias. y has the dimensions of the result and gets its strides. No casts. */
tensor_id eager_convolution(eager *e, tensor_id x, tensor_id w, tensor_id bias, const kernel_window *window, extent *y);
/* `wide` has one element per window position: the result, or the input of a transposed convolution. */
int64_t eager_convolution_macs(const extent *wide, const extent *weight);
/* Layer, batch, group norm: inputs[0] by the others, each of which may be NO_TENSOR. */
tensor_id eager_normalised(eager *e, const char *op, const tensor_id *inputs, int count, const extent *y);

/* F.scaled_dot_product_attention on four dimensions: casts, pads and launches. bias may be NO_TENSOR. */
tensor_id eager_attention(eager *e, tensor_id q, tensor_id k, tensor_id v, tensor_id bias);
/* PyTorch's steps if no fused kernel takes the operands (aten/src/ATen/native/transformers/attention.cpp), up to the
 * product of queries and keys, with half of the scale on either side; `v` becomes the operand of the next product,
 * `type` that of the result. */
tensor_id eager_attention_scores(eager *e, tensor_id q, tensor_id k, tensor_id *v, dtype *type);

/* A recurrent layer of one direction. */
typedef struct recurrent {
    const char *op;                   /* LSTM, GRU, RNN */
    const char *cell, *cell_backward; /* kernel that combines the gates, and its gradient */
    int gates;
    double flops;  /* of the cell, per unit */
    bool has_cell; /* a second state */
    int64_t steps, batch, hidden;
} recurrent;
const recurrent *eager_recurrent_named(str op); /* sizes are 0; NULL: no such operator */
/* All steps: gates (steps · batch, n) are the inputs' part, weight (gates · hidden, hidden), states (batch, hidden). */
void eager_recurrent_steps(eager *e, const recurrent *r, tensor_id gates, tensor_id weight, tensor_id h, tensor_id c);
/* The backward pass through them, with the saved gates. */
void eager_recurrent_steps_backward(eager *e, const recurrent *r, tensor_id gates, tensor_id weight);

/* True if the node has all required inputs and its first output; a damaged file may omit them. */
bool eager_is_whole(const node *n);
/* The node that makes a value; NULL if it is of another operator (NULL: any), or incomplete. */
const node *eager_maker_of(const eager *e, value_id v, const char *op);
/* Its operator, if the value has one reader. */
const node *eager_own_maker_of(const eager *e, value_id v, const char *op);
str eager_node_scope(const node *n); /* its name up to the last slash: its module */
/* The first reader of the value; NULL if there is none, or it is incomplete. */
const node *eager_reader_of(const eager *e, value_id v);
/* Finds groups of nodes that PyTorch dispatches together, at a node that may end one; fills e->instead. */
typedef void find_pattern(eager *e, const node *n);
find_pattern eager_find_at_sum, eager_find_at_product, eager_find_at_quotient, eager_find_variance, eager_find_im2col,
    eager_find_col2im, eager_find_unfold, eager_find_standardised, eager_find_slice_write;
void eager_absorb(eager *e, const node *n);
void eager_replace_rule(eager *e, const node *n, lower_rule rule);
void eager_find_attention_steps(eager *e, const node *last); /* patterns_attention.c */
void eager_find_differential(eager *e, const node *last);
void eager_find_multihead(eager *e, const node *core);

/* Repeated layers (repeats.c). The second copies the kernels of an equal layer, if there is one; else, after the rule,
 * the third stores them. */
void repeats_begin(eager *e);
bool repeats_copied(eager *e);
void repeats_keep(eager *e);

/* True if training changes the weight. */
bool eager_is_learned(const eager *e, value_id v);
/* After the forward pass: loss, gradients, update (training.c). */
void lower_training(eager *e);

/* The weight (out, in) of a Linear node. */
tensor_id eager_layer_weight(eager *e, const node *n);

/* Integers of input i of the layer, or of the attribute; NULL if neither is known. */
const int64_t *eager_node_ints(eager *e, const char *attribute, int input, int32_t *count);
bool eager_value_is_number(eager *e, value_id v, double *x); /* a constant of one element */
int eager_node_axis(eager *e, int64_t axis, int rank);       /* fails if out of range */

/* The ATen operator of the node's row, or the node's own name. */
const char *eager_aten_name(const eager *e);

/* ---- rules: one per operator of the table, by file --------------------------------------------------------------- */

void lower_unary(eager *e); /* rules_pointwise.c */
void lower_binary(eager *e);
void lower_clip(eager *e);
void lower_pow(eager *e);
void lower_float_unary(eager *e);
void lower_cast(eager *e);
void lower_where(eager *e);
void lower_dropout(eager *e);
void lower_compare(eager *e);
void lower_reduce(eager *e);
void lower_arg_reduce(eager *e);
void lower_softmax(eager *e);
void lower_lp_norm(eager *e);

void lower_linear(eager *e); /* rules_matmul.c */
void lower_gemm(eager *e);
void lower_matmul(eager *e);
void lower_attention(eager *e);
void lower_onnx_attention(eager *e);
void lower_experts(eager *e);   /* rules_experts.c */
void lower_recurrent(eager *e); /* rules_recurrent.c */
void lower_einsum(eager *e);    /* rules_einsum.c */

void lower_conv(eager *e); /* rules_conv.c */
void lower_pool(eager *e);
void lower_global_pool(eager *e);
void lower_batch_norm(eager *e);
void lower_layer_norm(eager *e);
void lower_group_norm(eager *e);
void lower_weight_standardization(eager *e);
void lower_resize(eager *e);

void lower_reshape(eager *e); /* rules_move.c */
void lower_transpose(eager *e);
void lower_expand(eager *e);
void lower_slice(eager *e);
void lower_split(eager *e);
void lower_gather(eager *e);
void lower_scatter(eager *e);
void lower_one_hot(eager *e);
void lower_concat(eager *e);
void lower_pad(eager *e);
void lower_tile(eager *e);
void lower_roll(eager *e);
void lower_rearrange(eager *e);
void lower_identity(eager *e);

void lower_as_one(eager *e); /* rules_other.c */
void lower_variadic(eager *e);
void lower_response_norm(eager *e);
void lower_instance_norm(eager *e);
void lower_mean_variance_norm(eager *e);
void lower_fold(eager *e);
void lower_skip_norm(eager *e);
void lower_packed_product(eager *e);
void lower_contrib_attention(eager *e);
void lower_unknown(eager *e);

#endif
