/* cost_rules.c: MACs and FLOPs of operators. An unknown shape gives an unknown cost.
 *
 * A MAC is a multiplication and an addition: FLOPs = 2 * MACs + the rest (biases, activations, softmax). Integer
 * arithmetic of quantized operators counts as floating point. */
#include "graph/cost.h"

#include "graph/attention.h"
#include "graph/einsum.h"

static const value *input_of(const network *net, const node *n, int i)
{
    return i < n->input_count && n->inputs[i] != NO_VALUE ? &net->values.items[n->inputs[i]] : NULL;
}

static const value *output_of(const network *net, const node *n, int i)
{
    return i < n->output_count && n->outputs[i] != NO_VALUE ? &net->values.items[n->outputs[i]] : NULL;
}

/* Size of a dimension; negative axes count from the end; NUM_UNKNOWN if the axis does not exist. */
static num dim_of(const value *v, int axis)
{
    if (!v || v->rank < 0)
        return NUM_UNKNOWN;
    if (axis < 0)
        axis += v->rank;
    return axis >= 0 && axis < v->rank ? v->dims[axis] : NUM_UNKNOWN;
}

static num elements_of(network *net, const value *v)
{
    return v ? value_elements(net, v) : NUM_UNKNOWN;
}

/* FLOPs for all elements of v; fractions are rounded down after the product. */
static num per_element(network *net, const node *n, const value *v)
{
    return num_mul(&net->nums, elements_of(net, v), (num)n->op->flops_per_element);
}

/* Sets macs, and FLOPs to two for each MAC plus `extra`. */
static void set_cost(network *net, node *n, num macs, num extra)
{
    node_cost_of(net, n)->macs = macs;
    node_cost_of(net, n)->flops = num_add(&net->nums, num_mul(&net->nums, macs, 2), extra);
}

void cost_pointwise(network *net, node *n)
{
    node_cost_of(net, n)->flops = per_element(net, n, output_of(net, n, 0));
}

void cost_reduce(network *net, node *n)
{
    node_cost_of(net, n)->flops = per_element(net, n, input_of(net, n, 0));
}

/* Cost is unknown, because the work depends on data. */
void cost_unknown(network *net, node *n)
{
    (void)net;
    node_cost_of(net, n)->macs = node_cost_of(net, n)->flops = NUM_UNKNOWN;
}

/* ---- convolution, pooling -------------------------------------------------------------------------------------- */

/* Each output element reads C/group * kernel weights, which is the product of all weight dimensions except the
 * first. */
static num weights_per_output(network *net, const value *weight)
{
    return weight && weight->rank > 1 ? num_product(&net->nums, weight->dims + 1, weight->rank - 1) : NUM_UNKNOWN;
}

static num times(network *net, num a, num b)
{
    return num_mul(&net->nums, a, b);
}

void cost_conv(network *net, node *n)
{
    bool quantized = node_is(n, "QLinearConv"), deformable = node_is(n, "DeformConv");
    const value *weight = input_of(net, n, quantized ? 3 : 1), *bias = input_of(net, n,
                                                                                quantized    ? 8
                                                                                : deformable ? 3
                                                                                             : 2);
    num outputs = elements_of(net, output_of(net, n, 0)), extra = 0;
    if (node_is(n, "ConvInteger"))
        bias = NULL; /* inputs 2 and 3 are zero points */
    num macs = times(net, outputs, weights_per_output(net, weight));
    if (bias)
        extra = num_add(&net->nums, extra, outputs);
    if (node_attr(n, "activation"))
        extra = num_add(&net->nums, extra, outputs);
    if (node_is(n, "FusedConv") && input_of(net, n, 3))
        extra = num_add(&net->nums, extra, outputs);
    if (deformable) { /* bilinear sampling: four weighted neighbours for each sample */
        num samples = num_floordiv(&net->nums, times(net, macs, node_attr_int(n, "group", 1)), dim_of(weight, 0));
        extra = num_add(&net->nums, extra, times(net, samples, 8));
    }
    set_cost(net, n, macs, extra);
}

void cost_conv_transpose(network *net, node *n)
{
    int bias_index = node_is(n, "ConvTransposeWithDynamicPads") ? 3 : 2;
    num macs = times(net, elements_of(net, input_of(net, n, 0)), weights_per_output(net, input_of(net, n, 1)));
    set_cost(net, n, macs, input_of(net, n, bias_index) ? elements_of(net, output_of(net, n, 0)) : 0);
}

