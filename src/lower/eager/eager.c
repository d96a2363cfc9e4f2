/* eager.c: lowers a network to eager PyTorch kernels, with one rule per operator. The rules do what PyTorch does at
 * run time, tensor by tensor: autocast lists, type promotion, output strides, copies by reshape. Casts and copies
 * therefore need no patterns. */
#include "lower/eager/eager.h"
#include "graph/infer.h"

/* ---- launching --------------------------------------------------------------------------------------------------- */

kernel *eager_launch(eager *e, const char *op, const tensor_id *inputs, int input_count, tensor_id output, int flags)
{
    tensor_id *held = arena_room(e->arena, (size_t)input_count + 1, sizeof *held);
    int count = 0;
    int64_t bytes_read = 0;
    for (int i = 0; i < input_count; i++)
        if (inputs[i] != NO_TENSOR && !tensor_at(e, inputs[i])->is_number) {
            held[count++] = inputs[i];
            if (!(flags & KERNEL_VIEW))
                bytes_read += layout_picked_bytes(op, tensor_bytes(e, inputs[i]), tensor_bytes(e, output),
                                                  tensor_bytes(e, inputs[input_count - 1]));
        }
    held[count] = output;
    kernel *made = ARENA_PUSH_ROOM(e->arena, &e->out->kernels);
    *made = (kernel){.op = op,
                     .layer = e->layer,
                     .flags = (uint8_t)flags,
                     .input_count = count,
                     .output_count = 1,
                     .inputs = held,
                     .outputs = held + count,
                     .bytes_read = bytes_read,
                     .bytes_written = flags & KERNEL_VIEW ? 0 : tensor_bytes(e, output),
                     .repeat = e->node ? e->node->repeat : 1};
    return made;
}

void eager_set_outputs(eager *e, const tensor_id *outputs, int count)
{
    kernel *k = &e->out->kernels.items[e->out->kernels.count - 1];
    k->outputs = outputs;
    k->output_count = count;
    k->bytes_written = 0;
    for (int i = 0; i < count; i++)
        k->bytes_written += tensor_bytes(e, outputs[i]);
}

tensor_id eager_add_output(eager *e, dtype type, const extent *x)
{
    const kernel *k = &e->out->kernels.items[e->out->kernels.count - 1];
    int count = k->output_count;
    tensor_id *outputs = ARENA_ARRAY(e->arena, tensor_id, (size_t)count + 1);
    memcpy(outputs, k->outputs, (size_t)count * sizeof *outputs);
    outputs[count] = eager_tensor_new(e, type, x);
    eager_set_outputs(e, outputs, count + 1);
    return outputs[count];
}

tensor_id eager_launch_new(eager *e, const char *op, const tensor_id *inputs, int count, dtype type, const extent *x)
{
    tensor_id made = eager_tensor_new(e, type, x);
    eager_launch(e, op, inputs, count, made, 0);
    return made;
}

