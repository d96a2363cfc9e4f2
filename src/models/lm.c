/* lm.c: builds a transformer around its mixers and feed-forward parts: embeddings, norms, residual sums, heads. */
#include "models/lm_parts.h"

#include <float.h>

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

value_id lm_linear(builder *b, str name, value_id x, int64_t in, int64_t out, bool has_bias)
{
    return (has_bias ? net_linear : net_product)(b, name, x, in, out);
}

value_id lm_normed(lm_run *r, str name, value_id x, int64_t width, lm_norm kind)
{
    builder *b = r->b;
    if (kind == LM_RMS)
        return net_rms_norm(b, name, x, width, &r->rms);
    if (kind == LM_LAYER)
        return net_layer_norm(b, name, x, width, r->m->epsilon);
    value_id scale;
    if (kind == LM_BARE) /* LM_BARE: the operator needs a scale, so a constant of ones is added */
        scale = net_binary(b, "Expand", net_join(b, name, ".ones"), net_real(b, net_join(b, name, ".one").ptr, 1),
                           net_ints(b, net_join(b, name, ".width").ptr, 1, &width, 1));
    else
        scale = net_weight(b, net_join(b, name, ".weight"), 1, &width);
    node *n;
    value_id out = net_node(b, "LayerNormalization", name, (value_id[]){x, scale}, 2, 2, &n);
    build_attr_int(b, n, 0, "axis", -1);
    build_attr_real(b, n, 1, "epsilon", r->m->epsilon);
    return out;
}

void lm_split(builder *b, str name, value_id x, const int64_t *sizes, int count, value_id *parts)
{
    value_id lengths = net_ints(b, net_join(b, name, ".sizes").ptr, 1, sizes, count);
    node *n = build_node(b, STR(""), STR("Split"), name, 2, count, 1);
    n->opset = ZOO_OPSET;
    n->inputs[0] = x;
    n->inputs[1] = lengths;
    build_attr_int(b, n, 0, "axis", -1);
    for (int i = 0; i < count; i++) {
        value_id part = build_fresh(b, NAME("%s.%d", name.ptr, i));
        n->outputs[i] = parts[i] = part;
    }
}

value_id lm_activation(builder *b, str name, const char *activation, value_id x)
{
    if (strcmp(activation, "Relu2") != 0)
        return net_unary(b, activation, name, x);
    x = net_unary(b, "Relu", net_join(b, name, ".relu"), x);
    return net_binary(b, "Mul", net_join(b, name, ".square"), x, x);
}

value_id lm_by_head(builder *b, str name, value_id x, int64_t heads, int64_t size)
{
    return net_reshape(b, net_join(b, name, ".view"), x, (int64_t[]){0, 0, heads, size}, 4);
}

value_id lm_heads_first(builder *b, str name, value_id x)
{
    return net_transpose(b, net_join(b, name, ".transpose"), x, (int64_t[]){0, 2, 1, 3}, 4);
}

value_id lm_join_heads(builder *b, str name, value_id x, int64_t width)
{
    return net_reshape(b, net_join(b, name, ".reshape"), lm_heads_first(b, name, x), (int64_t[]){0, 0, width}, 3);
}

value_id lm_concat(builder *b, str name, value_id x, value_id y, int64_t axis)
{
    node *n;
    value_id out = net_node(b, "Concat", name, (value_id[]){x, y}, 2, 1, &n);
    build_attr_int(b, n, 0, "axis", axis);
    return out;
}

value_id lm_slice(builder *b, str name, value_id x, int64_t axis, int64_t begin, int64_t end)
{
    node *n;
    value_id inputs[4] = {x, net_ints(b, net_join(b, name, ".begin").ptr, 1, &begin, 1),
                          net_ints(b, net_join(b, name, ".end").ptr, 1, &end, 1),
                          net_ints(b, net_join(b, name, ".axis").ptr, 1, &axis, 1)};
    return net_node(b, "Slice", name, inputs, 4, 0, &n);
}

