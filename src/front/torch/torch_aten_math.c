/* torch_aten_math.c: ATen's arithmetic, comparisons, activations and reductions. */
#include "front/torch/torch.h"

#include <math.h>

/* ---- one operand ------------------------------------------------------------------------------------------------- */

/* Real functions convert integers to float32. */
static value_id as_real(torch *t, value_id x)
{
    return x != NO_VALUE && dtype_is_integer(torch_at(t, x)->dtype) ? torch_cast(t, x, DT_FLOAT32) : x;
}

static void rule_unary(torch_call *c)
{
    torch_return(c, torch_emit1(c->torch, c->op->canonical, torch_arg_tensor(c, 0)));
}

static void rule_real(torch_call *c)
{
    torch_return(c, torch_emit1(c->torch, c->op->canonical, as_real(c->torch, torch_arg_tensor(c, 0))));
}

static void rule_dropout(torch_call *c)
{
    if (!torch_arg_bool(c, 2, true)) {
        torch_return_same(c);
        return;
    }
    torch *t = c->torch;
    value_id training = torch_const_int(t, 1, DT_BOOL);
    torch_return(c, torch_emit3(t, "Dropout", torch_arg_tensor(c, 0),
                                torch_const_real(t, torch_arg_real(c, 1, 0.5), DT_FLOAT32), training));
}

static void rule_silu(torch_call *c)
{
    value_id x = torch_arg_tensor(c, 0);
    torch_node n = torch_begin(c->torch, "Mul");
    torch_in(&n, x);
    torch_in(&n, torch_emit1(c->torch, "Sigmoid", x));
    if (c->torch->is_exact)
        torch_attr_int(&n, "eager_silu", 1);
    torch_return(c, torch_end(&n));
}

static void rule_gelu(torch_call *c)
{
    torch_node n = torch_begin(c->torch, "Gelu");
    torch_in(&n, torch_arg_tensor(c, 0));
    if (c->args[1].kind == TORCH_TEXT && str_is(c->args[1].text, "tanh"))
        torch_attr_text(&n, "approximate", STR("tanh"));
    torch_return(c, torch_end(&n));
}

static void rule_hardsigmoid(torch_call *c)
{
    torch_node n = torch_begin(c->torch, "HardSigmoid");
    torch_in(&n, torch_arg_tensor(c, 0));
    torch_attr_real(&n, "alpha", 1.0 / 6);
    torch_return(c, torch_end(&n));
}

/* leaky_relu, elu, celu: one number becomes the attribute "alpha". */
static void rule_alpha(torch_call *c)
{
    torch_node n = torch_begin(c->torch, c->op->canonical);
    torch_in(&n, torch_arg_tensor(c, 0));
    torch_attr_real(&n, "alpha", torch_arg_real(c, 1, str_is(str_of(c->op->name), "leaky_relu") ? 0.01 : 1));
    torch_return(c, torch_end(&n));
}

static void clip(torch_call *c, torch_value low, torch_value high)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    dtype type = torch_at(t, x)->dtype;
    if (low.kind == TORCH_REAL || high.kind == TORCH_REAL) {
        x = as_real(t, x);
        type = torch_at(t, x)->dtype;
    }
    torch_node n = torch_begin(t, "Clip");
    torch_in(&n, x);
    torch_in(&n, torch_operand(t, low, type));
    torch_in(&n, torch_operand(t, high, type));
    if (t->is_exact && str_is(str_of(c->op->name), "clamp"))
        torch_attr_int(&n, "eager_clamp", 1);
    torch_return(c, torch_end(&n));
}

static void rule_clamp(torch_call *c)
{
    clip(c, c->args[1], c->args[2]);
}

static void rule_clamp_min(torch_call *c)
{
    clip(c, c->args[1], torch_none());
}

static void rule_clamp_max(torch_call *c)
{
    clip(c, torch_none(), c->args[1]);
}

