/* spaces.c: networks of search spaces, operator by operator as their reference implementations run them in PyTorch.
 *
 *   NAS-Bench-201  Dong and Yang, "NAS-Bench-201: Extending the Scope of Reproducible Neural Architecture Search",
 *                  arXiv:2001.00326: three stages of five cells, 16 channels in the first
 *   NAS-Bench-Macro  Su and others, "Prioritized Architecture Sampling with Monto-Carlo Tree Search", arXiv:2103.11922:
 *                  eight layers of 64, 128 and 256 channels for images of CIFAR-10
 *   FBNet          Wu and others, arXiv:1812.03443, in HW-NAS-Bench's version for CIFAR (Li and others,
 *                  arXiv:2103.10584): a choice for each of 22 blocks, ReLU, channel shuffle in grouped blocks, 1504
 *                  channels before the classifier
 *   Once-for-All   Cai and others, "Once-for-All: Train One Network and Specialize it …", arXiv:1908.09791: MobileNetV3
 *                  of width 1 */
#include "models/net.h"

/* The input image. */
static value_id image(builder *b, int64_t size)
{
    net_begin_literal(b);
    return net_input(b, "input", DT_FLOAT32, 4, (num[]){net_batch(b), 3, size, size});
}

static void finish(builder *b, value_id x, int64_t classes)
{
    net_output(b, x, DT_FLOAT32, 2, (num[]){net_batch(b), classes});
    net_end(b);
}

/* ---- NAS-Bench-201 ----------------------------------------------------------------------------------------------- */

enum { NB_CELL, NB_CHANNELS, NB_CELLS, NB_CLASSES, NB_IMAGE };
const zoo_parameter ZOO_NASBENCH201[] = {
    [NB_CELL] = {"cell",
                 "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|", 0,
                 0, "the cell, as the benchmark writes it", false},
    [NB_CHANNELS] = {"channels", "16", 1, 1024, "channels of the first stage; they double twice", false},
    [NB_CELLS] = {"cells", "5", 1, 50, "cells of each of the three stages", false},
    [NB_CLASSES] = {"classes", "100", 1, 1000000, "classes of the output", false},
    [NB_IMAGE] = {"image", "32", 4, 4096, "height and width of the image", false},
    {0},
};

typedef enum edge_kind { EDGE_NONE, EDGE_SKIP, EDGE_CONV_1, EDGE_CONV_3, EDGE_POOL } edge_kind;
enum { EDGES = 6, CELL_NODES = 4 };

static edge_kind find_edge(builder *b, const zoo_arguments *a, str name)
{
    static const char *const NAMES[] = {"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"};
    for (int kind = 0; kind <= EDGE_POOL; kind++)
        if (str_is(name, NAMES[kind]))
            return (edge_kind)kind;
    zoo_refuse(b, a, NB_CELL,
               "operation '%.*s' is none of none, skip_connect, nor_conv_1x1, nor_conv_3x3, avg_pool_3x3",
               STR_ARG(name));
}

/* "|op~0|+|op~0|op~1|+|op~0|op~1|op~2|": one group per node after the first, one operation per earlier node. */
static void read_cell(builder *b, const zoo_arguments *a, edge_kind edges[EDGES])
{
    const char *at = a->texts[NB_CELL].ptr, *end = at + a->texts[NB_CELL].len;
    int count = 0;
    for (int to = 1; to < CELL_NODES; to++) {
        if (to > 1 && (at == end || *at++ != '+'))
            zoo_refuse(b, a, NB_CELL, "'+' is required before node %d", to);
        for (int from = 0; from < to; from++) {
            const char *stop = at < end && *at == '|' ? memchr(at, '~', (size_t)(end - at)) : NULL;
            if (stop && end - stop >= 2 && stop[1] == '0' + from) {
                edges[count++] = find_edge(b, a, (str){at + 1, (size_t)(stop - at - 1)});
                at = stop + 2;
            } else {
                zoo_refuse(b, a, NB_CELL, "'|OPERATION~%d' is required where node %d reads node %d", from, to, from);
            }
        }
        if (at == end || *at++ != '|')
            zoo_refuse(b, a, NB_CELL, "'|' is required after the operations of node %d", to);
    }
    if (at != end)
        zoo_refuse(b, a, NB_CELL, "it continues after the operations of node 3");
}

