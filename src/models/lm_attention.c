/* lm_attention.c: attention of transformers (lm.h): grouped queries, windows, caches, low-rank codes,
 * cross-attention. */
#include "models/lm_parts.h"

#include <math.h>

/* ---- turning by position ----------------------------------------------------------------------------------------- */

static const struct lm_rotation *rotation_of(const lm_run *r, int64_t width)
{
    for (int i = 0; i < r->rotation_count; i++)
        if (r->rotations[i].width == width)
            return &r->rotations[i];
    return NULL;
}

/* Rotary positions: x · cos + rotate_half(x) · sin, on (N, heads, tokens, width) */
static value_id turn(lm_run *r, str scope, value_id x, int64_t width)
{
    builder *b = r->b;
    const struct lm_rotation *by = rotation_of(r, width);
    if (!by)
        return x;
    value_id first = lm_slice(b, net_join(b, scope, ".first"), x, -1, 0, width / 2);
    value_id second = lm_slice(b, net_join(b, scope, ".second"), x, -1, width / 2, INT64_MAX);
    second = net_unary(b, "Neg", net_join(b, scope, ".neg"), second);
    value_id turned = lm_concat(b, net_join(b, scope, ".cat"), second, first, -1);
    x = net_binary(b, "Mul", net_join(b, scope, ".mul_cos"), x, by->cos);
    turned = net_binary(b, "Mul", net_join(b, scope, ".mul_sin"), turned, by->sin);
    return net_binary(b, "Add", net_join(b, scope, ".add"), x, turned);
}

/* The same for the first `width` elements of each head only. */
static value_id turn_part(lm_run *r, str scope, value_id x, int64_t size, int64_t width)
{
    builder *b = r->b;
    value_id parts[2];
    if (width < 2 || width >= size)
        return turn(r, scope, x, size);
    lm_split(b, net_join(b, scope, ".split"), x, (int64_t[]){width, size - width}, 2, parts);
    return lm_concat(b, net_join(b, scope, ".join"), turn(r, scope, parts[0], width), parts[1], -1);
}

/* ---- the core ---------------------------------------------------------------------------------------------------- */

static value_id past_of(lm_run *r, const char *what, int64_t heads, int64_t size)
{
    builder *b = r->b;
    return net_input(b, NAME("past_key_values.%d.%s", (int)r->layer, what).ptr, DT_FLOAT32, 4,
                     (num[]){net_batch(b), heads, r->past, size});
}

/* Keeps the last `window` keys, including the query's own. */
static value_id within_window(lm_run *r, str name, value_id past, int64_t window)
{
    return window > 1 ? lm_slice(r->b, name, past, 2, 1 - window, INT64_MAX) : past;
}

/* Attention as one operator on (N, heads, tokens, size); with a cache, it also outputs the new cache. */
static value_id attend(lm_run *r, str scope, value_id q, value_id k, value_id v, const lm_attention *a, bool is_causal,
                       bool has_cache)
{
    builder *b = r->b;
    value_id inputs[6] = {q, k, v, is_causal || r->encoded == NO_VALUE ? r->bias : NO_VALUE, NO_VALUE, NO_VALUE};
    int count = inputs[3] == NO_VALUE ? 3 : 4;
    if (has_cache) {
        inputs[4] = past_of(r, "key", a->kv_heads, a->size);
        inputs[5] = past_of(r, "value", a->kv_heads, a->v_size);
        inputs[4] = within_window(r, net_join(b, scope, "past_key"), inputs[4], a->window);
        inputs[5] = within_window(r, net_join(b, scope, "past_value"), inputs[5], a->window);
        count = 6;
    }
    node *n = build_node(b, STR(""), STR("Attention"), net_join(b, scope, "attention"), count, has_cache ? 3 : 1, 1);
    n->opset = ZOO_OPSET;
    memcpy(n->inputs, inputs, (size_t)count * sizeof *inputs);
    value_id *outputs = n->outputs;
    build_attr_int(b, n, 0, "is_causal", is_causal);
    value_id out = outputs[0] = build_fresh(b, net_join(b, scope, "attention.out"));
    if (has_cache) {
        value_id key = outputs[1] = build_fresh(b, NAME("present.%d.key", (int)r->layer));
        value_id value = outputs[2] = build_fresh(b, NAME("present.%d.value", (int)r->layer));
        build_output(b, key);
        build_output(b, value);
        r->earlier[a->window > 0][0] = key;
        r->earlier[a->window > 0][1] = value;
    }
    return out;
}

