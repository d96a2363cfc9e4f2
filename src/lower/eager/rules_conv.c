/* rules_conv.c: convolutions, pooling, normalization, resizing. */
#include "lower/eager/eager.h"

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static void read_ints(eager *e, const char *name, int64_t *to, int rank, int64_t otherwise)
{
    int32_t count = 0;
    const int64_t *ints = node_attr_ints(e->node, name, &count);
    for (int i = 0; i < rank; i++)
        to[i] = ints && i < count ? ints[i] : otherwise;
}

/* Padding of one side: the larger half of uneven padding, which is also right if the file only states the output
 * size. */
static void read_padding(eager *e, kernel_window *w)
{
    int64_t pads[2 * MAX_WINDOW];
    read_ints(e, "pads", pads, 2 * w->rank, 0);
    bool is_same =
        str_starts(node_attr_string(e->node, "auto_pad", "NOTSET"), "SAME") && !node_is(e->node, "ConvTranspose");
    extent x = is_same ? tensor_extent(e, eager_input_of(e, 0)) : (extent){0};
    extent y = is_same ? eager_output_extent(e, 0) : (extent){0};
    for (int i = 0; i < w->rank; i++) {
        int64_t all = add_saturated(pads[i], pads[w->rank + i]);
        if (is_same && i + 2 < x.rank && i + 2 < y.rank) {
            int64_t reach =
                mul_wrapping(y.dims[i + 2] - 1, w->stride[i]) + mul_wrapping(w->size[i] - 1, w->dilation[i]);
            all = reach + 1 > x.dims[i + 2] ? reach + 1 - x.dims[i + 2] : 0;
        }
        w->padding[i] = all / 2 + all % 2;
    }
}

static kernel_window *new_window(eager *e, int rank, const int64_t *size)
{
    kernel_window *w = ARENA_NEW(e->arena, kernel_window);
    w->rank = (int8_t)(rank < MAX_WINDOW ? rank : MAX_WINDOW);
    for (int i = 0; i < w->rank; i++)
        w->size[i] = size[i];
    read_ints(e, "strides", w->stride, w->rank, 1);
    read_ints(e, "dilations", w->dilation, w->rank, 1);
    read_padding(e, w);
    w->groups = node_attr_int(e->node, "group", 1);
    w->groups = w->groups > 0 ? w->groups : 1;
    return w;
}

