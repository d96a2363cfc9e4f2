/* rules_pointwise.c: pointwise operators and reductions. Files do not record in-place operators, so kernel names
 * have no underscore. */
#include "lower/eager/eager.h"

/* ---- operators --------------------------------------------------------------------------------------------------- */

enum { MAX_OPERANDS = 8 };

tensor_id eager_pointwise(eager *e, const char *op, const tensor_id *inputs, int count, dtype type)
{
    extent operands[MAX_OPERANDS + 1], x; /* One more than are kept, because the last operand may be a scalar. */
    int operand_count = 0;
    x.rank = 0;
    bool keeps_float = false;
    for (int i = 0; i < count && i < MAX_OPERANDS; i++) {
        extent *own = &operands[operand_count];
        extent_read(own, tensor_at(e, inputs[i]));
        for (int d = 1; d <= own->rank; d++) { /* Aligns dimensions from the last one. */
            int at = MAX_PLACED_RANK - d;
            if (d > x.rank || (x.dims[at] == 1 && own->dims[own->rank - d] != 1))
                x.dims[at] = own->dims[own->rank - d];
        }
        x.rank = own->rank > x.rank ? own->rank : x.rank;
        keeps_float |= tensor_at(e, inputs[i])->keeps_float;
        operand_count += !tensor_at(e, inputs[i])->is_number;
    }
    memmove(x.dims, x.dims + MAX_PLACED_RANK - x.rank, (size_t)x.rank * sizeof *x.dims);
    extent_pointwise(&x, operands, operand_count);
    tensor_id made = eager_launch_new(e, op, inputs, count, type, &x);
    e->out->tensors.items[made].keeps_float = keeps_float && type == DT_FLOAT32;
    eager_count_flops(e, e->node && e->node->op ? (double)e->node->op->flops_per_element : 1);
    return made;
}

tensor_id eager_unary(eager *e, const char *op, tensor_id t)
{
    return eager_pointwise(e, op, &t, 1, tensor_dtype(e, t));
}

tensor_id eager_binary(eager *e, const char *op, tensor_id a, tensor_id b)
{
    tensor_id inputs[2] = {a, b};
    return eager_pointwise(e, op, inputs, 2, eager_promote(e, inputs, 2));
}

/* ---- one operand ------------------------------------------------------------------------------------------------- */

static str outer_scope(str scope)
{
    scope.len -= scope.len > 0;
    while (scope.len > 0 && scope.ptr[scope.len - 1] != '/')
        scope.len--;
    return scope;
}

/* True if a norm or sum and the next activation are in one module, or if one's module contains the other's. */
static bool is_same_layer(const node *before, const node *activation)
{
    str inner = eager_node_scope(before), outer = outer_scope(eager_node_scope(activation));
    return str_eq(outer, inner) || str_eq(outer, outer_scope(inner));
}

/* Copies the input of an in-place activation whose gradient needs that input. Files do not record in-place
 * operators; usually they come after a norm, a sum, or the squeezing convolution of a gate. */
static bool copies_input(eager *e)
{
    const node *n = e->node, *before = eager_maker_of(e, n->inputs[0], NULL);
    if (e->model->source.states_in_place && !node_attr_int(n, "eager_in_place", 0))
        return false;
    bool saves_input = node_is(n, "Silu") || node_is(n, "Swish") || node_is(n, "HardSwish") || node_is(n, "Mish") ||
                       node_is(n, "Clip");
    if (!saves_input || !before || !before->op)
        return false;
    if (e->model->source.states_in_place)
        return true;
    extent x = eager_output_extent(e, 0);
    bool is_gate = x.rank == 4 && x.dims[2] == 1 && x.dims[3] == 1;
    if (node_is(n, "Clip") && !node_is(before, "BatchNormalization"))
        return false;
    if (node_is(before, "Conv") && e->standardises) { /* At the start of a block, the result is scaled afterwards. */
        const node *after = eager_reader_of(e, n->outputs[0]);
        return is_gate || (after && !node_is(after, "Mul"));
    }
    if (node_is(before, "Conv"))
        return is_gate || node_is(n, "HardSwish");
    if (node_is(before, "Add"))
        return x.rank == 4 && is_same_layer(before, n);
    return before->op->kind == OP_NORM && is_same_layer(before, n);
}

