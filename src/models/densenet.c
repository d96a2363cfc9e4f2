/* densenet.c: DenseNet, Huang and others, "Densely Connected Convolutional Networks", arXiv:1608.06993 (DenseNet-BC),
 * as torchvision writes it. */
#include "models/vision.h"

enum { BLOCKS, GROWTH, STEM, IMAGE, CLASSES, STAGES = 4, MOST_LAYERS = 128 };
const zoo_parameter ZOO_DENSENET[] = {
    [BLOCKS] = {"blocks", "6,12,24,16", 0, 0, "layers of the four dense blocks", false},
    [GROWTH] = {"growth", "32", 1, 4096, "channels that a layer adds", false},
    [STEM] = {"stem", "64", 2, 4096, "channels of the first convolution", false},
    [IMAGE] = VISION_IMAGE("224", 32),
    [CLASSES] = VISION_CLASSES,
    {0},
};

static value_id norm_relu_conv(builder *b, str scope, const char *const names[3], value_id x, net_conv_shape s)
{
    x = net_batch_norm(b, net_join(b, scope, names[0]), x, s.in);
    x = net_unary(b, "Relu", net_join(b, scope, names[1]), x);
    return net_conv(b, net_join(b, scope, names[2]), x, s);
}

/* Each layer reads the concatenation of all previous outputs. Returns the concatenation of all outputs. */
static value_id dense_block(builder *b, str scope, value_id x, int64_t in, int64_t layers, int64_t growth)
{
    enum { BOTTLENECK = 4 };
    value_id parts[MOST_LAYERS + 1] = {x};
    for (int i = 0; i < layers; i++) {
        str layer = net_number(b, net_join(b, scope, "denselayer"), i + 1, ".");
        int64_t channels = in + i * growth, middle = BOTTLENECK * growth;
        value_id y = net_concat(b, net_join(b, layer, "cat"), parts, i + 1, 1);
        y = norm_relu_conv(b, layer, (const char *const[]){"norm1", "relu1", "conv1"}, y,
                           (net_conv_shape){channels, middle, 1, 1, 0, 1, false});
        parts[i + 1] = norm_relu_conv(b, layer, (const char *const[]){"norm2", "relu2", "conv2"}, y,
                                      (net_conv_shape){middle, growth, 3, 1, 1, 1, false});
    }
    return net_concat(b, net_join(b, scope, "cat"), parts, (int)layers + 1, 1);
}

void zoo_densenet(builder *b, const zoo_arguments *a)
{
    int64_t layers[STAGES], growth = a->numbers[GROWTH], channels = a->numbers[STEM];
    zoo_counts(b, a, BLOCKS, MOST_LAYERS, layers, STAGES);
    const str features = STR("features.");
    value_id x = vision_begin(b, a->numbers[IMAGE]);
    x = vision_conv_norm(b, features, "conv0", "norm0", x, (net_conv_shape){3, channels, 7, 2, 3, 1, false});
    x = net_unary(b, "Relu", STR("features.relu0"), x);
    x = net_max_pool(b, STR("features.pool0"), x, 3, 2, 1);
    for (int stage = 0; stage < STAGES; stage++) {
        str block = net_number(b, STR("features.denseblock"), stage + 1, ".");
        x = dense_block(b, block, x, channels, layers[stage], growth);
        channels += layers[stage] * growth;
        if (stage + 1 == STAGES)
            break;
        str transition = net_number(b, STR("features.transition"), stage + 1, ".");
        x = norm_relu_conv(b, transition, (const char *const[]){"norm", "relu", "conv"}, x,
                           (net_conv_shape){channels, channels / 2, 1, 1, 0, 1, false});
        x = net_average_pool_padded(b, net_join(b, transition, "pool"), x, 2, 2, 0);
        channels /= 2;
    }
    x = net_batch_norm(b, STR("features.norm5"), x, channels);
    x = net_unary(b, "Relu", STR("relu"), x);
    vision_classify(b, "classifier", x, channels, a->numbers[CLASSES]);
}
