/* swin.c: the Swin Transformer, Liu and others, "Swin Transformer: Hierarchical Vision Transformer using Shifted
 * Windows", arXiv:2103.14030, as timm writes it: masks and indices of positions are tables that the model keeps. */
#include "models/vision.h"

#include <math.h>

enum { WIDTH, BLOCKS, HEADS, WINDOW, IMAGE, CLASSES, STAGES = 4, MOST_BLOCKS = 64, PATCH = 4 };
const zoo_parameter ZOO_SWIN[] = {
    [WIDTH] = {"width", "96", 8, 4096, "channels of the first stage; they double", false},
    [BLOCKS] = {"blocks", "2,2,6,2", 0, 0, "blocks of the four stages", false},
    [HEADS] = {"heads", "3", 1, 512, "attention heads of the first stage; they double", false},
    [WINDOW] = {"window", "7", 2, 64, "height and width of a window", false},
    [IMAGE] = VISION_IMAGE("224", 32),
    [CLASSES] = VISION_CLASSES,
    {0},
};

typedef struct swin_block {
    int64_t size, channels, heads;
    int64_t window, shift;
} swin_block;

static value_id unsqueeze(builder *b, str name, value_id x, int64_t axis)
{
    return net_binary(b, "Unsqueeze", name, x, net_ints(b, net_join(b, name, ".axes").ptr, 1, &axis, 1));
}

/* torch.roll along height and width: moves elements by `shift` towards the end. */
static value_id roll(builder *b, str name, value_id x, int64_t size, int64_t shift)
{
    for (int64_t axis = 1; axis <= 2; axis++) {
        str along = net_number(b, name, axis, "");
        int64_t cut = size - shift;
        value_id parts[2] = {net_slice(b, net_join(b, along, ".last"), x, axis, cut, INT64_MAX),
                             net_slice(b, net_join(b, along, ".first"), x, axis, 0, cut)};
        x = net_concat(b, net_join(b, along, ".cat"), parts, 2, axis);
    }
    return x;
}

/* Pads the end of height and width with zeros. Always a node, because timm also pads by zero. */
static value_id pad(builder *b, str name, value_id x, int64_t by)
{
    int64_t pads[8] = {0, 0, 0, 0, 0, by, by, 0};
    return net_binary(b, "Pad", name, x, net_ints(b, net_join(b, name, ".pads").ptr, 1, pads, 8));
}

