/* shape_basic.c: shapes of pointwise operators, reductions, casts and random numbers. */
#include "graph/shape/shape.h"

void shape_same(infer *c)
{
    set_like(c, 0, in(c, 0));
}

void shape_same_bool(infer *c)
{
    const value *v = in(c, 0);
    if (v)
        set_out(c, 0, DT_BOOL, v->rank, v->dims);
}

/* The Identity of a constant stands for the constant, so its data are not copied. */
void shape_identity(infer *c)
{
    const value *v = in(c, 0);
    value *o = out(c, 0);
    if (!v || !o)
        return;
    set_like(c, 0, v);
    o->tensor = v->tensor;
    o->ints = v->ints;
    o->reals = v->reals;
    if (v->is_initializer || v->copied_from != NO_VALUE)
        o->copied_from = v->is_initializer ? c->node->inputs[0] : v->copied_from;
}

/* ---- broadcasting ---------------------------------------------------------------------------------------------- */

/* Before operator set 7, with `broadcast` set, the second operand was broadcast over the first from `axis` on. */
static bool is_spread_over_first(const infer *c)
{
    return c->node->opset < 7 && attr_int(c, "broadcast", 0) != 0;
}

static void broadcast_inputs(infer *c)
{
    const value *first = in(c, 0);
    if (!first)
        return;
    num dims[MAX_RANK];
    int rank = first->rank;
    if (rank > 0)
        memcpy(dims, first->dims, (size_t)rank * sizeof *dims);
    for (int i = 1; i < c->node->input_count && rank >= 0 && !is_spread_over_first(c); i++) {
        const value *v = in(c, i);
        num wider[MAX_RANK];
        rank = v ? broadcast(c, dims, rank, v->dims, v->rank, wider) : -1;
        if (rank > 0)
            memcpy(dims, wider, (size_t)rank * sizeof *dims);
    }
    set_shape(c, 0, rank, dims);
}

void shape_broadcast(infer *c)
{
    broadcast_inputs(c);
    /* All operands have the same type, so any known one decides. */
    for (int i = c->node->input_count - 1; i >= 0; i--)
        if (in(c, i))
            set_dtype(c, 0, in(c, i)->dtype);
}

/* Pow and BitShift: the second operand may have another type. */
void shape_broadcast_first(infer *c)
{
    broadcast_inputs(c);
    set_dtype(c, 0, in(c, 0) ? in(c, 0)->dtype : DT_UNKNOWN);
}

void shape_compare(infer *c)
{
    broadcast_inputs(c);
    set_dtype(c, 0, DT_BOOL);
}

void shape_where(infer *c)
{
    broadcast_inputs(c);
    set_dtype(c, 0, in(c, 2) ? in(c, 2)->dtype : DT_UNKNOWN);
    set_dtype(c, 0, in(c, 1) ? in(c, 1)->dtype : DT_UNKNOWN);
}

/* ---- types ----------------------------------------------------------------------------------------------------- */

/* Shape of input 0; the attribute `name` may give another type. */
static void same_shape_dtype_attr(infer *c, const char *name)
{
    set_like(c, 0, in(c, 0));
    set_dtype(c, 0, dtype_of_onnx(attr_int(c, name, 0)));
}

/* Returns the type in attribute `to`, which operator set 1 gives by name. */
static dtype cast_target(const infer *c)
{
    str name = attr_string(c, "to", "");
    if (!name.len)
        return dtype_of_onnx(attr_int(c, "to", 0));
    static const struct {
        const char *name;
        dtype type;
    } NAMES[] = {
        {"FLOAT", DT_FLOAT32},   {"UINT8", DT_UINT8},         {"INT8", DT_INT8},
        {"UINT16", DT_UINT16},   {"INT16", DT_INT16},         {"INT32", DT_INT32},
        {"INT64", DT_INT64},     {"STRING", DT_STRING},       {"BOOL", DT_BOOL},
        {"FLOAT16", DT_FLOAT16}, {"DOUBLE", DT_FLOAT64},      {"UINT32", DT_UINT32},
        {"UINT64", DT_UINT64},   {"COMPLEX64", DT_COMPLEX64}, {"COMPLEX128", DT_COMPLEX128},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(name, NAMES[i].name))
            return NAMES[i].type;
    return DT_UNKNOWN;
}

void shape_cast(infer *c)
{
    const value *v = in(c, 0);
    if (v)
        set_out(c, 0, cast_target(c), v->rank, v->dims);
}

void shape_cast_like(infer *c)
{
    const value *v = in(c, 0);
    if (v)
        set_out(c, 0, in(c, 1) ? in(c, 1)->dtype : DT_UNKNOWN, v->rank, v->dims);
}

/* Bernoulli, EyeLike, Random*Like: the attribute gives the type; without it, the input does. */
void shape_like_with_dtype(infer *c)
{
    same_shape_dtype_attr(c, "dtype");
}

