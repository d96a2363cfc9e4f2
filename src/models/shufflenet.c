/* shufflenet.c: ShuffleNet V2, Ma and others, "ShuffleNet V2: Practical Guidelines for Efficient CNN Architecture
 * Design", arXiv:1807.11164, as torchvision writes it. */
#include "models/vision.h"

enum { WIDTH, IMAGE, CLASSES, STAGES = 3 };
const zoo_parameter ZOO_SHUFFLENET_V2[] = {[WIDTH] = {"width", "1.0", 0, 0, "0.5, 1.0, 1.5 or 2.0", false},
                                           [IMAGE] = VISION_IMAGE("224", 32),
                                           [CLASSES] = VISION_CLASSES,
                                           {0}};

/* A convolution and its batch norm, named SCOPE + first and SCOPE + (first + 1). */
static value_id numbered(builder *b, str scope, int first, value_id x, net_conv_shape s)
{
    x = net_conv(b, net_number(b, scope, first, ""), x, s);
    return net_batch_norm(b, net_number(b, scope, first + 1, ""), x, s.out);
}

/* Interleaves the channels of the two halves. */
static value_id shuffle(builder *b, str scope, value_id x, int64_t channels, int64_t size)
{
    x = net_reshape(b, net_join(b, scope, "view"), x, (int64_t[]){-1, 2, channels / 2, size, size}, 5);
    x = net_transpose(b, net_join(b, scope, "transpose"), x, (int64_t[]){0, 2, 1, 3, 4}, 5);
    return net_reshape(b, net_join(b, scope, "flat"), x, (int64_t[]){-1, channels, size, size}, 4);
}

static value_id unit(builder *b, str scope, value_id x, int64_t in, int64_t out, int64_t stride, int64_t size)
{
    int64_t half = out / 2;
    value_id parts[2] = {x, x};
    if (stride == 1) {
        parts[0] = net_slice(b, net_join(b, scope, "first"), x, 1, 0, half);
        parts[1] = net_slice(b, net_join(b, scope, "second"), x, 1, half, out);
        in = half;
    } else {
        str first = net_join(b, scope, "branch1.");
        parts[0] = numbered(b, first, 0, x, (net_conv_shape){in, in, 3, stride, 1, in, false});
        parts[0] = numbered(b, first, 2, parts[0], (net_conv_shape){in, half, 1, 1, 0, 1, false});
        parts[0] = net_unary(b, "Relu", net_join(b, first, "4"), parts[0]);
    }
    str second = net_join(b, scope, "branch2.");
    value_id y = numbered(b, second, 0, parts[1], (net_conv_shape){in, half, 1, 1, 0, 1, false});
    y = net_unary(b, "Relu", net_join(b, second, "2"), y);
    y = numbered(b, second, 3, y, (net_conv_shape){half, half, 3, stride, 1, half, false});
    y = numbered(b, second, 5, y, (net_conv_shape){half, half, 1, 1, 0, 1, false});
    parts[1] = net_unary(b, "Relu", net_join(b, second, "7"), y);
    y = net_concat(b, net_join(b, scope, "cat"), parts, 2, 1);
    return shuffle(b, scope, y, out, size);
}

void zoo_shufflenet_v2(builder *b, const zoo_arguments *a)
{
    static const int BLOCKS[STAGES] = {4, 8, 4};
    /* Channels of the stages and of the last convolution for each width: table 5 of the paper. */
    static const int64_t CHANNELS[][STAGES + 1] = {
        {48, 96, 192, 1024}, {116, 232, 464, 1024}, {176, 352, 704, 1024}, {244, 488, 976, 2048}};
    const int64_t *channels =
        CHANNELS[zoo_choice(b, a, WIDTH, (const char *const[]){"0.5", "1.0", "1.5", "2.0", NULL})];
    int64_t in = 24, size = a->numbers[IMAGE];
    value_id x = vision_begin(b, size);
    x = numbered(b, STR("conv1."), 0, x, (net_conv_shape){3, in, 3, 2, 1, 1, false});
    x = net_unary(b, "Relu", STR("conv1.2"), x);
    x = net_max_pool(b, STR("maxpool"), x, 3, 2, 1);
    size = (((size + 1) / 2) + 1) / 2;
    for (int stage = 0; stage < STAGES; stage++) {
        str scope = net_number(b, STR("stage"), stage + 2, ".");
        size = (size + 1) / 2;
        for (int i = 0; i < BLOCKS[stage]; i++) {
            x = unit(b, net_number(b, scope, i, "."), x, in, channels[stage], i == 0 ? 2 : 1, size);
            in = channels[stage];
        }
    }
    x = numbered(b, STR("conv5."), 0, x, (net_conv_shape){in, channels[STAGES], 1, 1, 0, 1, false});
    x = net_unary(b, "Relu", STR("conv5.2"), x);
    int64_t classes = a->numbers[CLASSES];
    vision_end(b, net_gemm(b, STR("fc"), vision_flat_mean(b, x), channels[STAGES], classes), classes);
}
