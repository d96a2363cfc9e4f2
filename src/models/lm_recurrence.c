/* lm_recurrence.c: token mixers with a state instead of keys (lm.h): gated delta rule, Mamba, Mamba 2, linear
 * attention with decay. The recurrence is one operator, LinearAttention: each token writes k and v into a matrix,
 * and q reads it. */
#include "models/lm_parts.h"

static value_id silu(builder *b, str name, value_id x)
{
    return net_unary(b, "Swish", name, x);
}

/* Causal depthwise convolution over the tokens: (N, tokens, channels). */
static value_id short_conv(lm_run *r, str scope, value_id x, int64_t channels, const lm_recurrence *c)
{
    builder *b = r->b;
    x = net_transpose(b, net_join(b, scope, ".channels_first"), x, (int64_t[]){0, 2, 1}, 3);
    value_id inputs[3] = {x, net_weight(b, net_join(b, scope, ".weight"), 3, (int64_t[]){channels, 1, c->window})};
    if (c->conv_bias)
        inputs[2] = net_weight(b, net_join(b, scope, ".bias"), 1, &channels);
    node *n;
    x = net_node(b, "Conv", scope, inputs, c->conv_bias ? 3 : 2, 3, &n);
    build_attr_ints(b, n, 0, "kernel_shape", &c->window, 1);
    build_attr_ints(b, n, 1, "pads", (int64_t[]){c->window - 1, 0}, 2);
    build_attr_int(b, n, 2, "group", channels);
    x = silu(b, net_join(b, scope, ".silu"), x);
    return net_transpose(b, net_join(b, scope, ".channels_last"), x, (int64_t[]){0, 2, 1}, 3);
}

/* Repeats keys for the heads that share them: (N, tokens, key_heads · size) → (N, tokens, heads · size). */
static value_id spread(lm_run *r, str scope, value_id x, const lm_recurrence *c)
{
    builder *b = r->b;
    if (c->key_heads == c->heads)
        return x;
    int64_t repeats = c->heads / c->key_heads;
    x = net_reshape(b, net_join(b, scope, ".view"), x, (int64_t[]){0, 0, c->key_heads, 1, c->size}, 5);
    x = net_binary(b, "Expand", net_join(b, scope, ".expand"), x,
                   net_ints(b, net_join(b, scope, ".repeats").ptr, 1, (int64_t[]){1, 1, 1, repeats, 1}, 5));
    return net_reshape(b, net_join(b, scope, ".join"), x, (int64_t[]){0, 0, c->heads * c->size}, 3);
}

typedef struct state_inputs {
    value_id q, k, v, decay, beta;
} state_inputs;

static value_id linear_attention(lm_run *r, str scope, const state_inputs *s, int64_t heads, int64_t size,
                                 int64_t v_size)
{
    builder *b = r->b;
    value_id past = net_input(b, NAME("past_key_values.%d.state", (int)r->layer).ptr, DT_FLOAT32, 4,
                              (num[]){net_batch(b), heads, size, v_size});
    bool is_delta = s->beta != NO_VALUE;
    value_id out = build_fresh(b, net_join(b, scope, "recurrence.out"));
    value_id state = build_fresh(b, NAME("present.%d.state", (int)r->layer));
    node *n = build_node(b, STR(""), STR("LinearAttention"), net_join(b, scope, "recurrence"), is_delta ? 6 : 5, 2, 3);
    n->opset = ZOO_OPSET;
    memcpy(n->inputs, (value_id[]){s->q, s->k, s->v, past, s->decay, s->beta}, (is_delta ? 6 : 5) * sizeof(value_id));
    n->outputs[0] = out;
    n->outputs[1] = state;
    build_attr_int(b, n, 0, "q_num_heads", heads);
    build_attr_int(b, n, 1, "kv_num_heads", heads);
    n->attrs[2] =
        (attr){.name = STR("update_rule"), .kind = ATTR_STRING, .string = is_delta ? STR("gated_delta") : STR("gated")};
    build_output(b, state);
    return out;
}

/* norm(y) · silu(z), with one norm per head or one for all */
static value_id gated_norm(lm_run *r, str scope, value_id y, value_id z, int64_t heads, int64_t size, bool by_head)
{
    builder *b = r->b;
    if (by_head)
        y = lm_by_head(b, net_join(b, scope, "norm"), y, heads, size);
    y = net_rms_norm(b, net_join(b, scope, "norm"), y, by_head ? size : heads * size, &r->rms);
    if (by_head)
        y = net_reshape(b, net_join(b, scope, "norm.join"), y, (int64_t[]){0, 0, heads * size}, 3);
    return net_binary(b, "Mul", net_join(b, scope, "gate.mul"), y, silu(b, net_join(b, scope, "gate.silu"), z));
}