void eager_count_flops(eager *e, double per_element)
{
    kernel *k = &e->out->kernels.items[e->out->kernels.count - 1];
    const placed_tensor *p = tensor_at(e, k->outputs[0]);
    double flops = per_element;
    for (int i = 0; i < p->rank; i++)
        flops *= (double)p->dims[i];
    k->flops = flops < 9e18 ? (int64_t)flops : INT64_MAX;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

const int64_t *eager_node_ints(eager *e, const char *attribute, int input, int32_t *count)
{
    const int64_t *ints = node_attr_ints(e->node, attribute, count);
    if (ints || input >= e->node->input_count || e->node->inputs[input] == NO_VALUE)
        return ints;
    return value_ints(e->net, &e->net->values.items[e->node->inputs[input]], count);
}

bool eager_value_is_number(eager *e, value_id v, double *x)
{
    int32_t count;
    if (v == NO_VALUE)
        return false;
    const double *reals = value_reals(e->net, &e->net->values.items[v], &count);
    if (!reals || count != 1)
        return false;
    *x = reals[0];
    return true;
}

int eager_node_axis(eager *e, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        fail_with(&e->model->fail, SOOTH_ERROR_INPUT, "node %.*s (%.*s): axis %lld is out of range",
                  STR_ARG(e->node->name), STR_ARG(e->node->type), (long long)axis);
    return (int)(axis < 0 ? axis + rank : axis);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Whether a rule depends, in inference, only on the tensors and attributes of its node. */
typedef enum locality {
    NOT_LOCAL,
    LOCAL,
    LOCAL_IF_COMPUTED, /* Depends only on them if no input is a constant, except scalars after the first input. */
    LOCAL_IF_NOT_PADDED,
} locality;

static const struct lowering {
    const char *op;
    lower_rule rule;
    const char *aten;    /* ATen operator, if it is always the same; else NULL. */
    find_pattern *finds; /* Tests whether a pattern ends at the node; NULL if no pattern ends with this operator. */
    locality local;
} RULES[] = {
    {"Relu", lower_unary, "relu", NULL, LOCAL},
    {"Silu", lower_unary, "silu", NULL, LOCAL},
    {"Swish", lower_unary, "silu", NULL, LOCAL},
    {"Gelu", lower_unary, "gelu", NULL, LOCAL},
    {"Sigmoid", lower_unary, "sigmoid", NULL, LOCAL},
    {"HardSwish", lower_unary, "hardswish", NULL, LOCAL},
    {"HardSigmoid", lower_unary, "hardsigmoid", NULL, LOCAL},
    {"LeakyRelu", lower_unary, "leaky_relu", NULL, LOCAL},
    {"Elu", lower_unary, "elu", NULL, LOCAL},
    {"Tanh", lower_unary, "tanh", NULL, LOCAL},
    {"Neg", lower_unary, "neg", NULL, NOT_LOCAL},
    {"Abs", lower_unary, "abs", NULL, NOT_LOCAL},
    {"Sqrt", lower_unary, "sqrt", NULL, NOT_LOCAL},
    {"Erf", lower_unary, "erf", NULL, NOT_LOCAL},
    {"Sin", lower_unary, "sin", NULL, NOT_LOCAL},
    {"Cos", lower_unary, "cos", NULL, NOT_LOCAL},
    {"Not", lower_unary, "bitwise_not", NULL, NOT_LOCAL},
    {"Mish", lower_unary, "mish", NULL, LOCAL},
    {"Floor", lower_unary, "floor", NULL, NOT_LOCAL},
    {"Exp", lower_float_unary, "exp", NULL, NOT_LOCAL},
    {"Log", lower_float_unary, "log", NULL, NOT_LOCAL},
    {"Reciprocal", lower_float_unary, "reciprocal", eager_find_at_quotient, NOT_LOCAL},
    {"Softplus", lower_float_unary, "softplus", NULL, NOT_LOCAL},
    {"CumSum", lower_float_unary, "cumsum", NULL, NOT_LOCAL},
    {"Clip", lower_clip, NULL, NULL, NOT_LOCAL},
    {"Pow", lower_pow, NULL, NULL, NOT_LOCAL},
    {"Add", lower_binary, "add", eager_find_at_sum, LOCAL_IF_COMPUTED},
    {"Sub", lower_binary, "sub", NULL, LOCAL_IF_COMPUTED},
    {"Mul", lower_binary, "mul", NULL, LOCAL_IF_COMPUTED},
    {"Div", lower_binary, "div", eager_find_at_quotient, LOCAL_IF_COMPUTED},
    {"Max", lower_binary, "maximum", NULL, LOCAL_IF_COMPUTED},
    {"Min", lower_binary, "minimum", NULL, LOCAL_IF_COMPUTED},
    {"Cast", lower_cast, NULL, NULL, NOT_LOCAL},
    {"Where", lower_where, NULL, NULL, NOT_LOCAL},
    {"PRelu", lower_prelu, NULL, NULL, NOT_LOCAL},
    {"Equal", lower_compare, "eq", NULL, NOT_LOCAL},
    {"Greater", lower_compare, "gt", NULL, NOT_LOCAL},
    {"GreaterOrEqual", lower_compare, "ge", NULL, NOT_LOCAL},
    {"Less", lower_compare, "lt", NULL, NOT_LOCAL},
    {"LessOrEqual", lower_compare, "le", NULL, NOT_LOCAL},
    {"And", lower_compare, "logical_and", NULL, NOT_LOCAL},
    {"Or", lower_compare, "logical_or", NULL, NOT_LOCAL},
    {"Xor", lower_compare, "logical_xor", NULL, NOT_LOCAL},
    {"ReduceMean", lower_reduce, "mean", eager_find_variance, NOT_LOCAL},
    {"ReduceSum", lower_reduce, "sum", NULL, NOT_LOCAL},
    {"ReduceMax", lower_reduce, "amax", NULL, NOT_LOCAL},
    {"ReduceMin", lower_reduce, "amin", NULL, NOT_LOCAL},
    {"ReduceL2", lower_reduce, "linalg_vector_norm", NULL, NOT_LOCAL},
    {"ArgMax", lower_arg_reduce, "argmax", NULL, NOT_LOCAL},
    {"ArgMin", lower_arg_reduce, "argmin", NULL, NOT_LOCAL},
    {"Softmax", lower_softmax, "_softmax", NULL, NOT_LOCAL},
    {"LogSoftmax", lower_softmax, "_log_softmax", NULL, NOT_LOCAL},
    {"LpNormalization", lower_lp_norm, NULL, NULL, NOT_LOCAL},
    {"Linear", lower_linear, NULL, NULL, NOT_LOCAL},
    {"Gemm", lower_gemm, NULL, NULL, NOT_LOCAL},
    {"MatMul", lower_matmul, NULL, eager_find_at_product, NOT_LOCAL},
    {"ScaledDotProductAttention", lower_attention, NULL, eager_find_multihead, NOT_LOCAL},
    {"Attention", lower_onnx_attention, NULL, eager_find_latent, NOT_LOCAL},
    {"MoE", lower_experts, NULL, NULL, NOT_LOCAL},
    {"LSTM", lower_recurrent, NULL, NULL, NOT_LOCAL},
    {"GRU", lower_recurrent, NULL, NULL, NOT_LOCAL},
    {"RNN", lower_recurrent, NULL, NULL, NOT_LOCAL},
    {"Einsum", lower_einsum, NULL, NULL, NOT_LOCAL},
    {"Conv", lower_conv, NULL, NULL, LOCAL},
    {"ConvTranspose", lower_conv, NULL, eager_find_col2im, NOT_LOCAL},
    {"MaxPool", lower_pool, NULL, NULL, LOCAL},
    {"AveragePool", lower_pool, NULL, NULL, LOCAL_IF_NOT_PADDED},
    {"GlobalAveragePool", lower_global_pool, NULL, eager_find_variance, NOT_LOCAL},
    {"GlobalMaxPool", lower_global_pool, NULL, NULL, NOT_LOCAL},
    {"BatchNormalization", lower_batch_norm, NULL, NULL, LOCAL},
    {"LayerNormalization", lower_layer_norm, NULL, NULL, LOCAL},
    {"RMSNormalization", lower_layer_norm, NULL, NULL, LOCAL},
    {"GroupNormalization", lower_group_norm, NULL, NULL, NOT_LOCAL},
    {"WeightStandardization", lower_weight_standardization, NULL, eager_find_standardised, NOT_LOCAL},
    {"Resize", lower_resize, NULL, NULL, NOT_LOCAL},
    {"Reshape", lower_reshape, NULL, eager_find_im2col, NOT_LOCAL},
    {"Flatten", lower_reshape, NULL, NULL, NOT_LOCAL},
    {"Squeeze", lower_reshape, NULL, NULL, NOT_LOCAL},
    {"Unsqueeze", lower_reshape, NULL, NULL, NOT_LOCAL},
    {"Transpose", lower_transpose, NULL, NULL, NOT_LOCAL},
    {"Expand", lower_expand, NULL, NULL, NOT_LOCAL},
    {"Slice", lower_slice, NULL, NULL, NOT_LOCAL},
    {"Split", lower_split, NULL, NULL, NOT_LOCAL},
    {"Gather", lower_gather, NULL, NULL, NOT_LOCAL},
    {"ScatterND", lower_scatter, NULL, eager_find_slice_write, NOT_LOCAL},
    {"OneHot", lower_one_hot, NULL, NULL, NOT_LOCAL},
    {"Concat", lower_concat, NULL, eager_find_unfold, NOT_LOCAL},
    {"Pad", lower_pad, NULL, NULL, NOT_LOCAL},
    {"Tile", lower_tile, NULL, NULL, NOT_LOCAL},
    {"Roll", lower_roll, NULL, NULL, NOT_LOCAL},
    {"WindowPartition", lower_rearrange, NULL, NULL, NOT_LOCAL},
    {"WindowReverse", lower_rearrange, NULL, NULL, NOT_LOCAL},
    {"DepthToSpace", lower_rearrange, NULL, NULL, NOT_LOCAL},
    {"PixelUnshuffle", lower_rearrange, NULL, NULL, NOT_LOCAL},
    {"ChannelShuffle", lower_rearrange, NULL, NULL, NOT_LOCAL},
    {"Identity", lower_identity, NULL, NULL, NOT_LOCAL},
    {"Dropout", lower_dropout, NULL, NULL, NOT_LOCAL},
    /* Launches one kernel with the name of the nearest ATen operator. */
    {"Selu", lower_as_one, "elu", NULL, NOT_LOCAL},
    {"Celu", lower_as_one, "elu", NULL, NOT_LOCAL},
    {"ThresholdedRelu", lower_as_one, "relu", NULL, NOT_LOCAL},
    {"Softsign", lower_as_one, "sigmoid", NULL, NOT_LOCAL},
    {"Ceil", lower_as_one, "floor", NULL, NOT_LOCAL},
    {"Round", lower_as_one, "round", NULL, NOT_LOCAL},
    {"Sign", lower_as_one, "sign", NULL, NOT_LOCAL},
    {"IsNaN", lower_as_one, "isnan", NULL, NOT_LOCAL},
    {"IsInf", lower_as_one, "isnan", NULL, NOT_LOCAL},
    {"Mod", lower_as_one, "remainder", NULL, NOT_LOCAL},
    {"Tan", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"Atan", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"Asin", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"Acos", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"Sinh", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"Cosh", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"BitwiseAnd", lower_as_one, "bitwise_and", NULL, NOT_LOCAL},
    {"BitwiseOr", lower_as_one, "bitwise_or", NULL, NOT_LOCAL},
    {"BitwiseXor", lower_as_one, "bitwise_or", NULL, NOT_LOCAL},
    {"BitwiseNot", lower_as_one, "bitwise_not", NULL, NOT_LOCAL},
    {"SpecialFunction", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"FastGelu", lower_as_one, "gelu", NULL, NOT_LOCAL},
    {"QuickGelu", lower_as_one, "silu", NULL, NOT_LOCAL},
    {"BiasGelu", lower_as_one, "gelu", NULL, NOT_LOCAL},
    {"SwiGLU", lower_as_one, "silu", NULL, NOT_LOCAL},
    {"RotaryEmbedding", lower_as_one, "mul", NULL, NOT_LOCAL},
    {"DequantizeLinear", lower_as_one, "mul", NULL, NOT_LOCAL},
    {"QuantizeLinear", lower_as_one, "mul", NULL, NOT_LOCAL},
    {"CastLike", lower_as_one, "_to_copy", NULL, NOT_LOCAL},
    {"GatherElements", lower_as_one, "gather", NULL, NOT_LOCAL},
    {"GatherND", lower_as_one, "index", NULL, NOT_LOCAL},
    {"ScatterElements", lower_as_one, "scatter", NULL, NOT_LOCAL},
    {"Trilu", lower_as_one, "tril", NULL, NOT_LOCAL},
    {"SpaceToDepth", lower_as_one, "clone", NULL, NOT_LOCAL},
    {"ReverseSequence", lower_as_one, "flip", NULL, NOT_LOCAL},
    {"ConstantOfShape", lower_as_one, "full", NULL, NOT_LOCAL},
    {"Range", lower_as_one, "arange", NULL, NOT_LOCAL},
    {"NonZero", lower_as_one, "nonzero", NULL, NOT_LOCAL},
    {"EyeLike", lower_as_one, "eye", NULL, NOT_LOCAL},
    {"TensorScatter", lower_as_one, "index_put", NULL, NOT_LOCAL},
    {"GridSample", lower_as_one, "grid_sampler_2d", NULL, NOT_LOCAL},
    {"RoiAlign", lower_as_one, "grid_sampler_2d", NULL, NOT_LOCAL},
    {"MaxRoiPool", lower_as_one, "adaptive_max_pool2d", NULL, NOT_LOCAL},
    {"TopK", lower_as_one, "topk", NULL, NOT_LOCAL},
    {"NonMaxSuppression", lower_as_one, "sort", NULL, NOT_LOCAL},
    {"CumProd", lower_as_one, "cumsum", NULL, NOT_LOCAL},
    {"Acosh", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"Asinh", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"Atanh", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"Affine", lower_as_one, "mul", NULL, NOT_LOCAL},
    {"Bernoulli", lower_as_one, "full", NULL, NOT_LOCAL},
    {"BiasAdd", lower_as_one, "add", NULL, NOT_LOCAL},
    {"BiasSoftmax", lower_as_one, "_softmax", NULL, NOT_LOCAL},
    {"BitCast", lower_as_one, "_to_copy", NULL, NOT_LOCAL},
    {"BitShift", lower_as_one, "bitwise_or", NULL, NOT_LOCAL},
    {"CenterCropPad", lower_as_one, "clone", NULL, NOT_LOCAL},
    {"ComplexMul", lower_as_one, "mul", NULL, NOT_LOCAL},
    {"ComplexMulConj", lower_as_one, "mul", NULL, NOT_LOCAL},
    {"Compress", lower_as_one, "index", NULL, NOT_LOCAL},
    {"DynamicQuantizeLinear", lower_as_one, "mul", NULL, NOT_LOCAL},
    {"GlobalLpPool", lower_as_one, "mean", NULL, NOT_LOCAL},
    {"GroupNorm", lower_as_one, "native_group_norm", NULL, NOT_LOCAL},
    {"ImageScaler", lower_as_one, "mul", NULL, NOT_LOCAL},
    {"LpPool", lower_as_one, "mean", NULL, NOT_LOCAL},
    {"MaxUnpool", lower_as_one, "scatter", NULL, NOT_LOCAL},
    {"Multinomial", lower_as_one, "topk", NULL, NOT_LOCAL},
    {"ParametricSoftplus", lower_as_one, "softplus", NULL, NOT_LOCAL},
    {"QLinearAdd", lower_as_one, "add", NULL, NOT_LOCAL},
    {"QLinearAveragePool", lower_as_one, "mean", NULL, NOT_LOCAL},
    {"QLinearConcat", lower_as_one, "cat", NULL, NOT_LOCAL},
    {"QLinearGlobalAveragePool", lower_as_one, "mean", NULL, NOT_LOCAL},
    {"QLinearLeakyRelu", lower_as_one, "leaky_relu", NULL, NOT_LOCAL},
    {"QLinearMul", lower_as_one, "mul", NULL, NOT_LOCAL},
    {"QLinearReduceMean", lower_as_one, "mean", NULL, NOT_LOCAL},
    {"QLinearSigmoid", lower_as_one, "sigmoid", NULL, NOT_LOCAL},
    {"QLinearSoftmax", lower_as_one, "_softmax", NULL, NOT_LOCAL},
    {"QLinearWhere", lower_as_one, "where", NULL, NOT_LOCAL},
    {"RandomNormal", lower_as_one, "full", NULL, NOT_LOCAL},
    {"RandomNormalLike", lower_as_one, "full", NULL, NOT_LOCAL},
    {"RandomUniform", lower_as_one, "full", NULL, NOT_LOCAL},
    {"RandomUniformLike", lower_as_one, "full", NULL, NOT_LOCAL},
    {"ScaledTanh", lower_as_one, "tanh", NULL, NOT_LOCAL},
    {"Scatter", lower_as_one, "scatter", NULL, NOT_LOCAL},
    {"Shrink", lower_as_one, "relu", NULL, NOT_LOCAL},
    {"Unique", lower_as_one, "sort", NULL, NOT_LOCAL},
    {"ReduceL1", lower_reduce, "sum", NULL, NOT_LOCAL},
    {"ReduceSumSquare", lower_reduce, "sum", NULL, NOT_LOCAL},
    {"ReduceProd", lower_reduce, "prod", NULL, NOT_LOCAL},
    {"ReduceLogSum", lower_reduce, "logsumexp", NULL, NOT_LOCAL},
    {"ReduceLogSumExp", lower_reduce, "logsumexp", NULL, NOT_LOCAL},
    {"Sum", lower_variadic, NULL, NULL, NOT_LOCAL},
    {"Mean", lower_variadic, NULL, NULL, NOT_LOCAL},
    {"LRN", lower_response_norm, NULL, NULL, NOT_LOCAL},
    {"InstanceNormalization", lower_instance_norm, NULL, NULL, NOT_LOCAL},
    {"MeanVarianceNormalization", lower_mean_variance_norm, NULL, NULL, NOT_LOCAL},
    {"Col2Im", lower_fold, NULL, NULL, NOT_LOCAL},
    {"SimplifiedLayerNormalization", lower_layer_norm, NULL, NULL, NOT_LOCAL},
    {"SkipLayerNormalization", lower_skip_norm, NULL, NULL, NOT_LOCAL},
    {"SkipSimplifiedLayerNormalization", lower_skip_norm, NULL, NULL, NOT_LOCAL},
    {"Upsample", lower_resize, NULL, NULL, NOT_LOCAL},
    {"MatMulInteger", lower_matmul, NULL, NULL, NOT_LOCAL},
    {"MatMulIntegerToFloat", lower_matmul, NULL, NULL, NOT_LOCAL},
    {"DynamicQuantizeMatMul", lower_matmul, NULL, NULL, NOT_LOCAL},
    {"QLinearMatMul", lower_matmul, NULL, NULL, NOT_LOCAL},
    {"FusedMatMul", lower_matmul, NULL, NULL, NOT_LOCAL},
    {"FusedGemm", lower_gemm, NULL, NULL, NOT_LOCAL},
    {"FusedConv", lower_conv, NULL, NULL, NOT_LOCAL},
    {"ConvInteger", lower_conv, NULL, NULL, NOT_LOCAL},
    {"QLinearConv", lower_conv, NULL, NULL, NOT_LOCAL},
    {"MatMulNBits", lower_packed_product, NULL, NULL, NOT_LOCAL},
    {"GroupQueryAttention", lower_contrib_attention, NULL, NULL, NOT_LOCAL},
    {"MultiHeadAttention", lower_contrib_attention, NULL, NULL, NOT_LOCAL},
};

/* Looks each operator up once: a network has many nodes but few operators. */
static const struct lowering *lowering_of(const eager *e, const node *n)
{
    static const struct lowering NONE = {"", lower_unknown, NULL, NULL, NOT_LOCAL};
    const struct lowering **known = &e->lowerings[n->op - e->ops];
    if (*known != NULL)
        return *known;
    *known = &NONE;
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES && *known == &NONE; i++)
        if (node_is(n, RULES[i].op))
            *known = &RULES[i];
    return *known;
}

/* Finds patterns that end at this node and that PyTorch dispatches as one operator; fills e->instead. */
static void find_patterns_at(eager *e, const node *n)
{
    if (!n->op || n->output_count < 1 || n->outputs[0] == NO_VALUE || n->input_count < n->op->min_inputs)
        return;
    find_pattern *finds = lowering_of(e, n)->finds;
    if (finds)
        finds(e, n);
}

const char *eager_aten_name(const eager *e)
{
    const struct lowering *l = lowering_of(e, e->node);
    return l->aten ? l->aten : e->node->type.ptr;
}

/* x[a:b] = y in a program: a copy to a part of x, which keeps its memory and its type. */
static void lower_part_write(eager *e)
{
    tensor_id whole = eager_input_of(e, 0), part = eager_input_of(e, 1);
    extent x = tensor_extent(e, whole), y = tensor_extent(e, part);
    memcpy(y.strides, x.strides, sizeof y.strides); /* The part is usually a slice, which keeps the strides. */
    tensor_id target = eager_view_as(e, "slice", whole, &y);
    e->out->tensors.items[target].dtype = tensor_dtype(e, whole);
    eager_launch(e, "copy_", &part, 1, target, KERNEL_IN_PLACE);
    eager_set_result(e, 0, eager_view_as(e, "alias", whole, &x));
}

/* Lowers an operator without a rule: a view launches nothing, any other operator is one kernel with the file's name
 * for it. */
void lower_unknown(eager *e)
{
    const node *n = e->node;
    if (str_is(n->type, "aten::copy") && n->input_count == 2 && n->output_count == 1 &&
        eager_input_rank(e, 0) == eager_input_rank(e, 1)) {
        lower_part_write(e);
        return;
    }
    tensor_id *inputs = ARENA_ARRAY(e->arena, tensor_id, (size_t)n->input_count + 1);
    for (int i = 0; i < n->input_count; i++)
        inputs[i] = eager_input_of(e, i);
    dtype real = DT_UNKNOWN; /* of the first floating-point input */
    for (int i = 0; i < n->input_count && real == DT_UNKNOWN; i++)
        if (inputs[i] != NO_TENSOR && dtype_is_float(tensor_dtype(e, inputs[i])))
            real = tensor_dtype(e, inputs[i]);
    for (int i = 0; i < n->output_count; i++) {
        if (n->outputs[i] == NO_VALUE)
            continue;
        extent x = eager_output_extent(e, i);
        dtype type = e->net->values.items[n->outputs[i]].dtype;
        if (dtype_is_float(type))
            type = real != DT_UNKNOWN ? real : e->weight_dtype;
        tensor_id made = eager_tensor_new(e, type, &x);
        eager_launch(e, "", inputs, i == 0 ? n->input_count : 0, made, i == 0 ? KERNEL_UNKNOWN : KERNEL_VIEW)->file_op =
            n->type.ptr;
        eager_set_result(e, i, made);
    }
    e->out->unknown_count++;
}

static dtype low_dtype(lower_precision p)
{
    return p == PRECISION_AMP_FP16 ? DT_FLOAT16 : p == PRECISION_AMP_BF16 ? DT_BFLOAT16 : DT_UNKNOWN;
}

static dtype weight_dtype(lower_precision p)
{
    return p == PRECISION_FP16 ? DT_FLOAT16 : p == PRECISION_BF16 ? DT_BFLOAT16 : DT_FLOAT32;
}

/* Counts the readers of each value and marks constant expressions in one pass over the nodes. Skips unused values, of
 * which folding leaves many. */
static void find_readers(eager *e)
{
    const network *net = e->net;
    size_t count = (size_t)net->values.count + 1;
    int32_t *readers = ARENA_ARRAY(e->arena, int32_t, count);
    node_id *first = arena_room(e->arena, count, sizeof *first);
    bool *is_static = ARENA_ARRAY(e->arena, bool, count);
    memset(first, 0xff, count * sizeof *first); /* NO_NODE */
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        bool all = n->op != NULL;
        for (int32_t k = 0; k < n->input_count; k++) {
            value_id v = n->inputs[k];
            if (v == NO_VALUE)
                continue;
            if (first[v] == NO_NODE) {
                const value *val = &net->values.items[v];
                first[v] = i;
                is_static[v] |= val->producer == NO_NODE && !val->is_input;
                e->out->has_packed_weights |= val->tensor && val->tensor->packed_bytes > 0;
            }
            all &= is_static[v];
            readers[v]++;
        }
        for (int32_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] != NO_VALUE)
                is_static[n->outputs[k]] = all;
    }
    for (int32_t i = 0; i < net->outputs.count; i++)
        readers[net->outputs.items[i]]++;
    e->readers = readers;
    e->first_reader = first;
    e->is_static = is_static;
}

