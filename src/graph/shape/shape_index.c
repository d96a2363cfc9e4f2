/* shape_index.c: shapes of operators that select, scatter, count or mark elements, and of ranges and fills. */
#include "graph/shape/shape.h"

#include <math.h>

void shape_shape(infer *c)
{
    const value *v = in(c, 0);
    num length = NUM_UNKNOWN;
    if (v && v->rank >= 0) {
        int first, end;
        shape_bounds(c, v->rank, &first, &end);
        length = end - first;
    }
    set_out(c, 0, DT_INT64, 1, &length);
}

/* Attributes start and end of Shape: negative from the end, clamped. */
void shape_bounds(const infer *c, int rank, int *first, int *end)
{
    int64_t bounds[2] = {attr_int(c, "start", 0), attr_int(c, "end", rank)};
    for (int i = 0; i < 2; i++) {
        if (bounds[i] < 0)
            bounds[i] = bounds[i] < -rank ? 0 : bounds[i] + rank;
        if (bounds[i] > rank)
            bounds[i] = rank;
    }
    *first = (int)bounds[0];
    *end = (int)(bounds[1] < bounds[0] ? bounds[0] : bounds[1]);
}

void shape_size(infer *c)
{
    set_out(c, 0, DT_INT64, 0, NULL);
}

void shape_gather(infer *c)
{
    const value *data = in(c, 0), *indices = in(c, 1);
    if (!data || !indices)
        return;
    set_dtype(c, 0, data->dtype);
    if (data->rank < 0 || indices->rank < 0 || data->rank - 1 + indices->rank > MAX_RANK)
        return;
    int axis = axis_of(c, attr_int(c, "axis", 0), data->rank);
    if (axis < 0)
        return;
    num dims[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < axis; i++)
        dims[rank++] = data->dims[i];
    for (int i = 0; i < indices->rank; i++)
        dims[rank++] = indices->dims[i];
    for (int i = axis + 1; i < data->rank; i++)
        dims[rank++] = data->dims[i];
    set_shape(c, 0, rank, dims);
}

void shape_gather_elements(infer *c)
{
    const value *data = in(c, 0), *indices = in(c, 1);
    if (data && indices)
        set_out(c, 0, data->dtype, indices->rank, indices->dims);
}

void shape_gather_nd(infer *c)
{
    const value *data = in(c, 0), *indices = in(c, 1);
    if (!data || !indices)
        return;
    set_dtype(c, 0, data->dtype);
    int64_t batch = attr_int(c, "batch_dims", 0);
    if (data->rank < 0 || indices->rank < 1 || !dim_known(indices->dims[indices->rank - 1]))
        return;
    num tuple = indices->dims[indices->rank - 1];
    if (batch < 0 || batch >= indices->rank || tuple > data->rank - batch) {
        complain(c, "%lld indices after %lld batch dimensions for rank %d", (long long)tuple, (long long)batch,
                 data->rank);
        return;
    }
    int kept = data->rank - (int)batch - (int)tuple, rank = 0;
    if (indices->rank - 1 + kept > MAX_RANK)
        return;
    num dims[MAX_RANK];
    for (int i = 0; i < indices->rank - 1; i++)
        dims[rank++] = indices->dims[i];
    for (int i = data->rank - kept; i < data->rank; i++)
        dims[rank++] = data->dims[i];
    set_shape(c, 0, rank, dims);
}

/* ---- counts that depend on data -------------------------------------------------------------------------------- */

void shape_non_zero(infer *c)
{
    const value *v = in(c, 0);
    num dims[2] = {v && v->rank > 0 ? v->rank : v && v->rank == 0 ? 1 : NUM_UNKNOWN, NUM_UNKNOWN};
    int32_t count;
    const num *ints = v && dtype_is_integer(v->dtype) ? const_ints(c, 0, &count) : NULL;
    if (ints) {
        int64_t found = 0;
        for (int32_t i = 0; i < count && found >= 0; i++)
            found = num_known(ints[i]) ? found + (ints[i] != 0) : -1;
        if (found >= 0)
            dims[1] = found;
    }
    set_out(c, 0, DT_INT64, 2, dims);
}

void shape_compress(infer *c)
{
    const value *v = in(c, 0);
    int32_t count;
    if (!v)
        return;
    set_dtype(c, 0, v->dtype);
    const attr *given_axis = node_attr(c->node, "axis");
    num whole = v->rank < 0 ? NUM_UNKNOWN : value_elements(c->net, v), found = NUM_UNKNOWN;
    int axis = -1;
    if (given_axis && v->rank < 0)
        return;
    if (given_axis) {
        axis = axis_of(c, attr_int(c, "axis", 0), v->rank);
        if (axis < 0)
            return;
        whole = v->dims[axis];
    }
    const num *condition = const_ints(c, 1, &count);
    if (condition && (count <= whole || count == 0)) {
        found = 0;
        for (int32_t i = 0; i < count; i++)
            found = num_known(condition[i]) && num_known(found) ? found + (condition[i] != 0) : NUM_UNKNOWN;
    }
    num dims[MAX_RANK];
    if (axis < 0) {
        set_shape(c, 0, 1, &found);
        return;
    }
    memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    dims[axis] = found;
    set_shape(c, 0, v->rank, dims);
}