/* softplus(a + bias) · A: the logarithm of the share of the state that a token keeps */
static value_id decay_of(lm_run *r, str scope, value_id a, int64_t width, int64_t decays)
{
    builder *b = r->b;
    a = net_binary(b, "Add", net_join(b, scope, "dt_bias.add"), a,
                   net_weight(b, net_join(b, scope, "dt_bias"), 1, &width));
    a = net_unary(b, "Softplus", net_join(b, scope, "softplus"), a);
    if (decays != width)
        return a;
    return net_binary(b, "Mul", net_join(b, scope, "decay"), a, net_weight(b, net_join(b, scope, "A_log"), 1, &width));
}

/* Low-rank pair of products: hidden → rank → out. */
static value_id low_rank(lm_run *r, str first, str second, value_id x, int64_t rank, int64_t out)
{
    x = net_product(r->b, first, x, r->m->hidden, rank);
    return net_product(r->b, second, x, rank, out);
}

static value_id delta(lm_run *r, str scope, value_id x, const lm_recurrence *c)
{
    builder *b = r->b;
    int64_t hidden = r->m->hidden, keys = c->key_heads * c->size, values = c->heads * c->v_size;
    value_id parts[3], z, a;
    value_id y = net_product(b, net_join(b, scope, "in_proj_qkv"), x, hidden, 2 * keys + values);
    if (c->is_channelwise) {
        a = low_rank(r, net_join(b, scope, "f_a_proj"), net_join(b, scope, "f_b_proj"), x, c->size, keys);
        /* one decay per element of a key, one factor per head */
        a = decay_of(r, scope, a, keys, c->heads);
        a = lm_by_head(b, net_join(b, scope, "decay"), a, c->heads, c->size);
        a = net_binary(b, "Mul", net_join(b, scope, "decay"), a,
                       net_weight(b, net_join(b, scope, "A_log"), 2, (int64_t[]){c->heads, 1}));
        a = net_reshape(b, net_join(b, scope, "decay.join"), a, (int64_t[]){0, 0, keys}, 3);
        z = c->is_full_gate
                ? net_product(b, net_join(b, scope, "g_proj"), x, hidden, values)
                : low_rank(r, net_join(b, scope, "g_a_proj"), net_join(b, scope, "g_b_proj"), x, c->v_size, values);
    } else {
        z = net_product(b, net_join(b, scope, "in_proj_z"), x, hidden, values);
        a = net_product(b, net_join(b, scope, "in_proj_a"), x, hidden, c->heads);
        a = decay_of(r, scope, a, c->heads, c->heads);
    }
    value_id beta = net_product(b, net_join(b, scope, "in_proj_b"), x, hidden, c->heads);
    beta = net_unary(b, "Sigmoid", net_join(b, scope, "beta"), beta);
    y = short_conv(r, net_join(b, scope, "conv1d"), y, 2 * keys + values, c);
    lm_split(b, net_join(b, scope, "split"), y, (int64_t[]){keys, keys, values}, 3, parts);
    state_inputs s = {spread(r, net_join(b, scope, "q"), parts[0], c), spread(r, net_join(b, scope, "k"), parts[1], c),
                      parts[2], a, beta};
    y = linear_attention(r, scope, &s, c->heads, c->size, c->v_size);
    y = gated_norm(r, scope, y, z, c->heads, c->v_size, true);
    return net_product(b, net_join(b, scope, "out_proj"), y, values, hidden);
}

/* One product for gate, values, keys, queries and step sizes; each head has a number for its decay and one for its
 * skip connection. */
static value_id mamba_2(lm_run *r, str scope, value_id x, const lm_recurrence *c)
{
    builder *b = r->b;
    int64_t hidden = r->m->hidden, values = c->heads * c->v_size, keys = c->key_heads * c->size;
    value_id parts[3];
    x = lm_linear(b, net_join(b, scope, "in_proj"), x, hidden, 2 * values + 2 * keys + c->heads, c->bias);
    lm_split(b, net_join(b, scope, "split"), x, (int64_t[]){values, values + 2 * keys, c->heads}, 3, parts);
    value_id z = parts[0], a = decay_of(r, scope, parts[2], c->heads, c->heads);
    x = short_conv(r, net_join(b, scope, "conv1d"), parts[1], values + 2 * keys, c);
    lm_split(b, net_join(b, scope, "xBC"), x, (int64_t[]){values, keys, keys}, 3, parts);
    value_id v = parts[0];
    state_inputs s = {spread(r, net_join(b, scope, "C"), parts[2], c), spread(r, net_join(b, scope, "B"), parts[1], c),
                      v, a, NO_VALUE};
    value_id y = linear_attention(r, scope, &s, c->heads, c->size, c->v_size);
    v = lm_by_head(b, net_join(b, scope, "skip"), v, c->heads, c->v_size);
    v = net_binary(b, "Mul", net_join(b, scope, "skip.mul"), v,
                   net_weight(b, net_join(b, scope, "D"), 2, (int64_t[]){c->heads, 1}));
    v = net_reshape(b, net_join(b, scope, "skip.join"), v, (int64_t[]){0, 0, values}, 3);
    y = net_binary(b, "Add", net_join(b, scope, "skip.add"), y, v);
    y = gated_norm(r, scope, y, z, c->heads, c->v_size, false);
    return lm_linear(b, net_join(b, scope, "out_proj"), y, values, hidden, c->bias);
}

