/* keras_layers.c: maps Keras layers to canonical operators, one row per class. Recurrent layers are in
 * keras_recurrent.c, joins and operators in keras_ops.c, settings in keras_settings.c. */
#include "front/keras/keras.h"

/* ---- activations ----------------------------------------------------------------------------------------------- */

static void map_activation(keras_call *c, const char *unused)
{
    (void)unused;
    const json_node *activation = json_get(c->config, "activation");
    keras_activation(c, keras_activation_name(activation), json_get(activation, "config"), c->in[0], c->out);
}

/* ReLU(max_value, negative_slope, threshold) */
static void map_relu(keras_call *c, const char *unused)
{
    (void)unused;
    double most = keras_real(c, "max_value", -1), slope = keras_real(c, "negative_slope", 0);
    if (slope != 0)
        emit_real(emit_op(c->e, "LeakyRelu", c->in, 1, c->out), "alpha", slope);
    else if (most > 0)
        emit_clip(c->e, c->in[0], 0, most, c->out);
    else
        emit_1(c->e, "Relu", c->in[0], c->out);
}

static void map_alpha(keras_call *c, const char *canonical)
{
    node *n = emit_op(c->e, canonical, c->in, 1, c->out);
    emit_real(n, "alpha", keras_real(c, "alpha", keras_real(c, "negative_slope", keras_real(c, "theta", 1))));
}

static void map_softmax(keras_call *c, const char *canonical)
{
    emit_int(emit_op(c->e, canonical, c->in, 1, c->out), "axis", keras_int(c, "axis", NULL, -1));
}

/* A slope per element, except along shared axes. */
static void map_prelu(keras_call *c, const char *canonical)
{
    num dims[MAX_RANK];
    int64_t shared[MAX_RANK];
    int rank = keras_shape(c, c->in[0], dims), count = keras_ints(json_get(c->config, "shared_axes"), shared, MAX_RANK);
    for (int i = 0; i < count; i++)
        if (shared[i] > 0 && shared[i] < rank)
            dims[shared[i]] = 1;
    for (int i = 1; i < rank; i++)
        if (!dim_known(dims[i]))
            rank = 0;
    if (rank < 2)
        keras_foreign(c);
    else
        emit_2(c->e, canonical, c->in[0], keras_weight(c, "alpha", rank - 1, dims + 1), c->out);
}

static void map_same(keras_call *c, const char *canonical)
{
    emit_1(c->e, canonical, c->in[0], c->out);
}

/* ---- dense and embedding --------------------------------------------------------------------------------------- */

static void map_dense(keras_call *c, const char *unused)
{
    (void)unused;
    const json_node *activation = json_get(c->config, "activation");
    int64_t units = keras_int(c, "units", "output_dim", 0);
    num width = keras_dim(c, c->in[0], -1);
    if (!dim_known(width)) {
        keras_foreign(c);
        return;
    }
    bool has_bias = keras_bool(c, "use_bias", "bias", true);
    value_id y = keras_before(c, activation), kernel = keras_weight(c, "kernel", 2, (const int64_t[]){width, units});
    value_id product = emit_2(c->e, "MatMul", c->in[0], kernel, has_bias ? NO_VALUE : y);
    if (has_bias)
        emit_2(c->e, "Add", product, keras_weight(c, "bias", 1, &units), y);
    keras_activate(c, activation, y);
}

static void map_embedding(keras_call *c, const char *canonical)
{
    int64_t dims[2] = {keras_int(c, "input_dim", NULL, 0), keras_int(c, "output_dim", NULL, 0)};
    value_id index = c->in[0];
    emit_2(c->e, canonical, keras_weight(c, "embeddings", 2, dims), emit_cast(c->e, index, DT_INT32, NO_VALUE), c->out);
}

/* ---- convolution ----------------------------------------------------------------------------------------------- */

