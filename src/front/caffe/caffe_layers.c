/* caffe_layers.c: maps Caffe layers to canonical operators, one row per type, including types of forks in use. */
#include "front/caffe/caffe.h"

#include <math.h>

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static const proto_node *params(const caffe_call *c, const char *name)
{
    return proto_first(c->layer->node, name);
}

static int64_t checked(const caffe_call *c, int64_t number, int64_t least)
{
    if (number < least || number > CAFFE_MAX_SIZE)
        fail_with(&c->g->b.model->fail, SOOTH_ERROR_INPUT, "a size of layer '%.*s' is %lld; correct the network",
                  STR_ARG(c->layer->name), (long long)number);
    return number;
}

/* Reads kernel_size: one number for all axes, one per axis, or kernel_h and kernel_w. */
static int per_axis(const caffe_call *c, const proto_node *p, const char *name, const char *height, const char *width,
                    int64_t otherwise, int64_t *to)
{
    int count = proto_ints(p, name, to, 3);
    for (int i = count; i < 3; i++)
        to[i] = count == 1 ? to[0] : otherwise;
    if (proto_first(p, height) || proto_first(p, width)) {
        to[0] = proto_int(p, height, otherwise);
        to[1] = proto_int(p, width, otherwise);
    }
    for (int i = 0; i < 3; i++)
        checked(c, to[i], 0);
    return count;
}

static emit_window window_of(const caffe_call *c, const proto_node *p)
{
    emit_window w = {.axes = 2, .padding = EMIT_PADS, .channels_first = true};
    w.axes = per_axis(c, p, "kernel_size", "kernel_h", "kernel_w", 1, w.kernel) == 3 ? 3 : 2;
    per_axis(c, p, "stride", "stride_h", "stride_w", 1, w.strides);
    per_axis(c, p, "pad", "pad_h", "pad_w", 0, w.pads);
    memcpy(w.pads + w.axes, w.pads, (size_t)w.axes * sizeof *w.pads);
    if (per_axis(c, p, "dilation", "dilation_h", "dilation_w", 1, w.dilations) == 0 && !proto_first(p, "dilation_h"))
        w.dilations[0] = w.dilations[1] = w.dilations[2] = 1;
    for (int i = 0; i < 3; i++)
        if (w.strides[i] < 1 || w.dilations[i] < 1)
            caffe_fail(&c->g->b.model->fail, c->layer->name, "a stride or dilation is not positive");
    w.group = checked(c, proto_int(p, "group", 1), 1);
    return w;
}

static int axis_in(const caffe_call *c, const proto_node *p, const char *name, int64_t otherwise)
{
    int64_t axis = proto_int(p, name, otherwise);
    if (axis < -MAX_RANK || axis > MAX_RANK)
        caffe_fail(&c->g->b.model->fail, c->layer->name, "an axis is out of range");
    return (int)axis;
}

static void foreign(caffe_call *c)
{
    grow_foreign(c->g, c->layer->type, c->in, c->in_count, c->outs, c->out_count);
}

static void declare(caffe_call *c, value_id v, int rank, const num *dims)
{
    build_type(&c->g->b, v, DT_FLOAT32, rank, dims);
}

/* ---- convolutions and products ----------------------------------------------------------------------------------- */

static void map_conv(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "convolution_param");
    emit_window w = window_of(c, p);
    grow_conv(c->g, canonical, c->x, &w, checked(c, proto_int(p, "num_output", 1), 1),
              proto_int(p, "bias_term", 1) != 0, c->out);
    for (int i = 1; i < c->out_count && i < c->in_count; i++) { /* the same kernel, applied to several blobs */
        grow_conv(c->g, canonical, c->in[i], &w, proto_int(p, "num_output", 1), proto_int(p, "bias_term", 1) != 0,
                  c->outs[i]);
    }
}

/* Uses as many groups as channels, whatever the file says. */
static void map_depthwise(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "convolution_param");
    emit_window w = window_of(c, p);
    num channels = grow_dim(c->g, c->x, 1);
    int64_t filters = checked(c, proto_int(p, "num_output", dim_known(channels) ? channels : 1), 1);
    w.group = dim_known(channels) && channels > 0 && filters % channels == 0 ? channels : w.group;
    grow_conv(c->g, canonical, c->x, &w, filters, proto_int(p, "bias_term", 1) != 0, c->out);
}

