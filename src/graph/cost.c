/* cost.c: computes the costs of every node of a network. The rules of single operators are in cost_rules.c. */
#include "graph/cost.h"

static bool is_trainable_slot(const node *n, int i)
{
    return n->op && (n->op->params >> (i < 15 ? i : 15)) & 1;
}

/* True for weight standardization: a norm over the channels of a weight. Only the weight and a scale are parameters,
 * offset and statistics are not. Layer norms of learned tokens and norms of the rows of a matrix do not count. */
static bool is_norm_of_weights(const network *net, const node *n)
{
    return n->op->kind == OP_NORM && !node_is(n, "LayerNormalization") && n->inputs[0] != NO_VALUE &&
           net->values.items[n->inputs[0]].is_weight && net->values.items[n->inputs[0]].rank > 2;
}

/* True if the input is a parameter. A layer's weights are always parameters. Pointwise operators and copies may also
 * read constants of the exporter: scalars, Constant nodes, indices. */
static bool is_parameter(const network *net, const node *n, int i, const value *v)
{
    if (!is_trainable_slot(n, i) || v->is_untrained)
        return false;
    bool is_data_of_norm = i == 0 && n->op->kind == OP_NORM && node_is(n, "LayerNormalization");
    bool may_be_plain =
        n->op->kind == OP_POINTWISE || n->op->kind == OP_MOVE || n->op->kind == OP_VIEW || is_data_of_norm;
    if (!may_be_plain)
        return !is_norm_of_weights(net, n) || i <= 1;
    bool is_scalar = true;
    for (int k = 0; k < v->rank; k++)
        is_scalar &= v->dims[k] == 1;
    /* True for quantized weights. An embedding table may stay quantized until after the lookup. */
    bool is_narrow_table =
        node_is(n, "Gather") && v->rank == 2 && dtype_is_integer(v->dtype) && dtype_bits(v->dtype) <= 8;
    bool may_be_trained = dtype_is_float(v->dtype) || node_is(n, "DequantizeLinear") || is_narrow_table;
    return may_be_trained && !v->is_constant_node && !is_scalar;
}

/* Weights of a few bits are packed into bytes; attributes give their number. */
static num parameters_in(network *net, const node *n, int i, const value *v)
{
    if (i == 1 && (node_is(n, "MatMulNBits") || node_is(n, "MatMulBnb4"))) {
        int64_t rows = node_attr_int(n, "K", 0), columns = node_attr_int(n, "N", 0);
        if (rows > 0 && columns > 0)
            return num_mul(&net->nums, rows, columns);
    }
    return value_elements(net, v);
}

static void count_weights(network *net, const node *n, node_cost *cost, uint8_t *seen)
{
    cost->params = 0;
    cost->weight_bytes = 0;
    for (int32_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] == NO_VALUE)
            continue;
        const value *v = &net->values.items[n->inputs[i]];
        value_id stored = v->reordered_of == NO_VALUE ? n->inputs[i] : v->reordered_of;
        if (!v->is_initializer || seen[stored])
            continue;
        seen[stored] = 1;
        bool is_packed = v->tensor && v->tensor->packed_bytes > 0;
        cost->weight_bytes =
            num_add(&net->nums, cost->weight_bytes, is_packed ? v->tensor->packed_bytes : value_bytes(net, v));
        if (is_parameter(net, n, i, v))
            cost->params = num_add(&net->nums, cost->params, parameters_in(net, n, i, v));
    }
}

static _Noreturn void too_large(sooth_model *model, const node *n, const char *what)
{
    fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED,
              "the %s up to layer '%.*s' (%.*s) exceed 2^63, and the layer runs %lld times; give smaller dimensions or "
              "a batch that a device can hold",
              what, STR_ARG(n->name), STR_ARG(n->type), (long long)n->repeat);
}

/* Multiplies the cost of one run by the number of runs. */
static num times_repeat(sooth_model *model, const node *n, num once, const char *what)
{
    if (n->repeat == 1)
        return once;
    num all = num_mul(&model->net.nums, once, n->repeat);
    if (num_known(once) && all == NUM_UNKNOWN)
        too_large(model, n, what);
    return all;
}

static void count_activations(sooth_model *model, const node *n, node_cost *cost)
{
    network *net = &model->net;
    cost->activation_bytes = 0;
    if (n->is_host || (n->op && n->op->memory == MEM_VIEW))
        return;
    for (int32_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] != NO_VALUE)
            cost->activation_bytes =
                num_add(&net->nums, cost->activation_bytes, value_bytes(net, &net->values.items[n->outputs[i]]));
    cost->activation_bytes = times_repeat(model, n, cost->activation_bytes, "bytes of activations");
}

