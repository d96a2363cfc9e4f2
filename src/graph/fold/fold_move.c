/* fold_move.c: folds data movement: views, slices, joins, gathers, and data made from shapes. */
#include "graph/fold/fold.h"

/* Reshape, Squeeze, Unsqueeze, Flatten: the same elements in the same order. */
void fold_view(infer *c)
{
    data d;
    folded f;
    if (!fold_input(c, 0, &d) || !out(c, 0) || foldable_count(c, 0) != d.count || !value_shape_known(out(c, 0)))
        return;
    if (d.ints)
        set_ints(c, 0, d.ints);
    else if (fold_output(c, 0, &d, &f))
        set_reals(c, 0, d.reals);
}

void fold_shape(infer *c)
{
    const value *v = in(c, 0);
    int first, end;
    if (!v || v->rank < 0 || !out(c, 0))
        return;
    shape_bounds(c, v->rank, &first, &end);
    folded f = {.count = end - first, .rank = 1};
    f.ints = ARENA_ARRAY(c->arena, num, (size_t)f.count + 1);
    for (int i = first; i < end; i++)
        f.ints[i - first] = v->dims[i];
    fold_store(c, 0, &f);
}

void fold_size(infer *c)
{
    const value *v = in(c, 0);
    num size = v && v->rank >= 0 ? value_elements(c->net, v) : NUM_UNKNOWN;
    if (size != NUM_UNKNOWN)
        set_ints(c, 0, arena_copy(c->arena, &size, 1, sizeof size));
}

/* Output element at (i, j, …) is input element offset + i*strides[0] + j*strides[1] + … */
static void take_strided(infer *c, int i, const data *d, int64_t offset, const int64_t *strides)
{
    folded f;
    int32_t at[MAX_RANK] = {0};
    if (!fold_output(c, i, d, &f))
        return;
    for (int32_t k = 0; k < f.count; k++, fold_next(at, f.dims, f.rank)) {
        int64_t index = offset;
        for (int axis = 0; axis < f.rank; axis++)
            index += strides[axis] * at[axis];
        if (index < 0 || index >= d->count)
            return;
        fold_copy(&f, k, d, (int32_t)index);
    }
    fold_store(c, i, &f);
}

void fold_transpose(infer *c)
{
    data d;
    int axes[MAX_RANK];
    int64_t own[MAX_RANK], strides[MAX_RANK];
    if (!fold_input(c, 0, &d) || !transpose_axes(c, d.rank, axes))
        return;
    fold_strides(d.dims, d.rank, own);
    for (int i = 0; i < d.rank; i++)
        strides[i] = own[axes[i]];
    take_strided(c, 0, &d, 0, strides);
}

void fold_expand(infer *c)
{
    data d;
    const value *o = out(c, 0);
    int64_t own[MAX_RANK], strides[MAX_RANK];
    if (!o || !fold_input(c, 0, &d) || o->rank < d.rank)
        return;
    fold_strides(d.dims, d.rank, own);
    for (int i = 0; i < o->rank; i++) {
        int at = i - (o->rank - d.rank);
        strides[i] = at < 0 || d.dims[at] == 1 ? 0 : own[at];
    }
    take_strided(c, 0, &d, 0, strides);
}

void fold_slice(infer *c)
{
    data d;
    slice_axis axes[MAX_RANK];
    int64_t strides[MAX_RANK], offset = 0;
    if (!fold_input(c, 0, &d) || !slice_arguments(c, d.rank, axes))
        return;
    fold_strides(d.dims, d.rank, strides);
    for (int i = 0; i < d.rank; i++) {
        int64_t first, count;
        if (!slice_range(d.dims[i], axes[i].start, axes[i].end, axes[i].step, &first, &count))
            return;
        offset += first * strides[i];
        if (count > 1) /* A single element uses no step, which may be huge. */
            strides[i] *= axes[i].step;
    }
    take_strided(c, 0, &d, offset, strides);
}

void fold_split(infer *c)
{
    data d;
    int64_t strides[MAX_RANK], offset = 0;
    if (!fold_input(c, 0, &d) || d.rank < 1)
        return;
    int axis = axis_of(c, attr_int(c, "axis", 0), d.rank);
    if (axis < 0)
        return;
    fold_strides(d.dims, d.rank, strides);
    for (int i = 0; i < c->node->output_count; i++) {
        const value *o = out(c, i);
        if (!o || o->rank != d.rank || !dim_known(o->dims[axis]) || o->dims[axis] > d.dims[axis])
            return;
        take_strided(c, i, &d, offset, strides);
        offset += o->dims[axis] * strides[axis];
    }
}

