/* keras_ops.c: maps Keras layers with several inputs (joins, attention), and operators that a functional model calls
 * directly: keras.ops in Keras 3 (a layer of the operator's class), TFOpLambda in Keras 2 (named in "function"). */
#include "front/keras/keras.h"

/* ---- joins ----------------------------------------------------------------------------------------------------- */

/* Keras broadcasts inputs of lower rank after the batch, unlike NumPy; real models have equal ranks. */
static void map_join(keras_call *c, const char *canonical)
{
    if (strcmp(canonical, "Sum") != 0) {
        emit_op(c->e, canonical, c->in, c->in_count, c->out);
        return;
    }
    value_id sum = c->in_count ? c->in[0] : NO_VALUE; /* adds one input at a time, as all backends do */
    for (int i = 1; i < c->in_count; i++)
        sum = emit_2(c->e, "Add", sum, c->in[i], i + 1 == c->in_count ? c->out : NO_VALUE);
    if (c->in_count == 1)
        emit_1(c->e, "Identity", sum, c->out);
}

/* Finds the constant operand of a call such as x + 3. */
static bool find_number(const json_node *n, double *number, int depth)
{
    if (json_is(n, JSON_INT) || json_is(n, JSON_REAL)) {
        *number = json_double(n, 0);
        return true;
    }
    if (!json_is(n, JSON_ARRAY) || depth > 4)
        return false;
    for (const json_node *x = json_first(n); x; x = x->next)
        if (find_number(x, number, depth + 1))
            return true;
    return false;
}

static void map_binary(keras_call *c, const char *canonical)
{
    double number;
    if (c->in_count >= 2) {
        map_join(c, canonical);
        return;
    }
    bool has_number = find_number(c->arguments, &number, 0);
    for (const json_node *x = json_first(c->keywords); x && !has_number; x = x->next)
        has_number = find_number(x, &number, 0);
    if (has_number)
        emit_2(c->e, canonical, c->in[0], emit_scalar(c->e, DT_FLOAT32, number), c->out);
    else
        map_join(c, "Identity");
}

static void map_concat(keras_call *c, const char *canonical)
{
    int64_t axis = keras_int(c, "axis", "concat_axis", -1);
    emit_int(emit_op(c->e, canonical, c->in, c->in_count, c->out), "axis", axis);
}

static void turn(keras_call *c, value_id x, int axis, value_id *result, int rank)
{
    int64_t perm[MAX_RANK];
    int at = 0;
    *result = x;
    if (axis == rank - 1 || rank < 2)
        return;
    for (int i = 0; i < rank; i++)
        if (i != axis)
            perm[at++] = i;
    perm[at] = axis;
    *result = emit_transpose(c->e, x, perm, rank, NO_VALUE);
}

/* Product over one axis of each of the two inputs, for each sample. */
static void map_dot(keras_call *c, const char *unused)
{
    (void)unused;
    emitter *e = c->e;
    num dims[MAX_RANK];
    int64_t axes[2] = {-1, -1};
    if (keras_ints(json_get(c->config, "axes"), axes, 2) == 1)
        axes[1] = axes[0];
    int a_rank = keras_shape(c, c->in[0], dims),
        b_rank = c->in_count > 1 ? keras_shape(c, c->in[1], dims) : RANK_UNKNOWN;
    axes[0] += axes[0] < 0 ? a_rank : 0;
    axes[1] += axes[1] < 0 ? b_rank : 0;
    if (a_rank < 2 || b_rank < 2 || a_rank > 3 || b_rank > 3 || axes[0] < 1 || axes[0] >= a_rank || axes[1] < 1 ||
        axes[1] >= b_rank) {
        keras_foreign(c);
        return;
    }
    value_id a, b;
    turn(c, c->in[0], (int)axes[0], &a, a_rank);
    turn(c, c->in[1], (int)axes[1], &b, b_rank);
    a = a_rank == 2 ? emit_unsqueeze(e, a, (const int64_t[]){1}, 1, NO_VALUE) : a;
    b = b_rank == 2 ? emit_unsqueeze(e, b, (const int64_t[]){1}, 1, NO_VALUE) : b;
    b = emit_transpose(e, b, (const int64_t[]){0, 2, 1}, 3, NO_VALUE);
    bool is_whole = a_rank == 3 && b_rank == 3;
    value_id product = emit_2(e, "MatMul", a, b, is_whole ? c->out : NO_VALUE);
    if (a_rank == 2 && b_rank == 2)
        emit_squeeze(e, product, (const int64_t[]){1}, 1, c->out);
    else if (!is_whole)
        emit_squeeze(e, product, (const int64_t[]){a_rank == 2 ? 1 : 2}, 1, c->out);
}

