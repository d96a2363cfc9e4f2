/* patterns.c: finds groups of nodes that PyTorch dispatches as one operator. Recovery passes leave them alone,
 * because the groups are not layers. */
#include "lower/eager/eager.h"

bool eager_is_whole(const node *n)
{
    /* Norms that recovery passes create may lack weights. */
    int needed = !n->op ? 0 : n->op->kind == OP_NORM ? 1 : n->op->min_inputs;
    if (n->output_count < 1 || n->outputs[0] == NO_VALUE || n->input_count < needed)
        return false;
    for (int i = 0; i < needed; i++)
        if (n->inputs[i] == NO_VALUE)
            return false;
    return true;
}

const node *eager_maker_of(const eager *e, value_id v, const char *op)
{
    node_id id = v == NO_VALUE ? NO_NODE : e->net->values.items[v].producer;
    const node *n = id == NO_NODE ? NULL : &e->net->nodes.items[id];
    return n && (!op || node_is(n, op)) && eager_is_whole(n) ? n : NULL;
}

const node *eager_own_maker_of(const eager *e, value_id v, const char *op)
{
    return v != NO_VALUE && e->readers[v] == 1 ? eager_maker_of(e, v, op) : NULL;
}

const node *eager_reader_of(const eager *e, value_id v)
{
    const node *n = v == NO_VALUE || e->first_reader[v] == NO_NODE ? NULL : &e->net->nodes.items[e->first_reader[v]];
    return n && eager_is_whole(n) ? n : NULL;
}

str eager_node_scope(const node *n)
{
    str name = n->name;
    while (name.len > 0 && name.ptr[name.len - 1] != '/')
        name.len--;
    return name;
}

/* Launches nothing: a later node of the pattern launches all kernels. */
static void lower_nothing(eager *e)
{
    (void)e;
}

void eager_absorb(eager *e, const node *n)
{
    e->instead[n - e->net->nodes.items] = lower_nothing;
}

void eager_replace_rule(eager *e, const node *n, lower_rule rule)
{
    e->instead[n - e->net->nodes.items] = rule;
}

/* Makes the first input the result. */
static void lower_to_input(eager *e)
{
    eager_set_result(e, 0, eager_input_of(e, 0));
}

/* Returns the only reader of the node's result if it has operator `op`, else NULL. */
static const node *next_of(const eager *e, const node *n, const char *op)
{
    const node *next = n && e->readers[n->outputs[0]] == 1 ? eager_reader_of(e, n->outputs[0]) : NULL;
    return next && node_is(next, op) ? next : NULL;
}

/* Lowers an operator with a cast of the parameter to the other operand's type. */
static void lower_with_cast(eager *e)
{
    tensor_id x = eager_input_of(e, 0);
    eager_set_result(e, 0,
                     eager_binary(e, eager_aten_name(e), x, eager_cast(e, eager_input_of(e, 1), tensor_dtype(e, x))));
}

/* ---- addcmul: b + 1 * (w * x) ------------------------------------------------------------------------------------ */

static const node *unit_product(const eager *e, const node *add, int side)
{
    double x;
    const node *unit = eager_own_maker_of(e, add->inputs[side], "Mul");
    return unit && eager_value_is_number((eager *)e, unit->inputs[1], &x) && x == 1 ? unit : NULL;
}

/* Lowers addcmul, which autocast runs in the widest type of its operands. */
static void lower_addcmul(eager *e)
{
    const node *add = e->node;
    int side = unit_product(e, add, 1) ? 1 : 0;
    const node *unit = unit_product(e, add, side), *mul = eager_maker_of(e, unit->inputs[0], "Mul");
    tensor_id inputs[3] = {eager_tensor_of(e, add->inputs[1 - side]), eager_tensor_of(e, mul->inputs[0]),
                           eager_tensor_of(e, mul->inputs[1])};
    dtype type = eager_promote(e, inputs, 3);
    for (int i = 0; i < 3 && e->low != DT_UNKNOWN; i++)
        inputs[i] = eager_cast(e, inputs[i], type);
    eager_set_result(e, 0, eager_pointwise(e, "addcmul", inputs, 3, type));
}

static void find_addcmul(eager *e, const node *add)
{
    for (int side = 0; side < 2; side++) {
        const node *unit = unit_product(e, add, side);
        const node *mul = unit ? eager_own_maker_of(e, unit->inputs[0], "Mul") : NULL;
        if (!mul)
            continue;
        eager_absorb(e, unit);
        eager_absorb(e, mul);
        eager_replace_rule(e, add, lower_addcmul);
        return;
    }
}