static void map_inner_product(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "inner_product_param");
    grow_dense(c->g, c->x, axis_in(c, p, "axis", 1), checked(c, proto_int(p, "num_output", 1), 1),
               proto_int(p, "bias_term", 1) != 0, c->out);
}

static void map_embed(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "embed_param");
    int64_t dims[2] = {checked(c, proto_int(p, "input_dim", 1), 1), checked(c, proto_int(p, "num_output", 1), 1)};
    bool has_bias = proto_int(p, "bias_term", 1) != 0;
    value_id index = emit_cast(c->e, c->x, DT_INT64, NO_VALUE);
    value_id rows = emit_2(c->e, canonical, grow_weight(c->g, "weight", 2, dims), index, has_bias ? NO_VALUE : c->out);
    if (has_bias)
        emit_2(c->e, "Add", rows, grow_weight(c->g, "bias", 1, &dims[1]), c->out);
}

/* (T, N, …) → (T, N, H); the second blob marks the starts of sequences. */
static void map_recurrent(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "recurrent_param");
    int64_t hidden = checked(c, proto_int(p, "num_output", 1), 1), width = 1;
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), gates = canonical[0] == 'L' ? 4 : 1;
    bool is_known = rank >= 3 && c->out_count == 1;
    for (int i = 2; i < rank; i++)
        is_known = is_known && dim_known(dims[i]) && !__builtin_mul_overflow(width, dims[i], &width);
    if (!is_known) {
        foreign(c);
        return;
    }
    value_id x = rank == 3 ? c->x : emit_reshaped(c->e, c->x, (const int64_t[]){0, 0, -1}, 3, NO_VALUE);
    emit_recurrent r = {.op = canonical, .hidden = hidden, .directions = 1, .time_major = true};
    r.w = grow_weight(c->g, "weight_x", 3, (const int64_t[]){1, gates * hidden, width});
    r.r = grow_weight(c->g, "weight_h", 3, (const int64_t[]){1, gates * hidden, hidden});
    value_id bias = grow_weight(c->g, "bias", 2, (const int64_t[]){1, gates * hidden});
    r.b = emit_gate_bias(c->e, bias, gates * hidden, 1);
    emit_recurrent_layer(c->e, x, &r, NULL, c->out, NULL);
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

static void map_pool(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "pooling_param");
    str kind = proto_string(p, "pool");
    bool is_average = str_is(kind, "AVE") || str_is(kind, "1");
    if (proto_int(p, "global_pooling", 0)) {
        emit_1(c->e, is_average ? "GlobalAveragePool" : "GlobalMaxPool", c->x, c->out);
        return;
    }
    emit_window w = window_of(c, p);
    /* Windows may extend beyond the end unless a fork's setting forbids it. */
    bool rounds_down = str_is(proto_string(p, "round_mode"), "FLOOR") || proto_int(p, "ceil_mode", 1) == 0;
    value_id mask = c->out_count > 1 && !is_average ? c->outs[1] : NO_VALUE;
    node *n = emit_pool(c->e, is_average ? "AveragePool" : "MaxPool", c->x, &w, c->out);
    if (!rounds_down)
        emit_int(n, "ceil_mode", 1);
    if (mask != NO_VALUE)
        emit_1(c->e, "Identity", c->out, mask);
}

static void map_roi_pool(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "roi_pooling_param");
    if (c->in_count < 2) {
        foreign(c);
        return;
    }
    node *n = emit_op(c->e, canonical, c->in, 2, c->out);
    emit_ints(c->e, n, "pooled_shape",
              (const int64_t[]){checked(c, proto_int(p, "pooled_h", 1), 1), checked(c, proto_int(p, "pooled_w", 1), 1)},
              2);
    emit_real(n, "spatial_scale", proto_real(p, "spatial_scale", 1));
}