/* Attention inside windows of (windows, window x window, channels). */
static value_id window_attention(builder *b, str scope, value_id x, const swin_block *s, int64_t windows)
{
    int64_t tokens = s->window * s->window, width = s->channels / s->heads;
    value_id qkv[3];
    x = net_linear(b, net_join(b, scope, "qkv"), x, s->channels, 3 * s->channels);
    x = net_reshape(b, net_join(b, scope, "split_heads"), x, (int64_t[]){-1, tokens, 3, s->heads, width}, 5);
    x = net_transpose(b, net_join(b, scope, "permute"), x, (int64_t[]){2, 0, 3, 1, 4}, 5);
    net_split(b, net_join(b, scope, "unbind"), x, 0, qkv, 3);
    value_id first = net_ints(b, net_join(b, scope, "unbind.axes").ptr, 1, (int64_t[]){0}, 1);
    static const char *const NAMES[3] = {"q", "k", "v"};
    for (int i = 0; i < 3; i++)
        qkv[i] = net_binary(b, "Squeeze", net_join(b, scope, NAMES[i]), qkv[i], first);
    value_id scale = net_real(b, net_join(b, scope, "scale").ptr, (float)(1 / sqrt((double)width)));
    value_id q = net_binary(b, "Mul", net_join(b, scope, "scaled"), qkv[0], scale);
    value_id k = net_transpose(b, net_join(b, scope, "keys"), qkv[1], (int64_t[]){0, 1, 3, 2}, 4);
    x = net_binary(b, "MatMul", net_join(b, scope, "scores"), q, k);

    int64_t rows = (2 * s->window - 1) * (2 * s->window - 1), pairs = tokens * tokens;
    value_id table = net_weight(b, net_join(b, scope, "relative_position_bias_table"), 2, (int64_t[]){rows, s->heads});
    value_id index = net_buffer(b, net_join(b, scope, "relative_position_index"), DT_INT64, 1, &pairs);
    value_id bias = net_gather(b, net_join(b, scope, "bias"), table, index, 0);
    bias = net_reshape(b, net_join(b, scope, "bias_map"), bias, (int64_t[]){tokens, tokens, -1}, 3);
    bias = net_transpose(b, net_join(b, scope, "bias_permute"), bias, (int64_t[]){2, 0, 1}, 3);
    bias = unsqueeze(b, net_join(b, scope, "bias_batch"), bias, 0);
    x = net_binary(b, "Add", net_join(b, scope, "biased"), x, bias);
    if (s->shift) {
        value_id mask =
            net_buffer(b, net_join(b, scope, "attn_mask"), DT_FLOAT32, 3, (int64_t[]){windows, tokens, tokens});
        mask = unsqueeze(b, net_join(b, scope, "mask_heads"), mask, 1);
        mask = unsqueeze(b, net_join(b, scope, "mask_batch"), mask, 0);
        x = net_reshape(b, net_join(b, scope, "by_window"), x, (int64_t[]){-1, windows, s->heads, tokens, tokens}, 5);
        x = net_binary(b, "Add", net_join(b, scope, "masked"), x, mask);
        x = net_reshape(b, net_join(b, scope, "by_head"), x, (int64_t[]){-1, s->heads, tokens, tokens}, 4);
    }
    x = net_softmax(b, net_join(b, scope, "softmax"), x);
    x = net_binary(b, "MatMul", net_join(b, scope, "values"), x, qkv[2]);
    x = net_transpose(b, net_join(b, scope, "merge_heads"), x, (int64_t[]){0, 2, 1, 3}, 4);
    x = net_reshape(b, net_join(b, scope, "tokens"), x, (int64_t[]){-1, tokens, s->channels}, 3);
    return net_linear(b, net_join(b, scope, "proj"), x, s->channels, s->channels);
}

static value_id block(builder *b, str scope, value_id x, const swin_block *s)
{
    int64_t w = s->window, c = s->channels, over = (w - s->size % w) % w, padded = s->size + over, n = padded / w;
    value_id y = net_layer_norm(b, net_join(b, scope, "norm1"), x, c, 1e-5);
    if (s->shift)
        y = roll(b, net_join(b, scope, "shift"), y, s->size, s->size - s->shift);
    y = pad(b, net_join(b, scope, "pad"), y, over);
    y = net_reshape(b, net_join(b, scope, "grid"), y, (int64_t[]){-1, n, w, n, w, c}, 6);
    y = net_transpose(b, net_join(b, scope, "partition"), y, (int64_t[]){0, 1, 3, 2, 4, 5}, 6);
    y = net_reshape(b, net_join(b, scope, "windows"), y, (int64_t[]){-1, w, w, c}, 4);
    y = net_reshape(b, net_join(b, scope, "tokens"), y, (int64_t[]){-1, w * w, c}, 3);
    y = window_attention(b, net_join(b, scope, "attn."), y, s, n * n);
    y = net_reshape(b, net_join(b, scope, "maps"), y, (int64_t[]){-1, w, w, c}, 4);
    y = net_reshape(b, net_join(b, scope, "ungrid"), y, (int64_t[]){-1, n, n, w, w, c}, 6);
    y = net_transpose(b, net_join(b, scope, "reverse"), y, (int64_t[]){0, 1, 3, 2, 4, 5}, 6);
    y = net_reshape(b, net_join(b, scope, "map"), y, (int64_t[]){-1, padded, padded, c}, 4);
    y = net_slice(b, net_join(b, scope, "crop_h"), y, 1, 0, s->size);
    y = net_slice(b, net_join(b, scope, "crop_w"), y, 2, 0, s->size);
    if (s->shift)
        y = roll(b, net_join(b, scope, "unshift"), y, s->size, s->shift);
    x = net_binary(b, "Add", net_join(b, scope, "add1"), x, y);
    x = net_reshape(b, net_join(b, scope, "sequence"), x, (int64_t[]){-1, s->size * s->size, c}, 3);
    y = net_layer_norm(b, net_join(b, scope, "norm2"), x, c, 1e-5);
    y = net_linear(b, net_join(b, scope, "mlp.fc1"), y, c, 4 * c);
    y = net_unary(b, "Gelu", net_join(b, scope, "mlp.act"), y);
    y = net_linear(b, net_join(b, scope, "mlp.fc2"), y, 4 * c, c);
    x = net_binary(b, "Add", net_join(b, scope, "add2"), x, y);
    return net_reshape(b, net_join(b, scope, "image"), x, (int64_t[]){-1, s->size, s->size, c}, 4);
}