/* ---- rsqrt: 1 / sqrt(x) ------------------------------------------------------------------------------------------ */

static void lower_rsqrt(eager *e)
{
    const node *root = eager_maker_of(e, e->node->inputs[e->node->input_count - 1], "Sqrt");
    eager_set_result(e, 0, eager_unary(e, "rsqrt", eager_to_float(e, eager_tensor_of(e, root->inputs[0]))));
}

static void lower_low_rsqrt(eager *e)
{
    const node *root = eager_maker_of(e, e->node->inputs[e->node->input_count - 1], "Sqrt");
    eager_set_result(e, 0, eager_unary(e, "rsqrt", eager_tensor_of(e, root->inputs[0])));
}

static void lower_low_pow(eager *e)
{
    eager_set_result(e, 0, eager_unary(e, "pow", eager_to_low(e, eager_input_of(e, 0))));
}

/* Returns the square under the root of an RMS norm. */
static const node *square_of(const eager *e, const node *inverse)
{
    const node *root = eager_maker_of(e, inverse->inputs[inverse->input_count - 1], "Sqrt");
    const node *sum = root ? eager_own_maker_of(e, root->inputs[0], "Add") : NULL;
    const node *mean = sum ? eager_own_maker_of(e, sum->inputs[0], "ReduceMean") : NULL;
    return mean ? eager_own_maker_of(e, mean->inputs[0], "Pow") : NULL;
}

/* Lowers the product with the inverse root. Reuses the cast that the square has already made. */
static void lower_low_quotient(eager *e)
{
    const node *square = square_of(e, eager_maker_of(e, e->node->inputs[1], NULL));
    tensor_id x = eager_input_of(e, 0), squared = eager_tensor_of(e, square->outputs[0]);
    for (int32_t i = e->out->kernels.count - 1; i >= 0; i--) {
        const kernel *k = &e->out->kernels.items[i];
        if (k->output_count == 1 && k->outputs[0] == squared) {
            x = k->inputs[0];
            break;
        }
    }
    eager_set_result(e, 0, eager_binary(e, "mul", x, eager_input_of(e, 1)));
}

/* Finds timm's RMS norm over the channels of a map. With fast norms, it and its weight run in 16 bits. */
static bool find_low_norm(eager *e, const node *inverse)
{
    const node *square = square_of(e, inverse), *quotient = next_of(e, inverse, "Mul");
    if (!square || !quotient || e->options->norms == NORMS_FLOAT || e->low == DT_UNKNOWN)
        return false;
    const value *from = &e->net->values.items[square->outputs[0]], *to = &e->net->values.items[inverse->outputs[0]];
    if (from->rank != 4 || to->rank != 4 || to->dims[1] != 1 || from->dims[2] != to->dims[2] ||
        from->dims[3] != to->dims[3] || quotient->inputs[0] != square->inputs[0])
        return false;
    eager_replace_rule(e, square, lower_low_pow);
    eager_replace_rule(e, inverse, lower_low_rsqrt);
    eager_replace_rule(e, quotient, lower_low_quotient);
    const node *scale = next_of(e, quotient, "Mul");
    if (scale && scale->input_count == 2 && e->is_static[scale->inputs[1]])
        eager_replace_rule(e, scale, lower_with_cast);
    return true;
}

static void find_rsqrt(eager *e, const node *n)
{
    double x;
    bool inverts = node_is(n, "Reciprocal") || (eager_value_is_number(e, n->inputs[0], &x) && x == 1);
    const node *root = inverts ? eager_own_maker_of(e, n->inputs[n->input_count - 1], "Sqrt") : NULL;
    if (!root)
        return;
    eager_absorb(e, root);
    if (!find_low_norm(e, n))
        eager_replace_rule(e, n, lower_rsqrt);
}

/* ---- var --------------------------------------------------------------------------------------------------------- */

/* mean((x - mean(x))^2), with an optional correction n / (n - 1). */
typedef struct variance {
    const node *mean, *sub, *square, *outer, *times, *last;
} variance;

/* A recovery pass turns the mean over a map into a pool. */
static const node *mean_of(const eager *e, value_id v)
{
    const node *mean = eager_maker_of(e, v, "ReduceMean");
    return mean ? mean : eager_maker_of(e, v, "GlobalAveragePool");
}

