/* emit.h: functions with which TensorFlow-like front ends write canonical operators. These formats have channels-last
 * images, and operators that correspond to several of ONNX's.
 *
 * Tensors keep the file's dimensions, (N,H,W,C). Convolutions and pools have the attribute channels_last = 1, which
 * shape rules and lowering understand. Weights are passed as (M, C/group, kernel…) whatever their order in the file,
 * so that costs are counted in one way. */
#ifndef SOOTH_FRONT_COMMON_EMIT_H
#define SOOTH_FRONT_COMMON_EMIT_H

#include "graph/build.h"

typedef struct emitter {
    builder *b;
    str name;     /* name of the file's operator that is being written; names its nodes and prefixes inner values */
    int32_t made; /* number of names made so far */
} emitter;

enum { EMIT_OPSET = 21, EMIT_ATTRS = 10 };

/* Begins the source with its format and the operator set of all nodes. */
void emit_begin(emitter *e, builder *b, const char *format);

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

value_id emit_temp(emitter *e); /* a value without a name in the file */
/* Adds a node with one output, which it creates if NO_VALUE is given. Trailing absent inputs are dropped. */
node *emit_op(emitter *e, const char *op, const value_id *inputs, int count, value_id output);
value_id emit_1(emitter *e, const char *op, value_id x, value_id output); /* returns the output */
value_id emit_2(emitter *e, const char *op, value_id x, value_id y, value_id output);
/* Adds a node with several outputs. */
node *emit_many(emitter *e, const char *op, const value_id *inputs, int count, const value_id *outputs,
                int output_count);
/* Adds an unknown operator under its name in the format. */
node *emit_foreign(emitter *e, str domain, str type, const value_id *inputs, int count, const value_id *outputs,
                   int output_count);

/* Set attributes, at most EMIT_ATTRS per node. Names are literals; texts are literals or outlive the model. */
void emit_int(node *n, const char *name, int64_t number);
void emit_real(node *n, const char *name, double number);
void emit_ints(emitter *e, node *n, const char *name, const int64_t *numbers, int count);
void emit_text(node *n, const char *name, str text);
void emit_graph(node *n, const char *name, graph *g);

/* ---- constants ------------------------------------------------------------------------------------------------- */

/* Constants made by the front end: not parameters. */
value_id emit_list(emitter *e, const int64_t *numbers, int count); /* int64, one dimension */
value_id emit_reals(emitter *e, const float *numbers, int count);  /* float32, one dimension */
value_id emit_number(emitter *e, int64_t number);                  /* int64, no dimension */
value_id emit_scalar(emitter *e, dtype type, double number);       /* no dimension */
/* A weight without data. */
value_id emit_weight(emitter *e, str name, dtype type, int rank, const int64_t *dims);
const tensor *emit_tensor(emitter *e, dtype type, int rank, const int64_t *dims);
/* A weight of a file without a graph, listed as a layer that outputs it. packed_bytes is as in a tensor. */
void emit_listed(emitter *e, str name, dtype type, int rank, const int64_t *dims, int64_t packed_bytes);

/* Reads the integers of a constant, at most `room`; -1 if they are unknown. Looks through emitted Identity and Cast
 * nodes. */
int emit_known_ints(emitter *e, value_id v, int64_t *to, int room);
bool emit_known_int(emitter *e, value_id v, int64_t *number); /* the same for a single integer */
const tensor *emit_constant_of(emitter *e, value_id v);       /* NULL if it is not a constant */
/* Casts to int64, which ONNX requires for shapes, axes and indices. */
value_id emit_index(emitter *e, value_id v);
/* The same as a one-dimensional list, for formats that also allow a scalar. */
value_id emit_index_list(emitter *e, value_id v);

/* Permutes weights: axis i of the result is axis perm[i]. A constant gives a constant, without a node. */
value_id emit_permuted(emitter *e, value_id v, const int64_t *perm, int rank);
/* Swaps the last two axes if `turn` is set and the rank is known. */
value_id emit_turned(emitter *e, value_id v, bool turn);
/* A constant with the same bytes in other dimensions. `order` makes its name unique. */
value_id emit_reordered(emitter *e, value_id v, int rank, const int64_t *dims, const char *order);
/* Reshapes. Constants need no node. */
value_id emit_viewed(emitter *e, value_id v, const int64_t *dims, int rank);
value_id emit_reshaped(emitter *e, value_id v, const int64_t *dims, int rank, value_id output);

/* ---- layers ---------------------------------------------------------------------------------------------------- */

