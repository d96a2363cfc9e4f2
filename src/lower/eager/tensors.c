/* tensors.c: tensors of a program, their types, views and copies. */
#include "lower/eager/eager.h"

/* Upper bound on sizes, so that sums and products of a few sizes cannot overflow. */
static const int64_t MAX_ELEMENTS = (int64_t)1 << 48;

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static _Noreturn void fail_too_large(eager *e)
{
    fail_with(&e->model->fail, SOOTH_ERROR_UNSUPPORTED, "node %.*s (%.*s) has a tensor that is too large",
              STR_ARG(e->node ? e->node->name : STR("")), STR_ARG(e->node ? e->node->type : STR("")));
}

/* Multiplies `elements` by a dimension; fails on overflow. */
static inline int64_t checked_times(eager *e, int64_t elements, int64_t dim)
{
    if (dim < 0 || __builtin_mul_overflow(elements, dim > 0 ? dim : 1, &elements) || elements > MAX_ELEMENTS)
        fail_too_large(e);
    return elements;
}

/* Appends a tensor; `numbers` holds its dimensions, then its strides. `stored` is the number of elements in memory. */
static tensor_id push_tensor(eager *e, dtype type, int rank, const int64_t *numbers, int64_t stored, int32_t storage)
{
    placed_tensor *t = ARENA_PUSH_ROOM(e->arena, &e->out->tensors);
    *t = (placed_tensor){.dtype = type,
                         .rank = (int8_t)rank,
                         .dims = numbers,
                         .strides = numbers + rank,
                         .storage = storage,
                         .value = NO_VALUE};
    *(int64_t *)ARENA_PUSH_ROOM(e->arena, &e->bytes) = stored * dtype_bits(type) / 8;
    return e->out->tensors.count - 1;
}

static tensor_id add_tensor(eager *e, dtype type, const extent *x, int32_t storage)
{
    int rank = x->rank;
    int64_t *numbers = arena_room(e->arena, 2 * (size_t)rank + 1, sizeof *numbers);
    int64_t elements = 1, stored = 1;
    for (int i = 0; i < rank; i++) {
        int64_t dim = x->dims[i], stride = x->strides[i];
        elements = checked_times(e, elements, dim);
        stored = mul_wrapping(stored, stride || dim == 0 ? dim : 1);
        numbers[i] = dim;
        numbers[rank + i] = stride;
    }
    return push_tensor(e, type, rank, numbers, stored, storage);
}

tensor_id eager_tensor_new(eager *e, dtype type, const extent *x)
{
    return add_tensor(e, type, x, e->out->storage_count++);
}

/* Writes the dimensions of a value to `dims`, with contiguous strides. Fails if they are unknown. Returns the rank. */
static int read_shape(eager *e, const value *val, int64_t *dims, int64_t *strides)
{
    bool known = val->kind == VALUE_TENSOR && val->rank >= 0;
    int64_t elements = 1, step = 1;
    for (int i = val->rank - 1; known && i >= 0; i--) {
        known = dim_known(val->dims[i]);
        if (!known)
            break;
        dims[i] = val->dims[i];
        elements = checked_times(e, elements, dims[i]);
        strides[i] = step;
        step = elements;
    }
    if (!known && e->net->remedy)
        fail_with(&e->model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "the shape of %.*s is not known, because dimensions of the inputs are open: give %s",
                  STR_ARG(val->name), e->net->remedy);
    if (!known)
        fail_with(
            &e->model->fail, SOOTH_ERROR_UNSUPPORTED,
            "the shape of %.*s is not known, though those of the inputs are: it depends on data, or on an operator "
            "that is not known ('sooth inspect' shows where it begins)",
            STR_ARG(val->name));
    return val->rank;
}

static const value *placeable(eager *e, value_id v)
{
    const value *val = &e->net->values.items[v];
    if (val->rank > MAX_PLACED_RANK)
        fail_with(&e->model->fail, SOOTH_ERROR_UNSUPPORTED, "%.*s has %d dimensions; kernels take up to %d",
                  STR_ARG(val->name), val->rank, MAX_PLACED_RANK);
    return val;
}

extent eager_value_extent(eager *e, value_id v)
{
    extent x;
    x.rank = read_shape(e, placeable(e, v), x.dims, x.strides);
    return x;
}