static void rule_hardtanh(torch_call *c)
{
    clip(c, torch_real(torch_arg_real(c, 1, -1)), torch_real(torch_arg_real(c, 2, 1)));
}

static void rule_relu6(torch_call *c)
{
    clip(c, torch_real(0), torch_real(6));
}

/* One slope per channel, the second dimension. */
static void rule_prelu(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), slope = torch_arg_tensor(c, 1);
    int rank = torch_rank(t, x);
    if (torch_rank(t, slope) == 1 && torch_dim(t, slope, 0) != 1 && rank > 2) {
        num dims[MAX_RANK] = {torch_dim(t, slope, 0)};
        for (int i = 1; i < rank - 1; i++)
            dims[i] = 1;
        slope = torch_reshape(t, slope, dims, rank - 1);
    }
    torch_return(c, torch_emit2(t, "PRelu", x, slope));
}

static void rule_rsqrt(torch_call *c)
{
    torch_return(c, torch_emit1(c->torch, "Reciprocal",
                                torch_emit1(c->torch, "Sqrt", as_real(c->torch, torch_arg_tensor(c, 0)))));
}

static void rule_square(torch_call *c)
{
    value_id x = torch_arg_tensor(c, 0);
    torch_return(c, torch_emit2(c->torch, "Mul", x, x));
}

static void rule_log2(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_emit1(t, "Log", as_real(t, torch_arg_tensor(c, 0)));
    torch_return(c, torch_emit2(t, "Div", x, torch_const_real(t, 0.6931471805599453, torch_at(t, x)->dtype)));
}

static void rule_expm1(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_emit1(t, "Exp", as_real(t, torch_arg_tensor(c, 0)));
    torch_return(c, torch_emit2(t, "Sub", x, torch_const_real(t, 1, torch_at(t, x)->dtype)));
}

static void rule_logical_not(torch_call *c)
{
    torch_return(c, torch_emit1(c->torch, "Not", torch_cast(c->torch, torch_arg_tensor(c, 0), DT_BOOL)));
}

static void rule_bitwise_not(torch_call *c)
{
    value_id x = torch_arg_tensor(c, 0);
    torch_return(c, torch_emit1(c->torch, torch_at(c->torch, x)->dtype == DT_BOOL ? "Not" : "BitwiseNot", x));
}

static void rule_softmax(torch_call *c)
{
    torch *t = c->torch;
    torch_node n = torch_begin(t, c->op->canonical);
    torch_in(&n, torch_cast(t, torch_arg_tensor(c, 0), torch_arg_dtype(c, 2, DT_UNKNOWN)));
    if (t->is_exact && torch_arg_dtype(c, 2, DT_UNKNOWN) == DT_FLOAT32)
        torch_attr_int(&n, "eager_float", 1);
    num axis = torch_arg_int(c, 1, -1);
    torch_attr_int(&n, "axis", num_known(axis) ? axis : -1);
    torch_return(c, torch_end(&n));
}

static void rule_glu(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), halves[2];
    num axis = torch_arg_int(c, 1, -1);
    torch_node n = torch_begin(t, "Split");
    torch_in(&n, x);
    torch_attr_int(&n, "axis", num_known(axis) ? axis : -1);
    torch_attr_int(&n, "num_outputs", 2);
    torch_end_many(&n, halves, 2);
    torch_return(c, torch_emit2(t, "Mul", halves[0], torch_emit1(t, "Sigmoid", halves[1])));
}

/* ---- two operands ------------------------------------------------------------------------------------------------ */

static value_id binary(torch *t, const char *op, torch_value a, torch_value b, dtype type)
{
    value_id x = torch_operand(t, a, type), y = torch_operand(t, b, type);
    if (x == NO_VALUE || y == NO_VALUE)
        return x == NO_VALUE ? y : x;
    return torch_emit2(t, op, torch_cast(t, x, type), torch_cast(t, y, type));
}

