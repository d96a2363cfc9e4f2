/* tf_ops.c: maps TensorFlow operators to canonical ones: sources, pointwise, reductions, shapes. Layers are in
 * tf_ops_nn.c, data movement in tf_ops_move.c, control flow and lists in tf_control.c. Operators without a row keep
 * their name under the domain "tensorflow". */
#include "front/tensorflow/tf.h"

value_id tf_in(const tf_op *o, int i)
{
    return i < o->in_count ? o->in[i] : NO_VALUE;
}

value_id tf_out(const tf_op *o, int i)
{
    return i < o->out_count ? o->out[i] : NO_VALUE;
}

static const value *tf_declared(const tf_op *o, value_id v)
{
    static const value NOTHING = {.rank = RANK_UNKNOWN};
    return v == NO_VALUE ? &NOTHING : build_at(o->e->b, v);
}

void tf_foreign(tf_op *o)
{
    emit_foreign(o->e, STR("tensorflow"), o->node->op, o->in, o->in_count, o->out, o->out_count);
}

/* ---- outputs of functions' nodes ------------------------------------------------------------------------------- */

/* Names of the outputs of operators that have several, in order. All other operators have one output, or a list
 * under one name. */
static const struct {
    const char *op;
    const char *outputs[8];
} OUTPUTS[] = {
    {"BlockLSTM", {"i", "cs", "f", "o", "ci", "co", "h"}},
    {"BlockLSTMV2", {"i", "cs", "f", "o", "ci", "co", "h"}},
    {"FusedBatchNorm", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
    {"FusedBatchNormV2", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
    {"FusedBatchNormV3",
     {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"}},
    {"GRUBlockCell", {"r", "u", "c", "h"}},
    {"LSTMBlockCell", {"i", "cs", "f", "o", "ci", "co", "h"}},
    {"ListDiff", {"out", "idx"}},
    {"MaxPoolWithArgmax", {"output", "argmax"}},
    {"Merge", {"output", "value_index"}},
    {"NonMaxSuppressionV4", {"selected_indices", "valid_outputs"}},
    {"NonMaxSuppressionV5", {"selected_indices", "selected_scores", "valid_outputs"}},
    {"SoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
    {"SparseSoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
    {"Switch", {"output_false", "output_true"}},
    {"TensorArrayV3", {"handle", "flow"}},
    {"TensorListPopBack", {"output_handle", "tensor"}},
    {"TopKV2", {"values", "indices"}},
    {"Unique", {"y", "idx"}},
    {"UniqueV2", {"y", "idx"}},
    {"UniqueWithCounts", {"y", "idx", "count"}},
};

int tf_output_place(str op, str output, int index)
{
    for (size_t i = 0; i < sizeof OUTPUTS / sizeof *OUTPUTS; i++)
        if (str_is(op, OUTPUTS[i].op))
            for (int k = 0; k < 8 && OUTPUTS[i].outputs[k]; k++)
                if (str_is(output, OUTPUTS[i].outputs[k]))
                    return k + index;
    return index;
}

int tf_output_count(const tf_node *n, int used)
{
    enum { MOST = 1 << 16 };
    int64_t count = used;
    if (str_is(n->op, "Split") || str_is(n->op, "SplitV"))
        count = tf_attr_int(n, "num_split", used);
    else if (str_is(n->op, "Unpack"))
        count = tf_attr_int(n, "num", used);
    return count < used ? used : count > MOST ? MOST : (int)count;
}

/* ---- sources --------------------------------------------------------------------------------------------------- */

static void map_placeholder(tf_op *o, const char *unused)
{
    (void)unused;
    builder *b = o->e->b;
    num dims[MAX_RANK];
    value_id v = tf_out(o, 0);
    str name = build_at(b, v)->name;
    int rank = tf_attr_shape(o->node, "shape", dims);
    if (rank == RANK_UNKNOWN || (rank == 0 && tf_attr_shape_at(o->node, "_output_shapes", 0, dims) > 0))
        rank = tf_attr_shape_at(o->node, "_output_shapes", 0, dims);
    for (int i = 0; i < rank; i++)
        if (dims[i] == NUM_UNKNOWN)
            dims[i] = num_symbol(&b->source->symbols,
                                 i == 0 ? STR("N") : arena_printf(b->arena, "%.*s[%d]", STR_ARG(name), i));
    build_at(b, v)->is_declared = false;
    build_type(b, v, tf_attr_type(o->node, "dtype"), rank, dims);
    build_input(b, v);
}

static void map_const(tf_op *o, const char *unused)
{
    (void)unused;
    wire value;
    wire_field f;
    tf_file *file = o->g->file;
    if (build_at(o->e->b, tf_out(o, 0))->is_initializer) /* the shape was stated before the graph */
        return;
    if (tf_attr(o->node, "value", &value))
        while (wire_next(&value, &f))
            if (f.number == 8) {
                build_constant(o->e->b, tf_out(o, 0), tf_tensor(file, wire_message(&value, &f)));
                return;
            }
    tf_foreign(o);
}

/* A variable stands for its content, so that every read gives the same value. */
static void map_variable(tf_op *o, const char *unused)
{
    (void)unused;
    num dims[MAX_RANK];
    int rank = tf_attr_shape(o->node, "shape", dims);
    bool is_known = rank >= 0;
    for (int i = 0; i < rank; i++)
        is_known &= dim_known(dims[i]);
    if (is_known)
        build_constant(o->e->b, tf_out(o, 0), emit_tensor(o->e, tf_attr_type(o->node, "dtype"), rank, dims));
    else
        tf_foreign(o);
}

/* Passes the value through, so that several readers of a weight share it. The read's name is kept for lookups. */
static void map_read(tf_op *o, const char *unused)
{
    (void)unused;
    const tensor *t = emit_constant_of(o->e, tf_in(o, 0));
    if (t)
        build_constant(o->e->b, tf_out(o, 0), t);
    o->out[0] = tf_in(o, 0);
}

static void map_identity(tf_op *o, const char *canonical)
{
    if (emit_constant_of(o->e, tf_in(o, 0)))
        map_read(o, NULL);
    else
        emit_1(o->e, canonical, tf_in(o, 0), tf_out(o, 0));
}

static void map_identity_n(tf_op *o, const char *canonical)
{
    for (int i = 0; i < o->out_count && i < o->in_count; i++)
        emit_1(o->e, canonical, tf_in(o, i), tf_out(o, i));
}

/* Returns the variable after an assignment. */
static void map_second(tf_op *o, const char *canonical)
{
    emit_1(o->e, canonical, tf_in(o, 1), tf_out(o, 0));
}

static void map_default(tf_op *o, const char *unused)
{
    (void)unused;
    num dims[MAX_RANK];
    value_id v = tf_out(o, 0), given = tf_in(o, 0);
    int rank = tf_attr_shape(o->node, "shape", dims);
    for (int i = 0; i < rank; i++)
        if (dims[i] == NUM_UNKNOWN && i < tf_declared(o, given)->rank)
            dims[i] = tf_declared(o, given)->dims[i];
    if (emit_constant_of(o->e, given) && rank <= 0) { /* a switch such as keep_prob keeps the file's setting */
        map_read(o, NULL);
        return;
    }
    build_type(o->e->b, v, tf_attr_type(o->node, "dtype"), rank, dims);
    build_input(o->e->b, v);
}

static void map_nothing(tf_op *o, const char *unused)
{
    (void)unused;
    for (int i = 0; i < o->out_count; i++)
        o->out[i] = NO_VALUE;
}

/* ---- pointwise ------------------------------------------------------------------------------------------------- */

static void map_plain(tf_op *o, const char *canonical)
{
    emit_op(o->e, canonical, o->in, o->in_count, tf_out(o, 0));
}

/* A pointwise function without an ONNX operator. Further inputs are broadcast. */
static void map_special(tf_op *o, const char *function)
{
    node *n = emit_foreign(o->e, STR("sooth"), STR("SpecialFunction"), o->in, o->in_count, o->out, 1);
    emit_text(n, "function", str_of(function));
}

/* The same, but the output has the shape of the first input. */
static void map_special_first(tf_op *o, const char *function)
{
    node *n = emit_foreign(o->e, STR("sooth"), STR("SpecialFunction"), o->in, 1, o->out, 1);
    emit_text(n, "function", str_of(function));
}

static void two(tf_op *o, const char *first, const char *second)
{
    emit_1(o->e, second, emit_op(o->e, first, o->in, o->in_count, NO_VALUE)->outputs[0], tf_out(o, 0));
}

static void map_rsqrt(tf_op *o, const char *unused)
{
    (void)unused;
    two(o, "Sqrt", "Reciprocal");
}

static void map_not_equal(tf_op *o, const char *unused)
{
    (void)unused;
    two(o, "Equal", "Not");
}

static void map_floor_div(tf_op *o, const char *unused)
{
    (void)unused;
    dtype type = tf_attr_type(o->node, "T");
    if (dtype_is_float(type))
        two(o, "Div", "Floor");
    else
        map_plain(o, "Div");
}

static void map_square(tf_op *o, const char *unused)
{
    (void)unused;
    emit_2(o->e, "Mul", tf_in(o, 0), tf_in(o, 0), tf_out(o, 0));
}

static void map_squared_difference(tf_op *o, const char *unused)
{
    (void)unused;
    value_id d = emit_2(o->e, "Sub", tf_in(o, 0), tf_in(o, 1), NO_VALUE);
    emit_2(o->e, "Mul", d, d, tf_out(o, 0));
}

static void map_relu6(tf_op *o, const char *canonical)
{
    value_id low = emit_scalar(o->e, DT_FLOAT32, 0), high = emit_scalar(o->e, DT_FLOAT32, 6);
    emit_op(o->e, canonical, (const value_id[]){tf_in(o, 0), low, high}, 3, tf_out(o, 0));
}

static void map_leaky_relu(tf_op *o, const char *canonical)
{
    emit_real(emit_op(o->e, canonical, o->in, 1, tf_out(o, 0)), "alpha", tf_attr_real(o->node, "alpha", 0.2));
}

/* exp(x) - 1, log(1 + x) */
static void map_expm1(tf_op *o, const char *canonical)
{
    value_id one = emit_scalar(o->e, tf_attr_type(o->node, "T"), 1);
    emit_2(o->e, "Sub", emit_1(o->e, canonical, tf_in(o, 0), NO_VALUE), one, tf_out(o, 0));
}

static void map_log1p(tf_op *o, const char *canonical)
{
    value_id one = emit_scalar(o->e, tf_attr_type(o->node, "T"), 1);
    emit_1(o->e, canonical, emit_2(o->e, "Add", tf_in(o, 0), one, NO_VALUE), tf_out(o, 0));
}

static void map_cast(tf_op *o, const char *unused)
{
    (void)unused;
    emit_cast(o->e, tf_in(o, 0), tf_attr_type(o->node, "DstT"), tf_out(o, 0));
}

static void map_bitcast(tf_op *o, const char *canonical)
{
    dtype from = tf_attr_type(o->node, "T"), to = tf_attr_type(o->node, "type");
    if (dtype_bits(from) != dtype_bits(to))
        tf_foreign(o);
    else
        emit_int(emit_op(o->e, canonical, o->in, 1, tf_out(o, 0)), "to", to);
}

static void map_softmax(tf_op *o, const char *canonical)
{
    emit_int(emit_op(o->e, canonical, o->in, 1, tf_out(o, 0)), "axis", -1);
}

/* Losses with two outputs: one number per row, and the gradient. */
static void map_cross_entropy(tf_op *o, const char *unused)
{
    (void)unused;
    node *n = emit_op(o->e, "LogSoftmax", o->in, 1, o->out_count > 1 ? tf_out(o, 1) : NO_VALUE);
    emit_int(n, "axis", -1);
    emit_reduce(o->e, "ReduceSum", n->outputs[0], emit_list(o->e, (const int64_t[]){1}, 1), false, tf_out(o, 0));
}

static void map_like(tf_op *o, const char *number)
{
    value_id shape = emit_1(o->e, "Shape", tf_in(o, 0), NO_VALUE);
    emit_2(o->e, "Expand", emit_scalar(o->e, tf_attr_type(o->node, "T"), number[0] - '0'), shape, tf_out(o, 0));
}

static void map_random(tf_op *o, const char *canonical)
{
    dtype type = tf_attr_type(o->node, "dtype");
    if (type == DT_UNKNOWN)
        type = tf_attr_type(o->node, "Tout");
    if (type == DT_UNKNOWN)
        type = tf_attr_type(o->node, "T");
    value_id zero = emit_scalar(o->e, type, 0);
    value_id zeros = emit_2(o->e, "Expand", zero, emit_index(o->e, tf_in(o, 0)), NO_VALUE);
    emit_1(o->e, canonical, zeros, tf_out(o, 0));
}

/* ---- reductions ------------------------------------------------------------------------------------------------ */

static void map_reduce(tf_op *o, const char *canonical)
{
    emit_reduce(o->e, canonical, tf_in(o, 0), tf_in(o, 1), tf_attr_int(o->node, "keep_dims", 0) != 0, tf_out(o, 0));
}

static void map_l2_loss(tf_op *o, const char *unused)
{
    (void)unused;
    value_id squares = emit_2(o->e, "Mul", tf_in(o, 0), tf_in(o, 0), NO_VALUE);
    emit_int(emit_op(o->e, "ReduceSum", &squares, 1, tf_out(o, 0)), "keepdims", 0);
}

/* Casts, because ONNX returns int64 and TensorFlow the type of the attribute. */
static value_id wide(tf_op *o, int i, dtype type)
{
    return type == DT_INT64 ? tf_out(o, i) : NO_VALUE;
}

static void narrow(tf_op *o, value_id x, int i, dtype type)
{
    if (type != DT_INT64)
        emit_cast(o->e, x, type, tf_out(o, i));
}

static void map_arg(tf_op *o, const char *canonical)
{
    int64_t axis = 0;
    dtype type = tf_attr_type(o->node, "output_type");
    type = type == DT_UNKNOWN ? DT_INT64 : type;
    emit_known_int(o->e, tf_in(o, 1), &axis);
    node *n = emit_op(o->e, canonical, o->in, 1, wide(o, 0, type));
    emit_int(n, "axis", axis);
    emit_int(n, "keepdims", 0);
    narrow(o, n->outputs[0], 0, type);
}

static void map_top_k(tf_op *o, const char *canonical)
{
    value_id indices = emit_temp(o->e), outputs[2] = {tf_out(o, 0), indices}, k = emit_index_list(o->e, tf_in(o, 1));
    emit_many(o->e, canonical, (const value_id[]){tf_in(o, 0), k}, 2, outputs, 2);
    if (o->out_count > 1)
        emit_cast(o->e, indices, DT_INT32, tf_out(o, 1));
}

static void map_cum(tf_op *o, const char *canonical)
{
    node *n = emit_op(o->e, canonical, o->in, 2, tf_out(o, 0));
    emit_int(n, "exclusive", tf_attr_int(o->node, "exclusive", 0));
    emit_int(n, "reverse", tf_attr_int(o->node, "reverse", 0));
}

static void map_unique(tf_op *o, const char *canonical)
{
    value_id inverse = emit_temp(o->e), counts = emit_temp(o->e);
    emit_many(o->e, canonical, o->in, 1, (const value_id[]){tf_out(o, 0), NO_VALUE, inverse, counts}, 4);
    if (o->out_count > 1)
        emit_cast(o->e, inverse, DT_INT32, tf_out(o, 1));
    if (o->out_count > 2)
        emit_cast(o->e, counts, DT_INT32, tf_out(o, 2));
}

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

static void measured(tf_op *o, const char *canonical, value_id x, int output)
{
    dtype type = tf_attr_type(o->node, "out_type");
    type = type == DT_UNKNOWN ? DT_INT32 : type;
    narrow(o, emit_1(o->e, canonical, x, wide(o, output, type)), output, type);
}

static void map_shape(tf_op *o, const char *canonical)
{
    measured(o, canonical, tf_in(o, 0), 0);
}

static void map_shape_n(tf_op *o, const char *canonical)
{
    for (int i = 0; i < o->out_count && i < o->in_count; i++)
        measured(o, canonical, tf_in(o, i), i);
}

static void map_rank(tf_op *o, const char *unused)
{
    (void)unused;
    measured(o, "Size", emit_1(o->e, "Shape", tf_in(o, 0), NO_VALUE), 0);
}

static void map_fill(tf_op *o, const char *canonical)
{
    emit_2(o->e, canonical, tf_in(o, 1), emit_index(o->e, tf_in(o, 0)), tf_out(o, 0));
}

static void map_empty(tf_op *o, const char *canonical)
{
    value_id zero = emit_scalar(o->e, tf_attr_type(o->node, "dtype"), 0);
    emit_2(o->e, canonical, zero, emit_index(o->e, tf_in(o, 0)), tf_out(o, 0));
}

static void map_linspace(tf_op *o, const char *canonical)
{
    emit_2(o->e, canonical, tf_in(o, 0), emit_index_list(o->e, tf_in(o, 2)), tf_out(o, 0));
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const tf_row ROWS[] = {
    {"Abs", map_plain, "Abs"},
    {"AccumulateNV2", map_plain, "Sum"},
    {"Acos", map_plain, "Acos"},
    {"Acosh", map_plain, "Acosh"},
    {"Add", map_plain, "Add"},
    {"AddN", map_plain, "Sum"},
    {"AddV2", map_plain, "Add"},
    {"AdjustContrastv2", map_special_first, "AdjustContrast"},
    {"AdjustHue", map_special_first, "AdjustHue"},
    {"AdjustSaturation", map_special_first, "AdjustSaturation"},
    {"All", map_reduce, "ReduceMin"},
    {"Any", map_reduce, "ReduceMax"},
    {"ArgMax", map_arg, "ArgMax"},
    {"ArgMin", map_arg, "ArgMin"},
    {"Asin", map_plain, "Asin"},
    {"Asinh", map_plain, "Asinh"},
    {"Assert", map_nothing, NULL},
    {"Assign", map_second, "Identity"},
    {"Atan", map_plain, "Atan"},
    {"Atan2", map_special, "Atan2"},
    {"Atanh", map_plain, "Atanh"},
    {"Betainc", map_special, "Betainc"},
    {"Bitcast", map_bitcast, "BitCast"},
    {"BitwiseAnd", map_plain, "BitwiseAnd"},
    {"BitwiseOr", map_plain, "BitwiseOr"},
    {"BitwiseXor", map_plain, "BitwiseXor"},
    {"Bucketize", map_special_first, "Bucketize"},
    {"Cast", map_cast, NULL},
    {"Ceil", map_plain, "Ceil"},
    {"CheckNumerics", map_identity, "Identity"},
    {"Cholesky", map_special_first, "Cholesky"},
    {"ClipByValue", map_plain, "Clip"},
    {"Const", map_const, NULL},
    {"Cos", map_plain, "Cos"},
    {"Cosh", map_plain, "Cosh"},
    {"Cumprod", map_cum, "CumProd"},
    {"Cumsum", map_cum, "CumSum"},
    {"DeepCopy", map_identity, "Identity"},
    {"Digamma", map_special, "Digamma"},
    {"Div", map_plain, "Div"},
    {"DivNoNan", map_plain, "Div"},
    {"Elu", map_plain, "Elu"},
    {"Empty", map_empty, "Expand"},
    {"EnsureShape", map_identity, "Identity"},
    {"Equal", map_plain, "Equal"},
    {"Erf", map_plain, "Erf"},
    {"Erfc", map_special, "Erfc"},
    {"EuclideanNorm", map_reduce, "ReduceL2"},
    {"Exp", map_plain, "Exp"},
    {"Expm1", map_expm1, "Exp"},
    {"FakeQuantWithMinMaxArgs", map_special_first, "FakeQuant"},
    {"FakeQuantWithMinMaxVars", map_special_first, "FakeQuant"},
    {"FakeQuantWithMinMaxVarsPerChannel", map_special_first, "FakeQuant"},
    {"Fill", map_fill, "Expand"},
    {"Floor", map_plain, "Floor"},
    {"FloorDiv", map_floor_div, NULL},
    {"FloorMod", map_plain, "Mod"},
    {"Greater", map_plain, "Greater"},
    {"GreaterEqual", map_plain, "GreaterOrEqual"},
    {"HSVToRGB", map_special_first, "HSVToRGB"},
    {"Identity", map_identity, "Identity"},
    {"IdentityN", map_identity_n, "Identity"},
    {"Igamma", map_special, "Igamma"},
    {"Igammac", map_special, "Igammac"},
    {"Inv", map_plain, "Reciprocal"},
    {"InvertPermutation", map_special_first, "InvertPermutation"},
    {"IsFinite", map_plain, "IsInf"},
    {"IsInf", map_plain, "IsInf"},
    {"IsNan", map_plain, "IsNaN"},
    {"L2Loss", map_l2_loss, NULL},
    {"LeakyRelu", map_leaky_relu, "LeakyRelu"},
    {"LeftShift", map_plain, "BitShift"},
    {"Less", map_plain, "Less"},
    {"LessEqual", map_plain, "LessOrEqual"},
    {"Lgamma", map_special, "Lgamma"},
    {"LinSpace", map_linspace, "Expand"},
    {"Log", map_plain, "Log"},
    {"Log1p", map_log1p, "Log"},
    {"LogSoftmax", map_softmax, "LogSoftmax"},
    {"LogicalAnd", map_plain, "And"},
    {"LogicalNot", map_plain, "Not"},
    {"LogicalOr", map_plain, "Or"},
    {"MatrixBandPart", map_special_first, "MatrixBandPart"},
    {"MatrixDeterminant", map_plain, "Det"},
    {"MatrixInverse", map_special_first, "MatrixInverse"},
    {"MatrixSetDiag", map_special_first, "MatrixSetDiag"},
    {"MatrixSetDiagV3", map_special_first, "MatrixSetDiag"},
    {"Max", map_reduce, "ReduceMax"},
    {"Maximum", map_plain, "Max"},
    {"Mean", map_reduce, "ReduceMean"},
    {"Min", map_reduce, "ReduceMin"},
    {"Minimum", map_plain, "Min"},
    {"Mod", map_plain, "Mod"},
    {"Mul", map_plain, "Mul"},
    {"MulNoNan", map_plain, "Mul"},
    {"Neg", map_plain, "Neg"},
    {"NoOp", map_nothing, NULL},
    {"NotEqual", map_not_equal, NULL},
    {"OnesLike", map_like, "1"},
    {"Placeholder", map_placeholder, NULL},
    {"PlaceholderV2", map_placeholder, NULL},
    {"PlaceholderWithDefault", map_default, NULL},
    {"Polygamma", map_special, "Polygamma"},
    {"Pow", map_plain, "Pow"},
    {"Prelu", map_plain, "PRelu"},
    {"PreventGradient", map_identity, "Identity"},
    {"Print", map_identity, "Identity"},
    {"Prod", map_reduce, "ReduceProd"},
    {"RGBToHSV", map_special_first, "RGBToHSV"},
    {"RandomShuffle", map_special_first, "RandomShuffle"},
    {"RandomStandardNormal", map_random, "RandomNormalLike"},
    {"RandomUniform", map_random, "RandomUniformLike"},
    {"RandomUniformInt", map_random, "RandomUniformLike"},
    {"Range", map_plain, "Range"},
    {"Rank", map_rank, NULL},
    {"ReadVariableOp", map_read, NULL},
    {"RealDiv", map_plain, "Div"},
    {"Reciprocal", map_plain, "Reciprocal"},
    {"Relu", map_plain, "Relu"},
    {"Relu6", map_relu6, "Clip"},
    {"RightShift", map_plain, "BitShift"},
    {"Rint", map_plain, "Round"},
    {"Roll", map_special_first, "Roll"},
    {"Round", map_plain, "Round"},
    {"Rsqrt", map_rsqrt, NULL},
    {"Select", map_plain, "Where"},
    {"SelectV2", map_plain, "Where"},
    {"Selu", map_plain, "Selu"},
    {"Shape", map_shape, "Shape"},
    {"ShapeN", map_shape_n, "Shape"},
    {"Sigmoid", map_plain, "Sigmoid"},
    {"Sign", map_plain, "Sign"},
    {"Sin", map_plain, "Sin"},
    {"Sinh", map_plain, "Sinh"},
    {"Size", map_shape, "Size"},
    {"Snapshot", map_identity, "Identity"},
    {"Softmax", map_softmax, "Softmax"},
    {"SoftmaxCrossEntropyWithLogits", map_cross_entropy, NULL},
    {"Softplus", map_plain, "Softplus"},
    {"Softsign", map_plain, "Softsign"},
    {"SparseSoftmaxCrossEntropyWithLogits", map_cross_entropy, NULL},
    {"Sqrt", map_plain, "Sqrt"},
    {"Square", map_square, NULL},
    {"SquaredDifference", map_squared_difference, NULL},
    {"StatelessRandomNormalV2", map_random, "RandomNormalLike"},
    {"StatelessRandomUniformV2", map_random, "RandomUniformLike"},
    {"StopGradient", map_identity, "Identity"},
    {"Sub", map_plain, "Sub"},
    {"Sum", map_reduce, "ReduceSum"},
    {"Tan", map_plain, "Tan"},
    {"Tanh", map_plain, "Tanh"},
    {"TopK", map_top_k, "TopK"},
    {"TopKV2", map_top_k, "TopK"},
    {"TruncateDiv", map_plain, "Div"},
    {"TruncateMod", map_plain, "Mod"},
    {"TruncatedNormal", map_random, "RandomNormalLike"},
    {"Unique", map_unique, "Unique"},
    {"UniqueV2", map_unique, "Unique"},
    {"UniqueWithCounts", map_unique, "Unique"},
    {"VarHandleOp", map_variable, NULL},
    {"Variable", map_variable, NULL},
    {"VariableV2", map_variable, NULL},
    {"Xdivy", map_special, "Xdivy"},
    {"Xlogy", map_special, "Xlogy"},
    {"ZerosLike", map_like, "0"},
    {"Zeta", map_special, "Zeta"},
};

const tf_row *tf_rows(size_t *count)
{
    *count = sizeof ROWS / sizeof *ROWS;
    return ROWS;
}
