/* eager.h: interface of the rules for eager PyTorch. Each function corresponds to a PyTorch call and appends the
 * kernels that PyTorch dispatches for it. */
#ifndef SOOTH_LOWER_EAGER_EAGER_H
#define SOOTH_LOWER_EAGER_EAGER_H

#include "graph/ops.h"
#include "lower/layout.h"

typedef struct eager eager;
typedef void (*lower_rule)(eager *e);
typedef struct repeats repeats;

/* Where a view moves each dimension of its input; the backward pass uses it. */
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
    } bytes;                     /* Indexed by tensor_id; see tensor_bytes(). */
    dtype low;                   /* Element type of products under autocast; DT_UNKNOWN without autocast. */
    dtype weight_dtype;          /* Type of floating-point weights and inputs. */
    tensor_id *of_value;         /* Indexed by value_id: its tensor. */
    const int32_t *readers;      /* Indexed by value_id: number of readers; a network output counts as one. */
    const bool *is_static;       /* Indexed by value_id: computed from constants only. */
    const node_id *first_reader; /* Indexed by value_id: its first reader. */
    bool has_steps;              /* True if some attention of rank above 4 runs without a fused kernel. */
    bool standardises;           /* True if some weights are standardized. */
    bool has_gains;              /* True if some standardized weight has a learned gain; then all have one. */
    bool trains;
    bool is_stated; /* The file is a program that names its calls: nothing is guessed about them. */
    /* Version of Hugging Face's transformers whose code trains the network: 450 for 4.50; 0: other code. */
    int transformers;
    value_id in_float;    /* Input of the last RMS norm that runs in float32; NO_VALUE if there is none. */
    tensor_id float_copy; /* Its copy in float32. */
    bool autocasts;       /* True if autocast is on for the current node. */
    struct {
        turn *items;
        int32_t count, capacity;
    } turns;            /* Indexed by kernel; only in training. */
    const op_info *ops; /* The operator table. */
    /* Indexed by row of the operator table: its rule; NULL until the operator occurs. */
    const struct lowering **lowerings;
    /* Indexed by node_id: the rule of a pattern; NULL for the operator's own rule. */
    lower_rule *instead;
    const node *node; /* The current node. */
    /* The node has the attribute channels_last (TensorFlow), so its rule sees the first input and the output as
     * channels-first views of the same memory. */
    bool is_turned;
    bool turns_all;    /* True for a pointwise node all of whose inputs and outputs are such channels-first views. */
    tensor_id *of_low; /* Indexed by value_id: the 16-bit copy of a parameter; only for stated programs. */
    bool *is_left_out; /* Indexed by value_id: a mask that only a trace computes (masks.c); only for stated programs. */
    value_id *shared;  /* Indexed by value_id: if it repeats the heads of keys or values, these; else NO_VALUE. */
    bool *is_unneeded; /* Indexed by node_id: computes nothing but such masks and repeats. */
    tensor_id *of_turned; /* Indexed by value_id: its channels-first view; NO_TENSOR until requested. */
    node_id layer;
    repeats *repeats; /* Layers whose kernels later layers may copy. */
};

bool eager_has_channels_last(const node *n);
/* True for a pointwise node that reads and writes channels-first views. */
bool eager_continues_turned(const eager *e);

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static inline const placed_tensor *tensor_at(const eager *e, tensor_id t) /* Valid until the next tensor is added. */
{
    return &e->out->tensors.items[t];
}

static inline extent tensor_extent(const eager *e, tensor_id t)
{
    return extent_of(tensor_at(e, t));
}

/* Bytes of the tensor's elements; broadcast dimensions count once. */
static inline int64_t tensor_bytes(const eager *e, tensor_id t)
{
    return e->bytes.items[t];
}

/* Adds a tensor with its own memory. Fails if its size overflows. */
tensor_id eager_tensor_new(eager *e, dtype type, const extent *x);
/* Returns the tensor of a value: the output of its layer, or a weight. */
tensor_id eager_tensor_of(eager *e, value_id v);
/* Returns input i of the layer; NO_TENSOR if it is absent. */
tensor_id eager_input_of(eager *e, int i);
int eager_input_rank(eager *e, int i);
/* Sets output i of the layer. Checks its shape against the network. */
void eager_set_result(eager *e, int i, tensor_id t);
/* Returns the dimensions of a network value, without strides. Fails if they are unknown. */
extent eager_value_extent(eager *e, value_id v);
extent eager_output_extent(eager *e, int i);

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* Appends a kernel. Leaves out NO_TENSOR and scalars among the inputs. The result is valid until the next kernel. */
kernel *eager_launch(eager *e, const char *op, const tensor_id *inputs, int input_count, tensor_id output, int flags);
/* Adds an output with its own memory to the last kernel. */
tensor_id eager_add_output(eager *e, dtype type, const extent *x);
/* Sets all outputs of the last kernel. */
void eager_set_outputs(eager *e, const tensor_id *outputs, int count);
/* Appends a kernel with a new output of the given type and the strides of `x`. */
tensor_id eager_launch_new(eager *e, const char *op, const tensor_id *inputs, int count, dtype type, const extent *x);
/* Sets the FLOPs of the last kernel, per output element. */
void eager_count_flops(eager *e, double per_element);