bool eager_has_channels_last(const node *n)
{
    bool may_have =
        n->op && (n->op->kind == OP_CONV || n->op->kind == OP_POOL || n->op->kind == OP_NORM || n->op->kind == OP_MOVE);
    return may_have && node_attr_int(n, "channels_last", 0) != 0;
}

bool lower_keeps_channels_last(const network *net)
{
    int32_t last = 0, first = 0;
    for (int32_t i = 0; i < net->nodes.count; i++) {
        const node *n = &net->nodes.items[i];
        if (n->op && n->op->kind == OP_CONV)
            *(eager_has_channels_last(n) ? &last : &first) += 1;
    }
    return last > first;
}

static bool has_shape_of(const value *x, const value *y)
{
    bool same = x->rank == y->rank;
    for (int i = 0; same && i < x->rank; i++)
        same = x->dims[i] == y->dims[i];
    return same;
}

static bool has_one_element(const value *x)
{
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] != 1)
            return false;
    return x->rank >= 0;
}

bool eager_continues_turned(const eager *e)
{
    const node *n = e->node;
    if (!n->op || n->op->kind != OP_POINTWISE || n->output_count != 1 || n->outputs[0] == NO_VALUE || e->trains)
        return false;
    const value *y = &e->net->values.items[n->outputs[0]];
    bool is_turned = false;
    for (int i = 0; i < n->input_count; i++) {
        if (n->inputs[i] == NO_VALUE)
            continue;
        const value *x = &e->net->values.items[n->inputs[i]];
        bool is_same = has_shape_of(x, y);
        if (!is_same && !has_one_element(x))
            return false;
        is_turned |= is_same && e->of_turned[n->inputs[i]] != NO_TENSOR;
    }
    return is_turned && y->rank >= 3;
}

/* Permutes (N, …, C) to (N, C, …), or back. */
static void turn_axes(int rank, bool to_first, int64_t *perm)
{
    for (int i = 0; i < rank; i++)
        perm[i] = i == 0 ? 0 : to_first ? (i == 1 ? rank - 1 : i - 1) : i == rank - 1 ? 1 : i + 1;
}

static void turn_extent(extent *x)
{
    int64_t perm[MAX_PLACED_RANK] = {0}, dims[MAX_PLACED_RANK] = {0};
    turn_axes(x->rank, true, perm);
    for (int k = 0; k < x->rank; k++)
        dims[k] = x->dims[perm[k]];
    memcpy(x->dims, dims, (size_t)x->rank * sizeof *dims);
    extent_contiguous(x);
}

extent eager_output_extent(eager *e, int i)
{
    extent x = eager_value_extent(e, e->node->outputs[i]);
    if (e->is_turned && i == 0 && x.rank >= 3)
        turn_extent(&x);
    return x;
}

/* Constants of rank 0 are scalars of the program. */
static bool is_number(const eager *e, const value *v)
{
    return v->rank == 0 && v->producer == NO_NODE && !v->is_input && (!e->is_stated || v->is_constant_node);
}

tensor_id eager_tensor_of(eager *e, value_id v)
{
    if (e->of_value[v] != NO_TENSOR)
        return e->of_value[v];
    if (e->of_turned[v] != NO_TENSOR) {
        int64_t perm[MAX_PLACED_RANK] = {0};
        turn_axes(tensor_at(e, e->of_turned[v])->rank, false, perm);
        return e->of_value[v] = eager_permute(e, e->of_turned[v], perm);
    }
    const value *val = placeable(e, v);
    dtype type = dtype_is_float(val->dtype) ? e->weight_dtype : val->dtype;
    tensor_id t;
    if (e->options->layout == LAYOUT_NHWC && val->rank == 4 && !(val->is_input && e->is_turned)) {
        extent x = eager_value_extent(e, v);
        extent_channels_last(&x); /* The extent is contiguous before this call. */
        t = eager_tensor_new(e, type, &x);
    } else { /* Most values are weights, which need no extent. */
        int rank = val->rank > 0 ? val->rank : 0;
        int64_t stored = 1, *numbers = arena_room(e->arena, 2 * (size_t)rank + 1, sizeof *numbers);
        rank = read_shape(e, val, numbers, numbers + rank);
        for (int i = 0; i < rank; i++)
            stored = mul_wrapping(stored, numbers[i]);
        t = push_tensor(e, type, rank, numbers, stored, e->out->storage_count++);
    }
    placed_tensor *made = &e->out->tensors.items[t];
    made->value = v;
    made->is_weight = !val->is_input;
    made->is_number = is_number(e, val);
    e->of_value[v] = t;
    return t;
}

