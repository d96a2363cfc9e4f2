/* inception.c: networks whose blocks have branches side by side, as torchvision writes them, without the auxiliary
 * classifiers, which run in training only.
 *
 *   GoogLeNet     Szegedy and others, "Going Deeper with Convolutions", arXiv:1409.4842; with batch norm, and 3 x 3
 * where the
 *                 paper has 5 x 5, as torchvision has it
 *   Inception v3  Szegedy and others, "Rethinking the Inception Architecture for Computer Vision", arXiv:1512.00567 */
#include "models/vision.h"

enum { IMAGE, CLASSES };
const zoo_parameter ZOO_GOOGLENET[] = {[IMAGE] = VISION_IMAGE("224", 32), [CLASSES] = VISION_CLASSES, {0}};
const zoo_parameter ZOO_INCEPTION_V3[] = {[IMAGE] = VISION_IMAGE("299", 75), [CLASSES] = VISION_CLASSES, {0}};

/* Convolution, batch norm, ReLU: NAME.conv, NAME.bn, NAME.relu. */
static value_id conv_wide(builder *b, str name, value_id x, net_conv_shape s, int64_t kernel_width, int64_t pad_width)
{
    x = net_conv_wide(b, net_join(b, name, ".conv"), x, s, kernel_width, pad_width);
    x = net_batch_norm_of(b, net_join(b, name, ".bn"), x, s.out, 0.001);
    return net_unary(b, "Relu", net_join(b, name, ".relu"), x);
}

static value_id conv(builder *b, str name, value_id x, int64_t in, int64_t out, int64_t kernel, int64_t stride,
                     int64_t pad)
{
    return conv_wide(b, name, x, (net_conv_shape){in, out, kernel, stride, pad, 1, false}, kernel, pad);
}

/* ---- GoogLeNet --------------------------------------------------------------------------------------------------- */

enum { BRANCHES = 4 };
/* Output channels of a block's branches: 1 x 1; 3 x 3 and the 1 x 1 before it; the same again; 1 x 1 after the pool.
 * A block with 0 channels is a pool with that window. */
typedef struct googlenet_block {
    const char *name;
    int64_t out[6];
    int64_t pool;
} googlenet_block;

static value_id googlenet_branches(builder *b, str scope, value_id x, int64_t in, const int64_t *out)
{
    value_id y[BRANCHES];
    y[0] = conv(b, net_join(b, scope, ".branch1"), x, in, out[0], 1, 1, 0);
    for (int i = 1; i <= 2; i++) {
        str branch = net_number(b, net_join(b, scope, ".branch"), i + 1, "");
        y[i] = conv(b, net_join(b, branch, ".0"), x, in, out[2 * i - 1], 1, 1, 0);
        y[i] = conv(b, net_join(b, branch, ".1"), y[i], out[2 * i - 1], out[2 * i], 3, 1, 1);
    }
    y[3] = net_max_pool_ceil(b, net_join(b, scope, ".branch4.0"), x, 3, 1, 1);
    y[3] = conv(b, net_join(b, scope, ".branch4.1"), y[3], in, out[5], 1, 1, 0);
    return net_concat(b, net_join(b, scope, ".cat"), y, BRANCHES, 1);
}

void zoo_googlenet(builder *b, const zoo_arguments *a)
{
    static const googlenet_block BLOCKS[] = {{"inception3a", {64, 96, 128, 16, 32, 32}, 0},
                                             {"inception3b", {128, 128, 192, 32, 96, 64}, 0},
                                             {"maxpool3", {0}, 3},
                                             {"inception4a", {192, 96, 208, 16, 48, 64}, 0},
                                             {"inception4b", {160, 112, 224, 24, 64, 64}, 0},
                                             {"inception4c", {128, 128, 256, 24, 64, 64}, 0},
                                             {"inception4d", {112, 144, 288, 32, 64, 64}, 0},
                                             {"inception4e", {256, 160, 320, 32, 128, 128}, 0},
                                             {"maxpool4", {0}, 2},
                                             {"inception5a", {256, 160, 320, 32, 128, 128}, 0},
                                             {"inception5b", {384, 192, 384, 48, 128, 128}, 0}};
    value_id x = vision_begin(b, a->numbers[IMAGE]);
    x = conv(b, STR("conv1"), x, 3, 64, 7, 2, 3);
    x = net_max_pool_ceil(b, STR("maxpool1"), x, 3, 2, 0);
    x = conv(b, STR("conv2"), x, 64, 64, 1, 1, 0);
    x = conv(b, STR("conv3"), x, 64, 192, 3, 1, 1);
    x = net_max_pool_ceil(b, STR("maxpool2"), x, 3, 2, 0);
    int64_t in = 192;
    for (size_t i = 0; i < sizeof BLOCKS / sizeof *BLOCKS; i++) {
        const googlenet_block *block = &BLOCKS[i];
        str name = str_of(block->name);
        if (block->pool) {
            x = net_max_pool_ceil(b, name, x, block->pool, 2, 0);
            continue;
        }
        x = googlenet_branches(b, name, x, in, block->out);
        in = block->out[0] + block->out[2] + block->out[4] + block->out[5];
    }
    vision_classify(b, "fc", x, in, a->numbers[CLASSES]);
}

