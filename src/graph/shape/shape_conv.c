/* shape_conv.c: shapes of convolutions and pooling: all operators with a sliding window. Resizing and sampling are
 * in shape_resize.c. */
#include "graph/shape/shape_nn.h"

/* Window parameters for each spatial axis. */
typedef struct window {
    int axes;
    num kernel[MAX_RANK];
    int64_t stride[MAX_RANK], dilation[MAX_RANK], pad_begin[MAX_RANK], pad_end[MAX_RANK];
    enum { PAD_GIVEN, PAD_SAME, PAD_VALID } padding;
    bool round_up; /* ceil_mode */
} window;

/* Reads an attribute with one number per axis. */
static inline void read_per_axis(infer *c, const char *name, int axes, int64_t otherwise, int64_t least,
                                 int64_t *numbers)
{
    int32_t count;
    const int64_t *given = attr_ints(c, name, &count);
    if (given && count != axes) {
        complain(c, "%s has %d numbers for %d axes", name, count, axes);
        given = NULL;
    }
    for (int i = 0; i < axes; i++) {
        numbers[i] = given ? given[i] : otherwise;
        if (numbers[i] < least || numbers[i] > INT32_MAX) {
            complain(c, "%s is %lld", name, (long long)numbers[i]);
            numbers[i] = otherwise;
        }
    }
}

static void read_pads(infer *c, window *w)
{
    int32_t count;
    const int64_t *pads = attr_ints(c, "pads", &count);
    if (pads && count != 2 * w->axes) {
        complain(c, "pads has %d numbers for %d axes", count, w->axes);
        pads = NULL;
    }
    for (int i = 0; i < w->axes; i++) {
        w->pad_begin[i] = pads ? pads[i] : 0;
        w->pad_end[i] = pads ? pads[i + w->axes] : 0;
    }
}

/* Reads the attributes of a window. The kernel size is an attribute; without it, `weight_kernel` (may be NULL) gives
 * the size. */
static void read_window(infer *c, window *w, int axes, const num *weight_kernel)
{
    int32_t count;
    const int64_t *kernel = attr_ints(c, "kernel_shape", &count);
    if (kernel && count != axes) {
        complain(c, "kernel_shape has %d numbers for %d axes", count, axes);
        kernel = NULL;
    }
    w->axes = axes;
    for (int i = 0; i < axes; i++)
        w->kernel[i] = kernel ? kernel[i] : weight_kernel ? weight_kernel[i] : NUM_UNKNOWN;
    read_per_axis(c, "strides", axes, 1, 1, w->stride);
    read_per_axis(c, "dilations", axes, 1, 1, w->dilation);
    str padding = attr_string(c, "auto_pad", "NOTSET");
    w->padding = str_starts(padding, "SAME") ? PAD_SAME : str_is(padding, "VALID") ? PAD_VALID : PAD_GIVEN;
    if (w->padding == PAD_GIVEN)
        read_pads(c, w);
    else {
        memset(w->pad_begin, 0, sizeof w->pad_begin);
        memset(w->pad_end, 0, sizeof w->pad_end);
    }
    w->round_up = attr_int(c, "ceil_mode", 0) != 0;
}

/* Extent of one window: (kernel - 1) * dilation + 1. */
static num reach(infer *c, const window *w, int i)
{
    return num_add(c->nums, num_mul(c->nums, num_sub(c->nums, w->kernel[i], 1), w->dilation[i]), 1);
}

static num windowed_size(infer *c, const window *w, int i, num size)
{
    if (w->padding == PAD_SAME)
        return num_ceildiv(c->nums, size, w->stride[i]);
    num padded = num_add(c->nums, num_add(c->nums, size, w->pad_begin[i]), w->pad_end[i]);
    num room = num_sub(c->nums, padded, reach(c, w, i));
    if (num_known(room) && room < 0) {
        /* Runtimes refuse a window larger than the input, except that an empty input gives an empty output. */
        if (size != 0)
            complain(c, "a window of %lld does not fit into %lld", (long long)reach(c, w, i), (long long)padded);
        return size == 0 ? 0 : NUM_UNKNOWN;
    }
    if (!w->round_up)
        return num_add(c->nums, num_floordiv(c->nums, room, w->stride[i]), 1);
    /* The last window must start inside the input or its left padding; otherwise it would see only padding. */
    num rounded = num_add(c->nums, num_ceildiv(c->nums, room, w->stride[i]), 1);
    num starts = num_ceildiv(c->nums, num_add(c->nums, size, w->pad_begin[i]), w->stride[i]);
    return w->stride[i] == 1 ? rounded : num_min(c->nums, rounded, starts);
}

/* ---- convolution ----------------------------------------------------------------------------------------------- */