static emit_window conv_window(keras_call *c, int axes)
{
    emit_window w = {.axes = axes, .group = 1, .channels_first = keras_channels_first(c)};
    str padding = keras_text(c, "padding", "border_mode");
    keras_per_axis(c, "strides", axes == 1 ? "subsample_length" : "subsample", axes, 1, w.strides);
    keras_per_axis(c, "dilation_rate", "atrous_rate", axes, 1, w.dilations);
    if (json_get(c->config, "kernel_size")) {
        keras_per_axis(c, "kernel_size", NULL, axes, 1, w.kernel);
    } else { /* Keras 1 */
        static const char *const NAMES[] = {"nb_row", "nb_col", "kernel_dim3"};
        for (int i = 0; i < axes; i++)
            w.kernel[i] = axes == 1   ? keras_int(c, "filter_length", NULL, 1)
                          : axes == 3 ? keras_int(c,
                                                  i == 0   ? "kernel_dim1"
                                                  : i == 1 ? "kernel_dim2"
                                                           : NAMES[2],
                                                  NULL, 1)
                                      : keras_int(c, NAMES[i], NULL, 1);
    }
    w.padding = str_is(padding, "same") ? EMIT_SAME : EMIT_VALID;
    if (str_is(padding, "causal") && axes == 1) {
        w.padding = EMIT_PADS;
        int64_t reach;
        if (w.kernel[0] > 0 && !__builtin_mul_overflow(w.kernel[0] - 1, w.dilations[0], &reach))
            w.pads[0] = reach;
    }
    return w;
}

static num channels_of(keras_call *c)
{
    return keras_dim(c, c->in[0], keras_channels_first(c) ? 1 : -1);
}

static value_id conv_bias(keras_call *c, int64_t filters)
{
    return keras_bool(c, "use_bias", "bias", true) ? keras_weight(c, "bias", 1, &filters) : NO_VALUE;
}

/* (M, C/group, kernel…) */
static value_id conv_kernel(keras_call *c, const char *name, const emit_window *w, int64_t first, int64_t second)
{
    int64_t dims[5] = {first, second};
    memcpy(dims + 2, w->kernel, (size_t)w->axes * sizeof *dims);
    return keras_weight(c, name, w->axes + 2, dims);
}

static void convolve(keras_call *c, int axes)
{
    const json_node *activation = json_get(c->config, "activation");
    emit_window w = conv_window(c, axes);
    num channels = channels_of(c);
    int64_t filters = keras_int(c, "filters", "nb_filter", 0);
    w.group = keras_int(c, "groups", NULL, 1);
    w.group = w.group > 0 ? w.group : 1;
    if (!dim_known(channels)) {
        keras_foreign(c);
        return;
    }
    value_id y = keras_before(c, activation);
    emit_conv(c->e, "Conv", c->in[0], conv_kernel(c, "kernel", &w, filters, channels / w.group), conv_bias(c, filters),
              &w, y);
    keras_activate(c, activation, y);
}

static void map_conv_1d(keras_call *c, const char *unused)
{
    (void)unused;
    convolve(c, 1);
}

static void map_conv_2d(keras_call *c, const char *unused)
{
    (void)unused;
    convolve(c, 2);
}

static void map_conv_3d(keras_call *c, const char *unused)
{
    (void)unused;
    convolve(c, 3);
}

/* Output size of a transposed convolution in Keras: SAME gives size·stride; VALID gives that plus max(kernel -
 * stride, 0). */
static void transposed(keras_call *c, int axes)
{
    const json_node *activation = json_get(c->config, "activation");
    emit_window w = conv_window(c, axes);
    num channels = channels_of(c), dims[MAX_RANK];
    int64_t filters = keras_int(c, "filters", "nb_filter", 0), output[3], extra[3];
    if (!dim_known(channels)) {
        keras_foreign(c);
        return;
    }
    int rank = keras_shape(c, c->in[0], dims), extras = keras_ints(json_get(c->config, "output_padding"), extra, 3);
    bool is_known = rank == axes + 2;
    for (int i = 0; i < axes && is_known; i++) {
        num size = dims[(w.channels_first ? 2 : 1) + i];
        is_known = dim_known(size) && size < 1 << 24 && w.kernel[i] < 1 << 16 && w.strides[i] < 1 << 16;
        if (!is_known)
            break;
        int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
        if (extras == axes)
            output[i] = (size - 1) * w.strides[i] + reach - (w.padding == EMIT_SAME ? 2 * (reach / 2) : 0) + extra[i];
        else
            output[i] = w.padding == EMIT_SAME
                            ? size * w.strides[i]
                            : size * w.strides[i] + (reach > w.strides[i] ? reach - w.strides[i] : 0);
    }
    value_id y = keras_before(c, activation);
    value_id kernel = conv_kernel(c, "kernel", &w, channels, filters);
    node *n = emit_conv(c->e, "ConvTranspose", c->in[0], kernel, conv_bias(c, filters), &w, y);
    if (is_known)
        emit_ints(c->e, n, "output_shape", output, axes);
    keras_activate(c, activation, y);
}