/* ---- types ------------------------------------------------------------------------------------------------------- */

static inline dtype tensor_dtype(const eager *e, tensor_id t)
{
    return tensor_at(e, t)->dtype;
}

bool eager_is_low(dtype t); /* True for float16 and bfloat16. */
/* Returns the promoted type of the operands. Scalars do not count beside tensors. */
dtype eager_promote(const eager *e, const tensor_id *inputs, int count);
/* PyTorch's _to_copy(); returns `t` if it already has that type. */
tensor_id eager_cast(eager *e, tensor_id t, dtype to);
/* Cast as autocast's two lists do: products run in `low`, sensitive operators in float32. Return `t` unchanged
 * without autocast and for integers. Each layer casts its own weight. PyTorch casts a shared weight once, but most
 * shared weights in files are equal weights that an exporter merged. In a stated program they really are shared. */
tensor_id eager_to_low(eager *e, tensor_id t);
tensor_id eager_to_float(eager *e, tensor_id t);

/* ---- views and copies -------------------------------------------------------------------------------------------- */

tensor_id eager_view_as(eager *e, const char *op, tensor_id t,
                        const extent *x); /* A view of `t` with the dimensions and strides of `x`. */
tensor_id eager_permute(eager *e, tensor_id t, const int64_t *perm);
/* Records, in training, that the last view moved dimension i to places[i]. */
void eager_note_turn(eager *e, const int8_t *places, int rank);
tensor_id eager_transpose_last(eager *e, tensor_id t);
tensor_id eager_expand(eager *e, tensor_id t, int rank, const int64_t *dims);
/* Returns a view if the strides allow it, else a view of a clone. */
tensor_id eager_reshape(eager *e, tensor_id t, int rank, const int64_t *dims);
tensor_id eager_contiguous(eager *e, tensor_id t);
tensor_id eager_clone(eager *e, tensor_id t); /* Always copies to contiguous memory. */

/* ---- operators --------------------------------------------------------------------------------------------------- */

tensor_id eager_pointwise(eager *e, const char *op, const tensor_id *inputs, int count, dtype type);
tensor_id eager_unary(eager *e, const char *op, tensor_id t);
tensor_id eager_binary(eager *e, const char *op, tensor_id a, tensor_id b);
tensor_id eager_softmax(eager *e, const char *op, tensor_id t);                /* In float32 under autocast. */
tensor_id eager_matmul(eager *e, tensor_id a, tensor_id b, bool folds_always); /* Does not cast its operands. */
tensor_id eager_batched_product(eager *e, tensor_id a, tensor_id b);           /* Product of (B,m,k) and (B,k,n). */
/* Casts its operands. The weight is (out, in). */
tensor_id eager_linear(eager *e, tensor_id x, tensor_id weight, tensor_id bias);

/* Appends a convolution and the kernels that it launches: copies of `x` to the result's layout, and the bias sum.
 * `y` has the result's dimensions and receives its strides. Does no casts. */
tensor_id eager_convolution(eager *e, tensor_id x, tensor_id w, tensor_id bias, const kernel_window *window, extent *y);
/* `wide` has one element per position of the window: the result, or the input of a transposed convolution. */
int64_t eager_convolution_macs(const extent *wide, const extent *weight);
/* Appends a layer, batch or group norm of inputs[0]. The other inputs may be NO_TENSOR. */
tensor_id eager_normalised(eager *e, const char *op, const tensor_id *inputs, int count, const extent *y);

/* F.scaled_dot_product_attention for rank 4: casts, pads and launches. `bias` may be NO_TENSOR. */
tensor_id eager_attention(eager *e, tensor_id q, tensor_id k, tensor_id v, tensor_id bias);
/* Unfused attention (aten/src/ATen/native/transformers/attention.cpp) up to the product of queries and keys, both
 * scaled by the root of the scale. Sets `v` to the second operand of the next product, and `type` to the type of the
 * final result. */
tensor_id eager_attention_scores(eager *e, tensor_id q, tensor_id k, tensor_id *v, dtype *type);