static void copy_input(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent x = tensor_extent(e, t), order = x;
    extent_preserve(&x, &order);
    eager_launch_new(e, "clone", &t, 1, tensor_dtype(e, t), &x);
}

void lower_unary(eager *e)
{
    if (e->trains && copies_input(e))
        copy_input(e);
    tensor_id t = eager_input_of(e, 0);
    extent x = tensor_extent(e, t);
    if (e->trains && node_is(e->node, "Relu") && extent_is_dense(&x)) { /* In place, strides do not change. */
        eager_set_result(e, 0, eager_launch_new(e, "relu", &t, 1, tensor_dtype(e, t), &x));
        eager_count_flops(e, 1);
        return;
    }
    eager_set_result(e, 0, eager_unary(e, eager_aten_name(e), t));
}

static void lower_in_place(eager *e, const char *op);

/* Autocast runs these operators in float32. */
void lower_float_unary(eager *e)
{
    if (node_attr_int(e->node, "eager_in_place", 0)) {
        lower_in_place(e, eager_aten_name(e));
        return;
    }
    eager_set_result(e, 0, eager_unary(e, eager_aten_name(e), eager_to_float(e, eager_input_of(e, 0))));
}

void lower_clip(eager *e)
{
    double low = 0, high = 0;
    const node *n = e->node;
    bool has_low = node_attr(n, "min") || (n->input_count > 1 && n->inputs[1] != NO_VALUE);
    bool has_high = node_attr(n, "max") || (n->input_count > 2 && n->inputs[2] != NO_VALUE);
    low = node_attr_real(n, "min", low);
    high = node_attr_real(n, "max", high);
    if (n->input_count > 1)
        eager_value_is_number(e, n->inputs[1], &low);
    if (n->input_count > 2)
        eager_value_is_number(e, n->inputs[2], &high);
    str call = node_attr_string(n, "eager_call", ""); /* of a stated program */
    bool states_bounds = str_starts(call, "hardtanh") || str_starts(call, "relu6");
    const char *op = str_starts(call, "clamp_max")        ? "clamp_max"
                     : states_bounds                      ? "hardtanh"
                     : node_attr_int(n, "eager_clamp", 0) ? "clamp"
                     : !has_high                          ? "clamp_min" /* as F.normalize() calls it */
                     : has_low && low == 0 && high == 6   ? "hardtanh"
                                                          : "clamp";
    if (e->trains && op[0] == 'h' && copies_input(e))
        copy_input(e);
    eager_set_result(e, 0, eager_unary(e, op, eager_input_of(e, 0)));
}

void lower_pow(eager *e)
{
    if (node_attr_int(e->node, "eager_in_place", 0)) {
        lower_in_place(e, "pow");
        return;
    }
    tensor_id x = eager_to_float(e, eager_input_of(e, 0));
    eager_set_result(e, 0, eager_unary(e, "pow", x));
}

/* x.square().float(): autocast already computes the square in fp32, so the cast launches nothing. */
static bool casts_square(eager *e)
{
    const node *square = eager_own_maker_of(e, e->node->inputs[0], "Mul");
    return square && square->input_count == 2 && square->inputs[0] == square->inputs[1] &&
           eager_is_low(tensor_dtype(e, eager_tensor_of(e, square->inputs[0])));
}

/* True if a cast of a float32 file to float32 is x.float() around code that needs the precision. It may also be
 * to(y.dtype), which does nothing if y has 16 bits too. After x.float() a cast back follows on the chain of first
 * readers, or no product follows. In half precision no product comes before the cast back, because its weight has 16
 * bits. */
