/* mxnet_ops.c: maps MXNet operators to canonical ones, one row each: names of versions 1 and 2, and older synonyms. */
#include "front/mxnet/mxnet.h"

#include <math.h>
#include <stdlib.h>

/* ---- attributes -------------------------------------------------------------------------------------------------- */

bool mxnet_has(const mxnet_call *c, const char *name)
{
    str text = mxnet_text(c->node, name);
    return text.len && !str_is(text, "None");
}

bool mxnet_flag(const mxnet_call *c, const char *name, bool otherwise)
{
    str text = mxnet_text(c->node, name);
    return text.len ? str_is(text, "True") || str_is(text, "true") || str_is(text, "1") : otherwise;
}

int64_t mxnet_int(const mxnet_call *c, const char *name, int64_t otherwise)
{
    int64_t number;
    return mxnet_ints(mxnet_text(c->node, name), &number, 1) == 1 && number != INT64_MIN ? number : otherwise;
}

double mxnet_real(const mxnet_call *c, const char *name, double otherwise)
{
    char text[64];
    str s = mxnet_text(c->node, name), given = s;
    if (given.len == 0 || given.len >= sizeof text)
        return otherwise;
    memcpy(text, given.ptr, given.len);
    text[given.len] = '\0';
    double number = strtod(text, NULL);
    return isfinite(number) ? number : otherwise;
}

int64_t mxnet_size(const mxnet_call *c, const char *name, int64_t otherwise)
{
    int64_t size = mxnet_int(c, name, otherwise);
    if (size < 0 || size > MXNET_MAX_SIZE)
        fail_with(&c->g->b.model->fail, SOOTH_ERROR_INPUT, "'%s' of node '%.*s' is %lld; save the symbol again", name,
                  STR_ARG(c->node->name), (long long)size);
    return size;
}

int mxnet_axis(const mxnet_call *c, const char *name, int otherwise)
{
    int64_t axis = mxnet_int(c, name, otherwise);
    return axis < -MAX_RANK || axis > MAX_RANK ? otherwise : (int)axis;
}

/* Reads one number per axis; missing ones are `otherwise`. */
static int sizes_attr(const mxnet_call *c, const char *name, int64_t otherwise, int64_t *to)
{
    int count = mxnet_ints(mxnet_text(c->node, name), to, 3);
    for (int i = count < 0 ? 0 : count; i < 3; i++)
        to[i] = otherwise;
    for (int i = 0; i < 3; i++)
        if (to[i] < 0 || to[i] > MXNET_MAX_SIZE)
            fail_with(&c->g->b.model->fail, SOOTH_ERROR_INPUT,
                      "'%s' of node '%.*s' has no sizes; save the symbol again", name, STR_ARG(c->node->name));
    return count;
}

void mxnet_foreign(mxnet_call *c)
{
    grow_foreign(c->g, c->node->op, c->in, c->in_count, c->outs, c->out_count);
}

/* ---- layers with weights ----------------------------------------------------------------------------------------- */

static emit_window window_of(const mxnet_call *c)
{
    emit_window w = {.padding = EMIT_PADS, .channels_first = true};
    int axes = sizes_attr(c, "kernel", 1, w.kernel);
    w.axes = axes >= 1 && axes <= 3 ? axes : 2;
    sizes_attr(c, "stride", 1, w.strides);
    sizes_attr(c, "dilate", 1, w.dilations);
    sizes_attr(c, "pad", 0, w.pads);
    memcpy(w.pads + w.axes, w.pads, (size_t)w.axes * sizeof *w.pads);
    for (int i = 0; i < 3; i++) {
        w.strides[i] = w.strides[i] > 0 ? w.strides[i] : 1;
        w.dilations[i] = w.dilations[i] > 0 ? w.dilations[i] : 1;
    }
    w.group = mxnet_size(c, "num_group", 1);
    return w;
}

static void map_conv(mxnet_call *c, const char *canonical)
{
    emit_window w = window_of(c);
    bool has_bias = !mxnet_flag(c, "no_bias", canonical[4] == 'T') && c->in_count != 2;
    int64_t more[3];
    int more_count = sizes_attr(c, "adj", 0, more);
    value_id y = grow_conv(c->g, canonical, c->x, &w, mxnet_size(c, "num_filter", 1), has_bias, c->out);
    node *n = &c->g->b.source->main.nodes.items[c->g->b.source->main.nodes.count - 1];
    if (more_count > 0 && n->outputs[0] == y && canonical[4] == 'T' && n->op)
        emit_ints(c->e, n, "output_padding", more, w.axes);
}