/* True for integer tables computed from constants, which PyTorch computes once when it builds the network. */
static bool is_fixed_index(const eager *e)
{
    for (int i = 0; i < e->node->output_count; i++) {
        value_id v = e->node->outputs[i];
        if (v != NO_VALUE && (!e->is_static[v] || !dtype_is_integer(e->net->values.items[v].dtype)))
            return false;
    }
    return e->node->output_count > 0;
}

/* True for a depthwise filter after reflection padding: an anti-aliasing blur before downsampling. */
static bool is_blur(const eager *e, const node *conv, const value *weight)
{
    const node *pad = eager_maker_of(e, conv->inputs[0], "Pad");
    return pad && conv->input_count == 2 && weight->rank == 4 && weight->dims[1] == 1 &&
           str_is(node_attr_string(pad, "mode", ""), "reflect");
}

/* True for positions, which rotary embeddings multiply by their frequencies. */
static bool is_cast_of_integers(const eager *e, value_id v)
{
    enum { MOST_VIEWS = 4 };
    for (int i = 0; i < MOST_VIEWS && v != NO_VALUE; i++) {
        const node *n = eager_maker_of(e, v, NULL);
        if (!n || n->input_count < 1 || n->inputs[0] == NO_VALUE)
            return false;
        v = n->inputs[0];
        if (node_is(n, "Cast"))
            return dtype_is_integer(e->net->values.items[v].dtype);
        if (!node_is(n, "Unsqueeze") && !node_is(n, "Reshape") && !node_is(n, "Expand") && !node_is(n, "Transpose"))
            return false;
    }
    return false;
}