static bool widens(const eager *e)
{
    enum { MOST_STEPS = 24 };
    bool is_half = e->low == DT_UNKNOWN, has_product = false;
    const node *n = eager_reader_of(e, e->node->outputs[0]);
    for (int i = 0; n && i < MOST_STEPS; i++) {
        if (node_is(n, "Cast") && dtype_is_float(e->net->values.items[n->outputs[0]].dtype))
            return !is_half || !has_product;
        has_product |= n->op && (n->op->kind == OP_CONV || n->op->kind == OP_MATMUL);
        n = eager_reader_of(e, n->outputs[0]);
    }
    return !is_half && (!has_product || e->is_static[e->node->outputs[0]]);
}

/* Returns y of a program's x.type_as(y) or x.to(y). A cast without effect in the file has the name of its argument from
 * then on, so that y may be x.float() where the code has x. */
static value_id other_of_call(const eager *e)
{
    int32_t count;
    const int64_t *tensors = node_attr_ints(e->node, "eager_tensors", &count);
    bool is_two = tensors && count == 5 && tensors[1] == 1 && tensors[4] >= 0 && tensors[4] < e->net->values.count;
    if (!e->is_stated || !is_two)
        return NO_VALUE;
    value_id v = (value_id)tensors[4];
    for (const node *cast = eager_maker_of(e, v, "Cast"); cast; cast = eager_maker_of(e, v, "Cast"))
        v = cast->inputs[0];
    return v;
}

/* True for arange(n).float(), perhaps viewed or shifted; other integers usually become the type of another tensor. */
static bool counts_positions(const eager *e)
{
    enum { MOST_STEPS = 8 };
    const node *n = e->is_stated ? eager_maker_of(e, e->node->inputs[0], NULL) : NULL;
    for (int i = 0; n && i < MOST_STEPS; i++) {
        str call = node_attr_string(n, "eager_call", "");
        if (str_is(call, "arange"))
            return true;
        bool goes_on =
            str_is(call, "unsqueeze") || str_is(call, "expand") || str_is(call, "view") || str_is(call, "add");
        n = goes_on ? eager_maker_of(e, n->inputs[0], NULL) : NULL;
    }
    return false;
}

/* Returns x of a program's second x.float(). A cast without effect in the file renames x, so the second reads the
 * first. */
static tensor_id twice_cast(eager *e)
{
    const node *first = e->is_stated ? eager_maker_of(e, e->node->inputs[0], "Cast") : NULL;
    if (!first || e->net->values.items[first->inputs[0]].dtype != e->net->values.items[first->outputs[0]].dtype)
        return NO_TENSOR;
    tensor_id x = eager_tensor_of(e, first->inputs[0]);
    return eager_is_low(tensor_dtype(e, x)) && tensor_dtype(e, eager_input_of(e, 0)) == DT_FLOAT32 ? x : NO_TENSOR;
}

void lower_cast(eager *e)
{
    tensor_id x = eager_input_of(e, 0);
    dtype to = e->net->values.items[e->node->outputs[0]].dtype, from = tensor_dtype(e, x);
    if (!dtype_is_float(to) || !dtype_is_float(from)) {
        dtype real = counts_positions(e) ? DT_FLOAT32 : e->weight_dtype;
        eager_set_result(e, 0, eager_cast(e, x, dtype_is_float(to) ? real : to));
        return;
    }
    if (e->is_stated && node_attr_int(e->node, "eager_exact", 0)) {
        eager_set_result(e, 0, eager_cast(e, x, to));
        return;
    }
    tensor_id source = twice_cast(e);
    if (source != NO_TENSOR) {
        x = eager_cast(e, source, DT_FLOAT32);
        e->out->tensors.items[x].keeps_float = true;
        eager_set_result(e, 0, x);
        return;
    }
    value_id like = other_of_call(e);
    if (like != NO_VALUE) {
        eager_set_result(e, 0, eager_cast(e, x, tensor_dtype(e, eager_tensor_of(e, like))));
        return;
    }
    /* Lowers a cast between floating-point types. In an fp32 export it marks x.float() around code that requires
     * fp32, and the cast back. */
    dtype low = e->low != DT_UNKNOWN ? e->low : e->weight_dtype;
    if (eager_is_low(low) && eager_is_low(from) && dtype_bits(to) >= 32 && widens(e)) {
        x = eager_cast(e, x, DT_FLOAT32);
        e->out->tensors.items[x].keeps_float = true;
    } else if (tensor_at(e, x)->keeps_float || (e->low == DT_UNKNOWN && eager_is_low(low) && from == DT_FLOAT32)) {
        x = eager_cast(e, x, low); /* In half precision only code after x.float() runs in float32. */
    } else if (e->low != DT_UNKNOWN && casts_square(e)) {
        e->out->tensors.items[x].keeps_float = true;
    }
    eager_set_result(e, 0, x);
}