static void map_dense(mxnet_call *c, const char *unused)
{
    (void)unused;
    bool flattens = mxnet_flag(c, "flatten", true), has_bias = !mxnet_flag(c, "no_bias", false) && c->in_count != 2;
    grow_dense(c->g, c->x, flattens ? 1 : -1, mxnet_size(c, "num_hidden", 1), has_bias, c->out);
}

static void map_batch_norm(mxnet_call *c, const char *unused)
{
    (void)unused;
    if (mxnet_axis(c, "axis", 1) != 1)
        mxnet_foreign(c);
    else
        grow_batch_norm(c->g, c->x, true, true, mxnet_real(c, "eps", 1e-3), c->out);
}

/* Scale and bias over the channels, or over the last axis. */
static void map_norm(mxnet_call *c, const char *canonical)
{
    bool is_last = strcmp(canonical, "LayerNormalization") == 0;
    int axis = is_last ? mxnet_axis(c, "axis", -1) : 1;
    num channels = grow_dim(c->g, c->x, axis), rank_dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, rank_dims);
    if (!dim_known(channels) || (is_last && axis != -1 && axis != rank - 1)) {
        mxnet_foreign(c);
        return;
    }
    value_id inputs[3] = {c->x};
    if (canonical[0] == 'G' &&
        !str_starts(c->g->b.source->producer, "mxnet 2")) /* before version 2, there is one scale per group */
        channels = mxnet_size(c, "num_groups", 1);
    inputs[1] = grow_weight(c->g, "gamma", 1, &channels);
    inputs[2] = grow_weight(c->g, "beta", 1, &channels);
    node *n = emit_op(c->e, canonical, inputs, 3, c->out);
    emit_real(n, "epsilon", mxnet_real(c, "eps", 1e-5));
    if (is_last)
        emit_int(n, "axis", -1);
    else if (canonical[0] == 'G')
        emit_int(n, "num_groups", mxnet_size(c, "num_groups", 1));
}

static void map_embedding(mxnet_call *c, const char *canonical)
{
    int64_t dims[2] = {mxnet_size(c, "input_dim", 1), mxnet_size(c, "output_dim", 1)};
    value_id table = grow_weight(c->g, "weight", 2, dims);
    emit_2(c->e, canonical, table, emit_cast(c->e, c->x, DT_INT64, NO_VALUE), c->out);
}

static void map_leaky(mxnet_call *c, const char *unused)
{
    (void)unused;
    str kind = mxnet_text(c->node, "act_type");
    num channels = grow_dim(c->g, c->x, 1);
    if (str_is(kind, "prelu") && dim_known(channels))
        grow_prelu(c->g, c->x, channels, c->out);
    else if (str_is(kind, "prelu"))
        mxnet_foreign(c);
    else if (str_is(kind, "elu") || str_is(kind, "selu") || str_is(kind, "gelu"))
        emit_1(c->e, str_is(kind, "elu") ? "Elu" : str_is(kind, "selu") ? "Selu" : "Gelu", c->x, c->out);
    else
        emit_real(emit_op(c->e, "LeakyRelu", &c->x, 1, c->out), "alpha", mxnet_real(c, "slope", 0.25));
}

