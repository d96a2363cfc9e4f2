/* patterns_latent.c: decoding with multi-head latent attention (DeepSeek). Keys and values are products of a cached
 * code and one weight. For few queries an engine does not compute them: it multiplies the queries by the keys' half of
 * the weight, attends to the codes themselves, and multiplies the result by the values' half. */
#include "graph/infer.h"
#include "lower/eager/eager.h"

enum { RANK = 4 };

typedef struct latent {
    const node *query, *key, *spread, *split, *turn, *reshape, *expand, *codes, *turned;
    int64_t batch, heads, queries, keys, width, nope, rope, values;
} latent;

static const value *value_at(const eager *e, value_id v)
{
    return &e->net->values.items[v];
}

static bool is_known(const value *v)
{
    return v->rank == RANK && value_shape_known(v);
}

/* Finds the cache that a concatenation extends; NULL if its first part is no input of the network. */
static const node *cache_of(const eager *e, value_id v)
{
    const node *n = eager_maker_of(e, v, "Concat");
    bool appends = n && n->input_count == 2 && !e->is_static[n->inputs[0]] && !eager_maker_of(e, n->inputs[0], NULL);
    return appends ? n : NULL;
}

/* Reads keys = concat(split(codes · weight)[0], expand(positions)) and values = split(codes · weight)[1]. */
static bool read_keys(const eager *e, const node *core, latent *m)
{
    m->key = eager_own_maker_of(e, core->inputs[1], "Concat");
    m->split = m->key && m->key->input_count == 2 ? eager_own_maker_of(e, m->key->inputs[0], "Split") : NULL;
    m->expand = m->split ? eager_own_maker_of(e, m->key->inputs[1], "Expand") : NULL;
    if (!m->expand || m->split->output_count != 2 || m->split->outputs[1] != core->inputs[2] ||
        m->key->inputs[0] != m->split->outputs[0] || e->readers[core->inputs[2]] != 1)
        return false;
    m->turn = eager_own_maker_of(e, m->split->inputs[0], "Transpose");
    m->reshape = m->turn ? eager_own_maker_of(e, m->turn->inputs[0], "Reshape") : NULL;
    m->spread = m->reshape ? eager_own_maker_of(e, m->reshape->inputs[0], "Linear") : NULL;
    m->codes = m->spread && m->spread->input_count == 2 ? cache_of(e, m->spread->inputs[0]) : NULL;
    m->turned = m->codes ? cache_of(e, m->expand->inputs[0]) : NULL;
    return m->turned && e->is_static[m->spread->inputs[1]];
}

static bool read_latent(const eager *e, const node *core, latent *m)
{
    *m = (latent){.query = NULL};
    if (core->input_count < 3 || core->output_count != 1 || (core->input_count > 3 && core->inputs[3] != NO_VALUE) ||
        !read_keys(e, core, m))
        return false;
    m->query = eager_own_maker_of(e, core->inputs[0], "Concat");
    if (!m->query || m->query->input_count != 2)
        return false;
    const value *q = value_at(e, core->inputs[0]), *k = value_at(e, core->inputs[1]), *v = value_at(e, core->inputs[2]),
                *codes = value_at(e, m->spread->inputs[0]), *left = value_at(e, m->query->inputs[0]),
                *turned = value_at(e, m->expand->inputs[0]);
    if (!is_known(q) || !is_known(k) || !is_known(v) || !is_known(codes) || !is_known(left) || !is_known(turned))
        return false;
    m->batch = q->dims[0];
    m->heads = q->dims[1];
    m->queries = q->dims[2];
    m->keys = k->dims[2];
    m->width = codes->dims[3];
    m->nope = left->dims[3];
    m->rope = q->dims[3] - m->nope;
    m->values = v->dims[3];
    return codes->dims[1] == 1 && turned->dims[1] == 1 && turned->dims[3] == m->rope && k->dims[1] == m->heads &&
           value_at(e, m->key->inputs[0])->dims[3] == m->nope;
}