static void add_known(sooth_model *model, const node *n, int64_t *sum, num x, const char *what)
{
    if (num_known(x) && __builtin_add_overflow(*sum, x, sum))
        too_large(model, n, what);
}

static void add_to_totals(sooth_model *model, const node *n, const node_cost *cost)
{
    sooth_totals *t = &model->net.totals;
    t->nodes++;
    add_known(model, n, &t->params, cost->params, "parameters");
    add_known(model, n, &t->macs, cost->macs, "MACs");
    add_known(model, n, &t->flops, cost->flops, "FLOPs");
    add_known(model, n, &t->weight_bytes, cost->weight_bytes, "bytes of weights");
    add_known(model, n, &t->activation_bytes, cost->activation_bytes, "bytes of activations");
    t->unknown_layers += !num_known(cost->macs) || !num_known(cost->flops);
}

/* Adds only symbolic terms: the totals already contain plain numbers, and unknown terms are left out. */
static void add_symbolic(network *net, num_sum **sum, num x)
{
    if (!num_symbolic(x))
        return;
    if (!*sum)
        *sum = num_sum_begin(&net->nums);
    num_sum_add(&net->nums, *sum, x);
}

/* Returns the text of both parts; NULL if nothing is symbolic. */
static const char *text_of(network *net, num_sum *sum, int64_t plain)
{
    if (!sum)
        return NULL;
    num_sum_add(&net->nums, sum, plain);
    return num_text(&net->nums, num_sum_end(&net->nums, sum));
}

/* Marks values that are computed from constants alone as weights. */
static void mark_weights(network *net)
{
    for (int32_t i = 0; i < net->values.count; i++)
        net->values.items[i].is_weight = net->values.items[i].is_initializer;
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        bool all = n->input_count > 0;
        for (int32_t k = 0; k < n->input_count && all; k++) {
            const value *v = n->inputs[k] == NO_VALUE ? NULL : &net->values.items[n->inputs[k]];
            all = !v || v->is_weight || v->ints;
        }
        for (int32_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] != NO_VALUE)
                net->values.items[n->outputs[k]].is_weight = all;
    }
}

/* Counts the constant outputs of a file without a network as parameters. */
static void count_listed(sooth_model *model)
{
    network *net = &model->net;
    sooth_totals *t = &net->totals;
    if (!model->source.is_list)
        return;
    for (int32_t i = 0; i < net->outputs.count; i++) {
        const value *v = &net->values.items[net->outputs.items[i]];
        if (!v->is_weight)
            continue;
        bool is_packed = v->tensor && v->tensor->packed_bytes > 0;
        num elements = value_elements(net, v), bytes = is_packed ? v->tensor->packed_bytes : value_bytes(net, v);
        if (!num_known(elements) || !num_known(bytes) || __builtin_add_overflow(t->params, elements, &t->params) ||
            __builtin_add_overflow(t->weight_bytes, bytes, &t->weight_bytes))
            fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED,
                      "the weights up to '%.*s' are more than can be counted (2^63); get the file again",
                      STR_ARG(v->name));
    }
}

void cost_network(sooth_model *model)
{
    network *net = &model->net;
    num_sum *macs = NULL, *flops = NULL, *activation_bytes = NULL;
    mark_weights(net);
    uint8_t *seen = ARENA_ARRAY(&model->scratch_arena, uint8_t, (size_t)net->values.count);
    net->sizes.is_kept = true;
    net->costs = ARENA_ARRAY(net->arena, node_cost, (size_t)net->nodes.count);
    for (int32_t i = 0; i < net->nodes.count; i++) {
        node *n = &net->nodes.items[i];
        node_cost *cost = &net->costs[i];
        cost->macs = cost->flops = n->op ? 0 : NUM_UNKNOWN;
        if (n->op && n->op->cost && !n->is_host)
            n->op->cost(net, n);
        cost->macs = times_repeat(model, n, cost->macs, "MACs");
        cost->flops = times_repeat(model, n, cost->flops, "FLOPs");
        count_weights(net, n, cost, seen);
        count_activations(model, n, cost);
        add_to_totals(model, n, cost);
        add_symbolic(net, &macs, cost->macs);
        add_symbolic(net, &flops, cost->flops);
        add_symbolic(net, &activation_bytes, cost->activation_bytes);
    }
    if (net->nodes.count == 0)
        count_listed(model);
    net->totals.macs_text = text_of(net, macs, net->totals.macs);
    net->totals.flops_text = text_of(net, flops, net->totals.flops);
    net->totals.activation_bytes_text = text_of(net, activation_bytes, net->totals.activation_bytes);
}