/* Position-sensitive: output_dim channels of group_size x group_size bins per region. */
static void map_psroi_pool(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "psroi_pooling_param");
    int64_t size = checked(c, proto_int(p, "group_size", 7), 1);
    num regions = c->in_count > 1 ? grow_dim(c->g, c->in[1], 0) : NUM_UNKNOWN;
    declare(c, c->out, 4, (const num[]){regions, checked(c, proto_int(p, "output_dim", 1), 1), size, size});
    foreign(c);
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

/* The following Scale layer has the weights and is merged into this one. */
static void map_batch_norm(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "batch_norm_param");
    const proto_node *scale = c->layer->scale ? proto_first(c->layer->scale->node, "scale_param") : NULL;
    grow_batch_norm(c->g, c->x, c->layer->scale != NULL, proto_int(scale, "bias_term", 0) != 0,
                    proto_real(p, "eps", 1e-5), c->out);
}

/* The second blob is broadcast from the axis on, with trailing dimensions of 1. */
static value_id broadcast_from(caffe_call *c, value_id y, int axis)
{
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), own = grow_shape(c->g, y, dims);
    if (axis < 0)
        axis += rank;
    if (rank < 0 || own < 0 || axis < 0 || axis + own >= rank)
        return y;
    int64_t added[MAX_RANK];
    int count = 0;
    for (; axis + own + count < rank; count++)
        added[count] = own + count;
    return emit_unsqueeze(c->e, y, added, count, NO_VALUE);
}

static void map_scale(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "scale_param");
    int axis = axis_in(c, p, "axis", 1), axes = axis_in(c, p, "num_axes", 1);
    if (c->in_count > 1)
        emit_2(c->e, "Mul", c->x, broadcast_from(c, c->in[1], axis), c->out);
    else
        grow_scale(c->g, c->x, axis, axes, proto_int(p, "bias_term", 0) != 0, c->out);
}

static void map_bias(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "bias_param");
    num channels = grow_dim(c->g, c->x, 1);
    if (c->in_count > 1)
        emit_2(c->e, "Add", c->x, broadcast_from(c, c->in[1], axis_in(c, p, "axis", 1)), c->out);
    else if (dim_known(channels))
        emit_2(c->e, "Add", c->x, broadcast_from(c, grow_weight(c->g, "bias", 1, &channels), 1), c->out);
    else
        foreign(c);
}

static void map_lrn(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "lrn_param");
    node *n = emit_op(c->e, canonical, &c->x, 1, c->out);
    emit_int(n, "size", checked(c, proto_int(p, "local_size", 5), 1));
}

/* Divides each pixel by the norm of its channels, times a learned scale. */
static void map_normalize(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "norm_param");
    num channels = grow_dim(c->g, c->x, 1);
    if (proto_int(p, "channel_shared", 1))
        channels = 1;
    if (!dim_known(channels)) {
        foreign(c);
        return;
    }
    node *n = emit_op(c->e, canonical, &c->x, 1, NO_VALUE);
    emit_int(n, "axis", 1);
    value_id scale = grow_weight(c->g, "scale", 3, (const int64_t[]){channels, 1, 1});
    emit_2(c->e, "Mul", n->outputs[0], scale, c->out);
}

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

static void map_same(caffe_call *c, const char *canonical)
{
    emit_1(c->e, canonical, c->x, c->out);
}

static void map_relu(caffe_call *c, const char *canonical)
{
    double slope = proto_real(params(c, "relu_param"), "negative_slope", 0);
    if (slope != 0)
        emit_real(emit_op(c->e, "LeakyRelu", &c->x, 1, c->out), "alpha", slope);
    else
        emit_1(c->e, canonical, c->x, c->out);
}

static void map_relu6(caffe_call *c, const char *unused)
{
    (void)unused;
    grow_clip(c->g, c->x, 0, 6, c->out);
}

static void map_prelu(caffe_call *c, const char *unused)
{
    (void)unused;
    num channels = grow_dim(c->g, c->x, 1);
    if (proto_int(params(c, "prelu_param"), "channel_shared", 0))
        channels = 1;
    if (dim_known(channels))
        grow_prelu(c->g, c->x, channels, c->out);
    else
        foreign(c);
}

static void map_swish(caffe_call *c, const char *unused)
{
    (void)unused;
    emit_2(c->e, "Mul", c->x, emit_1(c->e, "Sigmoid", c->x, NO_VALUE), c->out);
}

