/* metaformer.c: hybrids of convolutional networks and transformers, as timm writes them.
 *
 *   PoolFormer  Yu and others, "MetaFormer Is Actually What You Need for Vision", arXiv:2111.11418: pools mix the
 * tokens
 *   Visformer   Chen and others, "Visformer: The Vision-friendly Transformer", arXiv:2104.12533: convolutions in the
 * first
 *               stage, attention in the others, batch norm everywhere */
#include "models/vision.h"

#include <math.h>

/* ---- PoolFormer -------------------------------------------------------------------------------------------------- */

enum { PF_BLOCKS, PF_CHANNELS, PF_IMAGE, PF_CLASSES, PF_STAGES = 4, MOST_BLOCKS = 64, MOST_CHANNELS = 8192 };
const zoo_parameter ZOO_POOLFORMER[] = {
    [PF_BLOCKS] = {"blocks", "2,2,6,2", 0, 0, "blocks of the four stages", false},
    [PF_CHANNELS] = {"channels", "64,128,320,512", 0, 0, "channels of the four stages", false},
    [PF_IMAGE] = VISION_IMAGE("224", 32),
    [PF_CLASSES] = VISION_CLASSES,
    {0},
};

/* Group norm with one group: over all channels and the whole map. */
static value_id whole_norm(builder *b, str name, value_id x, int64_t channels)
{
    value_id inputs[3] = {x};
    inputs[1] = net_weight(b, net_join(b, name, ".weight"), 1, &channels);
    inputs[2] = net_weight(b, net_join(b, name, ".bias"), 1, &channels);
    node *n;
    value_id out = net_node(b, "GroupNormalization", name, inputs, 3, 2, &n);
    build_attr_int(b, n, 0, "num_groups", 1);
    build_attr_real(b, n, 1, "epsilon", 1e-5);
    return out;
}

static value_id scaled(builder *b, str name, value_id x, int64_t channels)
{
    value_id scale = net_weight(b, net_join(b, name, ".scale"), 3, (int64_t[]){channels, 1, 1});
    return net_binary(b, "Mul", name, x, scale);
}

static value_id pool_block(builder *b, str scope, value_id x, int64_t channels)
{
    value_id y = whole_norm(b, net_join(b, scope, "norm1"), x, channels);
    value_id mean = net_average_pool(b, net_join(b, scope, "token_mixer.pool"), y, 3, 1, 1);
    y = net_binary(b, "Sub", net_join(b, scope, "token_mixer.sub"), mean, y);
    y = scaled(b, net_join(b, scope, "layer_scale1"), y, channels);
    x = net_binary(b, "Add", net_join(b, scope, "add1"), x, y);
    y = whole_norm(b, net_join(b, scope, "norm2"), x, channels);
    y = net_conv(b, net_join(b, scope, "mlp.fc1"), y, (net_conv_shape){channels, 4 * channels, 1, 1, 0, 1, true});
    y = net_unary(b, "Gelu", net_join(b, scope, "mlp.act"), y);
    y = net_conv(b, net_join(b, scope, "mlp.fc2"), y, (net_conv_shape){4 * channels, channels, 1, 1, 0, 1, true});
    y = scaled(b, net_join(b, scope, "layer_scale2"), y, channels);
    return net_binary(b, "Add", net_join(b, scope, "add2"), x, y);
}

void zoo_poolformer(builder *b, const zoo_arguments *a)
{
    int64_t blocks[PF_STAGES], channels[PF_STAGES], classes = a->numbers[PF_CLASSES];
    zoo_counts(b, a, PF_BLOCKS, MOST_BLOCKS, blocks, PF_STAGES);
    zoo_counts(b, a, PF_CHANNELS, MOST_CHANNELS, channels, PF_STAGES);
    value_id x = vision_begin(b, a->numbers[PF_IMAGE]);
    x = net_conv(b, STR("stem.conv"), x, (net_conv_shape){3, channels[0], 7, 4, 2, 1, true});
    for (int stage = 0; stage < PF_STAGES; stage++) {
        str scope = net_number(b, STR("stages."), stage, ".");
        if (stage > 0)
            x = net_conv(b, net_join(b, scope, "downsample.conv"), x,
                         (net_conv_shape){channels[stage - 1], channels[stage], 3, 2, 1, 1, true});
        str all = net_join(b, scope, "blocks.");
        for (int64_t i = 0; i < blocks[stage]; i++)
            x = pool_block(b, net_number(b, all, i, "."), x, channels[stage]);
    }
    int64_t last = channels[PF_STAGES - 1];
    x = net_unary(b, "GlobalAveragePool", STR("head.global_pool"), x);
    x = net_transpose(b, STR("head.norm.last"), x, (int64_t[]){0, 2, 3, 1}, 4);
    x = net_layer_norm(b, STR("head.norm"), x, last, 1e-6);
    x = net_transpose(b, STR("head.norm.first"), x, (int64_t[]){0, 3, 1, 2}, 4);
    x = net_unary(b, "Flatten", STR("head.flatten"), x);
    vision_end(b, net_gemm(b, STR("head.fc"), x, last, classes), classes);
}

/* ---- Visformer --------------------------------------------------------------------------------------------------- */

enum { VF_WIDTH, VF_BLOCKS, VF_HEADS, VF_STEM, VF_IMAGE, VF_CLASSES, VF_STAGES = 3 };
const zoo_parameter ZOO_VISFORMER[] = {
    [VF_WIDTH] = {"width", "384", 32, 8192, "channels of the second stage; the others have half and twice as many",
                  false},
    [VF_BLOCKS] = {"blocks", "7,4,4", 0, 0, "blocks of the three stages", false},
    [VF_HEADS] = {"heads", "6", 1, 512, "attention heads", false},
    [VF_STEM] = {"stem", "32", 1, 1024, "channels of the first convolution", false},
    [VF_IMAGE] = VISION_IMAGE("224", 32),
    [VF_CLASSES] = VISION_CLASSES,
    {0},
};