/* One direction of a recurrent layer. */
typedef struct recurrent {
    const char *op;                   /* LSTM, GRU or RNN. */
    const char *cell, *cell_backward; /* Name of the kernel that combines the gates, and of its gradient. */
    int gates;
    double flops;  /* FLOPs of the cell per hidden unit. */
    bool has_cell; /* True if there is a second state (LSTM). */
    int64_t steps, batch, hidden;
} recurrent;
/* Returns the description of LSTM, GRU or RNN without its sizes; its operator is NULL for other names. */
const recurrent *eager_recurrent_named(str op);
/* Appends all time steps. `gates` (steps · batch, n) is the contribution of the inputs; the weight is (gates ·
 * hidden, hidden), states are (batch, hidden). */
void eager_recurrent_steps(eager *e, const recurrent *r, tensor_id gates, tensor_id weight, tensor_id h, tensor_id c);
/* Appends the backward pass of all time steps, with the saved gates. */
void eager_recurrent_steps_backward(eager *e, const recurrent *r, tensor_id gates, tensor_id weight);

/* True if the node has its first output and all required inputs, which a damaged file may omit. */
bool eager_is_whole(const node *n);
/* Returns the node that computes a value if it has operator `op` (NULL: any); NULL otherwise, or if the node is
 * incomplete. */
const node *eager_maker_of(const eager *e, value_id v, const char *op);
/* Like eager_maker_of(), but only if the value has one reader. */
const node *eager_own_maker_of(const eager *e, value_id v, const char *op);
str eager_node_scope(const node *n); /* Module of the node: its name up to the last slash. */
/* Returns the first reader of the value; NULL if there is none or it is incomplete. */
const node *eager_reader_of(const eager *e, value_id v);
/* Each function finds one pattern that PyTorch dispatches as one operator and that ends at this node, and fills
 * e->instead. */
typedef void find_pattern(eager *e, const node *n);
find_pattern eager_find_at_sum, eager_find_at_product, eager_find_at_quotient, eager_find_variance, eager_find_im2col,
    eager_find_col2im, eager_find_unfold, eager_find_standardised, eager_find_slice_write;
/* Lowers the call of a program to which node `at` belongs, and moves `at` to its last node. False if the call's nodes
 * have rules of their own (calls.c). */
bool eager_lower_call(eager *e, int32_t *at);
/* Fills is_left_out and is_unneeded (masks.c). */
void eager_leave_out_masks(eager *e);
void eager_absorb(eager *e, const node *n);
void eager_replace_rule(eager *e, const node *n, lower_rule rule);
void eager_find_attention_steps(eager *e, const node *last); /* patterns_attention.c */
void eager_find_differential(eager *e, const node *last);
void eager_find_multihead(eager *e, const node *core);
void eager_find_latent(eager *e, const node *core); /* patterns_latent.c */

/* Training code of Hugging Face's transformers (transformers.c). */
int eager_transformers_version(const sooth_model *model); /* 0 if the file is no configuration. */
/* Lets an RMS norm read float32. Returns the operand's own tensor, or NO_TENSOR if the node is not part of a norm. */
tensor_id eager_enter_norm(eager *e);
void eager_leave_norm(eager *e, tensor_id own);
tensor_id eager_loss_logits(eager *e, tensor_id y); /* Logits as the loss of a language model reads them. */

/* Repeated layers (repeats.c). repeats_copied() copies the kernels of an equal layer if there is one; otherwise
 * repeats_keep() stores the new ones. */
void repeats_begin(eager *e);
bool repeats_copied(eager *e);
void repeats_keep(eager *e);

/* True if training updates the weight. */
bool eager_is_learned(const eager *e, value_id v);
/* Appends loss, gradients and update after the forward pass (training.c). */
void lower_training(eager *e);

/* Returns the weight (out, in) of a Linear node. */
tensor_id eager_layer_weight(eager *e, const node *n);

/* Returns the integers of input i or of the attribute; NULL if neither is known. */
const int64_t *eager_node_ints(eager *e, const char *attribute, int input, int32_t *count);
bool eager_value_is_number(eager *e, value_id v, double *x); /* True for a constant with one element. */
int eager_node_axis(eager *e, int64_t axis, int rank);       /* Fails if the axis is out of range. */

/* Returns the ATen operator of the node's row, or the node's operator name. */
const char *eager_aten_name(const eager *e);

/* ---- rules: one per operator of the table, by file --------------------------------------------------------------- */

void lower_unary(eager *e); /* rules_pointwise.c */
void lower_binary(eager *e);
void lower_clip(eager *e);
void lower_pow(eager *e);
void lower_float_unary(eager *e);
void lower_cast(eager *e);
void lower_prelu(eager *e);
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