/* Repeats the data along each axis. */
void fold_tile(infer *c)
{
    data d;
    folded f;
    int32_t at[MAX_RANK] = {0};
    int64_t strides[MAX_RANK];
    if (!fold_input(c, 0, &d) || !fold_output(c, 0, &d, &f) || f.rank != d.rank)
        return;
    fold_strides(d.dims, d.rank, strides);
    for (int32_t k = 0; k < f.count; k++, fold_next(at, f.dims, f.rank)) {
        int64_t index = 0;
        for (int axis = 0; axis < f.rank; axis++)
            index += at[axis] % d.dims[axis] * strides[axis];
        fold_copy(&f, k, &d, (int32_t)index);
    }
    fold_store(c, 0, &f);
}

/* Folds constant padding in one dimension, with which exporters compute the pads of other nodes. */
void fold_pad(infer *c)
{
    data d;
    folded f;
    num fill = 0;
    int32_t pad_count;
    if (!fold_input(c, 0, &d) || !d.ints || d.rank != 1 || !str_is(attr_string(c, "mode", "constant"), "constant"))
        return;
    const num *pads = attr_ints(c, "pads", &pad_count);
    if (!pads)
        pads = const_ints(c, 1, &pad_count);
    if (!pads || pad_count != 2 || !num_known(pads[0]) || (in(c, 2) && !scalar_int(c, 2, &fill)) ||
        !fold_output(c, 0, &d, &f))
        return;
    for (int32_t i = 0; i < f.count; i++) {
        int64_t from;
        bool inside = !__builtin_sub_overflow((int64_t)i, pads[0], &from) && from >= 0 && from < d.count;
        f.ints[i] = inside ? d.ints[from] : fill;
    }
    fold_store(c, 0, &f);
}

/* ---- joining --------------------------------------------------------------------------------------------------- */

typedef struct joined {
    value_id *ids;
    int32_t count;
    int axis;
    bool new_axis;
} joined;

static bool value_data(infer *c, value_id id, bool as_int, const num **ints, const double **reals, int32_t *count)
{
    value *v = &c->net->values.items[id];
    *ints = NULL;
    *reals = NULL;
    if (as_int)
        *ints = v->ints || dtype_is_integer(v->dtype) ? value_ints(c->net, v, count) : NULL;
    else
        *reals = value_reals(c->net, v, count);
    return *ints || *reals;
}

/* Concatenates parts along an axis. If an integer part is missing, its elements become unknown. */
static void fold_joined(infer *c, const joined *j)
{
    folded f;
    const value *o = out(c, 0);
    bool as_int = o && dtype_is_integer(o->dtype);
    data like = {.ints = as_int ? (const num[]){0} : NULL};
    if (!o || (!as_int && !dtype_is_float(o->dtype)))
        return;
    bool any = false;
    for (int32_t i = 0; i < j->count; i++) {
        if (j->ids[i] == NO_VALUE)
            return;
        const value *v = &c->net->values.items[j->ids[i]];
        bool has = v->ints || v->reals || v->tensor;
        if (!value_shape_known(v) || (!has && !as_int) || (!has && v->rank > 1))
            return;
        any |= has;
    }
    if (!any || !fold_output(c, 0, &like, &f))
        return;
    int64_t inner = 1, offset = 0, whole = f.dims[j->axis];
    for (int i = j->axis + 1; i < f.rank; i++)
        inner *= f.dims[i];
    for (int32_t i = 0; i < j->count; i++) {
        const num *ints;
        const double *reals;
        int32_t count = 0;
        const value *v = &c->net->values.items[j->ids[i]];
        int64_t length = j->new_axis ? 1 : v->dims[j->axis];
        num elements = value_elements(c->net, v);
        bool known = value_data(c, j->ids[i], as_int, &ints, &reals, &count);
        /* Mismatched parts are reported by the shape rule. */
        if ((!known && !as_int) || length > whole - offset || (elements > 0 && length * inner <= 0))
            return;
        for (int64_t k = 0; k < elements; k++) {
            int64_t row = k / (length * inner), rest = k % (length * inner);
            int64_t at = (row * whole + offset) * inner + rest;
            if (at >= f.count)
                return;
            if (as_int)
                f.ints[at] = known ? ints[k] : NUM_UNKNOWN;
            else
                f.reals[at] = reals[k];
        }
        offset += length;
    }
    if (offset == whole)
        fold_store(c, 0, &f);
}

