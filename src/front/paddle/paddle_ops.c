/* paddle_ops.c: maps PaddlePaddle operators to canonical ones: arithmetic and reductions. paddle_ops_shape.c has
 * data movement and creation, paddle_ops_nn.c layers. One row per name; ProgramDesc and PIR name some operators
 * differently. Operators without a row keep their name under the domain "paddle". */
#include "front/paddle/paddle.h"

value_id paddle_out(const named_op *o)
{
    static const char *const NAMES[] = {"Out", "Output", "Y"};
    value_id v = NO_VALUE;
    for (size_t i = 0; v == NO_VALUE && i < sizeof NAMES / sizeof *NAMES; i++)
        v = named_out(o, NAMES[i]);
    return v == NO_VALUE ? named_out_at(o, 0) : v;
}

value_id paddle_x(const named_op *o)
{
    value_id x = named_in(o, "X");
    if (x == NO_VALUE)
        x = named_in(o, "Input");
    return x == NO_VALUE ? named_in_at(o, 0) : x;
}

value_id paddle_out_at(const named_op *o, const char *name, int place)
{
    value_id v = named_out(o, name);
    return v == NO_VALUE && place < o->out_count && o->out[place].name.len == 0 ? named_out_at(o, place) : v;
}

const named_slot *paddle_outs(const named_op *o)
{
    static const named_slot NONE = {0};
    for (int32_t i = 0; i < o->out_count; i++)
        if (o->out[i].count)
            return &o->out[i];
    return &NONE;
}

/* ---- pointwise ------------------------------------------------------------------------------------------------- */

static void map_unary(emitter *e, const named_op *o, const char *canonical)
{
    emit_1(e, canonical, paddle_x(o), paddle_out(o));
}

static void map_grid_sample(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, named_in(o, "X"), named_in(o, "Grid"), paddle_out(o));
}

/* The second operand may have lower rank. Its dimensions then start at `axis`, and trailing dimensions of 1 are
 * added. */
static value_id spread(emitter *e, const named_op *o, value_id x, value_id y)
{
    int64_t axis = named_int(e, o, "axis", -1), axes[MAX_RANK];
    int x_rank = named_declared(e, x)->rank, y_rank = named_declared(e, y)->rank;
    if (axis < 0 || x_rank < 0 || y_rank < 1 || axis >= x_rank - y_rank)
        return y;
    int count = x_rank - (int)axis - y_rank;
    for (int i = 0; i < count; i++)
        axes[i] = y_rank + i;
    return emit_unsqueeze(e, y, axes, count, NO_VALUE);
}

static void map_binary(emitter *e, const named_op *o, const char *canonical)
{
    value_id x = named_in(o, "X"), y = named_in(o, "Y");
    emit_2(e, canonical, x, spread(e, o, x, y), paddle_out(o));
}

static void map_floor_divide(emitter *e, const named_op *o, const char *canonical)
{
    value_id x = named_in(o, "X"), y = spread(e, o, x, named_in(o, "Y"));
    bool is_float = dtype_is_float(named_declared(e, x)->dtype);
    value_id quotient = emit_2(e, canonical, x, y, is_float ? NO_VALUE : paddle_out(o));
    if (is_float)
        emit_1(e, "Floor", quotient, paddle_out(o));
}

static void map_not_equal(emitter *e, const named_op *o, const char *canonical)
{
    emit_1(e, "Not", emit_2(e, canonical, named_in(o, "X"), named_in(o, "Y"), NO_VALUE), paddle_out(o));
}

static void map_all_inputs(emitter *e, const named_op *o, const char *canonical)
{
    const named_slot *x = named_list(o, "X");
    emit_op(e, canonical, x->ids, x->count, paddle_out(o));
}

static void map_alpha(emitter *e, const named_op *o, const char *canonical)
{
    emit_real(emit_op(e, canonical, (const value_id[]){paddle_x(o)}, 1, paddle_out(o)), "alpha",
              named_real(e, o, named_find(o, "negative_slope") ? "negative_slope" : "alpha", 0.01));
}

static void map_relu6(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_clip(e, paddle_x(o), 0, 6, paddle_out(o));
}

static void map_hard_tanh(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_clip(e, paddle_x(o), named_real(e, o, "t_min", 0), named_real(e, o, "t_max", 24), paddle_out(o));
}