static value_id relu_conv_norm(builder *b, str scope, value_id x, net_conv_shape s)
{
    x = net_unary(b, "Relu", net_join(b, scope, "op.0"), x);
    x = net_conv(b, net_join(b, scope, "op.1"), x, s);
    return net_batch_norm(b, net_join(b, scope, "op.2"), x, s.out);
}

static value_id edge(builder *b, str scope, value_id x, edge_kind kind, int64_t channels, value_id zero)
{
    if (kind == EDGE_NONE) /* x.mul(0.) */
        return net_binary(b, "Mul", net_join(b, scope, "zero"), x, zero);
    if (kind == EDGE_SKIP)
        return x;
    if (kind == EDGE_POOL)
        return net_average_pool(b, net_join(b, scope, "op"), x, 3, 1, 1);
    int64_t kernel = kind == EDGE_CONV_3 ? 3 : 1;
    return relu_conv_norm(b, scope, x, (net_conv_shape){channels, channels, kernel, 1, kernel / 2, 1, false});
}

/* A node is Python's sum() of its edges, which begins with 0 + the first edge. */
static value_id cell(builder *b, int index, value_id x, const edge_kind edges[EDGES], int64_t channels, value_id zero)
{
    static const char *const LAYERS[EDGES] = {"layers.0.", "layers.1.", "layers.2.",
                                              "layers.3.", "layers.4.", "layers.5."};
    static const char *const SUMS[EDGES] = {"sum.0", "sum.1", "sum.2", "sum.3", "sum.4", "sum.5"};
    str scope = NAME("cells.%d.", index);
    value_id nodes[CELL_NODES] = {x};
    int at = 0;
    for (int to = 1; to < CELL_NODES; to++) {
        value_id sum = zero;
        for (int from = 0; from < to; from++, at++) {
            value_id y = edge(b, net_join(b, scope, LAYERS[at]), nodes[from], edges[at], channels, zero);
            sum = net_binary(b, "Add", net_join(b, scope, SUMS[at]), y, sum);
        }
        nodes[to] = sum;
    }
    return nodes[CELL_NODES - 1];
}

/* Layer between stages: halves the size and doubles the channels. */
static value_id reduction(builder *b, int index, value_id x, int64_t in)
{
    str scope = NAME("cells.%d.", index);
    int64_t out = 2 * in;
    value_id y = relu_conv_norm(b, net_join(b, scope, "conv_a."), x, (net_conv_shape){in, out, 3, 2, 1, 1, false});
    y = relu_conv_norm(b, net_join(b, scope, "conv_b."), y, (net_conv_shape){out, out, 3, 1, 1, 1, false});
    x = net_average_pool(b, net_join(b, scope, "downsample.0"), x, 2, 2, 0);
    x = net_conv(b, net_join(b, scope, "downsample.1"), x, (net_conv_shape){in, out, 1, 1, 0, 1, false});
    return net_binary(b, "Add", net_join(b, scope, "add"), x, y);
}

void zoo_nasbench201(builder *b, const zoo_arguments *a)
{
    enum { STAGES = 3 };
    edge_kind edges[EDGES];
    read_cell(b, a, edges);
    int64_t channels = a->numbers[NB_CHANNELS], size = a->numbers[NB_IMAGE];
    if (size % 4)
        zoo_refuse(b, a, NB_IMAGE, "it must be a multiple of 4: the image is halved twice");
    value_id x = image(b, size);
    size_t cells = (size_t)STAGES * (size_t)a->numbers[NB_CELLS];
    build_reserve(b, 32 + 24 * cells, 128 + 55 * cells); /* upper bounds */
    value_id zero = net_real(b, "zero", 0);
    x = net_conv(b, STR("stem.0"), x, (net_conv_shape){3, channels, 3, 1, 1, 1, false});
    x = net_batch_norm(b, STR("stem.1"), x, channels);
    int index = 0;
    for (int stage = 0; stage < STAGES; stage++) {
        if (stage > 0) {
            x = reduction(b, index++, x, channels);
            channels *= 2;
        }
        for (int64_t i = 0; i < a->numbers[NB_CELLS]; i++)
            x = cell(b, index++, x, edges, channels, zero);
    }
    x = net_batch_norm(b, STR("lastact.0"), x, channels);
    x = net_unary(b, "Relu", STR("lastact.1"), x);
    x = net_unary(b, "GlobalAveragePool", STR("global_pooling"), x);
    x = net_unary(b, "Flatten", STR("flatten"), x);
    finish(b, net_gemm(b, STR("classifier"), x, channels, a->numbers[NB_CLASSES]), a->numbers[NB_CLASSES]);
}