/* (shift + scale·x)^power */
static void map_power(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "power_param");
    double power = proto_real(p, "power", 1), scale = proto_real(p, "scale", 1), shift = proto_real(p, "shift", 0);
    value_id x = c->x;
    bool has_power = power != 1, has_shift = shift != 0;
    if (scale != 1)
        x = emit_2(c->e, "Mul", x, emit_scalar(c->e, DT_FLOAT32, scale), has_power || has_shift ? NO_VALUE : c->out);
    if (has_shift)
        x = emit_2(c->e, "Add", x, emit_scalar(c->e, DT_FLOAT32, shift), has_power ? NO_VALUE : c->out);
    if (has_power)
        emit_2(c->e, "Pow", x, emit_scalar(c->e, DT_FLOAT32, power), c->out);
    else if (x == c->x)
        emit_1(c->e, "Identity", x, c->out);
}

static void map_eltwise(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "eltwise_param"), *coefficient = proto_first(p, "coeff");
    str operation = proto_string(p, "operation");
    bool is_product = str_is(operation, "PROD") || str_is(operation, "0");
    bool is_maximum = str_is(operation, "MAX") || str_is(operation, "2");
    const char *op = is_product ? "Mul" : is_maximum ? "Max" : "Add";
    value_id sum = NO_VALUE;
    for (int i = 0; i < c->in_count; i++) {
        value_id x = c->in[i];
        double factor = coefficient ? proto_text_real(coefficient->text) : 1;
        bool is_subtracted = i > 0 && factor == -1;
        coefficient = coefficient ? proto_next(coefficient) : NULL;
        if (factor != 1 && !is_subtracted)
            x = emit_2(c->e, "Mul", x, emit_scalar(c->e, DT_FLOAT32, factor), NO_VALUE);
        sum = sum == NO_VALUE
                  ? x
                  : emit_2(c->e, is_subtracted ? "Sub" : op, sum, x, i == c->in_count - 1 ? c->out : NO_VALUE);
    }
    if (c->in_count == 1)
        emit_1(c->e, "Identity", sum, c->out);
}

/* a·x + y, with one a per channel */
static void map_axpy(caffe_call *c, const char *unused)
{
    (void)unused;
    if (c->in_count == 3)
        emit_2(c->e, "Add", emit_2(c->e, "Mul", c->in[0], c->in[1], NO_VALUE), c->in[2], c->out);
    else
        foreign(c);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static void map_concat(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "concat_param");
    grow_concat(c->g, c->in, c->in_count,
                proto_first(p, "axis") ? axis_in(c, p, "axis", 1) : axis_in(c, p, "concat_dim", 1), c->out);
}

static void map_slice(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "slice_param"), *point = proto_first(p, "slice_point");
    int axis = proto_first(p, "axis") ? axis_in(c, p, "axis", 1) : axis_in(c, p, "slice_dim", 1);
    num size = grow_dim(c->g, c->x, axis);
    if (!point && dim_known(size) && c->out_count > 1) {
        node *n = emit_many(c->e, "Split", &c->x, 1, c->outs, c->out_count);
        emit_int(n, "axis", axis);
        emit_int(n, "num_outputs", c->out_count);
        return;
    }
    int64_t begin = 0;
    for (int i = 0; i < c->out_count; i++) {
        int64_t end = point ? proto_text_int(point->text) : INT64_MAX;
        grow_slice(c->g, c->x, axis, begin, end, c->outs[i]);
        point = point ? proto_next(point) : NULL;
        begin = end;
    }
}

static void map_split(caffe_call *c, const char *canonical)
{
    for (int i = 0; i < c->out_count; i++)
        emit_1(c->e, canonical, c->x, c->outs[i]);
}

