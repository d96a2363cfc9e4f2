/* paddle_ops_nn.c: maps PaddlePaddle layers to canonical operators: convolutions, pools, matrix products, norms,
 * resizing, recurrent layers. The rest is in paddle_ops.c. */
#include "front/paddle/paddle.h"

/* ---- windows --------------------------------------------------------------------------------------------------- */

static bool is_channels_last(const named_op *o, const char *name)
{
    str format = named_text(o, name, "NCHW");
    return format.len > 2 && format.ptr[0] == 'N' && format.ptr[format.len - 1] == 'C';
}

static void read_sizes(emitter *e, const named_op *o, const char *name, int64_t *to, int axes, int64_t otherwise)
{
    int64_t given[3];
    int count = named_ints(e, o, name, given, 3);
    for (int i = 0; i < axes; i++) {
        to[i] = count == 1 ? given[0] : i < count ? given[i] : otherwise;
        if (to[i] < otherwise)
            to[i] = otherwise;
    }
}

/* Reads pads: one number per axis, or (before, after) per axis, or pairs for every dimension of the tensor. */
static void read_pads(emitter *e, const named_op *o, emit_window *w)
{
    int64_t given[10];
    int count = named_ints(e, o, "paddings", given, 10), axes = w->axes;
    int skipped = count == 2 * (axes + 2) ? (w->channels_first ? 4 : 2) : 0;
    for (int i = 0; i < axes; i++) {
        bool has_pairs = count >= 2 * axes && count > axes;
        w->pads[i] = has_pairs ? given[skipped + 2 * i] : i < count ? given[i] : 0;
        w->pads[axes + i] = has_pairs ? given[skipped + 2 * i + 1] : w->pads[i];
    }
}

static emit_window window_of(emitter *e, const named_op *o, int axes)
{
    emit_window w = {.axes = axes, .group = 1, .padding = EMIT_PADS};
    str algorithm = named_text(o, "padding_algorithm", "EXPLICIT");
    w.channels_first = !is_channels_last(o, "data_format");
    read_sizes(e, o, "strides", w.strides, axes, 1);
    read_sizes(e, o, "dilations", w.dilations, axes, 1);
    read_pads(e, o, &w);
    if (str_is(algorithm, "SAME"))
        w.padding = EMIT_SAME;
    else if (str_is(algorithm, "VALID"))
        w.padding = EMIT_VALID;
    return w;
}

static int axes_in(str type)
{
    return str_contains(type, "3d") ? 3 : str_contains(type, "1d") ? 1 : 2;
}

static void map_conv(emitter *e, const named_op *o, const char *canonical)
{
    emit_window w = window_of(e, o, axes_in(o->type));
    int64_t size[3];
    w.group = named_int(e, o, "groups", 1);
    bool is_turned = str_contains(o->type, "transpose");
    if (is_turned && w.padding == EMIT_SAME)
        w.padding = EMIT_PADS;
    node *n =
        emit_conv(e, canonical, named_in(o, "Input"), named_in(o, "Filter"), named_in(o, "Bias"), &w, paddle_out(o));
    if (is_turned && named_ints(e, o, "output_padding", size, 3) == w.axes)
        emit_ints(e, n, "output_padding", size, w.axes);
    if (is_turned && named_ints(e, o, "output_size", size, 3) == w.axes)
        emit_ints(e, n, "output_shape", size, w.axes);
}

/* Sets fixed windows that give an adaptive pool's number of outputs; false if the image's size is unknown. */
static bool adapt(emitter *e, value_id x, emit_window *w)
{
    const value *v = named_declared(e, x);
    int first = w->channels_first ? 2 : 1;
    for (int i = 0; i < w->axes; i++) {
        num have = v->rank == w->axes + 2 ? v->dims[first + i] : NUM_UNKNOWN;
        int64_t want = w->kernel[i];
        if (!dim_known(have) || want < 1 || have < want)
            return false;
        w->strides[i] = have / want;
        w->kernel[i] = have - (want - 1) * w->strides[i];
        w->pads[i] = w->pads[w->axes + i] = 0;
        w->dilations[i] = 1;
    }
    w->padding = EMIT_PADS;
    return true;
}

