/* emit.h: how the front ends of the TensorFlow family write canonical operators: one operator of theirs is often several of
 * ONNX's, and their images have the channels last.
 *
 * Layout: tensors keep the dimensions that the file gives them, (N,H,W,C). Convolutions and pools carry the attribute
 * channels_last = 1, which shape rules and lowering understand; weights are handed to them as (M, C/group, kernel…), whatever
 * their order in the file, so that costs are counted in one way. */
#ifndef SOOTH_FRONT_COMMON_EMIT_H
#define SOOTH_FRONT_COMMON_EMIT_H

#include "graph/build.h"

typedef struct emitter {
    builder *b;
    str name; /* of the operator of the file that is being written: of its nodes, and the beginning of the names between them */
    int32_t made; /* names made so far */
} emitter;

enum { EMIT_OPSET = 21, EMIT_ATTRS = 10 };

/* Begins the source: its format and the operator set of all nodes. */
void emit_begin(emitter *e, builder *b, const char *format);

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

value_id emit_temp(emitter *e); /* a value without a name in the file */
/* A node with one output; NO_VALUE as output makes one. Absent inputs at the end are left out. */
node *emit_op(emitter *e, const char *op, const value_id *inputs, int count, value_id output);
value_id emit_1(emitter *e, const char *op, value_id x, value_id output); /* returns the output */
value_id emit_2(emitter *e, const char *op, value_id x, value_id y, value_id output);
/* With several outputs. */
node *emit_many(emitter *e, const char *op, const value_id *inputs, int count, const value_id *outputs,
                int output_count);
/* An operator that Sooth does not know, under the name that the format gives it. */
node *emit_foreign(emitter *e, str domain, str type, const value_id *inputs, int count, const value_id *outputs,
                   int output_count);

/* Attributes; at most EMIT_ATTRS for a node. Names are literals; texts must outlive the model or be literals. */
void emit_int(node *n, const char *name, int64_t number);
void emit_real(node *n, const char *name, double number);
void emit_ints(emitter *e, node *n, const char *name, const int64_t *numbers, int count);
void emit_text(node *n, const char *name, str text);
void emit_graph(node *n, const char *name, graph *g);

/* ---- constants ------------------------------------------------------------------------------------------------- */

/* Written by the mapping, not by the file: no parameters. */
value_id emit_list(emitter *e, const int64_t *numbers, int count); /* int64, one dimension */
value_id emit_reals(emitter *e, const float *numbers, int count);  /* float32, one dimension */
value_id emit_number(emitter *e, int64_t number);                  /* int64, no dimension */
value_id emit_scalar(emitter *e, dtype type, double number);       /* no dimension */
/* Weights whose data nobody reads. */
value_id emit_weight(emitter *e, str name, dtype type, int rank, const int64_t *dims);
const tensor *emit_tensor(emitter *e, dtype type, int rank, const int64_t *dims);
/* A weight of a file that has weights alone: listed as a layer that hands it out. packed_bytes as in a tensor. */
void emit_listed(emitter *e, str name, dtype type, int rank, const int64_t *dims, int64_t packed_bytes);

/* The integers of a constant, up to `room`; -1 if they are not known. Looks through Identity and Cast of what was emitted. */
int emit_known_ints(emitter *e, value_id v, int64_t *to, int room);
bool emit_known_int(emitter *e, value_id v, int64_t *number); /* a single one */
const tensor *emit_constant_of(emitter *e, value_id v);       /* NULL if it is none */
/* As int64, which ONNX asks of shapes, axes and positions. */
value_id emit_index(emitter *e, value_id v);
/* The same in one dimension, where the formats allow a scalar too. */
value_id emit_index_list(emitter *e, value_id v);

/* Weights in another order: axis i of the result is axis perm[i]. A constant becomes another constant, without a node. */
value_id emit_permuted(emitter *e, value_id v, const int64_t *perm, int rank);
/* The last two axes turned, where `turn` says so and the rank is known. */
value_id emit_turned(emitter *e, value_id v, bool turn);
/* A constant with the same bytes under other dimensions; `order` keeps the names of several apart. */
value_id emit_reordered(emitter *e, value_id v, int rank, const int64_t *dims, const char *order);
/* The same elements under other dimensions, without a node if v is a constant. */
value_id emit_viewed(emitter *e, value_id v, const int64_t *dims, int rank);
value_id emit_reshaped(emitter *e, value_id v, const int64_t *dims, int rank, value_id output);

/* ---- layers ---------------------------------------------------------------------------------------------------- */

