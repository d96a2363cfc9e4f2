/* openvino_old.c: maps OpenVINO layers before version 10. Weights are in the layer's <blobs>, not in constants:
 * their shapes follow from the attributes. Layers that later versions have too are in openvino_ops.c. */
#include "front/openvino/openvino.h"

static value_id in(const named_op *o, int i)
{
    return named_in_at(o, i);
}

static value_id out(const named_op *o)
{
    return named_out_at(o, 0);
}

static void map_unary(emitter *e, const named_op *o, const char *canonical)
{
    emit_1(e, canonical, in(o, 0), out(o));
}

/* Reshapes to the port's shape, which all versions have; only some also have an attribute. */
static void map_as_declared(emitter *e, const named_op *o, const char *canonical)
{
    int64_t dims[MAX_RANK];
    int rank = openvino_target(e, out(o), dims);
    if (rank < 0)
        named_foreign(e, "openvino", o);
    else
        emit_2(e, canonical, in(o, 0), emit_list(e, dims, rank), out(o));
}

static value_id weight(emitter *e, const char *what, int rank, const int64_t *dims)
{
    return emit_weight(e, arena_printf(e->b->arena, "%.*s/%s", STR_ARG(e->name), what), DT_FLOAT32, rank, dims);
}

static num channels_of(emitter *e, value_id v)
{
    const value *x = named_declared(e, v);
    return x->rank > 1 ? x->dims[1] : NUM_UNKNOWN;
}

/* Reads one number per axis: version 2 has an attribute per axis (kernel-y, kernel-x), later versions a list. */
static void read_sizes(emitter *e, const named_op *o, const char *list, const char *const pair[2], int64_t *to,
                       int axes, int64_t least)
{
    int64_t given[3];
    int count = named_ints(e, o, list, given, 3);
    for (int i = 0; i < axes; i++) {
        int64_t single = i < 2 && axes == 2 ? named_int(e, o, pair[i], least) : least;
        to[i] = i < count ? given[i] : single;
        to[i] = to[i] < least ? least : to[i];
    }
}

static emit_window window_of(emitter *e, const named_op *o, int axes)
{
    emit_window w = {.axes = axes, .padding = EMIT_PADS, .channels_first = true};
    str automatic = named_text(o, "auto_pad", "");
    read_sizes(e, o, "kernel", (const char *const[]){"kernel-y", "kernel-x"}, w.kernel, axes, 1);
    read_sizes(e, o, "strides", (const char *const[]){"stride-y", "stride-x"}, w.strides, axes, 1);
    read_sizes(e, o, "dilations", (const char *const[]){"dilation-y", "dilation-x"}, w.dilations, axes, 1);
    read_sizes(e, o, "pads_begin", (const char *const[]){"pad-y", "pad-x"}, w.pads, axes, 0);
    read_sizes(e, o, "pads_end", (const char *const[]){"pad-b", "pad-r"}, w.pads + axes, axes, 0);
    w.group = named_int(e, o, "group", 1);
    if (str_starts(automatic, "same"))
        w.padding = EMIT_SAME;
    else if (str_is(automatic, "valid"))
        w.padding = EMIT_VALID;
    return w;
}

static void convolve(emitter *e, const named_op *o, const char *canonical, bool is_turned)
{
    int axes = openvino_image_axes(e, o);
    emit_window w = window_of(e, o, axes);
    int64_t filters = named_int(e, o, "output", 0), channels = channels_of(e, in(o, 0));
    int64_t dims[5] = {is_turned ? channels : filters, is_turned ? filters : channels, w.kernel[0], w.kernel[1],
                       w.kernel[2]};
    if (axes == 0 || filters < 1 || channels < 1 || w.group < 1 || dims[1] % w.group != 0) {
        named_foreign(e, "openvino", o);
        return;
    }
    dims[1] /= w.group;
    value_id kernel = in(o, 1) != NO_VALUE ? in(o, 1) : weight(e, "weights", axes + 2, dims);
    emit_conv(e, canonical, in(o, 0), kernel, in(o, 2), &w, out(o));
}

static void map_conv(emitter *e, const named_op *o, const char *canonical)
{
    convolve(e, o, canonical, false);
}

static void map_deconv(emitter *e, const named_op *o, const char *canonical)
{
    convolve(e, o, canonical, true);
}

static void map_pooling(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    int axes = openvino_image_axes(e, o);
    emit_window w = window_of(e, o, axes);
    str method = named_text(o, "pool-method", "max");
    w.group = 1;
    if (axes == 0) {
        named_foreign(e, "openvino", o);
        return;
    }
    node *n = emit_pool(e, str_is(method, "avg") ? "AveragePool" : "MaxPool", in(o, 0), &w, out(o));
    str rounding = named_text(o, "rounding_type", "ceil");
    if (str_is(rounding, "ceil"))
        emit_int(n, "ceil_mode", 1);
}

static void map_fully_connected(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    const value *x = named_declared(e, in(o, 0));
    int64_t rows = named_int(e, o, "out-size", 0), width = 1;
    for (int i = 1; i < x->rank; i++)
        if (!dim_known(x->dims[i]) || __builtin_mul_overflow(width, x->dims[i], &width))
            width = 0;
    if (rows < 1 || width < 1 || x->rank < 2) {
        named_foreign(e, "openvino", o);
        return;
    }
    value_id flat = in(o, 0);
    if (x->rank > 2)
        flat = emit_reshaped(e, flat, (const int64_t[]){0, -1}, 2, NO_VALUE);
    value_id matrix = in(o, 1) != NO_VALUE ? in(o, 1) : weight(e, "weights", 2, (const int64_t[]){rows, width});
    node *n = emit_op(e, "Gemm", (const value_id[]){flat, matrix, in(o, 2)}, 3, out(o));
    emit_int(n, "transB", 1);
}