static void global_pool(emitter *e, const named_op *o, bool is_max, bool channels_first)
{
    value_id x = paddle_x(o);
    node *n = emit_op(e, is_max ? "GlobalMaxPool" : "GlobalAveragePool", &x, 1, paddle_out(o));
    if (!channels_first)
        emit_int(n, "channels_last", 1);
}

static void map_pool(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_window w = window_of(e, o, axes_in(o->type));
    bool is_max = !str_is(named_text(o, "pooling_type", "max"), "avg");
    bool is_adaptive = named_true(e, o, "adaptive"), is_one = true;
    /* In Paddle 3 adaptive pools have a name of their own, except pool2d, whose size is an input. */
    bool is_named_ksize = named_ints(e, o, "ksize", (int64_t[3]){0}, 3) > 0;
    read_sizes(e, o, is_named_ksize ? "ksize" : "kernel_size", w.kernel, w.axes, 1);
    for (int i = 0; i < w.axes; i++)
        is_one = is_one && w.kernel[i] == 1;
    if (named_true(e, o, "global_pooling") || (is_adaptive && is_one)) {
        global_pool(e, o, is_max, w.channels_first);
        return;
    }
    if (is_adaptive && !adapt(e, paddle_x(o), &w)) {
        named_foreign(e, "paddle", o);
        return;
    }
    value_id out = paddle_out(o), mask = paddle_out_at(o, "Mask", 1);
    node *n;
    if (mask != NO_VALUE) {
        n = emit_many(e, "MaxPool", (const value_id[]){paddle_x(o)}, 1, (const value_id[]){out, mask}, 2);
        emit_ints(e, n, "kernel_shape", w.kernel, w.axes);
        emit_ints(e, n, "strides", w.strides, w.axes);
        emit_ints(e, n, "pads", w.pads, 2 * w.axes);
    } else {
        n = emit_pool(e, is_max ? "MaxPool" : "AveragePool", paddle_x(o), &w, out);
    }
    if (named_true(e, o, "ceil_mode"))
        emit_int(n, "ceil_mode", 1);
    if (!is_max && !named_int(e, o, "exclusive", 1))
        emit_int(n, "count_include_pad", 1);
}

/* ---- matrix products ------------------------------------------------------------------------------------------- */

static void map_matmul(emitter *e, const named_op *o, const char *canonical)
{
    bool turn_x = named_true(e, o, "trans_x") || named_true(e, o, "transpose_X") || named_true(e, o, "transpose_x");
    bool turn_y = named_true(e, o, "trans_y") || named_true(e, o, "transpose_Y") || named_true(e, o, "transpose_y");
    double alpha = named_real(e, o, "alpha", 1);
    value_id x = emit_turned(e, named_in(o, "X"), turn_x), y = emit_turned(e, named_in(o, "Y"), turn_y);
    value_id product = emit_2(e, canonical, x, y, alpha == 1 ? paddle_out(o) : NO_VALUE);
    if (alpha != 1)
        emit_2(e, "Mul", product, emit_scalar(e, DT_FLOAT32, alpha), paddle_out(o));
}

/* Flattens the first `columns` dimensions to the rows of a matrix. */
static value_id as_rows(emitter *e, value_id x, int64_t columns)
{
    int64_t dims[MAX_RANK];
    int rank = named_declared(e, x)->rank;
    if (rank < 0 || columns < 1 || columns >= rank - 1)
        return x;
    for (int i = 0; i < columns; i++)
        dims[i] = 0;
    dims[columns] = -1;
    return emit_reshaped(e, x, dims, (int)columns + 1, NO_VALUE);
}

static void map_mul(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, as_rows(e, named_in(o, "X"), named_int(e, o, "x_num_col_dims", 1)), named_in(o, "Y"),
           paddle_out(o));
}

