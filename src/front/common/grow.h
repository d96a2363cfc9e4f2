/* grow.h: how the front ends write networks whose files do not tell the shapes of the weights (Darknet, Caffe, MXNet, ncnn): layers are
 * written one after the other, and each asks for the shape of what it reads. The file is gone through again for each binding
 * (graph/elaborate.h), so that weights fit the dimensions that the user gives.
 *
 * Tensors have the channels first, (N,C,H,W), as all of these formats have them. */
#ifndef SOOTH_FRONT_COMMON_GROW_H
#define SOOTH_FRONT_COMMON_GROW_H

#include "front/common/emit.h"
#include "graph/infer.h"

typedef struct grower {
    emitter e; /* e.name: of the layer that is being written */
    builder b;
    infer_progress done;
    const char *format; /* the domain of operators that are not known */
    str owner;          /* the layer whose weights are used, where it is not e.name: weights that layers share */
    const str *given;   /* names of the weights that are made next, where the file has them; empty ones are skipped */
    int given_count;
    struct {
        int32_t *items;
        int32_t count, capacity;
    } copies; /* by value: the number of the last copy of its name, "x#2" */
} grower;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Opens the main graph; then come the inputs. */
void grow_begin(builder *b, const char *format);
/* An input of the network; NUM_UNKNOWN and RANK_UNKNOWN for what the file does not tell. */
value_id grow_input(builder *b, str name, dtype type, int rank, const num *dims);
/* Closes the graph; `write` writes layers and outputs, now and for each binding. The program and all it points to are in the
 * builder's arena. */
void grow_layers(builder *b, void (*write)(grower *g, void *program), void *program);

/* Inputs whose shapes the file does not tell, all of one rank: images (1, C, H, W) or tokens (1, T). */
enum { GROW_MAX_GUESSES = 8 };
typedef struct grow_guesses {
    struct {
        value_id input;
        num *dims; /* what is taken */
    } items[GROW_MAX_GUESSES];
    int count, rank;
} grow_guesses;

/* Of one image alone; what is of another rank than the first is left to the user. */
value_id grow_guess_input(builder *b, grow_guesses *guesses, str name, int rank, const num *dims);
/* After grow_layers: other sizes that networks are made for, until no operator complains. */
void grow_guess_sizes(builder *b, grow_guesses *guesses);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* A value of that name, or of one like it where the name is taken. */
value_id grow_value(grower *g, str name);
void grow_output(grower *g, value_id v); /* NO_VALUE is none */
/* Tells what was taken, where the user did not give another shape. */
void grow_guess_notes(grower *g, const grow_guesses *guesses);
/* Something in the file contradicts a shape: counts like the complaint of an operator. The text must be a literal. */
void grow_complain(grower *g, const char *what);

/* Of what has been written so far. */
int grow_shape(grower *g, value_id v, num *dims); /* rank or RANK_UNKNOWN; room for MAX_RANK */
num grow_dim(grower *g, value_id v, int axis);    /* from the end if negative; NUM_UNKNOWN if it is not known */
bool grow_same_shape(grower *g, value_id a, value_id b);

/* A parameter, under the name that the file gives it, or "layer/what". */
value_id grow_weight(grower *g, const char *what, int rank, const int64_t *dims);
/* Numbers of that shape that nobody trains: statistics, states. */
value_id grow_buffer(grower *g, const char *what, int rank, const int64_t *dims);
/* An operator that Sooth does not know, under the name that the format gives it. */
void grow_foreign(grower *g, str type, const value_id *inputs, int count, const value_id *outputs, int output_count);
/* A foreign operator whose result has the shape of x: heads that decode boxes, losses. */
void grow_foreign_like(grower *g, str type, const value_id *inputs, int count, value_id x, value_id output);

/* ---- layers with weights ------------------------------------------------------------------------------------------- */
/* `output` may be NO_VALUE; they return it. Where the shape of x is not known they write a foreign operator. */

/* Convolution of `filters` kernels; w->group is that of the file. Without a window in the file, w->kernel is 1. */
value_id grow_conv(grower *g, const char *op, value_id x, const emit_window *w, int64_t filters, bool has_bias,
                   value_id output);
/* x (N, …) with all dimensions from `axis` on flattened → (…, units). */
value_id grow_dense(grower *g, value_id x, int axis, int64_t units, bool has_bias, value_id output);
/* Scale and bias are trained where the layer has them; else they are there and constant. */
value_id grow_batch_norm(grower *g, value_id x, bool has_scale, bool has_bias, double epsilon, value_id output);
/* x · scale + bias, along one axis. */
value_id grow_scale(grower *g, value_id x, int axis, int axes, bool has_bias, value_id output);
value_id grow_prelu(grower *g, value_id x, int64_t slopes, value_id output);

/* ---- layers without ------------------------------------------------------------------------------------------------ */

/* The window of a convolution or pool in two dimensions with the same padding on both sides. */
emit_window grow_window(int64_t kernel_h, int64_t kernel_w, int64_t stride_h, int64_t stride_w, int64_t pad_h,
                        int64_t pad_w);
value_id grow_clip(grower *g, value_id x, double low, double high, value_id output);
value_id grow_upsample(grower *g, const char *mode, value_id x, double scale_h, double scale_w, value_id output);
/* Channels begin … end of an image. */
value_id grow_slice(grower *g, value_id x, int64_t axis, int64_t begin, int64_t end, value_id output);
value_id grow_concat(grower *g, const value_id *inputs, int count, int64_t axis, value_id output);
/* Groups of channels are woven into one another. */
value_id grow_shuffle(grower *g, value_id x, int64_t group, value_id output);
value_id grow_softmax(grower *g, value_id x, int64_t axis, value_id output);

#endif