/* Y, indices, inverse indices, counts. Only the inverse has a length that does not depend on data. */
void shape_unique(infer *c)
{
    const value *v = in(c, 0);
    num unknown = NUM_UNKNOWN, length = NUM_UNKNOWN;
    if (!v)
        return;
    set_dtype(c, 0, v->dtype);
    if (!node_attr(c->node, "axis")) {
        set_shape(c, 0, 1, &unknown);
        length = v->rank < 0 ? NUM_UNKNOWN : value_elements(c->net, v);
    } else if (v->rank >= 0) {
        int axis = axis_of(c, attr_int(c, "axis", 0), v->rank);
        if (axis < 0)
            return;
        num dims[MAX_RANK];
        memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
        length = dims[axis];
        dims[axis] = NUM_UNKNOWN;
        set_shape(c, 0, v->rank, dims);
    }
    set_out(c, 1, DT_INT64, 1, &unknown);
    set_out(c, 2, DT_INT64, 1, &length);
    set_out(c, 3, DT_INT64, 1, &unknown);
}

/* boxes (batch, boxes, 4), scores (batch, classes, boxes) → (selected, 3) */
void shape_non_max_suppression(infer *c)
{
    num dims[2] = {NUM_UNKNOWN, 3}, most;
    /* The default of max_output_boxes_per_class is zero. */
    if (!in(c, 2) || (scalar_int(c, 2, &most) && most == 0))
        dims[0] = 0;
    set_out(c, 0, DT_INT64, 2, dims);
}

/* ---- marks, ranges, fills -------------------------------------------------------------------------------------- */

void shape_one_hot(infer *c)
{
    const value *indices = in(c, 0), *values = in(c, 2);
    double real;
    num depth;
    set_dtype(c, 0, values ? values->dtype : DT_UNKNOWN);
    if (!indices || indices->rank < 0 || indices->rank + 1 > MAX_RANK)
        return;
    if (!scalar_int(c, 1, &depth))
        depth = scalar_real(c, 1, &real) && real >= 0 && real < 1e15 ? (num)real : NUM_UNKNOWN;
    int axis = axis_of(c, attr_int(c, "axis", -1), indices->rank + 1);
    if (axis < 0)
        return;
    num dims[MAX_RANK];
    for (int i = 0, k = 0; i <= indices->rank; i++)
        dims[i] = i == axis ? depth : indices->dims[k++];
    set_shape(c, 0, indices->rank + 1, dims);
}

void shape_range(infer *c)
{
    num bounds[3], length = NUM_UNKNOWN;
    double reals[3];
    int ints = 0, floats = 0;
    for (int i = 2; i >= 0; i--)
        set_dtype(c, 0, in(c, i) ? in(c, i)->dtype : DT_UNKNOWN);
    for (int i = 0; i < 3; i++) {
        ints += scalar_int(c, i, &bounds[i]);
        floats += scalar_real(c, i, &reals[i]);
    }
    if (ints == 3 && num_known(bounds[2]) && bounds[2] != 0) {
        length = num_sub(c->nums, bounds[1], bounds[0]);
        length = bounds[2] == 1 ? length : num_ceildiv(c->nums, length, bounds[2]);
        if (num_known(length) && length < 0)
            length = 0;
    } else if (ints < 3 && floats == 3 && reals[2] != 0) {
        double span = reals[1] - reals[0];
        if (out(c, 0) && out(c, 0)->dtype == DT_FLOAT32)
            span = (double)(float)span;
        double steps = ceil(span / reals[2]);
        if (steps < 1e15)
            length = steps > 0 ? (num)steps : 0;
    }
    set_shape(c, 0, 1, &length);
}

/* The output shape is the data of input i. */
static void shape_of_data(infer *c, int i)
{
    int32_t count;
    const num *target = const_ints(c, i, &count);
    const value *v = in(c, i);
    if (target && count <= MAX_RANK) {
        num dims[MAX_RANK];
        memcpy(dims, target, (size_t)count * sizeof *dims);
        rebatch_target(c, i, dims, count);
        set_shape(c, 0, count, dims);
    } else if (v && v->rank == 1 && dim_known(v->dims[0]) && v->dims[0] <= MAX_RANK) {
        set_rank_only(c, 0, DT_UNKNOWN, (int)v->dims[0]);
    }
}

void shape_constant_of_shape(infer *c)
{
    const attr *a = node_attr(c->node, "value");
    set_dtype(c, 0, a && a->kind == ATTR_TENSOR ? a->tensor->dtype : DT_FLOAT32);
    shape_of_data(c, 0);
}

/* ConstantFill, GivenTensorFill and similar operators of the first operator sets. The shape is the attribute
 * `shape`, or the shape or data of the input; `extra_shape` is appended. */
void shape_old_fill(infer *c)
{
    int32_t count, extra_count;
    const int64_t *shape = attr_ints(c, "shape", &count), *extra = attr_ints(c, "extra_shape", &extra_count);
    set_dtype(c, 0, dtype_of_onnx(attr_int(c, "dtype", DT_FLOAT32)));
    num dims[MAX_RANK];
    if (!in(c, 0)) {
        if (!shape || count + extra_count > MAX_RANK)
            return;
    } else if (attr_int(c, "input_as_shape", 0)) {
        shape = const_ints(c, 0, &count);
        if (!shape || count + extra_count > MAX_RANK)
            return;
    } else {
        shape = in(c, 0)->dims;
        count = in(c, 0)->rank;
        if (count < 0 || count + extra_count > MAX_RANK)
            return;
    }
    for (int i = 0; i < count; i++)
        dims[i] = shape[i];
    for (int i = 0; i < extra_count; i++)
        dims[count + i] = extra[i];
    set_shape(c, 0, count + extra_count, dims);
}
