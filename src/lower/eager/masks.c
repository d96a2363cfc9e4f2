/* masks.c: finds attention masks that a traced program computes from positions alone. Libraries compute such masks only
 * while they are traced, because a trace must not depend on its inputs. Run eagerly, they call attention without a
 * mask, or with is_causal. A mask that depends on an input or on stored data stays. */
#include "lower/eager/eager.h"

/* Calls that compute a mask from positions. */
static bool makes_mask(const node *n)
{
    /* clang-format off */
    static const char *const CALLS[] = {
        "__and__", "abs", "add", "arange", "bitwise_and", "clone", "contiguous", "expand", "full", "ge", "gt", "le", "lt",
        "new_ones", "ones", "permute", "reshape", "select", "slice", "squeeze", "sub", "to", "transpose", "unsqueeze", "view"};
    /* clang-format on */
    str call = node_attr_string(n, "eager_call", "");
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        if (str_is(call, CALLS[i]))
            return true;
    return false;
}

/* Marks the values that are computed by such calls from literals, and those among them that count positions. */
static void find_positions(const eager *e, bool *is_made, bool *counts)
{
    const network *net = e->net;
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        bool all = makes_mask(n), any = all && str_is(node_attr_string(n, "eager_call", ""), "arange");
        for (int32_t k = 0; all && k < n->input_count; k++) {
            value_id v = n->inputs[k];
            if (v == NO_VALUE)
                continue;
            const value *val = &net->values.items[v];
            bool is_literal = val->producer == NO_NODE && !val->is_input && val->is_constant_node && val->rank <= 1;
            all = is_made[v] || is_literal;
            any |= counts[v];
        }
        for (int32_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] != NO_VALUE) {
                is_made[n->outputs[k]] = all;
                counts[n->outputs[k]] = all && any;
            }
    }
}

/* Returns x of x[:, :, None].expand(…).reshape(…), which repeats the heads of keys that queries share. Without a mask,
 * the same libraries let attention share them. */
static value_id before_repeat(const eager *e, value_id v)
{
    const node *joined = v == NO_VALUE ? NULL : eager_own_maker_of(e, v, "Reshape");
    const node *wide = joined ? eager_own_maker_of(e, joined->inputs[0], "Expand") : NULL;
    const node *added = wide ? eager_own_maker_of(e, wide->inputs[0], "Unsqueeze") : NULL;
    const value *x = added && added->inputs[0] != NO_VALUE ? &e->net->values.items[added->inputs[0]] : NULL;
    const value *y = x ? &e->net->values.items[v] : NULL;
    bool is_repeat = x && x->rank == 4 && y->rank == 4 && x->dims[0] == y->dims[0] && x->dims[1] < y->dims[1] &&
                     x->dims[2] == y->dims[2] && x->dims[3] == y->dims[3];
    return is_repeat ? added->inputs[0] : NO_VALUE;
}

/* Keys and values are shared if both are repeated and attention runs in 16 bits. */
static void share_heads(const eager *e, const node *n, bool *is_made)
{
    value_id from[2] = {before_repeat(e, n->inputs[1]), before_repeat(e, n->inputs[2])};
    bool is_low = e->low != DT_UNKNOWN || eager_is_low(e->weight_dtype);
    for (int i = 0; i < 2 && is_low && from[0] != NO_VALUE && from[1] != NO_VALUE; i++) {
        value_id v = n->inputs[1 + i];
        e->shared[v] = from[i];
        while (v != from[i]) { /* The nodes between them are not needed. */
            is_made[v] = true;
            v = e->net->nodes.items[e->net->values.items[v].producer].inputs[0];
        }
    }
}

static bool is_mask_of(const eager *e, const node *n, int32_t input)
{
    return input == 3 && node_is(n, "Attention") && e->is_left_out[n->inputs[3]];
}

void eager_leave_out_masks(eager *e)
{
    const network *net = e->net;
    size_t values = (size_t)net->values.count + 1;
    bool *is_made = ARENA_ARRAY(e->arena, bool, values), *counts = ARENA_ARRAY(e->arena, bool, values),
         *is_needed = ARENA_ARRAY(e->arena, bool, values);
    e->is_left_out = ARENA_ARRAY(e->arena, bool, values);
    e->shared = arena_room(e->arena, values, sizeof *e->shared);
    memset(e->shared, 0xff, values * sizeof *e->shared); /* NO_VALUE */
    e->is_unneeded = ARENA_ARRAY(e->arena, bool, (size_t)net->nodes.count + 1);
    bool any_left_out = false;
    find_positions(e, is_made, counts);
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        bool is_attention = node_is(n, "Attention") && n->input_count > 3 && n->inputs[3] != NO_VALUE;
        if (!is_attention || !counts[n->inputs[3]] || net->values.items[n->inputs[3]].dtype != DT_BOOL)
            continue;
        e->is_left_out[n->inputs[3]] = any_left_out = true;
        share_heads(e, n, is_made);
    }
    for (int32_t i = 0; i < net->outputs.count && any_left_out; i++)
        is_needed[net->outputs.items[i]] = true;
    for (int32_t i = net->nodes.count - 1; i >= 0 && any_left_out; i--) {
        const node *n = &net->nodes.items[i];
        bool is_mask = n->output_count > 0 && n->outputs[0] != NO_VALUE && is_made[n->outputs[0]], any = !is_mask;
        for (int32_t k = 0; k < n->output_count; k++)
            any |= n->outputs[k] != NO_VALUE && is_needed[n->outputs[k]];
        e->is_unneeded[i] = !any;
        for (int32_t k = 0; any && k < n->input_count; k++)
            if (n->inputs[k] != NO_VALUE && !is_mask_of(e, n, k))
                is_needed[e->shared[n->inputs[k]] == NO_VALUE ? n->inputs[k] : e->shared[n->inputs[k]]] = true;
    }
}