/* Repeats each key head for the queries that share it: (N, kv_heads, keys, size) → (N, heads, keys, size). */
static value_id repeat_heads(lm_run *r, str scope, value_id x, int64_t kv_heads, int64_t heads, int64_t size)
{
    builder *b = r->b;
    if (heads == kv_heads)
        return x;
    value_id y = net_binary(b, "Unsqueeze", net_join(b, scope, ".unsqueeze"), x,
                            net_ints(b, net_join(b, scope, ".axes").ptr, 1, (int64_t[]){2}, 1));
    y = net_binary(b, "Expand", net_join(b, scope, ".expand"), y,
                   net_ints(b, net_join(b, scope, ".repeats").ptr, 1, (int64_t[]){1, 1, heads / kv_heads, 1, 1}, 5));
    return net_reshape(b, net_join(b, scope, ".join"), y, (int64_t[]){0, heads, -1, size}, 4);
}

/* Attention with a learned extra score per head. No fused kernel supports it, so it runs step by step. */
static value_id attend_with_sinks(lm_run *r, str scope, value_id q, value_id k, value_id v, const lm_attention *a)
{
    builder *b = r->b;
    if (r->m->has_cache) {
        value_id past_k = past_of(r, "key", a->kv_heads, a->size), past_v = past_of(r, "value", a->kv_heads, a->v_size);
        past_k = within_window(r, net_join(b, scope, "past_key"), past_k, a->window);
        past_v = within_window(r, net_join(b, scope, "past_value"), past_v, a->window);
        k = lm_concat(b, NAME("present.%d.key", (int)r->layer), past_k, k, 2);
        v = lm_concat(b, NAME("present.%d.value", (int)r->layer), past_v, v, 2);
        build_output(b, k);
        build_output(b, v);
    }
    k = repeat_heads(r, net_join(b, scope, "repeat_k"), k, a->kv_heads, a->heads, a->size);
    v = repeat_heads(r, net_join(b, scope, "repeat_v"), v, a->kv_heads, a->heads, a->v_size);
    k = net_transpose(b, net_join(b, scope, "transpose"), k, (int64_t[]){0, 1, 3, 2}, 4);
    value_id scores = net_binary(b, "MatMul", net_join(b, scope, "scores"), q, k);
    scores = lm_scalar(b, net_join(b, scope, "scaling"), scores, "Mul", 1 / sqrt((double)a->size));
    value_id sinks = net_weight(b, net_join(b, scope, "sinks"), 3, (int64_t[]){a->heads, 1, 1});
    sinks = net_binary(b, "Expand", net_join(b, scope, "sinks.expand"), sinks,
                       lm_shape(b, net_join(b, scope, "sinks"), q, 3, (int64_t[]){1}, 1));
    scores = lm_concat(b, net_join(b, scope, "cat"), scores, sinks, -1);
    scores = net_softmax(b, net_join(b, scope, "softmax"), scores);
    scores = lm_slice(b, net_join(b, scope, "keys"), scores, -1, 0, -1);
    return net_binary(b, "MatMul", net_join(b, scope, "context"), scores, v);
}

/* ---- which keys matter ------------------------------------------------------------------------------------------- */

/* Projects the keys or queries of the selecting heads. */
static value_id index_part(lm_run *r, str scope, const char *name, value_id x, int64_t heads, const lm_attention *a)
{
    builder *b = r->b;
    str part = net_join(b, scope, name);
    x = lm_by_head(b, part, x, heads, a->index_size);
    if (a->index_is_normed)
        x = lm_normed(r, net_join(b, part, "_norm"), x, a->index_size, LM_RMS);
    x = lm_heads_first(b, part, x);
    return turn_part(r, net_join(b, part, "_rotary"), x, a->index_size, a->rope ? a->rope : a->rotary);
}

/* Computes the scores of the selecting heads, weighted by the token. Attention still costs as much as over all keys:
 * the selection depends on data, and the reference implementation masks the other keys. */