/* ---- NAS-Bench-Macro --------------------------------------------------------------------------------------------- */

enum { MACRO_LAYERS, MACRO_CLASSES, MACRO_IMAGE };
const zoo_parameter ZOO_NASBENCH_MACRO[] = {
    [MACRO_LAYERS] = {.name = "layers",
                      .otherwise = "11111111",
                      .summary = "8 digits: 0 identity, 1 kernel 3 and expansion 3, 2 kernel 5 and expansion 6"},
    [MACRO_CLASSES] =
        {.name = "classes", .otherwise = "10", .least = 1, .most = 1000000, .summary = "classes of the output"},
    [MACRO_IMAGE] =
        {.name = "image", .otherwise = "32", .least = 8, .most = 4096, .summary = "height and width of the image"},
    {0},
};

/* An identity that changes the shape is a 1 x 1 convolution with batch norm. */
static value_id macro_layer(builder *b, str scope, value_id x, char kind, net_conv_shape s, value_id low, value_id high)
{
    if (kind == '0') {
        if (s.stride == 1 && s.in == s.out)
            return x;
        x = net_conv(b, net_join(b, scope, "downsample.0"), x, (net_conv_shape){s.in, s.out, 1, s.stride, 0, 1, false});
        return net_batch_norm(b, net_join(b, scope, "downsample.1"), x, s.out);
    }
    int64_t kernel = kind == '1' ? 3 : 5, wide = s.in * (kind == '1' ? 3 : 6);
    node *n;
    value_id y = net_conv(b, net_join(b, scope, "conv.0"), x, (net_conv_shape){s.in, wide, 1, 1, 0, 1, false});
    y = net_batch_norm(b, net_join(b, scope, "conv.1"), y, wide);
    y = net_node(b, "Clip", net_join(b, scope, "conv.2"), (value_id[]){y, low, high}, 3, 0, &n);
    y = net_conv(b, net_join(b, scope, "conv.3"), y,
                 (net_conv_shape){wide, wide, kernel, s.stride, kernel / 2, wide, false});
    y = net_batch_norm(b, net_join(b, scope, "conv.4"), y, wide);
    y = net_node(b, "Clip", net_join(b, scope, "conv.5"), (value_id[]){y, low, high}, 3, 0, &n);
    y = net_conv(b, net_join(b, scope, "conv.6"), y, (net_conv_shape){wide, s.out, 1, 1, 0, 1, false});
    y = net_batch_norm(b, net_join(b, scope, "conv.7"), y, s.out);
    return s.stride == 1 && s.in == s.out ? net_binary(b, "Add", net_join(b, scope, "add"), y, x) : y;
}

