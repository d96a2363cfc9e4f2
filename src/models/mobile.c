/* mobile.c: networks of depthwise convolutions for small devices.
 *
 *   MobileNetV1  Howard and others, "MobileNets: Efficient Convolutional Neural Networks …", arXiv:1704.04861, names as
 *   in timm
 *   MobileNetV2  Sandler and others, "MobileNetV2: Inverted Residuals and Linear Bottlenecks", arXiv:1801.04381
 *   MobileNetV3  Howard and others, "Searching for MobileNetV3", arXiv:1905.02244
 *   MNASNet      Tan and others, "MnasNet: Platform-Aware Neural Architecture Search for Mobile", arXiv:1807.11626 (B1)
 *
 * V2, V3 and MNASNet are as torchvision writes them. A width multiplies all channels; they are rounded to multiples
 * of 8. */
#include "models/vision.h"

enum { WIDTH, IMAGE, CLASSES, SIZE };
#define WIDTH_PARAMETER                                                                                                \
    {                                                                                                                  \
        "width", "1", 50, 8000, "multiplies all channels", true                                                        \
    }
const zoo_parameter ZOO_MOBILENET[] = {
    [WIDTH] = WIDTH_PARAMETER, [IMAGE] = VISION_IMAGE("224", 32), [CLASSES] = VISION_CLASSES, {0}};
const zoo_parameter ZOO_MOBILENET_V3[] = {[WIDTH] = WIDTH_PARAMETER,
                                          [IMAGE] = VISION_IMAGE("224", 32),
                                          [CLASSES] = VISION_CLASSES,
                                          [SIZE] = {"size", "large", 0, 0, "large or small", false},
                                          {0}};

static const vision_activation NONE = {0}, RELU = {"Relu", 0, 0}, HARD_SWISH = {"HardSwish", 0, 0};

static int64_t scaled(const zoo_arguments *a, int64_t channels)
{
    return vision_round_channels((double)channels * zoo_decimal(a, WIDTH), 8);
}

/* ---- V1 ---------------------------------------------------------------------------------------------------------- */

static value_id separable(builder *b, str scope, value_id x, int64_t in, int64_t out, int64_t stride,
                          vision_activation relu6)
{
    x = vision_conv_norm(b, scope, "conv_dw", "bn1", x, (net_conv_shape){in, in, 3, stride, 1, in, false});
    x = vision_activate(b, relu6, net_join(b, scope, "bn1.act"), x);
    x = vision_conv_norm(b, scope, "conv_pw", "bn2", x, (net_conv_shape){in, out, 1, 1, 0, 1, false});
    return vision_activate(b, relu6, net_join(b, scope, "bn2.act"), x);
}

void zoo_mobilenet_v1(builder *b, const zoo_arguments *a)
{
    enum { STAGES = 5 };
    static const int BLOCKS[STAGES] = {1, 2, 2, 6, 2};
    int64_t in = scaled(a, 32);
    value_id x = vision_begin(b, a->numbers[IMAGE]);
    vision_activation relu6 = vision_relu6(b);
    x = vision_conv_norm(b, STR(""), "conv_stem", "bn1", x, (net_conv_shape){3, in, 3, 2, 1, 1, false});
    x = vision_activate(b, relu6, STR("bn1.act"), x);
    for (int stage = 0; stage < STAGES; stage++) {
        str scope = net_number(b, STR("blocks."), stage, ".");
        int64_t out = scaled(a, (int64_t)64 << stage);
        for (int i = 0; i < BLOCKS[stage]; i++, in = out)
            x = separable(b, net_number(b, scope, i, "."), x, in, out, stage > 0 && i == 0 ? 2 : 1, relu6);
    }
    vision_classify(b, "classifier", x, in, a->numbers[CLASSES]);
}

/* ---- V2 ---------------------------------------------------------------------------------------------------------- */

typedef struct v2_block {
    int64_t in, wide, out, stride;
} v2_block;

static value_id inverted_residual(builder *b, int index, value_id x, v2_block s, vision_activation relu6)
{
    str block = net_number(b, STR("features."), index, "."), scope = net_join(b, block, "conv.");
    value_id y = x;
    int part = 0;
    if (s.wide != s.in)
        y = vision_block(b, net_number(b, scope, part++, "."), y, (net_conv_shape){s.in, s.wide, 1, 1, 0, 1, false},
                         relu6);
    y = vision_block(b, net_number(b, scope, part++, "."), y,
                     (net_conv_shape){s.wide, s.wide, 3, s.stride, 1, s.wide, false}, relu6);
    y = net_conv(b, net_number(b, scope, part, ""), y, (net_conv_shape){s.wide, s.out, 1, 1, 0, 1, false});
    y = net_batch_norm(b, net_number(b, scope, part + 1, ""), y, s.out);
    return s.stride == 1 && s.in == s.out ? net_binary(b, "Add", net_join(b, block, "add"), x, y) : y;
}

