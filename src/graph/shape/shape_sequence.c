/* shape_sequence.c: shapes of sequences and optionals. A sequence value has the type and the shape that all elements
 * share and, if its length is known, the elements. */
#include "graph/shape/shape.h"

enum { MAX_ELEMENTS = 4096 };

/* Keeps the dimensions that two shapes share; others become unknown. Returns the rank, or RANK_UNKNOWN. */
static int common_shape(num *dims, int rank, const value *v)
{
    if (rank < 0 || v->rank != rank)
        return RANK_UNKNOWN;
    for (int i = 0; i < rank; i++)
        if (dims[i] != v->dims[i])
            dims[i] = NUM_UNKNOWN;
    return rank;
}

/* Makes output 0 a sequence of the given elements. */
static void set_sequence(infer *c, const value_id *elements, int32_t count, dtype t)
{
    value *o = out(c, 0);
    num dims[MAX_RANK] = {0};
    int rank = RANK_UNKNOWN;
    if (!o)
        return;
    o->kind = VALUE_SEQUENCE;
    o->element_count = count;
    o->elements = count > 0 ? arena_copy(c->arena, elements, (size_t)count, sizeof *elements) : NULL;
    for (int32_t i = 0; i < count; i++) {
        const value *v = &c->net->values.items[elements[i]];
        if (i == 0) {
            rank = v->rank;
            if (rank > 0)
                memcpy(dims, v->dims, (size_t)rank * sizeof *dims);
        } else {
            rank = common_shape(dims, rank, v);
        }
        if (t == DT_UNKNOWN)
            t = v->dtype;
    }
    set_out(c, 0, t, rank, dims);
}

static void set_unknown_sequence(infer *c, const value *like)
{
    value *o = out(c, 0);
    if (!o)
        return;
    o->kind = VALUE_SEQUENCE;
    o->element_count = -1;
    o->elements = NULL;
    if (like)
        set_dtype(c, 0, like->dtype);
}

static bool is_known_sequence(const value *v)
{
    return v && v->kind == VALUE_SEQUENCE && v->element_count >= 0 && (v->elements || !v->element_count);
}

/* Reads the position in input `input`; `end` is the last valid one of a sequence of `length` elements. -1 if
 * unknown. */
static int32_t position(infer *c, int input, int32_t length, int32_t end)
{
    num at;
    if (!scalar_int(c, input, &at) || !num_known(at))
        return -1;
    if (at < 0)
        at += length;
    if (at < 0 || at > end) {
        complain(c, "position %lld in a sequence of %d", (long long)at, length);
        return -1;
    }
    return (int32_t)at;
}

void shape_sequence_construct(infer *c)
{
    for (int i = 0; i < c->node->input_count; i++)
        if (!in(c, i))
            return;
    set_sequence(c, c->node->inputs, c->node->input_count, DT_UNKNOWN);
}

void shape_sequence_empty(infer *c)
{
    set_sequence(c, NULL, 0, dtype_of_onnx(attr_int(c, "dtype", DT_FLOAT32)));
}

void shape_sequence_insert(infer *c)
{
    const value *s = in(c, 0);
    int32_t at = -1;
    if (is_known_sequence(s) && s->element_count < MAX_ELEMENTS && in(c, 1))
        at = in(c, 2) ? position(c, 2, s->element_count, s->element_count) : s->element_count;
    if (at < 0) {
        set_unknown_sequence(c, s);
        return;
    }
    value_id *elements = ARENA_ARRAY(c->arena, value_id, (size_t)s->element_count + 1);
    for (int32_t i = 0; i <= s->element_count; i++)
        elements[i] = i < at ? s->elements[i] : i == at ? c->node->inputs[1] : s->elements[i - 1];
    set_sequence(c, elements, s->element_count + 1, s->dtype);
}

void shape_sequence_erase(infer *c)
{
    const value *s = in(c, 0);
    int32_t at = -1;
    if (is_known_sequence(s) && s->element_count > 0)
        at = in(c, 1) ? position(c, 1, s->element_count, s->element_count - 1) : s->element_count - 1;
    if (at < 0) {
        set_unknown_sequence(c, s);
        return;
    }
    value_id *elements = ARENA_ARRAY(c->arena, value_id, (size_t)s->element_count);
    for (int32_t i = 0; i + 1 < s->element_count; i++)
        elements[i] = s->elements[i < at ? i : i + 1];
    set_sequence(c, elements, s->element_count - 1, s->dtype);
}

/* Makes output 0 equal to the value: shape, data and, for a sequence in an optional, elements. */
static void set_element(infer *c, value_id id)
{
    const value *v = &c->net->values.items[id];
    value *o = out(c, 0);
    if (!o)
        return;
    set_like(c, 0, v);
    o->tensor = v->tensor;
    o->ints = v->ints;
    o->reals = v->reals;
}

/* Gives output 0 the properties that all elements share. */
static void set_common_element(infer *c, const value *s)
{
    if (out(c, 0))
        out(c, 0)->kind = VALUE_TENSOR;
    set_out(c, 0, s->dtype, s->rank, s->dims);
}

void shape_sequence_at(infer *c)
{
    const value *s = in(c, 0);
    if (!s)
        return;
    int32_t at = is_known_sequence(s) ? position(c, 1, s->element_count, s->element_count - 1) : -1;
    if (at >= 0)
        set_element(c, s->elements[at]);
    else
        set_common_element(c, s);
}

void shape_sequence_length(infer *c)
{
    const value *s = in(c, 0);
    set_out(c, 0, DT_INT64, 0, NULL);
    if (is_known_sequence(s)) {
        num count = s->element_count;
        set_ints(c, 0, arena_copy(c->arena, &count, 1, sizeof count));
    }
}