static void map_fc(emitter *e, const named_op *o, const char *canonical)
{
    value_id bias = named_in(o, "Bias"), x = as_rows(e, paddle_x(o), named_int(e, o, "in_num_col_dims", 1));
    bool has_relu = str_is(named_text(o, "activation_type", ""), "relu"), is_plain = bias == NO_VALUE && !has_relu;
    value_id y = emit_2(e, canonical, x, named_in(o, "W"), is_plain ? paddle_out(o) : NO_VALUE);
    if (bias != NO_VALUE)
        y = emit_2(e, "Add", y, bias, has_relu ? NO_VALUE : paddle_out(o));
    if (has_relu)
        emit_1(e, "Relu", y, paddle_out(o));
}

static void map_addmm(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){named_in(o, "X"), named_in(o, "Y"), named_in(o, "Input")}, 3,
                      paddle_out(o));
    emit_real(n, "alpha", named_real(e, o, named_find(o, "Alpha") ? "Alpha" : "alpha", 1));
    emit_real(n, "beta", named_real(e, o, named_find(o, "Beta") ? "Beta" : "beta", 1));
}

/* ---- norms ----------------------------------------------------------------------------------------------------- */

static void map_batch_norm(emitter *e, const named_op *o, const char *canonical)
{
    const value_id inputs[5] = {named_in(o, "X"), named_in(o, "Scale"), named_in(o, "Bias"), named_in(o, "Mean"),
                                named_in(o, "Variance")};
    node *n = emit_op(e, canonical, inputs, 5, named_out(o, "Y") != NO_VALUE ? named_out(o, "Y") : named_out_at(o, 0));
    emit_real(n, "epsilon", named_real(e, o, "epsilon", 1e-5));
    if (is_channels_last(o, "data_layout") || is_channels_last(o, "data_format"))
        emit_int(n, "channels_last", 1);
}

static void map_layer_norm(emitter *e, const named_op *o, const char *canonical)
{
    value_id y = named_out(o, "Y") != NO_VALUE ? named_out(o, "Y") : named_out_at(o, 0);
    value_id scale = named_in(o, "Scale");
    if (scale == NO_VALUE) /* ONNX requires a scale */
        scale = emit_scalar(e, DT_FLOAT32, 1);
    node *n = emit_op(e, canonical, (const value_id[]){named_in(o, "X"), scale, named_in(o, "Bias")}, 3, y);
    emit_int(n, "axis", named_int(e, o, "begin_norm_axis", 1));
    emit_real(n, "epsilon", named_real(e, o, "epsilon", 1e-5));
}

/* Scale and bias may be missing; ONNX requires both, so neutral numbers are used. */
static value_id or_number(emitter *e, value_id v, double number)
{
    return v == NO_VALUE ? emit_scalar(e, DT_FLOAT32, number) : v;
}

static void map_group_norm(emitter *e, const named_op *o, const char *canonical)
{
    value_id y = named_out(o, "Y") != NO_VALUE ? named_out(o, "Y") : named_out_at(o, 0);
    const value_id inputs[3] = {named_in(o, "X"), or_number(e, named_in(o, "Scale"), 1),
                                or_number(e, named_in(o, "Bias"), 0)};
    node *n = emit_op(e, canonical, inputs, 3, y);
    if (named_find(o, "groups"))
        emit_int(n, "num_groups", named_int(e, o, "groups", 1));
    emit_real(n, "epsilon", named_real(e, o, "epsilon", 1e-5));
}

static void map_l2_norm(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){named_in(o, "X")}, 1, paddle_out(o));
    emit_int(n, "axis", named_int(e, o, "axis", -1));
    emit_int(n, "p", 2);
}

static void map_dropout(emitter *e, const named_op *o, const char *canonical)
{
    value_id x = paddle_x(o), ratio = emit_scalar(e, DT_FLOAT32, named_real(e, o, "dropout_prob", 0.5));
    emit_2(e, canonical, x, ratio, paddle_out(o));
}

static void map_prelu(emitter *e, const named_op *o, const char *canonical)
{
    if (str_is(named_text(o, "mode", ""), "channel") && !is_channels_last(o, "data_format"))
        emit_prelu(e, named_in(o, "X"), named_in(o, "Alpha"), paddle_out(o));
    else
        emit_2(e, canonical, named_in(o, "X"), named_in(o, "Alpha"), paddle_out(o));
}

