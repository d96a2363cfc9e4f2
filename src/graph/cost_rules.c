/* cost_rules.c: MACs and FLOPs of operators. Called with all shapes in place; a shape that is not known gives a cost
 * that is not known. */
#include "graph/cost.h"

static const value *input_of(const network *net, const node *n, int i)
{
    return i < n->input_count && n->inputs[i] != NO_VALUE ? &net->values.items[n->inputs[i]] : NULL;
}

static const value *output_of(const network *net, const node *n, int i)
{
    return i < n->output_count && n->outputs[i] != NO_VALUE ? &net->values.items[n->outputs[i]] : NULL;
}

/* FLOPs for each element of v; fractions are rounded down after the product. */
static num per_element(network *net, const node *n, const value *v)
{
    num elements = v ? value_elements(net, v) : NUM_UNKNOWN;
    return num_mul(&net->nums, elements, (num)n->op->flops_per_element);
}

void cost_pointwise(network *net, node *n)
{
    n->flops = per_element(net, n, output_of(net, n, 0));
}

void cost_reduce(network *net, node *n)
{
    n->flops = per_element(net, n, input_of(net, n, 0));
}
