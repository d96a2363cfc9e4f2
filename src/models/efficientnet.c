/* efficientnet.c: networks of inverted residuals with squeeze-and-excitation, scaled in width, depth and image size, as
 * torchvision writes them.
 *
 *   EfficientNet    Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks",
 * arXiv:1905.11946
 *   EfficientNetV2  Tan and Le, "EfficientNetV2: Smaller Models and Faster Training", arXiv:2104.00298 */
#include "models/vision.h"

#include <math.h>

enum { WIDTH, DEPTH, IMAGE, CLASSES, SIZE };
#define SCALES                                                                                                         \
    [WIDTH] = {"width", "1", 50, 8000, "multiplies all channels", true}, [DEPTH] = {                                   \
                                                                             "depth",                                  \
                                                                             "1",                                      \
                                                                             50,                                       \
                                                                             8000,                                     \
                                                                             "multiplies the layers of each stage",    \
                                                                             true}
const zoo_parameter ZOO_EFFICIENTNET[] = {SCALES, [IMAGE] = VISION_IMAGE("224", 32), [CLASSES] = VISION_CLASSES, {0}};
const zoo_parameter ZOO_EFFICIENTNET_V2[] = {SCALES,
                                             [IMAGE] = VISION_IMAGE("384", 32),
                                             [CLASSES] = VISION_CLASSES,
                                             [SIZE] = {"size", "s", 0, 0, "s, m or l", false},
                                             {0}};

static const vision_activation NONE = {0}, SILU = {"Swish", 0, 0};

/* Settings before scaling. A fused block has one full convolution instead of the 1 x 1 and the depthwise one. */
typedef struct stage {
    bool is_fused;
    int64_t expansion, kernel, stride, out, layers;
} stage;

enum { MOST_STAGES = 7 };
typedef struct design {
    int64_t stem, last; /* `last` 0: four times the channels of the last stage */
    int count;
    stage stages[MOST_STAGES];
} design;

static const design V1 = {32,
                          0,
                          7,
                          {{0, 1, 3, 1, 16, 1},
                           {0, 6, 3, 2, 24, 2},
                           {0, 6, 5, 2, 40, 2},
                           {0, 6, 3, 2, 80, 3},
                           {0, 6, 5, 1, 112, 3},
                           {0, 6, 5, 2, 192, 4},
                           {0, 6, 3, 1, 320, 1}}};
static const design V2[] = {
    {24,
     1280,
     6,
     {{1, 1, 3, 1, 24, 2},
      {1, 4, 3, 2, 48, 4},
      {1, 4, 3, 2, 64, 4},
      {0, 4, 3, 2, 128, 6},
      {0, 6, 3, 1, 160, 9},
      {0, 6, 3, 2, 256, 15}}},
    {24,
     1280,
     7,
     {{1, 1, 3, 1, 24, 3},
      {1, 4, 3, 2, 48, 5},
      {1, 4, 3, 2, 80, 5},
      {0, 4, 3, 2, 160, 7},
      {0, 6, 3, 1, 176, 14},
      {0, 6, 3, 2, 304, 18},
      {0, 6, 3, 1, 512, 5}}},
    {32,
     1280,
     7,
     {{1, 1, 3, 1, 32, 4},
      {1, 4, 3, 2, 64, 7},
      {1, 4, 3, 2, 96, 7},
      {0, 4, 3, 2, 192, 10},
      {0, 6, 3, 1, 224, 19},
      {0, 6, 3, 2, 384, 25},
      {0, 6, 3, 1, 640, 7}}},
};

static value_id fused_block(builder *b, str block, value_id x, int64_t in, const stage *s, int64_t out, int64_t stride)
{
    int64_t wide = in * s->expansion;
    bool is_expanded = wide != in;
    x = vision_block(b, net_join(b, block, "0."), x,
                     (net_conv_shape){in, is_expanded ? wide : out, s->kernel, stride, 0, 1, false}, SILU);
    if (is_expanded)
        x = vision_block(b, net_join(b, block, "1."), x, (net_conv_shape){wide, out, 1, 1, 0, 1, false}, NONE);
    return x;
}

static value_id plain_block(builder *b, str block, value_id x, int64_t in, const stage *s, int64_t out, int64_t stride)
{
    int64_t wide = in * s->expansion, squeezed = in / 4;
    int part = 0;
    if (wide != in)
        x = vision_block(b, net_number(b, block, part++, "."), x, (net_conv_shape){in, wide, 1, 1, 0, 1, false}, SILU);
    x = vision_block(b, net_number(b, block, part++, "."), x,
                     (net_conv_shape){wide, wide, s->kernel, stride, 0, wide, false}, SILU);
    x = vision_squeeze_excite(b, net_number(b, block, part++, "."), x,
                              (vision_squeeze){"fc1", "fc2", wide, squeezed, SILU, "Sigmoid"});
    return vision_block(b, net_number(b, block, part, "."), x, (net_conv_shape){wide, out, 1, 1, 0, 1, false}, NONE);
}

static void build(builder *b, const zoo_arguments *a, const design *d)
{
    double width = zoo_decimal(a, WIDTH), depth = zoo_decimal(a, DEPTH);
    int64_t in = vision_round_channels((double)d->stem * width, 8);
    value_id x = vision_begin(b, a->numbers[IMAGE]);
    x = vision_block(b, STR("features.0."), x, (net_conv_shape){3, in, 3, 2, 0, 1, false}, SILU);
    for (int i = 0; i < d->count; i++) {
        const stage *s = &d->stages[i];
        str scope = net_number(b, STR("features."), i + 1, ".");
        int64_t out = vision_round_channels((double)s->out * width, 8);
        int64_t layers = (int64_t)ceil((double)s->layers * depth);
        for (int64_t k = 0; k < layers; k++, in = out) {
            str layer = net_number(b, scope, k, "."), block = net_join(b, layer, "block.");
            int64_t stride = k == 0 ? s->stride : 1;
            value_id y = (s->is_fused ? fused_block : plain_block)(b, block, x, in, s, out, stride);
            x = stride == 1 && in == out ? net_binary(b, "Add", net_join(b, layer, "add"), y, x) : y;
        }
    }
    int64_t last = d->last ? vision_round_channels((double)d->last * width, 8) : 4 * in;
    x = vision_block(b, net_number(b, STR("features."), d->count + 1, "."), x,
                     (net_conv_shape){in, last, 1, 1, 0, 1, false}, SILU);
    vision_classify(b, "classifier.1", x, last, a->numbers[CLASSES]);
}

void zoo_efficientnet(builder *b, const zoo_arguments *a)
{
    build(b, a, &V1);
}

void zoo_efficientnet_v2(builder *b, const zoo_arguments *a)
{
    build(b, a, &V2[zoo_choice(b, a, SIZE, (const char *const[]){"s", "m", "l", NULL})]);
}
