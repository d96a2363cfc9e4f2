/* attention.c: reads batch, heads and sequence lengths of attention operators: ONNX's, contrib's, and those that
 * passes recover. */
#include "graph/attention.h"

#include "graph/infer.h"

static const value *input_at(const network *net, const node *n, int i)
{
    return i < n->input_count && n->inputs[i] != NO_VALUE ? &net->values.items[n->inputs[i]] : NULL;
}

static num dim_at(const value *v, int axis)
{
    if (!v || v->rank < 0)
        return NUM_UNKNOWN;
    if (axis < 0)
        axis += v->rank;
    return axis >= 0 && axis < v->rank ? v->dims[axis] : NUM_UNKNOWN;
}

static num heads_attr(const node *n, const char *name)
{
    int64_t heads = node_attr_int(n, name, NUM_UNKNOWN);
    return heads > 0 ? heads : NUM_UNKNOWN;
}

static num per_head(network *net, num hidden, num heads)
{
    return heads == NUM_UNKNOWN ? NUM_UNKNOWN : num_floordiv(&net->nums, hidden, heads);
}

/* Returns the length of a cache of shape (B, heads, length, size); 0 without a cache. */
static num cached(const value *past, int axis)
{
    return past ? dim_at(past, axis) : 0;
}

/* Returns the value of a scalar input; NUM_UNKNOWN if it is not constant. */
static num scalar_at(network *net, const node *n, int i)
{
    const value *v = input_at(net, n, i);
    int32_t count;
    const num *ints = v ? value_ints(net, (value *)v, &count) : NULL;
    return ints && count == 1 ? ints[0] : NUM_UNKNOWN;
}

/* ONNX since operator set 23: (B,heads,L,E), or (B,L,heads*E) with the head counts as attributes. Attention from
 * PyTorch may have several batch dimensions. */
static void read_onnx(network *net, const node *n, attention_geometry *g)
{
    const value *q = input_at(net, n, 0), *k = input_at(net, n, 1), *v = input_at(net, n, 2);
    const value *past = input_at(net, n, 4);
    bool packed = q && q->rank == 3;
    g->batch = q && q->rank > 4 ? num_product(&net->nums, q->dims, q->rank - 3) : dim_at(q, 0);
    g->heads = packed ? heads_attr(n, "q_num_heads") : dim_at(q, -3);
    g->kv_heads = packed ? heads_attr(n, "kv_num_heads") : dim_at(k, -3);
    g->queries = dim_at(q, packed ? 1 : -2);
    g->new_keys = dim_at(k, packed ? 1 : -2);
    g->past_keys = cached(past, 2);
    g->keys = num_add(&net->nums, g->new_keys, g->past_keys);
    g->head_size = packed ? per_head(net, dim_at(q, 2), g->heads) : dim_at(q, -1);
    g->v_head_size = packed ? per_head(net, dim_at(v, 2), g->kv_heads) : dim_at(v, -1);
}

/* Attention made by passes: (…,heads,L,E), (…,heads,E,L) with the attribute "upright", or (N,L,heads,E) with
 * "heads_behind". Keys may be transposed, so their length is read from the values. */
static void read_recovered(network *net, const node *n, attention_geometry *g)
{
    const value *q = input_at(net, n, 0), *v = input_at(net, n, 2);
    int leading = q && q->rank >= 3 ? q->rank - 2 : 0;
    if (node_attr_int(n, "heads_behind", 0)) {
        g->batch = dim_at(q, 0);
        g->heads = g->kv_heads = dim_at(q, -2);
        g->queries = dim_at(q, -3);
        g->keys = g->new_keys = dim_at(v, -3);
        g->head_size = dim_at(q, -1);
        g->v_head_size = dim_at(v, -1);
        return;
    }
    int length = node_attr_int(n, "upright", 0) ? -1 : -2, size = -3 - length;
    g->batch = leading ? num_product(&net->nums, q->dims, leading - 1) : q && q->rank == 2 ? 1 : NUM_UNKNOWN;
    g->heads = g->kv_heads = leading ? q->dims[leading - 1] : 1;
    g->queries = dim_at(q, length);
    g->keys = g->new_keys = dim_at(v, length);
    g->head_size = dim_at(q, size);
    g->v_head_size = dim_at(v, size);
}