static void map_eltwise(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    static const char *const NAMES[][2] = {{"sum", "Add"}, {"mul", "Mul"}, {"prod", "Mul"}, {"sub", "Sub"},
                                           {"div", "Div"}, {"max", "Max"}, {"min", "Min"},  {"pow", "Pow"}};
    str operation = named_text(o, "operation", "sum");
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(operation, NAMES[i][0]) && o->in_count >= 2) {
            value_id sum = in(o, 0);
            for (int32_t k = 1; k < o->in_count; k++)
                sum = emit_2(e, NAMES[i][1], sum, in(o, k), k + 1 == o->in_count ? out(o) : NO_VALUE);
            return;
        }
    named_foreign(e, "openvino", o);
}

static void map_activation(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    static const char *const NAMES[][2] = {{"sigmoid", "Sigmoid"},  {"tanh", "Tanh"}, {"elu", "Elu"},
                                           {"relu", "Relu"},        {"exp", "Exp"},   {"not", "Not"},
                                           {"softplus", "Softplus"}};
    str type = named_text(o, "type", "");
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(type, NAMES[i][0])) {
            emit_1(e, NAMES[i][1], in(o, 0), out(o));
            return;
        }
    named_foreign(e, "openvino", o);
}

static void map_relu(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    double slope = named_real(e, o, "negative_slope", 0);
    node *n = emit_op(e, slope == 0 ? "Relu" : "LeakyRelu", (const value_id[]){in(o, 0)}, 1, out(o));
    if (slope != 0)
        emit_real(n, "alpha", slope);
}

static void map_permute(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    int64_t order[MAX_RANK];
    int count = named_ints(e, o, "order", order, MAX_RANK);
    if (count > 0)
        emit_transpose(e, in(o, 0), order, count, out(o));
    else
        named_foreign(e, "openvino", o);
}

static void map_split(emitter *e, const named_op *o, const char *canonical)
{
    value_id *outputs = ARENA_ARRAY(e->b->arena, value_id, (size_t)o->out_count + 1);
    for (int32_t i = 0; i < o->out_count; i++)
        outputs[i] = named_out_at(o, i);
    node *n = emit_many(e, canonical, (const value_id[]){in(o, 0)}, 1, outputs, o->out_count);
    emit_int(n, "axis", named_int(e, o, "axis", 1));
    emit_int(n, "num_outputs", o->out_count);
}

/* (shift + scale · x) ^ power */
static void map_power(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    double power = named_real(e, o, "power", 1), scale = named_real(e, o, "scale", 1),
           shift = named_real(e, o, "shift", 0);
    value_id x = in(o, 0);
    if (scale != 1)
        x = emit_2(e, "Mul", x, emit_scalar(e, DT_FLOAT32, scale), NO_VALUE);
    if (shift != 0)
        x = emit_2(e, "Add", x, emit_scalar(e, DT_FLOAT32, shift), NO_VALUE);
    if (power != 1)
        emit_2(e, "Pow", x, emit_scalar(e, DT_FLOAT32, power), out(o));
    else
        emit_1(e, "Identity", x, out(o));
}

static void map_scale_shift(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    num channels = channels_of(e, in(o, 0));
    int axes = openvino_image_axes(e, o);
    if (!dim_known(channels)) {
        named_foreign(e, "openvino", o);
        return;
    }
    const int64_t dims[5] = {1, channels, 1, 1, 1};
    value_id scale = in(o, 1) != NO_VALUE ? in(o, 1) : weight(e, "weights", 2 + axes, dims);
    value_id shift = in(o, 2) != NO_VALUE ? in(o, 2) : weight(e, "biases", 2 + axes, dims);
    emit_2(e, "Add", emit_2(e, "Mul", in(o, 0), scale, NO_VALUE), shift, out(o));
}

static void map_norm(emitter *e, const named_op *o, const char *canonical)
{
    emit_int(emit_op(e, canonical, (const value_id[]){in(o, 0)}, 1, out(o)), "size", named_int(e, o, "local-size", 1));
}

static void map_gemm(emitter *e, const named_op *o, const char *canonical)
{
    value_id a = emit_turned(e, in(o, 0), named_true(e, o, "transpose_a"));
    value_id b = emit_turned(e, in(o, 1), named_true(e, o, "transpose_b"));
    value_id product = emit_2(e, canonical, a, b, in(o, 2) == NO_VALUE ? out(o) : NO_VALUE);
    if (in(o, 2) != NO_VALUE)
        emit_2(e, "Add", product, in(o, 2), out(o));
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const openvino_row ROWS[] = {
    {"Activation", map_activation, NULL},
    {"Convolution", map_conv, "Conv"},
    {"Copy", map_unary, "Identity"},
    {"Deconvolution", map_deconv, "ConvTranspose"},
    {"Eltwise", map_eltwise, NULL},
    {"Flatten", map_as_declared, "Reshape"},
    {"FullyConnected", map_fully_connected, NULL},
    {"Gemm", map_gemm, "MatMul"},
    {"Norm", map_norm, "LRN"},
    {"Permute", map_permute, NULL},
    {"Pooling", map_pooling, NULL},
    {"Power", map_power, NULL},
    {"ReLU", map_relu, NULL},
    {"Reshape", map_as_declared, "Reshape"},
    {"ScaleShift", map_scale_shift, NULL},
    {"Split", map_split, "Split"},
    {"Squeeze", map_as_declared, "Reshape"},
    {"Unsqueeze", map_as_declared, "Reshape"},
};

const openvino_row *openvino_old_rows(size_t *count)
{
    *count = sizeof ROWS / sizeof *ROWS;
    return ROWS;
}