static void map_clip(emitter *e, const named_op *o, const char *canonical)
{
    value_id low = named_in(o, "Min"), high = named_in(o, "Max");
    dtype type = named_declared(e, paddle_x(o))->dtype;
    if (low == NO_VALUE)
        low = emit_scalar(e, type, named_real(e, o, "min", -3.4e38));
    if (high == NO_VALUE)
        high = emit_scalar(e, type, named_real(e, o, "max", 3.4e38));
    emit_op(e, canonical, (const value_id[]){paddle_x(o), low, high}, 3, paddle_out(o));
}

static void map_hard_sigmoid(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){paddle_x(o)}, 1, paddle_out(o));
    emit_real(n, "alpha", named_real(e, o, "slope", 0.2));
    emit_real(n, "beta", named_real(e, o, "offset", 0.5));
}

static void map_gelu(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){paddle_x(o)}, 1, paddle_out(o));
    if (named_true(e, o, "approximate"))
        emit_text(n, "approximate", STR("tanh"));
}

static void map_silu(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_2(e, "Mul", paddle_x(o), emit_1(e, "Sigmoid", paddle_x(o), NO_VALUE), paddle_out(o));
}

static void map_rsqrt(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_1(e, "Reciprocal", emit_1(e, "Sqrt", paddle_x(o), NO_VALUE), paddle_out(o));
}

static void map_square(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_2(e, "Mul", paddle_x(o), paddle_x(o), paddle_out(o));
}

static value_id like_x(emitter *e, const named_op *o, double number)
{
    dtype type = named_declared(e, paddle_x(o))->dtype;
    return emit_scalar(e, type == DT_UNKNOWN || type == DT_BOOL ? DT_FLOAT32 : type, number);
}

static void map_log1p(emitter *e, const named_op *o, const char *canonical)
{
    emit_1(e, canonical, emit_2(e, "Add", paddle_x(o), like_x(e, o, 1), NO_VALUE), paddle_out(o));
}

static void map_pow(emitter *e, const named_op *o, const char *canonical)
{
    value_id factor = named_in(o, "FactorTensor");
    if (factor == NO_VALUE)
        factor = like_x(e, o, named_real(e, o, named_find(o, "y") ? "y" : "factor", 1));
    emit_2(e, canonical, paddle_x(o), factor, paddle_out(o));
}

static void map_scale(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    value_id x = paddle_x(o), factor = named_in(o, "ScaleTensor");
    double scale = named_real(e, o, factor == NO_VALUE ? "scale" : "ScaleTensor", factor == NO_VALUE ? 1 : 0);
    double bias = named_real(e, o, "bias", 0);
    bool is_known = factor == NO_VALUE || emit_constant_of(e, factor);
    bool scales = !is_known || scale != 1;
    if (!scales && bias == 0) {
        emit_1(e, "Identity", x, paddle_out(o));
        return;
    }
    if (is_known)
        factor = like_x(e, o, scale);
    if (bias != 0 && scales && !named_int(e, o, "bias_after_scale", 1)) {
        x = emit_2(e, "Add", x, like_x(e, o, bias), NO_VALUE);
        bias = 0;
    }
    if (scales)
        x = emit_2(e, "Mul", x, factor, bias == 0 ? paddle_out(o) : NO_VALUE);
    if (bias != 0)
        emit_2(e, "Add", x, like_x(e, o, bias), paddle_out(o));
}

static void map_increment(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, paddle_x(o), like_x(e, o, named_real(e, o, named_find(o, "value") ? "value" : "step", 1)),
           paddle_out(o));
}

static void map_where(emitter *e, const named_op *o, const char *canonical)
{
    emit_op(e, canonical, (const value_id[]){named_in(o, "Condition"), named_in(o, "X"), named_in(o, "Y")}, 3,
            paddle_out(o));
}

/* ---- reductions ------------------------------------------------------------------------------------------------ */

static void map_reduce(emitter *e, const named_op *o, const char *canonical)
{
    bool has_dim = named_find(o, "dim") != NULL;
    bool keep = named_true(e, o, "keep_dim") || named_true(e, o, "keepdim");
    int64_t axes[MAX_RANK];
    int count = named_ints(e, o, has_dim ? "dim" : "axis", axes, MAX_RANK);
    if (count <= 0 || named_true(e, o, "reduce_all")) {
        emit_int(emit_op(e, canonical, (const value_id[]){paddle_x(o)}, 1, paddle_out(o)), "keepdims", keep);
        return;
    }
    emit_reduce(e, canonical, paddle_x(o), emit_list(e, axes, count), keep, paddle_out(o));
}

