/* torch_aten_nn.c: ATen's convolutions, products, norms, pools, resizing, attention. */
#include "front/torch/torch.h"

enum { MAX_SPATIAL = 3 };

static bool is_none(torch_call *c, int i)
{
    return c->args[i].kind == TORCH_NONE;
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

typedef struct window {
    int spatial;
    int64_t strides[MAX_SPATIAL], dilations[MAX_SPATIAL], output_padding[MAX_SPATIAL];
    int64_t pads[2 * MAX_SPATIAL]; /* all starts, then all ends */
    int64_t groups;
    bool transposed;
} window;

/* Reads the padding. "same" pads as much as the window needs, with the larger half at the end. */
static bool read_padding(torch_call *c, int i, value_id weight, window *w)
{
    if (c->args[i].kind != TORCH_TEXT) {
        if (!torch_arg_sizes(c, i, w->pads, w->spatial, 0))
            return false;
        memcpy(w->pads + w->spatial, w->pads, (size_t)w->spatial * sizeof *w->pads);
        return true;
    }
    for (int k = 0; k < w->spatial; k++) {
        num kernel = torch_dim(c->torch, weight, k + 2);
        if (!dim_known(kernel) || kernel > INT32_MAX || w->dilations[k] > INT32_MAX)
            return false;
        int64_t total = str_is(c->args[i].text, "same") ? w->dilations[k] * (kernel - 1) : 0;
        w->pads[k] = total / 2;
        w->pads[k + w->spatial] = total - total / 2;
    }
    return true;
}

static value_id emit_conv(torch *t, value_id x, value_id weight, value_id bias, const window *w)
{
    bool unbatched = torch_rank(t, x) == w->spatial + 1;
    if (unbatched)
        x = torch_unsqueeze(t, x, 0);
    torch_node n = torch_begin(t, w->transposed ? "ConvTranspose" : "Conv");
    torch_in(&n, x);
    torch_in(&n, weight);
    torch_in(&n, bias);
    torch_attr_ints(&n, "strides", w->strides, w->spatial);
    torch_attr_ints(&n, "dilations", w->dilations, w->spatial);
    torch_attr_ints(&n, "pads", w->pads, 2 * w->spatial);
    torch_attr_int(&n, "group", w->groups);
    int64_t kernel[MAX_SPATIAL];
    bool known = true;
    for (int k = 0; k < w->spatial; k++) {
        kernel[k] = torch_dim(t, weight, k + 2);
        known = known && dim_known(kernel[k]);
    }
    if (known)
        torch_attr_ints(&n, "kernel_shape", kernel, w->spatial);
    if (w->transposed)
        torch_attr_ints(&n, "output_padding", w->output_padding, w->spatial);
    value_id y = torch_end(&n);
    return unbatched ? torch_squeeze(t, y, 0) : y;
}

/* Maps a convolution, given the positions of the arguments after input, weight and bias. */
static void conv(torch_call *c, int stride, int padding, int dilation, int transposed, int output_padding, int groups)
{
    value_id x = torch_arg_tensor(c, 0), weight = torch_arg_tensor(c, 1);
    window w = {.spatial = torch_rank(c->torch, weight) - 2};
    bool known = w.spatial >= 1 && w.spatial <= MAX_SPATIAL && x != NO_VALUE;
    w.groups = torch_arg_int(c, groups, 1);
    w.transposed = transposed < 0 || (transposed > 0 && torch_arg_bool(c, transposed, false));
    if (known) {
        num own = torch_dim(c->torch, weight, w.transposed ? 0 : 1);
        num channels = w.transposed ? own : num_mul(c->torch->nums, own, w.groups);
        torch_expect(c->torch, x, torch_at(c->torch, weight)->dtype, w.spatial + 2, dim_known(channels) ? channels : 0);
    }
    known = known && torch_arg_sizes(c, stride, w.strides, w.spatial, 1) &&
            torch_arg_sizes(c, dilation, w.dilations, w.spatial, 1) && read_padding(c, padding, weight, &w) &&
            num_known(w.groups) &&
            (!w.transposed || torch_arg_sizes(c, output_padding, w.output_padding, w.spatial, 0));
    if (known)
        torch_return(c, emit_conv(c->torch, x, weight, torch_arg_tensor(c, 2), &w));
    else
        torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
}

static void rule_conv(torch_call *c)
{
    conv(c, 3, 4, 5, 0, 0, 6);
}

static void rule_convolution(torch_call *c)
{
    conv(c, 3, 4, 5, 6, 7, 8);
}

static void rule_conv_transpose(torch_call *c)
{
    conv(c, 3, 4, 7, -1, 5, 6);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static value_id turned(torch *t, value_id matrix)
{
    return torch_transpose(t, matrix, (int64_t[]){1, 0}, 2);
}

static value_id emit_gemm(torch *t, value_id a, value_id b, value_id sum, double alpha, double beta, bool turn_b)
{
    torch_node n = torch_begin(t, "Gemm");
    torch_in(&n, a);
    torch_in(&n, b);
    torch_in(&n, sum);
    if (turn_b)
        torch_attr_int(&n, "transB", 1);
    if (alpha != 1)
        torch_attr_real(&n, "alpha", alpha);
    if (beta != 1)
        torch_attr_real(&n, "beta", beta);
    return torch_end(&n);
}

static void rule_linear(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), weight = torch_arg_tensor(c, 1), bias = torch_arg_tensor(c, 2);
    if (weight != NO_VALUE)
        torch_expect(t, x, torch_at(t, weight)->dtype, 0, 0);
    if (x == NO_VALUE || weight == NO_VALUE) {
        torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
    } else if (torch_rank(t, x) == 2 && torch_rank(t, weight) == 2) {
        torch_return(c, emit_gemm(t, x, weight, bias, 1, 1, true));
    } else {
        value_id product = torch_emit2(t, "MatMul", x, torch_rank(t, weight) == 2 ? turned(t, weight) : weight);
        torch_return(c, bias == NO_VALUE ? product : torch_emit2(t, "Add", product, bias));
    }
}

static void rule_addmm(torch_call *c)
{
    torch_return(c, emit_gemm(c->torch, torch_arg_tensor(c, 1), torch_arg_tensor(c, 2), torch_arg_tensor(c, 0),
                              torch_arg_real(c, 4, 1), torch_arg_real(c, 3, 1), false));
}

static void rule_baddbmm(torch_call *c)
{
    torch *t = c->torch;
    value_id product = torch_emit2(t, "MatMul", torch_arg_tensor(c, 1), torch_arg_tensor(c, 2));
    if (torch_arg_real(c, 4, 1) != 1)
        product = torch_emit2(t, "Mul", product, torch_operand(t, c->args[4], torch_at(t, product)->dtype));
    torch_return(c, torch_arg_real(c, 3, 1) == 0 ? product : torch_emit2(t, "Add", product, torch_arg_tensor(c, 0)));
}

static void rule_matmul(torch_call *c)
{
    torch_return(c, torch_emit2(c->torch, "MatMul", torch_arg_tensor(c, 0), torch_arg_tensor(c, 1)));
}

static void rule_einsum(torch_call *c)
{
    torch_node n = torch_begin(c->torch, "Einsum");
    for (int32_t i = 0; torch_is_list(c->args[1]) && i < c->args[1].list->count; i++)
        torch_in(&n, torch_operand(c->torch, c->args[1].list->items[i], DT_UNKNOWN));
    torch_attr_text(&n, "equation", c->args[0].kind == TORCH_TEXT ? c->args[0].text : STR(""));
    torch_return(c, torch_end(&n));
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

/* Returns computed ones and zeros for missing scales and offsets; these are not parameters. */
static value_id or_filled(torch_call *c, int i, num size, double x, dtype type)
{
    value_id given = torch_arg_tensor(c, i);
    return given == NO_VALUE ? torch_filled(c->torch, &size, 1, x, type) : given;
}

static void batch_norm(torch_call *c, int mean, int variance, double eps)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num channels = torch_dim(t, x, 1);
    dtype type = torch_at(t, x)->dtype;
    torch_node n = torch_begin(t, "BatchNormalization");
    torch_in(&n, x);
    torch_in(&n, or_filled(c, 1, channels, 1, type));
    torch_in(&n, or_filled(c, 2, channels, 0, type));
    torch_in(&n, or_filled(c, mean, channels, 0, type));
    torch_in(&n, or_filled(c, variance, channels, 1, type));
    torch_attr_real(&n, "epsilon", eps);
    torch_return(c, torch_end(&n));
}

static void rule_batch_norm(torch_call *c)
{
    batch_norm(c, 3, 4, torch_arg_real(c, 7, 1e-5));
}

static void rule_batch_norm_inference(torch_call *c)
{
    batch_norm(c, 3, 4, torch_arg_real(c, 6, 1e-5));
}

static void instance_norm(torch_call *c, double eps)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num channels = torch_dim(t, x, 1);
    torch_node n = torch_begin(t, "InstanceNormalization");
    torch_in(&n, x);
    torch_in(&n, or_filled(c, 1, channels, 1, torch_at(t, x)->dtype));
    torch_in(&n, or_filled(c, 2, channels, 0, torch_at(t, x)->dtype));
    torch_attr_real(&n, "epsilon", eps);
    if (torch_arg_tensor(c, 1) == NO_VALUE)
        torch_attr_int(&n, "eager_plain", 1);
    torch_return(c, torch_end(&n));
}

