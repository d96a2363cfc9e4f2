/* net.h: functions that the zoo's networks are written with: each call adds a layer and returns its output.
 *
 * Layers are named by printf formats. The layer "layer1.0.conv1" has the weights "layer1.0.conv1.weight" … and the
 * output "layer1.0.conv1.out". */
#ifndef SOOTH_MODELS_NET_H
#define SOOTH_MODELS_NET_H

#include "models/zoo.h"

/* Operator set of the nodes: the first with Attention and Swish. */
enum { ZOO_OPSET = 24 };

void net_begin(builder *b);
/* Begins a network whose nodes are exactly the operators that its implementation runs; passes recover nothing. */
void net_begin_literal(builder *b);
void net_end(builder *b);

value_id net_input(builder *b, const char *name, dtype t, int rank, const num *dims);
void net_output(builder *b, value_id v, dtype t, int rank, const num *dims);
num net_batch(builder *b); /* the symbol N */

/* Constants: weights and tables without data, and small ones with data. */
value_id net_weight(builder *b, str name, int rank, const int64_t *dims);
/* A table that training does not update. */
value_id net_buffer(builder *b, str name, dtype t, int rank, const int64_t *dims);
value_id net_ints(builder *b, const char *name, int rank, const int64_t *values, int count);
value_id net_real(builder *b, const char *name, float number); /* a scalar */

/* Adds a node with the given inputs and room for attributes; returns its only output. */
value_id net_node(builder *b, const char *op, str name, const value_id *inputs, int input_count, int attr_count,
                  node **n);
value_id net_unary(builder *b, const char *op, str name, value_id x);
value_id net_binary(builder *b, const char *op, str name, value_id x, value_id y);

typedef struct net_conv_shape {
    int64_t in, out, kernel, stride, pad, groups;
    bool has_bias;
} net_conv_shape;
value_id net_conv(builder *b, str name, value_id x, net_conv_shape s);
/* A convolution with its own kernel width; kernel and pad of the shape apply to the height. */
value_id net_conv_wide(builder *b, str name, value_id x, net_conv_shape s, int64_t kernel_width, int64_t pad_width);
value_id net_batch_norm(builder *b, str name, value_id x, int64_t channels);
value_id net_batch_norm_of(builder *b, str name, value_id x, int64_t channels, double epsilon); /* 0: the default */
value_id net_max_pool(builder *b, str name, value_id x, int64_t kernel, int64_t stride, int64_t pad);
/* Max pool with PyTorch's ceil_mode, which keeps a window that extends beyond the edge. */
value_id net_max_pool_ceil(builder *b, str name, value_id x, int64_t kernel, int64_t stride, int64_t pad);
value_id net_average_pool(builder *b, str name, value_id x, int64_t kernel, int64_t stride, int64_t pad);
/* Average pool that counts padding as zeros, the default of PyTorch. */
value_id net_average_pool_padded(builder *b, str name, value_id x, int64_t kernel, int64_t stride, int64_t pad);
value_id net_concat(builder *b, str name, const value_id *parts, int count, int64_t axis);
value_id net_slice(builder *b, str name, value_id x, int64_t axis, int64_t first, int64_t end);
/* Equal parts along an axis, named NAME.0, NAME.1 … */
void net_split(builder *b, str name, value_id x, int64_t axis, value_id *parts, int count);
value_id net_layer_norm(builder *b, str name, value_id x, int64_t width, double epsilon);
/* weight · x · rsqrt(mean(x²) + ε) as separate operators, as in implementations without a fused kernel; all norms
 * share its constants. Width 0: no weight. */
typedef struct net_rms {
    value_id two, epsilon, last_axis;
} net_rms;
net_rms net_rms_numbers(builder *b, float epsilon);
value_id net_rms_norm(builder *b, str scope, value_id x, int64_t width, const net_rms *numbers);
value_id net_product(builder *b, str name, value_id x, int64_t in, int64_t out); /* a linear layer without bias */
/* Over the last axis: MatMul and Add. */
value_id net_linear(builder *b, str name, value_id x, int64_t in, int64_t out);
/* On a matrix, with transposed weights: Gemm. */
value_id net_gemm(builder *b, str name, value_id x, int64_t in, int64_t out);
/* A learned token, repeated for each sample of `samples`: (N, 1, width). */
value_id net_token(builder *b, const char *name, value_id samples, int64_t width);
/* A product with the transpose of a weight (out, in), such as the table of the word embedding. */
value_id net_tied_product(builder *b, str name, value_id x, value_id table);
value_id net_attention(builder *b, str name, value_id q, value_id k, value_id v, value_id mask, int64_t heads);
value_id net_transpose(builder *b, str name, value_id x, const int64_t *perm, int rank);
value_id net_softmax(builder *b, str name, value_id x); /* over the last axis */
value_id net_cast(builder *b, str name, value_id x, dtype to);
value_id net_reshape(builder *b, str name, value_id x, const int64_t *dims, int rank);
value_id net_gather(builder *b, str name, value_id x, value_id indices, int64_t axis);

/* Joins two names. Fast, because it is called thousands of times; the length of a literal is known at compile time. */
static inline str net_join(builder *b, str scope, const char *part)
{
    size_t len = strlen(part);
    char *p = arena_room(b->arena, scope.len + len + 1, 1);
    str_copy(p, scope);
    memcpy(p + scope.len, part, len + 1);
    return (str){p, scope.len + len};
}
/* Joins scope, number and part: "layer" 1 ".conv" is "layer1.conv". */
str net_number(builder *b, str scope, int64_t number, const char *part);
/* Formats a name in the builder's arena. */
#define NAME(...) arena_printf(b->arena, __VA_ARGS__)

#endif