/* ---- images ---------------------------------------------------------------------------------------------------- */

/* Reads the new size (a tensor, several one-number tensors, or numbers) or scales. */
static void map_interpolate(emitter *e, const named_op *o, const char *mode)
{
    static const char *const SIZES[] = {"out_d", "out_h", "out_w"};
    int axes = str_contains(o->type, "tri") ? 3 : str_starts(o->type, "linear") ? 1 : 2;
    bool channels_last = is_channels_last(o, "data_layout") || is_channels_last(o, "data_format");
    double scales[3];
    float factors[3];
    int64_t numbers[3], places[3];
    bool has_numbers = true;
    value_id size = named_index_list(e, o, "OutSize");
    if (size == NO_VALUE)
        size = named_index_list(e, o, "SizeTensor");
    int count = named_reals(e, o, named_list(o, "Scale")->count ? "Scale" : "scale", scales, 3);
    for (int i = 0; i < axes; i++) {
        numbers[i] = named_int(e, o, SIZES[3 - axes + i], -1);
        has_numbers = has_numbers && numbers[i] > 0;
        places[i] = (channels_last ? 1 : 2) + i;
        factors[i] = count > 0 ? (float)scales[count == axes ? i : 0] : 0;
        count = factors[i] > 0 ? count : 0;
    }
    if (size == NO_VALUE && has_numbers && count <= 0)
        size = emit_list(e, numbers, axes);
    if (size == NO_VALUE && count <= 0) {
        named_foreign(e, "paddle", o);
        return;
    }
    value_id inputs[4] = {paddle_x(o), NO_VALUE, size == NO_VALUE ? emit_reals(e, factors, axes) : NO_VALUE, size};
    node *n = emit_op(e, "Resize", inputs, 4, paddle_out(o));
    emit_text(n, "mode", str_of(mode));
    emit_ints(e, n, "axes", places, axes);
    if (channels_last)
        emit_int(n, "channels_last", 1);
}

static void map_pixel_shuffle(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){paddle_x(o)}, 1, paddle_out(o));
    emit_int(n, "blocksize", named_int(e, o, "upscale_factor", 1));
    emit_text(n, "mode", STR("CRD"));
}

/* (N, groups, C/groups, H, W) with the two swapped. */
static void map_channel_shuffle(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    int64_t groups = named_int(e, o, named_find(o, "groups") ? "groups" : "group", 1);
    const value *x = named_declared(e, paddle_x(o));
    if (x->rank != 4 || !dim_known(x->dims[1]) || groups < 1 || x->dims[1] % groups != 0) {
        named_foreign(e, "paddle", o);
        return;
    }
    const int64_t each = x->dims[1] / groups, channels = x->dims[1];
    num height = dim_known(x->dims[2]) ? x->dims[2] : -1, width = dim_known(x->dims[3]) ? x->dims[3] : -1;
    if (height < 0 && width < 0) {
        named_foreign(e, "paddle", o);
        return;
    }
    value_id split = emit_reshaped(e, paddle_x(o), (const int64_t[]){0, groups, each, height, width}, 5, NO_VALUE);
    value_id turned = emit_transpose(e, split, (const int64_t[]){0, 2, 1, 3, 4}, 5, NO_VALUE);
    emit_reshaped(e, turned, (const int64_t[]){0, channels, height, width}, 4, paddle_out(o));
}

/* ---- recurrent layers ------------------------------------------------------------------------------------------ */

enum { MAX_LAYERS = 256 };

typedef struct recurrent {
    const char *op;
    const value_id *weights; /* input and state weights by layer and direction, then their biases */
    int layers, directions;
    int64_t hidden;
    value_id states[2]; /* (layers · directions, batch, hidden) */
} recurrent;

/* Joins the two biases of each direction. */
static value_id joined_bias(emitter *e, value_id bias, int directions)
{
    const value *first = named_declared(e, bias);
    if (first->rank != 1 || !first->is_initializer || first->dims[0] > INT32_MAX)
        return NO_VALUE;
    const int64_t dims[2] = {directions, 2 * first->dims[0]};
    return emit_weight(e, arena_printf(e->b->arena, "%.*s~both", STR_ARG(first->name)), first->dtype, 2, dims);
}

