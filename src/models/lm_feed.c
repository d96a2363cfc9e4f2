/* lm_feed.c: the feed-forward part of a transformer layer (lm.h): two products with an activation in between, or
 * experts, of which each token uses a few. */
#include "models/lm_parts.h"

value_id lm_dense(lm_run *r, str scope, value_id x, int64_t inner, const lm_feed *f)
{
    builder *b = r->b;
    int64_t hidden = r->m->hidden;
    value_id gate = NO_VALUE, parts[2];
    if (f->is_gated && f->is_packed) {
        x = lm_linear(b, net_join(b, scope, "gate_up_proj"), x, hidden, 2 * inner, f->has_bias);
        lm_split(b, net_join(b, scope, "split"), x, (int64_t[]){inner, inner}, 2, parts);
        gate = parts[0];
        x = parts[1];
    } else {
        if (f->is_gated)
            gate = lm_linear(b, net_join(b, scope, "gate_proj"), x, hidden, inner, f->has_bias);
        x = lm_linear(b, net_join(b, scope, "up_proj"), x, hidden, inner, f->has_bias);
    }
    if (f->is_gated) {
        gate = lm_activation(b, net_join(b, scope, "act_fn"), f->activation, gate);
        x = net_binary(b, "Mul", net_join(b, scope, "mul"), gate, x);
    } else {
        x = lm_activation(b, net_join(b, scope, "act_fn"), f->activation, x);
    }
    return lm_linear(b, net_join(b, scope, "down_proj"), x, inner, hidden, f->has_bias);
}

/* Router scores of each token: (tokens, experts). */
static value_id route(lm_run *r, str scope, value_id x, const lm_feed *f)
{
    builder *b = r->b;
    if (f->has_both)
        x = net_rms_norm(b, net_join(b, scope, "router.scale"), x, r->m->hidden, &r->rms);
    x = lm_linear(b, net_join(b, scope, "gate"), x, r->m->hidden, f->experts, f->router_bias);
    x = net_reshape(b, net_join(b, scope, "gate.view"), x, (int64_t[]){-1, f->experts}, 2);
    x = net_softmax(b, net_join(b, scope, "gate.softmax"), x);
    if (f->has_both)
        x = net_binary(b, "Mul", net_join(b, scope, "router.weigh"), x,
                       net_weight(b, net_join(b, scope, "router.per_expert_scale"), 1, &f->experts));
    if (f->has_correction)
        x = net_binary(b, "Add", net_join(b, scope, "gate.correct"), x,
                       net_buffer(b, net_join(b, scope, "gate.e_score_correction_bias"), DT_FLOAT32, 1, &f->experts));
    return x;
}

/* The experts as one operator; every token passes through `chosen` of them. */
value_id lm_experts(lm_run *r, str scope, value_id x, value_id routed_by, const lm_feed *f)
{
    builder *b = r->b;
    int64_t hidden = f->expert_hidden ? f->expert_hidden : r->m->hidden, inner = f->expert_inner;
    value_id weights = route(r, scope, routed_by, f);
    if (f->expert_hidden)
        x = net_product(b, net_join(b, scope, "fc1_latent_proj"), x, r->m->hidden, hidden);
    str name = net_join(b, scope, "experts");
    int64_t up = f->is_gated ? 2 * inner : inner;
    value_id inputs[6] = {x, weights, NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE};
    inputs[2] = net_weight(b, net_join(b, name, ".gate_up_proj"), 3, (int64_t[]){f->experts, up, hidden});
    if (f->expert_bias)
        inputs[3] = net_weight(b, net_join(b, name, ".gate_up_proj_bias"), 2, (int64_t[]){f->experts, up});
    inputs[4] = net_weight(b, net_join(b, name, ".down_proj"), 3, (int64_t[]){f->experts, hidden, inner});
    if (f->expert_bias)
        inputs[5] = net_weight(b, net_join(b, name, ".down_proj_bias"), 2, (int64_t[]){f->experts, hidden});
    int count = f->expert_bias ? 6 : 5;
    value_id out = build_fresh(b, net_join(b, name, ".out"));
    node *n = build_node(b, STR("com.microsoft"), STR("MoE"), name, count, 1, 2);
    n->opset = 1;
    memcpy(n->inputs, inputs, (size_t)count * sizeof *inputs);
    n->outputs[0] = out;
    build_attr_int(b, n, 0, "k", f->chosen);
    build_attr_int(b, n, 1, "swiglu_fusion", f->is_gated);
    return f->expert_hidden ? net_product(b, net_join(b, scope, "fc2_latent_proj"), out, hidden, r->m->hidden) : out;
}

value_id lm_feed_forward(lm_run *r, str scope, value_id x, const lm_feed *f)
{
    builder *b = r->b;
    if (!f->experts)
        return lm_dense(r, scope, x, f->inner, f);
    value_id y = lm_experts(r, scope, x, x, f);
    if (!f->shared_inner)
        return y;
    value_id shared = lm_dense(r, net_join(b, scope, "shared_experts."), x, f->shared_inner, f);
    if (f->gates_shared) {
        value_id gate = net_product(b, net_join(b, scope, "shared_expert_gate"), x, r->m->hidden, 1);
        gate = net_unary(b, "Sigmoid", net_join(b, scope, "shared_expert_gate.sigmoid"), gate);
        shared = net_binary(b, "Mul", net_join(b, scope, "shared_expert_gate.mul"), gate, shared);
    }
    return net_binary(b, "Add", net_join(b, scope, "add_shared"), y, shared);
}