void shape_random(infer *c)
{
    int32_t count;
    const int64_t *shape = attr_ints(c, "shape", &count);
    set_dtype(c, 0, dtype_of_onnx(attr_int(c, "dtype", DT_FLOAT32)));
    if (shape && count <= MAX_RANK)
        set_shape(c, 0, count, shape);
}

/* (batch, classes) → (batch, sample_size) */
void shape_multinomial(infer *c)
{
    const value *v = in(c, 0);
    num dims[2] = {v && v->rank == 2 ? v->dims[0] : NUM_UNKNOWN, attr_int(c, "sample_size", 1)};
    set_out(c, 0, dtype_of_onnx(attr_int(c, "dtype", DT_INT32)), 2, dims);
}

/* ---- reductions ------------------------------------------------------------------------------------------------ */

/* Marks the axes in `axes` (attribute or input 1), or all axes if it is absent or empty. False if they are unknown. */
static bool reduced_axes(infer *c, int rank, bool *reduced, bool *none)
{
    const num *axes;
    int32_t count;
    *none = false;
    if (!ints_argument(c, "axes", 1, &axes, &count))
        return false;
    if (count <= 0) {
        *none = attr_int(c, "noop_with_empty_axes", 0) != 0;
        for (int i = 0; i < rank; i++)
            reduced[i] = !*none;
        return true;
    }
    for (int32_t i = 0; i < count; i++) {
        if (!num_known(axes[i]))
            return false;
        int axis = axis_of(c, axes[i], rank);
        if (axis < 0)
            return false;
        reduced[axis] = true;
    }
    return true;
}

static void set_reduced(infer *c, int i, dtype t, const value *v, const bool *reduced, bool keep)
{
    num dims[MAX_RANK];
    int rank = 0;
    for (int k = 0; k < v->rank; k++) {
        if (!reduced[k])
            dims[rank++] = v->dims[k];
        else if (keep)
            dims[rank++] = 1;
    }
    set_out(c, i, t, rank, dims);
}

void shape_reduce(infer *c)
{
    const value *v = in(c, 0);
    if (!v)
        return;
    bool keep = attr_int(c, "keepdims", 1) != 0, none;
    bool reduced[MAX_RANK] = {false};
    set_dtype(c, 0, v->dtype);
    if (v->rank < 0) {
        const num *axes;
        int32_t count;
        if (!keep && ints_argument(c, "axes", 1, &axes, &count) && count <= 0 &&
            !attr_int(c, "noop_with_empty_axes", 0))
            set_shape(c, 0, 0, NULL);
        return;
    }
    if (reduced_axes(c, v->rank, reduced, &none)) {
        set_reduced(c, 0, v->dtype, v, reduced, keep);
        return;
    }
    /* Even if the axes are unknown, their number may be known. */
    const value *axes = in(c, 1);
    if (keep)
        set_rank_only(c, 0, v->dtype, v->rank);
    else if (axes && axes->rank == 1 && dim_known(axes->dims[0]) && axes->dims[0] > 0 && axes->dims[0] <= v->rank)
        set_rank_only(c, 0, v->dtype, v->rank - (int)axes->dims[0]);
}

void shape_arg_max(infer *c)
{
    const value *v = in(c, 0);
    bool reduced[MAX_RANK] = {false};
    set_dtype(c, 0, DT_INT64);
    if (!v || v->rank < 0)
        return;
    if (v->rank == 0) { /* runtimes treat a scalar as one element */
        set_shape(c, 0, 0, NULL);
        return;
    }
    int axis = axis_of(c, attr_int(c, "axis", 0), v->rank);
    if (axis < 0)
        return;
    reduced[axis] = true;
    set_reduced(c, 0, DT_INT64, v, reduced, attr_int(c, "keepdims", 1) != 0);
}

/* scores (N, C, d1 …), labels (N, d1 …) → labels' shape or a scalar; the second output has the scores' shape. */
void shape_loss(infer *c)
{
    const value *scores = in(c, 0), *labels = in(c, 1);
    dtype t = scores ? scores->dtype : DT_UNKNOWN;
    if (!str_is(attr_string(c, "reduction", "mean"), "none"))
        set_out(c, 0, t, 0, NULL);
    else if (labels && labels->rank >= 0)
        set_out(c, 0, t, labels->rank, labels->dims);
    else
        set_dtype(c, 0, t);
    set_like(c, 1, scores);
}

/* Values and indices of the k largest elements; before operator set 10, k is an attribute. */
void shape_top_k(infer *c)
{
    const value *v = in(c, 0);
    set_dtype(c, 0, v ? v->dtype : DT_UNKNOWN);
    set_dtype(c, 1, DT_INT64);
    if (!v || v->rank < 1)
        return;
    num k = attr_int(c, "k", NUM_UNKNOWN);
    if (in(c, 1) && !scalar_int(c, 1, &k))
        k = NUM_UNKNOWN;
    int axis = axis_of(c, attr_int(c, "axis", -1), v->rank);
    if (axis < 0)
        return;
    num dims[MAX_RANK];
    memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    dims[axis] = k;
    set_shape(c, 0, v->rank, dims);
    set_shape(c, 1, v->rank, dims);
}