/* True if a weight is a parameter, false if it is a buffer. Files do not distinguish them, so the first reader
 * decides. Buffers are blur filters, frequencies of rotary embeddings, the part of a packed bias that belongs to keys,
 * window masks shared by all heads, position tables, and divisors in weight standardization. */
bool eager_is_learned(const eager *e, value_id v)
{
    const value *val = &e->net->values.items[v];
    const node *reader = eager_reader_of(e, v);
    if (e->is_stated)
        return val->is_initializer && !val->is_constant_node;
    if (!reader)
        return true;
    bool is_first = reader->inputs[0] == v;
    int rank = val->rank;
    bool is_square = rank >= 2 && val->dims[rank - 1] == val->dims[rank - 2];
    if (node_is(reader, "Conv"))
        return !is_blur(e, reader, val);
    if (node_is(reader, "Mul") || node_is(reader, "MatMul"))
        return !is_cast_of_integers(e, reader->inputs[is_first ? 1 : 0]);
    if (node_is(reader, "Concat"))
        return rank != 1 || reader->input_count != 3 || reader->inputs[1] != v;
    if (node_is(reader, "Unsqueeze"))
        return rank != 3 || !is_square;
    if (node_is(reader, "Expand"))
        return rank != 2 || !is_square;
    if (node_is(reader, "Einsum"))
        return is_first || !e->is_static[reader->inputs[0]];
    if (node_is(reader, "WeightStandardization"))
        return rank != 1;
    /* True for the sine and cosine tables that rotary embeddings slice; other sliced weights belong to products. */
    if (node_is(reader, "Slice")) {
        const node *after = eager_reader_of(e, reader->outputs[0]);
        return !after || !node_is(after, "Mul");
    }
    return !node_is(reader, "Div") && !node_is(reader, "Tile");
}