/* x (T, N, I); one vector holds all weights and biases; states are (layers·directions, N, H). */
static void map_rnn(mxnet_call *c, const char *unused)
{
    (void)unused;
    str mode = mxnet_text(c->node, "mode");
    bool is_lstm = str_is(mode, "lstm"), is_gru = str_is(mode, "gru");
    int gates = is_lstm ? 4 : is_gru ? 3 : 1, directions = mxnet_flag(c, "bidirectional", false) ? 2 : 1;
    int64_t hidden = mxnet_size(c, "state_size", 1), layers = mxnet_size(c, "num_layers", 1);
    num width = grow_dim(c->g, c->x, 2);
    if (!dim_known(width) || layers > 64 || c->out_count > 1 || hidden > 1 << 20) {
        mxnet_foreign(c);
        return;
    }
    c->g->given_count = 0; /* the one vector in the file becomes several weights here */
    value_id x = c->x;
    for (int64_t i = 0; i < layers; i++) {
        int64_t rows = gates * hidden;
        const char *prefix = arena_printf(c->g->b.arena, "l%lld", (long long)i).ptr;
        emit_recurrent r = {.op = is_lstm  ? "LSTM"
                                  : is_gru ? "GRU"
                                           : "RNN",
                            .hidden = hidden,
                            .directions = directions};
        r.time_major = true;
        r.linear_before_reset = is_gru;
        r.w = grow_weight(c->g, arena_printf(c->g->b.arena, "%s_i2h_weight", prefix).ptr, 3,
                          (const int64_t[]){directions, rows, width});
        r.r = grow_weight(c->g, arena_printf(c->g->b.arena, "%s_h2h_weight", prefix).ptr, 3,
                          (const int64_t[]){directions, rows, hidden});
        r.b = grow_weight(c->g, arena_printf(c->g->b.arena, "%s_bias", prefix).ptr, 2,
                          (const int64_t[]){directions, 2 * rows});
        value_id y = i == layers - 1 ? c->out : emit_temp(c->e);
        emit_recurrent_layer(c->e, x, &r, NULL, y, NULL);
        x = y;
        width = hidden * directions;
    }
}

/* ---- pools and images -------------------------------------------------------------------------------------------- */

static void map_pool(mxnet_call *c, const char *unused)
{
    (void)unused;
    str kind = mxnet_text(c->node, "pool_type"), convention = mxnet_text(c->node, "pooling_convention");
    bool is_average = str_is(kind, "avg") || str_is(kind, "sum");
    if (mxnet_flag(c, "global_pool", false)) {
        emit_1(c->e, is_average ? "GlobalAveragePool" : "GlobalMaxPool", c->x, c->out);
        return;
    }
    emit_window w = window_of(c);
    if (str_is(convention, "same"))
        w.padding = EMIT_SAME;
    node *n = emit_pool(c->e, is_average ? "AveragePool" : "MaxPool", c->x, &w, c->out);
    if (str_is(convention, "full"))
        emit_int(n, "ceil_mode", 1);
}

static void map_adaptive_pool(mxnet_call *c, const char *unused)
{
    (void)unused;
    int64_t size[2] = {1, 1};
    int count = mxnet_ints(mxnet_text(c->node, "output_size"), size, 2);
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims);
    if (count == 1)
        size[1] = size[0];
    if (count <= 0 || (size[0] == 1 && size[1] == 1)) {
        emit_1(c->e, "GlobalAveragePool", c->x, c->out);
        return;
    }
    bool fits = rank == 4;
    emit_window w = {.axes = 2, .dilations = {1, 1, 1}, .padding = EMIT_VALID, .group = 1, .channels_first = true};
    for (int i = 0; i < 2 && fits; i++) {
        fits = dim_known(dims[2 + i]) && size[i] > 0 && dims[2 + i] % size[i] == 0;
        w.kernel[i] = w.strides[i] = fits ? dims[2 + i] / size[i] : 1;
    }
    if (fits)
        emit_pool(c->e, "AveragePool", c->x, &w, c->out);
    else if (rank == 4 && size[0] > 0 && size[1] > 0 && size[0] < 4096 &&
             size[1] < 4096) { /* the windows have unequal sizes */
        build_type(&c->g->b, c->out, DT_FLOAT32, 4, (const num[]){dims[0], dims[1], size[0], size[1]});
        mxnet_foreign(c);
    } else
        mxnet_foreign(c);
}

static void map_up_sampling(mxnet_call *c, const char *unused)
{
    (void)unused;
    double scale = (double)mxnet_size(c, "scale", 2);
    bool is_linear = str_is(mxnet_text(c->node, "sample_type"), "bilinear");
    grow_upsample(c->g, is_linear ? "linear" : "nearest", c->x, scale, scale, c->out);
}

static void map_resize(mxnet_call *c, const char *unused)
{
    (void)unused;
    int64_t size[2] = {mxnet_size(c, "height", 0), mxnet_size(c, "width", 0)};
    if (c->in_count > 1 && str_is(mxnet_text(c->node, "mode"), "like")) {
        size[0] = grow_dim(c->g, c->in[1], 2);
        size[1] = grow_dim(c->g, c->in[1], 3);
    }
    if (mxnet_has(c, "scale_height"))
        grow_upsample(c->g, "linear", c->x, mxnet_real(c, "scale_height", 1), mxnet_real(c, "scale_width", 1), c->out);
    else if (dim_known(size[0]) && dim_known(size[1]))
        emit_resize(c->e, "linear", c->x, emit_list(c->e, size, 2), true, c->out);
    else
        mxnet_foreign(c);
}

