/* plain.c: plain sequences of convolutions, as in torchvision.
 *
 *   AlexNet     Krizhevsky, "One weird trick for parallelizing convolutional neural networks", arXiv:1404.5997
 *   VGG         Simonyan and Zisserman, "Very Deep Convolutional Networks …", arXiv:1409.1556
 *   SqueezeNet  Iandola and others, "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters …",
 *   arXiv:1602.07360 */
#include "models/vision.h"

/* AdaptiveAvgPool2d(size), for a map whose size it divides. */
static value_id adaptive_pool(builder *b, value_id x, int64_t map, int64_t size)
{
    return net_average_pool(b, STR("avgpool"), x, map / size, map / size, 0);
}

static int64_t pooled(int64_t size, int64_t kernel, int64_t stride)
{
    return (size - kernel) / stride + 1;
}

/* A linear layer and its ReLU, named classifier.INDEX and classifier.INDEX + 1. */
static value_id dense(builder *b, int index, value_id x, int64_t in, int64_t out)
{
    x = net_gemm(b, net_number(b, STR("classifier."), index, ""), x, in, out);
    return net_unary(b, "Relu", net_number(b, STR("classifier."), index + 1, ""), x);
}

/* ---- AlexNet ----------------------------------------------------------------------------------------------------- */

enum { AN_IMAGE, AN_CLASSES };
const zoo_parameter ZOO_ALEXNET[] = {[AN_IMAGE] = VISION_IMAGE("224", 63), [AN_CLASSES] = VISION_CLASSES, {0}};

void zoo_alexnet(builder *b, const zoo_arguments *a)
{
    enum { LAYERS = 5, MAP = 6 };
    static const struct {
        int64_t out, kernel, stride, pad;
        bool is_pooled; /* a 3 x 3 pool with stride 2 follows */
    } CONVS[LAYERS] = {
        {64, 11, 4, 2, true}, {192, 5, 1, 2, true}, {384, 3, 1, 1, false}, {256, 3, 1, 1, false}, {256, 3, 1, 1, true}};
    int64_t size = a->numbers[AN_IMAGE], in = 3;
    value_id x = vision_begin(b, size);
    int index = 0;
    for (int i = 0; i < LAYERS; i++) {
        net_conv_shape s = {in, CONVS[i].out, CONVS[i].kernel, CONVS[i].stride, CONVS[i].pad, 1, true};
        x = net_conv(b, net_number(b, STR("features."), index++, ""), x, s);
        x = net_unary(b, "Relu", net_number(b, STR("features."), index++, ""), x);
        size = pooled(size + 2 * s.pad, s.kernel, s.stride);
        if (CONVS[i].is_pooled) {
            x = net_max_pool(b, net_number(b, STR("features."), index++, ""), x, 3, 2, 0);
            size = pooled(size, 3, 2);
        }
        in = s.out;
    }
    if (size % MAP)
        zoo_refuse(b, a, AN_IMAGE, "it leaves a map of %lld x %lld; a multiple of 6 is required, as 224 leaves",
                   (long long)size, (long long)size);
    x = adaptive_pool(b, x, size, MAP);
    x = net_unary(b, "Flatten", STR("flatten"), x);
    x = dense(b, 1, x, in * MAP * MAP, 4096);
    x = dense(b, 4, x, 4096, 4096);
    int64_t classes = a->numbers[AN_CLASSES];
    vision_end(b, net_gemm(b, STR("classifier.6"), x, 4096, classes), classes);
}

/* ---- VGG --------------------------------------------------------------------------------------------------------- */

