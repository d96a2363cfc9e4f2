/* dense_prediction.c: networks with an output for every pixel or position of the image.
 *
 *   U-Net   Ronneberger and others, "U-Net: Convolutional Networks for Biomedical Image Segmentation",
 * arXiv:1505.04597, with
 *           pads and batch norm, as most implementations have it (names as in milesial/Pytorch-UNet)
 *   YOLOv5  Jocher and others, ultralytics/yolov5 release 6: C3 backbone, path aggregation, three heads. The outputs
 * are
 *           those of the heads (N, anchors, height, width, 5 + classes), before boxes are decoded. */
#include "models/vision.h"

#include <math.h>

/* ---- U-Net ------------------------------------------------------------------------------------------------------- */

enum { UN_WIDTH, UN_DEPTH, UN_IMAGE, UN_CLASSES, MOST_DEPTH = 8 };
const zoo_parameter ZOO_UNET[] = {
    [UN_WIDTH] = {"width", "64", 1, 4096, "channels of the first level; they double", false},
    [UN_DEPTH] = {"depth", "4", 1, MOST_DEPTH, "how often the image is halved", false},
    [UN_IMAGE] = {"image", "512", 2, 8192, "height and width of the image", false},
    [UN_CLASSES] = {"classes", "2", 1, 100000, "classes of a pixel", false},
    {0},
};

static value_id double_conv(builder *b, str scope, value_id x, int64_t in, int64_t out)
{
    str parts = net_join(b, scope, "double_conv.");
    x = vision_conv_norm(b, parts, "0", "1", x, (net_conv_shape){in, out, 3, 1, 1, 1, false});
    x = net_unary(b, "Relu", net_join(b, parts, "2"), x);
    x = vision_conv_norm(b, parts, "3", "4", x, (net_conv_shape){out, out, 3, 1, 1, 1, false});
    return net_unary(b, "Relu", net_join(b, parts, "5"), x);
}

/* ConvTranspose2d(in, in / 2, 2, stride=2). */
static value_id up_conv(builder *b, str name, value_id x, int64_t in)
{
    int64_t out = in / 2;
    value_id inputs[3] = {x};
    inputs[1] = net_weight(b, net_join(b, name, ".weight"), 4, (int64_t[]){in, out, 2, 2});
    inputs[2] = net_weight(b, net_join(b, name, ".bias"), 1, &out);
    node *n;
    value_id y = net_node(b, "ConvTranspose", name, inputs, 3, 2, &n);
    build_attr_ints(b, n, 0, "kernel_shape", (int64_t[]){2, 2}, 2);
    build_attr_ints(b, n, 1, "strides", (int64_t[]){2, 2}, 2);
    return y;
}

void zoo_unet(builder *b, const zoo_arguments *a)
{
    int64_t width = a->numbers[UN_WIDTH], depth = a->numbers[UN_DEPTH], image = a->numbers[UN_IMAGE];
    int64_t classes = a->numbers[UN_CLASSES];
    if (image % ((int64_t)1 << depth))
        zoo_refuse(b, a, UN_IMAGE, "it must be a multiple of %lld: the image is halved %lld times", 1LL << depth,
                   (long long)depth);
    value_id kept[MOST_DEPTH], x = vision_begin(b, image);
    x = double_conv(b, STR("inc."), x, 3, width);
    for (int64_t level = 0; level < depth; level++) {
        str scope = net_number(b, STR("down"), level + 1, ".maxpool_conv.");
        kept[level] = x;
        x = net_max_pool(b, net_join(b, scope, "0"), x, 2, 2, 0);
        x = double_conv(b, net_join(b, scope, "1."), x, width << level, width << (level + 1));
    }
    for (int64_t level = depth - 1; level >= 0; level--) {
        str scope = net_number(b, STR("up"), depth - level, ".");
        int64_t channels = width << level;
        x = up_conv(b, net_join(b, scope, "up"), x, 2 * channels);
        x = net_concat(b, net_join(b, scope, "cat"), (value_id[]){kept[level], x}, 2, 1);
        x = double_conv(b, net_join(b, scope, "conv."), x, 2 * channels, channels);
    }
    x = net_conv(b, STR("outc.conv"), x, (net_conv_shape){width, classes, 1, 1, 0, 1, true});
    net_output(b, x, DT_FLOAT32, 4, (num[]){net_batch(b), classes, image, image});
    net_end(b);
}