static void map_flatten(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "flatten_param");
    int axis = axis_in(c, p, "axis", 1), end = axis_in(c, p, "end_axis", -1);
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims);
    if (axis == 1 && end == -1) {
        emit_int(emit_op(c->e, canonical, &c->x, 1, c->out), "axis", 1);
        return;
    }
    axis += axis < 0 ? rank : 0;
    end += end < 0 ? rank : 0;
    if (rank < 0 || axis < 0 || end < axis || end >= rank) {
        foreign(c);
        return;
    }
    int64_t shape[MAX_RANK] = {0};
    shape[axis] = -1;
    for (int i = end + 1; i < rank; i++)
        shape[axis + i - end] = dim_known(dims[i]) ? dims[i] : 0;
    emit_reshaped(c->e, c->x, shape, rank - (end - axis), c->out);
}

static void map_reshape(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "reshape_param");
    int64_t shape[MAX_RANK];
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), axis = axis_in(c, p, "axis", 0), axes = axis_in(c, p, "num_axes", -1);
    int64_t inner[MAX_RANK];
    int count = proto_ints(proto_first(p, "shape"), "dim", inner, MAX_RANK), made = 0;
    axis += axis < 0 ? rank + 1 : 0;
    int end = axes < 0 ? rank : axis + axes;
    if (rank < 0 || axis < 0 || axis > rank || end > rank || axis + count + (rank - end) > MAX_RANK) {
        foreign(c);
        return;
    }
    for (int i = 0; i < axis; i++)
        shape[made++] = 0;
    for (int i = 0; i < count; i++)
        shape[made++] =
            inner[i] == 0 && axis + i < rank && dim_known(dims[axis + i]) && axis ? dims[axis + i] : inner[i];
    for (int i = end; i < rank; i++)
        shape[made++] = dim_known(dims[i]) ? dims[i] : -1;
    emit_reshaped(c->e, c->x, shape, made, c->out);
}

static void map_permute(caffe_call *c, const char *unused)
{
    (void)unused;
    int64_t order[MAX_RANK];
    num dims[MAX_RANK];
    int count = proto_ints(params(c, "permute_param"), "order", order, MAX_RANK), rank = grow_shape(c->g, c->x, dims);
    for (int64_t axis = 0; axis < rank; axis++) { /* axes that are not named come last */
        bool is_named = false;
        for (int i = 0; i < count; i++)
            is_named |= order[i] == axis;
        if (!is_named && count < rank)
            order[count++] = axis;
    }
    emit_transpose(c->e, c->x, order, count, c->out);
}

/* Crops to the second blob's size from the axis on. */
static void map_crop(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "crop_param");
    int64_t offsets[MAX_RANK] = {0}, ends[MAX_RANK], axes[MAX_RANK];
    num dims[MAX_RANK];
    int rank = c->in_count > 1 ? grow_shape(c->g, c->in[1], dims) : RANK_UNKNOWN, axis = axis_in(c, p, "axis", 2);
    int given = proto_ints(p, "offset", offsets, MAX_RANK), count = 0;
    axis += axis < 0 ? rank : 0;
    for (int i = axis; i < rank && axis >= 0; i++, count++) {
        int64_t offset = given == 1 ? offsets[0] : offsets[count];
        axes[count] = i;
        if (!dim_known(dims[i]) || offset < 0 || __builtin_add_overflow(offset, dims[i], &ends[count])) {
            foreign(c);
            return;
        }
        offsets[count] = given == 1 ? offsets[0] : offset;
    }
    if (count < 1) {
        foreign(c);
        return;
    }
    value_id inputs[] = {c->x, emit_list(c->e, offsets, count), emit_list(c->e, ends, count),
                         emit_list(c->e, axes, count)};
    emit_op(c->e, "Slice", inputs, 4, c->out);
}

static void map_tile(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "tile_param");
    int64_t repeats[MAX_RANK];
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), axis = axis_in(c, p, "axis", 1);
    axis += axis < 0 ? rank : 0;
    if (rank < 1 || axis < 0 || axis >= rank) {
        foreign(c);
        return;
    }
    for (int i = 0; i < rank; i++)
        repeats[i] = i == axis ? checked(c, proto_int(p, "tiles", 1), 0) : 1;
    emit_2(c->e, canonical, c->x, emit_list(c->e, repeats, rank), c->out);
}

/* Channel shuffle: interleaves groups of channels. */
static void map_shuffle(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "shuffle_channel_param");
    int64_t group = checked(c, proto_int(p, "group", 1), 1);
    grow_shuffle(c->g, c->x, group, c->out);
}