static void map_conv_1d_transpose(keras_call *c, const char *unused)
{
    (void)unused;
    transposed(c, 1);
}

static void map_conv_2d_transpose(keras_call *c, const char *unused)
{
    (void)unused;
    transposed(c, 2);
}

static void map_conv_3d_transpose(keras_call *c, const char *unused)
{
    (void)unused;
    transposed(c, 3);
}

static void depthwise(keras_call *c, int axes)
{
    const json_node *activation = json_get(c->config, "activation");
    emit_window w = conv_window(c, axes);
    num channels = channels_of(c);
    int64_t filters;
    if (!dim_known(channels) || __builtin_mul_overflow(channels, keras_int(c, "depth_multiplier", NULL, 1), &filters)) {
        keras_foreign(c);
        return;
    }
    w.group = channels;
    value_id y = keras_before(c, activation);
    emit_conv(c->e, "Conv", c->in[0], conv_kernel(c, "depthwise_kernel", &w, filters, 1), conv_bias(c, filters), &w, y);
    keras_activate(c, activation, y);
}

static void map_depthwise_1d(keras_call *c, const char *unused)
{
    (void)unused;
    depthwise(c, 1);
}

static void map_depthwise_2d(keras_call *c, const char *unused)
{
    (void)unused;
    depthwise(c, 2);
}

static void separable(keras_call *c, int axes)
{
    const json_node *activation = json_get(c->config, "activation");
    emit_window w = conv_window(c, axes);
    num channels = channels_of(c);
    int64_t inner, filters = keras_int(c, "filters", "nb_filter", 0);
    if (!dim_known(channels) || __builtin_mul_overflow(channels, keras_int(c, "depth_multiplier", NULL, 1), &inner)) {
        keras_foreign(c);
        return;
    }
    emit_window point = {.axes = axes,
                         .kernel = {1, 1, 1},
                         .strides = {1, 1, 1},
                         .dilations = {1, 1, 1},
                         .padding = EMIT_VALID,
                         .group = 1,
                         .channels_first = w.channels_first};
    w.group = channels;
    value_id kernel = conv_kernel(c, "depthwise_kernel", &w, inner, 1);
    value_id x = emit_conv(c->e, "Conv", c->in[0], kernel, NO_VALUE, &w, NO_VALUE)->outputs[0];
    value_id y = keras_before(c, activation);
    emit_conv(c->e, "Conv", x, conv_kernel(c, "pointwise_kernel", &point, filters, inner), conv_bias(c, filters),
              &point, y);
    keras_activate(c, activation, y);
}

static void map_separable_1d(keras_call *c, const char *unused)
{
    (void)unused;
    separable(c, 1);
}

static void map_separable_2d(keras_call *c, const char *unused)
{
    (void)unused;
    separable(c, 2);
}

/* ---- pooling --------------------------------------------------------------------------------------------------- */

static void pool(keras_call *c, int axes, const char *canonical)
{
    emit_window w = {.axes = axes, .group = 1, .dilations = {1, 1, 1}, .channels_first = keras_channels_first(c)};
    keras_per_axis(c, "pool_size", axes == 1 ? "pool_length" : NULL, axes, 2, w.kernel);
    memcpy(w.strides, w.kernel, sizeof w.strides);
    const json_node *strides = json_get(c->config, "strides");
    if (!json_is_null(strides) || !json_is_null(json_get(c->config, "stride")))
        keras_per_axis(c, "strides", "stride", axes, 1, w.strides);
    w.padding = str_is(keras_text(c, "padding", "border_mode"), "same") ? EMIT_SAME : EMIT_VALID;
    emit_pool(c->e, canonical, c->in[0], &w, c->out);
}

static void map_pool_1d(keras_call *c, const char *canonical)
{
    pool(c, 1, canonical);
}

