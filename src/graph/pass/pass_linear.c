/* pass_linear.c: recovers linear layers and convolution biases, and on request merges batch norms into convolutions.
 *
 * A product with a two-dimensional weight is a linear layer (PyTorch's mm, or addmm with a bias) for any rank of the
 * other operand. Every other product is a batched one (bmm). */
#include "graph/pass/pass.h"

static bool is_matrix(pass_context *p, value_id v)
{
    const value *w = pass_value(p, v);
    return w && p->is_static[v] && w->rank == 2;
}

/* True if v is a constant row vector: `columns` elements in the last dimension, 1 in all others. */
static bool is_row(pass_context *p, value_id v, num columns)
{
    const value *b = pass_value(p, v);
    if (!b || !p->is_static[v] || b->rank < 1 || columns == NUM_UNKNOWN || b->dims[b->rank - 1] != columns)
        return false;
    for (int i = 0; i < b->rank - 1; i++)
        if (b->dims[i] != 1)
            return false;
    return true;
}

static void try_matmul(pass_context *p, node *n)
{
    if (!is_matrix(p, n->inputs[1]) || pass_value(p, n->inputs[0])->rank < 2)
        return;
    pass_group g = {.count = 0};
    group_add(&g, n);
    value_id inputs[3] = {n->inputs[0], NO_VALUE, NO_VALUE};
    int transposed = 0;
    value_id output = n->outputs[0];
    num columns = pass_dim(p, n->inputs[1], 1);
    inputs[1] = pass_weight(p, &g, n->inputs[1], &transposed);
    /* A program says which call adds the bias; a computed weight leaves the call's nodes together. */
    str call = node_attr_string(n, "eager_call", "");
    if (call.len && !pass_value(p, inputs[1])->is_initializer)
        return;
    pass_group with_bias = g;
    node *sum = call.len && !str_is(call, "linear") ? NULL : pass_down(p, &with_bias, output, "Add");
    value_id bias = sum ? pass_other(p, sum, output) : NO_VALUE;
    if (bias != NO_VALUE && is_row(p, bias, columns)) {
        g = with_bias;
        inputs[2] = pass_weight(p, &g, bias, NULL);
        output = sum->outputs[0];
    }
    node *made = pass_replace_group(p, &g, n, "Linear", inputs, inputs[2] == NO_VALUE ? 2 : 3, output);
    if (made && transposed % 2)
        pass_attr_int(p, made, "transB", 1);
}

static void try_gemm(pass_context *p, node *n)
{
    if (!is_matrix(p, n->inputs[1]) || node_attr_int(n, "transA", 0) || node_attr_real(n, "alpha", 1) != 1 ||
        node_attr_real(n, "beta", 1) != 1)
        return;
    int transposed = node_attr_int(n, "transB", 0) != 0;
    num columns = pass_dim(p, n->inputs[1], transposed ? 0 : 1);
    value_id bias = n->input_count > 2 ? n->inputs[2] : NO_VALUE;
    if (bias != NO_VALUE && !is_row(p, bias, columns))
        return;
    pass_group g = {.count = 0};
    group_add(&g, n);
    value_id inputs[3] = {n->inputs[0], pass_weight(p, &g, n->inputs[1], &transposed), bias};
    if (bias != NO_VALUE)
        inputs[2] = pass_weight(p, &g, bias, NULL);
    node *made = pass_replace_group(p, &g, n, "Linear", inputs, bias == NO_VALUE ? 2 : 3, n->outputs[0]);
    if (made && transposed % 2)
        pass_attr_int(p, made, "transB", 1);
}

void pass_linear(pass_context *p)
{
    PASS_FOR_EACH (p, n, "MatMul")
        try_matmul(p, n);
    PASS_FOR_EACH (p, n, "Gemm")
        try_gemm(p, n);
}

/* ---- convolution and bias ---------------------------------------------------------------------------------------- */

/* True if v has one number per channel of y. */
static bool is_per_channel(pass_context *p, value_id v, value_id y, int axis)
{
    const value *b = pass_value(p, v), *x = pass_value(p, y);
    if (!b || !p->is_static[v] || x->rank < 3 || b->rank < 1 || b->rank > x->rank || axis < x->rank - b->rank)
        return false;
    for (int i = 0; i < b->rank; i++) {
        int at = x->rank - b->rank + i;
        if (b->dims[i] != (at == axis ? x->dims[at] : 1) || (at == axis && b->dims[i] == NUM_UNKNOWN))
            return false;
    }
    return true;
}

/* Merges a bias that TensorFlow adds to a convolution in a separate operator. */
void pass_conv_bias(pass_context *p)
{
    PASS_FOR_EACH (p, conv, "Conv") {
        if (conv->input_count != 2)
            continue;
        pass_group g = {.count = 0};
        group_add(&g, conv);
        node *sum = pass_down(p, &g, conv->outputs[0], "Add");
        value_id bias = sum ? pass_other(p, sum, conv->outputs[0]) : NO_VALUE;
        int rank = pass_value(p, conv->outputs[0])->rank;
        int axis = node_attr_int(conv, "channels_last", 0) ? rank - 1 : 1;
        if (bias == NO_VALUE || !is_per_channel(p, bias, conv->outputs[0], axis))
            continue;
        const value_id inputs[3] = {conv->inputs[0], conv->inputs[1], pass_weight(p, &g, bias, NULL)};
        attr *attrs = conv->attrs;
        int32_t attr_count = conv->attr_count;
        node *made = pass_replace_group(p, &g, conv, "Conv", inputs, 3, sum->outputs[0]);
        if (made) {
            made->attrs = attrs;
            made->attr_count = attr_count;
        }
    }
}

/* ---- convolution and batch norm ---------------------------------------------------------------------------------- */

/* Folds a batch norm's statistics into the convolution's weights. Inference only. */
void pass_conv_batch_norm(pass_context *p)
{
    PASS_FOR_EACH (p, norm, "BatchNormalization") {
        if (norm->input_count != 5 || node_attr_int(norm, "training_mode", 0))
            continue;
        pass_group g = {.count = 0};
        group_add(&g, norm);
        node *conv = pass_up(p, &g, norm->inputs[0], "Conv");
        if (!conv || conv->input_count < 2)
            continue;
        value_id inputs[7] = {conv->inputs[0], conv->inputs[1], conv->input_count > 2 ? conv->inputs[2] : NO_VALUE};
        for (int k = 1; k < 5; k++)
            inputs[2 + k] = norm->inputs[k];
        attr *attrs = conv->attrs;
        int32_t attr_count = conv->attr_count;
        node *made = pass_replace_group(p, &g, conv, "ConvBatchNorm", inputs, 7, norm->outputs[0]);
        if (made) {
            made->attrs = attrs;
            made->attr_count = attr_count;
        }
    }
}