/* ---- Inception v3 ------------------------------------------------------------------------------------------------ */

/* One convolution of a branch, with a window of height x width. Padding keeps the size unless the stride is 2. */
typedef struct branch_conv {
    const char *name; /* NULL: the branch ends */
    int64_t out, height, width, stride;
    int twin; /* 1: reads the same input as the previous one, and both results are concatenated */
} branch_conv;

enum { MOST_CONVS = 6, MOST_BRANCHES = 4 };
typedef enum branch_pool { POOL_NONE, POOL_AVERAGE, POOL_MAX } branch_pool;
typedef struct branch {
    branch_pool pool; /* pool before the convolutions */
    branch_conv convs[MOST_CONVS];
} branch;

/* Branches of the blocks in figures 5 to 7 and 10 of the paper. 0 marks channels that vary: the last convolution
 * after BLOCK_A's pool, and the width in BLOCK_C. */
static const branch BLOCK_A[MOST_BRANCHES] = {
    {POOL_NONE, {{".branch1x1", 64, 1, 1, 1, 0}}},
    {POOL_NONE, {{".branch5x5_1", 48, 1, 1, 1, 0}, {".branch5x5_2", 64, 5, 5, 1, 0}}},
    {POOL_NONE,
     {{".branch3x3dbl_1", 64, 1, 1, 1, 0}, {".branch3x3dbl_2", 96, 3, 3, 1, 0}, {".branch3x3dbl_3", 96, 3, 3, 1, 0}}},
    {POOL_AVERAGE, {{".branch_pool", 0, 1, 1, 1, 0}}}};
static const branch BLOCK_B[MOST_BRANCHES] = {
    {POOL_NONE, {{".branch3x3", 384, 3, 3, 2, 0}}},
    {POOL_NONE,
     {{".branch3x3dbl_1", 64, 1, 1, 1, 0}, {".branch3x3dbl_2", 96, 3, 3, 1, 0}, {".branch3x3dbl_3", 96, 3, 3, 2, 0}}},
    {POOL_MAX, {{0}}}};
static const branch BLOCK_C[MOST_BRANCHES] = {
    {POOL_NONE, {{".branch1x1", 192, 1, 1, 1, 0}}},
    {POOL_NONE, {{".branch7x7_1", 0, 1, 1, 1, 0}, {".branch7x7_2", 0, 1, 7, 1, 0}, {".branch7x7_3", 192, 7, 1, 1, 0}}},
    {POOL_NONE,
     {{".branch7x7dbl_1", 0, 1, 1, 1, 0},
      {".branch7x7dbl_2", 0, 7, 1, 1, 0},
      {".branch7x7dbl_3", 0, 1, 7, 1, 0},
      {".branch7x7dbl_4", 0, 7, 1, 1, 0},
      {".branch7x7dbl_5", 192, 1, 7, 1, 0}}},
    {POOL_AVERAGE, {{".branch_pool", 192, 1, 1, 1, 0}}}};
static const branch BLOCK_D[MOST_BRANCHES] = {
    {POOL_NONE, {{".branch3x3_1", 192, 1, 1, 1, 0}, {".branch3x3_2", 320, 3, 3, 2, 0}}},
    {POOL_NONE,
     {{".branch7x7x3_1", 192, 1, 1, 1, 0},
      {".branch7x7x3_2", 192, 1, 7, 1, 0},
      {".branch7x7x3_3", 192, 7, 1, 1, 0},
      {".branch7x7x3_4", 192, 3, 3, 2, 0}}},
    {POOL_MAX, {{0}}}};
