#include "plan/set_graph.h"

#include <stdlib.h>
#include <zlib.h>

enum { HEAD = 16 };
static const size_t LARGEST = (size_t)1 << 30; /* decompressed */

/* Bytes per node (3 int64; op, rank, dims and attributes) and per edge (its two ends). */
static size_t columns_size(size_t nodes, size_t edges)
{
    return nodes * (3 * sizeof(int64_t) + (2 + SET_DIMS + SET_ATTRIBUTES) * sizeof(int32_t)) +
           edges * 2 * sizeof(int32_t);
}

/* Points the columns of a graph into `bytes`. */
static void place_columns(set_graph *g, const char *bytes)
{
    size_t n = (size_t)g->node_count;
    g->macs = (const int64_t *)(const void *)bytes;
    g->params = g->macs + n;
    g->flops = g->params + n;
    g->op = (const int32_t *)(g->flops + n);
    g->rank = g->op + n;
    g->dims = (const int32_t(*)[SET_DIMS])(g->rank + n);
    g->attributes = (const int32_t(*)[SET_ATTRIBUTES])(g->dims + n);
    g->edges = (const int32_t(*)[2])(g->attributes + n);
}

int32_t set_op_code(const char *name)
{
    uint32_t hash = 0x811c9dc5u;
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 0x01000193u;
    return (int32_t)hash;
}

/* ---- the graph of a model ---------------------------------------------------------------------------------------- */

