/* patterns.c: groups of nodes that PyTorch dispatches otherwise than node by node, and that no recovery pass joins, because they are
 * no layers: only a runtime's way to run some. */
#include "lower/eager.h"

const node *maker_of(const eager *e, value_id v, const char *op)
{
    node_id id = v == NO_VALUE ? NO_NODE : e->net->values.items[v].producer;
    const node *n = id == NO_NODE ? NULL : &e->net->nodes.items[id];
    return n && (!op || node_is(n, op)) ? n : NULL;
}

const node *own_maker_of(const eager *e, value_id v, const char *op)
{
    return v != NO_VALUE && e->readers[v] == 1 ? maker_of(e, v, op) : NULL;
}

const node *reader_of(const eager *e, value_id v)
{
    return v == NO_VALUE || e->first_reader[v] == NO_NODE ? NULL : &e->net->nodes.items[e->first_reader[v]];
}

void lower_nothing(eager *e)
{
    (void)e;
}

static void absorb(eager *e, const node *n)
{
    e->instead[n - e->net->nodes.items] = lower_nothing;
}

static void replace_rule(eager *e, const node *n, lower_rule rule)
{
    e->instead[n - e->net->nodes.items] = rule;
}

/* ---- addcmul: b + 1 * (w * x) ------------------------------------------------------------------------------------------ */

static const node *unit_product(const eager *e, const node *add, int side)
{
    double x;
    const node *unit = own_maker_of(e, add->inputs[side], "Mul");
    return unit && value_is_number((eager *)e, unit->inputs[1], &x) && x == 1 ? unit : NULL;
}

/* On autocast's list of what takes the widest type: the others are cast to it. */
static void lower_addcmul(eager *e)
{
    const node *add = e->node;
    int side = unit_product(e, add, 1) ? 1 : 0;
    const node *unit = unit_product(e, add, side), *mul = maker_of(e, unit->inputs[0], "Mul");
    tensor_id inputs[3] = {tensor_of(e, add->inputs[1 - side]), tensor_of(e, mul->inputs[0]), tensor_of(e, mul->inputs[1])};
    dtype type = promote(e, inputs, 3);
    for (int i = 0; i < 3 && e->low != DT_UNKNOWN; i++)
        inputs[i] = cast(e, inputs[i], type);
    set_result(e, 0, pointwise(e, "addcmul", inputs, 3, type));
}

static void find_addcmul(eager *e, const node *add)
{
    for (int side = 0; side < 2; side++) {
        const node *unit = unit_product(e, add, side);
        const node *mul = unit ? own_maker_of(e, unit->inputs[0], "Mul") : NULL;
        if (!mul)
            continue;
        absorb(e, unit);
        absorb(e, mul);
        replace_rule(e, add, lower_addcmul);
        return;
    }
}

/* ---- rsqrt: 1 / sqrt(x) ------------------------------------------------------------------------------------------------- */

static void lower_rsqrt(eager *e)
{
    const node *root = maker_of(e, e->node->inputs[e->node->input_count - 1], "Sqrt");
    set_result(e, 0, unary(e, "rsqrt", to_float(e, tensor_of(e, root->inputs[0]))));
}

static void find_rsqrt(eager *e, const node *n)
{
    double x;
    bool inverts = node_is(n, "Reciprocal") || (value_is_number(e, n->inputs[0], &x) && x == 1);
    const node *root = inverts ? own_maker_of(e, n->inputs[n->input_count - 1], "Sqrt") : NULL;
    if (!root)
        return;
    absorb(e, root);
    replace_rule(e, n, lower_rsqrt);
}

/* ---- attention without a kernel ----------------------------------------------------------------------------------------- */

/* F.scaled_dot_product_attention on more than four dimensions: PyTorch falls back to steps in float32, with half of the scale on
 * either side. */
typedef struct attention_steps {
    const node *scale, *turn, *scores, *softmax;
} attention_steps;

static bool read_steps(const eager *e, const node *last, attention_steps *s)
{
    s->softmax = own_maker_of(e, last->inputs[0], "Softmax");
    s->scores = s->softmax ? own_maker_of(e, s->softmax->inputs[0], "MatMul") : NULL;
    s->scale = s->scores ? own_maker_of(e, s->scores->inputs[0], "Mul") : NULL;
    s->turn = s->scores ? own_maker_of(e, s->scores->inputs[1], "Transpose") : NULL;
    double x;
    return s->scale && s->turn && value_is_number((eager *)e, s->scale->inputs[1], &x);
}