static bool read_variance(eager *e, const node *outer, variance *v)
{
    *v = (variance){.outer = outer, .last = outer};
    v->square = eager_own_maker_of(e, outer->inputs[0], "Mul");
    if (!v->square || v->square->input_count != 2 || v->square->inputs[0] != v->square->inputs[1])
        return false;
    value_id difference = v->square->inputs[0];
    v->sub = e->readers[difference] == 2 ? eager_maker_of(e, difference, "Sub") : NULL;
    v->mean = v->sub && e->readers[v->sub->inputs[1]] == 1 ? mean_of(e, v->sub->inputs[1]) : NULL;
    if (!v->mean || v->mean->inputs[0] != v->sub->inputs[0])
        return false;
    double x;
    const node *times = e->readers[outer->outputs[0]] == 1 ? eager_reader_of(e, outer->outputs[0]) : NULL;
    const node *div = times && node_is(times, "Mul") && e->readers[times->outputs[0]] == 1
                          ? eager_reader_of(e, times->outputs[0])
                          : NULL;
    if (div && node_is(div, "Div") && eager_value_is_number(e, times->inputs[1], &x) &&
        eager_value_is_number(e, div->inputs[1], &x)) {
        v->times = times;
        v->last = div;
    }
    return true;
}

static void lower_variance(eager *e)
{
    const node *times = node_is(e->node, "Div") ? eager_maker_of(e, e->node->inputs[0], "Mul") : NULL;
    variance v;
    read_variance(e, times ? mean_of(e, times->inputs[0]) : e->node, &v);
    tensor_id t = eager_tensor_of(e, v.sub->inputs[0]);
    if (e->low != DT_UNKNOWN && eager_is_low(tensor_dtype(e, t)) && eager_maker_of(e, v.sub->inputs[0], "Cast")) {
        t = eager_cast(e, t, DT_FLOAT32); /* The cast that find_instance_deviation() left to the variance. */
        e->out->tensors.items[t].keeps_float = true;
    }
    extent x = eager_output_extent(e, 0);
    tensor_id made = eager_launch_new(e, "var", &t, 1, tensor_dtype(e, t), &x);
    e->out->tensors.items[made].keeps_float = tensor_at(e, t)->keeps_float;
    eager_set_result(e, 0, made);
}

/* Lowers the deviation over the batch, which training computes. The file contains the running deviation; its small
 * update is omitted. */
static tensor_id batch_deviation(eager *e, tensor_id x)
{
    extent kept = {.rank = 4, .dims = {1, tensor_at(e, x)->dims[1], 1, 1}};
    extent_contiguous(&kept);
    tensor_id t = eager_to_float(e, x), made = eager_launch_new(e, "var", &t, 1, tensor_dtype(e, t), &kept);
    made = eager_unary(e, "sqrt", eager_unary(e, "add", made));
    return eager_cast(e, made, tensor_dtype(e, x));
}

/* Lowers the deviation over the batch, the first operand of EvoNorm B0's maximum. */
static void lower_left_deviation(eager *e)
{
    extent y = eager_output_extent(e, 0);
    const node *max = eager_reader_of(e, e->node->outputs[0]), *div = max ? eager_reader_of(e, max->outputs[0]) : NULL;
    const node *x = div ? eager_maker_of(e, div->inputs[0], "Cast") : NULL;
    bool is_computed = e->trains && x && e->of_value[x->inputs[0]] != NO_TENSOR && y.rank == 4;
    tensor_id t = is_computed ? batch_deviation(e, e->of_value[x->inputs[0]]) : eager_to_low(e, eager_input_of(e, 0));
    eager_set_result(e, 0, eager_expand(e, t, y.rank, y.dims));
}

static void replace_if(eager *e, const node *n, lower_rule rule)
{
    if (n && n->input_count == 2)
        eager_replace_rule(e, n, rule);
}

/* Finds EvoNorm B0: x / max(left, x * v + std) * weight + bias. In the code, std is x.float().var() … .to(x.dtype).
 * An fp32 trace merges x.float() with x, so the cast in the file belongs to std alone. */