static void rule_instance_norm(torch_call *c)
{
    instance_norm(c, torch_arg_real(c, 7, 1e-5));
}

/* Norm by the batch's own statistics. PyTorch lowers instance norm to this, over a batch of one. */
static void rule_batch_norm_no_stats(torch_call *c)
{
    instance_norm(c, torch_arg_real(c, 5, 1e-5));
}

static void rule_layer_norm(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), outputs[3];
    bool native = str_starts(str_of(c->op->name), "native");
    num shape[MAX_RANK];
    int count = torch_arg_ints(c, 1, shape);
    dtype type = torch_at(t, x)->dtype;
    torch_node n = torch_begin(t, "LayerNormalization");
    torch_in(&n, x);
    torch_in(&n, is_none(c, 2) ? torch_filled(t, shape, count > 0 ? count : 0, 1, type) : torch_arg_tensor(c, 2));
    torch_in(&n, torch_arg_tensor(c, 3));
    torch_attr_int(&n, "axis", -(count > 0 ? count : 1));
    torch_attr_real(&n, "epsilon", torch_arg_real(c, 4, 1e-5));
    torch_end_many(&n, outputs, native ? 3 : 1);
    for (int i = 0; i < (native ? 3 : 1); i++)
        torch_return(c, outputs[i]);
}