void cost_pool(network *net, node *n)
{
    int32_t count;
    const int64_t *kernel = node_attr_ints(n, "kernel_shape", &count);
    num window = kernel ? num_product(&net->nums, kernel, count) : NUM_UNKNOWN;
    node_cost_of(net, n)->flops = times(net, per_element(net, n, output_of(net, n, 0)), window);
}

/* Linear interpolation takes three FLOPs per axis for two neighbours, cubic interpolation seven for four neighbours. */
void cost_resize(network *net, node *n)
{
    str mode = node_attr_string(n, "mode", "nearest");
    const value *x = input_of(net, n, 0), *y = output_of(net, n, 0);
    bool is_cubic = str_is(mode, "cubic");
    if (str_is(mode, "nearest"))
        return;
    if (!x || !y || x->rank < 0 || x->rank != y->rank) {
        node_cost_of(net, n)->flops = NUM_UNKNOWN;
        return;
    }
    /* Interpolating `a` axes with p neighbours each takes 1 + p + … + p^(a-1) steps. */
    int64_t steps = 0, power = 1;
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] != y->dims[i] && power < 1 << 20) {
            steps += power;
            power *= is_cubic ? 4 : 2;
        }
    node_cost_of(net, n)->flops = times(net, elements_of(net, y), steps * (is_cubic ? 7 : 3));
}

/* Squares over `size` channels, a power and a division. */
void cost_lrn(network *net, node *n)
{
    int64_t size = node_attr_int(n, "size", 5);
    num each = size > 0 && size < INT32_MAX ? 2 * size + 4 : NUM_UNKNOWN;
    node_cost_of(net, n)->flops = times(net, elements_of(net, output_of(net, n, 0)), each);
}

/* ---- matrix products ------------------------------------------------------------------------------------------- */

/* Index of the input that is added to the product; -1 if the operator has none. */
static int bias_input(const node *n)
{
    static const struct {
        const char *name;
        int input;
    } BIASES[] = {{"Linear", 2},
                  {"Gemm", 2},
                  {"FusedGemm", 2},
                  {"GemmFastGelu", 2},
                  {"QGemm", 6},
                  {"GemmFloat8", 2},
                  {"MatMulNBits", 5},
                  {"MatMulIntegerToFloat", 6},
                  {"DynamicQuantizeMatMul", 4}};
    for (size_t i = 0; i < sizeof BIASES / sizeof *BIASES; i++)
        if (node_is(n, BIASES[i].name))
            return BIASES[i].input;
    return -1;
}

/* Columns of the left operand: the length of each dot product. */
static num inner_length(const network *net, const node *n)
{
    const value *a = input_of(net, n, 0);
    bool transposed = node_attr_int(n, "transA", 0) != 0;
    bool rotated = node_attr_int(n, "transBatchA", 0) != 0;
    if (!a || a->rank < 2 || !transposed)
        return dim_of(a, -1);
    return dim_of(a, rotated ? 0 : -2);
}

void cost_matmul(network *net, node *n)
{
    num outputs = elements_of(net, output_of(net, n, 0)), extra = 0;
    int bias = bias_input(n);
    if (bias >= 0 && input_of(net, n, bias))
        extra = outputs;
    /* The fused epilogue: flops_per_element of the operator's row. */
    extra = num_add(&net->nums, extra, per_element(net, n, output_of(net, n, 0)));
    set_cost(net, n, times(net, outputs, inner_length(net, n)), extra);
}

void cost_einsum(network *net, node *n)
{
    einsum e;
    if (!einsum_read(net, n, &e)) {
        node_cost_of(net, n)->macs = node_cost_of(net, n)->flops = NUM_UNKNOWN;
        return;
    }
    if (n->input_count > 1)
        set_cost(net, n, times(net, e.all_labels, n->input_count - 1), 0);
    else if (e.all_labels != num_product(&net->nums, e.dims, e.rank))
        node_cost_of(net, n)->flops = e.all_labels; /* without a sum, Einsum only moves data */
}

/* Gaussian elimination of each matrix: n^3/3 multiplications and as many additions. */
void cost_det(network *net, node *n)
{
    const value *x = input_of(net, n, 0);
    num all = times(net, elements_of(net, x), dim_of(x, -1));
    node_cost_of(net, n)->flops = num_floordiv(&net->nums, times(net, all, 2), 3);
}