static void find_instance_deviation(eager *e, const variance *v)
{
    const node *cast = eager_maker_of(e, v->sub->inputs[0], "Cast"), *back = NULL;
    if (cast && e->readers[cast->outputs[0]] > 2)
        back = next_of(e, next_of(e, next_of(e, v->last, "Add"), "Sqrt"), "Cast");
    if (!back)
        return;
    eager_replace_rule(e, cast, lower_to_input);
    const node *sum = next_of(e, next_of(e, back, "Expand"), "Add"), *max = next_of(e, sum, "Max");
    const node *div = next_of(e, max, "Div"), *scale = next_of(e, div, "Mul");
    if (!div)
        return;
    replace_if(e, eager_own_maker_of(e, sum->inputs[0], "Mul"), lower_with_cast);
    replace_if(e, eager_own_maker_of(e, max->inputs[0], "Expand"), lower_left_deviation);
    replace_if(e, scale, lower_with_cast);
    replace_if(e, next_of(e, scale, "Add"), lower_with_cast);
}

void eager_find_variance(eager *e, const node *outer)
{
    variance v;
    if (!read_variance(e, outer, &v))
        return;
    eager_absorb(e, v.mean);
    eager_absorb(e, v.sub);
    eager_absorb(e, v.square);
    eager_absorb(e, v.outer);
    if (v.times)
        eager_absorb(e, v.times);
    eager_replace_rule(e, v.last, lower_variance);
    find_instance_deviation(e, &v);
}

/* ---- sums in place ----------------------------------------------------------------------------------------------- */

/* Lowers y = conv(x); y += x. The result has the convolution's type. */
static void lower_sum_in_place(eager *e)
{
    tensor_id inputs[2] = {eager_input_of(e, 0), eager_input_of(e, 1)};
    eager_set_result(e, 0, eager_pointwise(e, "add_", inputs, 2, tensor_dtype(e, inputs[0])));
}

static void find_sum_in_place(eager *e, const node *add)
{
    const node *conv = eager_own_maker_of(e, add->inputs[0], "Conv");
    if (conv && conv->inputs[0] == add->inputs[1] && node_attr_int(conv, "group", 1) > 1)
        eager_replace_rule(e, add, lower_sum_in_place);
}

/* Finds a group norm without bias: the exporter adds a zero bias. */
static void find_zero_bias(eager *e, const node *add)
{
    const node *norm = eager_own_maker_of(e, add->inputs[0], "GroupNormalization");
    const value *b = &e->net->values.items[add->inputs[1]];
    bool is_one = b->rank >= 1 && e->is_static[add->inputs[1]];
    for (int i = 0; is_one && i < b->rank; i++)
        is_one = b->dims[i] == 1;
    bool has_bias = norm && norm->input_count > 2 && norm->inputs[2] != NO_VALUE;
    if (norm && !has_bias && is_one)
        eager_replace_rule(e, add, lower_to_input);
}

/* ---- sums that begin with zero ----------------------------------------------------------------------------------- */

/* Lowers s = 0; s = s + a * gate[0:1]; s = s + b * gate[1:2] …. The file lacks the first sum, which adds to zero. */
static void lower_sum_from_zero(eager *e)
{
    tensor_id first = eager_unary(e, "add", eager_input_of(e, 0));
    eager_set_result(e, 0, eager_binary(e, "add", first, eager_input_of(e, 1)));
}

static const node *gate_of(const eager *e, value_id v)
{
    const node *mul = eager_own_maker_of(e, v, "Mul");
    const node *gate = mul && mul->input_count == 2 ? eager_maker_of(e, mul->inputs[1], "Slice") : NULL;
    const value *x = gate ? &e->net->values.items[gate->outputs[0]] : NULL;
    return x && x->rank == 4 && x->dims[1] == 1 ? gate : NULL;
}

static void find_sum_from_zero(eager *e, const node *add)
{
    const node *a = gate_of(e, add->inputs[0]), *b = gate_of(e, add->inputs[1]);
    if (a && b && a->inputs[0] == b->inputs[0])
        eager_replace_rule(e, add, lower_sum_from_zero);
}

/* ---- im2col and col2im ------------------------------------------------------------------------------------------- */

/* Finds F.unfold(): index tables gather rows and columns of the padded map, which are permuted and flattened. */
static void lower_im2col(eager *e)
{
    const node *turn = eager_maker_of(e, e->node->inputs[0], "Transpose"),
               *columns = eager_maker_of(e, turn->inputs[0], "Gather");
    const node *rows = eager_maker_of(e, columns->inputs[0], "Gather"),
               *pad = eager_own_maker_of(e, rows->inputs[0], "Pad");
    tensor_id t = eager_tensor_of(e, pad ? pad->inputs[0] : rows->inputs[0]);
    extent x = eager_output_extent(e, 0);
    eager_set_result(e, 0, eager_launch_new(e, "im2col", &t, 1, tensor_dtype(e, t), &x));
}

