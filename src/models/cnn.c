/* cnn.c: convolutional networks for images of 224 x 224, as torchvision writes them.
 *
 *   ResNet       He and others, "Deep Residual Learning for Image Recognition", arXiv:1512.03385 (stride in the 3 x 3);
 *                with groups ResNeXt (Xie and others, arXiv:1611.05431), with width 128 Wide ResNet (arXiv:1605.07146)
 *   MobileNetV2  Sandler and others, "MobileNetV2: Inverted Residuals and Linear Bottlenecks", arXiv:1801.04381
 *   VGG          Simonyan and Zisserman, "Very Deep Convolutional Networks …", arXiv:1409.1556 */
#include "models/net.h"

enum { CLASSES = 1000, IMAGE = 224 };

static value_id image(builder *b, int64_t size)
{
    net_begin(b);
    return net_input(b, "input", DT_FLOAT32, 4, (num[]){net_batch(b), 3, size, size});
}

static void finish(builder *b, value_id x, int64_t classes)
{
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), classes});
    net_end(b);
}

/* Mean over the image, then one linear layer. */
static void head(builder *b, const char *name, value_id x, int64_t channels, int64_t classes)
{
    x = net_unary(b, "GlobalAveragePool", STR("avgpool"), x);
    x = net_unary(b, "Flatten", STR("flatten"), x);
    finish(b, net_gemm(b, str_of(name), x, channels, classes), classes);
}

/* ---- ResNet --------------------------------------------------------------------------------------------------------- */

static value_id conv_norm(builder *b, const char *scope, const char *conv, const char *norm, value_id x,
                          net_conv_shape s)
{
    s.groups = s.groups ? s.groups : 1;
    x = net_conv(b, NAME("%s%s", scope, conv), x, s);
    return net_batch_norm(b, NAME("%s%s", scope, norm), x, s.out);
}

enum { RN_DEPTH, RN_GROUPS, RN_WIDTH, RN_IMAGE, RN_CLASSES };
const zoo_parameter ZOO_RESNET[] = {
    [RN_DEPTH] = {"depth", "50", 0, 0, "18, 34, 50, 101, 152 or 200"},
    [RN_GROUPS] = {"groups", "1", 1, 1024, "groups of the 3 x 3 convolutions"},
    [RN_WIDTH] = {"width", "64", 1, 65536, "channels of a group in the first stage"},
    [RN_IMAGE] = {"image", "224", 32, 8192, "height and width of the image"},
    [RN_CLASSES] = {"classes", "1000", 1, 1000000, "classes of the output"},
    {0},
};

typedef struct resnet_sizes {
    int64_t depth, groups, width, image, classes;
} resnet_sizes;

/* Channels into the block, in the middle of it, its stride, groups. */
typedef struct resnet_block {
    int64_t in, middle, out, stride, groups;
} resnet_block;

static value_id basic_block(builder *b, const char *scope, value_id x, resnet_block s)
{
    value_id y = conv_norm(b, scope, "conv1", "bn1", x, (net_conv_shape){s.in, s.out, 3, s.stride, 1, 1, false});
    y = net_unary(b, "Relu", NAME("%srelu1", scope), y);
    return conv_norm(b, scope, "conv2", "bn2", y, (net_conv_shape){s.out, s.out, 3, 1, 1, 1, false});
}

static value_id bottleneck(builder *b, const char *scope, value_id x, resnet_block s)
{
    value_id y = conv_norm(b, scope, "conv1", "bn1", x, (net_conv_shape){s.in, s.middle, 1, 1, 0, 1, false});
    y = net_unary(b, "Relu", NAME("%srelu1", scope), y);
    y = conv_norm(b, scope, "conv2", "bn2", y, (net_conv_shape){s.middle, s.middle, 3, s.stride, 1, s.groups, false});
    y = net_unary(b, "Relu", NAME("%srelu2", scope), y);
    return conv_norm(b, scope, "conv3", "bn3", y, (net_conv_shape){s.middle, s.out, 1, 1, 0, 1, false});
}

