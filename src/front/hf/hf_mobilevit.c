/* hf_mobilevit.c: builds MobileViT from its configuration: inverted residuals as in MobileNetV2, and in later stages
 * attention among the pixels at the same offset of their patches. */
#include "front/hf/hf.h"

#include <math.h>

enum { MOST_WIDTH = 1 << 16, MOST_IMAGE = 1 << 14, NECKS = 7, STAGES = 3 };

typedef struct mobile {
    const hf *c;
    builder *b;
    int64_t patch, kernel, heads;
    double expand_ratio, inner_ratio, epsilon;
    bool has_bias;
} mobile;

typedef enum layer_parts { BARE, NORMED, ACTIVATED } layer_parts;

static value_id conv(const mobile *m, str scope, value_id x, net_conv_shape s, layer_parts parts)
{
    builder *b = m->b;
    s.pad = (s.kernel - 1) / 2;
    x = net_conv(b, net_join(b, scope, ".convolution"), x, s);
    if (parts >= NORMED)
        x = net_batch_norm(b, net_join(b, scope, ".normalization"), x, s.out);
    if (parts >= ACTIVATED)
        x = net_unary(b, hf_activation(m->c), net_join(b, scope, ".activation"), x);
    return x;
}

/* The nearest multiple of 8, at most a tenth below the value. */
static int64_t round_to_8(double value)
{
    int64_t whole = (int64_t)rint(value), rounded = (whole + 4) / 8 * 8;
    rounded = rounded < 8 ? 8 : rounded;
    return (double)rounded < 0.9 * (double)whole ? rounded + 8 : rounded;
}

static value_id inverted_residual(const mobile *m, str scope, value_id x, int64_t in, int64_t out, int64_t stride)
{
    builder *b = m->b;
    int64_t wide = round_to_8((double)in * m->expand_ratio);
    value_id y =
        conv(m, net_join(b, scope, ".expand_1x1"), x, (net_conv_shape){in, wide, 1, 1, 0, 1, false}, ACTIVATED);
    y = conv(m, net_join(b, scope, ".conv_3x3"), y, (net_conv_shape){wide, wide, 3, stride, 0, wide, false}, ACTIVATED);
    y = conv(m, net_join(b, scope, ".reduce_1x1"), y, (net_conv_shape){wide, out, 1, 1, 0, 1, false}, NORMED);
    return stride == 1 && in == out ? net_binary(b, "Add", net_join(b, scope, ".add"), x, y) : y;
}

/* (N, width, side, side) → (N · pixels of a patch, patches, width), and back. */
static value_id unfold(const mobile *m, str scope, value_id x, int64_t side, int64_t width)
{
    builder *b = m->b;
    int64_t p = m->patch, count = side / p;
    x = net_reshape(b, net_join(b, scope, ".rows"), x, (int64_t[]){-1, p, count, p}, 4);
    x = net_transpose(b, net_join(b, scope, ".transpose"), x, (int64_t[]){0, 2, 1, 3}, 4);
    x = net_reshape(b, net_join(b, scope, ".patches"), x, (int64_t[]){-1, width, count * count, p * p}, 4);
    x = net_transpose(b, net_join(b, scope, ".transpose_2"), x, (int64_t[]){0, 3, 2, 1}, 4);
    return net_reshape(b, net_join(b, scope, ".tokens"), x, (int64_t[]){-1, count * count, width}, 3);
}

static value_id fold(const mobile *m, str scope, value_id x, int64_t side, int64_t width)
{
    builder *b = m->b;
    int64_t p = m->patch, count = side / p;
    x = net_reshape(b, net_join(b, scope, ".tokens"), x, (int64_t[]){-1, p * p, count * count, width}, 4);
    x = net_transpose(b, net_join(b, scope, ".transpose"), x, (int64_t[]){0, 3, 2, 1}, 4);
    x = net_reshape(b, net_join(b, scope, ".patches"), x, (int64_t[]){-1, count, p, p}, 4);
    x = net_transpose(b, net_join(b, scope, ".transpose_2"), x, (int64_t[]){0, 2, 1, 3}, 4);
    return net_reshape(b, net_join(b, scope, ".rows"), x, (int64_t[]){-1, width, side, side}, 4);
}