void zoo_nasbench_macro(builder *b, const zoo_arguments *a)
{
    enum { LAYERS = 8, STEM = 32, HEADER = 1280 };
    static const int64_t CHANNELS[LAYERS] = {64, 64, 128, 128, 128, 256, 256, 256};
    str kinds = a->texts[MACRO_LAYERS];
    if (kinds.len != LAYERS)
        zoo_refuse(b, a, MACRO_LAYERS, "it has %zu layers, not 8", kinds.len);
    for (size_t i = 0; i < LAYERS; i++)
        if (kinds.ptr[i] < '0' || kinds.ptr[i] > '2')
            zoo_refuse(b, a, MACRO_LAYERS, "layer %zu is '%c', not 0, 1 or 2", i + 1, kinds.ptr[i]);
    node *n;
    int64_t channels = STEM;
    value_id x = image(b, a->numbers[MACRO_IMAGE]);
    value_id low = net_real(b, "zero", 0), high = net_real(b, "six", 6);
    x = net_conv(b, STR("stem.0"), x, (net_conv_shape){3, STEM, 3, 1, 1, 1, false});
    x = net_batch_norm(b, STR("stem.1"), x, STEM);
    x = net_node(b, "Clip", STR("stem.2"), (value_id[]){x, low, high}, 3, 0, &n);
    for (int i = 0; i < LAYERS; i++) {
        bool halves = CHANNELS[i] != channels; /* the first layer of a stage */
        net_conv_shape s = {.in = channels, .out = CHANNELS[i], .stride = halves ? 2 : 1};
        x = macro_layer(b, NAME("features.%d.", i), x, kinds.ptr[i], s, low, high);
        channels = CHANNELS[i];
    }
    x = net_conv(b, STR("header.0"), x, (net_conv_shape){channels, HEADER, 1, 1, 0, 1, false});
    x = net_batch_norm(b, STR("header.1"), x, HEADER);
    x = net_node(b, "Clip", STR("header.2"), (value_id[]){x, low, high}, 3, 0, &n);
    x = net_unary(b, "GlobalAveragePool", STR("avgpool"), x);
    x = net_unary(b, "Flatten", STR("flatten"), x);
    finish(b, net_gemm(b, STR("classifier"), x, HEADER, a->numbers[MACRO_CLASSES]), a->numbers[MACRO_CLASSES]);
}

/* ---- FBNet ------------------------------------------------------------------------------------------------------- */

enum { FB_BLOCKS, FB_CLASSES, FB_IMAGE };
const zoo_parameter ZOO_FBNET[] = {
    [FB_BLOCKS] = {"blocks", "k3_e6", 0, 0, "22 of k3_e1, k3_e1_g2, k3_e3, k3_e6, k5_e1, k5_e1_g2, k5_e3, k5_e6, skip",
                   false},
    [FB_CLASSES] = {"classes", "100", 1, 1000000, "classes of the output", false},
    [FB_IMAGE] = {"image", "32", 8, 4096, "height and width of the image", false},
    {0},
};

typedef struct fbnet_block {
    const char *name;
    int64_t kernel, expansion, groups; /* kernel size 0: a skip connection */
} fbnet_block;

static const fbnet_block *find_block(builder *b, const zoo_arguments *a, str name)
{
    static const fbnet_block BLOCKS[] = {{"k3_e1", 3, 1, 1}, {"k3_e1_g2", 3, 1, 2}, {"k3_e3", 3, 3, 1},
                                         {"k3_e6", 3, 6, 1}, {"k5_e1", 5, 1, 1},    {"k5_e1_g2", 5, 1, 2},
                                         {"k5_e3", 5, 3, 1}, {"k5_e6", 5, 6, 1},    {"skip", 0, 0, 1}};
    for (size_t i = 0; i < sizeof BLOCKS / sizeof *BLOCKS; i++)
        if (str_is(name, BLOCKS[i].name))
            return &BLOCKS[i];
    zoo_refuse(b, a, FB_BLOCKS,
               "block '%.*s' is none of k3_e1, k3_e1_g2, k3_e3, k3_e6, k5_e1, k5_e1_g2, k5_e3, k5_e6, skip",
               STR_ARG(name));
}

static value_id conv_norm(builder *b, str scope, int number, value_id x, net_conv_shape s)
{
    x = net_conv(b, NAME("%sconv%d", scope.ptr, number), x, s);
    return net_batch_norm(b, NAME("%sbn%d", scope.ptr, number), x, s.out);
}

/* (N, g·c, H, W) → (N, g, c, H, W) → (N, c, g, H, W) → (N, c·g, H, W) */
static value_id channel_shuffle(builder *b, str scope, value_id x, int64_t channels, int64_t groups, int64_t size)
{
    x = net_reshape(b, net_join(b, scope, "shuffle.split"), x, (int64_t[]){0, groups, channels / groups, size, size},
                    5);
    x = net_transpose(b, net_join(b, scope, "shuffle.turn"), x, (int64_t[]){0, 2, 1, 3, 4}, 5);
    return net_reshape(b, net_join(b, scope, "shuffle.join"), x, (int64_t[]){0, channels, size, size}, 4);
}