static void build_resnet(builder *b, const resnet_sizes *s)
{
    enum { STAGES = 4 };
    static const struct {
        int64_t depth;
        int blocks[STAGES];
    } DEPTHS[] = {{18, {2, 2, 2, 2}},   {34, {3, 4, 6, 3}},   {50, {3, 4, 6, 3}},
                  {101, {3, 4, 23, 3}}, {152, {3, 8, 36, 3}}, {200, {3, 24, 36, 3}}};
    const int *blocks = DEPTHS[0].blocks;
    for (size_t i = 0; i < sizeof DEPTHS / sizeof *DEPTHS; i++)
        if (DEPTHS[i].depth == s->depth)
            blocks = DEPTHS[i].blocks;
    bool is_deep = s->depth >= 50;
    int64_t channels = 64;
    value_id x = image(b, s->image);
    x = conv_norm(b, "", "conv1", "bn1", x, (net_conv_shape){3, 64, 7, 2, 3, 1, false});
    x = net_unary(b, "Relu", STR("relu"), x);
    x = net_max_pool(b, STR("maxpool"), x, 3, 2, 1);
    for (int stage = 0; stage < STAGES; stage++) {
        for (int i = 0; i < blocks[stage]; i++) {
            const char *scope = NAME("layer%d.%d.", stage + 1, i).ptr;
            resnet_block block = {channels, (s->width << stage) * s->groups, (int64_t)(is_deep ? 256 : 64) << stage,
                                  stage > 0 && i == 0 ? 2 : 1, s->groups};
            value_id y = (is_deep ? bottleneck : basic_block)(b, scope, x, block);
            if (block.stride != 1 || channels != block.out)
                x = conv_norm(b, scope, "downsample.0", "downsample.1", x,
                              (net_conv_shape){channels, block.out, 1, block.stride, 0, 1, false});
            x = net_binary(b, "Add", NAME("%sadd", scope), y, x);
            x = net_unary(b, "Relu", NAME("%srelu", scope), x);
            channels = block.out;
        }
    }
    head(b, "fc", x, channels, s->classes);
}

void zoo_resnet(builder *b, const zoo_arguments *a)
{
    resnet_sizes s = {a->entry->variant, 1, 64, IMAGE, CLASSES};
    if (a->entry->parameters) {
        zoo_numbers(b, a, RN_DEPTH, (int64_t[]){18, 34, 50, 101, 152, 200, 0}, &s.depth, 1);
        s.groups = a->numbers[RN_GROUPS];
        s.width = a->numbers[RN_WIDTH];
        s.image = a->numbers[RN_IMAGE];
        s.classes = a->numbers[RN_CLASSES];
        if (s.depth < 50 && (s.groups != 1 || s.width != 64))
            zoo_refuse(b, a, RN_DEPTH, "groups and width are for depths of 50 and more");
    }
    build_resnet(b, &s);
}

/* ---- MobileNetV2 ---------------------------------------------------------------------------------------------------- */

typedef struct relu6_bounds {
    value_id low, high;
} relu6_bounds;

static value_id conv_relu6(builder *b, const char *scope, value_id x, net_conv_shape s, relu6_bounds bounds)
{
    node *n;
    x = conv_norm(b, scope, "0", "1", x, s);
    return net_node(b, "Clip", NAME("%s2", scope), (value_id[]){x, bounds.low, bounds.high}, 3, 0, &n);
}