/* Keras 1: one layer for all joins. */
static void map_merge(keras_call *c, const char *unused)
{
    (void)unused;
    str mode = keras_text(c, "mode", NULL);
    if (str_is(mode, "concat"))
        map_concat(c, "Concat");
    else if (str_is(mode, "dot") || str_is(mode, "cos"))
        keras_foreign(c);
    else
        map_join(c, str_is(mode, "mul") ? "Mul" : str_is(mode, "ave") ? "Mean" : str_is(mode, "max") ? "Max" : "Sum");
}

/* ---- attention ------------------------------------------------------------------------------------------------- */

/* x·W + b, with W (in, out) */
static value_id project(keras_call *c, const char *name, value_id x, int64_t width, int64_t out, value_id output)
{
    bool has_bias = keras_bool(c, "use_bias", NULL, true);
    arena *a = c->e->b->arena;
    value_id w = keras_weight(c, arena_printf(a, "%s/kernel", name).ptr, 2, (const int64_t[]){width, out});
    value_id product = emit_2(c->e, "MatMul", x, w, has_bias ? NO_VALUE : output);
    if (!has_bias)
        return product;
    return emit_2(c->e, "Add", product, keras_weight(c, arena_printf(a, "%s/bias", name).ptr, 1, &out), output);
}

/* (N, T, heads·size) → (N, heads, T, size) */
static value_id split_heads(keras_call *c, value_id x, int64_t heads, int64_t size)
{
    value_id split = emit_reshaped(c->e, x, (const int64_t[]){0, 0, heads, size}, 4, NO_VALUE);
    return emit_transpose(c->e, split, (const int64_t[]){0, 2, 1, 3}, 4, NO_VALUE);
}

static void map_multi_head_attention(keras_call *c, const char *unused)
{
    (void)unused;
    emitter *e = c->e;
    int64_t heads = keras_int(c, "num_heads", NULL, 1), size = keras_int(c, "key_dim", NULL, 1);
    int64_t v_size = keras_int(c, "value_dim", NULL, size), inner, v_inner;
    value_id query = c->in[0], v = c->in_count > 1 ? c->in[1] : query, k = c->in_count > 2 ? c->in[2] : v;
    num widths[3] = {keras_dim(c, query, -1), keras_dim(c, k, -1), keras_dim(c, v, -1)}, dims[MAX_RANK];
    int64_t out = widths[0];
    keras_ints(json_get(c->config, "output_shape"), &out, 1);
    if (keras_shape(c, query, dims) != 3 || !dim_known(widths[0]) || !dim_known(widths[1]) || !dim_known(widths[2]) ||
        __builtin_mul_overflow(heads, size, &inner) || __builtin_mul_overflow(heads, v_size, &v_inner)) {
        keras_foreign(c);
        return;
    }
    value_id q = split_heads(c, project(c, "query", query, widths[0], inner, NO_VALUE), heads, size);
    k = split_heads(c, project(c, "key", k, widths[1], inner, NO_VALUE), heads, size);
    v = split_heads(c, project(c, "value", v, widths[2], v_inner, NO_VALUE), heads, v_size);
    value_id scaled = emit_2(e, "Mul", q, emit_scalar(e, DT_FLOAT32, 0.125), NO_VALUE);
    value_id scores =
        emit_2(e, "MatMul", scaled, emit_transpose(e, k, (const int64_t[]){0, 1, 3, 2}, 4, NO_VALUE), NO_VALUE);
    node *softmax = emit_op(e, "Softmax", &scores, 1, NO_VALUE);
    emit_int(softmax, "axis", -1);
    value_id mixed = emit_2(e, "MatMul", softmax->outputs[0], v, NO_VALUE);
    value_id rows = emit_transpose(e, mixed, (const int64_t[]){0, 2, 1, 3}, 4, NO_VALUE);
    rows = emit_reshaped(e, rows, (const int64_t[]){0, 0, v_inner}, 3, NO_VALUE);
    project(c, "attention_output", rows, v_inner, out, c->out);
}