static void map_pool_2d(keras_call *c, const char *canonical)
{
    pool(c, 2, canonical);
}

static void map_pool_3d(keras_call *c, const char *canonical)
{
    pool(c, 3, canonical);
}

/* Pools over all axes but the batch and the channels. */
static void map_global_pool(keras_call *c, const char *canonical)
{
    num dims[MAX_RANK];
    int rank = keras_shape(c, c->in[0], dims);
    int axes = str_ends(c->class_name, "1D") ? 1 : str_ends(c->class_name, "3D") ? 3 : 2;
    int64_t list[3];
    (void)rank;
    for (int i = 0; i < axes; i++)
        list[i] = (keras_channels_first(c) ? 2 : 1) + i;
    emit_reduce(c->e, canonical, c->in[0], emit_list(c->e, list, axes), keras_bool(c, "keepdims", NULL, false), c->out);
}

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

static void map_flatten(keras_call *c, const char *canonical)
{
    emit_int(emit_op(c->e, canonical, c->in, 1, c->out), "axis", 1);
}

static void map_reshape(keras_call *c, const char *unused)
{
    (void)unused;
    int64_t dims[MAX_RANK] = {0}; /* 0 keeps the batch */
    int count = keras_ints(keras_setting(c, "target_shape", "dims"), dims + 1, MAX_RANK - 1);
    emit_reshaped(c->e, c->in[0], dims, count + 1, c->out);
}

static void map_permute(keras_call *c, const char *unused)
{
    (void)unused;
    int64_t perm[MAX_RANK] = {0};
    int count = keras_ints(json_get(c->config, "dims"), perm + 1, MAX_RANK - 1);
    emit_transpose(c->e, c->in[0], perm, count + 1, c->out);
}

/* (N, C) → (N, n, C) */
static void map_repeat(keras_call *c, const char *unused)
{
    (void)unused;
    value_id row = emit_unsqueeze(c->e, c->in[0], (const int64_t[]){1}, 1, NO_VALUE);
    emit_2(c->e, "Tile", row, emit_list(c->e, (const int64_t[]){1, keras_int(c, "n", NULL, 1), 1}, 3), c->out);
}

static int spatial_axes(const keras_call *c)
{
    return str_ends(c->class_name, "1D") ? 1 : str_ends(c->class_name, "3D") ? 3 : 2;
}

/* Reads (before, after) per axis: one number for all, one number per axis, or pairs. */
static void read_pairs(const keras_call *c, const char *name, int axes, int64_t *begins, int64_t *ends)
{
    const json_node *n = json_get(c->config, name);
    bool is_pair_1d = axes == 1 && json_is(n, JSON_ARRAY) && n->count == 2;
    bool has_four = axes == 2 && json_is(n, JSON_ARRAY) && n->count == 4; /* Keras 1: top, bottom, left, right */
    for (int i = 0; i < axes; i++) {
        const json_node *x = json_is(n, JSON_ARRAY) ? json_at(n, i) : n;
        begins[i] = ends[i] = json_int(x, 0);
        if (json_is(x, JSON_ARRAY)) {
            begins[i] = json_int(json_at(x, 0), 0);
            ends[i] = json_int(json_at(x, 1), 0);
        } else if (is_pair_1d || has_four) {
            begins[i] = json_int(json_at(n, 2 * i), 0);
            ends[i] = json_int(json_at(n, 2 * i + 1), 0);
        }
    }
}

static void map_zero_padding(keras_call *c, const char *canonical)
{
    int axes = spatial_axes(c);
    int64_t pads[6], list[3];
    read_pairs(c, "padding", axes, pads, pads + axes);
    for (int i = 0; i < axes; i++)
        list[i] = (keras_channels_first(c) ? 2 : 1) + i;
    value_id inputs[] = {c->in[0], emit_list(c->e, pads, 2 * axes), NO_VALUE, emit_list(c->e, list, axes)};
    emit_op(c->e, canonical, inputs, 4, c->out);
}