/* Regions are (count, 5), with the batch index first. */
static void map_roi(mxnet_call *c, const char *canonical)
{
    int64_t size[3];
    int count = sizes_attr(c, "pooled_size", 1, size);
    if (c->in_count < 2) {
        mxnet_foreign(c);
        return;
    }
    if (canonical[0] == 'M') {
        node *n = emit_op(c->e, canonical, c->in, 2, c->out);
        emit_ints(c->e, n, "pooled_shape", (const int64_t[]){size[0], count > 1 ? size[1] : size[0]}, 2);
        return;
    }
    value_id boxes = grow_slice(c->g, c->in[1], 1, 1, 5, NO_VALUE),
             first = grow_slice(c->g, c->in[1], 1, 0, 1, NO_VALUE);
    value_id batch = emit_cast(c->e, emit_squeeze(c->e, first, (const int64_t[]){1}, 1, NO_VALUE), DT_INT64, NO_VALUE);
    node *n = emit_op(c->e, canonical, (const value_id[]){c->x, boxes, batch}, 3, c->out);
    emit_int(n, "output_height", size[0]);
    emit_int(n, "output_width", count > 1 ? size[1] : size[0]);
}

static void map_lrn(mxnet_call *c, const char *canonical)
{
    emit_int(emit_op(c->e, canonical, &c->x, 1, c->out), "size", mxnet_size(c, "nsize", 5));
}

static void map_l2_norm(mxnet_call *c, const char *canonical)
{
    str mode = mxnet_text(c->node, "mode");
    node *n = emit_op(c->e, canonical, &c->x, 1, c->out);
    emit_int(n, "axis", str_is(mode, "spatial") ? -1 : 1);
}

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

static void map_same(mxnet_call *c, const char *canonical)
{
    emit_1(c->e, canonical, c->x, c->out);
}

static void map_two(mxnet_call *c, const char *canonical)
{
    if (c->in_count == 2)
        emit_2(c->e, canonical, c->in[0], c->in[1], c->out);
    else
        mxnet_foreign(c);
}

static void map_many(mxnet_call *c, const char *canonical)
{
    emit_op(c->e, canonical, c->in, c->in_count, c->out);
}

/* Comparisons return the numbers 0 and 1. */
static void map_compare(mxnet_call *c, const char *canonical)
{
    value_id second = c->in_count > 1 ? c->in[1] : emit_scalar(c->e, DT_FLOAT32, mxnet_real(c, "scalar", 0));
    emit_cast(c->e, emit_2(c->e, canonical, c->x, second, NO_VALUE), DT_FLOAT32, c->out);
}

static void map_scalar(mxnet_call *c, const char *canonical)
{
    emit_2(c->e, canonical, c->x, emit_scalar(c->e, DT_FLOAT32, mxnet_real(c, "scalar", 1)), c->out);
}

/* The number is the first operand. */
static void map_reverse_scalar(mxnet_call *c, const char *canonical)
{
    emit_2(c->e, canonical, emit_scalar(c->e, DT_FLOAT32, mxnet_real(c, "scalar", 1)), c->x, c->out);
}

static void map_activation(mxnet_call *c, const char *unused)
{
    (void)unused;
    static const struct {
        const char *name, *canonical;
    } PLAIN[] = {{"relu", "Relu"},         {"sigmoid", "Sigmoid"},   {"tanh", "Tanh"},
                 {"softrelu", "Softplus"}, {"softsign", "Softsign"}, {"mish", "Mish"}};
    str kind = mxnet_text(c->node, "act_type");
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++)
        if (str_is(kind, PLAIN[i].name)) {
            emit_1(c->e, PLAIN[i].canonical, c->x, c->out);
            return;
        }
    grow_foreign_like(c->g, c->node->op, c->in, c->in_count, c->x, c->out);
}

static void map_clip(mxnet_call *c, const char *unused)
{
    (void)unused;
    grow_clip(c->g, c->x, mxnet_real(c, "a_min", 0), mxnet_real(c, "a_max", 0), c->out);
}