static void lower_attention_steps(eager *e)
{
    attention_steps s;
    const node *last = e->node;
    read_steps(e, last, &s);
    tensor_id q = to_low(e, tensor_of(e, s.scale->inputs[0])), k = to_low(e, tensor_of(e, s.turn->inputs[0]));
    tensor_id v = to_low(e, tensor_of(e, last->inputs[1]));
    dtype type = tensor_dtype(e, q);
    bool widens = is_low(type);
    if (widens) {
        q = cast(e, q, DT_FLOAT32);
        k = cast(e, k, DT_FLOAT32);
        v = cast(e, v, DT_FLOAT32);
    }
    tensor_id scores = matmul(e, unary(e, "mul", q), unary(e, "mul", transpose_last(e, k)), false);
    extent x = tensor_extent(e, scores);
    extent_contiguous(&x);
    tensor_id weights = launch_new(e, "_safe_softmax", &scores, 1, tensor_dtype(e, scores), &x);
    if (widens)
        cast(e, weights, type); /* an output of the operator that nobody asks for */
    tensor_id y = matmul(e, weights, v, false);
    set_result(e, 0, cast(e, y, type));
}

static void find_attention_steps(eager *e, const node *last)
{
    attention_steps s;
    enum { MOST_DIMENSIONS = 4 }; /* of the fused kernels */
    if (e->net->values.items[last->outputs[0]].rank <= MOST_DIMENSIONS || !read_steps(e, last, &s))
        return;
    absorb(e, s.scale);
    absorb(e, s.turn);
    absorb(e, s.scores);
    absorb(e, s.softmax);
    replace_rule(e, last, lower_attention_steps);
}

/* ---- sums in place ------------------------------------------------------------------------------------------------------ */

/* y = conv(x); y += x: the result has the type of the convolution. */
static void lower_sum_in_place(eager *e)
{
    tensor_id inputs[2] = {input_of(e, 0), input_of(e, 1)};
    set_result(e, 0, pointwise(e, "add_", inputs, 2, tensor_dtype(e, inputs[0])));
}

static void find_sum_in_place(eager *e, const node *add)
{
    const node *conv = own_maker_of(e, add->inputs[0], "Conv");
    if (conv && conv->inputs[0] == add->inputs[1] && node_attr_int(conv, "group", 1) > 1)
        replace_rule(e, add, lower_sum_in_place);
}

/* A group norm without bias: the export adds a zero. */
static void lower_zero_bias(eager *e)
{
    set_result(e, 0, input_of(e, 0));
}

static void find_zero_bias(eager *e, const node *add)
{
    const node *norm = own_maker_of(e, add->inputs[0], "GroupNormalization");
    const value *b = &e->net->values.items[add->inputs[1]];
    bool is_one = b->rank >= 1 && e->is_static[add->inputs[1]];
    for (int i = 0; is_one && i < b->rank; i++)
        is_one = b->dims[i] == 1;
    if (norm && norm->input_count == 2 && is_one)
        replace_rule(e, add, lower_zero_bias);
}

void find_patterns(eager *e)
{
    e->instead = ARENA_ARRAY(e->arena, lower_rule, (size_t)e->net->nodes.count + 1);
    for (int32_t i = 0; i < e->net->nodes.count; i++) {
        const node *n = &e->net->nodes.items[i];
        bool has_both = n->input_count == 2 && n->inputs[0] != NO_VALUE && n->inputs[1] != NO_VALUE;
        bool has_output = n->output_count > 0 && n->outputs[0] != NO_VALUE;
        if (!n->op || !has_output)
            continue;
        if (node_is(n, "Add") && has_both) {
            find_addcmul(e, n);
            find_sum_in_place(e, n);
            find_zero_bias(e, n);
        } else if (node_is(n, "MatMul") && has_both) {
            find_attention_steps(e, n);
        } else if ((node_is(n, "Div") && has_both) || (node_is(n, "Reciprocal") && n->input_count == 1)) {
            find_rsqrt(e, n);
        }
    }
}