static void map_norm_over(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    map_reduce(e, o, named_real(e, o, "porder", 2) == 1 ? "ReduceL1" : "ReduceL2");
}

static void map_axis(emitter *e, const named_op *o, const char *canonical)
{
    emit_int(emit_op(e, canonical, (const value_id[]){paddle_x(o)}, 1, paddle_out(o)), "axis",
             named_int(e, o, "axis", -1));
}

static void map_arg(emitter *e, const named_op *o, const char *canonical)
{
    value_id x = paddle_x(o);
    bool is_flat = named_true(e, o, "flatten");
    if (is_flat)
        x = emit_reshaped(e, x, (const int64_t[]){-1}, 1, NO_VALUE);
    node *n = emit_op(e, canonical, &x, 1, paddle_out(o));
    emit_int(n, "axis", is_flat ? 0 : named_int(e, o, "axis", -1));
    emit_int(n, "keepdims", named_true(e, o, "keepdims"));
}

static void map_cumsum(emitter *e, const named_op *o, const char *canonical)
{
    value_id x = paddle_x(o);
    bool is_flat = named_true(e, o, "flatten");
    if (is_flat)
        x = emit_reshaped(e, x, (const int64_t[]){-1}, 1, NO_VALUE);
    emit_2(e, canonical, x, emit_number(e, is_flat ? 0 : named_int(e, o, "axis", -1)), paddle_out(o));
}

static void map_top_k(emitter *e, const named_op *o, const char *canonical)
{
    int64_t k = named_int(e, o, "k", 1);
    value_id given = named_in(o, "K");
    value_id outputs[2] = {paddle_out(o), paddle_out_at(o, "Indices", 1)};
    if (outputs[0] == NO_VALUE)
        outputs[0] = emit_temp(e);
    node *n =
        emit_many(e, canonical,
                  (const value_id[]){paddle_x(o), given == NO_VALUE ? emit_list(e, &k, 1) : emit_index_list(e, given)},
                  2, outputs, 2);
    emit_int(n, "axis", named_int(e, o, "axis", -1));
    emit_int(n, "largest", named_int(e, o, "largest", 1));
}

/* A full sort: TopK of all elements. */
static void map_argsort(emitter *e, const named_op *o, const char *canonical)
{
    int64_t axis = named_int(e, o, "axis", -1);
    value_id x = paddle_x(o), shape = emit_1(e, "Shape", x, NO_VALUE);
    value_id k = emit_2(e, "Gather", shape, emit_list(e, &axis, 1), NO_VALUE);
    value_id outputs[2] = {paddle_out(o), paddle_out_at(o, "Indices", 1)};
    if (outputs[0] == NO_VALUE)
        outputs[0] = emit_temp(e);
    node *n = emit_many(e, canonical, (const value_id[]){x, k}, 2, outputs, 2);
    emit_int(n, "axis", axis);
    emit_int(n, "largest", named_true(e, o, "descending"));
}