/* In training, dropout also returns the boolean mask of kept elements. */
void lower_dropout(eager *e)
{
    tensor_id x = eager_input_of(e, 0);
    if (!e->trains) {
        eager_set_result(e, 0, x);
        return;
    }
    tensor_id made = eager_unary(e, "native_dropout", x);
    extent kept = tensor_extent(e, made);
    eager_add_output(e, DT_BOOL, &kept);
    eager_set_result(e, 0, made);
}

/* ---- two and more operands --------------------------------------------------------------------------------------- */

/* True for a learned scalar that is applied in place, so that the result keeps the operand's type. */
static bool is_gain(const placed_tensor *t)
{
    return t->is_weight && t->rank == 1 && t->dims[0] == 1;
}

/* True for a parameter of a map that the exporter computed. Parameters that are stored in this shape are no constants.
 * */
static bool is_map_parameter(const eager *e, value_id v)
{
    const value *val = v == NO_VALUE ? NULL : &e->net->values.items[v];
    return val && val->is_constant_node && val->rank == 4 && dtype_is_float(val->dtype);
}

static bool has_map_parameter(const eager *e, const node *n, const char *op)
{
    return n && node_is(n, op) && n->input_count == 2 && is_map_parameter(e, n->inputs[1]);
}

/* True if the node belongs to a norm written as single operators (EvoNorm, filter response norm): a scale before a
 * shift, a shift after a scale, a bound on the result, or the scale of the norm's gate. */
static bool is_in_own_norm(const eager *e, const node *n)
{
    const node *before = eager_maker_of(e, n->inputs[0], NULL), *after = eager_reader_of(e, n->outputs[0]);
    if (has_map_parameter(e, n, "Add"))
        return has_map_parameter(e, before, "Mul");
    if (has_map_parameter(e, n, "Max"))
        return has_map_parameter(e, before, "Add");
    return has_map_parameter(e, n, "Mul") && after && (node_is(after, "Sigmoid") || has_map_parameter(e, after, "Add"));
}

/* True for a parameter that the network casts to the other operand's type: by a node, or in a norm, where exporters
 * fold the cast. */
static bool is_cast_parameter(eager *e, value_id v)
{
    const value *val = v == NO_VALUE ? NULL : &e->net->values.items[v];
    if (!val || val->rank == 0 || !e->is_static[v] || !dtype_is_float(val->dtype))
        return false;
    return eager_maker_of(e, v, "Cast") || is_in_own_norm(e, e->node);
}

/* x.add_(y): the result has the type and layout of x, and autocast does not apply. */
static void lower_in_place(eager *e, const char *op)
{
    const node *n = e->node;
    tensor_id inputs[MAX_OPERANDS] = {NO_TENSOR};
    int count = 0;
    for (int i = 0; i < n->input_count && count < MAX_OPERANDS; i++)
        if (eager_input_of(e, i) != NO_TENSOR)
            inputs[count++] = eager_input_of(e, i);
    extent x = tensor_extent(e, inputs[0]);
    if (!extent_is_dense(&x)) {
        extent from = x;
        extent_preserve(&x, &from);
    }
    tensor_id made = eager_launch_new(e, op, inputs, count, tensor_dtype(e, inputs[0]), &x);
    e->out->tensors.items[made].keeps_float = tensor_at(e, inputs[0])->keeps_float;
    eager_count_flops(e, (double)n->op->flops_per_element);
    eager_set_result(e, 0, made);
}

