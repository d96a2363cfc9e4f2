/* cnn.c: convolutional networks for images of 224 x 224, as torchvision writes them.
 *
 *   ResNet       He and others, "Deep Residual Learning for Image Recognition", arXiv:1512.03385 (stride in the 3 x 3)
 *   MobileNetV2  Sandler and others, "MobileNetV2: Inverted Residuals and Linear Bottlenecks", arXiv:1801.04381
 *   VGG          Simonyan and Zisserman, "Very Deep Convolutional Networks …", arXiv:1409.1556, configuration D */
#include "zoo/net.h"

enum { CLASSES = 1000, IMAGE = 224 };

static value_id image(builder *b)
{
    net_begin(b);
    return net_input(b, "input", DT_FLOAT32, 4, (num[]){net_batch(b), 3, IMAGE, IMAGE});
}

static void classes(builder *b, value_id x)
{
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), CLASSES});
    net_end(b);
}

/* Mean over the image, then one linear layer. */
static void head(builder *b, const char *name, value_id x, int64_t channels)
{
    x = net_unary(b, "GlobalAveragePool", STR("avgpool"), x);
    x = net_unary(b, "Flatten", STR("flatten"), x);
    classes(b, net_gemm(b, str_of(name), x, channels, CLASSES));
}

/* ---- ResNet --------------------------------------------------------------------------------------------------------- */

static value_id conv_norm(builder *b, const char *scope, const char *conv, const char *norm, value_id x,
                          net_conv_shape s)
{
    s.groups = s.groups ? s.groups : 1;
    x = net_conv(b, NAME("%s%s", scope, conv), x, s);
    return net_batch_norm(b, NAME("%s%s", scope, norm), x, s.out);
}

static value_id basic_block(builder *b, const char *scope, value_id x, int64_t in, int64_t width, int64_t stride)
{
    value_id y = conv_norm(b, scope, "conv1", "bn1", x, (net_conv_shape){in, width, 3, stride, 1, 1, false});
    y = net_unary(b, "Relu", NAME("%srelu1", scope), y);
    return conv_norm(b, scope, "conv2", "bn2", y, (net_conv_shape){width, width, 3, 1, 1, 1, false});
}

static value_id bottleneck(builder *b, const char *scope, value_id x, int64_t in, int64_t width, int64_t stride)
{
    value_id y = conv_norm(b, scope, "conv1", "bn1", x, (net_conv_shape){in, width, 1, 1, 0, 1, false});
    y = net_unary(b, "Relu", NAME("%srelu1", scope), y);
    y = conv_norm(b, scope, "conv2", "bn2", y, (net_conv_shape){width, width, 3, stride, 1, 1, false});
    y = net_unary(b, "Relu", NAME("%srelu2", scope), y);
    return conv_norm(b, scope, "conv3", "bn3", y, (net_conv_shape){width, 4 * width, 1, 1, 0, 1, false});
}

void zoo_resnet(builder *b, const zoo_arguments *a)
{
    static const int blocks_18[] = {2, 2, 2, 2}, blocks_50[] = {3, 4, 6, 3};
    bool deep = a->entry->variant >= 50;
    const int *blocks = deep ? blocks_50 : blocks_18;
    int64_t expansion = deep ? 4 : 1, channels = 64;
    value_id x = image(b);
    x = conv_norm(b, "", "conv1", "bn1", x, (net_conv_shape){3, 64, 7, 2, 3, 1, false});
    x = net_unary(b, "Relu", STR("relu"), x);
    x = net_max_pool(b, STR("maxpool"), x, 3, 2, 1);
    for (int stage = 0; stage < 4; stage++) {
        int64_t width = 64 << stage;
        for (int i = 0; i < blocks[stage]; i++) {
            const char *scope = NAME("layer%d.%d.", stage + 1, i).ptr;
            int64_t stride = stage > 0 && i == 0 ? 2 : 1, out = width * expansion;
            value_id y = (deep ? bottleneck : basic_block)(b, scope, x, channels, width, stride);
            if (stride != 1 || channels != out)
                x = conv_norm(b, scope, "downsample.0", "downsample.1", x,
                              (net_conv_shape){channels, out, 1, stride, 0, 1, false});
            x = net_binary(b, "Add", NAME("%sadd", scope), y, x);
            x = net_unary(b, "Relu", NAME("%srelu", scope), x);
            channels = out;
        }
    }
    head(b, "fc", x, channels);
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
    value_id x = image(b);
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
    head(b, "classifier.1", x, 1280);
}

/* ---- VGG ------------------------------------------------------------------------------------------------------------ */

void zoo_vgg(builder *b, const zoo_arguments *a)
{
    static const int64_t widths[] = {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0};
    (void)a;
    value_id x = image(b);
    int64_t in = 3;
    int index = 0;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        if (widths[i] == 0) {
            x = net_max_pool(b, NAME("features.%d", index++), x, 2, 2, 0);
            continue;
        }
        x = net_conv(b, NAME("features.%d", index++), x, (net_conv_shape){in, widths[i], 3, 1, 1, 1, true});
        x = net_unary(b, "Relu", NAME("features.%d", index++), x);
        in = widths[i];
    }
    x = net_unary(b, "Flatten", STR("flatten"), x);
    x = net_gemm(b, STR("classifier.0"), x, (int64_t)512 * 7 * 7, 4096);
    x = net_unary(b, "Relu", STR("classifier.1"), x);
    x = net_gemm(b, STR("classifier.3"), x, 4096, 4096);
    x = net_unary(b, "Relu", STR("classifier.4"), x);
    classes(b, net_gemm(b, STR("classifier.6"), x, 4096, CLASSES));
}