static void rule_binary(torch_call *c)
{
    torch *t = c->torch;
    torch_return(c, binary(t, c->op->canonical, c->args[0], c->args[1], torch_promoted(t, c->args[0], c->args[1])));
}

/* Bools and integers need different ONNX operators. */
static void rule_bitwise(torch_call *c)
{
    torch *t = c->torch;
    dtype type = torch_promoted(t, c->args[0], c->args[1]);
    const char *op = c->op->canonical;
    if (type == DT_BOOL)
        op = op[7] == 'A' ? "And" : op[7] == 'O' ? "Or" : "Xor";
    torch_return(c, binary(t, op, c->args[0], c->args[1], type));
}

static void rule_logical(torch_call *c)
{
    torch_return(c, binary(c->torch, c->op->canonical, c->args[0], c->args[1], DT_BOOL));
}

static void rule_not_equal(torch_call *c)
{
    torch *t = c->torch;
    torch_return(c, torch_emit1(t, "Not",
                                binary(t, "Equal", c->args[0], c->args[1], torch_promoted(t, c->args[0], c->args[1]))));
}

/* Adds or subtracts `alpha` times the second operand. */
static void add_scaled(torch_call *c, const char *op, torch_value a, torch_value b, int alpha)
{
    torch *t = c->torch;
    dtype type = torch_promoted(t, a, b);
    /* In exact programs the kernel applies the factor itself. */
    double factor = t->is_exact ? 1 : torch_arg_real(c, alpha, 1);
    if (factor != 1 && b.kind == TORCH_REAL)
        b.real *= factor;
    else if (factor != 1)
        b = torch_tensor(binary(t, "Mul", b, torch_real(factor), type));
    torch_return(c, binary(t, op, a, b, type));
    if (t->is_exact && torch_arg_real(c, alpha, 1) != 1)
        torch_mark(t, c->results[0].tensor, "eager_scales");
}

static void rule_add(torch_call *c)
{
    add_scaled(c, c->op->canonical, c->args[0], c->args[1], 2);
}

static void rule_rsub(torch_call *c)
{
    add_scaled(c, "Sub", c->args[1], c->args[0], 2);
}

static void rule_add_relu(torch_call *c)
{
    add_scaled(c, "Add", c->args[0], c->args[1], 2);
    c->results[0].tensor = torch_emit1(c->torch, "Relu", c->results[0].tensor);
}

static void rule_div(torch_call *c)
{
    torch *t = c->torch;
    dtype type = torch_promoted(t, c->args[0], c->args[1]);
    bool rounded = c->args[2].kind == TORCH_TEXT || str_is(str_of(c->op->name), "floor_divide");
    if (!rounded && dtype_is_integer(type))
        type = DT_FLOAT32;
    value_id quotient = binary(t, "Div", c->args[0], c->args[1], type);
    if (rounded && !dtype_is_integer(type))
        quotient = torch_emit1(t, "Floor", quotient);
    torch_return(c, quotient);
}

static void rule_pow(torch_call *c)
{
    torch *t = c->torch;
    dtype type = torch_promoted(t, c->args[0], c->args[1]);
    if (c->args[0].kind == TORCH_TENSOR && c->args[1].kind != TORCH_TENSOR && torch_arg_real(c, 1, 0) == 2) {
        rule_square(c);
        return;
    }
    torch_return(c, binary(t, "Pow", c->args[0], c->args[1], type));
}

static void rule_lerp(torch_call *c)
{
    torch *t = c->torch;
    dtype type = torch_at(t, torch_arg_tensor(c, 0))->dtype;
    torch_value apart = torch_tensor(binary(t, "Sub", c->args[1], c->args[0], type));
    apart = torch_tensor(binary(t, "Mul", apart, c->args[2], type));
    torch_return(c, binary(t, "Add", c->args[0], apart, type));
}