/* Inputs: query, value, key (the value if absent). */
static void map_attention(keras_call *c, const char *kind)
{
    emitter *e = c->e;
    value_id q = c->in[0], v = c->in_count > 1 ? c->in[1] : q, k = c->in_count > 2 ? c->in[2] : v, scores;
    if (kind[0] == 'a') { /* additive: tanh(q + k), weighted and summed, for each pair */
        int64_t width = keras_dim(c, q, -1);
        if (!dim_known(width)) {
            keras_foreign(c);
            return;
        }
        value_id pairs = emit_2(e, "Add", emit_unsqueeze(e, q, (const int64_t[]){2}, 1, NO_VALUE),
                                emit_unsqueeze(e, k, (const int64_t[]){1}, 1, NO_VALUE), NO_VALUE);
        value_id bent = emit_1(e, "Tanh", pairs, NO_VALUE);
        if (keras_bool(c, "use_scale", NULL, true))
            bent = emit_2(e, "Mul", bent, keras_weight(c, "scale", 1, &width), NO_VALUE);
        scores = emit_reduce(e, "ReduceSum", bent, emit_list(e, (const int64_t[]){-1}, 1), false, NO_VALUE)->outputs[0];
    } else {
        scores = emit_2(e, "MatMul", q, emit_transpose(e, k, (const int64_t[]){0, 2, 1}, 3, NO_VALUE), NO_VALUE);
        if (keras_bool(c, "use_scale", NULL, false))
            scores = emit_2(e, "Mul", scores, keras_weight(c, "scale", 0, NULL), NO_VALUE);
    }
    node *softmax = emit_op(e, "Softmax", &scores, 1, NO_VALUE);
    emit_int(softmax, "axis", -1);
    emit_2(e, "MatMul", softmax->outputs[0], v, c->out);
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

/* Returns a setting of an operator from its configuration or the call's keywords. */
static const json_node *argument(const keras_call *c, const char *name)
{
    const json_node *n = json_get(c->config, name);
    return n ? n : json_get(c->keywords, name);
}

static void map_expand_dims(keras_call *c, const char *unused)
{
    (void)unused;
    int64_t axis = -1;
    keras_ints(argument(c, "axis"), &axis, 1);
    emit_unsqueeze(c->e, c->in[0], &axis, 1, c->out);
}

static void map_transpose(keras_call *c, const char *unused)
{
    (void)unused;
    int64_t perm[MAX_RANK];
    int count = keras_ints(argument(c, "axes"), perm, MAX_RANK);
    if (count)
        emit_transpose(c->e, c->in[0], perm, count, c->out);
    else
        emit_1(c->e, "Transpose", c->in[0], c->out);
}

static void map_reduce(keras_call *c, const char *canonical)
{
    int64_t axes[MAX_RANK];
    int count = keras_ints(argument(c, "axis"), axes, MAX_RANK);
    bool keeps = json_int(argument(c, "keepdims"), 0) != 0;
    emit_reduce(c->e, canonical, c->in[0], count ? emit_list(c->e, axes, count) : NO_VALUE, keeps, c->out);
}

static void map_reshape(keras_call *c, const char *unused)
{
    (void)unused;
    int64_t dims[MAX_RANK];
    const json_node *shape = argument(c, "newshape");
    int count = keras_ints(shape ? shape : argument(c, "shape"), dims, MAX_RANK);
    if (count)
        emit_reshaped(c->e, c->in[0], dims, count, c->out);
    else
        keras_foreign(c);
}

static void map_unary(keras_call *c, const char *canonical)
{
    emit_1(c->e, canonical, c->in[0], c->out);
}

static void map_softmax(keras_call *c, const char *canonical)
{
    emit_int(emit_op(c->e, canonical, c->in, 1, c->out), "axis", json_int(argument(c, "axis"), -1));
}

/* x[1:, ..., None]: numbers, slices, null for a new axis. */
static void map_get_item(keras_call *c, const char *unused)
{
    (void)unused;
    int64_t begin[MAX_RANK], end[MAX_RANK], step[MAX_RANK];
    int count = 0;
    emit_slice s = {0};
    const json_node *key = json_at(c->arguments, 1);
    key = key ? key : json_get(c->keywords, "key");
    if (!key) {
        keras_foreign(c);
        return;
    }
    const json_node *x = json_is(key, JSON_ARRAY) ? json_first(key) : key;
    for (; x && count < 62; x = json_is(key, JSON_ARRAY) ? x->next : NULL, count++) {
        const json_node *config = json_get(x, "config");
        int64_t bit = (int64_t)1 << count;
        begin[count] = end[count] = 0;
        step[count] = 1;
        if (json_is(x, JSON_INT)) {
            begin[count] = x->integer;
            s.shrink_axis_mask |= bit;
        } else if (json_is(x, JSON_NULL)) {
            s.new_axis_mask |= bit;
        } else if (str_is(json_text(json_get(x, "class_name")), "__ellipsis__")) {
            s.ellipsis_mask |= bit;
        } else {
            begin[count] = json_int(json_get(config, "start"), 0);
            end[count] = json_int(json_get(config, "stop"), 0);
            step[count] = json_int(json_get(config, "step"), 1);
            s.begin_mask |= json_is_null(json_get(config, "start")) ? bit : 0;
            s.end_mask |= json_is_null(json_get(config, "stop")) ? bit : 0;
        }
    }
    s.begin = emit_list(c->e, begin, count);
    s.end = emit_list(c->e, end, count);
    s.strides = emit_list(c->e, step, count);
    emit_strided_slice(c->e, c->in[0], &s, c->out);
}

/* Maps a function by its name: "__operators__.add", "math.multiply", "nn.relu". */
static void map_lambda(keras_call *c, const char *unused)
{
    (void)unused;
    static const struct {
        const char *ending, *canonical;
    } BINARY[] = {{".add", "Add"}, {".subtract", "Sub"}, {".sub", "Sub"},    {".multiply", "Mul"},
                  {".mul", "Mul"}, {".truediv", "Div"},  {".divide", "Div"}, {".maximum", "Max"},
                  {".pow", "Pow"}, {".minimum", "Min"}},
      UNARY[] = {{".relu", "Relu"}, {".sigmoid", "Sigmoid"}, {".tanh", "Tanh"}, {".sqrt", "Sqrt"},
                 {".exp", "Exp"},   {".log", "Log"},         {".abs", "Abs"},   {".negative", "Neg"}};
    str function = keras_text(c, "function", NULL);
    for (size_t i = 0; i < sizeof BINARY / sizeof *BINARY; i++)
        if (str_ends(function, BINARY[i].ending)) {
            map_binary(c, BINARY[i].canonical);
            return;
        }
    for (size_t i = 0; i < sizeof UNARY / sizeof *UNARY; i++)
        if (str_ends(function, UNARY[i].ending)) {
            map_unary(c, UNARY[i].canonical);
            return;
        }
    if (str_ends(function, "reduce_mean"))
        map_reduce(c, "ReduceMean");
    else if (str_ends(function, "reduce_sum"))
        map_reduce(c, "ReduceSum");
    else if (str_is(function, "reshape"))
        map_reshape(c, NULL);
    else
        keras_foreign(c);
}

static const struct {
    const char *class_name;
    void (*map)(keras_call *c, const char *canonical);
    const char *canonical;
    int most_inputs; /* largest number of inputs (0: any); distinguishes a layer from an operator of the same name */
} ROWS[] = {
    {"Absolute", map_unary, "Abs", 0},
    {"Add", map_binary, "Add", 2},
    {"Add", map_join, "Sum", 0},
    {"AdditiveAttention", map_attention, "additive", 0},
    {"Attention", map_attention, "dot", 0},
    {"Average", map_join, "Mean", 0},
    {"Concatenate", map_concat, "Concat", 0},
    {"Divide", map_binary, "Div", 0},
    {"Dot", map_dot, NULL, 0},
    {"Exp", map_unary, "Exp", 0},
    {"ExpandDims", map_expand_dims, NULL, 0},
    {"GetItem", map_get_item, NULL, 0},
    {"Log", map_unary, "Log", 0},
    {"Matmul", map_join, "MatMul", 0},
    {"Max", map_reduce, "ReduceMax", 1},
    {"Maximum", map_binary, "Max", 0},
    {"Mean", map_reduce, "ReduceMean", 1},
    {"Merge", map_merge, NULL, 0},
    {"Min", map_reduce, "ReduceMin", 1},
    {"Minimum", map_binary, "Min", 0},
    {"MultiHeadAttention", map_multi_head_attention, NULL, 0},
    {"Multiply", map_binary, "Mul", 0},
    {"Negative", map_unary, "Neg", 0},
    {"Power", map_binary, "Pow", 0},
    {"Relu", map_unary, "Relu", 0},
    {"Sigmoid", map_unary, "Sigmoid", 0},
    {"Softmax", map_softmax, "Softmax", 0},
    {"Sqrt", map_unary, "Sqrt", 0},
    {"Subtract", map_binary, "Sub", 0},
    {"Sum", map_reduce, "ReduceSum", 1},
    {"TFOpLambda", map_lambda, NULL, 0},
    {"Tanh", map_unary, "Tanh", 0},
    {"Transpose", map_transpose, NULL, 0},
    {"TrueDivide", map_binary, "Div", 0},
};

bool keras_operator(keras_call *c)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (str_is(c->class_name, ROWS[i].class_name) && (!ROWS[i].most_inputs || c->in_count <= ROWS[i].most_inputs)) {
            ROWS[i].map(c, ROWS[i].canonical);
            return true;
        }
    return false;
}