/* True if the kernels of an equal earlier node can be copied. */
static bool is_local(const eager *e, locality local)
{
    const node *n = e->node;
    switch (local) {
    case NOT_LOCAL:
        return false;
    case LOCAL:
        return true;
    case LOCAL_IF_NOT_PADDED:
        return !eager_maker_of(e, n->inputs[0], "Pad");
    case LOCAL_IF_COMPUTED:
        break;
    }
    for (int i = 0; i < n->input_count; i++) {
        value_id v = n->inputs[i];
        if (v == NO_VALUE)
            return false;
        const value *val = &e->net->values.items[v];
        if (e->is_static[v] && (i == 0 || val->rank != 0 || val->producer != NO_NODE))
            return false;
    }
    return true;
}

/* Casts a rotary embedding's fp32 result back immediately (type_as), as PyTorch code does. This matters for memory. */
static void cast_back(eager *e)
{
    value_id made = e->node->outputs[0];
    if (!e->autocasts || made == NO_VALUE || e->readers[made] != 1 || e->of_value[made] == NO_TENSOR ||
        (!node_is(e->node, "Concat") && !node_is(e->node, "Add")))
        return;
    const node *reader = eager_reader_of(e, made);
    if (reader && node_is(reader, "ScaledDotProductAttention") && tensor_dtype(e, e->of_value[made]) == DT_FLOAT32 &&
        (reader->inputs[0] == made || reader->inputs[1] == made))
        e->of_value[made] = eager_to_low(e, e->of_value[made]);
}