/* ---- YOLOv5 ------------------------------------------------------------------------------------------------------ */

enum { YO_WIDTH, YO_DEPTH, YO_IMAGE, YO_CLASSES, YO_LEVELS = 3, YO_ANCHORS = 3 };
const zoo_parameter ZOO_YOLOV5[] = {
    [YO_WIDTH] = {"width", "0.5", 50, 8000, "multiplies all channels", true},
    [YO_DEPTH] = {"depth", "0.33", 50, 8000, "multiplies the blocks of each stage", true},
    [YO_IMAGE] = {"image", "640", 32, 8192, "height and width of the image", false},
    [YO_CLASSES] = {"classes", "80", 1, 100000, "classes of an object", false},
    {0},
};

typedef struct yolo {
    builder *b;
    double width, depth;
} yolo;

static int64_t yolo_channels(const yolo *y, int64_t channels)
{
    return (int64_t)ceil((double)channels * y->width / 8) * 8;
}

/* Convolution, batch norm, SiLU: NAME.conv, NAME.bn, NAME.act. */
static value_id yolo_conv(builder *b, str name, value_id x, net_conv_shape s)
{
    s.pad = s.kernel == 6 ? 2 : s.kernel / 2;
    s.groups = 1;
    x = vision_conv_norm(b, net_join(b, name, "."), "conv", "bn", x, s);
    return net_unary(b, "Swish", net_join(b, name, ".act"), x);
}

static value_id c3(const yolo *y, str name, value_id x, int64_t in, int64_t out, int64_t blocks, bool has_shortcut)
{
    builder *b = y->b;
    int64_t half = out / 2, count = (int64_t)rint((double)blocks * y->depth);
    value_id parts[2];
    parts[0] = yolo_conv(b, net_join(b, name, ".cv1"), x, (net_conv_shape){in, half, 1, 1, 0, 1, false});
    str all = net_join(b, name, ".m.");
    for (int64_t i = 0; i < (count > 1 ? count : 1); i++) {
        str block = net_number(b, all, i, "");
        value_id z =
            yolo_conv(b, net_join(b, block, ".cv1"), parts[0], (net_conv_shape){half, half, 1, 1, 0, 1, false});
        z = yolo_conv(b, net_join(b, block, ".cv2"), z, (net_conv_shape){half, half, 3, 1, 0, 1, false});
        parts[0] = has_shortcut ? net_binary(b, "Add", net_join(b, block, ".add"), parts[0], z) : z;
    }
    parts[1] = yolo_conv(b, net_join(b, name, ".cv2"), x, (net_conv_shape){in, half, 1, 1, 0, 1, false});
    x = net_concat(b, net_join(b, name, ".cat"), parts, 2, 1);
    return yolo_conv(b, net_join(b, name, ".cv3"), x, (net_conv_shape){2 * half, out, 1, 1, 0, 1, false});
}

/* Spatial pyramid pooling: applies the same pool three times in a row. */
static value_id sppf(builder *b, str name, value_id x, int64_t channels)
{
    value_id parts[4];
    parts[0] = yolo_conv(b, net_join(b, name, ".cv1"), x, (net_conv_shape){channels, channels / 2, 1, 1, 0, 1, false});
    for (int i = 1; i < 4; i++)
        parts[i] = net_max_pool(b, net_number(b, net_join(b, name, ".m."), i, ""), parts[i - 1], 5, 1, 2);
    x = net_concat(b, net_join(b, name, ".cat"), parts, 4, 1);
    return yolo_conv(b, net_join(b, name, ".cv2"), x, (net_conv_shape){2 * channels, channels, 1, 1, 0, 1, false});
}

/* Doubles the size by the nearest neighbour. */
static value_id upsample(builder *b, str name, value_id x, int64_t size)
{
    node *n;
    value_id sizes = net_ints(b, net_join(b, name, ".sizes").ptr, 1, (int64_t[]){2 * size, 2 * size}, 2);
    value_id y = net_node(b, "Resize", name, (value_id[]){x, NO_VALUE, NO_VALUE, sizes}, 4, 1, &n);
    build_attr_ints(b, n, 0, "axes", (int64_t[]){2, 3}, 2);
    return y;
}