static const branch BLOCK_E[MOST_BRANCHES] = {
    {POOL_NONE, {{".branch1x1", 320, 1, 1, 1, 0}}},
    {POOL_NONE,
     {{".branch3x3_1", 384, 1, 1, 1, 0}, {".branch3x3_2a", 384, 1, 3, 1, 0}, {".branch3x3_2b", 384, 3, 1, 1, 1}}},
    {POOL_NONE,
     {{".branch3x3dbl_1", 448, 1, 1, 1, 0},
      {".branch3x3dbl_2", 384, 3, 3, 1, 0},
      {".branch3x3dbl_3a", 384, 1, 3, 1, 0},
      {".branch3x3dbl_3b", 384, 3, 1, 1, 1}}},
    {POOL_AVERAGE, {{".branch_pool", 192, 1, 1, 1, 0}}}};

typedef struct inception_block {
    const char *name;
    const branch *branches;
    int64_t varied; /* value of the channels that are marked 0 */
} inception_block;

/* Writes a branch. Returns its output and adds its channels to *channels. */
static value_id run_branch(builder *b, str scope, value_id x, const branch *part, const inception_block *block,
                           int64_t in, int64_t *channels)
{
    if (part->pool == POOL_AVERAGE)
        x = net_average_pool_padded(b, net_join(b, scope, ".avg_pool"), x, 3, 1, 1);
    if (part->pool == POOL_MAX)
        x = net_max_pool(b, net_join(b, scope, ".max_pool"), x, 3, 2, 0);
    value_id before = x;
    int64_t before_channels = in, out = in;
    for (int i = 0; i < MOST_CONVS && part->convs[i].name; i++) {
        const branch_conv *c = &part->convs[i];
        int64_t pad = c->stride == 1, wide = c->out ? c->out : block->varied;
        value_id from = c->twin ? before : x;
        int64_t from_channels = c->twin ? before_channels : out;
        net_conv_shape s = {from_channels, wide, c->height, c->stride, pad * (c->height / 2), 1, false};
        value_id y = conv_wide(b, net_join(b, scope, c->name), from, s, c->width, pad * (c->width / 2));
        if (c->twin) {
            x = net_concat(b, net_join(b, net_join(b, scope, c->name), ".cat"), (value_id[]){x, y}, 2, 1);
            out += wide;
            continue;
        }
        before = x;
        before_channels = out;
        x = y;
        out = wide;
    }
    *channels += out;
    return x;
}

void zoo_inception_v3(builder *b, const zoo_arguments *a)
{
    static const inception_block BLOCKS[] = {
        {"Mixed_5b", BLOCK_A, 32},  {"Mixed_5c", BLOCK_A, 64},  {"Mixed_5d", BLOCK_A, 64},  {"Mixed_6a", BLOCK_B, 0},
        {"Mixed_6b", BLOCK_C, 128}, {"Mixed_6c", BLOCK_C, 160}, {"Mixed_6d", BLOCK_C, 160}, {"Mixed_6e", BLOCK_C, 192},
        {"Mixed_7a", BLOCK_D, 0},   {"Mixed_7b", BLOCK_E, 0},   {"Mixed_7c", BLOCK_E, 0}};
    value_id x = vision_begin(b, a->numbers[IMAGE]);
    x = conv(b, STR("Conv2d_1a_3x3"), x, 3, 32, 3, 2, 0);
    x = conv(b, STR("Conv2d_2a_3x3"), x, 32, 32, 3, 1, 0);
    x = conv(b, STR("Conv2d_2b_3x3"), x, 32, 64, 3, 1, 1);
    x = net_max_pool(b, STR("maxpool1"), x, 3, 2, 0);
    x = conv(b, STR("Conv2d_3b_1x1"), x, 64, 80, 1, 1, 0);
    x = conv(b, STR("Conv2d_4a_3x3"), x, 80, 192, 3, 1, 0);
    x = net_max_pool(b, STR("maxpool2"), x, 3, 2, 0);
    int64_t in = 192;
    for (size_t i = 0; i < sizeof BLOCKS / sizeof *BLOCKS; i++) {
        str scope = str_of(BLOCKS[i].name);
        value_id parts[MOST_BRANCHES];
        int64_t channels = 0;
        int count = 0;
        for (; count < MOST_BRANCHES; count++) {
            const branch *part = &BLOCKS[i].branches[count];
            if (part->pool == POOL_NONE && !part->convs[0].name)
                break;
            parts[count] = run_branch(b, scope, x, part, &BLOCKS[i], in, &channels);
        }
        x = net_concat(b, net_join(b, scope, ".cat"), parts, count, 1);
        in = channels;
    }
    vision_classify(b, "fc", x, in, a->numbers[CLASSES]);
}