static void rule_rms_norm(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num shape[MAX_RANK];
    int count = torch_arg_ints(c, 1, shape);
    torch_node n = torch_begin(t, "RMSNormalization");
    torch_in(&n, x);
    torch_in(&n, is_none(c, 2) ? torch_filled(t, shape, count > 0 ? count : 0, 1, torch_at(t, x)->dtype)
                               : torch_arg_tensor(c, 2));
    torch_attr_int(&n, "axis", -(count > 0 ? count : 1));
    torch_attr_real(&n, "epsilon", torch_arg_real(c, 3, 1e-5));
    torch_return(c, torch_end(&n));
}

static void group_norm(torch_call *c, int weight, num groups, double eps)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num channels = torch_dim(t, x, 1);
    torch_node n = torch_begin(t, "GroupNormalization");
    torch_in(&n, x);
    torch_in(&n, or_filled(c, weight, channels, 1, torch_at(t, x)->dtype));
    torch_in(&n, or_filled(c, weight + 1, channels, 0, torch_at(t, x)->dtype));
    torch_attr_int(&n, "num_groups", num_known(groups) ? groups : 1);
    torch_attr_real(&n, "epsilon", eps);
    torch_return(c, torch_end(&n));
}

static void rule_group_norm(torch_call *c)
{
    group_norm(c, 2, torch_arg_int(c, 1, 1), torch_arg_real(c, 4, 1e-5));
}