static void map_reorg(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "reorg_param");
    emit_int(emit_op(c->e, canonical, &c->x, 1, c->out), "blocksize", checked(c, proto_int(p, "stride", 2), 1));
}

/* Resizes to a given size, by a factor, or to the second blob's size. */
static void map_interp(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "interp_param");
    num height = grow_dim(c->g, c->x, 2), width = grow_dim(c->g, c->x, 3);
    int64_t size[2] = {checked(c, proto_int(p, "height", 0), 0), checked(c, proto_int(p, "width", 0), 0)};
    int64_t zoom = checked(c, proto_int(p, "zoom_factor", 1), 1),
            shrink = checked(c, proto_int(p, "shrink_factor", 1), 1);
    int64_t begin = proto_int(p, "pad_beg", 0), end = proto_int(p, "pad_end", 0);
    if (c->in_count > 1 && !size[0]) {
        size[0] = grow_dim(c->g, c->in[1], 2);
        size[1] = grow_dim(c->g, c->in[1], 3);
    } else if (!size[0] && dim_known(height) && dim_known(width) && begin <= 0 && begin > -4096 && end <= 0 &&
               end > -4096) {
        num in[2] = {height + begin + end, width + begin + end};
        for (int i = 0; i < 2; i++) {
            size[i] = (in[i] - 1) / shrink + 1;
            /* Networks of odd sizes align corners. Forks that multiply the size have networks of even sizes. */
            if (size[i] < 1 << 20)
                size[i] = size[i] % 2 == 0 && shrink == 1 ? size[i] * zoom : size[i] + (size[i] - 1) * (zoom - 1);
        }
    }
    if (!dim_known(size[0]) || !dim_known(size[1]) || size[0] < 1 || size[1] < 1)
        foreign(c);
    else
        emit_resize(c->e, "linear", c->x, emit_list(c->e, size, 2), true, c->out);
}

static void map_upsample(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "upsample_param");
    if (!p)
        p = params(c, "resample_param");
    double scale = proto_real(p, "scale", proto_real(p, "factor", 2));
    if (c->in_count > 1 || !isfinite(scale) || scale <= 0)
        foreign(c);
    else
        grow_upsample(c->g, "nearest", c->x, scale, scale, c->out);
}

/* ---- reductions, heads and losses -------------------------------------------------------------------------------- */

static void map_softmax(caffe_call *c, const char *unused)
{
    (void)unused;
    grow_softmax(c->g, c->x, axis_in(c, params(c, "softmax_param"), "axis", 1), c->out);
}

static void map_reduction(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "reduction_param");
    str operation = proto_string(p, "operation");
    num dims[MAX_RANK];
    int64_t axes[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), axis = axis_in(c, p, "axis", 0), count = 0;
    axis += axis < 0 ? rank : 0;
    for (int i = axis; i < rank && axis >= 0; i++)
        axes[count++] = i;
    if (count == 0) {
        foreign(c);
        return;
    }
    const char *op = str_is(operation, "ASUM")    ? "ReduceL1"
                     : str_is(operation, "SUMSQ") ? "ReduceSumSquare"
                     : str_is(operation, "MEAN")  ? "ReduceMean"
                                                  : "ReduceSum";
    emit_reduce(c->e, op, c->x, emit_list(c->e, axes, count), false, c->out);
}

static void map_arg_max(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "argmax_param");
    if (proto_int(p, "top_k", 1) != 1 || !proto_first(p, "axis")) {
        num batch = grow_dim(c->g, c->x, 0);
        declare(c, c->out, 3,
                (const num[]){batch, proto_int(p, "out_max_val", 0) ? 2 : 1, checked(c, proto_int(p, "top_k", 1), 1)});
        foreign(c);
        return;
    }
    node *n = emit_op(c->e, canonical, &c->x, 1, NO_VALUE);
    emit_int(n, "axis", axis_in(c, p, "axis", 1));
    emit_int(n, "keepdims", 1);
    emit_cast(c->e, n->outputs[0], DT_FLOAT32, c->out); /* all blobs are float32 */
}