static kernel *last_kernel(eager *e)
{
    return &e->out->kernels.items[e->out->kernels.count - 1];
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

int64_t eager_convolution_macs(const extent *wide, const extent *weight)
{
    int64_t taps = 1, macs;
    for (int i = 1; i < weight->rank; i++)
        taps = mul_wrapping(taps, weight->dims[i]);
    return __builtin_mul_overflow(extent_elements(wide), taps, &macs) ? INT64_MAX : macs;
}

/* Appends a convolution. It runs channels last if the input or the weight is. It also launches copies to that layout
 * and the bias sum. */
tensor_id eager_convolution(eager *e, tensor_id x, tensor_id w, tensor_id bias, const kernel_window *window, extent *y)
{
    extent xx = tensor_extent(e, x), xw = tensor_extent(e, w);
    bool last = extent_suggests_channels_last(&xx) || extent_suggests_channels_last(&xw);
    if (last)
        extent_channels_last(y);
    else
        extent_contiguous(y);
    bool copies = last ? !extent_is_channels_last(&xx) : !extent_is_contiguous(&xx);
    dtype type = tensor_dtype(e, x);
    tensor_id made = eager_tensor_new(e, type, y);
    kernel *k = eager_launch(e, "convolution", (const tensor_id[]){x, w, bias}, 3, made, 0);
    k->window = window;
    const extent *wide = window->transposed ? &xx : y; /* The tensor whose every element meets the whole window. */
    k->macs = eager_convolution_macs(wide, &xw);
    k->flops = k->macs > INT64_MAX / 2 ? INT64_MAX : 2 * k->macs;
    if (copies) {
        if (last)
            extent_channels_last(&xx);
        else
            extent_contiguous(&xx);
        eager_launch(e, "clone", &x, 1, eager_tensor_new(e, type, &xx), KERNEL_HIDDEN);
    }
    if (bias != NO_TENSOR) {
        eager_launch(e, "add_", (const tensor_id[]){made, bias}, 2, made, KERNEL_HIDDEN | KERNEL_IN_PLACE);
        eager_count_flops(e, 1);
    }
    return made;
}

/* Operations that ONNX Runtime fuses into a convolution: a sum with another tensor, and an activation. */
static tensor_id finish_fused(eager *e, tensor_id y)
{
    static const struct {
        const char *name, *aten;
    } ACTIVATIONS[] = {{"Relu", "relu"},     {"Sigmoid", "sigmoid"},
                       {"Tanh", "tanh"},     {"LeakyRelu", "leaky_relu"},
                       {"Clip", "hardtanh"}, {"HardSigmoid", "hardsigmoid"}};
    if (eager_input_of(e, 3) != NO_TENSOR)
        y = eager_binary(e, "add", y, eager_input_of(e, 3));
    str activation = node_attr_string(e->node, "activation", "");
    for (size_t i = 0; i < sizeof ACTIVATIONS / sizeof *ACTIVATIONS; i++)
        if (str_is(activation, ACTIVATIONS[i].name))
            return eager_unary(e, ACTIVATIONS[i].aten, y);
    return y;
}

void lower_conv(eager *e)
{
    /* Quantized operators have scales and zero points between their inputs. */
    bool is_quantized = node_is(e->node, "QLinearConv");
    int at = is_quantized ? 3 : 1;
    tensor_id x = eager_input_of(e, 0), w = eager_input_of(e, at), bias = NO_TENSOR;
    if (!node_is(e->node, "ConvInteger"))
        bias = eager_input_of(e, is_quantized ? 8 : 2);
    if (x == NO_TENSOR || w == NO_TENSOR || eager_input_rank(e, at) < 3 ||
        eager_input_rank(e, at) != eager_input_rank(e, 0)) {
        lower_unknown(e);
        return;
    }
    x = eager_to_low(e, x);
    w = eager_to_low(e, w);
    bias = eager_to_low(e, bias);
    extent xw = tensor_extent(e, w);
    kernel_window *window = new_window(e, xw.rank - 2, xw.dims + 2);
    window->transposed = node_is(e->node, "ConvTranspose");
    extent y = eager_output_extent(e, 0);
    tensor_id made = eager_convolution(e, x, w, bias, window, &y);
    eager_set_result(e, 0, node_is(e->node, "FusedConv") ? finish_fused(e, made) : made);
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

static tensor_id like_input(eager *e, const char *op, tensor_id t, const extent *y)
{
    extent from = tensor_extent(e, t), x = *y;
    if (extent_suggests_channels_last(&from))
        extent_channels_last(&x);
    return eager_launch_new(e, op, &t, 1, tensor_dtype(e, t), &x);
}

/* True for AdaptiveAvgPool2d(n) where n divides the map: an average pool of adjacent windows. It has neither a Pad
 * nor a count mode, with which exporters write other average pools. */
static bool is_adaptive(eager *e, const kernel_window *w)
{
    const node *n = e->node;
    bool touches = node_is(n, "AveragePool") && !eager_maker_of(e, n->inputs[0], "Pad") &&
                   !node_attr_int(n, "ceil_mode", 0) && !node_attr_int(n, "count_include_pad", 0);
    extent x = tensor_extent(e, eager_input_of(e, 0));
    for (int i = 0; touches && i < w->rank; i++)
        touches = w->size[i] == w->stride[i] && w->padding[i] == 0 && w->size[i] > 0 && x.dims[2 + i] % w->size[i] == 0;
    return touches;
}

/* Views a row of positions (N, C, L) as a map of height 1, which is how PyTorch pools it. */
static tensor_id as_map(eager *e, tensor_id t)
{
    extent x = tensor_extent(e, t);
    if (x.rank != 3)
        return t;
    x.rank = 4;
    x.dims[3] = x.dims[2];
    x.strides[3] = x.strides[2];
    x.dims[2] = 1;
    x.strides[2] = mul_wrapping(x.dims[3], x.strides[3]);
    return eager_view_as(e, "unsqueeze", t, &x);
}

void lower_pool(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent y = eager_output_extent(e, 0);
    int rank = eager_input_rank(e, 0) - 2;
    if (rank < 1 || rank > MAX_WINDOW) {
        lower_unknown(e);
        return;
    }
    int64_t size[MAX_WINDOW];
    read_ints(e, "kernel_shape", size, rank, 1);
    kernel_window *window = new_window(e, rank, size);
    static const char *const MAX[] = {"max_pool1d", "max_pool2d_with_indices", "max_pool3d_with_indices"};
    static const char *const AVERAGE[] = {"avg_pool2d", "avg_pool2d", "avg_pool3d"};
    static const char *const ADAPTIVE_MAX[] = {"adaptive_max_pool2d", "adaptive_max_pool2d", "adaptive_max_pool3d"};
    static const char *const ADAPTIVE[] = {"_adaptive_avg_pool2d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"};
    bool is_max = node_is(e->node, "MaxPool");
    const char *op = is_max ? MAX[rank - 1] : AVERAGE[rank - 1];
    if (e->is_stated && rank == 1 && is_max)
        op = MAX[1];
    if (e->is_stated ? node_attr_int(e->node, "eager_adaptive", 0) != 0 : rank == 2 && is_adaptive(e, window))
        op = is_max ? ADAPTIVE_MAX[rank - 1] : ADAPTIVE[rank - 1];
    if (rank == 1 && (!is_max || e->is_stated)) {
        t = as_map(e, t);
        y = (extent){.rank = 4, .dims = {y.dims[0], y.dims[1], 1, y.dims[2]}};
        extent_contiguous(&y);
    }
    tensor_id made = like_input(e, op, t, &y);
    if (e->trains && node_is(e->node, "MaxPool")) { /* Positions of the maxima. */
        extent x = tensor_extent(e, made);
        eager_add_output(e, DT_INT64, &x);
    }
    last_kernel(e)->window = window;
    double taps = 1;
    for (int i = 0; i < rank; i++)
        taps *= (double)size[i];
    eager_count_flops(e, taps < 1e9 ? taps : 1e9);
    eager_set_result(e, 0, made);
}

/* AdaptiveAvgPool2d(1) runs as a mean whose result is channels last. A mean in the network's own code keeps the
 * layout. */
void lower_global_pool(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent y = eager_output_extent(e, 0);
    if (e->is_stated && y.rank == 3) {
        t = as_map(e, t);
        y = (extent){.rank = 4, .dims = {y.dims[0], y.dims[1], 1, 1}};
        extent_contiguous(&y);
    }
    extent from = tensor_extent(e, t);
    const char *op = node_is(e->node, "GlobalAveragePool") ? "mean"
                     : y.rank == 5                         ? "adaptive_max_pool3d"
                                                           : "adaptive_max_pool2d";
    tensor_id made = eager_launch_new(e, op, &t, 1, tensor_dtype(e, t), &y);
    last_kernel(e)->flops = extent_elements(&from);
    e->out->tensors.items[made].keeps_float = tensor_at(e, t)->keeps_float;
    if (extent_suggests_channels_last(&from) && y.rank == 4 && node_is(e->node, "GlobalAveragePool") &&
        !node_attr_int(e->node, "mean", 0)) {
        extent_channels_last(&y); /* The module sets the strides of its result. */
        made = eager_view_as(e, "as_strided_", made, &y);
    }
    eager_set_result(e, 0, made);
}

/* ---- normalisation ----------------------------------------------------------------------------------------------- */

/* Returns the one-dimensional weight of a norm, which exporters reshape for broadcasting over channels. */
static tensor_id row_of(eager *e, tensor_id t)
{
    if (t == NO_TENSOR || tensor_at(e, t)->rank < 2)
        return t;
    extent x = tensor_extent(e, t);
    return eager_reshape(e, t, 1, (const int64_t[]){extent_elements(&x)});
}

tensor_id eager_normalised(eager *e, const char *op, const tensor_id *inputs, int count, const extent *y)
{
    tensor_id made = eager_launch_new(e, op, inputs, count, tensor_dtype(e, inputs[0]), y);
    eager_count_flops(e, (double)e->node->op->flops_per_element);
    return made;
}

static tensor_id normalise(eager *e, const char *op, tensor_id t, const extent *y, int first_weight)
{
    tensor_id inputs[5] = {t};
    for (int i = 1; i < 5; i++)
        inputs[i] = row_of(e, first_weight + i - 1 < e->node->input_count ? eager_input_of(e, first_weight + i - 1)
                                                                          : NO_TENSOR);
    return eager_normalised(e, op, inputs, 5, y);
}

/* Adds mean and deviation, which are saved for the backward pass per channel or row. */
static void keep_statistics(eager *e, const extent *x)
{
    eager_add_output(e, DT_FLOAT32, x);
    eager_add_output(e, DT_FLOAT32, x);
}

/* Counts batches, for the running statistics. */
static void count_batch(eager *e)
{
    extent number = {.rank = 0};
    tensor_id counter = eager_tensor_new(e, DT_INT64, &number);
    e->out->tensors.items[counter].is_weight = true;
    eager_launch(e, "add_", &counter, 1, counter, KERNEL_IN_PLACE);
}

/* Lowers a batch norm; cuDNN runs it on a map with float32 statistics. */
void lower_batch_norm(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent from = tensor_extent(e, t), y = tensor_extent(e, t);
    bool last = extent_suggests_channels_last(&from);
    if (last)
        extent_channels_last(&y);
    else
        extent_contiguous(&y);
    if (last ? !extent_is_channels_last(&from) : !extent_is_contiguous(&from))
        t = eager_launch_new(e, "clone", &t, 1, tensor_dtype(e, t), &y);
    bool own = from.rank < 3 || e->options->precision == PRECISION_FP16 || e->options->precision == PRECISION_BF16 ||
               tensor_dtype(e, t) == DT_BFLOAT16;
    if (e->trains)
        count_batch(e);
    tensor_id made = normalise(e, own ? "native_batch_norm" : "cudnn_batch_norm", t, &y, 1);
    if (e->trains) {
        extent channels = {.rank = 1, .dims = {y.rank > 1 ? y.dims[1] : 1}};
        extent_contiguous(&channels);
        keep_statistics(e, &channels);
    }
    eager_set_result(e, 0, made);
}

/* True if a norm over the last dimension reads a map that PyTorch transposes for it. The exporter removed the
 * transposition and its inverse, but gradients are summed in the map's layout. */
static tensor_id through_map(eager *e)
{
    static const int64_t TO_MAP[] = {0, 3, 1, 2}, BACK[] = {0, 2, 3, 1};
    value_id v = e->node->inputs[0];
    const node *turn = eager_reader_of(e, v);
    int32_t count = 0;
    const int64_t *perm = turn && node_is(turn, "Transpose") ? node_attr_ints(turn, "perm", &count) : NULL;
    if (!e->trains || e->is_stated || !perm || count != 4 || memcmp(perm, TO_MAP, sizeof TO_MAP) != 0 ||
        eager_input_rank(e, 0) != 4 || e->of_value[turn->outputs[0]] == NO_TENSOR)
        return eager_input_of(e, 0);
    return eager_permute(e, e->of_value[turn->outputs[0]], BACK);
}

/* Returns the input of a norm, cast as autocast does. */
static tensor_id for_norm(eager *e, tensor_id t)
{
    lower_norms norms = e->options->norms;
    bool is_low = norms == NORMS_LOW || (norms == NORMS_LOW_MAPS && tensor_at(e, t)->rank == 4);
    return is_low ? eager_to_low(e, t) : eager_to_float(e, t);
}

void lower_layer_norm(eager *e)
{
    bool is_rms = !node_is(e->node, "LayerNormalization");
    tensor_id t = is_rms ? eager_to_float(e, through_map(e)) : for_norm(e, through_map(e));
    extent y = tensor_extent(e, t);
    extent_contiguous(&y);
    tensor_id made = normalise(e, is_rms ? "_fused_rms_norm" : "native_layer_norm", t, &y, 1);
    if (e->trains && y.rank > 0) {
        y.dims[y.rank - 1] = 1;
        extent_contiguous(&y);
        keep_statistics(e, &y);
    }
    eager_set_result(e, 0, made);
}

void lower_group_norm(eager *e)
{
    tensor_id t = for_norm(e, eager_input_of(e, 0));
    if (e->options->contiguous_norms)
        t = eager_contiguous(e, t);
    extent y = tensor_extent(e, t);
    if (extent_suggests_channels_last(&y))
        extent_channels_last(&y);
    else
        extent_contiguous(&y);
    tensor_id made = normalise(e, "native_group_norm", t, &y, 1);
    if (e->trains && y.rank > 0) {
        extent groups = {.rank = 2, .dims = {y.dims[0], node_attr_int(e->node, "num_groups", 1)}};
        extent_contiguous(&groups);
        keep_statistics(e, &groups);
    }
    eager_set_result(e, 0, made);
}

/* Lowers the standardization of a weight: a batch norm over a view of the weight with one channel per output
 * channel. */
void lower_weight_standardization(eager *e)
{
    tensor_id w = eager_input_of(e, 0);
    extent x = tensor_extent(e, w);
    if (x.rank < 2) {
        lower_unknown(e);
        return;
    }
    int64_t rest = 1;
    for (int i = 1; i < x.rank; i++)
        rest = mul_wrapping(rest, x.dims[i]);
    w = eager_reshape(e, w, 3, (const int64_t[]){1, x.dims[0], rest});
    extent y = tensor_extent(e, w);
    extent_contiguous(&y);
    tensor_id gain = eager_input_of(e, 1);
    if (gain == NO_TENSOR && e->has_gains) { /* The exporter folded the gain into the weight. */
        extent row = {.rank = x.rank, .dims = {x.dims[0]}};
        for (int i = 1; i < x.rank; i++)
            row.dims[i] = 1;
        extent_contiguous(&row);
        gain = eager_tensor_new(e, e->weight_dtype, &row);
        e->out->tensors.items[gain].is_weight = true;
    }
    if (gain != NO_TENSOR && tensor_at(e, gain)->rank == 1 && !e->has_gains) /* Ones inserted by the exporter. */
        gain = NO_TENSOR;
    if (gain != NO_TENSOR && tensor_at(e, gain)->rank == x.rank) /* PyTorch computes gain * scale first. */
        gain = eager_unary(e, "mul", gain);
    tensor_id inputs[2] = {w, row_of(e, gain)};
    w = eager_launch_new(e, "native_batch_norm", inputs, 2, tensor_dtype(e, w), &y);
    eager_count_flops(e, (double)e->node->op->flops_per_element);
    if (e->trains) {
        extent rows = {.rank = 1, .dims = {x.dims[0]}};
        extent_contiguous(&rows);
        keep_statistics(e, &rows);
    }
    eager_set_result(e, 0, eager_reshape(e, w, x.rank, x.dims));
}

/* ---- resizing ---------------------------------------------------------------------------------------------------- */

/* Autocast resizes in float32. */
void lower_resize(eager *e)
{
    tensor_id t = eager_to_float(e, eager_input_of(e, 0));
    extent y = eager_output_extent(e, 0);
    str mode = node_attr_string(e->node, "mode", "nearest");
    const char *op = str_is(mode, "linear")  ? "upsample_bilinear2d"
                     : str_is(mode, "cubic") ? "upsample_bicubic2d"
                                             : "upsample_nearest2d";
    if (node_attr_int(e->node, "antialias", 0))
        op = str_is(mode, "cubic") ? "_upsample_bicubic2d_aa" : "_upsample_bilinear2d_aa";
    eager_set_result(e, 0, like_input(e, op, t, &y));
    eager_count_flops(e, 4);
}
