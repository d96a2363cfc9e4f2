/* hf_convolution.c: builds staged convolutional networks from their configuration: ResNet, ConvNeXt. */
#include "front/hf/hf.h"

enum { MOST_STAGES = 16, MOST_DEPTH = 1024, MOST_WIDTH = 1 << 16, MOST_IMAGE = 1 << 14 };

typedef struct stages {
    int count;
    int64_t depth[MOST_STAGES], width[MOST_STAGES];
} stages;

static stages read_stages(const hf *c)
{
    stages s;
    s.count = hf_sizes(c, "depths", s.depth, MOST_STAGES, MOST_DEPTH);
    if (hf_sizes(c, "hidden_sizes", s.width, MOST_STAGES, MOST_WIDTH) != s.count)
        hf_fail(c, "hidden_sizes", "there must be one size for each of the %d stages", s.count);
    return s;
}

static value_id read_images(const hf *c, int64_t channels)
{
    int64_t size = hf_size(c, "image_size", MOST_IMAGE);
    return net_input(c->b, "pixel_values", DT_FLOAT32, 4, (num[]){net_batch(c->b), channels, size, size});
}

/* Mean over height and width: (N, channels, H, W) → (N, channels). */
static value_id mean_of_places(builder *b, const char *name, value_id x)
{
    node *n;
    value_id axes = net_ints(b, NAME("%s.axes", name).ptr, 1, (int64_t[]){-2, -1}, 2);
    x = net_node(b, "ReduceMean", str_of(name), (value_id[]){x, axes}, 2, 1, &n);
    build_attr_int(b, n, 0, "keepdims", 0);
    return x;
}

/* ---- ResNet ------------------------------------------------------------------------------------------------------ */

static value_id conv_and_norm(builder *b, str name, value_id x, net_conv_shape shape)
{
    x = net_conv(b, net_join(b, name, ".convolution"), x, shape);
    return net_batch_norm(b, net_join(b, name, ".normalization"), x, shape.out);
}

typedef struct block {
    int64_t in, out, stride;
    /* strides_first: the stride is in the first convolution of a bottleneck, not in the second */
    bool is_bottleneck, strides_first;
    const char *activation;
} block;

static value_id resnet_block(builder *b, str scope, value_id x, block k)
{
    int64_t inner = k.out / 4, first = k.strides_first ? k.stride : 1, second = k.stride / first;
    const net_conv_shape bottleneck[] = {{k.in, inner, 1, first, 0, 1, false},
                                         {inner, inner, 3, second, 1, 1, false},
                                         {inner, k.out, 1, 1, 0, 1, false}};
    const net_conv_shape basic[] = {{k.in, k.out, 3, k.stride, 1, 1, false}, {k.out, k.out, 3, 1, 1, 1, false}};
    int count = k.is_bottleneck ? 3 : 2;
    value_id y = x;
    for (int i = 0; i < count; i++) {
        str name = NAME("%s.layer.%d", scope.ptr, i);
        y = conv_and_norm(b, name, y, k.is_bottleneck ? bottleneck[i] : basic[i]);
        if (i + 1 < count)
            y = net_unary(b, k.activation, net_join(b, name, ".activation"), y);
    }
    if (k.in != k.out || k.stride != 1)
        x = conv_and_norm(b, net_join(b, scope, ".shortcut"), x,
                          (net_conv_shape){k.in, k.out, 1, k.stride, 0, 1, false});
    x = net_binary(b, "Add", net_join(b, scope, ".add"), y, x);
    return net_unary(b, k.activation, net_join(b, scope, ".activation"), x);
}