static void rule_native_group_norm(torch_call *c)
{
    group_norm(c, 1, torch_arg_int(c, 6, 1), torch_arg_real(c, 7, 1e-5));
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

static int spatial_in_name(const char *name)
{
    const char *d = strchr(name, 'd');
    while (d && !(d > name && d[-1] >= '1' && d[-1] <= '3'))
        d = strchr(d + 1, 'd');
    return d ? d[-1] - '0' : 2;
}

/* Pools need a batch dimension; a missing one is added and removed again. */
static value_id with_batch(torch *t, value_id x, int spatial, bool *added)
{
    *added = torch_rank(t, x) == spatial + 1;
    return *added ? torch_unsqueeze(t, x, 0) : x;
}

static void rule_pool(torch_call *c)
{
    torch *t = c->torch;
    bool is_max = c->op->canonical[0] == 'M', indices = strstr(c->op->name, "indices") != NULL, added;
    int spatial = spatial_in_name(c->op->name);
    int64_t kernel[MAX_SPATIAL], strides[MAX_SPATIAL], pads[2 * MAX_SPATIAL], dilations[MAX_SPATIAL];
    num given[MAX_RANK];
    bool no_stride = torch_arg_ints(c, 2, given) <= 0;
    value_id x = torch_arg_tensor(c, 0), outputs[2];
    if (x == NO_VALUE || !torch_arg_sizes(c, 1, kernel, spatial, 1) ||
        !torch_arg_sizes(c, no_stride ? 1 : 2, strides, spatial, 1) || !torch_arg_sizes(c, 3, pads, spatial, 0) ||
        (is_max && !torch_arg_sizes(c, 4, dilations, spatial, 1))) {
        torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
        return;
    }
    memcpy(pads + spatial, pads, (size_t)spatial * sizeof *pads);
    x = with_batch(t, x, spatial, &added);
    torch_node n = torch_begin(t, c->op->canonical);
    torch_in(&n, x);
    torch_attr_ints(&n, "kernel_shape", kernel, spatial);
    torch_attr_ints(&n, "strides", strides, spatial);
    torch_attr_ints(&n, "pads", pads, 2 * spatial);
    if (is_max)
        torch_attr_ints(&n, "dilations", dilations, spatial);
    else
        torch_attr_int(&n, "count_include_pad", torch_arg_bool(c, 5, true));
    torch_attr_int(&n, "ceil_mode", torch_arg_bool(c, is_max ? 5 : 4, false));
    torch_end_many(&n, outputs, indices ? 2 : 1);
    for (int i = 0; i < (indices ? 2 : 1); i++)
        torch_return(c, added ? torch_squeeze(t, outputs[i], 0) : outputs[i]);
}

/* Adaptive pool. ONNX has none, but a fixed window with as many outputs is equal if the size divides. */
static void rule_adaptive_pool(torch_call *c)
{
    torch *t = c->torch;
    bool is_max = c->op->canonical[0] == 'M', added, global = true, known = true;
    int spatial = spatial_in_name(c->op->name), count;
    num wanted[MAX_RANK], dims[MAX_RANK];
    int64_t kernel[MAX_SPATIAL], strides[MAX_SPATIAL];
    value_id x = torch_arg_tensor(c, 0);
    count = torch_arg_ints(c, 1, wanted);
    int rank = torch_rank(t, x);
    x = with_batch(t, x, spatial, &added);
    for (int k = 0; k < spatial; k++) {
        num have = torch_dim(t, x, torch_rank(t, x) - spatial + k);
        num want = count == 1 ? wanted[0] : k < count ? wanted[k] : NUM_UNKNOWN;
        if (count > k && torch_is_list(c->args[1]) && c->args[1].list->items[k].kind == TORCH_NONE)
            want = have; /* None keeps the size */
        global = global && want == 1;
        known = known && dim_known(have) && dim_known(want) && want > 0 && have >= want;
        strides[k] = known ? have / want : 1;
        kernel[k] = known ? have - (want - 1) * strides[k] : 1;
        if (rank >= spatial)
            dims[rank - spatial + k] = want;
    }
    if (!global && !known) {
        for (int k = 0; k < rank - spatial; k++)
            dims[k] = torch_dim(t, torch_arg_tensor(c, 0), k);
        torch_return_foreign(c, x == NO_VALUE ? DT_UNKNOWN : torch_at(t, x)->dtype,
                             rank >= spatial ? rank : RANK_UNKNOWN, dims);
        return;
    }
    torch_node n = torch_begin(t, global ? is_max ? "GlobalMaxPool" : "GlobalAveragePool" : c->op->canonical);
    torch_in(&n, x);
    if (!global) {
        torch_attr_ints(&n, "kernel_shape", kernel, spatial);
        torch_attr_ints(&n, "strides", strides, spatial);
        if (t->is_exact)
            torch_attr_int(&n, "eager_adaptive", 1);
    }
    value_id y = torch_end(&n);
    torch_return(c, added ? torch_squeeze(t, y, 0) : y);
    if (is_max)
        torch_return(c, y);
}

/* ---- resizing ---------------------------------------------------------------------------------------------------- */

/* Returns scale k of a call, from a list or from the arguments after i. */
static double scale_of(torch_call *c, int i, int k)
{
    const torch_value v = c->args[i];
    if (torch_is_list(v))
        return k < v.list->count && v.list->items[k].kind == TORCH_REAL  ? v.list->items[k].real
               : k < v.list->count && v.list->items[k].kind == TORCH_INT ? (double)v.list->items[k].integer
                                                                         : 0;
    return torch_arg_real(c, i + k, 0);
}

static void rule_upsample(torch_call *c)
{
    torch *t = c->torch;
    const char *name = c->op->name;
    bool nearest = strstr(name, "nearest") != NULL;
    int spatial = spatial_in_name(name), scales = nearest ? 2 : 3;
    value_id x = torch_arg_tensor(c, 0);
    int rank = torch_rank(t, x);
    num sizes[MAX_RANK], wanted[MAX_RANK];
    int count = torch_arg_ints(c, 1, wanted);
    if (rank != spatial + 2) {
        torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
        return;
    }
    for (int k = 0; k < rank; k++) {
        num have = sizes[k] = torch_dim(t, x, k);
        if (k < 2)
            continue;
        double scale = scale_of(c, scales, k - 2);
        if (count > 0)
            sizes[k] = k - 2 < count ? wanted[k - 2] : NUM_UNKNOWN;
        else if (scale > 0 && scale < INT32_MAX && scale == (double)(num)scale)
            sizes[k] = num_mul(t->nums, have, (num)scale);
        else
            sizes[k] =
                dim_known(have) && scale > 0 && (double)have * scale < 9e18 ? (num)((double)have * scale) : NUM_UNKNOWN;
    }
    torch_node n = torch_begin(t, "Resize");
    torch_in(&n, x);
    torch_in(&n, NO_VALUE);
    torch_in(&n, NO_VALUE);
    torch_in(&n, torch_const_ints(t, sizes, rank));
    torch_attr_text(&n, "mode", nearest ? STR("nearest") : strstr(name, "cubic") ? STR("cubic") : STR("linear"));
    bool align = !nearest && torch_arg_bool(c, 2, false);
    torch_attr_text(&n, "coordinate_transformation_mode",
                    align     ? STR("align_corners")
                    : nearest ? STR("asymmetric")
                              : STR("pytorch_half_pixel"));
    if (nearest)
        torch_attr_text(&n, "nearest_mode", STR("floor"));
    torch_return(c, torch_end(&n));
}

static void rule_grid_sampler(torch_call *c)
{
    static const char *const MODES[] = {"linear", "nearest", "cubic"}, *const EDGES[] = {"zeros", "border",
                                                                                         "reflection"};
    num mode = torch_arg_int(c, 2, 0), edge = torch_arg_int(c, 3, 0);
    torch_node n = torch_begin(c->torch, "GridSample");
    torch_in(&n, torch_arg_tensor(c, 0));
    torch_in(&n, torch_arg_tensor(c, 1));
    torch_attr_text(&n, "mode", str_of(MODES[mode >= 0 && mode < 3 ? mode : 0]));
    torch_attr_text(&n, "padding_mode", str_of(EDGES[edge >= 0 && edge < 3 ? edge : 0]));
    torch_attr_int(&n, "align_corners", torch_arg_bool(c, 4, false));
    torch_return(c, torch_end(&n));
}

static void rule_pixel_shuffle(torch_call *c)
{
    bool back = strstr(c->op->name, "unshuffle") != NULL;
    num factor = torch_arg_int(c, 1, 1);
    torch_node n = torch_begin(c->torch, back ? "SpaceToDepth" : "DepthToSpace");
    torch_in(&n, torch_arg_tensor(c, 0));
    torch_attr_int(&n, "blocksize", num_known(factor) ? factor : 1);
    if (!back)
        torch_attr_text(&n, "mode", STR("CRD"));
    torch_return(c, torch_end(&n));
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static void attention(torch_call *c, int mask, int causal, int scale)
{
    torch *t = c->torch;
    value_id inputs[4] = {torch_arg_tensor(c, 0), torch_arg_tensor(c, 1), torch_arg_tensor(c, 2),
                          torch_arg_tensor(c, mask)};
    bool one_head = torch_rank(t, inputs[0]) == 3;
    torch_node n = torch_begin(t, "Attention");
    for (int i = 0; i < 4; i++)
        torch_in(&n, one_head && i < 3 ? torch_unsqueeze(t, inputs[i], 1) : inputs[i]);
    if (torch_arg_bool(c, causal, false))
        torch_attr_int(&n, "is_causal", 1);
    if (!is_none(c, scale))
        torch_attr_real(&n, "scale", torch_arg_real(c, scale, 1));
    value_id y = torch_end(&n);
    torch_return(c, one_head ? torch_squeeze(t, y, 1) : y);
}

static void rule_attention(torch_call *c)
{
    attention(c, 3, 5, 6);
}

static void rule_flash_attention(torch_call *c)
{
    attention(c, 5, 4, 6);
}

/* ---- detection --------------------------------------------------------------------------------------------------- */

static void rule_roi_align(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), rois = torch_arg_tensor(c, 1);
    num dims[4] = {torch_dim(t, rois, 0), torch_dim(t, x, 1), torch_arg_int(c, 3, NUM_UNKNOWN),
                   torch_arg_int(c, 4, NUM_UNKNOWN)};
    if (!dim_known(dims[2]) || !dim_known(dims[3])) {
        torch_return_foreign(c, torch_at(t, x)->dtype, 4, dims);
        return;
    }
    value_id boxes = torch_slice(t, rois, 1, 1, 5, 1);
    value_id images = torch_cast(t, torch_squeeze(t, torch_slice(t, rois, 1, 0, 1, 1), 1), DT_INT64);
    torch_node n = torch_begin(t, "RoiAlign");
    torch_in(&n, x);
    torch_in(&n, boxes);
    torch_in(&n, images);
    torch_attr_int(&n, "output_height", dims[2]);
    torch_attr_int(&n, "output_width", dims[3]);
    torch_attr_real(&n, "spatial_scale", torch_arg_real(c, 2, 1));
    num samples = torch_arg_int(c, 5, 0);
    torch_attr_int(&n, "sampling_ratio", num_known(samples) && samples > 0 ? samples : 0);
    torch_return(c, torch_end(&n));
}

static void rule_nms(torch_call *c)
{
    torch_return_foreign(c, DT_INT64, 1, (num[]){NUM_UNKNOWN});
}

/* clang-format off */
static const torch_op OPS[] = {
    {"_convolution", "input weight bias stride padding dilation transposed output_padding groups", rule_convolution, NULL},
    {"conv1d", "input weight bias stride padding dilation groups", rule_conv, NULL},
    {"conv2d", "input weight bias stride padding dilation groups", rule_conv, NULL},
    {"conv3d", "input weight bias stride padding dilation groups", rule_conv, NULL},
    {"conv_transpose1d", "input weight bias stride padding output_padding groups dilation", rule_conv_transpose, NULL},
    {"conv_transpose2d", "input weight bias stride padding output_padding groups dilation", rule_conv_transpose, NULL},
    {"conv_transpose3d", "input weight bias stride padding output_padding groups dilation", rule_conv_transpose, NULL},
    {"convolution", "input weight bias stride padding dilation transposed output_padding groups", rule_convolution, NULL},

    {"addmm", "input mat1 mat2 beta alpha", rule_addmm, NULL},
    {"baddbmm", "input batch1 batch2 beta alpha", rule_baddbmm, NULL},
    {"bmm", "input mat2", rule_matmul, NULL},
    {"dot", "input tensor", rule_matmul, NULL},
    {"einsum", "equation tensors path", rule_einsum, NULL},
    {"linear", "input weight bias", rule_linear, NULL},
    {"matmul", "input other", rule_matmul, NULL},
    {"mm", "input mat2", rule_matmul, NULL},
    {"mv", "input vec", rule_matmul, NULL},

    {"_native_batch_norm_legit", "input weight bias training momentum eps", rule_batch_norm_no_stats, NULL},
    {"_native_batch_norm_legit_no_training", "input weight bias running_mean running_var momentum eps",
     rule_batch_norm_inference, NULL},
    {"batch_norm", "input weight bias running_mean running_var training momentum eps cudnn_enabled", rule_batch_norm, NULL},
    {"group_norm", "input num_groups weight bias eps cudnn_enabled", rule_group_norm, NULL},
    {"instance_norm", "input weight bias running_mean running_var use_input_stats momentum eps cudnn_enabled",
     rule_instance_norm, NULL},
    {"layer_norm", "input normalized_shape weight bias eps cudnn_enable", rule_layer_norm, NULL},
    {"native_batch_norm", "input weight bias running_mean running_var training momentum eps", rule_batch_norm, NULL},
    {"native_group_norm", "input weight bias N C HxW group eps", rule_native_group_norm, NULL},
    {"native_layer_norm", "input normalized_shape weight bias eps", rule_layer_norm, NULL},
    {"rms_norm", "input normalized_shape weight eps", rule_rms_norm, NULL},

    {"_adaptive_avg_pool2d", "input output_size", rule_adaptive_pool, "AveragePool"},
    {"_adaptive_avg_pool3d", "input output_size", rule_adaptive_pool, "AveragePool"},
    {"adaptive_avg_pool1d", "input output_size", rule_adaptive_pool, "AveragePool"},
    {"adaptive_avg_pool2d", "input output_size", rule_adaptive_pool, "AveragePool"},
    {"adaptive_avg_pool3d", "input output_size", rule_adaptive_pool, "AveragePool"},
    {"adaptive_max_pool1d", "input output_size", rule_adaptive_pool, "MaxPool"},
    {"adaptive_max_pool2d", "input output_size", rule_adaptive_pool, "MaxPool"},
    {"adaptive_max_pool3d", "input output_size", rule_adaptive_pool, "MaxPool"},
    {"avg_pool1d", "input kernel_size stride padding ceil_mode count_include_pad", rule_pool, "AveragePool"},
    {"avg_pool2d", "input kernel_size stride padding ceil_mode count_include_pad divisor_override", rule_pool, "AveragePool"},
    {"avg_pool3d", "input kernel_size stride padding ceil_mode count_include_pad divisor_override", rule_pool, "AveragePool"},
    {"max_pool1d", "input kernel_size stride padding dilation ceil_mode", rule_pool, "MaxPool"},
    {"max_pool2d", "input kernel_size stride padding dilation ceil_mode", rule_pool, "MaxPool"},
    {"max_pool2d_with_indices", "input kernel_size stride padding dilation ceil_mode", rule_pool, "MaxPool"},
    {"max_pool3d", "input kernel_size stride padding dilation ceil_mode", rule_pool, "MaxPool"},
    {"max_pool3d_with_indices", "input kernel_size stride padding dilation ceil_mode", rule_pool, "MaxPool"},

    {"_upsample_bicubic2d_aa", "input output_size align_corners scale_factors scales_w", rule_upsample, NULL},
    {"_upsample_bilinear2d_aa", "input output_size align_corners scale_factors scales_w", rule_upsample, NULL},
    {"_upsample_nearest_exact1d", "input output_size scale_factors", rule_upsample, NULL},
    {"_upsample_nearest_exact2d", "input output_size scale_factors scales_w", rule_upsample, NULL},
    {"_upsample_nearest_exact3d", "input output_size scale_factors scales_h scales_w", rule_upsample, NULL},
    {"upsample_bicubic2d", "input output_size align_corners scale_factors scales_w", rule_upsample, NULL},
    {"upsample_bilinear2d", "input output_size align_corners scale_factors scales_w", rule_upsample, NULL},
    {"upsample_linear1d", "input output_size align_corners scale_factors", rule_upsample, NULL},
    {"upsample_nearest1d", "input output_size scale_factors", rule_upsample, NULL},
    {"upsample_nearest2d", "input output_size scale_factors scales_w", rule_upsample, NULL},
    {"upsample_nearest3d", "input output_size scale_factors scales_h scales_w", rule_upsample, NULL},
    {"upsample_trilinear3d", "input output_size align_corners scale_factors scales_h scales_w", rule_upsample, NULL},
    {"grid_sampler", "input grid interpolation_mode padding_mode align_corners", rule_grid_sampler, NULL},
    {"grid_sampler_2d", "input grid interpolation_mode padding_mode align_corners", rule_grid_sampler, NULL},
    {"pixel_shuffle", "input upscale_factor", rule_pixel_shuffle, NULL},
    {"pixel_unshuffle", "input downscale_factor", rule_pixel_shuffle, NULL},

    {"_scaled_dot_product_flash_attention_for_cpu", "query key value dropout_p is_causal attn_mask scale",
     rule_flash_attention, NULL},
    {"scaled_dot_product_attention", "query key value attn_mask dropout_p is_causal scale enable_gqa", rule_attention, NULL},

    {"nms", "dets scores iou_threshold", rule_nms, NULL},
    {"roi_align", "input rois spatial_scale pooled_height pooled_width sampling_ratio aligned", rule_roi_align, NULL},
};
/* clang-format on */

const torch_op *torch_ops_nn(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