static value_id by_heads(const mobile *m, str name, value_id x, int64_t width)
{
    builder *b = m->b;
    x = lm_linear(b, name, x, width, width, m->has_bias);
    x = net_reshape(b, net_join(b, name, ".heads"), x, (int64_t[]){0, 0, m->heads, width / m->heads}, 4);
    return net_transpose(b, net_join(b, name, ".transpose"), x, (int64_t[]){0, 2, 1, 3}, 4);
}

static value_id attend(const mobile *m, str scope, value_id x, int64_t width)
{
    builder *b = m->b;
    value_id q = by_heads(m, net_join(b, scope, ".attention.query"), x, width);
    value_id k = by_heads(m, net_join(b, scope, ".attention.key"), x, width);
    value_id v = by_heads(m, net_join(b, scope, ".attention.value"), x, width);
    k = net_transpose(b, net_join(b, scope, ".attention.transpose"), k, (int64_t[]){0, 1, 3, 2}, 4);
    x = net_binary(b, "MatMul", net_join(b, scope, ".attention.scores"), q, k);
    value_id root = net_real(b, NAME("%s.attention.root", scope.ptr).ptr, sqrtf((float)width / (float)m->heads));
    x = net_binary(b, "Div", net_join(b, scope, ".attention.scale"), x, root);
    x = net_softmax(b, net_join(b, scope, ".attention.softmax"), x);
    x = net_binary(b, "MatMul", net_join(b, scope, ".attention.context"), x, v);
    x = net_transpose(b, net_join(b, scope, ".attention.permute"), x, (int64_t[]){0, 2, 1, 3}, 4);
    x = net_reshape(b, net_join(b, scope, ".attention.view"), x, (int64_t[]){0, 0, width}, 3);
    return lm_linear(b, net_join(b, scope, ".output.dense"), x, width, width, true);
}

static value_id transformer_layer(const mobile *m, str scope, value_id x, int64_t width)
{
    builder *b = m->b;
    int64_t inner = (int64_t)((double)width * m->inner_ratio);
    value_id y = net_layer_norm(b, net_join(b, scope, ".layernorm_before"), x, width, m->epsilon);
    y = attend(m, net_join(b, scope, ".attention"), y, width);
    x = net_binary(b, "Add", net_join(b, scope, ".add_1"), y, x);
    y = net_layer_norm(b, net_join(b, scope, ".layernorm_after"), x, width, m->epsilon);
    y = lm_linear(b, net_join(b, scope, ".intermediate.dense"), y, width, inner, true);
    y = net_unary(b, hf_activation(m->c), net_join(b, scope, ".intermediate.act"), y);
    y = lm_linear(b, net_join(b, scope, ".output.dense"), y, inner, width, true);
    return net_binary(b, "Add", net_join(b, scope, ".add_2"), y, x);
}

/* Convolutions around attention layers of `width`, on a map of `side` × `side`. */
static value_id mixed_layer(const mobile *m, str scope, value_id x, int64_t channels, int64_t width, int64_t side,
                            int layers)
{
    builder *b = m->b;
    node *n;
    value_id y = conv(m, net_join(b, scope, ".conv_kxk"), x,
                      (net_conv_shape){channels, channels, m->kernel, 1, 0, 1, false}, ACTIVATED);
    y = conv(m, net_join(b, scope, ".conv_1x1"), y, (net_conv_shape){channels, width, 1, 1, 0, 1, false}, BARE);
    y = unfold(m, net_join(b, scope, ".unfolding"), y, side, width);
    for (int i = 0; i < layers; i++)
        y = transformer_layer(m, NAME("%s.transformer.layer.%d", scope.ptr, i), y, width);
    y = net_layer_norm(b, net_join(b, scope, ".layernorm"), y, width, m->epsilon);
    y = fold(m, net_join(b, scope, ".folding"), y, side, width);
    y = conv(m, net_join(b, scope, ".conv_projection"), y, (net_conv_shape){width, channels, 1, 1, 0, 1, false},
             ACTIVATED);
    y = net_node(b, "Concat", net_join(b, scope, ".cat"), (value_id[]){x, y}, 2, 1, &n);
    build_attr_int(b, n, 0, "axis", 1);
    return conv(m, net_join(b, scope, ".fusion"), y,
                (net_conv_shape){2 * channels, channels, m->kernel, 1, 0, 1, false}, ACTIVATED);
}