/* self + value * first * second, or / second */
static void rule_addcmul(torch_call *c)
{
    torch *t = c->torch;
    dtype type = torch_at(t, torch_arg_tensor(c, 0))->dtype;
    torch_value product = torch_tensor(binary(t, c->op->canonical, c->args[1], c->args[2], type));
    if (torch_arg_real(c, 3, 1) != 1)
        product = torch_tensor(binary(t, "Mul", product, c->args[3], type));
    torch_return(c, binary(t, "Add", c->args[0], product, type));
}

static void rule_where(torch_call *c)
{
    torch *t = c->torch;
    if (!c->given[1]) { /* where(condition): the indices where it is true, one tensor per dimension */
        value_id found = torch_emit1(t, "NonZero", torch_arg_tensor(c, 0));
        int rank = torch_rank(t, torch_arg_tensor(c, 0));
        torch_value list = torch_new_list(t, TORCH_LIST, rank < 1 ? 1 : rank);
        for (int i = 0; i < list.list->count; i++) {
            torch_node n = torch_begin(t, "Gather");
            torch_in(&n, found);
            torch_in(&n, torch_const_int(t, i, DT_INT64));
            torch_attr_int(&n, "axis", 0);
            list.list->items[i] = torch_tensor(torch_end(&n));
        }
        c->results[c->result_count++] = list;
        return;
    }
    dtype type = torch_promoted(t, c->args[1], c->args[2]);
    torch_return(c, torch_emit3(t, "Where", torch_cast(t, torch_arg_tensor(c, 0), DT_BOOL),
                                torch_cast(t, torch_operand(t, c->args[1], type), type),
                                torch_cast(t, torch_operand(t, c->args[2], type), type)));
}