void eager_find_im2col(eager *e, const node *reshape)
{
    const node *turn = eager_own_maker_of(e, reshape->inputs[0], "Transpose");
    const node *columns = turn ? eager_own_maker_of(e, turn->inputs[0], "Gather") : NULL;
    const node *rows = columns ? eager_own_maker_of(e, columns->inputs[0], "Gather") : NULL;
    if (!rows || node_attr_int(rows, "axis", 0) != 2 || node_attr_int(columns, "axis", 0) != 4 ||
        e->net->values.items[reshape->outputs[0]].rank != 3)
        return;
    const node *pad = eager_own_maker_of(e, rows->inputs[0], "Pad");
    if (pad)
        eager_absorb(e, pad);
    eager_absorb(e, rows);
    eager_absorb(e, columns);
    eager_absorb(e, turn);
    eager_replace_rule(e, reshape, lower_im2col);
}

/* Finds F.fold(): a transposed convolution with a constant weight that has one filter per window position. */
static void lower_col2im(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent from = tensor_extent(e, t), x = eager_output_extent(e, 0);
    t = eager_reshape(e, t, 3, (const int64_t[]){from.dims[0], from.dims[1], mul_wrapping(from.dims[2], from.dims[3])});
    eager_set_result(e, 0, eager_launch_new(e, "col2im", &t, 1, tensor_dtype(e, t), &x));
}

void eager_find_col2im(eager *e, const node *n)
{
    const value *w = n->input_count > 1 && n->inputs[1] != NO_VALUE ? &e->net->values.items[n->inputs[1]] : NULL;
    if (w && w->is_initializer && n->input_count == 2 && w->rank == 4 && w->dims[1] == 1 && w->dims[2] > 1 &&
        mul_wrapping(w->dims[2], w->dims[3]) == w->dims[0] / node_attr_int(n, "group", 1) &&
        e->net->values.items[n->inputs[0]].rank == 4)
        eager_replace_rule(e, n, lower_col2im);
}

/* ---- unfold ------------------------------------------------------------------------------------------------------ */

/* Finds x.unfold(): a view of overlapping windows, which the exporter writes as slices and a stack. */
static bool window_start(eager *e, value_id v, const node **slice, int64_t *start)
{
    const node *n = eager_own_maker_of(e, v, "Unsqueeze");
    const node *turn = n ? eager_own_maker_of(e, n->inputs[0], "Transpose") : NULL;
    *slice = n ? eager_own_maker_of(e, turn ? turn->inputs[0] : n->inputs[0], "Slice") : NULL;
    int32_t count;
    if (!*slice)
        return false;
    const node *own = e->node;
    e->node = *slice;
    const int64_t *starts = eager_node_ints(e, "starts", 1, &count);
    *start = starts && count == 1 ? starts[0] : -1;
    const int64_t *steps = eager_node_ints(e, "steps", 4, &count);
    if (steps && (count != 1 || steps[0] != 1))
        *start = -1;
    e->node = own;
    return *start >= 0;
}

static void lower_unfold(eager *e)
{
    const node *first, *second = NULL;
    int64_t start = 0, next = 0;
    window_start(e, e->node->inputs[0], &first, &start);
    if (e->node->input_count > 1)
        window_start(e, e->node->inputs[1], &second, &next);
    tensor_id t = eager_tensor_of(e, first->inputs[0]);
    extent from = tensor_extent(e, eager_tensor_of(e, e->node->inputs[0])), x = eager_output_extent(e, 0),
           whole = tensor_extent(e, t);
    memcpy(x.strides, from.strides, sizeof x.strides);
    /* The sliced axis is the one whose length differs; its stride is the step between windows. */
    int64_t stride = 1;
    const extent cut = eager_value_extent(e, first->outputs[0]);
    for (int i = 0; i < whole.rank && i < cut.rank; i++)
        if (whole.dims[i] != cut.dims[i])
            stride = whole.strides[i];
    x.strides[eager_node_axis(e, node_attr_int(e->node, "axis", 0), x.rank)] =
        mul_wrapping(stride, next > start ? next - start : 1);
    eager_set_result(e, 0, eager_view_as(e, "unfold", t, &x));
}