void zoo_mobilenet_v2(builder *b, const zoo_arguments *a)
{
    enum { STAGES = 7 };
    /* table 2 of the paper: expansion, channels, repetitions, stride of the first block */
    static const int64_t SETTINGS[STAGES][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    int64_t in = scaled(a, 32), last = scaled(a, 1280);
    last = last < 1280 ? 1280 : last;
    value_id x = vision_begin(b, a->numbers[IMAGE]);
    vision_activation relu6 = vision_relu6(b);
    x = vision_block(b, STR("features.0."), x, (net_conv_shape){3, in, 3, 2, 1, 1, false}, relu6);
    int index = 1;
    for (int s = 0; s < STAGES; s++) {
        for (int i = 0; i < SETTINGS[s][2]; i++, index++) {
            v2_block block = {in, in * SETTINGS[s][0], scaled(a, SETTINGS[s][1]), i == 0 ? SETTINGS[s][3] : 1};
            x = inverted_residual(b, index, x, block, relu6);
            in = block.out;
        }
    }
    x = vision_block(b, STR("features.18."), x, (net_conv_shape){in, last, 1, 1, 0, 1, false}, relu6);
    vision_classify(b, "classifier.1", x, last, a->numbers[CLASSES]);
}

/* ---- V3 ---------------------------------------------------------------------------------------------------------- */

/* Channels before scaling; tables 1 and 2 of the paper. */
typedef struct v3_block {
    int64_t kernel, wide, out;
    bool has_squeeze, is_hard_swish;
    int64_t stride;
} v3_block;

enum { MOST_V3_BLOCKS = 15 };
typedef struct v3_size {
    int64_t last;
    int count;
    v3_block blocks[MOST_V3_BLOCKS];
} v3_size;

static const v3_size V3_SIZES[] = {
    {1280,
     15,
     {{3, 16, 16, 0, 0, 1},
      {3, 64, 24, 0, 0, 2},
      {3, 72, 24, 0, 0, 1},
      {5, 72, 40, 1, 0, 2},
      {5, 120, 40, 1, 0, 1},
      {5, 120, 40, 1, 0, 1},
      {3, 240, 80, 0, 1, 2},
      {3, 200, 80, 0, 1, 1},
      {3, 184, 80, 0, 1, 1},
      {3, 184, 80, 0, 1, 1},
      {3, 480, 112, 1, 1, 1},
      {3, 672, 112, 1, 1, 1},
      {5, 672, 160, 1, 1, 2},
      {5, 960, 160, 1, 1, 1},
      {5, 960, 160, 1, 1, 1}}},
    {1024,
     11,
     {{3, 16, 16, 1, 0, 2},
      {3, 72, 24, 0, 0, 2},
      {3, 88, 24, 0, 0, 1},
      {5, 96, 40, 1, 1, 2},
      {5, 240, 40, 1, 1, 1},
      {5, 240, 40, 1, 1, 1},
      {5, 120, 48, 1, 1, 1},
      {5, 144, 48, 1, 1, 1},
      {5, 288, 96, 1, 1, 2},
      {5, 576, 96, 1, 1, 1},
      {5, 576, 96, 1, 1, 1}}},
};

static value_id v3_residual(builder *b, str scope, value_id x, int64_t in, v3_block s)
{
    vision_activation activation = s.is_hard_swish ? HARD_SWISH : RELU;
    str block = net_join(b, scope, "block.");
    value_id y = x;
    int part = 0;
    if (s.wide != in)
        y = vision_block(b, net_number(b, block, part++, "."), y, (net_conv_shape){in, s.wide, 1, 1, 0, 1, false},
                         activation);
    y = vision_block(b, net_number(b, block, part++, "."), y,
                     (net_conv_shape){s.wide, s.wide, s.kernel, s.stride, 0, s.wide, false}, activation);
    if (s.has_squeeze) {
        int64_t squeezed = vision_round_channels((double)(s.wide / 4), 8);
        y = vision_squeeze_excite(b, net_number(b, block, part++, "."), y,
                                  (vision_squeeze){"fc1", "fc2", s.wide, squeezed, RELU, "HardSigmoid"});
    }
    y = vision_block(b, net_number(b, block, part, "."), y, (net_conv_shape){s.wide, s.out, 1, 1, 0, 1, false}, NONE);
    return s.stride == 1 && in == s.out ? net_binary(b, "Add", net_join(b, scope, "add"), y, x) : y;
}

void zoo_mobilenet_v3(builder *b, const zoo_arguments *a)
{
    const v3_size *size = &V3_SIZES[zoo_choice(b, a, SIZE, (const char *const[]){"large", "small", NULL})];
    int64_t in = scaled(a, 16), last = scaled(a, size->last), classes = a->numbers[CLASSES];
    value_id x = vision_begin(b, a->numbers[IMAGE]);
    x = vision_block(b, STR("features.0."), x, (net_conv_shape){3, in, 3, 2, 1, 1, false}, HARD_SWISH);
    for (int i = 0; i < size->count; i++) {
        v3_block block = size->blocks[i];
        block.wide = scaled(a, block.wide);
        block.out = scaled(a, block.out);
        x = v3_residual(b, net_number(b, STR("features."), i + 1, "."), x, in, block);
        in = block.out;
    }
    x = vision_block(b, net_number(b, STR("features."), size->count + 1, "."), x,
                     (net_conv_shape){in, 6 * in, 1, 1, 0, 1, false}, HARD_SWISH);
    x = net_gemm(b, STR("classifier.0"), vision_mean(b, x), 6 * in, last);
    x = vision_activate(b, HARD_SWISH, STR("classifier.1"), x);
    vision_end(b, net_gemm(b, STR("classifier.3"), x, last, classes), classes);
}

/* ---- MNASNet ----------------------------------------------------------------------------------------------------- */

/* A convolution, its batch norm and an optional ReLU, named SCOPE + first, SCOPE + (first + 1) and SCOPE + (first +
 * 2). */
static value_id numbered(builder *b, str scope, int first, value_id x, net_conv_shape s, bool has_relu)
{
    x = net_conv(b, net_number(b, scope, first, ""), x, s);
    x = net_batch_norm(b, net_number(b, scope, first + 1, ""), x, s.out);
    return has_relu ? net_unary(b, "Relu", net_number(b, scope, first + 2, ""), x) : x;
}

void zoo_mnasnet(builder *b, const zoo_arguments *a)
{
    enum { STACKS = 6 };
    /* kernel, channels, expansion, repetitions, stride of the first block */
    static const int64_t SETTINGS[STACKS][5] = {{3, 24, 3, 3, 2}, {5, 40, 3, 3, 2},  {5, 80, 6, 3, 2},
                                                {3, 96, 6, 2, 1}, {5, 192, 6, 4, 2}, {3, 320, 6, 1, 1}};
    const str layers = STR("layers.");
    int64_t stem = scaled(a, 32), in = scaled(a, 16);
    value_id x = vision_begin(b, a->numbers[IMAGE]);
    x = numbered(b, layers, 0, x, (net_conv_shape){3, stem, 3, 2, 1, 1, false}, true);
    x = numbered(b, layers, 3, x, (net_conv_shape){stem, stem, 3, 1, 1, stem, false}, true);
    x = numbered(b, layers, 6, x, (net_conv_shape){stem, in, 1, 1, 0, 1, false}, false);
    for (int stack = 0; stack < STACKS; stack++) {
        str stage = net_number(b, layers, 8 + stack, ".");
        int64_t kernel = SETTINGS[stack][0], out = scaled(a, SETTINGS[stack][1]);
        for (int i = 0; i < SETTINGS[stack][3]; i++, in = out) {
            str block = net_number(b, stage, i, "."), scope = net_join(b, block, "layers.");
            int64_t wide = in * SETTINGS[stack][2], stride = i == 0 ? SETTINGS[stack][4] : 1;
            value_id y = numbered(b, scope, 0, x, (net_conv_shape){in, wide, 1, 1, 0, 1, false}, true);
            y = numbered(b, scope, 3, y, (net_conv_shape){wide, wide, kernel, stride, kernel / 2, wide, false}, true);
            y = numbered(b, scope, 6, y, (net_conv_shape){wide, out, 1, 1, 0, 1, false}, false);
            x = stride == 1 && in == out ? net_binary(b, "Add", net_join(b, block, "add"), y, x) : y;
        }
    }
    x = numbered(b, layers, 14, x, (net_conv_shape){in, 1280, 1, 1, 0, 1, false}, true);
    int64_t classes = a->numbers[CLASSES];
    vision_end(b, net_gemm(b, STR("classifier.1"), vision_flat_mean(b, x), 1280, classes), classes);
}