static void rule_masked_fill(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    dtype type = torch_at(t, x)->dtype;
    value_id filler = torch_cast(t, torch_operand(t, c->args[2], type), type);
    torch_return(c, torch_emit3(t, "Where", torch_cast(t, torch_arg_tensor(c, 1), DT_BOOL), filler, x));
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* Reduces all dimensions if none are given. */
static value_id reduced(torch *t, const char *op, value_id x, const num *axes, int count, bool keep)
{
    torch_node n = torch_begin(t, op);
    torch_in(&n, x);
    if (count > 0)
        torch_in(&n, torch_const_ints(t, axes, count));
    torch_attr_int(&n, "keepdims", keep);
    return torch_end(&n);
}

static value_id summed_type(torch_call *c, value_id x, int type_at)
{
    torch *t = c->torch;
    dtype type = torch_arg_dtype(c, type_at, DT_UNKNOWN);
    if (type == DT_UNKNOWN && dtype_is_integer(torch_at(t, x)->dtype))
        type = str_is(str_of(c->op->name), "mean") ? DT_FLOAT32 : DT_INT64;
    return torch_cast(t, x, type);
}

/* (self, dim, keepdim, dtype); without dim the second argument may be dtype. */
static void rule_reduce(torch_call *c)
{
    num axes[MAX_RANK];
    int count = torch_arg_ints(c, 1, axes);
    value_id x = summed_type(c, torch_arg_tensor(c, 0), 3);
    torch_return(c, reduced(c->torch, c->op->canonical, x, axes, count, torch_arg_bool(c, 2, false)));
}

static void rule_reduce_plain(torch_call *c)
{
    num axes[MAX_RANK];
    int count = torch_arg_ints(c, 1, axes);
    torch_return(c,
                 reduced(c->torch, c->op->canonical, torch_arg_tensor(c, 0), axes, count, torch_arg_bool(c, 2, false)));
}

static void rule_any(torch_call *c)
{
    torch *t = c->torch;
    num axes[MAX_RANK];
    int count = torch_arg_ints(c, 1, axes);
    value_id x = torch_cast(t, torch_arg_tensor(c, 0), DT_INT32);
    torch_return(c, torch_cast(t, reduced(t, c->op->canonical, x, axes, count, torch_arg_bool(c, 2, false)), DT_BOOL));
}

static value_id arg_extreme(torch *t, const char *op, value_id x, int64_t axis, bool keep)
{
    torch_node n = torch_begin(t, op);
    torch_in(&n, x);
    torch_attr_int(&n, "axis", axis);
    torch_attr_int(&n, "keepdims", keep);
    return torch_end(&n);
}

static void rule_argmax(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num axis = torch_arg_int(c, 1, NUM_UNKNOWN);
    if (c->args[1].kind == TORCH_NONE) {
        x = torch_reshape(t, x, (num[]){-1}, 1);
        axis = 0;
    }
    torch_return(c, arg_extreme(t, c->op->canonical, x, num_known(axis) ? axis : -1, torch_arg_bool(c, 2, false)));
}

/* max and min: over all elements, of two tensors, or along one dimension with indices. */
static void rule_max(torch_call *c)
{
    torch *t = c->torch;
    bool largest = str_is(str_of(c->op->name), "max");
    if (c->args[1].kind == TORCH_TENSOR) {
        torch_return(
            c, binary(t, largest ? "Max" : "Min", c->args[0], c->args[1], torch_promoted(t, c->args[0], c->args[1])));
        return;
    }
    value_id x = torch_arg_tensor(c, 0);
    num axis = torch_arg_int(c, 1, NUM_UNKNOWN);
    bool keep = torch_arg_bool(c, 2, false), all = c->args[1].kind == TORCH_NONE;
    torch_return(c, reduced(t, largest ? "ReduceMax" : "ReduceMin", x, &axis, all ? 0 : 1, keep));
    if (!all)
        torch_return(c, arg_extreme(t, largest ? "ArgMax" : "ArgMin", x, num_known(axis) ? axis : -1, keep));
}

static void rule_norm(torch_call *c)
{
    num axes[MAX_RANK];
    int count = torch_arg_ints(c, 2, axes);
    double order = torch_arg_real(c, 1, 2);
    const char *op = order == 1 ? "ReduceL1" : isinf(order) ? "ReduceMax" : "ReduceL2";
    torch_return(c, reduced(c->torch, op, torch_arg_tensor(c, 0), axes, count, torch_arg_bool(c, 3, false)));
}

/* Mean of squared deviations from the mean. */
static value_id variance(torch *t, value_id x, const num *axes, int count, bool keep, value_id *mean)
{
    *mean = reduced(t, "ReduceMean", x, axes, count, true);
    value_id rest = torch_emit2(t, "Sub", x, *mean);
    return reduced(t, "ReduceMean", torch_emit2(t, "Mul", rest, rest), axes, count, keep);
}

static void rule_variance(torch_call *c)
{
    torch *t = c->torch;
    num axes[MAX_RANK];
    bool has_axes = torch_is_list(c->args[1]) || c->args[1].kind == TORCH_INT;
    int count = has_axes ? torch_arg_ints(c, 1, axes) : 0;
    str name = str_of(c->op->name);
    value_id mean, result = variance(t, torch_arg_tensor(c, 0), axes, count, torch_arg_bool(c, 3, false), &mean);
    if (str_starts(name, "std"))
        result = torch_emit1(t, "Sqrt", result);
    torch_return(c, result);
    if (!str_ends(name, "_mean"))
        return;
    bool is_dropped = !torch_arg_bool(c, 3, false) && torch_rank(t, result) >= 0;
    torch_return(c, is_dropped ? torch_reshape(t, mean, torch_at(t, result)->dims, torch_rank(t, result)) : mean);
}

static void rule_cumsum(torch_call *c)
{
    torch *t = c->torch;
    value_id x = summed_type(c, torch_arg_tensor(c, 0), 2);
    torch_return(c, torch_emit2(t, c->op->canonical, x, torch_const_int(t, torch_arg_int(c, 1, 0), DT_INT64)));
}

/* clang-format off */
static const torch_op OPS[] = {
    {"abs", "input", rule_unary, "Abs"},
    {"acos", "input", rule_real, "Acos"},
    {"acosh", "input", rule_real, "Acosh"},
    {"asin", "input", rule_real, "Asin"},
    {"asinh", "input", rule_real, "Asinh"},
    {"atan", "input", rule_real, "Atan"},
    {"atanh", "input", rule_real, "Atanh"},
    {"ceil", "input", rule_unary, "Ceil"},
    {"cos", "input", rule_real, "Cos"},
    {"cosh", "input", rule_real, "Cosh"},
    {"erf", "input", rule_real, "Erf"},
    {"exp", "input", rule_real, "Exp"},
    {"expm1", "input", rule_expm1, NULL},
    {"floor", "input", rule_unary, "Floor"},
    {"isinf", "input", rule_unary, "IsInf"},
    {"isnan", "input", rule_unary, "IsNaN"},
    {"log", "input", rule_real, "Log"},
    {"log2", "input", rule_log2, NULL},
    {"logical_not", "input", rule_logical_not, NULL},
    {"bitwise_not", "input", rule_bitwise_not, NULL},
    {"neg", "input", rule_unary, "Neg"},
    {"reciprocal", "input", rule_real, "Reciprocal"},
    {"round", "input", rule_unary, "Round"},
    {"rsqrt", "input", rule_rsqrt, NULL},
    {"sign", "input", rule_unary, "Sign"},
    {"sin", "input", rule_real, "Sin"},
    {"sinh", "input", rule_real, "Sinh"},
    {"sqrt", "input", rule_real, "Sqrt"},
    {"square", "input", rule_square, NULL},
    {"tan", "input", rule_real, "Tan"},
    {"tanh", "input", rule_real, "Tanh"},

    {"celu", "input alpha", rule_alpha, "Celu"},
    {"clamp", "input min max", rule_clamp, NULL},
    {"clamp_max", "input max", rule_clamp_max, NULL},
    {"clamp_min", "input min", rule_clamp_min, NULL},
    {"clip", "input min max", rule_clamp, NULL},
    {"elu", "input alpha scale input_scale", rule_alpha, "Elu"},
    {"gelu", "input approximate", rule_gelu, NULL},
    {"glu", "input dim", rule_glu, NULL},
    {"hardsigmoid", "input", rule_hardsigmoid, NULL},
    {"hardswish", "input", rule_unary, "HardSwish"},
    {"hardtanh", "input min_val max_val", rule_hardtanh, NULL},
    {"leaky_relu", "input negative_slope", rule_alpha, "LeakyRelu"},
    {"mish", "input", rule_unary, "Mish"},
    {"prelu", "input weight", rule_prelu, NULL},
    {"_prelu_kernel", "input weight", rule_prelu, NULL},
    {"relu", "input", rule_unary, "Relu"},
    {"relu6", "input", rule_relu6, NULL},
    {"selu", "input", rule_unary, "Selu"},
    {"sigmoid", "input", rule_real, "Sigmoid"},
    {"silu", "input", rule_silu, NULL},
    {"softplus", "input beta threshold", rule_unary, "Softplus"},

    {"log_softmax", "input dim dtype", rule_softmax, "LogSoftmax"},
    {"_log_softmax", "input dim", rule_softmax, "LogSoftmax"},
    {"softmax", "input dim dtype", rule_softmax, "Softmax"},
    {"_softmax", "input dim", rule_softmax, "Softmax"},

    {"alpha_dropout", "input p train", rule_dropout, NULL},
    {"dropout", "input p train", rule_dropout, NULL},
    {"feature_dropout", "input p train", rule_dropout, NULL},
    {"native_dropout", "input p train", rule_dropout, NULL},

    {"__and__", "input other", rule_bitwise, "BitwiseAnd"},
    {"__or__", "input other", rule_bitwise, "BitwiseOr"},
    {"__xor__", "input other", rule_bitwise, "BitwiseXor"},
    {"add", "input other alpha", rule_add, "Add"},
    {"addcdiv", "input tensor1 tensor2 value", rule_addcmul, "Div"},
    {"addcmul", "input tensor1 tensor2 value", rule_addcmul, "Mul"},
    {"_add_relu", "input other alpha", rule_add_relu, NULL},
    {"bitwise_and", "input other", rule_bitwise, "BitwiseAnd"},
    {"bitwise_or", "input other", rule_bitwise, "BitwiseOr"},
    {"bitwise_xor", "input other", rule_bitwise, "BitwiseXor"},
    {"div", "input other rounding_mode", rule_div, NULL},
    {"divide", "input other rounding_mode", rule_div, NULL},
    {"true_divide", "input other", rule_div, NULL},
    {"eq", "input other", rule_binary, "Equal"},
    {"floor_divide", "input other", rule_div, NULL},
    {"fmod", "input other", rule_binary, "Mod"},
    {"ge", "input other", rule_binary, "GreaterOrEqual"},
    {"gt", "input other", rule_binary, "Greater"},
    {"le", "input other", rule_binary, "LessOrEqual"},
    {"lerp", "input end weight", rule_lerp, NULL},
    {"logical_and", "input other", rule_logical, "And"},
    {"logical_or", "input other", rule_logical, "Or"},
    {"logical_xor", "input other", rule_logical, "Xor"},
    {"lt", "input other", rule_binary, "Less"},
    {"masked_fill", "input mask value", rule_masked_fill, NULL},
    {"maximum", "input other", rule_binary, "Max"},
    {"minimum", "input other", rule_binary, "Min"},
    {"mul", "input other", rule_binary, "Mul"},
    {"multiply", "input other", rule_binary, "Mul"},
    {"ne", "input other", rule_not_equal, NULL},
    {"pow", "input exponent", rule_pow, NULL},
    {"remainder", "input other", rule_binary, "Mod"},
    {"rsub", "input other alpha", rule_rsub, NULL},
    {"sub", "input other alpha", rule_add, "Sub"},
    {"where", "condition input other", rule_where, NULL},

    {"all", "input dim keepdim", rule_any, "ReduceMin"},
    {"amax", "input dim keepdim", rule_reduce_plain, "ReduceMax"},
    {"amin", "input dim keepdim", rule_reduce_plain, "ReduceMin"},
    {"any", "input dim keepdim", rule_any, "ReduceMax"},
    {"argmax", "input dim keepdim", rule_argmax, "ArgMax"},
    {"argmin", "input dim keepdim", rule_argmax, "ArgMin"},
    {"cumprod", "input dim dtype", rule_cumsum, "CumProd"},
    {"cumsum", "input dim dtype", rule_cumsum, "CumSum"},
    {"linalg_vector_norm", "input ord dim keepdim dtype", rule_norm, NULL},
    {"logsumexp", "input dim keepdim", rule_reduce_plain, "ReduceLogSumExp"},
    {"max", "input dim keepdim", rule_max, NULL},
    {"mean", "input dim keepdim dtype", rule_reduce, "ReduceMean"},
    {"min", "input dim keepdim", rule_max, NULL},
    {"norm", "input p dim keepdim", rule_norm, NULL},
    {"prod", "input dim keepdim dtype", rule_reduce, "ReduceProd"},
    {"std", "input dim unbiased keepdim", rule_variance, NULL},
    {"std_mean", "input dim correction keepdim", rule_variance, NULL},
    {"sum", "input dim keepdim dtype", rule_reduce, "ReduceSum"},
    {"var", "input dim unbiased keepdim", rule_variance, NULL},
    {"var_mean", "input dim correction keepdim", rule_variance, NULL},
};
/* clang-format on */

const torch_op *torch_ops_math(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