void lower_binary(eager *e)
{
    if (node_attr_int(e->node, "eager_in_place", 0) && eager_input_of(e, 0) != NO_TENSOR) {
        lower_in_place(e, eager_aten_name(e));
        return;
    }
    const char *op = eager_aten_name(e);
    tensor_id sum = eager_input_of(e, 0);
    const node *n = e->node;
    double x;
    if (n->input_count == 2 && is_cast_parameter(e, n->inputs[1]) && e->low != DT_UNKNOWN) {
        eager_set_result(e, 0, eager_binary(e, op, sum, eager_cast(e, eager_input_of(e, 1), tensor_dtype(e, sum))));
        return;
    }
    if (node_is(n, "Mul") && n->input_count == 2 && n->inputs[0] == n->inputs[1]) { /* torch.square */
        eager_set_result(e, 0, eager_unary(e, "pow", eager_to_float(e, sum)));
        return;
    }
    if (node_is(n, "Mul") && n->input_count == 2 && is_gain(tensor_at(e, eager_input_of(e, 1)))) {
        if (e->trains)
            copy_input(e);
        extent number = {.rank = 0};
        tensor_id inputs[2] = {sum, eager_view_as(e, "view", eager_input_of(e, 1), &number)};
        eager_set_result(e, 0, eager_pointwise(e, "mul_", inputs, 2, tensor_dtype(e, sum)));
        return;
    }
    if (node_is(n, "Sub") && eager_value_is_number(e, n->inputs[0], &x))
        op = "rsub";
    for (int i = 1; i < e->node->input_count; i++)
        if (eager_input_of(e, i) != NO_TENSOR)
            sum = eager_binary(e, op, sum, eager_input_of(e, i));
    eager_set_result(e, 0, sum);
}

/* nn.PReLU's parameter is a vector, which exporters reshape to (C, 1, 1). PyTorch casts the vector and reshapes it. */
static tensor_id slopes(eager *e)
{
    value_id v = e->node->inputs[1];
    tensor_id t = eager_input_of(e, 1);
    extent x = eager_value_extent(e, v), flat = {.rank = 1, .dims = {extent_elements(&x)}};
    if (!tensor_at(e, t)->is_weight || x.rank < 2 || x.dims[0] != flat.dims[0])
        return eager_to_low(e, t);
    if (tensor_at(e, t)->rank != 1) {
        extent_contiguous(&flat);
        t = e->of_value[v] = eager_tensor_new(e, tensor_dtype(e, t), &flat);
        e->out->tensors.items[t].is_weight = true;
        e->out->tensors.items[t].value = v;
    }
    return eager_view_as(e, "view", eager_to_low(e, t), &x);
}

/* Autocast runs this operator in 16 bits, its weight too. */
void lower_prelu(eager *e)
{
    tensor_id inputs[2] = {eager_to_low(e, eager_input_of(e, 0)), slopes(e)};
    eager_set_result(e, 0, eager_pointwise(e, "_prelu_kernel", inputs, 2, tensor_dtype(e, inputs[0])));
}

void lower_where(eager *e)
{
    double filler;
    if (eager_value_is_number(e, e->node->inputs[1], &filler) && tensor_at(e, eager_input_of(e, 1))->rank == 0) {
        tensor_id masked[2] = {eager_input_of(e, 2), eager_input_of(e, 0)};
        eager_set_result(e, 0, eager_pointwise(e, "masked_fill", masked, 2, tensor_dtype(e, masked[0])));
        return;
    }
    tensor_id inputs[3] = {eager_input_of(e, 0), eager_input_of(e, 1), eager_input_of(e, 2)};
    eager_set_result(e, 0, eager_pointwise(e, "where", inputs, 3, eager_promote(e, inputs + 1, 2)));
}