static void map_div_sqrt_dim(mxnet_call *c, const char *unused)
{
    (void)unused;
    num width = grow_dim(c->g, c->x, -1);
    emit_2(c->e, "Div", c->x, emit_scalar(c->e, DT_FLOAT32, dim_known(width) ? sqrt((double)width) : 1), c->out);
}

static void map_cast(mxnet_call *c, const char *unused)
{
    (void)unused;
    str name = mxnet_text(c->node, "dtype");
    dtype type = str_is(name, "float16")   ? DT_FLOAT16
                 : str_is(name, "float64") ? DT_FLOAT64
                 : str_is(name, "int8")    ? DT_INT8
                 : str_is(name, "uint8")   ? DT_UINT8
                 : str_is(name, "int32")   ? DT_INT32
                 : str_is(name, "int64")   ? DT_INT64
                                           : DT_FLOAT32;
    emit_cast(c->e, c->x, type, c->out);
}

static void map_like(mxnet_call *c, const char *canonical)
{
    double number = canonical[0] == 'O' ? 1 : 0;
    emit_2(c->e, "Expand", emit_scalar(c->e, DT_FLOAT32, number), emit_1(c->e, "Shape", c->x, NO_VALUE), c->out);
}

static void map_where(mxnet_call *c, const char *canonical)
{
    if (c->in_count != 3) {
        mxnet_foreign(c);
        return;
    }
    value_id condition = emit_cast(c->e, c->x, DT_BOOL, NO_VALUE);
    emit_op(c->e, canonical, (const value_id[]){condition, c->in[1], c->in[2]}, 3, c->out);
}

/* ---- products, softmax, reductions ------------------------------------------------------------------------------- */

static value_id turned(mxnet_call *c, value_id v, bool is_turned)
{
    num dims[MAX_RANK];
    int64_t perm[MAX_RANK];
    int rank = grow_shape(c->g, v, dims);
    if (!is_turned || rank < 2)
        return v;
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return emit_transpose(c->e, v, perm, rank, NO_VALUE);
}

static void map_product(mxnet_call *c, const char *canonical)
{
    if (c->in_count < 2) {
        mxnet_foreign(c);
        return;
    }
    emit_2(c->e, canonical, turned(c, c->in[0], mxnet_flag(c, "transpose_a", false)),
           turned(c, c->in[1], mxnet_flag(c, "transpose_b", false)), c->out);
}

static void map_softmax(mxnet_call *c, const char *canonical)
{
    node *n = emit_op(c->e, canonical, &c->x, 1, c->out);
    emit_int(n, "axis", mxnet_axis(c, "axis", -1));
}

/* Maps SoftmaxOutput and SoftmaxActivation, over the channels or over a whole sample. */
static void map_old_softmax(mxnet_call *c, const char *unused)
{
    (void)unused;
    bool by_channel = mxnet_flag(c, "multi_output", false) || str_is(mxnet_text(c->node, "mode"), "channel");
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims);
    grow_softmax(c->g, c->x, by_channel || rank == 2 ? 1 : -1, c->out);
}

static void map_reduce(mxnet_call *c, const char *canonical)
{
    int64_t axes[MAX_RANK], left[MAX_RANK] = {0};
    num dims[MAX_RANK];
    int count = mxnet_has(c, "axis") ? mxnet_ints(mxnet_text(c->node, "axis"), axes, MAX_RANK) : 0, left_count = 0;
    int rank = grow_shape(c->g, c->x, dims);
    if (mxnet_flag(c, "exclude", false) && count > 0) {
        for (int64_t i = 0; i < rank; i++) {
            bool is_named = false;
            for (int k = 0; k < count; k++)
                is_named |= axes[k] == i || axes[k] + rank == i;
            if (!is_named)
                left[left_count++] = i;
        }
        memcpy(axes, left, (size_t)left_count * sizeof *axes);
        count = left_count;
    }
    bool is_whole = count <= 0, keeps = mxnet_flag(c, "keepdims", false);
    for (int64_t i = 0; is_whole && i < rank && i < MAX_RANK; i++)
        axes[left_count++] = i;
    count = is_whole ? left_count : count;
    if (count == 0)
        mxnet_foreign(c);
    else if (is_whole && !keeps) { /* a single number gets one dimension */
        value_id one = emit_reduce(c->e, canonical, c->x, emit_list(c->e, axes, count), false, NO_VALUE)->outputs[0];
        emit_reshaped(c->e, one, (const int64_t[]){1}, 1, c->out);
    } else
        emit_reduce(c->e, canonical, c->x, emit_list(c->e, axes, count), keeps, c->out);
}

