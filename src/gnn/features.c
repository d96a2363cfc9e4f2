/* features.c: converts stored graphs and settings to the inputs of graph networks. */
#include "gnn/features.h"

#include <math.h>
#include <stdlib.h>

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Classes of operators; the last one has all operators that no row lists. */
static const char *const CLASSES[GNN_OPERATORS] = {
    "Input",
    "Conv ConvTranspose ConvInteger QLinearConv DeformConv ConvBatchNorm",
    "Gemm MatMul Linear Einsum MatMulInteger QLinearMatMul MatMulNBits",
    "ScaledDotProductAttention Attention MultiHeadAttention GroupQueryAttention FlexAttention LinearAttention",
    "Relu LeakyRelu PRelu Clip ThresholdedRelu",
    "Gelu Silu Swish Sigmoid HardSigmoid HardSwish Tanh Elu Selu Celu Mish Softplus Erf SwiGLU",
    "Add Sub Sum BiasAdd",
    "Mul Div Scale Affine Pow Sqrt Reciprocal",
    "BatchNormalization",
    "LayerNormalization GroupNormalization InstanceNormalization RMSNormalization LpNormalization LRN",
    "MaxPool AveragePool LpPool",
    "GlobalAveragePool GlobalMaxPool GlobalLpPool ReduceMean ReduceSum ReduceMax ReduceMin",
    "Softmax LogSoftmax",
    "Reshape Transpose Flatten Squeeze Unsqueeze Identity Expand Dropout",
    ("Concat Split Slice Gather Pad Resize Roll Tile ChannelShuffle DepthToSpace SpaceToDepth WindowPartition "
     "WindowReverse PixelUnshuffle"),
    "",
};

typedef struct operator_classes {
    int32_t codes[128];
    uint8_t classes[128];
    int count;
} operator_classes;

static operator_classes list_classes(void)
{
    operator_classes list = {.count = 0};
    for (int c = 0; c < GNN_OPERATORS; c++)
        for (const char *at = CLASSES[c]; *at;) {
            char name[64] = "";
            size_t length = strcspn(at, " ");
            memcpy(name, at, length);
            list.codes[list.count] = set_op_code(name);
            list.classes[list.count++] = (uint8_t)c;
            at += length + (at[length] == ' ');
        }
    return list;
}

static uint8_t class_of(const operator_classes *list, int32_t code)
{
    for (int i = 0; i < list->count; i++)
        if (list->codes[i] == code)
            return list->classes[i];
    return GNN_OPERATORS - 1;
}

/* ---- nodes and edges --------------------------------------------------------------------------------------------- */

static float log_of(double x)
{
    return x > 0 ? (float)log1p(x) : 0;
}

/* The first dimensions; the last one is the product of the rest. */
static void put_shape(const int32_t *dims, int32_t rank, float *to)
{
    double rest = 1;
    for (int i = 0; i < GNN_VALUES - SET_ATTRIBUTES - 1; i++)
        to[i] = i < rank ? log_of(dims[i]) : 0;
    for (int i = GNN_VALUES - SET_ATTRIBUTES - 1; i < rank && i < SET_DIMS; i++)
        rest *= dims[i] > 0 ? dims[i] : 1;
    to[GNN_VALUES - SET_ATTRIBUTES - 1] = rank >= GNN_VALUES - SET_ATTRIBUTES ? log_of(rest) : 0;
}

static bool is_kept(const set_graph *g, int32_t node, gnn_features which)
{
    return which == GNN_FULL || g->attributes[node][SET_CHANNELS] > 0;
}

static void put_nodes(const set_graph *g, gnn_features which, uint8_t *op, float (*values)[GNN_VALUES])
{
    const operator_classes list = list_classes();
    int32_t at = 0;
    for (int32_t i = 0; i < g->node_count; i++) {
        if (!is_kept(g, i, which))
            continue;
        op[at] = class_of(&list, g->op[i]);
        for (int k = 0; k < SET_ATTRIBUTES; k++)
            values[at][k] = log_of(g->attributes[i][k]);
        put_shape(g->dims[i], g->rank[i], values[at] + SET_ATTRIBUTES);
        at++;
    }
}