void fold_concat(infer *c)
{
    const value *o = out(c, 0);
    if (!o || o->rank < 1)
        return;
    joined j = {.ids = c->node->inputs, .count = c->node->input_count};
    j.axis = axis_of(c, attr_int(c, "axis", 1), o->rank);
    if (j.axis >= 0)
        fold_joined(c, &j);
}

void fold_concat_from_sequence(infer *c)
{
    const value *s = in(c, 0), *o = out(c, 0);
    if (!s || !o || o->rank < 1 || s->kind != VALUE_SEQUENCE || s->element_count < 1 || !s->elements)
        return;
    joined j = {.ids = (value_id *)s->elements, .count = s->element_count};
    j.new_axis = attr_int(c, "new_axis", 0) != 0;
    j.axis = axis_of(c, attr_int(c, "axis", 0), o->rank);
    if (j.axis >= 0)
        fold_joined(c, &j);
}

/* ---- picking --------------------------------------------------------------------------------------------------- */

/* Resolves an index into `length` elements; negative indices count from the end. -1 if unknown or out of range. */
static int64_t plain_index(num index, int64_t length)
{
    if (!num_known(index))
        return -1;
    if (index < 0)
        index += length;
    return index >= 0 && index < length ? index : -1;
}

/* Copies element `from` of the data; -1 makes the result unknown. Returns false for a real, which cannot be unknown. */
static bool pick(folded *f, int32_t at, const data *d, int64_t from)
{
    if (from >= 0 && from < d->count)
        fold_copy(f, at, d, (int32_t)from);
    else if (f->ints)
        f->ints[at] = NUM_UNKNOWN;
    else
        return false;
    return true;
}

void fold_gather(infer *c)
{
    data d, indices;
    folded f;
    if (!in(c, 1) || (!in(c, 1)->ints && !in(c, 1)->tensor) || !fold_input(c, 0, &d) || d.rank < 1 ||
        !fold_input(c, 1, &indices) || !indices.ints || !fold_output(c, 0, &d, &f))
        return;
    int axis = axis_of(c, attr_int(c, "axis", 0), d.rank);
    if (axis < 0)
        return;
    int64_t inner = 1, length = d.dims[axis];
    for (int i = axis + 1; i < d.rank; i++)
        inner *= d.dims[i];
    int64_t block = inner * indices.count;
    for (int32_t k = 0; k < f.count; k++) {
        int64_t row = k / block, index = plain_index(indices.ints[k % block / inner], length);
        if (!pick(&f, k, &d, index < 0 ? -1 : (row * length + index) * inner + k % inner))
            return;
    }
    fold_store(c, 0, &f);
}

void fold_gather_elements(infer *c)
{
    data d, indices;
    folded f;
    int32_t at[MAX_RANK] = {0};
    int64_t strides[MAX_RANK];
    if (!fold_input(c, 0, &d) || !fold_input(c, 1, &indices) || !indices.ints || d.rank < 1 || indices.rank != d.rank ||
        !fold_output(c, 0, &d, &f))
        return;
    int axis = axis_of(c, attr_int(c, "axis", 0), d.rank);
    if (axis < 0)
        return;
    fold_strides(d.dims, d.rank, strides);
    for (int32_t k = 0; k < f.count; k++, fold_next(at, f.dims, f.rank)) {
        int64_t index = plain_index(indices.ints[k], d.dims[axis]), from = index * strides[axis];
        for (int i = 0; i < d.rank; i++)
            if (i != axis)
                from += at[i] * strides[i];
        if (!pick(&f, k, &d, index < 0 ? -1 : from))
            return;
    }
    fold_store(c, 0, &f);
}

/* Element offset for the index tuple at `tuple`; -1 if unknown. */
static int64_t tuple_offset(const data *d, const int64_t *strides, const num *tuple, int64_t length, int first_axis)
{
    int64_t offset = 0;
    for (int64_t i = 0; i < length; i++) {
        int64_t index = plain_index(tuple[i], d->dims[first_axis + i]);
        if (index < 0)
            return -1;
        offset += index * strides[first_axis + i];
    }
    return offset;
}