typedef struct fbnet_place {
    int64_t in, out, stride, size; /* size: height and width of the input */
} fbnet_place;

static value_id fbnet_layer(builder *b, str scope, value_id x, const fbnet_block *block, fbnet_place p)
{
    if (block->kernel == 0) {
        if (p.stride == 1 && p.in == p.out)
            return x;
        x = net_conv(b, net_join(b, scope, "conv"), x, (net_conv_shape){p.in, p.out, 1, p.stride, 0, 1, false});
        x = net_batch_norm(b, net_join(b, scope, "bn"), x, p.out);
        return net_unary(b, "Relu", net_join(b, scope, "relu"), x);
    }
    int64_t wide = p.in * block->expansion, groups = block->groups;
    value_id y = conv_norm(b, scope, 1, x, (net_conv_shape){p.in, wide, 1, 1, 0, groups, false});
    y = net_unary(b, "Relu", net_join(b, scope, "relu1"), y);
    if (groups > 1)
        y = channel_shuffle(b, scope, y, wide, groups, p.size);
    y = conv_norm(b, scope, 2, y,
                  (net_conv_shape){wide, wide, block->kernel, p.stride, block->kernel / 2, wide, false});
    y = net_unary(b, "Relu", net_join(b, scope, "relu2"), y);
    y = conv_norm(b, scope, 3, y, (net_conv_shape){wide, p.out, 1, 1, 0, groups, false});
    return p.stride == 1 && p.in == p.out ? net_binary(b, "Add", net_join(b, scope, "add"), y, x) : y;
}

void zoo_fbnet(builder *b, const zoo_arguments *a)
{
    enum { STAGES = 7, LAYERS = 22, STEM = 16, HEADER = 1504 };
    static const struct {
        int layers, channels, stride;
    } stages[STAGES] = {{1, 16, 1}, {4, 24, 1}, {4, 32, 2}, {4, 64, 2}, {4, 112, 1}, {4, 184, 2}, {1, 352, 1}};
    str names[LAYERS];
    zoo_pieces(b, a, FB_BLOCKS, names, LAYERS);
    int64_t size = a->numbers[FB_IMAGE], channels = STEM;
    if (size % 8)
        zoo_refuse(b, a, FB_IMAGE, "it must be a multiple of 8: the image is halved three times");
    value_id x = image(b, size);
    x = net_conv(b, STR("stem.conv"), x, (net_conv_shape){3, STEM, 3, 1, 1, 1, false});
    x = net_batch_norm(b, STR("stem.bn"), x, STEM);
    x = net_unary(b, "Relu", STR("stem.relu"), x);
    int layer = 0;
    for (int s = 0; s < STAGES; s++) {
        for (int i = 0; i < stages[s].layers; i++, layer++) {
            fbnet_place place = {channels, stages[s].channels, i == 0 ? stages[s].stride : 1, size};
            x = fbnet_layer(b, NAME("cells.%d.", layer), x, find_block(b, a, names[layer]), place);
            size /= place.stride;
            channels = place.out;
        }
    }
    x = net_conv(b, STR("header.conv"), x, (net_conv_shape){channels, HEADER, 1, 1, 0, 1, false});
    x = net_batch_norm(b, STR("header.bn"), x, HEADER);
    x = net_unary(b, "Relu", STR("header.relu"), x);
    x = net_unary(b, "GlobalAveragePool", STR("avgpool"), x);
    x = net_unary(b, "Flatten", STR("flatten"), x);
    finish(b, net_gemm(b, STR("fc"), x, HEADER, a->numbers[FB_CLASSES]), a->numbers[FB_CLASSES]);
}

/* ---- Once-for-All ------------------------------------------------------------------------------------------------ */