value_id lm_scalar(builder *b, str name, value_id x, const char *op, double number)
{
    return net_binary(b, op, name, x, net_real(b, net_join(b, name, ".number").ptr, (float)number));
}

value_id lm_shape(builder *b, str name, value_id x, int64_t end, const int64_t *dims, int count)
{
    node *n;
    value_id shape = net_node(b, "Shape", net_join(b, name, ".shape"), &x, 1, 2, &n);
    build_attr_int(b, n, 0, "start", 0);
    build_attr_int(b, n, 1, "end", end);
    return lm_concat(b, net_join(b, name, ".dims"), shape, net_ints(b, net_join(b, name, ".rest").ptr, 1, dims, count),
                     0);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static value_id add(lm_run *r, str name, value_id x, value_id y)
{
    return net_binary(r->b, "Add", name, x, y);
}

static value_id mix(lm_run *r, str scope, value_id x, const lm_layer *l)
{
    switch (l->mixer) {
    case LM_NO_MIXER:
        return x;
    case LM_ATTENTION:
        return lm_attend(r, net_join(r->b, scope, "self_attn."), x, &l->attention);
    case LM_LATENT:
        return lm_attend_latent(r, net_join(r->b, scope, "self_attn."), x, &l->attention);
    default:
        return lm_recur(r, net_join(r->b, scope, "linear_attn."), x, l);
    }
}

/* One part of a layer with its norms and its residual sum. Norm names follow Llama and Gemma. */
typedef struct part {
    const char *before, *after, *sum, *scale;
} part;

typedef enum part_kind { PART_MIXER, PART_CROSS, PART_FEED } part_kind;

static value_id run_part(lm_run *r, str scope, value_id x, const lm_layer *l, part_kind kind)
{
    static const part PARTS[] = {
        [PART_MIXER] = {"input_layernorm", "post_attention_layernorm", "add_1", "layer_scale1"},
        [PART_CROSS] = {"encoder_attn_layer_norm", "encoder_attn_layer_norm", "add_cross", "layer_scale_cross"},
        [PART_FEED] = {"pre_feedforward_layernorm", "post_feedforward_layernorm", "add_2", "layer_scale2"},
    };
    builder *b = r->b;
    const part *p = &PARTS[kind];
    bool before = l->order == LM_PRE || l->order == LM_SANDWICH, inside = l->order == LM_OUT || l->order == LM_SANDWICH;
    before &= !(kind == PART_MIXER && l->is_first_bare);
    const char *first = kind == PART_FEED && l->order == LM_PRE ? "post_attention_layernorm" : p->before;
    value_id y = before ? lm_normed(r, net_join(b, scope, first), x, r->m->hidden, r->m->norm) : x;
    y = kind == PART_MIXER   ? mix(r, scope, y, l)
        : kind == PART_CROSS ? lm_attend_encoded(r, net_join(b, scope, "encoder_attn."), y, &l->attention)
                             : lm_feed_forward(r, net_join(b, scope, "mlp."), y, &l->feed);
    if (inside)
        y = lm_normed(r, net_join(b, scope, p->after), y, r->m->hidden, r->m->norm);
    if (l->has_scale)
        y = net_binary(b, "Mul", net_join(b, scope, p->scale), y,
                       net_weight(b, net_join(b, net_join(b, scope, p->scale), ".lambda1"), 1, &r->m->hidden));
    x = add(r, net_join(b, scope, p->sum), x, y);
    if (l->order == LM_POST)
        x = lm_normed(r, net_join(b, scope, p->after), x, r->m->hidden, r->m->norm);
    return x;
}

static value_id run_parallel(lm_run *r, str scope, value_id x, const lm_layer *l)
{
    builder *b = r->b;
    value_id first = lm_normed(r, net_join(b, scope, "input_layernorm"), x, r->m->hidden, r->m->norm), second = first;
    value_id y = mix(r, scope, first, l);
    if (l->order == LM_PARALLEL_2)
        second = lm_normed(r, net_join(b, scope, "post_attention_layernorm"), x, r->m->hidden, r->m->norm);
    value_id z = lm_feed_forward(r, net_join(b, scope, "mlp."), second, &l->feed);
    return add(r, net_join(b, scope, "add_2"), add(r, net_join(b, scope, "add_1"), y, z), x);
}

/* Dense part and experts in parallel; the norms before and after them belong to the layer. */
static value_id run_both(lm_run *r, str scope, value_id x, const lm_layer *l)
{
    builder *b = r->b;
    int64_t hidden = r->m->hidden;
    value_id y = lm_normed(r, net_join(b, scope, "pre_feedforward_layernorm"), x, hidden, r->m->norm);
    y = lm_dense(r, net_join(b, scope, "mlp."), y, l->feed.inner, &l->feed);
    y = lm_normed(r, net_join(b, scope, "post_feedforward_layernorm_1"), y, hidden, r->m->norm);
    value_id z = lm_normed(r, net_join(b, scope, "pre_feedforward_layernorm_2"), x, hidden, r->m->norm);
    z = lm_experts(r, net_join(b, scope, "experts."), z, x, &l->feed);
    z = lm_normed(r, net_join(b, scope, "post_feedforward_layernorm_2"), z, hidden, r->m->norm);
    y = add(r, net_join(b, scope, "add_experts"), y, z);
    y = lm_normed(r, net_join(b, scope, "post_feedforward_layernorm"), y, hidden, r->m->norm);
    return add(r, net_join(b, scope, "add_2"), x, y);
}

/* Adds the layer's slice of the per-token inputs (N, tokens, layers, width), gated by the hidden state. */
static value_id run_per_layer(lm_run *r, str scope, value_id x, value_id all, const lm_layer *l)
{
    builder *b = r->b;
    int64_t width = r->m->per_layer, index = r->layer;
    value_id own = net_gather(b, net_join(b, scope, "per_layer_input"), all,
                              net_ints(b, net_join(b, scope, "per_layer_index").ptr, 0, &index, 1), 2);
    value_id y = net_product(b, net_join(b, scope, "per_layer_input_gate"), x, r->m->hidden, width);
    y = lm_activation(b, net_join(b, scope, "per_layer_act"), l->feed.activation, y);
    y = net_binary(b, "Mul", net_join(b, scope, "per_layer_mul"), y, own);
    y = net_product(b, net_join(b, scope, "per_layer_projection"), y, width, r->m->hidden);
    y = lm_normed(r, net_join(b, scope, "post_per_layer_input_norm"), y, r->m->hidden, r->m->norm);
    return add(r, net_join(b, scope, "add_per_layer"), x, y);
}

static value_id run_layer(lm_run *r, str scope, value_id x, value_id per_layer, const lm_layer *l)
{
    bool has_feed = l->feed.inner || l->feed.experts;
    if (l->order == LM_PARALLEL || l->order == LM_PARALLEL_2)
        return run_parallel(r, scope, x, l);
    if (l->mixer != LM_NO_MIXER)
        x = run_part(r, scope, x, l, PART_MIXER);
    if (l->has_cross)
        x = run_part(r, scope, x, l, PART_CROSS);
    if (l->feed.has_both)
        x = run_both(r, scope, x, l);
    else if (has_feed)
        x = run_part(r, scope, x, l, PART_FEED);
    if (per_layer != NO_VALUE)
        x = run_per_layer(r, scope, x, per_layer, l);
    if (l->is_output_scaled)
        x = net_binary(r->b, "Mul", net_join(r->b, scope, "scale"), x,
                       net_buffer(r->b, net_join(r->b, scope, "layer_scalar"), DT_FLOAT32, 1, (int64_t[]){1}));
    return x;
}

/* Shares weights: nodes from `first_node` on read the first layer's weights instead of their own, whose ids are
 * `distance` higher. */
static void share_weights(builder *b, int32_t first_node, value_id first_value, value_id distance)
{
    const graph *g = &b->source->main;
    for (int32_t i = first_node; i < g->nodes.count; i++)
        for (int32_t k = 0; k < g->nodes.items[i].input_count; k++) {
            value_id *v = &g->nodes.items[i].inputs[k];
            if (*v >= first_value && build_at(b, *v)->is_initializer)
                *v -= distance;
        }
}

static value_id run_layers(lm_run *r, value_id x, value_id per_layer)
{
    builder *b = r->b;
    const lm *m = r->m;
    value_id begin = b->source->values.count;
    for (int32_t i = 0; i < m->layer_count; i++) {
        value_id first_value = b->source->values.count;
        int32_t first_node = b->source->main.nodes.count;
        r->layer = i;
        x = run_layer(r, NAME("%slayers.%d.", m->scope.ptr, i), x, per_layer, &m->layers[i]);
        if (m->shares_layers && i > 0)
            share_weights(b, first_node, first_value, first_value - begin);
    }
    return m->norms_last ? lm_normed(r, net_join(b, m->scope, "norm"), x, m->hidden, m->norm) : x;
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* Sines and cosines of the rotary angles: (N, 1, tokens, width). */
static void make_rotation(lm_run *r, int64_t width)
{
    builder *b = r->b;
    struct lm_rotation *made = &r->rotations[r->rotation_count++];
    str scope = NAME("%srotary_emb_%lld", r->m->scope.ptr, (long long)width);
    int64_t half = width / 2;
    value_id frequencies = net_buffer(b, net_join(b, scope, ".inv_freq"), DT_FLOAT32, 4, (int64_t[]){1, 1, 1, half});
    value_id x = net_cast(b, net_join(b, scope, ".float"), r->positions, DT_FLOAT32);
    x = net_binary(b, "Unsqueeze", net_join(b, scope, ".unsqueeze"), x,
                   net_ints(b, net_join(b, scope, ".axes").ptr, 1, (int64_t[]){1, 3}, 2));
    x = net_binary(b, "Mul", net_join(b, scope, ".angles"), x, frequencies);
    x = lm_concat(b, net_join(b, scope, ".cat"), x, x, -1);
    *made = (struct lm_rotation){width, net_unary(b, "Cos", net_join(b, scope, ".cos"), x),
                                 net_unary(b, "Sin", net_join(b, scope, ".sin"), x)};
}

static void make_rotations(lm_run *r)
{
    for (int32_t i = 0; i < r->m->layer_count; i++) {
        const lm_layer *l = &r->m->layers[i];
        int64_t width = l->mixer == LM_LATENT ? l->attention.rope : l->mixer == LM_ATTENTION ? l->attention.rotary : 0;
        bool known = width < 2 || r->rotation_count == LM_MAX_ROTARY;
        for (int k = 0; k < r->rotation_count; k++)
            known |= r->rotations[k].width == width;
        if (!known)
            make_rotation(r, width);
    }
}

/* Distances between queries and keys: (N, tokens, keys). Keys are numbered 0 … past + tokens - 1. */
static value_id distances(lm_run *r, str scope)
{
    builder *b = r->b;
    value_id keys = r->positions;
    if (r->m->has_cache)
        keys = net_input(b, net_join(b, r->m->scope, "key_position_ids").ptr, DT_INT64, 2,
                         (num[]){net_batch(b), num_symbol(&b->source->symbols, NAME("past + %s", r->m->tokens))});
    value_id k = net_binary(b, "Unsqueeze", net_join(b, scope, ".keys"), keys,
                            net_ints(b, net_join(b, scope, ".keys.axes").ptr, 1, (int64_t[]){1}, 1));
    value_id q = net_binary(b, "Unsqueeze", net_join(b, scope, ".queries"), r->positions,
                            net_ints(b, net_join(b, scope, ".queries.axes").ptr, 1, (int64_t[]){2}, 1));
    return net_binary(b, "Sub", net_join(b, scope, ".sub"), k, q);
}

/* Score bias by head and distance: the distance times slopes (heads, 1, 1), or the row of a table for the distance's
 * bucket. */
static value_id score_bias(lm_run *r)
{
    builder *b = r->b;
    int64_t heads = r->m->layer_count ? r->m->layers[0].attention.heads : 1;
    str scope = net_join(b, r->m->scope, "position_bias");
    value_id x = distances(r, scope);
    if (r->m->has_alibi) {
        value_id slopes = net_buffer(b, net_join(b, scope, ".slopes"), DT_FLOAT32, 3, (int64_t[]){heads, 1, 1});
        x = net_cast(b, net_join(b, scope, ".float"), x, DT_FLOAT32);
        x = net_binary(b, "Unsqueeze", net_join(b, scope, ".unsqueeze"), x,
                       net_ints(b, net_join(b, scope, ".axes").ptr, 1, (int64_t[]){1}, 1));
        return net_binary(b, "Mul", net_join(b, scope, ".mul"), x, slopes);
    }
    /* each near distance has a bucket; far ones share buckets logarithmically */
    x = net_unary(b, "Abs", net_join(b, scope, ".abs"), x);
    value_id far = net_cast(b, net_join(b, scope, ".float"), x, DT_FLOAT32);
    far = lm_scalar(b, net_join(b, scope, ".div"), far, "Div", (double)r->m->buckets / 2);
    far = net_unary(b, "Log", net_join(b, scope, ".log"), far);
    far = lm_scalar(b, net_join(b, scope, ".scale"), far, "Mul", (double)r->m->buckets / 4);
    far = net_cast(b, net_join(b, scope, ".long"), far, DT_INT64);
    value_id last = net_ints(b, net_join(b, scope, ".last").ptr, 0, (int64_t[]){r->m->buckets - 1}, 1);
    far = net_binary(b, "Min", net_join(b, scope, ".min"), far, last);
    value_id near = net_ints(b, net_join(b, scope, ".near").ptr, 0, (int64_t[]){r->m->buckets / 2}, 1);
    value_id is_near = net_binary(b, "Less", net_join(b, scope, ".less"), x, near);
    node *n;
    x = net_node(b, "Where", net_join(b, scope, ".where"), (value_id[]){is_near, x, far}, 3, 0, &n);
    value_id table = net_weight(b, net_join(b, scope, ".weight"), 2, (int64_t[]){r->m->buckets, heads});
    x = net_gather(b, net_join(b, scope, ".gather"), table, x, 0);
    return net_transpose(b, net_join(b, scope, ".permute"), x, (int64_t[]){0, 3, 1, 2}, 4);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static lm_run begin_run(builder *b, const lm *m, value_id positions)
{
    lm_run r = {.b = b,
                .m = m,
                .tokens = num_symbol(&b->source->symbols, str_of(m->tokens)),
                .positions = positions,
                .encoded = NO_VALUE,
                .bias = NO_VALUE,
                .earlier = {{NO_VALUE, NO_VALUE}, {NO_VALUE, NO_VALUE}}};
    r.past = m->has_cache ? num_symbol(&b->source->symbols, STR("past")) : 0;
    return r;
}

static value_id finish_run(lm_run *r, value_id x, value_id per_layer)
{
    make_rotations(r);
    if (r->m->has_alibi || r->m->buckets)
        r->bias = score_bias(r);
    return run_layers(r, x, per_layer);
}

value_id lm_stack(builder *b, const lm *m, value_id x, value_id positions)
{
    lm_run r = begin_run(b, m, positions);
    if (m->norm == LM_RMS)
        r.rms = net_rms_numbers(b, (float)m->epsilon);
    return finish_run(&r, x, NO_VALUE);
}

static bool needs_positions(const lm *m)
{
    bool needs = m->positions || m->has_alibi || m->buckets;
    for (int32_t i = 0; i < m->layer_count && !needs; i++)
        needs = m->layers[i].attention.rotary > 1 || m->layers[i].attention.rope > 1;
    return needs;
}

static value_id look_up(builder *b, str name, value_id indices, int64_t rows, int64_t width, value_id *table)
{
    *table = net_weight(b, net_join(b, name, ".weight"), 2, (int64_t[]){rows, width});
    return net_gather(b, name, *table, indices, 0);
}

/* (N, tokens, layers, width): a row of a separate table for each token, plus a product with its embedding. */
static value_id per_layer_inputs(lm_run *r, value_id ids, value_id x)
{
    builder *b = r->b;
    const lm *m = r->m;
    int64_t all = m->per_layer * m->layer_count;
    int64_t dims[] = {0, 0, m->layer_count, m->per_layer};
    value_id table;
    value_id y = look_up(b, net_join(b, m->scope, "embed_tokens_per_layer"), ids, m->vocab, all, &table);
    y = net_reshape(b, net_join(b, m->scope, "per_layer.view"), y, dims, 4);
    value_id z = net_product(b, net_join(b, m->scope, "per_layer_model_projection"), x, m->hidden, all);
    z = net_reshape(b, net_join(b, m->scope, "per_layer_projection.view"), z, dims, 4);
    z = lm_normed(r, net_join(b, m->scope, "per_layer_projection_norm"), z, m->per_layer, LM_RMS);
    return add(r, net_join(b, m->scope, "per_layer.add"), y, z);
}

static value_id embed(lm_run *r, value_id ids, value_id types, value_id *words)
{
    builder *b = r->b;
    const lm *m = r->m;
    value_id table;
    value_id x = *words == NO_VALUE
                     ? look_up(b, net_join(b, m->scope, "embed_tokens"), ids, m->vocab, m->embedded, words)
                     : net_gather(b, net_join(b, m->scope, "embed_tokens"), *words, ids, 0);
    /* BERT-like models normalize and project the sum of embeddings, OPT projects the words */
    bool projects_last = m->norms_embeddings;
    if (m->token_types)
        x = add(r, net_join(b, m->scope, "add_types"), x,
                look_up(b, net_join(b, m->scope, "embed_types"), types, m->token_types, m->embedded, &table));
    if (m->embedded != m->hidden && !projects_last)
        x = lm_linear(b, net_join(b, m->scope, "project_in"), x, m->embedded, m->hidden, m->embedded_bias);
    if (m->positions)
        x = add(r, net_join(b, m->scope, "add_positions"), x,
                look_up(b, net_join(b, m->scope, "embed_positions"), r->positions, m->positions,
                        projects_last ? m->embedded : m->hidden, &table));
    if (m->norms_embeddings)
        x = lm_normed(r, net_join(b, m->scope, "embed_norm"), x, m->embedded, m->norm == LM_RMS ? LM_RMS : m->norm);
    if (m->embedded != m->hidden && projects_last)
        x = lm_linear(b, net_join(b, m->scope, "embeddings_project"), x, m->embedded, m->hidden, m->embedded_bias);
    return x;
}

/* Logits of all tokens. */
static value_id head(lm_run *r, value_id x, value_id words)
{
    builder *b = r->b;
    const lm *m = r->m;
    if (m->has_transform) {
        x = net_linear(b, STR("lm_head.dense"), x, m->hidden, m->embedded);
        x = net_unary(b, "Gelu", STR("lm_head.gelu"), x);
        x = lm_normed(r, STR("lm_head.layer_norm"), x, m->embedded, LM_LAYER);
    } else if (m->embedded != m->hidden && m->head == LM_TIED_HEAD) {
        x = net_product(b, net_join(b, m->scope, "project_out"), x, m->hidden, m->embedded);
    }
    if (m->head == LM_OWN_HEAD)
        return lm_linear(b, STR("lm_head"), x, m->hidden, m->vocab, m->head_bias);
    x = net_tied_product(b, STR("lm_head"), x, words);
    return m->head_bias ? add(r, STR("lm_head.add"), x, net_weight(b, STR("lm_head.bias"), 1, &m->vocab)) : x;
}

/* Returns a vector for the whole sequence, computed from its first token. */
static value_id summary(lm_run *r, value_id x)
{
    builder *b = r->b;
    const lm *m = r->m;
    x = net_gather(b, STR("pooler.first_token"), x, net_ints(b, "pooler.index", 0, (int64_t[]){0}, 1), 1);
    if (m->has_pooler) {
        x = net_gemm(b, STR("pooler.dense"), x, m->hidden, m->hidden);
        x = net_unary(b, "Tanh", STR("pooler.activation"), x);
    }
    return m->classes ? net_gemm(b, STR("classifier"), x, m->hidden, m->classes) : x;
}

static void put_outputs(lm_run *r, value_id x, value_id words)
{
    builder *b = r->b;
    const lm *m = r->m;
    if (m->head != LM_NO_HEAD) {
        net_output(b, head(r, x, words), DT_FLOAT32, 3, (num[]){net_batch(b), r->tokens, m->vocab});
        build_last_output_first(b); /* output 0 must come before the caches, because the loss uses it */
        return;
    }
    if (!m->classes)
        net_output(b, x, DT_FLOAT32, 3, (num[]){net_batch(b), r->tokens, m->hidden});
    if (m->classes || m->has_pooler)
        net_output(b, summary(r, x), DT_FLOAT32, 2, (num[]){net_batch(b), m->classes ? m->classes : m->hidden});
}

/* Writes inputs and layers of one stack; all names begin with `prefix`. */
static value_id run_tokens(lm_run *r, const char *prefix, value_id *words)
{
    builder *b = r->b;
    const lm *m = r->m;
    num dims[] = {net_batch(b), r->tokens};
    value_id ids = net_input(b, NAME("%sinput_ids", prefix).ptr, DT_INT64, 2, dims);
    value_id types = m->token_types ? net_input(b, NAME("%stoken_type_ids", prefix).ptr, DT_INT64, 2, dims) : NO_VALUE;
    if (needs_positions(m))
        r->positions = net_input(b, NAME("%sposition_ids", prefix).ptr, DT_INT64, 2, dims);
    value_id x = embed(r, ids, types, words);
    return finish_run(r, x, m->per_layer ? per_layer_inputs(r, ids, x) : NO_VALUE);
}

void lm_build(builder *b, const lm *m)
{
    net_begin_literal(b);
    lm_run r = begin_run(b, m, NO_VALUE);
    r.rms = net_rms_numbers(b, (float)m->epsilon);
    value_id words = NO_VALUE;
    value_id x = run_tokens(&r, "", &words);
    put_outputs(&r, x, words);
    net_end(b);
}

static void decode(builder *b, const lm *decoder, value_id encoded, value_id words, net_rms rms)
{
    lm_run r = begin_run(b, decoder, NO_VALUE);
    r.rms = rms;
    r.encoded = encoded;
    value_id x = run_tokens(&r, "decoder_", &words);
    put_outputs(&r, x, words);
}

void lm_decode(builder *b, const lm *decoder, value_id encoded)
{
    decode(b, decoder, encoded, NO_VALUE, net_rms_numbers(b, (float)decoder->epsilon));
}

void lm_build_pair(builder *b, const lm *encoder, const lm *decoder)
{
    net_begin_literal(b);
    lm_run r = begin_run(b, encoder, NO_VALUE);
    r.rms = net_rms_numbers(b, (float)encoder->epsilon);
    value_id words = NO_VALUE;
    value_id encoded = run_tokens(&r, "", &words);
    decode(b, decoder, encoded, words, r.rms);
    net_end(b);
}