/* Lengths of the pieces of SplitToSequence; NULL if unknown. */
static const num *piece_lengths(infer *c, num whole, int32_t *pieces)
{
    if (in(c, 1)) {
        const num *given = const_ints(c, 1, pieces);
        if (!given || in(c, 1)->rank != 0)
            return given;
        num size = given[0];
        if (!dim_known(size) || size == 0 || !dim_known(whole) || whole / size >= MAX_ELEMENTS)
            return NULL;
        *pieces = whole ? (int32_t)((whole - 1) / size + 1) : 0;
        num *lengths = ARENA_ARRAY(c->arena, num, (size_t)*pieces);
        for (int32_t i = 0; i < *pieces; i++)
            lengths[i] = i + 1 < *pieces ? size : whole - size * i;
        return lengths;
    }
    if (!dim_known(whole) || whole > MAX_ELEMENTS)
        return NULL;
    *pieces = (int32_t)whole;
    num *lengths = ARENA_ARRAY(c->arena, num, (size_t)whole);
    for (int32_t i = 0; i < *pieces; i++)
        lengths[i] = 1;
    return lengths;
}

void shape_split_to_sequence(infer *c)
{
    const value *v = in(c, 0);
    int32_t pieces = 0;
    if (!v)
        return;
    set_unknown_sequence(c, v);
    if (v->rank < 1)
        return;
    int axis = axis_of(c, attr_int(c, "axis", 0), v->rank);
    if (axis < 0)
        return;
    bool keeps_axis = in(c, 1) || attr_int(c, "keepdims", 1) != 0;
    const num *lengths = piece_lengths(c, v->dims[axis], &pieces);
    num dims[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < v->rank; i++)
        if (i != axis || keeps_axis)
            dims[rank++] = i == axis && in(c, 1) ? NUM_UNKNOWN : i == axis ? 1 : v->dims[i];
    if (!lengths || pieces > MAX_ELEMENTS || !out(c, 0)) {
        set_shape(c, 0, rank, dims);
        return;
    }
    dtype t = v->dtype;
    str name = out(c, 0)->name;
    node_id producer = out(c, 0)->producer;
    value_id *elements = ARENA_ARRAY(c->arena, value_id, (size_t)pieces);
    for (int32_t i = 0; i < pieces; i++) {
        if (keeps_axis)
            dims[axis] = lengths[i];
        value piece = {.name = arena_printf(c->arena, "%.*s[%d]", STR_ARG(name), i),
                       .dtype = t,
                       .rank = (int8_t)rank,
                       .dims = arena_copy(c->arena, dims, (size_t)rank, sizeof *dims),
                       .producer = producer,
                       .copied_from = NO_VALUE,
                       .reordered_of = NO_VALUE};
        /* the push may move the values, so v is invalid from here on */
        *(value *)ARENA_PUSH(c->net->arena, &c->net->values) = piece;
        elements[i] = c->net->values.count - 1;
    }
    set_sequence(c, elements, pieces, t);
}

void shape_concat_from_sequence(infer *c)
{
    const value *s = in(c, 0);
    if (!s)
        return;
    set_dtype(c, 0, s->dtype);
    bool new_axis = attr_int(c, "new_axis", 0) != 0;
    if (s->rank < 0 || s->rank >= MAX_RANK)
        return;
    int axis = axis_of(c, attr_int(c, "axis", 0), s->rank + new_axis);
    if (axis < 0)
        return;
    num dims[MAX_RANK], length = is_known_sequence(s) ? 0 : NUM_UNKNOWN;
    for (int32_t i = 0; is_known_sequence(s) && i < s->element_count; i++)
        length = num_add(c->nums, length, new_axis ? 1 : c->net->values.items[s->elements[i]].dims[axis]);
    for (int i = 0, k = 0; i < s->rank + new_axis; i++) {
        dims[i] = i == axis ? length : s->dims[k];
        k += i != axis || !new_axis;
    }
    set_shape(c, 0, s->rank + new_axis, dims);
}

/* ---- optionals ------------------------------------------------------------------------------------------------- */

/* An optional has one element, or none if it is empty. */
void shape_optional(infer *c)
{
    value *o = out(c, 0);
    if (!o)
        return;
    const value *v = in(c, 0);
    if (v)
        set_out(c, 0, v->dtype, v->rank, v->dims);
    o->kind = VALUE_OPTIONAL;
    o->element_count = v ? 1 : 0;
    o->elements = v ? arena_copy(c->arena, c->node->inputs, 1, sizeof *c->node->inputs) : NULL;
}

void shape_optional_get_element(infer *c)
{
    const value *v = in(c, 0);
    if (!v)
        return;
    if (v->kind != VALUE_OPTIONAL)
        set_element(c, c->node->inputs[0]);
    else if (v->element_count == 1 && v->elements)
        set_element(c, v->elements[0]);
    else
        set_common_element(c, v);
}

void shape_optional_has_element(infer *c)
{
    const value *v = in(c, 0);
    set_out(c, 0, DT_BOOL, 0, NULL);
    bool is_made_here = v && v->kind == VALUE_OPTIONAL && v->producer != NO_NODE && v->element_count >= 0;
    if (v && v->kind == VALUE_OPTIONAL && !is_made_here)
        return; /* The user may omit the value. */
    num has = v && (v->kind != VALUE_OPTIONAL || v->element_count == 1);
    set_ints(c, 0, arena_copy(c->arena, &has, 1, sizeof has));
}