/* Sums several tensors in ProgramDesc, and sums over axes in PIR, where the operator has the same name. */
static void map_sum(emitter *e, const named_op *o, const char *canonical)
{
    if (named_list(o, "X")->count > 1 || !(named_find(o, "keepdim") || named_list(o, "axis")->count))
        map_all_inputs(e, o, "Sum");
    else
        map_reduce(e, o, canonical);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const paddle_row ROWS[] = {
    {"abs", "X", map_unary, "Abs"},
    {"acos", "X", map_unary, "Acos"},
    {"acosh", "X", map_unary, "Acosh"},
    {"add", "X Y", map_binary, "Add"},
    {"add_n", "X", map_all_inputs, "Sum"},
    {"all", "X", map_reduce, "ReduceMin"},
    {"any", "X", map_reduce, "ReduceMax"},
    {"arg_max", "X axis", map_arg, "ArgMax"},
    {"arg_min", "X axis", map_arg, "ArgMin"},
    {"argmax", "X axis", map_arg, "ArgMax"},
    {"argmin", "X axis", map_arg, "ArgMin"},
    {"argsort", "X", map_argsort, "TopK"},
    {"asin", "X", map_unary, "Asin"},
    {"asinh", "X", map_unary, "Asinh"},
    {"assign", "X", map_unary, "Identity"},
    {"assign_out", "X", map_unary, "Identity"},
    {"atan", "X", map_unary, "Atan"},
    {"atanh", "X", map_unary, "Atanh"},
    {"bitwise_and", "X Y", map_binary, "BitwiseAnd"},
    {"bitwise_not", "X", map_unary, "BitwiseNot"},
    {"bitwise_or", "X Y", map_binary, "BitwiseOr"},
    {"bitwise_xor", "X Y", map_binary, "BitwiseXor"},
    {"brelu", "X", map_hard_tanh, NULL},
    {"ceil", "X", map_unary, "Ceil"},
    {"celu", "X", map_unary, "Celu"},
    {"clip", "X Min Max", map_clip, "Clip"},
    {"cos", "X", map_unary, "Cos"},
    {"cosh", "X", map_unary, "Cosh"},
    {"cumsum", "X axis", map_cumsum, "CumSum"},
    {"divide", "X Y", map_binary, "Div"},
    {"elementwise_add", "X Y", map_binary, "Add"},
    {"elementwise_div", "X Y", map_binary, "Div"},
    {"elementwise_floordiv", "X Y", map_floor_divide, "Div"},
    {"elementwise_max", "X Y", map_binary, "Max"},
    {"elementwise_min", "X Y", map_binary, "Min"},
    {"elementwise_mod", "X Y", map_binary, "Mod"},
    {"elementwise_mul", "X Y", map_binary, "Mul"},
    {"elementwise_pow", "X Y", map_binary, "Pow"},
    {"elementwise_sub", "X Y", map_binary, "Sub"},
    {"elu", "X", map_unary, "Elu"},
    {"equal", "X Y", map_binary, "Equal"},
    {"erf", "X", map_unary, "Erf"},
    {"exp", "X", map_unary, "Exp"},
    {"floor", "X", map_unary, "Floor"},
    {"floor_divide", "X Y", map_floor_divide, "Div"},
    {"frobenius_norm", "X", map_norm_over, NULL},
    {"gelu", "X", map_gelu, "Gelu"},
    {"greater_equal", "X Y", map_binary, "GreaterOrEqual"},
    {"greater_than", "X Y", map_binary, "Greater"},
    {"grid_sample", "X Grid", map_grid_sample, "GridSample"},
    {"grid_sampler", "X Grid", map_grid_sample, "GridSample"},
    {"hard_shrink", "X", map_unary, "Shrink"},
    {"hard_sigmoid", "X", map_hard_sigmoid, "HardSigmoid"},
    {"hard_swish", "X", map_unary, "HardSwish"},
    {"hardshrink", "X", map_unary, "Shrink"},
    {"hardsigmoid", "X", map_hard_sigmoid, "HardSigmoid"},
    {"hardswish", "X", map_unary, "HardSwish"},
    {"hardtanh", "X", map_hard_tanh, NULL},
    {"increment", "X", map_increment, "Add"},
    {"isinf", "X", map_unary, "IsInf"},
    {"isinf_v2", "X", map_unary, "IsInf"},
    {"isnan", "X", map_unary, "IsNaN"},
    {"isnan_v2", "X", map_unary, "IsNaN"},
    {"leaky_relu", "X", map_alpha, "LeakyRelu"},
    {"less_equal", "X Y", map_binary, "LessOrEqual"},
    {"less_than", "X Y", map_binary, "Less"},
    {"log", "X", map_unary, "Log"},
    {"log1p", "X", map_log1p, "Log"},
    {"log_softmax", "X", map_axis, "LogSoftmax"},
    {"logical_and", "X Y", map_binary, "And"},
    {"logical_not", "X", map_unary, "Not"},
    {"logical_or", "X Y", map_binary, "Or"},
    {"logical_xor", "X Y", map_binary, "Xor"},
    {"logsumexp", "X", map_reduce, "ReduceLogSumExp"},
    {"max", "X axis", map_reduce, "ReduceMax"},
    {"maximum", "X Y", map_binary, "Max"},
    {"mean", "X axis", map_reduce, "ReduceMean"},
    {"memcpy", "X", map_unary, "Identity"},
    {"memcpy_d2h", "X", map_unary, "Identity"},
    {"memcpy_h2d", "X", map_unary, "Identity"},
    {"min", "X axis", map_reduce, "ReduceMin"},
    {"minimum", "X Y", map_binary, "Min"},
    {"mish", "X", map_unary, "Mish"},
    {"multiply", "X Y", map_binary, "Mul"},
    {"not_equal", "X Y", map_not_equal, "Equal"},
    {"p_norm", "X", map_norm_over, NULL},
    {"pow", "X", map_pow, "Pow"},
    {"print", "X", map_unary, "Identity"},
    {"prod", "X axis", map_reduce, "ReduceProd"},
    {"reciprocal", "X", map_unary, "Reciprocal"},
    {"reduce_all", "X", map_reduce, "ReduceMin"},
    {"reduce_any", "X", map_reduce, "ReduceMax"},
    {"reduce_max", "X", map_reduce, "ReduceMax"},
    {"reduce_mean", "X", map_reduce, "ReduceMean"},
    {"reduce_min", "X", map_reduce, "ReduceMin"},
    {"reduce_prod", "X", map_reduce, "ReduceProd"},
    {"reduce_sum", "X", map_reduce, "ReduceSum"},
    {"relu", "X", map_unary, "Relu"},
    {"relu6", "X", map_relu6, NULL},
    {"remainder", "X Y", map_binary, "Mod"},
    {"round", "X", map_unary, "Round"},
    {"rsqrt", "X", map_rsqrt, NULL},
    {"scale", "X ScaleTensor", map_scale, NULL},
    {"selu", "X", map_unary, "Selu"},
    {"share_data", "X", map_unary, "Identity"},
    {"sigmoid", "X", map_unary, "Sigmoid"},
    {"sign", "X", map_unary, "Sign"},
    {"silu", "X", map_silu, NULL},
    {"sin", "X", map_unary, "Sin"},
    {"sinh", "X", map_unary, "Sinh"},
    {"softmax", "X", map_axis, "Softmax"},
    {"softplus", "X", map_unary, "Softplus"},
    {"softshrink", "X", map_unary, "Shrink"},
    {"softsign", "X", map_unary, "Softsign"},
    {"sqrt", "X", map_unary, "Sqrt"},
    {"square", "X", map_square, NULL},
    {"subtract", "X Y", map_binary, "Sub"},
    {"sum", "X axis", map_sum, "ReduceSum"},
    {"swish", "X", map_silu, NULL},
    {"tan", "X", map_unary, "Tan"},
    {"tanh", "X", map_unary, "Tanh"},
    {"thresholded_relu", "X", map_unary, "ThresholdedRelu"},
    {"top_k", "X K", map_top_k, "TopK"},
    {"top_k_v2", "X", map_top_k, "TopK"},
    {"topk", "X K", map_top_k, "TopK"},
    {"where", "Condition X Y", map_where, "Where"},
};

static const paddle_row *find_row(str type)
{
    size_t count;
    if (type.len && type.ptr[type.len - 1] == '_') /* in-place operator */
        type.len--;
    if (type.len == 0)
        return NULL;
    const paddle_row *row = named_search(ROWS, sizeof ROWS / sizeof *ROWS, sizeof *ROWS, type);
    if (!row) {
        const paddle_row *rows = paddle_shape_rows(&count);
        row = named_search(rows, count, sizeof *rows, type);
    }
    if (!row) {
        const paddle_row *rows = paddle_nn_rows(&count);
        row = named_search(rows, count, sizeof *rows, type);
    }
    return row;
}

const char *paddle_operands(str type)
{
    const paddle_row *row = find_row(type);
    return row ? row->operands : NULL;
}

void paddle_map(emitter *e, named_op *o)
{
    const paddle_row *row = find_row(o->type);
    bool is_whole = paddle_out(o) != NO_VALUE || paddle_outs(o)->count > 0;
    for (int32_t i = 0; is_whole && i < o->in_count && row && row->operands[0]; i++)
        is_whole = i > 0 || o->in[0].count == 0 || o->in[0].ids[0] != NO_VALUE;
    if (row && is_whole && (row->operands[0] == '\0' || o->in_count > 0)) {
        if (o->type.ptr[o->type.len - 1] == '_')
            o->type.len--;
        row->map(e, o, row->canonical);
    } else {
        named_foreign(e, "paddle", o);
    }
}
