/* calls.c: lowers calls that a program states by name (torch.export). Such a program says which ATen operators run, so
 * each call in the table is one kernel, whatever canonical operators its front end wrote for it. Calls that PyTorch
 * takes apart, views, and operators with rules of their own are not in the table. */
#include "lower/eager/eager.h"

/* Effect of autocast on the tensors of a call. */
typedef enum call_cast {
    AS_IS,
    IN_FLOAT,     /* reads float32 */
    IN_LOW,       /* reads 16 bits */
    TO_FLOAT,     /* reads 16 bits and writes float32 */
    IN_THE_WIDEST /* reads the widest type of all */
} call_cast;

typedef enum call_type {
    PROMOTED, /* of all tensors */
    OF_FIRST, /* of the first tensor */
    OWN       /* the default type of created tensors */
} call_type;

typedef enum call_layout {
    POINTWISE,
    LIKE_FIRST,
    CONTIGUOUS,
    MAP /* channels last if the first tensor is, else contiguous */
} call_layout;

typedef struct call_rule {
    const char *name;   /* of the call, without the underscore of in-place calls */
    const char *kernel; /* NULL: the same */
    call_cast cast;
    call_type type;
    call_layout layout;
} call_rule;

/* clang-format off */
static const call_rule RULES[] = { /* sorted by name */
    {"__and__", "bitwise_and", AS_IS, PROMOTED, POINTWISE},
    {"__or__", "bitwise_or", AS_IS, PROMOTED, POINTWISE},
    {"__xor__", "bitwise_xor", AS_IS, PROMOTED, POINTWISE},
    {"_upsample_bicubic2d_aa", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"_upsample_bilinear2d_aa", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"_upsample_nearest_exact1d", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"_upsample_nearest_exact2d", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"_upsample_nearest_exact3d", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"_weight_norm", "_weight_norm_interface", AS_IS, OF_FIRST, LIKE_FIRST},
    {"acos", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"acosh", NULL, AS_IS, PROMOTED, POINTWISE},
    {"add", NULL, AS_IS, PROMOTED, POINTWISE},
    {"addcdiv", NULL, IN_THE_WIDEST, PROMOTED, POINTWISE},
    {"addcmul", NULL, IN_THE_WIDEST, PROMOTED, POINTWISE},
    {"all", NULL, AS_IS, PROMOTED, CONTIGUOUS},
    {"any", NULL, AS_IS, PROMOTED, CONTIGUOUS},
    {"arange", NULL, AS_IS, OWN, CONTIGUOUS},
    {"argsort", "sort", AS_IS, PROMOTED, CONTIGUOUS},
    {"asin", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"asinh", NULL, AS_IS, PROMOTED, POINTWISE},
    {"atan", NULL, AS_IS, PROMOTED, POINTWISE},
    {"atan2", NULL, IN_THE_WIDEST, PROMOTED, POINTWISE},
    {"atanh", NULL, AS_IS, PROMOTED, POINTWISE},
    {"baddbmm", NULL, IN_LOW, PROMOTED, CONTIGUOUS},
    {"bitwise_and", NULL, AS_IS, PROMOTED, POINTWISE},
    {"bitwise_not", NULL, AS_IS, PROMOTED, POINTWISE},
    {"bitwise_or", NULL, AS_IS, PROMOTED, POINTWISE},
    {"bitwise_xor", NULL, AS_IS, PROMOTED, POINTWISE},
    {"bucketize", NULL, AS_IS, PROMOTED, POINTWISE},
    {"ceil", NULL, AS_IS, PROMOTED, POINTWISE},
    {"col2im", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"copysign", NULL, AS_IS, PROMOTED, POINTWISE},
    {"cosh", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"cumprod", NULL, TO_FLOAT, PROMOTED, POINTWISE},
    {"cumsum", NULL, TO_FLOAT, PROMOTED, POINTWISE},
    {"div", NULL, AS_IS, PROMOTED, POINTWISE},
    {"divide", "div", AS_IS, PROMOTED, POINTWISE},
    {"eq", NULL, AS_IS, PROMOTED, POINTWISE},
    {"erfinv", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"exp", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"exp2", NULL, AS_IS, PROMOTED, POINTWISE},
    {"expm1", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"eye", NULL, AS_IS, OWN, CONTIGUOUS},
    {"fill", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"flip", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"floor_divide", NULL, AS_IS, PROMOTED, POINTWISE},
    {"fmod", NULL, AS_IS, PROMOTED, POINTWISE},
    {"full", NULL, AS_IS, OWN, CONTIGUOUS},
    {"full_like", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"gather", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"ge", NULL, AS_IS, PROMOTED, POINTWISE},
    {"glu", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"grid_sampler", "grid_sampler_2d", IN_THE_WIDEST, OF_FIRST, MAP},
    {"gt", NULL, AS_IS, PROMOTED, POINTWISE},
    {"hardshrink", NULL, AS_IS, PROMOTED, POINTWISE},
    {"im2col", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"index", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"index_add", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"index_copy", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"index_fill", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"index_put", NULL, IN_THE_WIDEST, OF_FIRST, LIKE_FIRST},
    {"index_select", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"isinf", NULL, AS_IS, PROMOTED, POINTWISE},
    {"isnan", NULL, AS_IS, PROMOTED, POINTWISE},
    {"le", NULL, AS_IS, PROMOTED, POINTWISE},
    {"lerp", NULL, AS_IS, PROMOTED, POINTWISE},
    {"linear", NULL, IN_LOW, PROMOTED, CONTIGUOUS}, /* lower_computed_linear() */
    {"linspace", NULL, AS_IS, OWN, CONTIGUOUS},
    {"log", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"log10", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"log1p", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"log2", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"log_sigmoid", "log_sigmoid_forward", AS_IS, PROMOTED, POINTWISE},
    {"logaddexp", NULL, AS_IS, PROMOTED, POINTWISE},
    {"logical_and", NULL, AS_IS, PROMOTED, POINTWISE},
    {"logical_not", NULL, AS_IS, PROMOTED, POINTWISE},
    {"logical_or", NULL, AS_IS, PROMOTED, POINTWISE},
    {"logical_xor", NULL, AS_IS, PROMOTED, POINTWISE},
    {"logsumexp", NULL, IN_FLOAT, OF_FIRST, CONTIGUOUS},
    {"lt", NULL, AS_IS, PROMOTED, POINTWISE},
    {"masked_fill", NULL, AS_IS, OF_FIRST, POINTWISE},
    {"masked_scatter", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"max", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"maximum", NULL, AS_IS, PROMOTED, POINTWISE},
    {"min", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"minimum", NULL, AS_IS, PROMOTED, POINTWISE},
    {"mul", NULL, AS_IS, PROMOTED, POINTWISE},
    {"multiply", "mul", AS_IS, PROMOTED, POINTWISE},
    {"nan_to_num", NULL, AS_IS, PROMOTED, POINTWISE},
    {"ne", NULL, AS_IS, PROMOTED, POINTWISE},
    {"neg", NULL, AS_IS, PROMOTED, POINTWISE},
    {"new_full", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"new_ones", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"new_zeros", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"ones", NULL, AS_IS, OWN, CONTIGUOUS},
    {"ones_like", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"pixel_shuffle", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"pixel_unshuffle", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"pow", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"prod", NULL, TO_FLOAT, OF_FIRST, CONTIGUOUS},
    {"reciprocal", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"remainder", NULL, AS_IS, PROMOTED, POINTWISE},
    {"repeat", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"roll", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"round", NULL, AS_IS, PROMOTED, POINTWISE},
    {"rsqrt", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"rsub", NULL, AS_IS, PROMOTED, POINTWISE},
    {"scatter", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"scatter_add", NULL, IN_THE_WIDEST, OF_FIRST, LIKE_FIRST},
    {"select_scatter", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"sign", NULL, AS_IS, PROMOTED, POINTWISE},
    {"sinh", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"slice_scatter", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"softplus", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"softshrink", NULL, AS_IS, PROMOTED, POINTWISE},
    {"sort", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"square", "pow", IN_FLOAT, PROMOTED, POINTWISE},
    {"std", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"std_mean", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"sub", NULL, AS_IS, PROMOTED, POINTWISE},
    {"tan", NULL, IN_FLOAT, PROMOTED, POINTWISE},
    {"threshold", NULL, AS_IS, PROMOTED, POINTWISE},
    {"topk", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"tril", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"triu", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"true_divide", "div", AS_IS, PROMOTED, POINTWISE},
    {"trunc", NULL, AS_IS, PROMOTED, POINTWISE},
    {"upsample_bicubic2d", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"upsample_bilinear2d", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"upsample_linear1d", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"upsample_nearest1d", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"upsample_nearest2d", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"upsample_nearest3d", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"upsample_trilinear3d", NULL, IN_FLOAT, OF_FIRST, MAP},
    {"var", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"var_mean", NULL, AS_IS, OF_FIRST, CONTIGUOUS},
    {"where", NULL, AS_IS, PROMOTED, POINTWISE},
    {"zero", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
    {"zeros", NULL, AS_IS, OWN, CONTIGUOUS},
    {"zeros_like", NULL, AS_IS, OF_FIRST, LIKE_FIRST},
};
/* clang-format on */

static const call_rule *find_rule(str name)
{
    int from = 0, to = sizeof RULES / sizeof *RULES;
    while (from < to) {
        int middle = (from + to) / 2, order = strncmp(RULES[middle].name, name.ptr, name.len);
        if (order == 0 && RULES[middle].name[name.len] == '\0')
            return &RULES[middle];
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* One call: its rule, its tensors, and its nodes. */
typedef struct call {
    const call_rule *rule;
    const int64_t *results, *arguments; /* value_ids */
    int32_t result_count, argument_count;
    int32_t last; /* its last node */
    bool in_place;
} call;

static bool read_call(const eager *e, int32_t at, call *c)
{
    const network *net = e->net;
    const node *n = &net->nodes.items[at];
    str name = node_attr_string(n, "eager_call", "");
    int32_t count = 0;
    const int64_t *tensors = node_attr_ints(n, "eager_tensors", &count);
    *c = (call){.in_place = name.len > 1 && str_ends(name, "_") && !str_ends(name, "__"), .last = at};
    name.len -= c->in_place;
    c->rule = name.len ? find_rule(name) : NULL;
    if (!c->rule || count < 3 || tensors[1] < 1 || tensors[1] > count - 2)
        return false;
    c->results = tensors + 2;
    c->result_count = (int32_t)tensors[1];
    c->arguments = c->results + c->result_count;
    c->argument_count = count - 2 - c->result_count;
    for (int32_t i = 2; i < count; i++)
        if (tensors[i] < 0 || tensors[i] >= net->values.count)
            return false;
    while (c->last + 1 < net->nodes.count) {
        int32_t next_count;
        if (node_attr_ints(&net->nodes.items[c->last + 1], "eager_tensors", &next_count) != tensors)
            break;
        c->last++;
    }
    node_id maker = net->values.items[c->results[0]].producer;
    return maker >= at && maker <= c->last && value_shape_known(&net->values.items[c->results[0]]);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static bool is_wider(dtype a, dtype b)
{
    return b == DT_UNKNOWN || dtype_bits(a) > dtype_bits(b);
}

/* The widest floating-point type; tensors without dimensions count only if there are no others. */
static dtype widest(const eager *e, const tensor_id *inputs, int32_t count)
{
    dtype types[2] = {DT_UNKNOWN, DT_UNKNOWN};
    for (int32_t i = 0; i < count; i++) {
        dtype type = tensor_dtype(e, inputs[i]);
        dtype *best = &types[tensor_at(e, inputs[i])->rank == 0];
        if (dtype_is_float(type) && is_wider(type, *best))
            *best = type;
    }
    return types[0] != DT_UNKNOWN ? types[0] : types[1];
}

static void cast_inputs(eager *e, const call *c, tensor_id *inputs)
{
    if (e->low == DT_UNKNOWN || c->in_place)
        return;
    dtype all = c->rule->cast == IN_THE_WIDEST ? widest(e, inputs, c->argument_count) : DT_UNKNOWN;
    for (int32_t i = 0; i < c->argument_count; i++) {
        if (c->rule->cast == IN_FLOAT)
            inputs[i] = eager_to_float(e, inputs[i]);
        else if (c->rule->cast == IN_LOW)
            inputs[i] = eager_to_low(e, inputs[i]);
        else if (all != DT_UNKNOWN && dtype_is_float(tensor_dtype(e, inputs[i])))
            inputs[i] = eager_cast(e, inputs[i], all);
    }
}

/* Element type of a result that is a floating-point tensor in the file. */
static dtype result_type(const eager *e, const call *c, const tensor_id *inputs)
{
    dtype first = c->argument_count > 0 ? tensor_dtype(e, inputs[0]) : DT_UNKNOWN;
    dtype type = c->rule->type == PROMOTED && !c->in_place ? widest(e, inputs, c->argument_count) : first;
    if (c->rule->type == OWN && node_attr_int(e->node, "eager_typed", 0))
        return e->weight_dtype;
    /* PyTorch's default type: of created tensors, and of integers with a number. */
    if (c->rule->type == OWN || type == DT_UNKNOWN || !dtype_is_float(type))
        return DT_FLOAT32;
    return c->rule->cast == TO_FLOAT && e->low != DT_UNKNOWN && eager_is_low(type) && !c->in_place ? DT_FLOAT32 : type;
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

enum { MOST_OPERANDS = 8 };

static void set_strides(eager *e, const call *c, const tensor_id *inputs, extent *x)
{
    extent first = c->argument_count > 0 ? tensor_extent(e, inputs[0]) : (extent){.rank = -1};
    bool is_alike = first.rank == x->rank && memcmp(first.dims, x->dims, (size_t)x->rank * sizeof *x->dims) == 0;
    extent operands[MOST_OPERANDS];
    int32_t count = 0;
    call_layout layout = c->in_place ? LIKE_FIRST : c->rule->layout;
    extent_contiguous(x);
    if (layout == LIKE_FIRST && is_alike)
        extent_preserve(x, &first);
    if (layout == MAP && first.rank == x->rank && extent_suggests_channels_last(&first))
        extent_channels_last(x);
    if (layout != POINTWISE)
        return;
    for (int32_t i = 0; i < c->argument_count && count < MOST_OPERANDS; i++) {
        extent own = tensor_extent(e, inputs[i]);
        if (own.rank > x->rank)
            return;
        operands[count++] = own;
    }
    extent_pointwise(x, operands, count);
}

static dtype dtype_of_result(const eager *e, const call *c, int32_t i, dtype real)
{
    dtype type = e->net->values.items[c->results[i]].dtype;
    return dtype_is_float(type) ? real : type;
}

static void keep_result(eager *e, const call *c, int32_t i, tensor_id t)
{
    value_id v = (value_id)c->results[i];
    e->of_value[v] = t;
    if (e->out->tensors.items[t].value == NO_VALUE)
        e->out->tensors.items[t].value = v;
}

/* The maximum of two tensors, and the maximum along a dimension, have one name. */
static const char *kernel_of(const call *c)
{
    const char *kernel = c->rule->kernel ? c->rule->kernel : c->rule->name;
    if (c->argument_count == 2 && strcmp(kernel, "max") == 0)
        return "maximum";
    return c->argument_count == 2 && strcmp(kernel, "min") == 0 ? "minimum" : kernel;
}

/* Each element of the result is a dot product of the length of `a`'s rows. */
static void count_products(eager *e, tensor_id a, const extent *x)
{
    kernel *k = &e->out->kernels.items[e->out->kernels.count - 1];
    const placed_tensor *p = tensor_at(e, a);
    int64_t inner = p->rank > 0 ? p->dims[p->rank - 1] : 1;
    if (__builtin_mul_overflow(extent_elements(x), inner, &k->macs) || k->macs > INT64_MAX / 2)
        k->macs = INT64_MAX / 2;
    k->flops = 2 * k->macs;
}

static void launch(eager *e, const call *c)
{
    tensor_id *inputs = ARENA_ARRAY(e->arena, tensor_id, (size_t)c->argument_count + 3);
    bool keeps_float = false;
    for (int32_t i = 0; i < c->argument_count; i++)
        inputs[i] = eager_tensor_of(e, (value_id)c->arguments[i]);
    cast_inputs(e, c, inputs);
    for (int32_t i = 0; i < c->argument_count; i++)
        keeps_float |= tensor_at(e, inputs[i])->keeps_float;
    dtype real = result_type(e, c, inputs);
    extent x = eager_value_extent(e, (value_id)c->results[0]), number = {.rank = 0};
    int32_t count = c->argument_count;
    while (strcmp(c->rule->name, "where") == 0 && count > 0 && count < 3) /* Its numbers become tensors. */
        inputs[count++] = eager_launch_new(e, "scalar_tensor", NULL, 0, dtype_of_result(e, c, 0, real), &number);
    set_strides(e, c, inputs, &x);
    bool is_filled =
        c->rule->layout == LIKE_FIRST && c->argument_count == 1 && str_ends(str_of(c->rule->name), "_like");
    tensor_id made =
        eager_launch_new(e, kernel_of(c), inputs, is_filled ? 0 : count, dtype_of_result(e, c, 0, real), &x);
    e->out->tensors.items[made].keeps_float = keeps_float && tensor_dtype(e, made) == DT_FLOAT32;
    eager_count_flops(e, e->node->op ? (double)e->node->op->flops_per_element : 1);
    if (c->rule->cast == IN_LOW && c->argument_count == 3)
        count_products(e, inputs[1], &x);
    keep_result(e, c, 0, made);
    for (int32_t i = 1; i < c->result_count; i++) {
        if (!value_shape_known(&e->net->values.items[c->results[i]]))
            continue;
        extent more = eager_value_extent(e, (value_id)c->results[i]);
        extent_contiguous(&more);
        keep_result(e, c, i, eager_add_output(e, dtype_of_result(e, c, i, real), &more));
    }
}

/* F.linear with a weight that is computed, for which the nodes are no linear layer. */
static bool lower_computed_linear(eager *e, const call *c)
{
    if (strcmp(c->rule->name, "linear") != 0)
        return false;
    tensor_id inputs[3] = {NO_TENSOR, NO_TENSOR, NO_TENSOR};
    for (int32_t i = 0; i < c->argument_count && i < 3; i++)
        inputs[i] = eager_tensor_of(e, (value_id)c->arguments[i]);
    keep_result(e, c, 0, eager_linear(e, inputs[0], inputs[1], inputs[2]));
    return true;
}

static bool is_linear(const eager *e, const call *c)
{
    const network *net = e->net;
    return c->argument_count > 1 && net->values.items[c->arguments[0]].rank > 1 &&
           net->values.items[c->arguments[1]].rank == 2;
}

/* torch.empty() and similar calls reserve memory and launch nothing. */
static bool lower_empty(eager *e)
{
    str name = node_attr_string(e->node, "eager_call", "");
    if (!str_starts(name, "empty") && !str_starts(name, "new_empty"))
        return false;
    extent x = eager_output_extent(e, 0);
    dtype type = e->net->values.items[e->node->outputs[0]].dtype;
    eager_set_result(e, 0, eager_tensor_new(e, dtype_is_float(type) ? e->weight_dtype : type, &x));
    return true;
}

bool eager_lower_call(eager *e, int32_t *at)
{
    call c;
    if (eager_is_whole(e->node) && lower_empty(e))
        return true;
    if (!read_call(e, *at, &c) || (strcmp(c.rule->name, "linear") == 0 && !is_linear(e, &c)))
        return false;
    e->layer = e->net->values.items[c.results[0]].producer;
    e->node = &e->net->nodes.items[e->layer];
    if (!lower_computed_linear(e, &c))
        launch(e, &c);
    *at = c.last;
    return true;
}