void eager_find_unfold(eager *e, const node *concat)
{
    const node *first = NULL, *slice;
    int64_t start;
    for (int i = 0; i < concat->input_count; i++) {
        if (concat->inputs[i] == NO_VALUE || !window_start(e, concat->inputs[i], &slice, &start))
            return;
        first = first ? first : slice;
        if (slice->inputs[0] != first->inputs[0])
            return;
    }
    if (first)
        eager_replace_rule(e, concat, lower_unfold);
}

/* ---- x[..., a:b, c:d] = y ---------------------------------------------------------------------------------------- */

/* True if the value is a range or a constant that varies only along the given axis. */
static bool is_range_along(const eager *e, value_id v, int axis, int rank)
{
    const value *x = v == NO_VALUE ? NULL : &e->net->values.items[v];
    if (!x || x->rank < 0 || x->rank > rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] != 1 && i + rank - x->rank != axis)
            return false;
    const node *shaped = eager_maker_of(e, v, "Reshape");
    return e->is_static[v] || eager_maker_of(e, shaped ? shaped->inputs[0] : v, "Range");
}

/* True for an index with one entry per axis and element. Exporters write it for an assignment to a slice; it
 * consists of ranges, or of constants if small. */
static bool writes_slice(const eager *e, const node *scatter)
{
    value_id index = scatter->inputs[1];
    int rank = e->net->values.items[scatter->inputs[0]].rank;
    if (e->net->values.items[index].rank != rank + 1 || e->net->values.items[scatter->inputs[2]].rank != rank)
        return false;
    if (e->is_static[index])
        return true;
    const node *joined = eager_maker_of(e, index, "Concat");
    if (!joined || joined->input_count != rank)
        return false;
    for (int i = 0; i < rank; i++) {
        const node *behind = eager_maker_of(e, joined->inputs[i], "Unsqueeze");
        const node *grown = behind ? eager_maker_of(e, behind->inputs[0], "Expand") : NULL;
        if (!grown || !is_range_along(e, grown->inputs[0], i, rank))
            return false;
    }
    return true;
}

/* One copy that also converts types. It counts as a write of all of `x`, because slices leave little out. */
static void lower_slice_write(eager *e)
{
    const node *cast = eager_own_maker_of(e, e->node->inputs[2], "Cast");
    tensor_id t = eager_input_of(e, 0), y = cast ? eager_tensor_of(e, cast->inputs[0]) : eager_input_of(e, 2);
    extent x = tensor_extent(e, t);
    tensor_id made = eager_view_as(e, "alias", t, &x);
    eager_launch(e, "copy_", &y, 1, made, KERNEL_IN_PLACE);
    eager_set_result(e, 0, made);
}

void eager_find_slice_write(eager *e, const node *scatter)
{
    if (!eager_is_whole(scatter) || !writes_slice(e, scatter))
        return;
    const node *index = eager_own_maker_of(e, scatter->inputs[1], "Concat");
    const node *cast = eager_own_maker_of(e, scatter->inputs[2], "Cast");
    if (index)
        eager_absorb(e, index);
    if (cast)
        eager_absorb(e, cast);
    eager_replace_rule(e, scatter, lower_slice_write);
}

/* ---- by the operator that ends them ------------------------------------------------------------------------------ */

static bool has_both(const node *n)
{
    return n->input_count == 2 && n->inputs[0] != NO_VALUE && n->inputs[1] != NO_VALUE;
}

void eager_find_at_sum(eager *e, const node *add)
{
    if (!has_both(add))
        return;
    find_addcmul(e, add);
    find_sum_in_place(e, add);
    find_zero_bias(e, add);
    find_sum_from_zero(e, add);
}

void eager_find_at_product(eager *e, const node *product)
{
    if (!has_both(product))
        return;
    eager_find_attention_steps(e, product);
    eager_find_differential(e, product);
}

void eager_find_at_quotient(eager *e, const node *n)
{
    if (node_is(n, "Reciprocal") ? n->input_count == 1 : has_both(n))
        find_rsqrt(e, n);
}

void eager_find_standardised(eager *e, const node *n)
{
    e->standardises = true;
    if (n->input_count > 1 && n->inputs[1] != NO_VALUE)
        e->has_gains |= e->net->values.items[n->inputs[1]].rank > 1;
}