void fold_gather_nd(infer *c)
{
    data d, indices;
    folded f;
    int64_t strides[MAX_RANK], inner = 1;
    if (attr_int(c, "batch_dims", 0) != 0 || !fold_input(c, 0, &d) || !fold_input(c, 1, &indices) || !indices.ints ||
        indices.rank < 1 || !fold_output(c, 0, &d, &f))
        return;
    int64_t length = indices.dims[indices.rank - 1];
    if (length < 1 || length > d.rank)
        return;
    fold_strides(d.dims, d.rank, strides);
    for (int i = (int)length; i < d.rank; i++)
        inner *= d.dims[i];
    for (int32_t k = 0; k < f.count; k++) {
        int64_t offset = tuple_offset(&d, strides, indices.ints + k / inner * length, length, 0);
        if (!pick(&f, k, &d, offset < 0 ? -1 : offset + k % inner))
            return;
    }
    fold_store(c, 0, &f);
}

/* ---- placing --------------------------------------------------------------------------------------------------- */

/* Copies the data to the output, which has the same shape. */
static bool copy_all(infer *c, const data *d, folded *f)
{
    if (!fold_output(c, 0, d, f) || f->count != d->count)
        return false;
    for (int32_t k = 0; k < f->count; k++)
        fold_copy(f, k, d, k);
    return true;
}

static bool is_plain_scatter(infer *c, data *d, data *indices, data *updates)
{
    return str_is(attr_string(c, "reduction", "none"), "none") && fold_input(c, 0, d) && fold_input(c, 1, indices) &&
           fold_input(c, 2, updates) && indices->ints && !d->ints == !updates->ints;
}

void fold_scatter_nd(infer *c)
{
    data d, indices, updates;
    folded f;
    int64_t strides[MAX_RANK], inner = 1;
    if (!is_plain_scatter(c, &d, &indices, &updates) || indices.rank < 1 || !copy_all(c, &d, &f))
        return;
    int64_t length = indices.dims[indices.rank - 1];
    if (length < 1 || length > d.rank)
        return;
    fold_strides(d.dims, d.rank, strides);
    for (int i = (int)length; i < d.rank; i++)
        inner *= d.dims[i];
    if (updates.count != indices.count / length * inner)
        return;
    for (int32_t k = 0; k < updates.count; k++) {
        int64_t offset = tuple_offset(&d, strides, indices.ints + k / inner * length, length, 0);
        if (offset < 0)
            return;
        fold_copy(&f, (int32_t)(offset + k % inner), &updates, k);
    }
    fold_store(c, 0, &f);
}

void fold_scatter_elements(infer *c)
{
    data d, indices, updates;
    folded f;
    int32_t at[MAX_RANK] = {0};
    int64_t strides[MAX_RANK];
    if (!is_plain_scatter(c, &d, &indices, &updates) || d.rank < 1 || indices.rank != d.rank ||
        updates.count != indices.count || !copy_all(c, &d, &f))
        return;
    int axis = axis_of(c, attr_int(c, "axis", 0), d.rank);
    if (axis < 0)
        return;
    fold_strides(d.dims, d.rank, strides);
    for (int32_t k = 0; k < indices.count; k++, fold_next(at, indices.dims, indices.rank)) {
        int64_t index = plain_index(indices.ints[k], d.dims[axis]), to = index * strides[axis];
        for (int i = 0; i < d.rank; i++)
            to += i == axis ? 0 : at[i] * strides[i];
        if (index < 0 || to >= f.count)
            return;
        fold_copy(&f, (int32_t)to, &updates, k);
    }
    fold_store(c, 0, &f);
}

/* ---- made from shapes ------------------------------------------------------------------------------------------ */

void fold_range(infer *c)
{
    data start, step;
    folded f;
    if (!fold_input(c, 0, &start) || !fold_input(c, 2, &step) || start.count != 1 || step.count != 1 ||
        !start.ints != !step.ints || !fold_output(c, 0, &start, &f))
        return;
    for (int32_t i = 0; i < f.count; i++) {
        if (f.ints)
            f.ints[i] = num_add(c->nums, start.ints[0], num_mul(c->nums, step.ints[0], i));
        else
            f.reals[i] = start.reals[0] + step.reals[0] * i;
    }
    fold_store(c, 0, &f);
}