void lower_compare(eager *e)
{
    tensor_id inputs[2] = {eager_input_of(e, 0), eager_input_of(e, 1)};
    eager_set_result(e, 0, eager_pointwise(e, eager_aten_name(e), inputs, 2, DT_BOOL));
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

static tensor_id reduce(eager *e, const char *op, tensor_id t, dtype type, const extent *x)
{
    extent result = *x, from = tensor_extent(e, t);
    extent_contiguous(&result);
    tensor_id made = eager_launch_new(e, op, &t, 1, type, &result);
    e->out->tensors.items[made].keeps_float = tensor_at(e, t)->keeps_float;
    e->out->kernels.items[e->out->kernels.count - 1].flops = extent_elements(&from);
    return made;
}

/* Under autocast, sums and norms return float32 without a preceding cast; means and maxima keep their type. */
void lower_reduce(eager *e)
{
    const node *n = e->node;
    extent x = eager_output_extent(e, 0);
    tensor_id t = eager_input_of(e, 0);
    if (node_is(n, "ReduceLogSumExp"))
        t = eager_to_float(e, t);
    bool widens =
        (node_is(n, "ReduceSum") || node_is(n, "ReduceL2")) && e->low != DT_UNKNOWN && eager_is_low(tensor_dtype(e, t));
    eager_set_result(e, 0, reduce(e, eager_aten_name(e), t, widens ? DT_FLOAT32 : tensor_dtype(e, t), &x));
}

void lower_arg_reduce(eager *e)
{
    extent x = eager_output_extent(e, 0);
    eager_set_result(e, 0, reduce(e, eager_aten_name(e), eager_input_of(e, 0), DT_INT64, &x));
}

enum { SOFTMAX_FLOPS = 12 }; /* One each for maximum, difference, sum and quotient, the rest for the exponential. */

static tensor_id softmax_to(eager *e, const char *op, tensor_id t, dtype type)
{
    extent x = tensor_extent(e, t);
    extent_contiguous(&x);
    tensor_id made = eager_launch_new(e, op, &t, 1, type, &x);
    eager_count_flops(e, SOFTMAX_FLOPS);
    if (e->is_stated && type != tensor_dtype(e, t)) /* A cast without effect in the file goes back. */
        e->out->tensors.items[made].keeps_float = true;
    return made;
}

tensor_id eager_softmax(eager *e, const char *op, tensor_id t)
{
    bool widens = e->low != DT_UNKNOWN && eager_is_low(tensor_dtype(e, t));
    return softmax_to(e, op, t, widens ? DT_FLOAT32 : tensor_dtype(e, t));
}

void lower_softmax(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    int rank = tensor_at(e, t)->rank;
    int axis = rank > 0 ? eager_node_axis(e, node_attr_int(e->node, "axis", -1), rank) : -1;
    /* softmax(x, dtype=float32) casts within the kernel. */
    tensor_id made = node_attr_int(e->node, "eager_float", 0) ? softmax_to(e, eager_aten_name(e), t, DT_FLOAT32)
                                                              : eager_softmax(e, eager_aten_name(e), t);
    e->out->kernels.items[e->out->kernels.count - 1].axes_behind = (int8_t)(axis < 0 ? 0 : rank - 1 - axis);
    eager_set_result(e, 0, made);
}

/* F.normalize(): norm, clamp, quotient. */
void lower_lp_norm(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent whole = tensor_extent(e, t), x = whole;
    if (x.rank == 0) {
        lower_unknown(e);
        return;
    }
    x.dims[eager_node_axis(e, node_attr_int(e->node, "axis", -1), x.rank)] = 1;
    dtype type = e->low != DT_UNKNOWN && eager_is_low(tensor_dtype(e, t)) ? DT_FLOAT32 : tensor_dtype(e, t);
    tensor_id norm = reduce(e, "linalg_vector_norm", t, type, &x);
    norm = eager_unary(e, "clamp_min", norm);
    norm = eager_expand(e, norm, whole.rank, whole.dims);
    eager_set_result(e, 0, eager_binary(e, "div", t, norm));
}