static value_id part_of_state(emitter *e, value_id state, int64_t from, int64_t count)
{
    if (state == NO_VALUE)
        return NO_VALUE;
    value_id inputs[4] = {state, emit_list(e, &from, 1), emit_list(e, (const int64_t[]){from + count}, 1),
                          emit_list(e, (const int64_t[]){0}, 1)};
    return emit_op(e, "Slice", inputs, 4, NO_VALUE)->outputs[0];
}

static bool write_layers(emitter *e, const recurrent *r, value_id x, value_id out, const value_id finals[2])
{
    value_id last[2][MAX_LAYERS];
    int per_layer = 2 * r->directions, biases = r->layers * per_layer, states = r->op[0] == 'L' ? 2 : 1;
    for (int i = 0; i < r->layers; i++) {
        const value_id *w = r->weights + (size_t)i * (size_t)per_layer;
        emit_recurrent layer = {.op = r->op, .hidden = r->hidden, .directions = r->directions, .time_major = true};
        layer.w = emit_joined(e, w[0], r->directions, 2);
        layer.r = emit_joined(e, w[1], r->directions, 2);
        layer.b = joined_bias(e, r->weights[biases + i * per_layer], r->directions);
        layer.linear_before_reset = r->op[0] == 'G';
        if (layer.w == NO_VALUE || layer.r == NO_VALUE)
            return false;
        value_id initial[2], ends[2] = {NO_VALUE, NO_VALUE};
        for (int s = 0; s < states; s++) {
            initial[s] = part_of_state(e, r->states[s], (int64_t)i * r->directions, r->directions);
            ends[s] = last[s][i] = finals[s] == NO_VALUE ? NO_VALUE : emit_temp(e);
        }
        value_id y = i + 1 == r->layers ? out : emit_temp(e);
        emit_recurrent_layer(e, x, &layer, initial, y, ends);
        x = y;
    }
    for (int s = 0; s < states; s++)
        if (finals[s] != NO_VALUE)
            emit_int(emit_op(e, "Concat", last[s], r->layers, finals[s]), "axis", 0);
    return true;
}

static void map_rnn(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    const named_slot *weights = named_list(o, "WeightList"), *states = named_list(o, "PreState"), *ends = NULL;
    str mode = named_text(o, "mode", "LSTM");
    recurrent r = {.op = str_is(mode, "LSTM") ? "LSTM" : str_is(mode, "GRU") ? "GRU" : "RNN", .weights = weights->ids};
    int64_t layers = named_int(e, o, "num_layers", 1);
    r.directions = named_true(e, o, "is_bidirec") ? 2 : 1;
    r.hidden = named_int(e, o, "hidden_size", 0);
    for (int32_t i = 1; i < o->out_count; i++)
        if (str_is(o->out[i].name, "State") || (i == 2 && o->out[i].name.len == 0))
            ends = &o->out[i];
    if (layers < 1 || layers > MAX_LAYERS || weights->count != 4 * layers * r.directions) {
        named_foreign(e, "paddle", o);
        return;
    }
    r.layers = (int)layers;
    value_id finals[2] = {NO_VALUE, NO_VALUE};
    for (int s = 0; s < 2; s++) {
        r.states[s] = s < states->count ? states->ids[s] : NO_VALUE;
        if (ends && s < ends->count)
            finals[s] = ends->ids[s];
    }
    if (!write_layers(e, &r, named_in(o, "Input"), paddle_out(o), finals))
        named_foreign(e, "paddle", o);
}

/* ---- numbers of fewer bits --------------------------------------------------------------------------------------- */

static void map_quantize(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){named_in(o, "X"), named_in(o, "Scale")}, 2,
                      named_out(o, "Y") != NO_VALUE ? named_out(o, "Y") : named_out_at(o, 0));
    if (canonical[0] == 'Q')
        emit_int(n, "output_dtype", DT_INT8);
    emit_int(n, "axis", named_int(e, o, "quant_axis", 1));
}