/* Mamba. Each channel has a state of `size` numbers; keys and queries are common to all channels. */
static value_id mamba(lm_run *r, str scope, value_id x, const lm_recurrence *c)
{
    builder *b = r->b;
    int64_t hidden = r->m->hidden, channels = c->heads * c->v_size;
    value_id parts[3];
    x = lm_linear(b, net_join(b, scope, "in_proj"), x, hidden, 2 * channels, c->bias);
    lm_split(b, net_join(b, scope, "split"), x, (int64_t[]){channels, channels}, 2, parts);
    value_id z = parts[1], v = short_conv(r, net_join(b, scope, "conv1d"), parts[0], channels, c);
    x = net_product(b, net_join(b, scope, "x_proj"), v, channels, c->step_rank + 2 * c->size);
    lm_split(b, net_join(b, scope, "xBC"), x, (int64_t[]){c->step_rank, c->size, c->size}, 3, parts);
    value_id step = net_linear(b, net_join(b, scope, "dt_proj"), parts[0], c->step_rank, channels);
    step = net_unary(b, "Softplus", net_join(b, scope, "softplus"), step);
    step = net_reshape(b, net_join(b, scope, "dt.view"), step, (int64_t[]){0, 0, channels, 1}, 4);
    value_id decay = net_binary(b, "Mul", net_join(b, scope, "decay"), step,
                                net_weight(b, net_join(b, scope, "A_log"), 2, (int64_t[]){channels, c->size}));
    state_inputs s = {parts[2], parts[1], v, decay, NO_VALUE};
    value_id y = linear_attention(r, scope, &s, 1, c->size, channels);
    v = net_binary(b, "Mul", net_join(b, scope, "skip.mul"), v, net_weight(b, net_join(b, scope, "D"), 1, &channels));
    y = net_binary(b, "Add", net_join(b, scope, "skip.add"), y, v);
    y = net_binary(b, "Mul", net_join(b, scope, "gate.mul"), y, silu(b, net_join(b, scope, "gate.silu"), z));
    return lm_linear(b, net_join(b, scope, "out_proj"), y, channels, hidden, c->bias);
}

static value_id fixed_decay(lm_run *r, str scope, value_id x, const lm_recurrence *c)
{
    builder *b = r->b;
    int64_t hidden = r->m->hidden, width = c->heads * c->size;
    value_id parts[3];
    value_id y = net_product(b, net_join(b, scope, "qkv_proj"), x, hidden, 3 * width);
    y = silu(b, net_join(b, scope, "act_fn"), y);
    lm_split(b, net_join(b, scope, "split"), y, (int64_t[]){width, width, width}, 3, parts);
    value_id decay = net_buffer(b, net_join(b, scope, "slope_rate"), DT_FLOAT32, 1, &c->heads);
    state_inputs s = {parts[0], parts[1], parts[2], decay, NO_VALUE};
    y = linear_attention(r, scope, &s, c->heads, c->size, c->size);
    y = net_rms_norm(b, net_join(b, scope, "norm"), y, width, &r->rms);
    value_id gate = net_product(b, net_join(b, scope, "output_gate"), x, hidden, width);
    gate = net_unary(b, "Sigmoid", net_join(b, scope, "gate.sigmoid"), gate);
    y = net_binary(b, "Mul", net_join(b, scope, "gate.mul"), gate, y);
    return net_product(b, net_join(b, scope, "out_proj"), y, width, hidden);
}

value_id lm_recur(lm_run *r, str scope, value_id x, const lm_layer *l)
{
    return (l->mixer == LM_DELTA     ? delta
            : l->mixer == LM_MAMBA_2 ? mamba_2
            : l->mixer == LM_MAMBA   ? mamba
                                     : fixed_decay)(r, scope, x, &l->recurrence);
}