/* Sorts the edges by the node that reads; edges of one node keep their order. */
static void put_edges(const set_graph *g, int32_t *first, int32_t *from)
{
    for (int32_t i = 0; i < g->edge_count; i++)
        first[g->edges[i][1] + 1]++;
    for (int32_t i = 0; i < g->node_count; i++)
        first[i + 1] += first[i];
    for (int32_t i = 0; i < g->edge_count; i++)
        from[first[g->edges[i][1]]++] = g->edges[i][0];
    for (int32_t i = g->node_count; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
}

static void put_chain(int32_t nodes, int32_t *first, int32_t *from)
{
    for (int32_t i = 1; i < nodes; i++) {
        first[i + 1] = i;
        from[i - 1] = i - 1;
    }
}

gnn_graph gnn_features_of(const set_graph *g, gnn_features which, arena *a)
{
    gnn_graph to = {.edge_count = g->edge_count};
    for (int32_t i = 0; i < g->node_count; i++)
        to.node_count += is_kept(g, i, which);
    size_t nodes = (size_t)to.node_count;
    if (which == GNN_DIPPM)
        to.edge_count = to.node_count > 1 ? to.node_count - 1 : 0;
    uint8_t *op = arena_room(a, nodes + 1, 1);
    float(*values)[GNN_VALUES] = arena_room(a, nodes + 1, sizeof *values);
    int32_t *first = arena_alloc(a, nodes + 1, sizeof *first);
    int32_t *from = arena_room(a, (size_t)to.edge_count + 1, sizeof *from);
    put_nodes(g, which, op, values);
    if (which == GNN_FULL)
        put_edges(g, first, from);
    else
        put_chain(to.node_count, first, from);
    to.op = op;
    to.values = (const float(*)[GNN_VALUES])values;
    to.first = first;
    to.from = from;
    const set_figures f = set_figures_of(g);
    const double statics[] = {(double)f.batch, (double)f.macs, f.conv_count, f.dense_count, f.relu_count};
    for (int i = 0; i < GNN_STATICS; i++)
        to.statics[i] = log_of(statics[i]);
    return to;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static bool is_one(const char *s, const char *name)
{
    return strcmp(s, name) == 0;
}

void gnn_features_of_setting(const sooth_gpu *gpu, const char *precision, const char *layout, const char *runtime,
                             const char *mode, const char *stack, float inputs[GNN_SETTINGS])
{
    static const char *const FIELDS[] = {"sms", "boost_mhz", "bandwidth_gb_s", "l2_mib", "memory_gib"};
    enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };
    const char *half = strstr(precision, "bf16") ? "bf16" : "fp16";
    bool is_autocast = strncmp(precision, "amp", 3) == 0;
    bool is_half = !is_autocast && strstr(precision, "16"), is_narrow = strchr(precision, '8') != NULL;
    int at = 0;
    for (int i = 0; i < FIELD_COUNT; i++)
        inputs[at++] = log_of(sooth_gpu_number(gpu, FIELDS[i]));
    inputs[at++] = log_of(sooth_gpu_vector_flops(gpu, "fp32"));
    inputs[at++] = log_of(sooth_gpu_peak_flops(gpu, half));
    inputs[at++] = log_of(sooth_gpu_peak_flops(gpu, is_autocast || is_half ? half : precision));
    stack += strcspn(stack, "0123456789");
    inputs[at++] = log_of(strtod(stack, NULL));
    const bool switches[] = {is_autocast,
                             is_half,
                             is_narrow,
                             is_one(layout, "nhwc"),
                             is_one(runtime, "inductor"),
                             is_one(runtime, "engine"),
                             is_one(mode, "train-forward"),
                             is_one(mode, "train")};
    enum { SWITCHES = sizeof switches / sizeof *switches };
    _Static_assert(FIELD_COUNT + 4 + SWITCHES == GNN_SETTINGS, "a row has all inputs");
    for (int i = 0; i < SWITCHES; i++)
        inputs[at++] = switches[i];
}