static void yolo_heads(builder *b, const value_id *maps, const int64_t *channels, int64_t size, int64_t classes)
{
    int64_t answers = 5 + classes;
    for (int i = 0; i < YO_LEVELS; i++, size /= 2) {
        str name = net_number(b, STR("model.24.m."), i, "");
        value_id x = net_conv(b, name, maps[i], (net_conv_shape){channels[i], YO_ANCHORS * answers, 1, 1, 0, 1, true});
        x = net_reshape(b, net_join(b, name, ".view"), x, (int64_t[]){-1, YO_ANCHORS, answers, size, size}, 5);
        x = net_transpose(b, net_join(b, name, ".permute"), x, (int64_t[]){0, 1, 3, 4, 2}, 5);
        net_output(b, x, DT_FLOAT32, 5, (num[]){net_batch(b), YO_ANCHORS, size, size, answers});
    }
}

void zoo_yolov5(builder *b, const zoo_arguments *a)
{
    enum { STAGES = 4 };
    static const int64_t BLOCKS[STAGES] = {3, 6, 9, 3};
    yolo y = {b, zoo_decimal(a, YO_WIDTH), zoo_decimal(a, YO_DEPTH)};
    int64_t image = a->numbers[YO_IMAGE], c[STAGES + 1];
    if (image % 32)
        zoo_refuse(b, a, YO_IMAGE, "it must be a multiple of 32: the image is halved five times");
    for (int i = 0; i <= STAGES; i++)
        c[i] = yolo_channels(&y, (int64_t)64 << i);
    value_id x = vision_begin(b, image), kept[STAGES];
    x = yolo_conv(b, STR("model.0"), x, (net_conv_shape){3, c[0], 6, 2, 0, 1, false});
    for (int i = 0; i < STAGES; i++) {
        x = yolo_conv(b, net_number(b, STR("model."), 2 * i + 1, ""), x,
                      (net_conv_shape){c[i], c[i + 1], 3, 2, 0, 1, false});
        x = c3(&y, net_number(b, STR("model."), 2 * i + 2, ""), x, c[i + 1], c[i + 1], BLOCKS[i], true);
        kept[i] = x;
    }
    x = sppf(b, STR("model.9"), x, c[4]);
    /* Top-down path, then bottom-up path. */
    value_id top = yolo_conv(b, STR("model.10"), x, (net_conv_shape){c[4], c[3], 1, 1, 0, 1, false});
    x = upsample(b, STR("model.11"), top, image / 32);
    x = net_concat(b, STR("model.12"), (value_id[]){x, kept[2]}, 2, 1);
    x = c3(&y, STR("model.13"), x, 2 * c[3], c[3], 3, false);
    value_id middle = yolo_conv(b, STR("model.14"), x, (net_conv_shape){c[3], c[2], 1, 1, 0, 1, false}),
             maps[YO_LEVELS];
    x = upsample(b, STR("model.15"), middle, image / 16);
    x = net_concat(b, STR("model.16"), (value_id[]){x, kept[1]}, 2, 1);
    maps[0] = c3(&y, STR("model.17"), x, 2 * c[2], c[2], 3, false);
    x = yolo_conv(b, STR("model.18"), maps[0], (net_conv_shape){c[2], c[2], 3, 2, 0, 1, false});
    x = net_concat(b, STR("model.19"), (value_id[]){x, middle}, 2, 1);
    maps[1] = c3(&y, STR("model.20"), x, 2 * c[2], c[3], 3, false);
    x = yolo_conv(b, STR("model.21"), maps[1], (net_conv_shape){c[3], c[3], 3, 2, 0, 1, false});
    x = net_concat(b, STR("model.22"), (value_id[]){x, top}, 2, 1);
    maps[2] = c3(&y, STR("model.23"), x, 2 * c[3], c[4], 3, false);
    yolo_heads(b, maps, &c[2], image / 8, a->numbers[YO_CLASSES]);
    net_end(b);
}