/* Channels-last formats such as TensorFlow's set this attribute; their weights still are (M, C/group, kernel…). */
static bool has_channels_last(const infer *c)
{
    return attr_int(c, "channels_last", 0) != 0;
}

typedef struct conv_layout {
    int x, weight;              /* indices of the inputs */
    bool channels_last;         /* order of dimensions of x and the output */
    bool weights_channels_last; /* (M, kernel…, C/group) instead of (M, C/group, kernel…) */
    dtype dtype;
} conv_layout;

static void convolve(infer *c, conv_layout l)
{
    const value *x = in(c, l.x), *weight = in(c, l.weight);
    set_dtype(c, 0, l.dtype);
    if (!x || !weight)
        return;
    int rank = x->rank >= 0 ? x->rank : weight->rank;
    if (rank < 3 || (x->rank >= 0 && weight->rank >= 0 && x->rank != weight->rank)) {
        if (rank >= 0)
            complain(c, "input of rank %d, weights of rank %d", x->rank, weight->rank);
        return;
    }
    int first = l.channels_last ? 1 : 2, channel = l.channels_last ? rank - 1 : 1;
    bool has_weights = weight->rank >= 0, has_input = x->rank >= 0;
    window w;
    read_window(c, &w, rank - 2, has_weights ? weight->dims + (l.weights_channels_last ? 1 : 2) : NULL);
    num dims[MAX_RANK];
    dims[0] = has_input ? x->dims[0] : NUM_UNKNOWN;
    dims[channel] = has_weights ? weight->dims[0] : NUM_UNKNOWN;
    for (int i = 0; i < w.axes; i++)
        dims[first + i] = has_input ? windowed_size(c, &w, i, x->dims[first + i]) : NUM_UNKNOWN;
    if (has_input && has_weights) {
        num read = num_mul(c->nums, weight->dims[l.weights_channels_last ? rank - 1 : 1], attr_int(c, "group", 1));
        /* Without a group attribute (TensorFlow), the weights imply the number of groups. */
        bool is_grouped = l.channels_last && !node_attr(c->node, "group") && dim_known(read) && read > 0 &&
                          dim_known(x->dims[channel]) && x->dims[channel] % read == 0;
        if (dim_known(read) && dim_known(x->dims[channel]) && read != x->dims[channel] && !is_grouped)
            complain(c, "weights for %lld channels, input with %lld", (long long)read, (long long)x->dims[channel]);
    }
    set_shape(c, 0, rank, dims);
}

void shape_conv(infer *c)
{
    convolve(c, (conv_layout){
                    .x = 0, .weight = 1, .channels_last = has_channels_last(c), .dtype = dtype_in(c, 0, DT_UNKNOWN)});
}

void shape_conv_integer(infer *c)
{
    convolve(c, (conv_layout){.x = 0, .weight = 1, .dtype = DT_INT32});
}

void shape_qlinear_conv(infer *c)
{
    convolve(c, (conv_layout){.x = 0,
                              .weight = 3,
                              .channels_last = has_channels_last(c),
                              .dtype = dtype_in(c, 7, dtype_in(c, 0, DT_UNKNOWN))});
}

void shape_conv_nhwc(infer *c)
{
    convolve(c, (conv_layout){.x = 0,
                              .weight = 1,
                              .channels_last = true,
                              .weights_channels_last = true,
                              .dtype = dtype_in(c, 0, DT_UNKNOWN)});
}

/* The state holds the kernel - 1 columns that a window sees of the past. */
void shape_causal_conv(infer *c)
{
    const value *x = in(c, 0);
    set_like(c, 0, x);
    num state[3] = {dim_of(x, 0), dim_of(x, 1), num_sub(c->nums, dim_of(in(c, 1), 2), 1)};
    set_out(c, 1, dtype_in(c, 0, DT_UNKNOWN), 3, state);
}

/* ---- transposed convolution ------------------------------------------------------------------------------------ */

/* stride * (size - 1) + output_padding + extent - pads; auto_pad SAME gives size * stride. */
static num transposed_size(infer *c, const window *w, int i, num size, int64_t output_padding)
{
    num grown = num_mul(c->nums, num_sub(c->nums, size, 1), w->stride[i]);
    num full = num_add(c->nums, num_add(c->nums, grown, output_padding), reach(c, w, i));
    if (w->padding == PAD_SAME) {
        num extra = num_sub(c->nums, full, num_mul(c->nums, size, w->stride[i]));
        return num_known(extra) && extra < 0 ? full : num_mul(c->nums, size, w->stride[i]);
    }
    return num_sub(c->nums, full, num_add(c->nums, w->pad_begin[i], w->pad_end[i]));
}