enum { OFA_KERNELS, OFA_EXPANSIONS, OFA_DEPTHS, OFA_RESOLUTION, OFA_CLASSES };
const zoo_parameter ZOO_OFA[] = {
    [OFA_KERNELS] = {"kernels", "7", 0, 0, "20 of 3, 5, 7", false},
    [OFA_EXPANSIONS] = {"expansions", "6", 0, 0, "20 of 3, 4, 6", false},
    [OFA_DEPTHS] = {"depths", "4", 0, 0, "5 of 2, 3, 4; a shallow stage ignores its last kernels and expansions",
                    false},
    [OFA_RESOLUTION] = {"resolution", "224", 32, 4096, "height and width of the image", false},
    [OFA_CLASSES] = {"classes", "1000", 1, 1000000, "classes of the output", false},
    {0},
};

typedef struct ofa_numbers {
    value_id zero, three, six, last_axis, axis_before; /* constants that all activations and means use */
} ofa_numbers;

/* relu6(x + 3) / 6 */
static value_id hard_sigmoid(builder *b, str scope, value_id x, const ofa_numbers *c)
{
    node *n;
    x = net_binary(b, "Add", net_join(b, scope, "add"), x, c->three);
    x = net_node(b, "Clip", net_join(b, scope, "relu6"), (value_id[]){x, c->zero, c->six}, 3, 0, &n);
    return net_binary(b, "Div", net_join(b, scope, "div"), x, c->six);
}

/* x * relu6(x + 3) / 6 */
static value_id hard_swish(builder *b, str scope, value_id x, const ofa_numbers *c)
{
    node *n;
    value_id y = net_binary(b, "Add", net_join(b, scope, "add"), x, c->three);
    y = net_node(b, "Clip", net_join(b, scope, "relu6"), (value_id[]){y, c->zero, c->six}, 3, 0, &n);
    y = net_binary(b, "Mul", net_join(b, scope, "mul"), x, y);
    return net_binary(b, "Div", net_join(b, scope, "div"), y, c->six);
}

static value_id activation(builder *b, str scope, value_id x, bool is_swish, const ofa_numbers *c)
{
    return is_swish ? hard_swish(b, net_join(b, scope, "act."), x, c)
                    : net_unary(b, "Relu", net_join(b, scope, "act"), x);
}

/* x.mean(3, keepdim=True).mean(2, keepdim=True) */
static value_id mean_of_image(builder *b, str scope, value_id x, const ofa_numbers *c)
{
    x = net_binary(b, "ReduceMean", net_join(b, scope, "mean_3"), x, c->last_axis);
    return net_binary(b, "ReduceMean", net_join(b, scope, "mean_2"), x, c->axis_before);
}

/* Returns the nearest multiple of 8 that is at least nine tenths of the value. */
static int64_t make_divisible(int64_t channels)
{
    int64_t nearest = (channels + 4) / 8 * 8;
    nearest = nearest < 8 ? 8 : nearest;
    return 10 * nearest < 9 * channels ? nearest + 8 : nearest;
}

static value_id squeeze_excite(builder *b, str scope, value_id x, int64_t channels, const ofa_numbers *c)
{
    int64_t middle = make_divisible(channels / 4);
    value_id y = mean_of_image(b, scope, x, c);
    y = net_conv(b, net_join(b, scope, "fc.reduce"), y, (net_conv_shape){channels, middle, 1, 1, 0, 1, true});
    y = net_unary(b, "Relu", net_join(b, scope, "fc.relu"), y);
    y = net_conv(b, net_join(b, scope, "fc.expand"), y, (net_conv_shape){middle, channels, 1, 1, 0, 1, true});
    y = hard_sigmoid(b, net_join(b, scope, "fc.h_sigmoid."), y, c);
    return net_binary(b, "Mul", net_join(b, scope, "mul"), x, y);
}

typedef struct ofa_block {
    int64_t in, out, kernel, expansion, stride;
    bool is_swish, has_squeeze;
} ofa_block;