static mobile read_sizes(const hf *c, const int64_t width[STAGES])
{
    mobile m = {.c = c,
                .b = c->b,
                .patch = hf_size(c, "patch_size", MOST_IMAGE),
                .kernel = hf_size(c, "conv_kernel_size", 255),
                .heads = hf_size(c, "num_attention_heads", MOST_WIDTH),
                .expand_ratio = hf_real(c, "expand_ratio", 4),
                .inner_ratio = hf_real(c, "mlp_ratio", 2),
                .epsilon = hf_real(c, "layer_norm_eps", 1e-5),
                .has_bias = hf_flag(c, "qkv_bias", true)};
    if (m.kernel % 2 == 0)
        hf_fail(c, "conv_kernel_size", "a convolution makes the image smaller");
    if (!(m.expand_ratio > 0 && m.expand_ratio <= 64))
        hf_fail(c, "expand_ratio", "not a possible ratio");
    if (!(m.inner_ratio >= 1 && m.inner_ratio <= 64))
        hf_fail(c, "mlp_ratio", "not a possible ratio");
    for (int i = 0; i < STAGES; i++)
        if (width[i] % m.heads)
            hf_fail(c, "num_attention_heads", "%lld heads do not divide %lld elements", (long long)m.heads,
                    (long long)width[i]);
    return m;
}

void hf_mobilevit(hf *c)
{
    static const int LAYERS[STAGES] = {2, 4, 3};
    builder *b = c->b;
    int64_t neck[NECKS], width[STAGES], channels = hf_size(c, "num_channels", 4096),
                                        side = hf_size(c, "image_size", MOST_IMAGE);
    if (hf_sizes(c, "neck_hidden_sizes", neck, NECKS, MOST_WIDTH) != NECKS)
        hf_fail(c, "neck_hidden_sizes", "not %d sizes", NECKS);
    if (hf_sizes(c, "hidden_sizes", width, STAGES, MOST_WIDTH) != STAGES)
        hf_fail(c, "hidden_sizes", "not %d sizes", STAGES);
    mobile m = read_sizes(c, width);
    bool classifies = hf_architecture(c, "ForImageClassification");
    if (!classifies && json_get(c->root, "architectures") && !hf_architecture(c, "Model"))
        hf_unsupported(c, "MobileViT with a head other than classification is not supported");
    if (hf_int(c, "output_stride", 32) != 32 || side % (32 * m.patch))
        hf_unsupported(c, "MobileViT with dilation, or with patches that do not divide its stages, is not supported");
    net_begin_literal(b);
    value_id x = net_input(b, "pixel_values", DT_FLOAT32, 4, (num[]){net_batch(b), channels, side, side});
    x = conv(&m, STR("conv_stem"), x, (net_conv_shape){channels, neck[0], 3, 2, 0, 1, false}, ACTIVATED);
    x = inverted_residual(&m, STR("encoder.layer.0.layer.0"), x, neck[0], neck[1], 1);
    for (int i = 0; i < 3; i++)
        x = inverted_residual(&m, NAME("encoder.layer.1.layer.%d", i), x, neck[i ? 2 : 1], neck[2], i ? 1 : 2);
    side /= 4;
    for (int i = 0; i < STAGES; i++) {
        str scope = NAME("encoder.layer.%d", i + 2);
        side /= 2;
        x = inverted_residual(&m, net_join(b, scope, ".downsampling_layer"), x, neck[i + 2], neck[i + 3], 2);
        x = mixed_layer(&m, scope, x, neck[i + 3], width[i], side, LAYERS[i]);
    }
    x = conv(&m, STR("conv_1x1_exp"), x, (net_conv_shape){neck[5], neck[6], 1, 1, 0, 1, false}, ACTIVATED);
    node *n;
    value_id axes = net_ints(b, "pooler.axes", 1, (int64_t[]){-2, -1}, 2);
    x = net_node(b, "ReduceMean", STR("pooler"), (value_id[]){x, axes}, 2, 1, &n);
    build_attr_int(b, n, 0, "keepdims", 0);
    int64_t last = neck[6];
    if (classifies) {
        last = hf_class_count(c);
        x = net_gemm(b, STR("classifier"), x, neck[6], last);
    }
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), last});
    net_end(b);
}
