/* torch_aten_fused.c: ATen operators that are whole transformer layers at inference, decomposed into basic
 * operators. */
#include "front/torch/torch.h"

static value_id linear(torch *t, value_id x, value_id weight, value_id bias)
{
    const torch_argument arguments[] = {{{0}, torch_tensor(x)}, {{0}, torch_tensor(weight)}, {{0}, torch_tensor(bias)}};
    torch_value y = torch_aten(t, STR("linear"), arguments, 3);
    return y.kind == TORCH_TENSOR ? y.tensor : NO_VALUE;
}

static value_id layer_norm(torch *t, value_id x, value_id weight, value_id bias, double eps)
{
    torch_node n = torch_begin(t, "LayerNormalization");
    torch_in(&n, x);
    torch_in(&n, weight);
    torch_in(&n, bias);
    torch_attr_int(&n, "axis", -1);
    torch_attr_real(&n, "epsilon", eps);
    return torch_end(&n);
}

/* x (B,L,E): one projection to queries, keys and values, multi-head attention, output projection. */
static value_id self_attention(torch *t, value_id x, num width, num heads, const value_id weights[4], value_id mask)
{
    value_id packed = linear(t, x, weights[0], weights[1]), parts[3];
    num batch = torch_dim(t, x, 0), length = torch_dim(t, x, 1);
    num split[5] = {batch, length, 3, heads, num_floordiv(t->nums, width, heads)};
    packed = torch_transpose(t, torch_reshape(t, packed, split, 5), (int64_t[]){2, 0, 3, 1, 4}, 5);
    torch_node n = torch_begin(t, "Attention");
    for (int i = 0; i < 3; i++) {
        torch_node part = torch_begin(t, "Gather");
        torch_in(&part, packed);
        torch_in(&part, torch_const_int(t, i, DT_INT64));
        torch_attr_int(&part, "axis", 0);
        parts[i] = torch_end(&part);
    }
    for (int i = 0; i < 3; i++)
        torch_in(&n, parts[i]);
    torch_in(&n, mask);
    value_id y = torch_transpose(t, torch_end(&n), (int64_t[]){0, 2, 1, 3}, 4);
    return linear(t, torch_reshape(t, y, (num[]){batch, length, width}, 3), weights[2], weights[3]);
}

static bool usable(torch_call *c, value_id x, num width, num heads)
{
    return x != NO_VALUE && torch_rank(c->torch, x) == 3 && dim_known(width) && dim_known(heads) && heads > 0;
}

static void rule_attention(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), weights[4];
    num width = torch_arg_int(c, 3, NUM_UNKNOWN), heads = torch_arg_int(c, 4, NUM_UNKNOWN);
    for (int i = 0; i < 4; i++)
        weights[i] = torch_arg_tensor(c, 5 + i);
    if (!usable(c, x, width, heads)) {
        torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
        return;
    }
    torch_return(c, self_attention(t, x, width, heads, weights, NO_VALUE));
    /* place of the attention weights, which the caller does not request */
    c->results[c->result_count++] = torch_none();
}

static void rule_encoder_layer(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), w[17];
    num width = torch_arg_int(c, 1, NUM_UNKNOWN), heads = torch_arg_int(c, 2, NUM_UNKNOWN);
    bool gelu = torch_arg_bool(c, 7, false), norm_first = torch_arg_bool(c, 8, false);
    double eps = torch_arg_real(c, 9, 1e-5);
    for (int i = 3; i < 18; i++)
        w[i - 3] = i < 7 || i > 9 ? torch_arg_tensor(c, i) : NO_VALUE;
    if (!usable(c, x, width, heads)) {
        torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
        return;
    }
    value_id inner = norm_first ? layer_norm(t, x, w[7], w[8], eps) : x;
    x = torch_emit2(t, "Add", x, self_attention(t, inner, width, heads, w, NO_VALUE));
    if (!norm_first)
        x = layer_norm(t, x, w[7], w[8], eps);
    inner = norm_first ? layer_norm(t, x, w[9], w[10], eps) : x;
    inner = torch_emit1(t, gelu ? "Gelu" : "Relu", linear(t, inner, w[11], w[12]));
    x = torch_emit2(t, "Add", x, linear(t, inner, w[13], w[14]));
    torch_return(c, norm_first ? x : layer_norm(t, x, w[9], w[10], eps));
}

/* clang-format off */
static const torch_op OPS[] = {
    {"_native_multi_head_attention", "query key value embed_dim num_head qkv_weight qkv_bias proj_weight proj_bias mask",
     rule_attention, NULL},
    {"_transformer_encoder_layer_fwd", "src embed_dim num_heads qkv_weight qkv_bias proj_weight proj_bias use_gelu norm_first eps "
     "norm_weight_1 norm_bias_1 norm_weight_2 norm_bias_2 ffn_weight_1 ffn_bias_1 ffn_weight_2 ffn_bias_2 mask mask_type",
     rule_encoder_layer, NULL},
};
/* clang-format on */

const torch_op *torch_ops_fused(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