/* Merges four neighbours into one with twice the channels. */
static value_id merge(builder *b, str scope, value_id x, int64_t size, int64_t channels)
{
    int64_t half = (size + 1) / 2;
    x = pad(b, net_join(b, scope, "pad"), x, size % 2);
    x = net_reshape(b, net_join(b, scope, "grid"), x, (int64_t[]){-1, half, 2, half, 2, channels}, 6);
    x = net_transpose(b, net_join(b, scope, "permute"), x, (int64_t[]){0, 1, 3, 4, 2, 5}, 6);
    x = net_reshape(b, net_join(b, scope, "flat"), x, (int64_t[]){-1, half, half, 4 * channels}, 4);
    x = net_layer_norm(b, net_join(b, scope, "norm"), x, 4 * channels, 1e-5);
    value_id weight = net_weight(b, net_join(b, scope, "reduction.weight"), 2, (int64_t[]){2 * channels, 4 * channels});
    return net_tied_product(b, net_join(b, scope, "reduction"), x, weight);
}

void zoo_swin(builder *b, const zoo_arguments *a)
{
    int64_t blocks[STAGES], classes = a->numbers[CLASSES], image = a->numbers[IMAGE];
    zoo_counts(b, a, BLOCKS, MOST_BLOCKS, blocks, STAGES);
    if (image % PATCH)
        zoo_refuse(b, a, IMAGE, "it must be a multiple of the patch size 4");
    if (a->numbers[WIDTH] % a->numbers[HEADS])
        zoo_refuse(b, a, HEADS, "the width %lld must be a multiple of it", (long long)a->numbers[WIDTH]);
    swin_block s = {.size = image / PATCH, .channels = a->numbers[WIDTH], .heads = a->numbers[HEADS]};
    value_id x = vision_begin(b, image);
    x = net_conv(b, STR("patch_embed.proj"), x, (net_conv_shape){3, s.channels, PATCH, PATCH, 0, 1, true});
    x = net_transpose(b, STR("patch_embed.permute"), x, (int64_t[]){0, 2, 3, 1}, 4);
    x = net_layer_norm(b, STR("patch_embed.norm"), x, s.channels, 1e-5);
    for (int stage = 0; stage < STAGES; stage++) {
        str layer = net_number(b, STR("layers."), stage, ".");
        if (stage > 0) {
            x = merge(b, net_join(b, layer, "downsample."), x, s.size, s.channels);
            s = (swin_block){.size = (s.size + 1) / 2, .channels = 2 * s.channels, .heads = 2 * s.heads};
        }
        s.window = a->numbers[WINDOW] < s.size ? a->numbers[WINDOW] : s.size;
        str scope = net_join(b, layer, "blocks.");
        for (int64_t i = 0; i < blocks[stage]; i++) {
            s.shift = i % 2 && s.window < s.size ? s.window / 2 : 0;
            x = block(b, net_number(b, scope, i, "."), x, &s);
        }
    }
    x = net_layer_norm(b, STR("norm"), x, s.channels, 1e-5);
    node *n;
    value_id axes = net_ints(b, "head.global_pool.axes", 1, (int64_t[]){1, 2}, 2);
    x = net_node(b, "ReduceMean", STR("head.global_pool"), (value_id[]){x, axes}, 2, 1, &n);
    build_attr_int(b, n, 0, "keepdims", 0);
    vision_end(b, net_gemm(b, STR("head.fc"), x, s.channels, classes), classes);
}