static tensor_id turned_input(eager *e, int i)
{
    value_id v = e->node->inputs[i];
    if (e->of_turned[v] == NO_TENSOR) {
        tensor_id t = eager_tensor_of(e, v);
        int64_t perm[MAX_PLACED_RANK] = {0};
        turn_axes(tensor_at(e, t)->rank, true, perm);
        e->of_turned[v] = tensor_at(e, t)->rank < 3 ? t : eager_permute(e, t, perm);
    }
    return e->of_turned[v];
}

tensor_id eager_input_of(eager *e, int i)
{
    if (e->is_turned && (i == 0 || e->turns_all) && i < e->node->input_count && e->node->inputs[i] != NO_VALUE) {
        const value *x = &e->net->values.items[e->node->inputs[i]];
        if (!e->turns_all || has_shape_of(x, &e->net->values.items[e->node->outputs[0]]))
            return turned_input(e, i);
    }
    return i < e->node->input_count && e->node->inputs[i] != NO_VALUE ? eager_tensor_of(e, e->node->inputs[i])
                                                                      : NO_TENSOR;
}

int eager_input_rank(eager *e, int i)
{
    return tensor_at(e, eager_input_of(e, i))->rank;
}

void eager_set_result(eager *e, int i, tensor_id t)
{
    if (i >= e->node->output_count || e->node->outputs[i] == NO_VALUE)
        return;
    value_id v = e->node->outputs[i];
    const value *want = &e->net->values.items[v];
    if (e->is_turned && i == 0 && want->rank >= 3 && tensor_at(e, t)->rank == want->rank) {
        e->of_turned[v] = t; /* A reader of the original layout gets a transposed view. */
        if (e->out->tensors.items[t].value == NO_VALUE)
            e->out->tensors.items[t].value = v;
        return;
    }
    const placed_tensor *got = tensor_at(e, t);
    bool fits = want->kind == VALUE_TENSOR && got->rank == want->rank;
    for (int d = 0; fits && d < got->rank; d++)
        fits = got->dims[d] == want->dims[d];
    if (!fits) {
        extent x = eager_value_extent(e, v);
        t = eager_reshape(e, t, x.rank, x.dims);
    }
    e->of_value[v] = t;
    if (e->out->tensors.items[t].value == NO_VALUE)
        e->out->tensors.items[t].value = v;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

bool eager_is_low(dtype t)
{
    return t == DT_FLOAT16 || t == DT_BFLOAT16;
}

static int width_of(dtype t)
{
    if (t == DT_BOOL)
        return 0;
    return (dtype_is_float(t) ? 1000 : 0) + dtype_bits(t);
}

dtype eager_promote(const eager *e, const tensor_id *inputs, int count)
{
    dtype widest = DT_UNKNOWN, of_numbers = DT_UNKNOWN;
    for (int i = 0; i < count; i++) {
        const placed_tensor *t = tensor_at(e, inputs[i]);
        dtype *best = t->rank == 0 ? &of_numbers : &widest;
        if (*best == DT_UNKNOWN || width_of(t->dtype) > width_of(*best))
            *best = t->dtype;
    }
    if (widest == DT_UNKNOWN)
        return of_numbers;
    /* A scalar changes the kind (integer to floating point), but never the width. */
    bool lifts = of_numbers != DT_UNKNOWN && dtype_is_float(of_numbers) && !dtype_is_float(widest);
    return lifts ? e->weight_dtype : widest;
}

tensor_id eager_cast(eager *e, tensor_id t, dtype to)
{
    if (tensor_dtype(e, t) == to)
        return t;
    extent x;
    extent_read(&x, tensor_at(e, t));
    if (!extent_is_dense(&x)) {
        extent from = x;
        extent_preserve(&x, &from);
    }
    return eager_launch_new(e, "_to_copy", &t, 1, to, &x);
}

/* Autocast keeps the 16-bit copies of parameters until the end of the pass. */
static tensor_id cast_once(eager *e, tensor_id t)
{
    value_id v = tensor_at(e, t)->value;
    bool is_parameter = tensor_at(e, t)->is_weight && v != NO_VALUE && eager_is_learned(e, v);
    if (!is_parameter)
        return eager_cast(e, t, e->low);
    if (e->of_low[v] == NO_TENSOR)
        e->of_low[v] = eager_cast(e, t, e->low);
    return e->of_low[v];
}

tensor_id eager_to_low(eager *e, tensor_id t)
{
    if (t == NO_TENSOR || e->low == DT_UNKNOWN || tensor_dtype(e, t) != DT_FLOAT32)
        return t;
    if (e->is_stated)
        return cast_once(e, t);
    return tensor_at(e, t)->keeps_float ? t : eager_cast(e, t, e->low);
}

tensor_id eager_to_float(eager *e, tensor_id t)
{
    return t != NO_TENSOR && e->low != DT_UNKNOWN && eager_is_low(tensor_dtype(e, t)) ? eager_cast(e, t, DT_FLOAT32)
                                                                                      : t;
}

/* ---- views and copies -------------------------------------------------------------------------------------------- */

tensor_id eager_view_as(eager *e, const char *op, tensor_id t, const extent *x)
{
    placed_tensor from = *tensor_at(e, t);
    tensor_id made = add_tensor(e, from.dtype, x, from.storage);
    e->out->tensors.items[made].is_number = from.is_number;
    e->out->tensors.items[made].keeps_float = from.keeps_float;
    eager_launch(e, op, &t, 1, made, KERNEL_VIEW);
    return made;
}

tensor_id eager_permute(eager *e, tensor_id t, const int64_t *perm)
{
    const placed_tensor *from = tensor_at(e, t);
    int rank = from->rank;
    extent x;
    x.rank = rank;
    for (int i = 0; i < rank; i++) {
        x.dims[i] = from->dims[perm[i]];
        x.strides[i] = from->strides[perm[i]];
    }
    tensor_id made = eager_view_as(e, "permute", t, &x);
    if (e->trains) {
        int8_t places[MAX_PLACED_RANK] = {0};
        for (int i = 0; i < rank; i++)
            places[perm[i]] = (int8_t)i;
        eager_note_turn(e, places, rank);
    }
    return made;
}

void eager_note_turn(eager *e, const int8_t *places, int rank)
{
    turn *t = ARENA_PUSH(e->arena, &e->turns);
    t->kernel = e->out->kernels.count - 1;
    memcpy(t->places, places, (size_t)rank * sizeof *places);
}

tensor_id eager_transpose_last(eager *e, tensor_id t)
{
    extent x;
    extent_read(&x, tensor_at(e, t));
    int64_t dim = x.dims[x.rank - 1], stride = x.strides[x.rank - 1];
    x.dims[x.rank - 1] = x.dims[x.rank - 2];
    x.strides[x.rank - 1] = x.strides[x.rank - 2];
    x.dims[x.rank - 2] = dim;
    x.strides[x.rank - 2] = stride;
    return eager_view_as(e, x.rank == 2 ? "t" : "transpose", t, &x);
}

tensor_id eager_expand(eager *e, tensor_id t, int rank, const int64_t *dims)
{
    const placed_tensor *from = tensor_at(e, t);
    extent x;
    x.rank = rank;
    for (int i = 0; i < rank; i++) {
        int own = i - (rank - from->rank);
        x.dims[i] = dims[i];
        x.strides[i] = own < 0 || (from->dims[own] == 1 && dims[i] != 1) ? 0 : from->strides[own];
    }
    return eager_view_as(e, "expand", t, &x);
}

tensor_id eager_clone(eager *e, tensor_id t)
{
    extent x;
    extent_read(&x, tensor_at(e, t));
    extent_contiguous(&x);
    return eager_launch_new(e, "clone", &t, 1, tensor_dtype(e, t), &x);
}

tensor_id eager_contiguous(eager *e, tensor_id t)
{
    extent x;
    extent_read(&x, tensor_at(e, t));
    return extent_is_contiguous(&x) ? t : eager_clone(e, t);
}

tensor_id eager_reshape(eager *e, tensor_id t, int rank, const int64_t *dims)
{
    extent from, x;
    extent_read(&from, tensor_at(e, t));
    x.rank = rank;
    memcpy(x.dims, dims, (size_t)rank * sizeof *dims);
    if (extent_elements(&from) != extent_elements(&x)) /* In a damaged network, two rules may disagree. */
        return eager_launch_new(e, "reshape", &t, 1, tensor_dtype(e, t), (extent_contiguous(&x), &x));
    if (extent_view(&from, &x))
        return eager_view_as(e, "view", t, &x);
    t = eager_clone(e, t);
    extent_contiguous(&x);
    return eager_view_as(e, "_unsafe_view", t, &x);
}