static void choose_keys(lm_run *r, str scope, value_id x, value_id code, const lm_attention *a)
{
    builder *b = r->b;
    int64_t heads = a->index_heads, size = a->index_size, hidden = r->m->hidden;
    value_id q = net_product(b, net_join(b, scope, "wq_b"), code, a->q_rank ? a->q_rank : hidden, heads * size);
    q = index_part(r, scope, "q", q, heads, a);
    value_id k = net_product(b, net_join(b, scope, "wk"), x, hidden, size);
    if (!a->index_is_normed)
        k = lm_normed(r, net_join(b, scope, "k_norm"), k, size, LM_LAYER);
    k = index_part(r, scope, "k", k, 1, a);
    if (r->m->has_cache) {
        k = lm_concat(b, NAME("present.%d.index", (int)r->layer), past_of(r, "index", 1, size), k, 2);
        build_output(b, k);
    }
    k = net_transpose(b, net_join(b, scope, "transpose"), k, (int64_t[]){0, 1, 3, 2}, 4);
    value_id y = net_binary(b, "MatMul", net_join(b, scope, "scores"), q, k);
    str axis = net_join(b, scope, "axis");
    if (a->index_is_normed) {
        y = net_binary(b, "ReduceMax", net_join(b, scope, "max"), y, net_ints(b, axis.ptr, 1, (int64_t[]){1}, 1));
    } else {
        y = net_unary(b, "Relu", net_join(b, scope, "relu"), y);
        value_id weights = net_product(b, net_join(b, scope, "weights_proj"), x, hidden, heads);
        weights = lm_by_head(b, net_join(b, scope, "weights"), weights, heads, 1);
        weights = lm_heads_first(b, net_join(b, scope, "weights"), weights);
        y = net_binary(b, "Mul", net_join(b, scope, "weigh"), y, weights);
        y = net_binary(b, "ReduceSum", net_join(b, scope, "sum"), y, net_ints(b, axis.ptr, 1, (int64_t[]){1}, 1));
    }
    build_output(b, y);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

typedef struct projections {
    value_id q, k, v, gate; /* (N, tokens, heads · size) */
} projections;

/* Projects the input to the low-rank code of the queries. */
static value_id query_code(lm_run *r, str scope, value_id x, const lm_attention *a)
{
    builder *b = r->b;
    x = lm_linear(b, net_join(b, scope, "q_a_proj"), x, r->m->hidden, a->q_rank, a->q_bias);
    return lm_normed(r, net_join(b, scope, "q_a_layernorm"), x, a->q_rank, LM_RMS);
}

/* Projects the heads' results (N, tokens, heads · v_size) back to the hidden width. */
static value_id output_of(lm_run *r, str scope, value_id y, const lm_attention *a)
{
    builder *b = r->b;
    int64_t width = a->heads * a->v_size, hidden = r->m->hidden;
    if (!a->o_rank)
        return lm_linear(b, net_join(b, scope, "o_proj"), y, width, hidden, a->o_bias);
    str name = net_join(b, scope, "o_a");
    y = lm_heads_first(b, name, lm_by_head(b, name, y, a->o_groups, width / a->o_groups));
    value_id weights = net_weight(b, net_join(b, scope, "o_a_proj.weight"), 3,
                                  (int64_t[]){a->o_groups, width / a->o_groups, a->o_rank});
    y = net_binary(b, "MatMul", net_join(b, scope, "o_a_proj"), y, weights);
    y = lm_join_heads(b, net_join(b, scope, "o_a_code"), y, a->o_groups * a->o_rank);
    return lm_linear(b, net_join(b, scope, "o_b_proj"), y, a->o_groups * a->o_rank, hidden, a->o_bias);
}

static projections project(lm_run *r, str scope, value_id x, const lm_attention *a)
{
    builder *b = r->b;
    int64_t hidden = r->m->hidden, q = a->heads * a->size, k = a->kv_heads * a->size, v = a->kv_heads * a->v_size;
    projections p = {NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE};
    value_id parts[3];
    if (a->is_packed) {
        x = lm_linear(b, net_join(b, scope, "qkv_proj"), x, hidden, q + k + v, a->q_bias);
        lm_split(b, net_join(b, scope, "split"), x, (int64_t[]){q, k, v}, 3, parts);
        return (projections){parts[0], parts[1], parts[2], NO_VALUE};
    }
    if (a->q_rank)
        p.q = net_product(b, net_join(b, scope, "q_b_proj"), query_code(r, scope, x, a), a->q_rank, q);
    else
        p.q = lm_linear(b, net_join(b, scope, "q_proj"), x, hidden, a->is_gated ? 2 * q : q, a->q_bias);
    if (a->is_gated) { /* queries and gates of each head are adjacent */
        p.q = lm_by_head(b, net_join(b, scope, "q_gate"), p.q, a->heads, 2 * a->size);
        lm_split(b, net_join(b, scope, "q_gate.split"), p.q, (int64_t[]){a->size, a->size}, 2, parts);
        p.q = net_reshape(b, net_join(b, scope, "q.join"), parts[0], (int64_t[]){0, 0, q}, 3);
        p.gate = net_reshape(b, net_join(b, scope, "gate.join"), parts[1], (int64_t[]){0, 0, q}, 3);
    }
    if (a->reads_earlier)
        return p;
    p.k = lm_linear(b, net_join(b, scope, "k_proj"), x, hidden, k, a->k_bias);
    p.v = a->values_are_keys ? p.k : lm_linear(b, net_join(b, scope, "v_proj"), x, hidden, v, a->v_bias);
    return p;
}

/* Prepares queries or keys: norm, heads first, rotary positions. */
static value_id prepare(lm_run *r, str scope, value_id x, int64_t heads, const lm_attention *a)
{
    builder *b = r->b;
    if (a->qk_norm == LM_BY_WIDTH)
        x = lm_normed(r, net_join(b, scope, "_norm"), x, heads * a->size, a->qk_norm_kind);
    x = lm_by_head(b, scope, x, heads, a->size);
    if (a->qk_norm == LM_BY_HEAD)
        x = lm_normed(r, net_join(b, scope, "_norm"), x, a->size, a->qk_norm_kind);
    x = lm_heads_first(b, scope, x);
    return a->rotary > 1 ? turn_part(r, net_join(b, scope, "_rotary"), x, a->size, a->rotary) : x;
}

value_id lm_attend(lm_run *r, str scope, value_id x, const lm_attention *a)
{
    builder *b = r->b;
    projections p = project(r, scope, x, a);
    value_id q = prepare(r, net_join(b, scope, "q"), p.q, a->heads, a), k, v, y;
    const value_id *earlier = r->earlier[a->window > 0];
    if (a->index_heads)
        choose_keys(r, net_join(b, scope, "indexer."), x, x, a);
    if (a->reads_earlier && earlier[0] != NO_VALUE) {
        y = attend(r, scope, q, earlier[0], earlier[1], a, r->m->is_causal, false);
    } else {
        k = prepare(r, net_join(b, scope, "k"), p.k, a->kv_heads, a);
        v = lm_by_head(b, net_join(b, scope, "v"), p.v, a->kv_heads, a->v_size);
        if (a->norms_values)
            v = net_rms_norm(b, net_join(b, scope, "v_norm"), v, 0, &r->rms);
        v = lm_heads_first(b, net_join(b, scope, "v"), v);
        y = a->has_sinks ? attend_with_sinks(r, scope, q, k, v, a)
                         : attend(r, scope, q, k, v, a, r->m->is_causal, r->m->has_cache);
    }
    y = lm_join_heads(b, net_join(b, scope, "context"), y, a->heads * a->v_size);
    if (p.gate != NO_VALUE) {
        value_id gate = net_unary(b, "Sigmoid", net_join(b, scope, "gate.sigmoid"), p.gate);
        y = net_binary(b, "Mul", net_join(b, scope, "gate.mul"), y, gate);
    }
    return output_of(r, scope, y, a);
}

value_id lm_attend_encoded(lm_run *r, str scope, value_id x, const lm_attention *a)
{
    builder *b = r->b;
    int64_t hidden = r->m->hidden, width = a->heads * a->size;
    value_id parts[3];
    static const char *const NAMES[] = {"q", "k", "v"};
    const bool biases[] = {a->q_bias, a->k_bias, a->v_bias};
    for (int i = 0; i < 3; i++) {
        str name = net_join(b, scope, NAMES[i]);
        parts[i] = lm_linear(b, net_join(b, name, "_proj"), i ? r->encoded : x, hidden, width, biases[i]);
        parts[i] = lm_heads_first(b, name, lm_by_head(b, name, parts[i], a->heads, a->size));
    }
    value_id y = attend(r, scope, parts[0], parts[1], parts[2], a, false, false);
    y = lm_join_heads(b, net_join(b, scope, "context"), y, width);
    return lm_linear(b, net_join(b, scope, "o_proj"), y, width, hidden, a->o_bias);
}

/* ---- attention from a low-rank code ------------------------------------------------------------------------------ */

value_id lm_attend_latent(lm_run *r, str scope, value_id x, const lm_attention *a)
{
    builder *b = r->b;
    int64_t hidden = r->m->hidden, heads = a->heads, size = a->nope + a->rope;
    value_id parts[2], q = x, code = x;
    if (a->q_rank)
        q = code = query_code(r, scope, x, a);
    q = net_product(b, net_join(b, scope, a->q_rank ? "q_b_proj" : "q_proj"), q, a->q_rank ? a->q_rank : hidden,
                    heads * size);
    q = lm_heads_first(b, net_join(b, scope, "q"), lm_by_head(b, net_join(b, scope, "q"), q, heads, size));
    value_id kv = lm_linear(b, net_join(b, scope, "kv_a_proj_with_mqa"), x, hidden, a->kv_rank + a->rope, a->k_bias);
    lm_split(b, net_join(b, scope, "kv_a.split"), kv, (int64_t[]){a->kv_rank, a->rope}, 2, parts);
    kv = lm_normed(r, net_join(b, scope, "kv_a_layernorm"), parts[0], a->kv_rank, LM_RMS);
    kv = lm_heads_first(b, net_join(b, scope, "kv"), lm_by_head(b, net_join(b, scope, "kv"), kv, 1, a->kv_rank));
    str key = net_join(b, scope, "k_rope");
    value_id k_rope = lm_heads_first(b, key, lm_by_head(b, key, parts[1], 1, a->rope));
    lm_split(b, net_join(b, scope, "q.split"), q, (int64_t[]){a->nope, a->rope}, 2, parts);
    q = lm_concat(b, net_join(b, scope, "q.cat"), parts[0], turn(r, net_join(b, scope, "q_rotary"), parts[1], a->rope),
                  -1);
    k_rope = turn(r, net_join(b, scope, "k_rotary"), k_rope, a->rope);
    if (r->m->has_cache) {
        kv = lm_concat(b, NAME("present.%d.key", (int)r->layer), past_of(r, "key", 1, a->kv_rank), kv, 2);
        k_rope = lm_concat(b, NAME("present.%d.value", (int)r->layer), past_of(r, "value", 1, a->rope), k_rope, 2);
        build_output(b, kv);
        build_output(b, k_rope);
    }
    if (a->index_heads)
        choose_keys(r, net_join(b, scope, "indexer."), x, code, a);
    value_id all = net_product(b, net_join(b, scope, "kv_b_proj"), kv, a->kv_rank, heads * (a->nope + a->v_size));
    all = net_reshape(b, net_join(b, scope, "kv_b.view"), all, (int64_t[]){0, -1, heads, a->nope + a->v_size}, 4);
    all = lm_heads_first(b, net_join(b, scope, "kv_b"), all);
    lm_split(b, net_join(b, scope, "kv_b.split"), all, (int64_t[]){a->nope, a->v_size}, 2, parts);
    k_rope = net_binary(b, "Expand", net_join(b, scope, "k_rope.expand"), k_rope,
                        net_ints(b, net_join(b, scope, "k_rope.heads").ptr, 1, (int64_t[]){1, heads, 1, 1}, 4));
    value_id k = lm_concat(b, net_join(b, scope, "k.cat"), parts[0], k_rope, -1);
    value_id y = attend(r, scope, q, k, parts[1], a, r->m->is_causal, false);
    y = lm_join_heads(b, net_join(b, scope, "context"), y, heads * a->v_size);
    return lm_linear(b, net_join(b, scope, "o_proj"), y, heads * a->v_size, hidden, a->o_bias);
}