/* One input (B,S,D); the operator itself projects it by weights (D, q + k + v). An attribute gives the three sizes,
 * which are equal by default. */
static void read_projected(network *net, const node *n, attention_geometry *g, int past_index)
{
    const value *x = input_at(net, n, 0), *w = input_at(net, n, 1), *bias = input_at(net, n, 2);
    const value *past = input_at(net, n, past_index);
    bool is_packed = x && x->rank == 2; /* PackedAttention: the tokens of all sequences are concatenated. */
    num columns = w && w->rank == 2 ? w->dims[1] : dim_at(bias, 0);
    int32_t count;
    const int64_t *sizes = node_attr_ints(n, "qkv_hidden_sizes", &count);
    num third = num_floordiv(&net->nums, columns, 3);
    num q_hidden = count == 3 ? sizes[0] : third, v_hidden = count == 3 ? sizes[2] : third;
    g->heads = g->kv_heads = heads_attr(n, "num_heads");
    g->batch = is_packed ? dim_at(input_at(net, n, 3), 0) : dim_at(x, 0);
    g->queries = g->new_keys = is_packed ? dim_at(input_at(net, n, 3), 1) : dim_at(x, 1);
    g->past_keys = cached(past, 3);
    g->keys = num_add(&net->nums, g->new_keys, g->past_keys);
    g->head_size = per_head(net, q_hidden, g->heads);
    g->v_head_size = per_head(net, v_hidden, g->heads);
    num tokens = is_packed ? dim_at(x, 0) : num_mul(&net->nums, g->batch, g->queries);
    g->projection_macs = num_mul(&net->nums, tokens, num_mul(&net->nums, dim_at(x, -1), columns));
}

/* Query (B,S,D) or packed (B,S,heads,3,E). Keys and values have the same forms, are packed together, or are
 * (B,heads,L,E). */
static void read_multi_head(network *net, const node *n, attention_geometry *g, int past_index)
{
    const value *q = input_at(net, n, 0), *k = input_at(net, n, 1), *v = input_at(net, n, 2);
    const value *past = input_at(net, n, past_index);
    g->heads = g->kv_heads = heads_attr(n, "num_heads");
    g->batch = dim_at(q, 0);
    g->queries = dim_at(q, 1);
    bool all_packed = q && q->rank == 5, pair_packed = k && k->rank == 5, by_head = k && k->rank == 4;
    g->head_size = all_packed ? dim_at(q, 4) : per_head(net, dim_at(q, 2), g->heads);
    g->v_head_size = all_packed          ? g->head_size
                     : pair_packed       ? dim_at(k, 4)
                     : v && v->rank == 4 ? dim_at(v, 3)
                                         : per_head(net, dim_at(v, 2), g->heads);
    g->new_keys = all_packed ? g->queries : by_head ? dim_at(k, 2) : dim_at(k, 1);
    g->past_keys = by_head ? 0 : cached(past, 2);
    g->keys = num_add(&net->nums, g->new_keys, g->past_keys);
    if (!k && !all_packed && past) { /* All keys come from the cache. */
        g->keys = g->past_keys;
        g->new_keys = 0;
        g->v_head_size = dim_at(input_at(net, n, past_index + 1), 3);
    }
}

/* Query (B,S,heads*E); keys and values have fewer heads. All three may be packed into the query. */
static void read_grouped(network *net, const node *n, attention_geometry *g, int total_index)
{
    const value *q = input_at(net, n, 0), *k = input_at(net, n, 1), *past = input_at(net, n, 3);
    g->heads = heads_attr(n, "num_heads");
    g->kv_heads = heads_attr(n, "kv_num_heads");
    g->batch = dim_at(q, 0);
    g->queries = g->new_keys = dim_at(q, 1);
    if (k)
        g->new_keys = dim_at(k, 1);
    num packed_heads = num_add(&net->nums, g->heads, num_mul(&net->nums, g->kv_heads, 2));
    g->head_size = g->v_head_size = per_head(net, dim_at(q, 2), k ? g->heads : packed_heads);
    g->past_keys = cached(past, 2);
    num total = scalar_at(net, n, total_index);
    g->keys = total != NUM_UNKNOWN ? total : num_add(&net->nums, g->new_keys, g->past_keys);
}

