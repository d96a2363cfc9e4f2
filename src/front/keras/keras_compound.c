/* keras_compound.c: maps Keras layers with einsum equations or grouped heads, and keras.ops on single elements. */
#include "front/keras/keras.h"

enum { MAX_LABELS = 16 };

/* ---- EinsumDense ----------------------------------------------------------------------------------------------- */

/* One term of an equation: its letters, and how many precede "...". */
typedef struct term {
    char letters[MAX_LABELS];
    int count, before_dots; /* number of letters; letters before "...", or -1 without it */
} term;

static bool read_term(str *rest, term *t)
{
    *t = (term){.before_dots = -1};
    while (rest->len) {
        char c = rest->ptr[0];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && c != '.' && c != ' ')
            break;
        if (c == '.' && t->before_dots < 0)
            t->before_dots = t->count;
        if (is_letter && t->count == MAX_LABELS)
            return false;
        if (is_letter)
            t->letters[t->count++] = c;
        *rest = (str){rest->ptr + 1, rest->len - 1};
    }
    return t->count > 0;
}

/* Returns the dimension that the letter at `index` stands for, in a tensor of `rank`. */
static int place_of(const term *t, int index, int rank)
{
    bool from_end = t->before_dots >= 0 && index >= t->before_dots;
    return from_end ? rank - t->count + index : index;
}

static num dim_in(const term *t, char letter, const num *dims, int rank)
{
    for (int i = 0; i < t->count; i++) {
        int place = place_of(t, i, rank);
        if (t->letters[i] == letter && place >= 0 && place < rank)
            return dims[place];
    }
    return NUM_UNKNOWN;
}

static void map_einsum_dense(keras_call *c)
{
    str equation = keras_text(c, "equation", NULL), rest = equation, axes = keras_text(c, "bias_axes", NULL);
    const json_node *activation = json_get(c->config, "activation");
    term in, weight, out;
    num dims[MAX_RANK], made[MAX_LABELS];
    int64_t sizes[MAX_LABELS], given[MAX_LABELS] = {0};
    int rank = keras_shape(c, c->in[0], dims);
    bool is_read = rank >= 1 && read_term(&rest, &in) && rest.len > 1 && rest.ptr[0] == ',';
    rest = is_read ? (str){rest.ptr + 1, rest.len - 1} : rest;
    is_read = is_read && read_term(&rest, &weight) && rest.len > 2 && rest.ptr[0] == '-' && rest.ptr[1] == '>';
    rest = is_read ? (str){rest.ptr + 2, rest.len - 2} : rest;
    is_read = is_read && read_term(&rest, &out);
    /* Output shape. The configured one has no batch, and null where a dimension is that of the input. */
    const json_node *shape = json_get(c->config, "output_shape");
    int count = 0;
    if (json_is(shape, JSON_ARRAY))
        for (const json_node *n = json_first(shape); n && count < MAX_LABELS; n = n->next)
            given[count++] = json_int(n, 0);
    else
        count = keras_ints(shape, given, MAX_LABELS);
    for (int i = 0; i < count; i++)
        made[i] = given[i] > 0 ? given[i] : NUM_UNKNOWN;
    for (int i = 0; is_read && i < weight.count; i++) {
        num size = dim_in(&in, weight.letters[i], dims, rank);
        for (int k = 0; k < out.count && !dim_known(size); k++) {
            int place = count - out.count + k; /* "..." aligns at the end */
            if (out.letters[k] == weight.letters[i] && place >= 0)
                size = made[place];
        }
        is_read = dim_known(size) && size > 0;
        sizes[i] = size;
    }
    if (!is_read) {
        keras_foreign(c);
        return;
    }
    value_id y = keras_before(c, activation), kernel = keras_weight(c, "kernel", weight.count, sizes);
    node *n = emit_op(c->e, "Einsum", (const value_id[]){c->in[0], kernel}, 2, axes.len ? NO_VALUE : y);
    emit_text(n, "equation", equation);
    if (axes.len) {
        int bias_rank = 0;
        for (int i = 0; i < out.count; i++) {
            bool has_bias = memchr(axes.ptr, out.letters[i], axes.len) != NULL;
            if (!has_bias && bias_rank == 0)
                continue;
            num size = has_bias ? dim_in(&weight, out.letters[i], sizes, weight.count) : 1;
            given[bias_rank++] = dim_known(size) && size > 0 ? size : 1;
        }
        emit_2(c->e, "Add", n->outputs[0], keras_weight(c, "bias", bias_rank, given), y);
    }
    keras_activate(c, activation, y);
}

/* ---- attention with fewer heads of keys than of queries ---------------------------------------------------------- */

static value_id project(keras_call *c, const char *name, value_id x, int64_t width, int64_t out, value_id output)
{
    arena *a = c->e->b->arena;
    bool has_bias = keras_bool(c, "use_bias", NULL, true);
    value_id w = keras_weight(c, arena_printf(a, "%s/kernel", name).ptr, 2, (const int64_t[]){width, out});
    value_id product = emit_2(c->e, "MatMul", x, w, has_bias ? NO_VALUE : output);
    if (!has_bias)
        return product;
    return emit_2(c->e, "Add", product, keras_weight(c, arena_printf(a, "%s/bias", name).ptr, 1, &out), output);
}