/* True if applying the weight to queries and results takes fewer multiplications than computing keys and values. */
static bool is_cheaper(const latent *m)
{
    double queries = (double)m->queries, keys = (double)m->keys, width = (double)m->width;
    double weight = width * (double)(m->nope + m->values);
    double absorbed = queries * weight + queries * keys * (2 * width + (double)m->rope);
    return absorbed < keys * weight + queries * keys * (double)(m->nope + m->rope + m->values);
}

/* Views (N, heads, L, E) as (heads, N · L, E). */
static tensor_id heads_outside(eager *e, tensor_id t)
{
    extent x = tensor_extent(e, t);
    t = eager_permute(e, t, (const int64_t[]){1, 0, 2, 3});
    return eager_reshape(e, t, 3, (const int64_t[]){x.dims[1], x.dims[0] * x.dims[2], x.dims[3]});
}

/* The inverse, for a result of width `width`. */
static tensor_id heads_inside(eager *e, tensor_id t, const latent *m, int64_t width)
{
    t = eager_reshape(e, t, RANK, (const int64_t[]){m->heads, m->batch, m->queries, width});
    return eager_permute(e, t, (const int64_t[]){1, 0, 2, 3});
}

/* Views the rows of the weight that belong to keys (first) or values: (heads, rows, width). */
static tensor_id part_of_weight(eager *e, const latent *m, tensor_id weight, int64_t rows)
{
    extent own = tensor_extent(e, weight), x = {.rank = 3, .dims = {m->heads, rows, m->width}};
    x.strides[0] = own.strides[0] * (m->nope + m->values);
    x.strides[1] = own.strides[0];
    x.strides[2] = own.strides[1];
    return eager_view_as(e, "slice", weight, &x);
}

static void lower_latent(eager *e)
{
    latent m;
    read_latent(e, e->node, &m);
    tensor_id weight = eager_to_low(e, eager_layer_weight(e, m.spread));
    tensor_id q = eager_to_low(e, eager_tensor_of(e, m.query->inputs[0]));
    q = eager_batched_product(e, heads_outside(e, q), part_of_weight(e, &m, weight, m.nope));
    tensor_id parts[3] = {heads_inside(e, q, &m, m.width), eager_to_low(e, eager_tensor_of(e, m.query->inputs[1]))};
    extent x = {.rank = RANK, .dims = {m.batch, m.heads, m.queries, m.width + m.rope}};
    extent_contiguous(&x);
    q = eager_launch_new(e, "cat", parts, 2, tensor_dtype(e, parts[0]), &x);
    /* The cache stores the codes and, next to them, the parts of the keys with rotary positions. */
    parts[0] = eager_to_low(e, eager_tensor_of(e, m.codes->inputs[0]));
    parts[1] = eager_to_low(e, eager_tensor_of(e, m.codes->inputs[1]));
    parts[2] = eager_to_low(e, eager_tensor_of(e, m.turned->inputs[1]));
    extent cache = {.rank = RANK, .dims = {m.batch, 1, m.keys, m.width + m.rope}};
    extent_contiguous(&cache);
    tensor_id k = eager_launch_new(e, "cat", parts, 3, tensor_dtype(e, parts[0]), &cache);
    cache.dims[3] = m.width;
    tensor_id y = eager_attention(e, q, k, eager_view_as(e, "slice", k, &cache), NO_TENSOR);
    y = eager_batched_product(e, heads_outside(e, y), eager_transpose_last(e, part_of_weight(e, &m, weight, m.values)));
    eager_set_result(e, 0, heads_inside(e, y, &m, m.values));
}

/* PyTorch runs the products as written. */
void eager_find_latent(eager *e, const node *core)
{
    latent m;
    if (e->options->runtime != RUNTIME_ENGINE || !read_latent(e, core, &m) || !is_cheaper(&m))
        return;
    const node *inner[] = {m.query, m.key, m.split, m.expand, m.turn, m.reshape, m.spread, m.codes, m.turned};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        eager_absorb(e, inner[i]);
    eager_replace_rule(e, core, lower_latent);
}