void fold_constant_of_shape(infer *c)
{
    const attr *a = node_attr(c->node, "value");
    value filled = {.dtype = DT_FLOAT32, .rank = 1, .dims = (num[]){1}};
    data d = {.reals = (const double[]){0}, .count = 1};
    folded f;
    int32_t count;
    if (a && a->kind == ATTR_TENSOR) {
        filled.tensor = a->tensor;
        filled.dtype = a->tensor->dtype;
        d.reals = dtype_is_float(filled.dtype) ? value_reals(c->net, &filled, &count) : NULL;
        d.ints = dtype_is_integer(filled.dtype) ? value_ints(c->net, &filled, &count) : NULL;
    }
    if ((!d.ints && !d.reals) || !fold_output(c, 0, &d, &f))
        return;
    for (int32_t i = 0; i < f.count; i++)
        fold_copy(&f, i, &d, 0);
    fold_store(c, 0, &f);
}

/* Coordinates of all nonzero elements: one row per axis. */
void fold_non_zero(infer *c)
{
    data d;
    folded f;
    int32_t at[MAX_RANK] = {0}, found = 0;
    if (!fold_input(c, 0, &d) || !d.ints || !fold_output(c, 0, &d, &f) || f.rank != 2 || d.rank < 1)
        return;
    int32_t columns = (int32_t)f.dims[1];
    for (int32_t k = 0; k < d.count; k++, fold_next(at, d.dims, d.rank)) {
        if (d.ints[k] == 0)
            continue;
        if (found >= columns)
            return;
        for (int i = 0; i < d.rank; i++)
            f.ints[i * columns + found] = at[i];
        found++;
    }
    if (found == columns)
        fold_store(c, 0, &f);
}

/* Folds Compress along one axis: keeps the elements where the condition is true. */
void fold_compress(infer *c)
{
    data d, condition;
    folded f;
    int32_t found = 0;
    if (!fold_input(c, 0, &d) || !fold_input(c, 1, &condition) || !condition.ints || !fold_output(c, 0, &d, &f) ||
        (d.rank != 1 && node_attr(c->node, "axis")))
        return;
    for (int32_t k = 0; k < condition.count && k < d.count; k++) {
        if (condition.ints[k] == 0)
            continue;
        if (found >= f.count)
            return;
        fold_copy(&f, found++, &d, k);
    }
    if (found == f.count)
        fold_store(c, 0, &f);
}

/* Matrices with ones on a diagonal, and triangular matrices. */
void fold_eye_like(infer *c)
{
    folded f;
    const value *o = out(c, 0);
    data like = {.ints = o && dtype_is_integer(o->dtype) ? (const num[]){0} : NULL};
    int64_t k = attr_int(c, "k", 0);
    if (!o || o->rank != 2 || (!like.ints && !dtype_is_float(o->dtype)) || !fold_output(c, 0, &like, &f))
        return;
    for (int32_t i = 0; i < f.count; i++) {
        int64_t row = i / f.dims[1], column = i % f.dims[1];
        bool is_one = k > -MAX_FOLDED - 1 && k <= MAX_FOLDED && column == row + k;
        if (f.ints)
            f.ints[i] = is_one;
        else
            f.reals[i] = is_one;
    }
    fold_store(c, 0, &f);
}

void fold_trilu(infer *c)
{
    data d;
    folded f;
    num k = 0;
    bool upper = attr_int(c, "upper", 1) != 0;
    if (!fold_input(c, 0, &d) || d.rank < 2 || (in(c, 1) && (!scalar_int(c, 1, &k) || !num_known(k))) ||
        !fold_output(c, 0, &d, &f) || f.count != d.count)
        return;
    k = k > MAX_FOLDED ? MAX_FOLDED : k < -MAX_FOLDED ? -MAX_FOLDED : k;
    int64_t rows = d.dims[d.rank - 2], columns = d.dims[d.rank - 1];
    for (int32_t i = 0; i < f.count; i++) {
        int64_t row = i / columns % rows, column = i % columns;
        bool keep = upper ? column >= row + k : column <= row + k;
        if (keep)
            fold_copy(&f, i, &d, i);
    }
    fold_store(c, 0, &f);
}