/* Each distance takes a difference, a square and a sum for each of K elements. */
void cost_cdist(network *net, node *n)
{
    node_cost_of(net, n)->flops =
        times(net, times(net, elements_of(net, output_of(net, n, 0)), dim_of(input_of(net, n, 0), 1)), 3);
}

/* Each token passes through k experts: two products, or three if the gate has its own weights. */
void cost_moe(network *net, node *n)
{
    static const int PLAIN[] = {2, 4, 6}, QUANTIZED[] = {2, 5, 8};
    bool quantized = node_is(n, "QMoE");
    const value *x = input_of(net, n, 0);
    num tokens = num_floordiv(&net->nums, elements_of(net, x), dim_of(x, -1)), weights = 0;
    int64_t bits = node_attr_int(n, "expert_weight_bits", 4);
    for (int i = 0; i < 3; i++) {
        const value *w = input_of(net, n, quantized ? QUANTIZED[i] : PLAIN[i]);
        if (!w && i == 2)
            continue;
        num each = weights_per_output(net, w);
        if (quantized)
            each = bits == 4 || bits == 8 ? times(net, each, 8 / bits) : NUM_UNKNOWN;
        weights = num_add(&net->nums, weights, each);
    }
    set_cost(net, n, times(net, times(net, tokens, node_attr_int(n, "k", 1)), weights), 0);
}

/* ---- recurrent ------------------------------------------------------------------------------------------------- */

/* Each step multiplies the input and the previous state by one matrix per gate. Per gate and unit: two bias
 * additions and an activation; GRU adds 4 and LSTM 5 FLOPs to combine them. */
void cost_recurrent(network *net, node *n)
{
    bool is_gru = node_is(n, "GRU"), is_plain = node_is(n, "RNN");
    int64_t gates = is_plain ? 1 : is_gru ? 3 : 4, combine = is_plain ? 0 : is_gru ? 4 : 5;
    const value *x = input_of(net, n, 0), *recurrence = input_of(net, n, 2);
    num hidden = node_attr_int(n, "hidden_size", NUM_UNKNOWN);
    if (hidden == NUM_UNKNOWN)
        hidden = dim_of(recurrence, node_is(n, "DynamicQuantizeLSTM") ? 1 : 2);
    num directions = str_is(node_attr_string(n, "direction", "forward"), "bidirectional") ? 2 : 1;
    num units = times(net, times(net, dim_of(x, 0), dim_of(x, 1)), times(net, directions, hidden));
    num read = num_add(&net->nums, dim_of(x, 2), hidden);
    set_cost(net, n, times(net, times(net, units, gates), read), times(net, units, 3 * gates + combine));
}

/* ---- attention ------------------------------------------------------------------------------------------------- */

/* QK^T and PV. Each score is scaled and goes through a softmax of five steps (maximum, difference, exponential, sum,
 * quotient). */
void cost_attention(network *net, node *n)
{
    enum { SCORE_FLOPS = 6 };
    attention_geometry g;
    attention_read(net, n, &g);
    num scores = times(net, times(net, g.batch, g.heads), times(net, g.queries, g.keys));
    num macs = times(net, scores, num_add(&net->nums, g.head_size, g.v_head_size));
    macs = num_add(&net->nums, macs, g.projection_macs);
    set_cost(net, n, macs, times(net, scores, SCORE_FLOPS));
}

/* The state is updated and read once per token; delta rules read it once more. */
void cost_linear_attention(network *net, node *n)
{
    const value *q = input_of(net, n, 0), *v = input_of(net, n, 2);
    num heads = node_attr_int(n, "q_num_heads", NUM_UNKNOWN), kv_heads = node_attr_int(n, "kv_num_heads", NUM_UNKNOWN);
    bool is_delta = str_ends(node_attr_string(n, "update_rule", "gated_delta"), "delta");
    num size = num_floordiv(&net->nums, dim_of(q, 2), heads), v_size = num_floordiv(&net->nums, dim_of(v, 2), kv_heads);
    num passes = num_add(&net->nums, heads, times(net, kv_heads, is_delta ? 2 : 1));
    num tokens = times(net, dim_of(q, 0), dim_of(q, 1));
    set_cost(net, n, times(net, times(net, tokens, passes), times(net, size, v_size)), 0);
}