static void map_softmax_loss(caffe_call *c, const char *canonical)
{
    if (c->in_count < 2) {
        foreign(c);
        return;
    }
    value_id outs[2] = {c->out, c->out_count > 1 ? c->outs[1] : NO_VALUE};
    emit_many(c->e, canonical, c->in, 2, outs, c->out_count > 1 ? 2 : 1);
}

/* A loss or a score: one number. */
static void map_scalar(caffe_call *c, const char *unused)
{
    (void)unused;
    for (int i = 0; i < c->out_count; i++)
        declare(c, c->outs[i], 0, NULL);
    foreign(c);
}

/* (1, 2, 4·positions·boxes per position): one box for each size, one more for a pair of sizes, two for each aspect
 * ratio. */
static void map_prior_box(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "prior_box_param");
    int64_t minima[CAFFE_MAX_INPUTS], maxima[CAFFE_MAX_INPUTS], boxes, length;
    int smallest = proto_ints(p, "min_size", minima, CAFFE_MAX_INPUTS), ratios = 1;
    int largest = proto_ints(p, "max_size", maxima, CAFFE_MAX_INPUTS);
    double seen[64] = {1};
    for (const proto_node *n = proto_first(p, "aspect_ratio"); n && ratios < 62; n = proto_next(n)) {
        double ratio = proto_text_real(n->text);
        bool is_new = true;
        for (int i = 0; i < ratios; i++)
            is_new &= fabs(ratio - seen[i]) >= 1e-6;
        if (!is_new)
            continue;
        seen[ratios++] = ratio;
        if (proto_int(p, "flip", 1))
            seen[ratios++] = 1 / ratio;
    }
    boxes = (int64_t)ratios * smallest + largest;
    if (caffe_is_type(c->layer->type, "PriorBoxClustered"))
        boxes = proto_ints(p, "width", minima, CAFFE_MAX_INPUTS);
    num height = grow_dim(c->g, c->x, 2), width = grow_dim(c->g, c->x, 3);
    if (dim_known(height) && dim_known(width) && !__builtin_mul_overflow(height, width, &length) &&
        !__builtin_mul_overflow(length, 4 * boxes, &length))
        declare(c, c->out, 3, (const num[]){1, 2, length});
    foreign(c);
}

static void map_detection_output(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "detection_output_param");
    int64_t kept = proto_int(p, "keep_top_k", -1);
    declare(c, c->out, 4, (const num[]){1, 1, kept > 0 && kept <= CAFFE_MAX_SIZE ? kept : NUM_UNKNOWN, 7});
    foreign(c);
}

/* Regions (count, 5): at most 300, unless the file gives another number. */
static void map_proposal(caffe_call *c, const char *unused)
{
    (void)unused;
    const proto_node *p = params(c, "proposal_param");
    int64_t count = proto_int(p, "post_nms_topn", 300);
    str layer = proto_string(params(c, "python_param"), "layer");
    bool is_proposal = caffe_is_type(c->layer->type, "Proposal") || str_contains(layer, "Proposal");
    if (is_proposal && c->out != NO_VALUE)
        declare(c, c->out, 2, (const num[]){count > 0 && count <= CAFFE_MAX_SIZE ? count : 300, 5});
    foreign(c);
}

static void map_mvn(caffe_call *c, const char *canonical)
{
    const proto_node *p = params(c, "mvn_param");
    node *n = emit_op(c->e, canonical, &c->x, 1, c->out);
    emit_ints(c->e, n, "axes", (const int64_t[]){2, 3, 1}, proto_int(p, "across_channels", 0) ? 3 : 2);
}