static void map_identity(emitter *e, const named_op *o, const char *canonical)
{
    emit_1(e, canonical, named_in(o, "X"), paddle_out(o));
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const paddle_row ROWS[] = {
    {"addmm", "Input X Y", map_addmm, "Gemm"},
    {"batch_norm", "X Mean Variance Scale Bias", map_batch_norm, "BatchNormalization"},
    {"bicubic_interp", "X OutSize SizeTensor Scale", map_interpolate, "cubic"},
    {"bicubic_interp_v2", "X", map_interpolate, "cubic"},
    {"bilinear_interp", "X OutSize SizeTensor Scale", map_interpolate, "linear"},
    {"bilinear_interp_v2", "X", map_interpolate, "linear"},
    {"bmm", "X Y", map_matmul, "MatMul"},
    {"channel_shuffle", "X", map_channel_shuffle, NULL},
    {"conv2d", "Input Filter", map_conv, "Conv"},
    {"conv2d_fusion", "Input Filter Bias", map_conv, "Conv"},
    {"conv2d_transpose", "Input Filter output_size", map_conv, "ConvTranspose"},
    {"conv2d_transpose_bias", "Input Filter Bias output_size", map_conv, "ConvTranspose"},
    {"conv3d", "Input Filter", map_conv, "Conv"},
    {"conv3d_transpose", "Input Filter", map_conv, "ConvTranspose"},
    {"depthwise_conv2d", "Input Filter", map_conv, "Conv"},
    {"depthwise_conv2d_transpose", "Input Filter output_size", map_conv, "ConvTranspose"},
    {"dequantize_linear", "X Scale ZeroPoint", map_quantize, "DequantizeLinear"},
    {"dropout", "X SeedTensor dropout_prob", map_dropout, "Dropout"},
    {"fake_channel_wise_quantize_dequantize_abs_max", "X", map_identity, "Identity"},
    {"fake_quantize_dequantize_abs_max", "X", map_identity, "Identity"},
    {"fake_quantize_dequantize_moving_average_abs_max", "X", map_identity, "Identity"},
    {"fc", "Input W Bias", map_fc, "MatMul"},
    {"group_norm", "X Scale Bias", map_group_norm, "GroupNormalization"},
    {"instance_norm", "X Scale Bias", map_group_norm, "InstanceNormalization"},
    {"layer_norm", "X Scale Bias", map_layer_norm, "LayerNormalization"},
    {"linear_interp", "X OutSize SizeTensor Scale", map_interpolate, "linear"},
    {"linear_interp_v2", "X", map_interpolate, "linear"},
    {"matmul", "X Y", map_matmul, "MatMul"},
    {"matmul_v2", "X Y", map_matmul, "MatMul"},
    {"max_pool2d_with_index", "X", map_pool, NULL},
    {"max_pool3d_with_index", "X", map_pool, NULL},
    {"moving_average_abs_max_scale", "X", map_identity, "Identity"},
    {"mul", "X Y", map_mul, "MatMul"},
    {"nearest_interp", "X OutSize SizeTensor Scale", map_interpolate, "nearest"},
    {"nearest_interp_v2", "X", map_interpolate, "nearest"},
    {"norm", "X", map_l2_norm, "LpNormalization"},
    {"pixel_shuffle", "X", map_pixel_shuffle, "DepthToSpace"},
    {"pool2d", "X ksize", map_pool, NULL},
    {"pool3d", "X ksize", map_pool, NULL},
    {"prelu", "X Alpha", map_prelu, "PRelu"},
    {"quantize_linear", "X Scale ZeroPoint", map_quantize, "QuantizeLinear"},
    {"rnn", "Input PreState WeightList SequenceLength", map_rnn, NULL},
    {"shuffle_channel", "X", map_channel_shuffle, NULL},
    {"sync_batch_norm", "X Mean Variance Scale Bias", map_batch_norm, "BatchNormalization"},
    {"trilinear_interp", "X OutSize SizeTensor Scale", map_interpolate, "linear"},
    {"trilinear_interp_v2", "X", map_interpolate, "linear"},
};

const paddle_row *paddle_nn_rows(size_t *count)
{
    *count = sizeof ROWS / sizeof *ROWS;
    return ROWS;
}
