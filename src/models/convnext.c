/* convnext.c: ConvNeXt, Liu and others, "A ConvNet for the 2020s", arXiv:2201.03545, as torchvision writes it. */
#include "models/vision.h"

enum { WIDTH, BLOCKS, IMAGE, CLASSES, STAGES = 4, MOST_BLOCKS = 64 };
const zoo_parameter ZOO_CONVNEXT[] = {
    [WIDTH] = {"width", "96", 8, 4096, "channels of the first stage; they double", false},
    [BLOCKS] = {"blocks", "3,3,9,3", 0, 0, "of the four stages", false},
    [IMAGE] = VISION_IMAGE("224", 32),
    [CLASSES] = VISION_CLASSES,
    {0},
};

static value_id channels_last(builder *b, str name, value_id x)
{
    return net_transpose(b, name, x, (int64_t[]){0, 2, 3, 1}, 4);
}

static value_id channels_first(builder *b, str name, value_id x)
{
    return net_transpose(b, name, x, (int64_t[]){0, 3, 1, 2}, 4);
}

/* torchvision's LayerNorm2d, over the channels of a map. */
static value_id map_norm(builder *b, str name, value_id x, int64_t channels)
{
    x = channels_last(b, net_join(b, name, ".last"), x);
    x = net_layer_norm(b, name, x, channels, 1e-6);
    return channels_first(b, net_join(b, name, ".first"), x);
}

static value_id block(builder *b, str scope, value_id x, int64_t channels)
{
    str parts = net_join(b, scope, "block.");
    value_id y = net_conv(b, net_join(b, parts, "0"), x, (net_conv_shape){channels, channels, 7, 1, 3, channels, true});
    y = channels_last(b, net_join(b, parts, "1"), y);
    y = net_layer_norm(b, net_join(b, parts, "2"), y, channels, 1e-6);
    y = net_linear(b, net_join(b, parts, "3"), y, channels, 4 * channels);
    y = net_unary(b, "Gelu", net_join(b, parts, "4"), y);
    y = net_linear(b, net_join(b, parts, "5"), y, 4 * channels, channels);
    y = channels_first(b, net_join(b, parts, "6"), y);
    value_id scale = net_weight(b, net_join(b, scope, "layer_scale"), 3, (int64_t[]){channels, 1, 1});
    y = net_binary(b, "Mul", net_join(b, scope, "scaled"), scale, y);
    return net_binary(b, "Add", net_join(b, scope, "add"), y, x);
}

void zoo_convnext(builder *b, const zoo_arguments *a)
{
    int64_t blocks[STAGES], channels = a->numbers[WIDTH], classes = a->numbers[CLASSES];
    zoo_counts(b, a, BLOCKS, MOST_BLOCKS, blocks, STAGES);
    value_id x = vision_begin(b, a->numbers[IMAGE]);
    x = net_conv(b, STR("features.0.0"), x, (net_conv_shape){3, channels, 4, 4, 0, 1, true});
    x = map_norm(b, STR("features.0.1"), x, channels);
    for (int stage = 0; stage < STAGES; stage++) {
        str scope = net_number(b, STR("features."), 2 * stage + 1, ".");
        for (int64_t i = 0; i < blocks[stage]; i++)
            x = block(b, net_number(b, scope, i, "."), x, channels);
        if (stage + 1 == STAGES)
            break;
        str down = net_number(b, STR("features."), 2 * stage + 2, ".");
        x = map_norm(b, net_join(b, down, "0"), x, channels);
        x = net_conv(b, net_join(b, down, "1"), x, (net_conv_shape){channels, 2 * channels, 2, 2, 0, 1, true});
        channels *= 2;
    }
    x = net_unary(b, "GlobalAveragePool", STR("avgpool"), x);
    x = map_norm(b, STR("classifier.0"), x, channels);
    x = net_unary(b, "Flatten", STR("classifier.1"), x);
    vision_end(b, net_gemm(b, STR("classifier.2"), x, channels, classes), classes);
}
