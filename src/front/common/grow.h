/* grow.h: for formats that do not store the shapes of weights (Darknet, Caffe, MXNet, ncnn). Layers are written in
 * sequence, and each asks for the shape of its input. Every binding processes the file anew (graph/elaborate.h), so
 * that weights fit the user's dimensions.
 *
 * Tensors are channels-first, (N,C,H,W), in all of these formats. */
#ifndef SOOTH_FRONT_COMMON_GROW_H
#define SOOTH_FRONT_COMMON_GROW_H

#include "front/common/emit.h"
#include "graph/infer.h"

typedef struct grower {
    emitter e; /* e.name is the layer that is being written */
    builder b;
    infer_progress done;
    const char *format; /* also the domain of unknown operators */
    str owner;          /* for shared weights: the layer that owns them, if it is not e.name */
    const str *given;   /* names for the next weights, if the file has them; empty names are skipped */
    int given_count;
    struct {
        int32_t *items;
        int32_t count, capacity;
    } copies; /* indexed by value: number of the last copy of its name, as in "x#2" */
} grower;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Opens the main graph; the inputs follow. */
void grow_begin(builder *b, const char *format);
/* Adds an input of the network. NUM_UNKNOWN and RANK_UNKNOWN stand for what the file does not state. */
value_id grow_input(builder *b, str name, dtype type, int rank, const num *dims);
/* Closes the graph. `write` writes layers and outputs, now and at each binding. Allocates the program and all its
 * data in the builder's arena. */
void grow_layers(builder *b, void (*write)(grower *g, void *program), void *program);

/* Inputs without shapes in the file, all of one rank: images (1, C, H, W) or tokens (1, T). */
enum { GROW_MAX_GUESSES = 8 };
typedef struct grow_guesses {
    struct {
        value_id input;
        num *dims; /* the assumed shape */
    } items[GROW_MAX_GUESSES];
    int count, rank;
} grow_guesses;

/* Guesses the shape of an input. The user must give the shapes of inputs whose rank differs from the first input's. */
value_id grow_guess_input(builder *b, grow_guesses *guesses, str name, int rank, const num *dims);
/* After grow_layers: tries other usual sizes until no operator complains. */
void grow_guess_sizes(builder *b, grow_guesses *guesses);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* A new value of that name, or of a similar name if it is taken. */
value_id grow_value(grower *g, str name);
void grow_output(grower *g, value_id v); /* NO_VALUE is ignored */
/* Adds notes about assumed shapes that the user did not replace. */
void grow_guess_notes(grower *g, const grow_guesses *guesses);
/* Reports a contradiction between file and shape, like an operator's complaint. The text must be a literal. */
void grow_complain(grower *g, const char *what);

/* Return the shapes of values written so far. */
int grow_shape(grower *g, value_id v, num *dims); /* returns the rank or RANK_UNKNOWN; `dims` has room for MAX_RANK */
num grow_dim(grower *g, value_id v, int axis);    /* negative axes count from the end; NUM_UNKNOWN if unknown */
bool grow_same_shape(grower *g, value_id a, value_id b);

/* Adds a parameter, named as in the file or "layer/what". */
value_id grow_weight(grower *g, const char *what, int rank, const int64_t *dims);
/* Adds a tensor that training does not update: statistics, states. */
value_id grow_buffer(grower *g, const char *what, int rank, const int64_t *dims);
/* Adds an unknown operator under its name in the format. */
void grow_foreign(grower *g, str type, const value_id *inputs, int count, const value_id *outputs, int output_count);
/* Adds a foreign operator whose result has the shape of x: box decoders, losses. */
void grow_foreign_like(grower *g, str type, const value_id *inputs, int count, value_id x, value_id output);

/* ---- layers with weights ----------------------------------------------------------------------------------------- */
/* `output` may be NO_VALUE; they return it. If the shape of x is unknown, they write a foreign operator. */

/* Convolution with `filters` kernels; w->group as in the file. Without a window in the file, w->kernel is 1. */
value_id grow_conv(grower *g, const char *op, value_id x, const emit_window *w, int64_t filters, bool has_bias,
                   value_id output);
/* Flattens the dimensions of x (N, …) from `axis` on → (…, units). */
value_id grow_dense(grower *g, value_id x, int axis, int64_t units, bool has_bias, value_id output);
/* Scale and bias are parameters if the layer has them, otherwise constants. */
value_id grow_batch_norm(grower *g, value_id x, bool has_scale, bool has_bias, double epsilon, value_id output);
/* x · scale + bias along an axis. */
value_id grow_scale(grower *g, value_id x, int axis, int axes, bool has_bias, value_id output);
value_id grow_prelu(grower *g, value_id x, int64_t slopes, value_id output);

/* ---- layers without ---------------------------------------------------------------------------------------------- */

/* A two-dimensional window with the same padding on both sides. */
emit_window grow_window(int64_t kernel_h, int64_t kernel_w, int64_t stride_h, int64_t stride_w, int64_t pad_h,
                        int64_t pad_w);
value_id grow_clip(grower *g, value_id x, double low, double high, value_id output);
value_id grow_upsample(grower *g, const char *mode, value_id x, double scale_h, double scale_w, value_id output);
/* x[begin:end] along an axis. */
value_id grow_slice(grower *g, value_id x, int64_t axis, int64_t begin, int64_t end, value_id output);
value_id grow_concat(grower *g, const value_id *inputs, int count, int64_t axis, value_id output);
/* Channel shuffle: interleaves groups of channels. */
value_id grow_shuffle(grower *g, value_id x, int64_t group, value_id output);
value_id grow_softmax(grower *g, value_id x, int64_t axis, value_id output);

#endif