void hf_resnet(hf *c)
{
    builder *b = c->b;
    stages s = read_stages(c);
    int64_t channels = hf_size(c, "num_channels", 4096), width = hf_size(c, "embedding_size", MOST_WIDTH);
    block k = {.is_bottleneck = !str_is(hf_text(c, "layer_type"), "basic"),
               .strides_first = hf_flag(c, "downsample_in_bottleneck", false),
               .activation = hf_activation(c)};
    bool halves_first = hf_flag(c, "downsample_in_first_stage", false);
    if (k.is_bottleneck)
        for (int i = 0; i < s.count; i++)
            if (s.width[i] < 4)
                hf_fail(c, "hidden_sizes", "a bottleneck has less than one channel");
    net_begin_literal(b);
    value_id x = conv_and_norm(b, STR("embedder.embedder"), read_images(c, channels),
                               (net_conv_shape){channels, width, 7, 2, 3, 1, false});
    x = net_unary(b, k.activation, STR("embedder.embedder.activation"), x);
    x = net_max_pool(b, STR("embedder.pooler"), x, 3, 2, 1);
    for (int i = 0; i < s.count; i++)
        for (int64_t j = 0; j < s.depth[i]; j++) {
            k.in = width;
            k.out = width = s.width[i];
            k.stride = j == 0 && (i > 0 || halves_first) ? 2 : 1;
            x = resnet_block(b, NAME("encoder.stages.%d.layers.%d", i, (int)j), x, k);
        }
    x = net_unary(b, "GlobalAveragePool", STR("pooler"), x);
    if (hf_architecture(c, "ForImageClassification")) {
        int64_t classes = hf_class_count(c);
        x = net_reshape(b, STR("classifier.0"), x, (int64_t[]){0, width}, 2);
        x = net_gemm(b, STR("classifier.1"), x, width, classes);
        net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), classes});
    } else {
        net_output(b, x, DT_FLOAT32, 4, (num[]){net_batch(b), width, 1, 1});
    }
    net_end(b);
}

/* ---- ConvNeXt ---------------------------------------------------------------------------------------------------- */

static const int64_t CHANNELS_LAST[] = {0, 2, 3, 1}, CHANNELS_FIRST[] = {0, 3, 1, 2};
static const double EPSILON = 1e-6; /* epsilon of all norms except the last, whatever the configuration says */

static value_id norm_of_channels(builder *b, str name, value_id x, int64_t width)
{
    x = net_transpose(b, net_join(b, name, ".channels_last"), x, CHANNELS_LAST, 4);
    x = net_layer_norm(b, name, x, width, EPSILON);
    return net_transpose(b, net_join(b, name, ".channels_first"), x, CHANNELS_FIRST, 4);
}

static value_id convnext_block(const hf *c, str scope, value_id x, int64_t width, bool has_scale)
{
    builder *b = c->b;
    value_id y = net_conv(b, net_join(b, scope, ".dwconv"), x, (net_conv_shape){width, width, 7, 1, 3, width, true});
    y = net_transpose(b, net_join(b, scope, ".channels_last"), y, CHANNELS_LAST, 4);
    y = net_layer_norm(b, net_join(b, scope, ".layernorm"), y, width, EPSILON);
    y = lm_linear(b, net_join(b, scope, ".pwconv1"), y, width, 4 * width, true);
    y = net_unary(b, hf_activation(c), net_join(b, scope, ".act"), y);
    y = lm_linear(b, net_join(b, scope, ".pwconv2"), y, 4 * width, width, true);
    if (has_scale)
        y = net_binary(b, "Mul", net_join(b, scope, ".layer_scale"),
                       net_weight(b, net_join(b, scope, ".layer_scale_parameter"), 1, &width), y);
    y = net_transpose(b, net_join(b, scope, ".channels_first"), y, CHANNELS_FIRST, 4);
    return net_binary(b, "Add", net_join(b, scope, ".add"), x, y);
}

void hf_convnext(hf *c)
{
    builder *b = c->b;
    stages s = read_stages(c);
    int64_t channels = hf_size(c, "num_channels", 4096), patch = hf_size(c, "patch_size", MOST_IMAGE);
    bool has_scale = hf_real(c, "layer_scale_init_value", 0) > 0;
    net_begin_literal(b);
    int64_t width = s.width[0];
    value_id x = net_conv(b, STR("embeddings.patch_embeddings"), read_images(c, channels),
                          (net_conv_shape){channels, width, patch, patch, 0, 1, true});
    x = norm_of_channels(b, STR("embeddings.layernorm"), x, width);
    for (int i = 0; i < s.count; i++) {
        if (i > 0) {
            x = norm_of_channels(b, NAME("encoder.stages.%d.downsampling_layer.0", i), x, width);
            x = net_conv(b, NAME("encoder.stages.%d.downsampling_layer.1", i), x,
                         (net_conv_shape){width, s.width[i], 2, 2, 0, 1, true});
            width = s.width[i];
        }
        for (int64_t j = 0; j < s.depth[i]; j++)
            x = convnext_block(c, NAME("encoder.stages.%d.layers.%d", i, (int)j), x, width, has_scale);
    }
    x = mean_of_places(b, "mean", x);
    x = net_layer_norm(b, STR("layernorm"), x, width, hf_real(c, "layer_norm_eps", 1e-12));
    if (hf_architecture(c, "ForImageClassification")) {
        int64_t classes = hf_class_count(c);
        x = net_gemm(b, STR("classifier"), x, width, classes);
        width = classes;
    }
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), width});
    net_end(b);
}