void shape_conv_transpose(infer *c)
{
    const value *x = in(c, 0), *weight = in(c, 1);
    if (!x || !weight)
        return;
    set_dtype(c, 0, x->dtype);
    int rank = x->rank >= 0 ? x->rank : weight->rank;
    if (rank < 3 || (x->rank >= 0 && weight->rank >= 0 && x->rank != weight->rank)) {
        if (rank >= 0)
            complain(c, "input of rank %d, weights of rank %d", x->rank, weight->rank);
        return;
    }
    int first = has_channels_last(c) ? 1 : 2, channel = has_channels_last(c) ? rank - 1 : 1;
    window w;
    read_window(c, &w, rank - 2, weight->rank >= 0 ? weight->dims + 2 : NULL);
    int64_t output_padding[MAX_RANK];
    read_per_axis(c, "output_padding", w.axes, 0, 0, output_padding);
    int32_t given_count, pad_count;
    const int64_t *given = attr_ints(c, "output_shape", &given_count);
    if (given && given_count == rank)
        given += 2; /* some exporters include batch and channels in the attribute */
    else if (given && given_count != w.axes)
        given = NULL;
    const num *pads =
        in(c, 2) && node_is(c->node, "ConvTransposeWithDynamicPads") ? const_ints(c, 2, &pad_count) : NULL;
    bool pads_unknown = node_is(c->node, "ConvTransposeWithDynamicPads") && in(c, 2) && !pads;
    num dims[MAX_RANK];
    dims[0] = x->rank >= 0 ? x->dims[0] : NUM_UNKNOWN;
    dims[channel] = weight->rank >= 0 ? num_mul(c->nums, weight->dims[1], attr_int(c, "group", 1)) : NUM_UNKNOWN;
    for (int i = 0; i < w.axes; i++) {
        num size = x->rank >= 0 ? x->dims[first + i] : NUM_UNKNOWN;
        dims[first + i] = given          ? given[i]
                          : pads_unknown ? NUM_UNKNOWN
                                         : transposed_size(c, &w, i, size, output_padding[i]);
        if (!given && pads && pad_count == 2 * w.axes)
            dims[first + i] = num_sub(c->nums, dims[first + i], num_add(c->nums, pads[i], pads[i + w.axes]));
    }
    set_shape(c, 0, rank, dims);
}

/* ---- pooling --------------------------------------------------------------------------------------------------- */

static void pool(infer *c, bool channels_last, dtype t)
{
    const value *x = in(c, 0);
    if (!x)
        return;
    set_dtype(c, 0, t);
    set_dtype(c, 1, DT_INT64);
    if (x->rank < 3) {
        if (x->rank >= 0)
            complain(c, "input of rank %d", x->rank);
        return;
    }
    int first = channels_last ? 1 : 2;
    window w;
    read_window(c, &w, x->rank - 2, NULL);
    num dims[MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    for (int i = 0; i < w.axes; i++)
        dims[first + i] = windowed_size(c, &w, i, x->dims[first + i]);
    set_shape(c, 0, x->rank, dims);
    set_shape(c, 1, x->rank, dims);
}

void shape_pool(infer *c)
{
    pool(c, has_channels_last(c), dtype_in(c, 0, DT_UNKNOWN));
}

void shape_pool_nhwc(infer *c)
{
    pool(c, true, dtype_in(c, 0, DT_UNKNOWN));
}

void shape_qlinear_pool(infer *c)
{
    pool(c, has_channels_last(c), dtype_in(c, 0, DT_UNKNOWN));
}

void shape_global_pool(infer *c)
{
    const value *x = ranked_input(c, 2);
    if (!x)
        return;
    bool channels_last = has_channels_last(c);
    num dims[MAX_RANK];
    dims[0] = x->dims[0];
    for (int i = 1; i < x->rank; i++)
        dims[i] = i == (channels_last ? x->rank - 1 : 1) ? x->dims[i] : 1;
    set_shape(c, 0, x->rank, dims);
}

/* Inverse of MaxPool: each element becomes a window, unless input 2 holds the output shape. */
void shape_max_unpool(infer *c)
{
    const value *x = in(c, 0);
    if (!x)
        return;
    set_dtype(c, 0, x->dtype);
    if (in(c, 2)) {
        int32_t count;
        const num *shape = const_ints(c, 2, &count);
        if (shape && count <= MAX_RANK)
            set_shape(c, 0, count, shape);
        else
            set_rank_only(c, 0, x->dtype, x->rank);
        return;
    }
    if (x->rank < 3)
        return;
    window w;
    read_window(c, &w, x->rank - 2, NULL);
    num dims[MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    for (int i = 0; i < w.axes; i++)
        dims[2 + i] = transposed_size(c, &w, i, x->dims[2 + i], 0);
    set_shape(c, 0, x->rank, dims);
}