enum { VGG_DEPTH, VGG_NORM, VGG_IMAGE, VGG_CLASSES };
const zoo_parameter ZOO_VGG[] = {
    [VGG_DEPTH] = {"depth", "16", 0, 0, "11, 13, 16 or 19", false},
    [VGG_NORM] = {"norm", "none", 0, 0, "none or batch", false},
    [VGG_IMAGE] = VISION_IMAGE("224", 224),
    [VGG_CLASSES] = VISION_CLASSES,
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
    enum { STAGES = 5, MAP = 7 };
    static const int64_t WIDTHS[STAGES] = {64, 128, 256, 512, 512};
    int64_t depth, size = a->numbers[VGG_IMAGE] >> STAGES, in = 3;
    zoo_numbers(b, a, VGG_DEPTH, (int64_t[]){11, 13, 16, 19, 0}, &depth, 1);
    bool has_norm = zoo_choice(b, a, VGG_NORM, (const char *const[]){"none", "batch", NULL}) == 1;
    if (size % MAP)
        zoo_refuse(b, a, VGG_IMAGE, "it leaves a map of %lld x %lld; a multiple of 7 is required, as 224 leaves",
                   (long long)size, (long long)size);
    value_id x = vision_begin(b, a->numbers[VGG_IMAGE]);
    int index = 0;
    for (int stage = 0; stage < STAGES; stage++) {
        for (int i = 0; i < vgg_stages(depth)[stage]; i++) {
            x = net_conv(b, net_number(b, STR("features."), index++, ""), x,
                         (net_conv_shape){in, WIDTHS[stage], 3, 1, 1, 1, true});
            if (has_norm)
                x = net_batch_norm(b, net_number(b, STR("features."), index++, ""), x, WIDTHS[stage]);
            x = net_unary(b, "Relu", net_number(b, STR("features."), index++, ""), x);
            in = WIDTHS[stage];
        }
        x = net_max_pool(b, net_number(b, STR("features."), index++, ""), x, 2, 2, 0);
    }
    x = adaptive_pool(b, x, size, MAP);
    x = net_unary(b, "Flatten", STR("flatten"), x);
    x = dense(b, 0, x, in * MAP * MAP, 4096);
    x = dense(b, 3, x, 4096, 4096);
    int64_t classes = a->numbers[VGG_CLASSES];
    vision_end(b, net_gemm(b, STR("classifier.6"), x, 4096, classes), classes);
}

/* ---- SqueezeNet -------------------------------------------------------------------------------------------------- */

enum { SQ_VERSION, SQ_IMAGE, SQ_CLASSES };
const zoo_parameter ZOO_SQUEEZENET[] = {
    [SQ_VERSION] = {"version", "1.0", 0, 0, "1.0 or 1.1", false},
    [SQ_IMAGE] = VISION_IMAGE("224", 32),
    [SQ_CLASSES] = VISION_CLASSES,
    {0},
};

/* Fire module: 1 x 1 to few channels, then 1 x 1 and 3 x 3 side by side. */
static value_id fire(builder *b, int index, value_id x, int64_t in, int64_t squeezed, int64_t expanded)
{
    str scope = net_number(b, STR("features."), index, ".");
    x = net_conv(b, net_join(b, scope, "squeeze"), x, (net_conv_shape){in, squeezed, 1, 1, 0, 1, true});
    x = net_unary(b, "Relu", net_join(b, scope, "squeeze_activation"), x);
    value_id one =
        net_conv(b, net_join(b, scope, "expand1x1"), x, (net_conv_shape){squeezed, expanded, 1, 1, 0, 1, true});
    one = net_unary(b, "Relu", net_join(b, scope, "expand1x1_activation"), one);
    value_id three =
        net_conv(b, net_join(b, scope, "expand3x3"), x, (net_conv_shape){squeezed, expanded, 3, 1, 1, 1, true});
    three = net_unary(b, "Relu", net_join(b, scope, "expand3x3_activation"), three);
    return net_concat(b, net_join(b, scope, "cat"), (value_id[]){one, three}, 2, 1);
}

void zoo_squeezenet(builder *b, const zoo_arguments *a)
{
    enum { LAYERS = 10 };
    /* Squeezed channels of the fire modules, a quarter of the channels of each expansion; 0 stands for a max pool. */
    static const struct {
        int64_t stem, kernel;
        int64_t squeezed[LAYERS];
    } VERSIONS[] = {{96, 7, {16, 16, 32, 0, 32, 48, 48, 64, 0, 64}}, {64, 3, {16, 16, 0, 32, 32, 0, 48, 48, 64, 64}}};
    int version = zoo_choice(b, a, SQ_VERSION, (const char *const[]){"1.0", "1.1", NULL});
    int64_t in = VERSIONS[version].stem;
    value_id x = vision_begin(b, a->numbers[SQ_IMAGE]);
    x = net_conv(b, STR("features.0"), x, (net_conv_shape){3, in, VERSIONS[version].kernel, 2, 0, 1, true});
    x = net_unary(b, "Relu", STR("features.1"), x);
    x = net_max_pool_ceil(b, STR("features.2"), x, 3, 2, 0);
    for (int i = 0; i < LAYERS; i++) {
        int64_t squeezed = VERSIONS[version].squeezed[i];
        if (squeezed) {
            x = fire(b, i + 3, x, in, squeezed, squeezed * 4);
            in = squeezed * 8;
        } else {
            x = net_max_pool_ceil(b, net_number(b, STR("features."), i + 3, ""), x, 3, 2, 0);
        }
    }
    int64_t classes = a->numbers[SQ_CLASSES];
    x = net_conv(b, STR("classifier.1"), x, (net_conv_shape){in, classes, 1, 1, 0, 1, true});
    x = net_unary(b, "Relu", STR("classifier.2"), x);
    vision_end(b, vision_mean(b, x), classes);
}