/* Longformer: each token attends to a window on both sides. */
static void read_longformer(network *net, const node *n, attention_geometry *g)
{
    read_projected(net, n, g, n->input_count);
    int64_t window = node_attr_int(n, "window", NUM_UNKNOWN);
    g->keys = window > 0 && window < INT32_MAX ? 2 * window + 1 : NUM_UNKNOWN;
}

/* Time-major: query (S,B,D), key (T,B,D); weights (D,D) and (D,2D) are inside the operator. */
static void read_decoder(network *net, const node *n, attention_geometry *g)
{
    const value *q = input_at(net, n, 0), *k = input_at(net, n, 1);
    g->heads = g->kv_heads = heads_attr(n, "num_heads");
    g->queries = dim_at(q, 0);
    g->batch = dim_at(q, 1);
    g->head_size = g->v_head_size = per_head(net, dim_at(q, 2), g->heads);
    g->new_keys = dim_at(k, 0);
    const value *past = input_at(net, n, 8);
    g->past_keys = cached(past, 2);
    g->keys = past ? NUM_UNKNOWN : g->new_keys; /* A runtime flag decides whether the cache is used. */
    num area = num_mul(&net->nums, dim_at(q, 2), dim_at(q, 2));
    num rows = num_add(&net->nums, g->queries, num_mul(&net->nums, g->new_keys, 2));
    g->projection_macs = num_mul(&net->nums, num_mul(&net->nums, g->batch, rows), area);
}

/* The tokens of all sequences are concatenated. token_offset has shape (B,S), which gives the padded length S. */
static void read_packed_multi_head(network *net, const node *n, attention_geometry *g)
{
    const value *q = input_at(net, n, 0), *v = input_at(net, n, 2), *offset = input_at(net, n, 4);
    g->heads = g->kv_heads = heads_attr(n, "num_heads");
    g->batch = dim_at(offset, 0);
    g->queries = g->new_keys = g->keys = dim_at(offset, 1);
    bool packed = q && q->rank == 4;
    g->head_size = packed ? dim_at(q, 3) : per_head(net, dim_at(q, 1), g->heads);
    g->v_head_size = packed ? g->head_size : per_head(net, dim_at(v, 1), g->heads);
}

void attention_read(network *net, const node *n, attention_geometry *g)
{
    *g = (attention_geometry){NUM_UNKNOWN, NUM_UNKNOWN, NUM_UNKNOWN, NUM_UNKNOWN, NUM_UNKNOWN,
                              0,           NUM_UNKNOWN, NUM_UNKNOWN, NUM_UNKNOWN, 0};
    if (node_is(n, "ScaledDotProductAttention"))
        read_recovered(net, n, g);
    else if ((node_is(n, "Attention") && n->op->domain[0] == '\0') || node_is(n, "FlexAttention"))
        read_onnx(net, n, g);
    else if (node_is(n, "Attention") || node_is(n, "DecoderMaskedSelfAttention"))
        read_projected(net, n, g, 4);
    else if (node_is(n, "PackedAttention"))
        read_projected(net, n, g, n->input_count);
    else if (node_is(n, "QAttention"))
        read_projected(net, n, g, 8);
    else if (node_is(n, "LongformerAttention"))
        read_longformer(net, n, g);
    else if (node_is(n, "MultiHeadAttention"))
        read_multi_head(net, n, g, 6);
    else if (node_is(n, "DecoderMaskedMultiHeadAttention"))
        read_multi_head(net, n, g, 5);
    else if (node_is(n, "GroupQueryAttention"))
        read_grouped(net, n, g, 6);
    else if (node_is(n, "SparseAttention"))
        read_grouped(net, n, g, 7);
    else if (node_is(n, "DecoderAttention"))
        read_decoder(net, n, g);
    else if (node_is(n, "PackedMultiHeadAttention"))
        read_packed_multi_head(net, n, g);
}
