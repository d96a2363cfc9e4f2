/* vit.c: the Vision Transformer, Dosovitskiy and others, "An Image is Worth 16x16 Words", arXiv:2010.11929. Ti and S
 * are those of DeiT, arXiv:2012.12877. Names are torchvision's. Queries, keys and values come from one product and
 * attention is one kernel, as in timm; torchvision's nn.MultiheadAttention runs other operators in eval mode. */
#include "models/vision.h"

enum { PATCH, LAYERS, HIDDEN, HEADS, FFN, IMAGE, CLASSES };
const zoo_parameter ZOO_VIT[] = {
    [PATCH] = {"patch", "16", 1, 256, "height and width of a patch", false},
    [LAYERS] = {"layers", "12", 1, 512, "layers", false},
    [HIDDEN] = {"hidden", "768", 1, 65536, "hidden size", false},
    [HEADS] = {"heads", "12", 1, 1024, "attention heads", false},
    [FFN] = {"ffn", "0", 0, 1048576, "width of the feed-forward layers; 0: four times hidden", false},
    [IMAGE] = VISION_IMAGE("224", 16),
    [CLASSES] = VISION_CLASSES,
    {0},
};

typedef struct vit_sizes {
    int64_t hidden, heads, ffn;
} vit_sizes;

/* One product for query, key and value; pre-norm attention and feed-forward. */
static value_id vit_layer(builder *b, str scope, value_id x, vit_sizes s)
{
    str attention = net_join(b, scope, "self_attention");
    value_id y = net_layer_norm(b, net_join(b, scope, "ln_1"), x, s.hidden, 1e-6), qkv[3];
    y = net_linear(b, net_join(b, attention, ".in_proj"), y, s.hidden, 3 * s.hidden);
    net_split(b, net_join(b, attention, ".split"), y, -1, qkv, 3);
    y = net_attention(b, attention, qkv[0], qkv[1], qkv[2], NO_VALUE, s.heads);
    y = net_linear(b, net_join(b, attention, ".out_proj"), y, s.hidden, s.hidden);
    x = net_binary(b, "Add", net_join(b, scope, "add_1"), x, y);
    y = net_layer_norm(b, net_join(b, scope, "ln_2"), x, s.hidden, 1e-6);
    y = net_linear(b, net_join(b, scope, "mlp.0"), y, s.hidden, s.ffn);
    y = net_unary(b, "Gelu", net_join(b, scope, "mlp.1"), y);
    y = net_linear(b, net_join(b, scope, "mlp.3"), y, s.ffn, s.hidden);
    return net_binary(b, "Add", net_join(b, scope, "add_2"), x, y);
}

void zoo_vit(builder *b, const zoo_arguments *a)
{
    int64_t patch = a->numbers[PATCH], image = a->numbers[IMAGE], patches = (image / patch) * (image / patch);
    int64_t classes = a->numbers[CLASSES];
    vit_sizes s = {a->numbers[HIDDEN], a->numbers[HEADS], a->numbers[FFN]};
    s.ffn = s.ffn ? s.ffn : 4 * s.hidden;
    if (image % patch)
        zoo_refuse(b, a, IMAGE, "it must be a multiple of the patch size %lld", (long long)patch);
    if (s.hidden % s.heads)
        zoo_refuse(b, a, HEADS, "the hidden size %lld must be a multiple of it", (long long)s.hidden);
    value_id images = vision_begin(b, image);
    value_id x = net_conv(b, STR("conv_proj"), images, (net_conv_shape){3, s.hidden, patch, patch, 0, 1, true});
    x = net_reshape(b, STR("patches"), x, (int64_t[]){0, s.hidden, patches}, 3);
    value_id tokens = net_transpose(b, STR("tokens"), x, (int64_t[]){0, 2, 1}, 3);
    value_id first = net_token(b, "class_token", images, s.hidden);
    x = net_concat(b, STR("encoder.tokens"), (value_id[]){first, tokens}, 2, 1);
    value_id positions = net_weight(b, STR("encoder.pos_embedding"), 3, (int64_t[]){1, patches + 1, s.hidden});
    x = net_binary(b, "Add", STR("encoder.add"), x, positions);
    for (int64_t i = 0; i < a->numbers[LAYERS]; i++)
        x = vit_layer(b, net_number(b, STR("encoder.layers."), i, "."), x, s);
    x = net_layer_norm(b, STR("encoder.ln"), x, s.hidden, 1e-6);
    x = net_gather(b, STR("first_token"), x, net_ints(b, "first_token.index", 0, (int64_t[]){0}, 1), 1);
    vision_end(b, net_gemm(b, STR("heads.head"), x, s.hidden, classes), classes);
}