static int32_t saturated(int64_t x)
{
    return x < 0 ? -1 : x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

static int64_t known(int64_t x)
{
    return x < 0 ? -1 : x;
}

static void fill_shape(sooth_value v, int32_t *rank, int32_t dims[SET_DIMS])
{
    *rank = v.is_tensor ? v.rank : -1;
    for (int i = 0; i < v.rank && i < SET_DIMS; i++)
        dims[i] = saturated(v.dims[i]);
    int64_t rest = v.rank > SET_DIMS ? v.dims[SET_DIMS - 1] : 0;
    for (int i = SET_DIMS; i < v.rank; i++)
        if (rest < 0 || v.dims[i] < 0 || __builtin_mul_overflow(rest, v.dims[i], &rest))
            rest = -1;
    if (v.rank > SET_DIMS)
        dims[SET_DIMS - 1] = saturated(rest);
}

/* Reads height and width, or before and after by dimension, of the last two dimensions; `otherwise` for a missing
 * one. */
static void window_pair(const int64_t *ints, size_t count, size_t from, int64_t otherwise, int32_t pair[2])
{
    size_t first = count >= 2 ? from + count - 2 : from;
    pair[0] = saturated(count >= 2 ? ints[first] : otherwise);
    pair[1] = saturated(count >= 1 ? ints[from + count - 1] : otherwise);
}

enum { MOST_INTS = 16 };

static void fill_window(const sooth_model *model, size_t layer, const int64_t *weight_dims, int weight_rank,
                        int32_t *to)
{
    int64_t ints[MOST_INTS];
    size_t count = sooth_layer_ints(model, layer, "kernel_shape", ints, MOST_INTS);
    for (int i = 2; !count && i < weight_rank && i < MOST_INTS; i++)
        ints[i - 2] = weight_dims[i];
    if (!count && weight_rank > 2)
        count = (size_t)weight_rank - 2;
    if (!count)
        return;
    window_pair(ints, count, 0, 1, &to[SET_KERNEL_HEIGHT]);
    count = sooth_layer_ints(model, layer, "strides", ints, MOST_INTS);
    window_pair(ints, count, 0, 1, &to[SET_STRIDE_HEIGHT]);
    count = sooth_layer_ints(model, layer, "dilations", ints, MOST_INTS);
    window_pair(ints, count, 0, 1, &to[SET_DILATION_HEIGHT]);
    count = sooth_layer_ints(model, layer, "pads", ints, MOST_INTS) / 2;
    window_pair(ints, count, 0, 0, &to[SET_PAD_TOP]);
    window_pair(ints, count, count, 0, &to[SET_PAD_BOTTOM]);
}

static void fill_attributes(const sooth_model *model, size_t layer, const sooth_layer *l, int32_t *to)
{
    size_t weight = sooth_layer_input(model, layer, 1), out = sooth_layer_output(model, layer, 0);
    sooth_value w = sooth_value_at(model, weight), o = sooth_value_at(model, out);
    bool has_weight = weight != SIZE_MAX && w.is_constant && w.is_tensor;
    bool is_conv = strcmp(l->kind, "conv") == 0;
    int64_t groups;
    if (is_conv || strcmp(l->kind, "pool") == 0)
        fill_window(model, layer, w.dims, is_conv && has_weight ? w.rank : 0, to);
    if (is_conv)
        to[SET_GROUPS] = sooth_layer_ints(model, layer, "group", &groups, 1) ? saturated(groups) : 1;
    if (is_conv && o.rank > 1)
        to[SET_CHANNELS] = saturated(o.dims[1]);
    if (strcmp(l->kind, "matmul") == 0 && has_weight && o.rank > 0)
        to[SET_CHANNELS] = saturated(o.dims[o.rank - 1]);
}

/* Returns the node that makes each value; -1 for a constant. Values beyond those of the file belong only to layers. */
static int32_t *makers_of(const sooth_model *model, size_t inputs, size_t layers, size_t *value_count, arena *a)
{
    size_t most = sooth_value_count(model);
    for (size_t l = 0; l < layers; l++)
        for (size_t i = 0; i < sooth_layer_at(model, l).output_count; i++) {
            size_t v = sooth_layer_output(model, l, i);
            most = v != SIZE_MAX && v >= most ? v + 1 : most;
        }
    int32_t *maker = arena_room(a, most + 1, sizeof *maker);
    for (size_t i = 0; i < most; i++)
        maker[i] = -1;
    for (size_t i = 0; i < inputs; i++)
        if (sooth_input(model, i) < most)
            maker[sooth_input(model, i)] = (int32_t)i;
    for (size_t l = 0; l < layers; l++)
        for (size_t i = 0; i < sooth_layer_at(model, l).output_count; i++) {
            size_t v = sooth_layer_output(model, l, i);
            if (v != SIZE_MAX)
                maker[v] = (int32_t)(inputs + l);
        }
    *value_count = most;
    return maker;
}

typedef struct edge_list {
    struct edge {
        int32_t from, to;
    } * items;
    int32_t count, capacity;
} edge_list;

static edge_list edges_of(const sooth_model *model, size_t inputs, size_t layers, arena *a)
{
    edge_list edges = {0};
    size_t values;
    const int32_t *maker = makers_of(model, inputs, layers, &values, a);
    for (size_t l = 0; l < layers; l++)
        for (size_t i = 0; i < sooth_layer_at(model, l).input_count; i++) {
            size_t v = sooth_layer_input(model, l, i);
            if (v < values && maker[v] >= 0 && maker[v] < (int32_t)(inputs + l))
                *(struct edge *)ARENA_PUSH_ROOM(a, &edges) = (struct edge){maker[v], (int32_t)(inputs + l)};
        }
    return edges;
}

set_graph set_graph_of(const sooth_model *model, arena *a)
{
    size_t inputs = sooth_input_count(model), layers = sooth_layer_count(model), n = inputs + layers;
    if (n > INT32_MAX / 4)
        fail_with(a->fail, SOOTH_ERROR_INPUT, "a network of %zu layers is too large for a data set", layers);
    edge_list edges = edges_of(model, inputs, layers, a);
    char *bytes = arena_alloc(a, columns_size(n, (size_t)edges.count), 1);
    set_graph g = {.node_count = (int32_t)n, .edge_count = edges.count};
    place_columns(&g, bytes);
    int64_t *macs = (int64_t *)(void *)bytes, *params = macs + n, *flops = params + n;
    int32_t *op = (int32_t *)(flops + n), *rank = op + n, *dims = rank + n, *attributes = dims + n * SET_DIMS;
    for (size_t i = 0; i < inputs; i++) {
        op[i] = set_op_code("Input");
        fill_shape(sooth_value_at(model, sooth_input(model, i)), &rank[i], &dims[i * SET_DIMS]);
    }
    for (size_t l = 0; l < layers; l++) {
        sooth_layer layer = sooth_layer_at(model, l);
        size_t i = inputs + l;
        op[i] = set_op_code(layer.op);
        macs[i] = known(layer.macs);
        params[i] = known(layer.params);
        flops[i] = known(layer.flops);
        rank[i] = -1;
        for (size_t k = 0; k < layer.output_count; k++)
            if (sooth_layer_output(model, l, k) != SIZE_MAX) {
                fill_shape(sooth_value_at(model, sooth_layer_output(model, l, k)), &rank[i], &dims[i * SET_DIMS]);
                break;
            }
        fill_attributes(model, l, &layer, &attributes[i * SET_ATTRIBUTES]);
    }
    if (edges.count)
        memcpy(attributes + n * SET_ATTRIBUTES, edges.items, (size_t)edges.count * sizeof *edges.items);
    return g;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static void add_known(int64_t *sum, int64_t x)
{
    if (x > 0 && __builtin_add_overflow(*sum, x, sum))
        *sum = INT64_MAX;
}

set_figures set_figures_of(const set_graph *g)
{
    set_figures f = {.batch = g->node_count && g->rank[0] > 0 ? g->dims[0][0] : 1};
    const int32_t relu[] = {set_op_code("Relu"), set_op_code("LeakyRelu"), set_op_code("Clip"), set_op_code("PRelu")};
    for (int32_t i = 0; i < g->node_count; i++) {
        add_known(&f.macs, g->macs[i]);
        add_known(&f.params, g->params[i]);
        add_known(&f.flops, g->flops[i]);
        const int32_t *attributes = g->attributes[i];
        f.conv_count += attributes[SET_GROUPS] > 0;
        f.dense_count += attributes[SET_CHANNELS] > 0 && !attributes[SET_GROUPS];
        for (size_t k = 0; k < sizeof relu / sizeof *relu; k++)
            f.relu_count += g->op[i] == relu[k];
    }
    return f;
}

static uint64_t mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t mix_structure(const set_graph *g)
{
    uint64_t hash = mix((uint64_t)g->node_count, (uint64_t)g->edge_count);
    for (int32_t i = 0; i < g->node_count; i++) {
        hash = mix(mix(hash, (uint32_t)g->op[i]), (uint64_t)g->params[i]);
        for (int k = 0; k < SET_ATTRIBUTES; k += 2)
            hash = mix(hash, (uint64_t)(uint32_t)g->attributes[i][k] << 32 | (uint32_t)g->attributes[i][k + 1]);
    }
    for (int32_t i = 0; i < g->edge_count; i++)
        hash = mix(hash, (uint64_t)(uint32_t)g->edges[i][0] << 32 | (uint32_t)g->edges[i][1]);
    return hash;
}

uint64_t set_architecture(const set_graph *g)
{
    return mix_structure(g);
}

uint64_t set_fingerprint(const set_graph *g)
{
    uint64_t hash = mix_structure(g);
    for (int32_t i = 0; i < g->node_count; i++) {
        hash = mix(hash, (uint32_t)g->rank[i]);
        for (int k = 0; k < SET_DIMS; k += 2)
            hash = mix(hash, (uint64_t)(uint32_t)g->dims[i][k] << 32 | (uint32_t)g->dims[i][k + 1]);
    }
    return hash;
}

/* ---- stored form ------------------------------------------------------------------------------------------------- */

static void put_u32(char *to, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (char)(x >> 8 * i);
}

static uint32_t get_u32(const char *from)
{
    uint32_t x = 0;
    for (int i = 0; i < 4; i++)
        x |= (uint32_t)(uint8_t)from[i] << 8 * i;
    return x;
}

/* Converts columns between the byte order of the machine and of files; does nothing on little-endian machines. */
static void turn_columns(char *bytes, size_t nodes, size_t size)
{
    const uint16_t one = 1;
    if (*(const uint8_t *)&one)
        return;
    uint64_t *wide = (uint64_t *)(void *)bytes;
    uint32_t *narrow = (uint32_t *)(void *)(bytes + nodes * 3 * sizeof *wide);
    for (size_t i = 0; i < nodes * 3; i++)
        wide[i] = __builtin_bswap64(wide[i]);
    for (size_t i = 0; i < (size - nodes * 3 * sizeof *wide) / sizeof *narrow; i++)
        narrow[i] = __builtin_bswap32(narrow[i]);
}

str set_graph_encode(const set_graph *g, arena *a)
{
    size_t size = columns_size((size_t)g->node_count, (size_t)g->edge_count);
    if (size > LARGEST)
        fail_with(a->fail, SOOTH_ERROR_INPUT, "a graph of %d nodes is too large for a data set", (int)g->node_count);
    char *copy = arena_copy(a, g->macs, size, 1);
    turn_columns(copy, (size_t)g->node_count, size);
    uLongf packed = compressBound((uLong)size);
    char *stored = arena_room(a, HEAD + packed, 1);
    put_u32(stored, SET_GRAPH_VERSION);
    put_u32(stored + 4, (uint32_t)g->node_count);
    put_u32(stored + 8, (uint32_t)g->edge_count);
    put_u32(stored + 12, (uint32_t)size);
    if (compress2((Bytef *)stored + HEAD, &packed, (const Bytef *)copy, (uLong)size, 1) != Z_OK)
        fail_with(a->fail, SOOTH_ERROR_SYSTEM, "out of memory");
    return (str){stored, HEAD + packed};
}

/* Edges must be in topological order and inside the graph, because readers use them as indices. */
static const char *check_graph(const set_graph *g)
{
    for (int32_t i = 0; i < g->edge_count; i++)
        if (g->edges[i][0] < 0 || g->edges[i][0] >= g->edges[i][1] || g->edges[i][1] >= g->node_count)
            return "an edge leads to no later node";
    return NULL;
}

const char *set_graph_decode(str stored, arena *a, set_graph *g)
{
    *g = (set_graph){0};
    if (stored.len < HEAD)
        return "it is shorter than its header";
    uint32_t version = get_u32(stored.ptr), nodes = get_u32(stored.ptr + 4), edges = get_u32(stored.ptr + 8);
    size_t size = get_u32(stored.ptr + 12);
    if (version != SET_GRAPH_VERSION)
        return "it has another version";
    if (nodes > LARGEST / 100 || edges > LARGEST / 8 || size != columns_size(nodes, edges) || size > LARGEST)
        return "its header contradicts itself";
    /* zlib never compresses that much, so the claimed size is refused before allocation. */
    if (size / 1100 > stored.len)
        return "its header claims more than it has";
    char *bytes = arena_room(a, size + 1, 1);
    uLongf got = (uLongf)size;
    if (uncompress((Bytef *)bytes, &got, (const Bytef *)stored.ptr + HEAD, (uLong)(stored.len - HEAD)) != Z_OK ||
        got != size)
        return "its compressed columns are damaged";
    turn_columns(bytes, nodes, size);
    g->node_count = (int32_t)nodes;
    g->edge_count = (int32_t)edges;
    place_columns(g, bytes);
    return check_graph(g);
}