static void map_cropping(keras_call *c, const char *canonical)
{
    int axes = spatial_axes(c);
    int64_t starts[3], ends[3], list[3];
    read_pairs(c, "cropping", axes, starts, ends);
    for (int i = 0; i < axes; i++) {
        list[i] = (keras_channels_first(c) ? 2 : 1) + i;
        ends[i] = ends[i] > 0 ? -ends[i] : INT64_MAX;
    }
    value_id inputs[] = {c->in[0], emit_list(c->e, starts, axes), emit_list(c->e, ends, axes),
                         emit_list(c->e, list, axes)};
    emit_op(c->e, canonical, inputs, 4, c->out);
}

static void map_up_sampling(keras_call *c, const char *canonical)
{
    int axes = spatial_axes(c);
    int64_t size[3], list[3];
    keras_per_axis(c, "size", "length", axes, 2, size);
    float scales[3];
    for (int i = 0; i < axes; i++) {
        list[i] = (keras_channels_first(c) ? 2 : 1) + i;
        scales[i] = (float)size[i];
    }
    bool is_linear_mode = str_is(keras_text(c, "interpolation", NULL), "bilinear");
    value_id factors = emit_reals(c->e, scales, axes);
    node *n = emit_op(c->e, canonical, (const value_id[]){c->in[0], NO_VALUE, factors}, 3, c->out);
    emit_text(n, "mode", is_linear_mode ? STR("linear") : STR("nearest"));
    emit_ints(c->e, n, "axes", list, axes);
    if (!keras_channels_first(c))
        emit_int(n, "channels_last", 1);
}

static void map_resizing(keras_call *c, const char *unused)
{
    (void)unused;
    value_id size =
        emit_list(c->e, (const int64_t[]){keras_int(c, "height", NULL, 1), keras_int(c, "width", NULL, 1)}, 2);
    str mode = keras_text(c, "interpolation", NULL);
    emit_resize(c->e,
                str_is(mode, "nearest")   ? "nearest"
                : str_is(mode, "bicubic") ? "cubic"
                                          : "linear",
                c->in[0], size, keras_channels_first(c), c->out);
}

/* ---- wrappers and others ----------------------------------------------------------------------------------------- */

/* Python code is not run. Without a shape in the file, its result is assumed to have the input's shape. */
static void map_lambda(keras_call *c, const char *unused)
{
    (void)unused;
    builder *b = c->e->b;
    num dims[MAX_RANK];
    int rank = keras_shape(c, c->in[0], dims);
    if (!build_at(b, c->out)->is_declared && rank >= 1) {
        for (int i = 0; i < rank; i++)
            if (!dim_known(dims[i]))
                dims[i] = i == 0 ? num_symbol(&b->source->symbols, STR("N")) : NUM_UNKNOWN;
        build_type(b, c->out, DT_FLOAT32, rank, dims);
        *(str *)ARENA_PUSH(b->arena, &b->source->notes) = arena_printf(
            b->arena, "layer '%.*s' is a Lambda, whose code is not read: it is assumed to keep the shape of its input",
            STR_ARG(c->path));
    }
    keras_foreign(c);
}

/* An unshared convolution: each position has its own weights. */
static void map_locally_connected(keras_call *c, const char *unused)
{
    (void)unused;
    emitter *e = c->e;
    const json_node *activation = json_get(c->config, "activation");
    emit_window w = conv_window(c, str_ends(c->class_name, "1D") ? 1 : 2);
    num channels = channels_of(c);
    int64_t filters = keras_int(c, "filters", "nb_filter", 0), taps = channels, places = 1, dims[4] = {0};
    bool is_known = dim_known(channels) && !keras_channels_first(c);
    for (int i = 0; i < w.axes && is_known; i++) {
        num size = keras_dim(c, c->in[0], 1 + i);
        is_known = dim_known(size) && size >= w.kernel[i] && size < 1 << 20 && w.kernel[i] < 1 << 16;
        dims[1 + i] = is_known ? (size - w.kernel[i]) / w.strides[i] + 1 : 1;
        is_known = is_known && !__builtin_mul_overflow(places, dims[1 + i], &places) &&
                   !__builtin_mul_overflow(taps, w.kernel[i], &taps);
    }
    if (!is_known) {
        keras_foreign(c);
        return;
    }
    dims[1 + w.axes] = filters;
    value_id kernel = keras_weight(c, "kernel", 3, (const int64_t[]){places, taps, filters});
    value_id rows = emit_local_product(e, c->in[0], kernel, places, taps);
    bool has_bias = keras_bool(c, "use_bias", "bias", true);
    value_id y = keras_before(c, activation);
    value_id map = emit_reshaped(e, rows, dims, w.axes + 2, has_bias ? NO_VALUE : y);
    if (has_bias)
        emit_2(e, "Add", map, keras_weight(c, "bias", w.axes + 1, dims + 1), y);
    keras_activate(c, activation, y);
}