static void lower_node(eager *e)
{
    lower_rule instead = e->instead[e->layer];
    if (instead || !e->node->op || !eager_is_whole(e->node)) {
        (instead ? instead : lower_unknown)(e);
        return;
    }
    const struct lowering *l = lowering_of(e, e->node);
    bool may_repeat = !e->trains && is_local(e, l->local);
    if (may_repeat && repeats_copied(e))
        return;
    tensor_id own = eager_enter_norm(e);
    l->rule(e);
    eager_leave_norm(e, own);
    if (!e->is_stated)
        cast_back(e);
    if (may_repeat)
        repeats_keep(e);
}

/* Code without autocast inside a program. */
static dtype low_of_node(const eager *e)
{
    return node_attr_int(e->node, "eager_exact", 0) ? DT_UNKNOWN : low_dtype(e->options->precision);
}

/* Lowers the call or node at `at`; returns the last node lowered. */
static int32_t lower_stated(eager *e, int32_t at)
{
    if (e->is_unneeded[at])
        return at;
    e->low = low_of_node(e);
    if (eager_lower_call(e, &at) || e->node->is_dead)
        return at;
    lower_node(e);
    return at;
}

program *lower_eager(sooth_model *model, const lower_options *options, arena *a)
{
    network *net = &model->net;
    eager e = {.model = model,
               .net = net,
               .out = ARENA_NEW(a, program),
               .options = options,
               .arena = a,
               .low = low_dtype(options->precision),
               .weight_dtype = weight_dtype(options->precision),
               .of_value = arena_room(a, (size_t)net->values.count + 1, sizeof(tensor_id)),
               .of_turned = arena_room(a, (size_t)net->values.count + 1, sizeof(tensor_id)),
               .trains = options->mode != MODE_INFER,
               .is_stated = model->source.is_literal && model->source.states_in_place,
               .transformers = options->mode != MODE_INFER ? eager_transformers_version(model) : 0,
               .in_float = NO_VALUE,
               .layer = NO_NODE};
    e.autocasts = e.low != DT_UNKNOWN;
    size_t op_count;
    e.ops = ops_all(&op_count);
    e.lowerings = ARENA_ARRAY(a, const struct lowering *, op_count);
    /* Reserves room for most networks' casts and copies, because unused room is free but growing arrays moves them. */
    ARENA_RESERVE(a, &e.out->kernels, 2 * (size_t)net->nodes.count + 16);
    ARENA_RESERVE(a, &e.out->like, 2 * (size_t)net->nodes.count + 16);
    ARENA_RESERVE(a, &e.out->tensors, 2 * (size_t)net->values.count + 16);
    ARENA_RESERVE(a, &e.bytes, 2 * (size_t)net->values.count + 16);
    find_readers(&e);
    memset(e.of_value, 0xff, (size_t)net->values.count * sizeof *e.of_value); /* NO_TENSOR */
    memset(e.of_turned, 0xff, (size_t)net->values.count * sizeof *e.of_turned);
    if (e.is_stated) {
        e.of_low = arena_room(a, (size_t)net->values.count + 1, sizeof(tensor_id));
        memset(e.of_low, 0xff, (size_t)net->values.count * sizeof *e.of_low);
        eager_leave_out_masks(&e);
    }
    repeats_begin(&e);
    e.instead = ARENA_ARRAY(a, lower_rule, (size_t)net->nodes.count + 1);
    for (int32_t i = 0; i < net->nodes.count && !e.is_stated; i++)
        find_patterns_at(&e, &net->nodes.items[i]);
    for (int32_t i = 0; i < net->nodes.count; i++) {
        e.node = &net->nodes.items[i];
        e.is_turned = eager_has_channels_last(e.node);
        e.turns_all = !e.is_turned && !e.instead[i] && eager_continues_turned(&e);
        e.is_turned |= e.turns_all;
        e.layer = i;
        if (e.is_stated)
            i = lower_stated(&e, i);
        else if (!e.node->is_dead && !e.node->is_host && !is_fixed_index(&e))
            lower_node(&e);
    }
    if (options->mode == MODE_TRAIN)
        lower_training(&e);
    return e.out;
}