static value_id inverted_residual(builder *b, int index, value_id x, ofa_block o, const ofa_numbers *c)
{
    str scope = NAME("blocks.%d.conv.", index);
    int64_t wide = make_divisible(o.in * o.expansion);
    value_id y = x;
    if (o.expansion > 1) {
        str part = net_join(b, scope, "inverted_bottleneck.");
        y = net_conv(b, net_join(b, part, "conv"), y, (net_conv_shape){o.in, wide, 1, 1, 0, 1, false});
        y = net_batch_norm(b, net_join(b, part, "bn"), y, wide);
        y = activation(b, part, y, o.is_swish, c);
    }
    str part = net_join(b, scope, "depth_conv.");
    y = net_conv(b, net_join(b, part, "conv"), y,
                 (net_conv_shape){wide, wide, o.kernel, o.stride, o.kernel / 2, wide, false});
    y = net_batch_norm(b, net_join(b, part, "bn"), y, wide);
    y = activation(b, part, y, o.is_swish, c);
    if (o.has_squeeze)
        y = squeeze_excite(b, net_join(b, part, "se."), y, wide, c);
    part = net_join(b, scope, "point_linear.");
    y = net_conv(b, net_join(b, part, "conv"), y, (net_conv_shape){wide, o.out, 1, 1, 0, 1, false});
    y = net_batch_norm(b, net_join(b, part, "bn"), y, o.out);
    return o.stride == 1 && o.in == o.out ? net_binary(b, "Add", NAME("blocks.%d.add", index), y, x) : y;
}

void zoo_ofa(builder *b, const zoo_arguments *a)
{
    enum { STAGES = 5, DEEPEST = 4, BLOCKS = STAGES * DEEPEST, FIRST = 16, EXPANDED = 960, FEATURES = 1280 };
    static const struct {
        int64_t channels, stride;
        bool is_swish, has_squeeze;
    } stages[STAGES] = {
        {24, 2, false, false}, {40, 2, false, true}, {80, 2, true, false}, {112, 1, true, true}, {160, 2, true, true}};
    int64_t kernels[BLOCKS], expansions[BLOCKS], depths[STAGES], classes = a->numbers[OFA_CLASSES];
    zoo_numbers(b, a, OFA_KERNELS, (int64_t[]){3, 5, 7, 0}, kernels, BLOCKS);
    zoo_numbers(b, a, OFA_EXPANSIONS, (int64_t[]){3, 4, 6, 0}, expansions, BLOCKS);
    zoo_numbers(b, a, OFA_DEPTHS, (int64_t[]){2, 3, 4, 0}, depths, STAGES);

    value_id x = image(b, a->numbers[OFA_RESOLUTION]);
    ofa_numbers c = {net_real(b, "zero", 0), net_real(b, "three", 3), net_real(b, "six", 6),
                     net_ints(b, "axis_3", 1, (int64_t[]){3}, 1), net_ints(b, "axis_2", 1, (int64_t[]){2}, 1)};
    x = net_conv(b, STR("first_conv.conv"), x, (net_conv_shape){3, FIRST, 3, 2, 1, 1, false});
    x = net_batch_norm(b, STR("first_conv.bn"), x, FIRST);
    x = activation(b, STR("first_conv."), x, true, &c);
    x = inverted_residual(b, 0, x, (ofa_block){FIRST, FIRST, 3, 1, 1, false, false}, &c);
    int64_t channels = FIRST;
    for (int s = 0; s < STAGES; s++) {
        for (int i = 0; i < depths[s]; i++) {
            int at = s * DEEPEST + i;
            ofa_block block = {
                channels,           stages[s].channels,   kernels[at], expansions[at], i ? 1 : stages[s].stride,
                stages[s].is_swish, stages[s].has_squeeze};
            x = inverted_residual(b, 1 + at, x, block, &c);
            channels = block.out;
        }
    }
    x = net_conv(b, STR("final_expand_layer.conv"), x, (net_conv_shape){channels, EXPANDED, 1, 1, 0, 1, false});
    x = net_batch_norm(b, STR("final_expand_layer.bn"), x, EXPANDED);
    x = activation(b, STR("final_expand_layer."), x, true, &c);
    x = mean_of_image(b, STR("global_pool."), x, &c);
    x = net_conv(b, STR("feature_mix_layer.conv"), x, (net_conv_shape){EXPANDED, FEATURES, 1, 1, 0, 1, false});
    x = activation(b, STR("feature_mix_layer."), x, true, &c);
    x = net_unary(b, "Flatten", STR("flatten"), x);
    finish(b, net_gemm(b, STR("classifier.linear"), x, FEATURES, classes), classes);
}