/* (N, T, heads·size) → (N, groups, heads / groups, T, size); keys have one head per group. */
static value_id split_groups(keras_call *c, value_id x, int64_t groups, int64_t heads, int64_t size)
{
    value_id split = emit_reshaped(c->e, x, (const int64_t[]){0, 0, groups, heads / groups, size}, 5, NO_VALUE);
    return emit_transpose(c->e, split, (const int64_t[]){0, 2, 3, 1, 4}, 5, NO_VALUE);
}

static void map_grouped_attention(keras_call *c)
{
    enum { MOST = 1 << 20 };
    emitter *e = c->e;
    int64_t size = keras_int(c, "head_dim", NULL, 0), heads = keras_int(c, "num_query_heads", NULL, 0);
    int64_t groups = keras_int(c, "num_key_value_heads", NULL, 0);
    value_id query = c->in[0], v = c->in_count > 1 ? c->in[1] : query, k = c->in_count > 2 ? c->in[2] : v;
    num widths[3] = {keras_dim(c, query, -1), keras_dim(c, k, -1), keras_dim(c, v, -1)}, dims[MAX_RANK];
    if (keras_shape(c, query, dims) != 3 || !dim_known(widths[0]) || !dim_known(widths[1]) || !dim_known(widths[2]) ||
        size < 1 || heads < 1 || groups < 1 || size > MOST || heads > MOST || heads % groups) {
        keras_foreign(c);
        return;
    }
    value_id q = split_groups(c, project(c, "query", query, widths[0], heads * size, NO_VALUE), groups, heads, size);
    k = split_groups(c, project(c, "key", k, widths[1], groups * size, NO_VALUE), groups, groups, size);
    v = split_groups(c, project(c, "value", v, widths[2], groups * size, NO_VALUE), groups, groups, size);
    value_id scaled = emit_2(e, "Mul", q, emit_scalar(e, DT_FLOAT32, 0.125), NO_VALUE);
    value_id turned = emit_transpose(e, k, (const int64_t[]){0, 1, 2, 4, 3}, 5, NO_VALUE);
    value_id scores = emit_2(e, "MatMul", scaled, turned, NO_VALUE);
    node *softmax = emit_op(e, "Softmax", &scores, 1, NO_VALUE);
    emit_int(softmax, "axis", -1);
    value_id mixed = emit_2(e, "MatMul", softmax->outputs[0], v, NO_VALUE);
    value_id rows = emit_transpose(e, mixed, (const int64_t[]){0, 3, 1, 2, 4}, 5, NO_VALUE);
    rows = emit_reshaped(e, rows, (const int64_t[]){0, 0, heads * size}, 3, NO_VALUE);
    project(c, "attention_output", rows, heads * size, widths[0], c->out);
}

/* ---- single elements ------------------------------------------------------------------------------------------- */

static void map_unit_norm(keras_call *c)
{
    node *n = emit_op(c->e, "LpNormalization", c->in, 1, c->out);
    int64_t axis = -1;
    keras_ints(json_get(c->config, "axis"), &axis, 1);
    emit_int(n, "axis", axis);
    emit_int(n, "p", 2);
}

static const struct {
    const char *class_name, *canonical;
} ELEMENTS[] = {
    {"Abs", "Abs"},
    {"Arccos", "Acos"},
    {"Arcsin", "Asin"},
    {"Arctan", "Atan"},
    {"Ceil", "Ceil"},
    {"Celu", "Celu"},
    {"Cos", "Cos"},
    {"Cosh", "Cosh"},
    {"Elu", "Elu"},
    {"Erf", "Erf"},
    {"Floor", "Floor"},
    {"Gelu", "Gelu"},
    {"HardSigmoid", "HardSigmoid"},
    {"HardSwish", "HardSwish"},
    {"HardSilu", "HardSwish"},
    {"LeakyRelu", "LeakyRelu"},
    {"Mish", "Mish"},
    {"Reciprocal", "Reciprocal"},
    {"Round", "Round"},
    {"Selu", "Selu"},
    {"Sign", "Sign"},
    {"Sin", "Sin"},
    {"Sinh", "Sinh"},
    {"Softplus", "Softplus"},
    {"Softsign", "Softsign"},
    {"Tan", "Tan"},
};

bool keras_compound(keras_call *c)
{
    if (str_is(c->class_name, "EinsumDense"))
        map_einsum_dense(c);
    else if (str_is(c->class_name, "GroupedQueryAttention") || str_is(c->class_name, "GroupQueryAttention"))
        map_grouped_attention(c);
    else if (str_is(c->class_name, "UnitNormalization"))
        map_unit_norm(c);
    else if (str_is(c->class_name, "Silu"))
        emit_2(c->e, "Mul", c->in[0], emit_1(c->e, "Sigmoid", c->in[0], NO_VALUE), c->out);
    else if (str_is(c->class_name, "Square"))
        emit_2(c->e, "Mul", c->in[0], c->in[0], c->out);
    else if (str_is(c->class_name, "Rsqrt"))
        emit_1(c->e, "Reciprocal", emit_1(c->e, "Sqrt", c->in[0], NO_VALUE), c->out);
    else {
        for (size_t i = 0; i < sizeof ELEMENTS / sizeof *ELEMENTS; i++)
            if (str_is(c->class_name, ELEMENTS[i].class_name)) {
                emit_1(c->e, ELEMENTS[i].canonical, c->in[0], c->out);
                return true;
            }
        return false;
    }
    return true;
}