/* Applies a layer to all steps of a sequence at once, as rows. */
static void map_time_distributed(keras_call *c, const char *unused)
{
    (void)unused;
    emitter *e = c->e;
    const json_node *wrapped = json_get(c->config, "layer");
    num dims[MAX_RANK], inner_dims[MAX_RANK];
    int rank = keras_shape(c, c->in[0], dims);
    keras_call inner = *c;
    inner.class_name = json_text(json_get(wrapped, "class_name"));
    inner.config = json_get(wrapped, "config");
    if (rank < 3 || !inner.config) {
        if (rank >= 0 && inner.config && str_is(inner.class_name, "Dense")) {
            keras_layer(&inner);
            return;
        }
        keras_foreign(c);
        return;
    }
    if (str_is(inner.class_name, "Dense") || str_is(inner.class_name, "Activation") ||
        str_is(inner.class_name, "Dropout")) {
        keras_layer(&inner); /* these layers work on the last axis anyway */
        return;
    }
    int64_t target[MAX_RANK] = {-1};
    for (int i = 2; i < rank; i++)
        target[i - 1] = dim_known(dims[i]) ? dims[i] : -1;
    value_id rows = emit_reshaped(e, c->in[0], target, rank - 1, NO_VALUE), results[KERAS_MAX_RESULTS];
    inner.in = &rows;
    inner.in_count = 1;
    inner.out = emit_temp(e);
    inner.results = results;
    bool is_nested = json_is(json_get(inner.config, "layers"), JSON_ARRAY) || json_is(inner.config, JSON_ARRAY);
    if (is_nested)
        keras_model(&inner);
    else
        keras_layer(&inner);
    e->name = c->path;
    int inner_rank = keras_shape(&inner, inner.out, inner_dims);
    target[0] = -1;
    target[1] = dim_known(dims[1]) ? dims[1] : 1;
    for (int i = 1; i < inner_rank && i + 1 < MAX_RANK; i++)
        target[i + 1] = dim_known(inner_dims[i]) ? inner_dims[i] : 1;
    emit_reshaped(e, inner.out, target, inner_rank < 1 ? 2 : inner_rank + 1, c->out);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

typedef struct keras_row {
    const char *class_name;
    void (*map)(keras_call *c, const char *canonical);
    const char *canonical;
} keras_row;

static const keras_row ROWS[] = {
    {"Activation", map_activation, NULL},
    {"ActivityRegularization", map_same, "Identity"},
    {"AlphaDropout", map_same, "Identity"},
    {"AtrousConvolution2D", map_conv_2d, NULL},
    {"AveragePooling1D", map_pool_1d, "AveragePool"},
    {"AveragePooling2D", map_pool_2d, "AveragePool"},
    {"AveragePooling3D", map_pool_3d, "AveragePool"},
    {"BatchNormalization", keras_batch_norm, "BatchNormalization"},
    {"CenterCrop", map_resizing, NULL},
    {"Conv1D", map_conv_1d, NULL},
    {"Conv1DTranspose", map_conv_1d_transpose, NULL},
    {"Conv2D", map_conv_2d, NULL},
    {"Conv2DTranspose", map_conv_2d_transpose, NULL},
    {"Conv3D", map_conv_3d, NULL},
    {"Conv3DTranspose", map_conv_3d_transpose, NULL},
    {"Convolution1D", map_conv_1d, NULL},
    {"Convolution2D", map_conv_2d, NULL},
    {"Convolution3D", map_conv_3d, NULL},
    {"Cropping1D", map_cropping, "Slice"},
    {"Cropping2D", map_cropping, "Slice"},
    {"Cropping3D", map_cropping, "Slice"},
    {"Deconvolution2D", map_conv_2d_transpose, NULL},
    {"Dense", map_dense, NULL},
    {"DepthwiseConv1D", map_depthwise_1d, NULL},
    {"DepthwiseConv2D", map_depthwise_2d, NULL},
    {"Dropout", map_same, "Identity"},
    {"ELU", map_alpha, "Elu"},
    {"Embedding", map_embedding, "Gather"},
    {"Flatten", map_flatten, "Flatten"},
    {"GaussianDropout", map_same, "Identity"},
    {"GaussianNoise", map_same, "Identity"},
    {"GlobalAveragePooling1D", map_global_pool, "ReduceMean"},
    {"GlobalAveragePooling2D", map_global_pool, "ReduceMean"},
    {"GlobalAveragePooling3D", map_global_pool, "ReduceMean"},
    {"GlobalMaxPooling1D", map_global_pool, "ReduceMax"},
    {"GlobalMaxPooling2D", map_global_pool, "ReduceMax"},
    {"GlobalMaxPooling3D", map_global_pool, "ReduceMax"},
    {"GroupNormalization", keras_group_norm, "GroupNormalization"},
    {"Identity", map_same, "Identity"},
    {"Lambda", map_lambda, NULL},
    {"LayerNormalization", keras_layer_norm, "LayerNormalization"},
    {"LayerScale", keras_layer_scale, NULL},
    {"LeakyReLU", map_alpha, "LeakyRelu"},
    {"LocallyConnected1D", map_locally_connected, NULL},
    {"LocallyConnected2D", map_locally_connected, NULL},
    {"Masking", map_same, "Identity"},
    {"MaxPooling1D", map_pool_1d, "MaxPool"},
    {"MaxPooling2D", map_pool_2d, "MaxPool"},
    {"MaxPooling3D", map_pool_3d, "MaxPool"},
    {"Normalization", keras_normalization, NULL},
    {"PReLU", map_prelu, "PRelu"},
    {"Permute", map_permute, NULL},
    {"RMSNormalization", keras_rms_norm, "RMSNormalization"},
    {"RandomContrast", map_same, "Identity"},
    {"RandomFlip", map_same, "Identity"},
    {"RandomRotation", map_same, "Identity"},
    {"RandomZoom", map_same, "Identity"},
    {"ReLU", map_relu, NULL},
    {"RepeatVector", map_repeat, NULL},
    {"Rescaling", keras_rescaling, NULL},
    {"Reshape", map_reshape, NULL},
    {"Resizing", map_resizing, NULL},
    {"SeparableConv1D", map_separable_1d, NULL},
    {"SeparableConv2D", map_separable_2d, NULL},
    {"SeparableConvolution2D", map_separable_2d, NULL},
    {"Softmax", map_softmax, "Softmax"},
    {"SpatialDropout1D", map_same, "Identity"},
    {"SpatialDropout2D", map_same, "Identity"},
    {"SpatialDropout3D", map_same, "Identity"},
    {"StochasticDepth", map_same, "Identity"},
    {"ThresholdedReLU", map_alpha, "ThresholdedRelu"},
    {"TimeDistributed", map_time_distributed, NULL},
    {"TimeDistributedDense", map_dense, NULL},
    {"UpSampling1D", map_up_sampling, "Resize"},
    {"UpSampling2D", map_up_sampling, "Resize"},
    {"UpSampling3D", map_up_sampling, "Resize"},
    {"ZeroPadding1D", map_zero_padding, "Pad"},
    {"ZeroPadding2D", map_zero_padding, "Pad"},
    {"ZeroPadding3D", map_zero_padding, "Pad"},
};

/* "package>Class" and "keras.layers.Class" → "Class". */
static str plain_class(str name)
{
    for (size_t i = name.len; i > 0; i--)
        if (name.ptr[i - 1] == '>' || name.ptr[i - 1] == '.')
            return (str){name.ptr + i, name.len - i};
    return name;
}

void keras_layer(keras_call *c)
{
    c->class_name = plain_class(c->class_name);
    if (c->in_count < 1 || c->in[0] == NO_VALUE) {
        keras_foreign(c);
        return;
    }
    if (keras_operator(c) || keras_recurrent(c))
        return;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (str_is(c->class_name, ROWS[i].class_name)) {
            ROWS[i].map(c, ROWS[i].canonical);
            return;
        }
    if (!keras_compound(c))
        keras_foreign(c);
}