static value_id bare_conv(builder *b, str name, value_id x, int64_t in, int64_t out)
{
    return net_conv(b, name, x, (net_conv_shape){in, out, 1, 1, 0, 1, false});
}

static value_id map_attention(builder *b, str scope, value_id x, int64_t channels, int64_t heads, int64_t size)
{
    int64_t width = channels / heads, tokens = size * size;
    value_id qkv[3];
    x = bare_conv(b, net_join(b, scope, "qkv"), x, channels, 3 * channels);
    x = net_reshape(b, net_join(b, scope, "split_heads"), x, (int64_t[]){-1, 3, heads, width, tokens}, 5);
    x = net_transpose(b, net_join(b, scope, "permute"), x, (int64_t[]){1, 0, 2, 4, 3}, 5);
    net_split(b, net_join(b, scope, "unbind"), x, 0, qkv, 3);
    value_id first = net_ints(b, net_join(b, scope, "unbind.axes").ptr, 1, (int64_t[]){0}, 1);
    static const char *const NAMES[3] = {"q", "k", "v"};
    for (int i = 0; i < 3; i++)
        qkv[i] = net_binary(b, "Squeeze", net_join(b, scope, NAMES[i]), qkv[i], first);
    value_id k = net_transpose(b, net_join(b, scope, "keys"), qkv[1], (int64_t[]){0, 1, 3, 2}, 4);
    x = net_binary(b, "MatMul", net_join(b, scope, "scores"), qkv[0], k);
    value_id scale = net_real(b, net_join(b, scope, "scale").ptr, (float)(1 / sqrt((double)width)));
    x = net_binary(b, "Mul", net_join(b, scope, "scaled"), x, scale);
    x = net_softmax(b, net_join(b, scope, "softmax"), x);
    x = net_binary(b, "MatMul", net_join(b, scope, "values"), x, qkv[2]);
    x = net_transpose(b, net_join(b, scope, "merge_heads"), x, (int64_t[]){0, 1, 3, 2}, 4);
    x = net_reshape(b, net_join(b, scope, "map"), x, (int64_t[]){-1, channels, size, size}, 4);
    return bare_conv(b, net_join(b, scope, "proj"), x, channels, channels);
}

static value_id visformer_block(builder *b, str scope, value_id x, int stage, int64_t channels, int64_t heads,
                                int64_t size)
{
    enum { GROUPS = 8 };
    value_id y;
    if (stage > 0) {
        y = net_batch_norm(b, net_join(b, scope, "norm1"), x, channels);
        y = map_attention(b, net_join(b, scope, "attn."), y, channels, heads, size);
        x = net_binary(b, "Add", net_join(b, scope, "add1"), x, y);
    }
    int64_t hidden = stage > 0 ? 4 * channels : 2 * channels;
    y = net_batch_norm(b, net_join(b, scope, "norm2"), x, channels);
    y = bare_conv(b, net_join(b, scope, "mlp.conv1"), y, channels, hidden);
    y = net_unary(b, "Gelu", net_join(b, scope, "mlp.act1"), y);
    if (stage == 0) { /* convolutions mix the tokens */
        y = net_conv(b, net_join(b, scope, "mlp.conv2"), y, (net_conv_shape){hidden, hidden, 3, 1, 1, GROUPS, false});
        y = net_unary(b, "Gelu", net_join(b, scope, "mlp.act2"), y);
    }
    y = bare_conv(b, net_join(b, scope, "mlp.conv3"), y, hidden, channels);
    return net_binary(b, "Add", net_join(b, scope, "add2"), x, y);
}

void zoo_visformer(builder *b, const zoo_arguments *a)
{
    int64_t blocks[VF_STAGES], width = a->numbers[VF_WIDTH], heads = a->numbers[VF_HEADS], in = a->numbers[VF_STEM];
    int64_t size = (a->numbers[VF_IMAGE] + 1) / 2, classes = a->numbers[VF_CLASSES];
    zoo_counts(b, a, VF_BLOCKS, MOST_BLOCKS, blocks, VF_STAGES);
    if (width % heads || width % 8)
        zoo_refuse(b, a, VF_WIDTH, "it must be a multiple of 8 and of the heads (%lld)", (long long)heads);
    value_id x = vision_begin(b, a->numbers[VF_IMAGE]);
    x = vision_conv_norm(b, STR("stem."), "0", "1", x, (net_conv_shape){3, in, 7, 2, 3, 1, false});
    x = net_unary(b, "Relu", STR("stem.2"), x);
    for (int stage = 0; stage < VF_STAGES; stage++) {
        int64_t channels = stage == 0 ? width / 2 : width * stage, patch = stage == 0 ? 4 : 2;
        str embed = net_number(b, STR("patch_embed"), stage + 1, "."),
            scope = net_number(b, STR("stage"), stage + 1, ".");
        size /= patch;
        x = vision_conv_norm(b, embed, "proj", "norm", x, (net_conv_shape){in, channels, patch, patch, 0, 1, true});
        value_id positions =
            net_weight(b, net_number(b, STR("pos_embed"), stage + 1, ""), 4, (int64_t[]){1, channels, size, size});
        x = net_binary(b, "Add", net_join(b, embed, "add"), x, positions);
        for (int64_t i = 0; i < blocks[stage]; i++)
            x = visformer_block(b, net_number(b, scope, i, "."), x, stage, channels, heads, size);
        in = channels;
    }
    x = net_batch_norm(b, STR("norm"), x, in);
    vision_classify(b, "head", x, in, classes);
}