static void map_foreign_like(caffe_call *c, const char *unused)
{
    (void)unused;
    grow_foreign_like(c->g, c->layer->type, c->in, c->in_count, c->x, c->out);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef struct caffe_row {
    const char *type;
    void (*map)(caffe_call *c, const char *canonical);
    const char *canonical;
} caffe_row;

static const caffe_row ROWS[] = {
    {"AbsVal", map_same, "Abs"},
    {"Accuracy", map_scalar, NULL},
    {"ArgMax", map_arg_max, "ArgMax"},
    {"Axpy", map_axpy, NULL},
    {"BNLL", map_same, "Softplus"},
    {"BatchNorm", map_batch_norm, NULL},
    {"Bias", map_bias, NULL},
    {"BinaryAccuracy", map_scalar, NULL},
    {"Concat", map_concat, NULL},
    {"ContrastiveLoss", map_scalar, NULL},
    {"Convolution", map_conv, "Conv"},
    {"ConvolutionDepthwise", map_depthwise, "Conv"},
    {"Crop", map_crop, NULL},
    {"Deconvolution", map_conv, "ConvTranspose"},
    {"DenseCRF", map_foreign_like, NULL},
    {"DepthwiseConvolution", map_depthwise, "Conv"},
    {"DetectionOutput", map_detection_output, NULL},
    {"Dropout", map_same, "Dropout"},
    {"ELU", map_same, "Elu"},
    {"Eltwise", map_eltwise, NULL},
    {"Embed", map_embed, "Gather"},
    {"EuclideanLoss", map_scalar, NULL},
    {"Exp", map_same, "Exp"},
    {"Flatten", map_flatten, "Flatten"},
    {"HingeLoss", map_scalar, NULL},
    {"InfogainLoss", map_scalar, NULL},
    {"InnerProduct", map_inner_product, NULL},
    {"Interp", map_interp, NULL},
    {"LRN", map_lrn, "LRN"},
    {"LSTM", map_recurrent, "LSTM"},
    {"Log", map_same, "Log"},
    {"MVN", map_mvn, "MeanVarianceNormalization"},
    {"MultinomialLogisticLoss", map_scalar, NULL},
    {"Normalize", map_normalize, "LpNormalization"},
    {"PReLU", map_prelu, NULL},
    {"PSROIPooling", map_psroi_pool, NULL},
    {"Permute", map_permute, NULL},
    {"Pooling", map_pool, NULL},
    {"Power", map_power, NULL},
    {"PriorBox", map_prior_box, NULL},
    {"PriorBoxClustered", map_prior_box, NULL},
    {"Proposal", map_proposal, NULL},
    {"Python", map_proposal, NULL},
    {"RNN", map_recurrent, "RNN"},
    {"ROIPooling", map_roi_pool, "MaxRoiPool"},
    {"ReLU", map_relu, "Relu"},
    {"ReLU6", map_relu6, NULL},
    {"Reduction", map_reduction, NULL},
    {"Reorg", map_reorg, "SpaceToDepth"},
    {"Resample", map_upsample, NULL},
    {"Reshape", map_reshape, NULL},
    {"Scale", map_scale, NULL},
    {"SeLu", map_same, "Selu"},
    {"SeLuDropout", map_same, "Dropout"},
    {"SegAccuracy", map_scalar, NULL},
    {"ShuffleChannel", map_shuffle, NULL},
    {"Sigmoid", map_same, "Sigmoid"},
    {"SigmoidCrossEntropyLoss", map_scalar, NULL},
    {"Slice", map_slice, NULL},
    {"SmoothL1Loss", map_scalar, NULL},
    {"SmoothL1LossOHEM", map_scalar, NULL},
    {"Softmax", map_softmax, NULL},
    {"SoftmaxLoss", map_softmax_loss, "SoftmaxCrossEntropyLoss"},
    {"SoftmaxWithLoss", map_softmax_loss, "SoftmaxCrossEntropyLoss"},
    {"SoftmaxWithLossOHEM", map_softmax_loss, "SoftmaxCrossEntropyLoss"},
    {"Split", map_split, "Identity"},
    {"Swish", map_swish, NULL},
    {"TanH", map_same, "Tanh"},
    {"Tile", map_tile, "Tile"},
    {"Upsample", map_upsample, NULL},
};

void caffe_write(caffe_call *c)
{
    if (caffe_is_type(c->layer->type, "Silence")) /* Silence has no effect; it marks its input as used */
        return;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS && c->x != NO_VALUE; i++) {
        if (!caffe_is_type(c->layer->type, ROWS[i].type))
            continue;
        if (c->out == NO_VALUE) /* a loss may have no output */
            c->out = c->outs[c->out_count++] = emit_temp(c->e);
        ROWS[i].map(c, ROWS[i].canonical);
        return;
    }
    foreign(c);
}