void zoo_mobilenet_v2(builder *b, const zoo_arguments *a)
{
    /* expansion, channels, repetitions, stride of the first: table 2 of the paper */
    static const int settings[7][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                       {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    (void)a;
    value_id x = image(b, IMAGE);
    relu6_bounds bounds = {net_real(b, "relu6.min", 0), net_real(b, "relu6.max", 6)};
    x = conv_relu6(b, "features.0.", x, (net_conv_shape){3, 32, 3, 2, 1, 1, false}, bounds);
    int64_t in = 32;
    int index = 1;
    for (int s = 0; s < 7; s++) {
        for (int i = 0; i < settings[s][2]; i++, index++) {
            int64_t wide = in * settings[s][0], out = settings[s][1], stride = i == 0 ? settings[s][3] : 1;
            const char *scope = NAME("features.%d.conv.", index).ptr;
            value_id y = x;
            int part = 0;
            if (wide != in)
                y = conv_relu6(b, NAME("%s%d.", scope, part++).ptr, y, (net_conv_shape){in, wide, 1, 1, 0, 1, false},
                               bounds);
            y = conv_relu6(b, NAME("%s%d.", scope, part++).ptr, y,
                           (net_conv_shape){wide, wide, 3, stride, 1, wide, false}, bounds);
            y = conv_norm(b, scope, NAME("%d", part).ptr, NAME("%d", part + 1).ptr, y,
                          (net_conv_shape){wide, out, 1, 1, 0, 1, false});
            x = stride == 1 && in == out ? net_binary(b, "Add", NAME("features.%d.add", index), x, y) : y;
            in = out;
        }
    }
    x = conv_relu6(b, "features.18.", x, (net_conv_shape){in, 1280, 1, 1, 0, 1, false}, bounds);
    head(b, "classifier.1", x, 1280, CLASSES);
}

/* ---- VGG ------------------------------------------------------------------------------------------------------------ */

enum { VGG_DEPTH, VGG_NORM, VGG_CLASSES };
const zoo_parameter ZOO_VGG[] = {
    [VGG_DEPTH] = {"depth", "16", 0, 0, "11, 13, 16 or 19"},
    [VGG_NORM] = {"norm", "none", 0, 0, "none or batch"},
    [VGG_CLASSES] = {"classes", "1000", 1, 1000000, "classes of the output"},
    {0},
};

/* Convolutions in each of the five stages: configurations A, B, D and E of the paper. */
static const int *vgg_stages(int64_t depth)
{
    static const int A[] = {1, 1, 2, 2, 2}, B[] = {2, 2, 2, 2, 2}, D[] = {2, 2, 3, 3, 3}, E[] = {2, 2, 4, 4, 4};
    return depth == 11 ? A : depth == 13 ? B : depth == 16 ? D : E;
}

void zoo_vgg(builder *b, const zoo_arguments *a)
{
    enum { STAGES = 5 };
    static const int64_t widths[STAGES] = {64, 128, 256, 512, 512};
    int64_t depth = a->entry->variant, classes = CLASSES, in = 3;
    bool has_norm = false;
    if (a->entry->parameters) {
        zoo_numbers(b, a, VGG_DEPTH, (int64_t[]){11, 13, 16, 19, 0}, &depth, 1);
        has_norm = zoo_choice(b, a, VGG_NORM, (const char *const[]){"none", "batch", NULL}) == 1;
        classes = a->numbers[VGG_CLASSES];
    }
    value_id x = image(b, IMAGE);
    int index = 0;
    for (int stage = 0; stage < STAGES; stage++) {
        for (int i = 0; i < vgg_stages(depth)[stage]; i++) {
            x = net_conv(b, NAME("features.%d", index++), x, (net_conv_shape){in, widths[stage], 3, 1, 1, 1, true});
            if (has_norm)
                x = net_batch_norm(b, NAME("features.%d", index++), x, widths[stage]);
            x = net_unary(b, "Relu", NAME("features.%d", index++), x);
            in = widths[stage];
        }
        x = net_max_pool(b, NAME("features.%d", index++), x, 2, 2, 0);
    }
    x = net_unary(b, "Flatten", STR("flatten"), x);
    x = net_gemm(b, STR("classifier.0"), x, (int64_t)512 * 7 * 7, 4096);
    x = net_unary(b, "Relu", STR("classifier.1"), x);
    x = net_gemm(b, STR("classifier.3"), x, 4096, 4096);
    x = net_unary(b, "Relu", STR("classifier.4"), x);
    finish(b, net_gemm(b, STR("classifier.6"), x, 4096, classes), classes);
}