static void map_arg(mxnet_call *c, const char *canonical)
{
    node *n = emit_op(c->e, canonical, &c->x, 1, NO_VALUE);
    emit_int(n, "axis", mxnet_axis(c, "axis", -1));
    emit_int(n, "keepdims", mxnet_flag(c, "keepdims", false));
    emit_cast(c->e, n->outputs[0], DT_FLOAT32, c->out);
}

static void map_foreign_like(mxnet_call *c, const char *unused)
{
    (void)unused;
    if (c->out_count == 1)
        grow_foreign_like(c->g, c->node->op, c->in, c->in_count, c->x, c->out);
    else
        mxnet_foreign(c);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef struct mxnet_row {
    const char *op;
    void (*map)(mxnet_call *c, const char *canonical);
    const char *canonical;
    int8_t first_weight; /* index of the first weight; 0: none */
} mxnet_row;

static const mxnet_row ROWS[] = {
    {"Activation", map_activation, NULL, 0},
    {"BatchNorm", map_batch_norm, NULL, 1},
    {"BatchNorm_v1", map_batch_norm, NULL, 1},
    {"BlockGrad", map_same, "Identity", 0},
    {"Cast", map_cast, NULL, 0},
    {"Concat", mxnet_map_concat, NULL, 0},
    {"Convolution", map_conv, "Conv", 1},
    {"Convolution_v1", map_conv, "Conv", 1},
    {"Crop", mxnet_map_slice_like, "Crop", 0},
    {"Deconvolution", map_conv, "ConvTranspose", 1},
    {"Dropout", map_same, "Dropout", 0},
    {"ElementWiseSum", map_many, "Sum", 0},
    {"Embedding", map_embedding, "Gather", 1},
    {"Flatten", mxnet_map_flatten, "Flatten", 0},
    {"FullyConnected", map_dense, NULL, 1},
    {"GroupNorm", map_norm, "GroupNormalization", 1},
    {"IdentityAttachKLSparseReg", map_same, "Identity", 0},
    {"InstanceNorm", map_norm, "InstanceNormalization", 1},
    {"L2Normalization", map_l2_norm, "LpNormalization", 0},
    {"LRN", map_lrn, "LRN", 0},
    {"LayerNorm", map_norm, "LayerNormalization", 1},
    {"LeakyReLU", map_leaky, NULL, 1},
    {"LinearRegressionOutput", map_same, "Identity", 0},
    {"LogisticRegressionOutput", map_same, "Sigmoid", 0},
    {"MakeLoss", map_same, "Identity", 0},
    {"Pad", mxnet_map_pad, "Pad", 0},
    {"Pooling", map_pool, NULL, 0},
    {"Pooling_v1", map_pool, NULL, 0},
    {"RNN", map_rnn, NULL, 1},
    {"ROIPooling", map_roi, "MaxRoiPool", 0},
    {"Reshape", mxnet_map_reshape, NULL, 0},
    {"SequenceMask", map_foreign_like, NULL, 0},
    {"SequenceReverse", map_foreign_like, NULL, 0},
    {"SliceChannel", mxnet_map_split, NULL, 0},
    {"Softmax", map_old_softmax, NULL, 0},
    {"SoftmaxActivation", map_old_softmax, NULL, 0},
    {"SoftmaxOutput", map_old_softmax, NULL, 0},
    {"SwapAxis", mxnet_map_swap, NULL, 0},
    {"UpSampling", map_up_sampling, NULL, 0},
    {"_Div", map_two, "Div", 0},
    {"_DivScalar", map_scalar, "Div", 0},
    {"_Minus", map_two, "Sub", 0},
    {"_MinusScalar", map_scalar, "Sub", 0},
    {"_Mul", map_two, "Mul", 0},
    {"_MulScalar", map_scalar, "Mul", 0},
    {"_Plus", map_two, "Add", 0},
    {"_PlusScalar", map_scalar, "Add", 0},
    {"_PowerScalar", map_scalar, "Pow", 0},
    {"_RDivScalar", map_reverse_scalar, "Div", 0},
    {"_RMinusScalar", map_reverse_scalar, "Sub", 0},
    {"_arange", mxnet_map_range, NULL, 0},
    {"_contrib_AdaptiveAvgPooling2D", map_adaptive_pool, NULL, 0},
    {"_contrib_BilinearResize2D", map_resize, NULL, 0},
    {"_contrib_ROIAlign", map_roi, "RoiAlign", 0},
    {"_contrib_SyncBatchNorm", map_batch_norm, NULL, 1},
    {"_contrib_box_nms", map_foreign_like, NULL, 0},
    {"_contrib_div_sqrt_dim", map_div_sqrt_dim, NULL, 0},
    {"_copy", map_same, "Identity", 0},
    {"_div", map_two, "Div", 0},
    {"_div_scalar", map_scalar, "Div", 0},
    {"_equal", map_compare, "Equal", 0},
    {"_equal_scalar", map_compare, "Equal", 0},
    {"_greater", map_compare, "Greater", 0},
    {"_greater_equal_scalar", map_compare, "GreaterOrEqual", 0},
    {"_greater_scalar", map_compare, "Greater", 0},
    {"_lesser", map_compare, "Less", 0},
    {"_lesser_equal_scalar", map_compare, "LessOrEqual", 0},
    {"_lesser_scalar", map_compare, "Less", 0},
    {"_maximum", map_two, "Max", 0},
    {"_maximum_scalar", map_scalar, "Max", 0},
    {"_minimum", map_two, "Min", 0},
    {"_minimum_scalar", map_scalar, "Min", 0},
    {"_minus", map_two, "Sub", 0},
    {"_minus_scalar", map_scalar, "Sub", 0},
    {"_mul", map_two, "Mul", 0},
    {"_mul_scalar", map_scalar, "Mul", 0},
    {"_npx_convolution", map_conv, "Conv", 1},
    {"_ones", mxnet_map_fill, "Ones", 0},
    {"_plus", map_two, "Add", 0},
    {"_plus_scalar", map_scalar, "Add", 0},
    {"_power", map_two, "Pow", 0},
    {"_power_scalar", map_scalar, "Pow", 0},
    {"_rdiv_scalar", map_reverse_scalar, "Div", 0},
    {"_rminus_scalar", map_reverse_scalar, "Sub", 0},
    {"_zeros", mxnet_map_fill, "Zeros", 0},
    {"abs", map_same, "Abs", 0},
    {"add_n", map_many, "Sum", 0},
    {"amp_cast", map_cast, NULL, 0},
    {"argmax", map_arg, "ArgMax", 0},
    {"argmin", map_arg, "ArgMin", 0},
    {"argsort", map_foreign_like, NULL, 0},
    {"batch_dot", map_product, "MatMul", 0},
    {"broadcast_add", map_two, "Add", 0},
    {"broadcast_axes", mxnet_map_broadcast_axis, NULL, 0},
    {"broadcast_axis", mxnet_map_broadcast_axis, NULL, 0},
    {"broadcast_div", map_two, "Div", 0},
    {"broadcast_equal", map_compare, "Equal", 0},
    {"broadcast_greater", map_compare, "Greater", 0},
    {"broadcast_greater_equal", map_compare, "GreaterOrEqual", 0},
    {"broadcast_lesser", map_compare, "Less", 0},
    {"broadcast_lesser_equal", map_compare, "LessOrEqual", 0},
    {"broadcast_like", mxnet_map_broadcast_like, "Expand", 0},
    {"broadcast_maximum", map_two, "Max", 0},
    {"broadcast_minimum", map_two, "Min", 0},
    {"broadcast_minus", map_two, "Sub", 0},
    {"broadcast_mul", map_two, "Mul", 0},
    {"broadcast_plus", map_two, "Add", 0},
    {"broadcast_power", map_two, "Pow", 0},
    {"broadcast_sub", map_two, "Sub", 0},
    {"broadcast_to", mxnet_map_broadcast_to, "Expand", 0},
    {"cast", map_cast, NULL, 0},
    {"ceil", map_same, "Ceil", 0},
    {"clip", map_clip, NULL, 0},
    {"concat", mxnet_map_concat, NULL, 0},
    {"cos", map_same, "Cos", 0},
    {"crop", mxnet_map_slice, NULL, 0},
    {"dot", map_product, "MatMul", 0},
    {"elemwise_add", map_two, "Add", 0},
    {"elemwise_div", map_two, "Div", 0},
    {"elemwise_mul", map_two, "Mul", 0},
    {"elemwise_sub", map_two, "Sub", 0},
    {"erf", map_same, "Erf", 0},
    {"exp", map_same, "Exp", 0},
    {"expand_dims", mxnet_map_expand_dims, NULL, 0},
    {"flatten", mxnet_map_flatten, "Flatten", 0},
    {"flip", mxnet_map_reverse, NULL, 0},
    {"floor", map_same, "Floor", 0},
    {"gather_nd", mxnet_map_gather_nd, "GatherND", 0},
    {"hard_sigmoid", map_same, "HardSigmoid", 0},
    {"identity", map_same, "Identity", 0},
    {"log", map_same, "Log", 0},
    {"log_softmax", map_softmax, "LogSoftmax", 0},
    {"make_loss", map_same, "Identity", 0},
    {"max", map_reduce, "ReduceMax", 0},
    {"max_axis", map_reduce, "ReduceMax", 0},
    {"mean", map_reduce, "ReduceMean", 0},
    {"min", map_reduce, "ReduceMin", 0},
    {"negative", map_same, "Neg", 0},
    {"norm", map_reduce, "ReduceL2", 0},
    {"ones_like", map_like, "Ones", 0},
    {"pad", mxnet_map_pad, "Pad", 0},
    {"prod", map_reduce, "ReduceProd", 0},
    {"reciprocal", map_same, "Reciprocal", 0},
    {"relu", map_same, "Relu", 0},
    {"repeat", mxnet_map_repeat, NULL, 0},
    {"reshape", mxnet_map_reshape, NULL, 0},
    {"reverse", mxnet_map_reverse, NULL, 0},
    {"rint", map_same, "Round", 0},
    {"round", map_same, "Round", 0},
    {"shape_array", map_same, "Shape", 0},
    {"sigmoid", map_same, "Sigmoid", 0},
    {"sign", map_same, "Sign", 0},
    {"sin", map_same, "Sin", 0},
    {"slice", mxnet_map_slice, NULL, 0},
    {"slice_axis", mxnet_map_slice_axis, NULL, 0},
    {"slice_like", mxnet_map_slice_like, "Slice", 0},
    {"softmax", map_softmax, "Softmax", 0},
    {"softsign", map_same, "Softsign", 0},
    {"sort", map_foreign_like, NULL, 0},
    {"split", mxnet_map_split, NULL, 0},
    {"sqrt", map_same, "Sqrt", 0},
    {"squeeze", mxnet_map_squeeze, "Squeeze", 0},
    {"stack", mxnet_map_stack, NULL, 0},
    {"stop_gradient", map_same, "Identity", 0},
    {"sum", map_reduce, "ReduceSum", 0},
    {"sum_axis", map_reduce, "ReduceSum", 0},
    {"swapaxes", mxnet_map_swap, NULL, 0},
    {"take", mxnet_map_take, "Gather", 0},
    {"tanh", map_same, "Tanh", 0},
    {"tile", mxnet_map_tile, "Tile", 0},
    {"transpose", mxnet_map_transpose, NULL, 0},
    {"where", map_where, "Where", 0},
    {"zeros_like", map_like, "Zeros", 0},
};

static const mxnet_row *row_of(str op)
{
    size_t low = 0, high = sizeof ROWS / sizeof *ROWS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        size_t length = strlen(ROWS[middle].op);
        int order = memcmp(op.ptr, ROWS[middle].op, op.len < length ? op.len : length);
        order = order ? order : (op.len > length) - (op.len < length);
        if (order == 0)
            return &ROWS[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

int mxnet_first_weight(str op)
{
    const mxnet_row *row = row_of(op);
    return row && row->first_weight ? row->first_weight : INT32_MAX;
}

void mxnet_write(mxnet_call *c)
{
    const mxnet_row *row = row_of(c->node->op);
    bool needs_none = row && (row->map == mxnet_map_range || row->map == mxnet_map_fill);
    if (row && (c->x != NO_VALUE || needs_none))
        row->map(c, row->canonical);
    else
        mxnet_foreign(c);
}