typedef struct emit_window {
    int axes;
    int64_t kernel[3], strides[3], dilations[3];
    enum { EMIT_SAME, EMIT_VALID, EMIT_PADS } padding;
    int64_t pads[6]; /* starts, then ends */
    int64_t group;
    bool channels_first;
} emit_window;

/* Weights are (M, C/group, kernel…). */
node *emit_conv(emitter *e, const char *op, value_id x, value_id weight, value_id bias, const emit_window *w,
                value_id output);
node *emit_pool(emitter *e, const char *op, value_id x, const emit_window *w, value_id output);
/* Weights of depthwise convolutions: (kernel…, C, multiplier) → (C·multiplier, 1, kernel…); *group is C. */
value_id emit_depthwise_weight(emitter *e, value_id v, int axes, int64_t *group);

void emit_clip(emitter *e, value_id x, double low, double high, value_id output);
/* PRelu; a one-dimensional slope is per channel, the second axis. */
void emit_prelu(emitter *e, value_id x, value_id slope, value_id output);
/* Packs flags into bits, the first into the lowest. */
int64_t emit_mask(const int64_t *flags, int count);
value_id emit_squeeze(emitter *e, value_id x, const int64_t *axes, int count, value_id output);
value_id emit_unsqueeze(emitter *e, value_id x, const int64_t *axes, int count, value_id output);
value_id emit_transpose(emitter *e, value_id x, const int64_t *perm, int count, value_id output);
value_id emit_cast(emitter *e, value_id x, dtype to, value_id output);
node *emit_reduce(emitter *e, const char *op, value_id x, value_id axes, bool keep, value_id output);

/* Locally connected layer: a convolution with separate weights per position: kernel (positions, taps, filters) → (N,
 * positions, filters). */
value_id emit_local_product(emitter *e, value_id x, value_id kernel, int64_t places, int64_t taps);

/* Stacks along a new axis; unstacks along an axis, which is removed. */
void emit_pack(emitter *e, const value_id *inputs, int count, int64_t axis, value_id output);
void emit_unpack(emitter *e, value_id x, int64_t axis, const value_id *outputs, int count);

/* Python's x[begin:end:stride] with its masks, one bit per position. */
typedef struct emit_slice {
    value_id begin, end, strides;
    int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
    int rank; /* rank of x or RANK_UNKNOWN; only an ellipsis needs it */
} emit_slice;
void emit_strided_slice(emitter *e, value_id x, const emit_slice *s, value_id output);
/* x[begin : begin + size]; a size of -1 takes the rest. */
void emit_begin_size(emitter *e, value_id x, value_id begin, value_id size, value_id output);

/* Reverses the elements along constant axes. */
bool emit_reverse(emitter *e, value_id x, value_id axes, value_id output);

/* (before, after) for each axis → pads with all starts, then all ends. */
value_id emit_paddings(emitter *e, value_id pairs);
void emit_space_to_batch(emitter *e, value_id x, value_id blocks, value_id paddings, value_id output);
void emit_batch_to_space(emitter *e, value_id x, value_id blocks, value_id crops, value_id output);
/* Resizes the image of (N,H,W,C) or (N,C,H,W) to the height and width in `size`. */
void emit_resize(emitter *e, const char *mode, value_id x, value_id size, bool channels_first, value_id output);

/* Gates of a recurrent layer in ONNX's form: W (D, gates·H, I), R (D, gates·H, H), B (D, 2·gates·H). */
typedef struct emit_recurrent {
    const char *op; /* LSTM, GRU, RNN */
    int64_t hidden;
    int directions;
    value_id w, r, b; /* b may be NO_VALUE */
    bool time_major, go_backwards;
    bool last_only; /* outputs only the last step */
    bool linear_before_reset;
} emit_recurrent;
/* x and output are (batch, time, …) or (time, batch, …); states as in ONNX, or NO_VALUE. Two directions are
 * concatenated in the last dimension. `final` receives the last hidden and cell states, (D, batch, H); entries may
 * be NO_VALUE. */
void emit_recurrent_layer(emitter *e, value_id x, const emit_recurrent *r, const value_id *initial, value_id output,
                          value_id *final_states);
/* Joins the weights of `count` directions into one constant (count, …). NO_VALUE if a weight is not a constant, or
 * their shapes differ. */
value_id emit_joined(emitter *e, value_id first, int count, int rank);
/* Splits a bias of gates·H into the two biases of ONNX. */
value_id emit_gate_bias(emitter *e, value_id bias, int64_t gates_by_hidden, int directions);

#endif
