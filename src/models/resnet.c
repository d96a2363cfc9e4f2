/* resnet.c: residual networks, as torchvision writes them.
 *
 *   ResNet       He and others, "Deep Residual Learning for Image Recognition", arXiv:1512.03385 (stride in the 3 x 3)
 *   ResNeXt      Xie and others, arXiv:1611.05431: groups in the 3 x 3
 *   Wide ResNet  Zagoruyko and Komodakis, arXiv:1605.07146: width 128 */
#include "models/vision.h"

enum { RN_DEPTH, RN_GROUPS, RN_WIDTH, RN_IMAGE, RN_CLASSES };
const zoo_parameter ZOO_RESNET[] = {
    [RN_DEPTH] = {"depth", "50", 0, 0, "18, 34, 50, 101, 152 or 200", false},
    [RN_GROUPS] = {"groups", "1", 1, 1024, "groups of the 3 x 3 convolutions", false},
    [RN_WIDTH] = {"width", "64", 1, 65536, "channels of a group in the first stage", false},
    [RN_IMAGE] = VISION_IMAGE("224", 32),
    [RN_CLASSES] = VISION_CLASSES,
    {0},
};

/* Channels at the input and inside the block, its stride and groups. */
typedef struct resnet_block {
    int64_t in, middle, out, stride, groups;
} resnet_block;

static value_id basic_block(builder *b, str scope, value_id x, resnet_block s)
{
    value_id y = vision_conv_norm(b, scope, "conv1", "bn1", x, (net_conv_shape){s.in, s.out, 3, s.stride, 1, 1, false});
    y = net_unary(b, "Relu", net_join(b, scope, "relu1"), y);
    return vision_conv_norm(b, scope, "conv2", "bn2", y, (net_conv_shape){s.out, s.out, 3, 1, 1, 1, false});
}

static value_id bottleneck(builder *b, str scope, value_id x, resnet_block s)
{
    value_id y = vision_conv_norm(b, scope, "conv1", "bn1", x, (net_conv_shape){s.in, s.middle, 1, 1, 0, 1, false});
    y = net_unary(b, "Relu", net_join(b, scope, "relu1"), y);
    y = vision_conv_norm(b, scope, "conv2", "bn2", y,
                         (net_conv_shape){s.middle, s.middle, 3, s.stride, 1, s.groups, false});
    y = net_unary(b, "Relu", net_join(b, scope, "relu2"), y);
    return vision_conv_norm(b, scope, "conv3", "bn3", y, (net_conv_shape){s.middle, s.out, 1, 1, 0, 1, false});
}

void zoo_resnet(builder *b, const zoo_arguments *a)
{
    enum { STAGES = 4 };
    static const struct {
        int64_t depth;
        int blocks[STAGES];
    } DEPTHS[] = {{18, {2, 2, 2, 2}},   {34, {3, 4, 6, 3}},   {50, {3, 4, 6, 3}},
                  {101, {3, 4, 23, 3}}, {152, {3, 8, 36, 3}}, {200, {3, 24, 36, 3}}};
    int64_t depth, groups = a->numbers[RN_GROUPS], width = a->numbers[RN_WIDTH], channels = 64;
    zoo_numbers(b, a, RN_DEPTH, (int64_t[]){18, 34, 50, 101, 152, 200, 0}, &depth, 1);
    bool is_deep = depth >= 50;
    if (!is_deep && (groups != 1 || width != 64))
        zoo_refuse(b, a, RN_DEPTH, "groups and width apply to depths of 50 and more");
    int row = 0;
    while (DEPTHS[row].depth != depth)
        row++;
    value_id x = vision_begin(b, a->numbers[RN_IMAGE]);
    x = vision_conv_norm(b, STR(""), "conv1", "bn1", x, (net_conv_shape){3, 64, 7, 2, 3, 1, false});
    x = net_unary(b, "Relu", STR("relu"), x);
    x = net_max_pool(b, STR("maxpool"), x, 3, 2, 1);
    for (int stage = 0; stage < STAGES; stage++) {
        str layer = net_number(b, STR("layer"), stage + 1, ".");
        for (int i = 0; i < DEPTHS[row].blocks[stage]; i++) {
            str scope = net_number(b, layer, i, ".");
            resnet_block block = {channels, (width << stage) * groups, (int64_t)(is_deep ? 256 : 64) << stage,
                                  stage > 0 && i == 0 ? 2 : 1, groups};
            value_id y = (is_deep ? bottleneck : basic_block)(b, scope, x, block);
            if (block.stride != 1 || channels != block.out)
                x = vision_conv_norm(b, scope, "downsample.0", "downsample.1", x,
                                     (net_conv_shape){channels, block.out, 1, block.stride, 0, 1, false});
            x = net_binary(b, "Add", net_join(b, scope, "add"), y, x);
            x = net_unary(b, "Relu", net_join(b, scope, "relu"), x);
            channels = block.out;
        }
    }
    vision_classify(b, "fc", x, channels, a->numbers[RN_CLASSES]);
}