typedef struct emit_window {
    int axes;
    int64_t kernel[3], strides[3], dilations[3];
    enum { EMIT_SAME, EMIT_VALID, EMIT_PADS } padding;
    int64_t pads[6]; /* begins, then ends */
    int64_t group;
    bool channels_first;
} emit_window;

/* Weights as (M, C/group, kernel…). */
node *emit_conv(emitter *e, const char *op, value_id x, value_id weight, value_id bias, const emit_window *w,
                value_id output);
node *emit_pool(emitter *e, const char *op, value_id x, const emit_window *w, value_id output);
/* Weights of depthwise convolutions: (kernel…, C, multiplier) → (C·multiplier, 1, kernel…); *group is C. */
value_id emit_depthwise_weight(emitter *e, value_id v, int axes, int64_t *group);

void emit_clip(emitter *e, value_id x, double low, double high, value_id output);
/* PRelu; a slope of one dimension is one for each channel, which is the second axis. */
void emit_prelu(emitter *e, value_id x, value_id slope, value_id output);
/* Flags as bits, the first the lowest. */
int64_t emit_mask(const int64_t *flags, int count);
value_id emit_squeeze(emitter *e, value_id x, const int64_t *axes, int count, value_id output);
value_id emit_unsqueeze(emitter *e, value_id x, const int64_t *axes, int count, value_id output);
value_id emit_transpose(emitter *e, value_id x, const int64_t *perm, int count, value_id output);
value_id emit_cast(emitter *e, value_id x, dtype to, value_id output);
node *emit_reduce(emitter *e, const char *op, value_id x, value_id axes, bool keep, value_id output);

/* A convolution whose every place has weights of its own: kernel (places, taps, filters) → (N, places, filters). */
value_id emit_local_product(emitter *e, value_id x, value_id kernel, int64_t places, int64_t taps);

/* Stacks along a new axis; takes apart along one, which vanishes. */
void emit_pack(emitter *e, const value_id *inputs, int count, int64_t axis, value_id output);
void emit_unpack(emitter *e, value_id x, int64_t axis, const value_id *outputs, int count);

/* Python's x[begin:end:stride] with its masks, one bit for each place. */
typedef struct emit_slice {
    value_id begin, end, strides;
    int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
    int rank; /* of x, where it is known; else RANK_UNKNOWN: only an ellipsis needs it */
} emit_slice;
void emit_strided_slice(emitter *e, value_id x, const emit_slice *s, value_id output);
/* x[begin : begin + size], -1 for all that is left. */
void emit_begin_size(emitter *e, value_id x, value_id begin, value_id size, value_id output);

/* The elements of some axes from the last to the first; the axes must be constant. */
bool emit_reverse(emitter *e, value_id x, value_id axes, value_id output);

/* (before, after) for each axis → pads of all begins, then all ends. */
value_id emit_paddings(emitter *e, value_id pairs);
void emit_space_to_batch(emitter *e, value_id x, value_id blocks, value_id paddings, value_id output);
void emit_batch_to_space(emitter *e, value_id x, value_id blocks, value_id crops, value_id output);
/* The image of (N,H,W,C), or (N,C,H,W), at another height and width; `size` has the two. */
void emit_resize(emitter *e, const char *mode, value_id x, value_id size, bool channels_first, value_id output);

/* Gates of a recurrent layer as ONNX wants them: W (D, gates·H, I), R (D, gates·H, H), B (D, 2·gates·H). */
typedef struct emit_recurrent {
    const char *op; /* LSTM, GRU, RNN */
    int64_t hidden;
    int directions;
    value_id w, r, b; /* b may be NO_VALUE */
    bool time_major, go_backwards;
    bool last_only; /* the output of the last step alone */
    bool linear_before_reset;
} emit_recurrent;
/* x and output are (batch, time, …), or (time, batch, …); states as ONNX has them, or NO_VALUE. Two directions stand side by
 * side in the last dimension. `final` receives the last hidden and cell states, (D, batch, H); entries may be NO_VALUE. */
void emit_recurrent_layer(emitter *e, value_id x, const emit_recurrent *r, const value_id *initial, value_id output,
                          value_id *final_states);
/* Weights of `count` directions, all like the first, as one constant (count, …); NO_VALUE if it is no constant of that rank. */
value_id emit_joined(emitter *e, value_id first, int count, int rank);
/* A bias of gates·H as ONNX's two. */
value_id emit_gate_bias(emitter *e, value_id bias, int64_t gates_by_hidden, int directions);

#endif
