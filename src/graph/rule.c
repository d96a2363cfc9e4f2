/* rule.c: functions for shape and fold rules (infer.h). */
#include "graph/infer.h"

#include <stdarg.h>
#include <stdio.h>

const value *ranked_input(infer *c, int min_rank)
{
    const value *v = in(c, 0);
    if (v)
        set_dtype(c, 0, v->dtype);
    return v && v->rank >= min_rank ? v : NULL;
}

double attr_real(const infer *c, const char *name, double otherwise)
{
    return node_attr_real(c->node, name, otherwise);
}

const num *const_ints(infer *c, int i, int32_t *count)
{
    value *v = (value *)in(c, i);
    return v ? value_ints(c->net, v, count) : NULL;
}

const double *const_reals(infer *c, int i, int32_t *count)
{
    value *v = (value *)in(c, i);
    return v ? value_reals(c->net, v, count) : NULL;
}

bool scalar_int(infer *c, int i, num *result)
{
    int32_t count;
    const num *ints = const_ints(c, i, &count);
    if (!ints || count != 1)
        return false;
    *result = ints[0];
    return true;
}

bool scalar_real(infer *c, int i, double *result)
{
    int32_t count;
    const double *reals = const_reals(c, i, &count);
    if (reals && count == 1) {
        *result = reals[0];
        return true;
    }
    num whole;
    if (!scalar_int(c, i, &whole) || !num_known(whole))
        return false;
    *result = (double)whole;
    return true;
}

bool ints_argument(infer *c, const char *name, int i, const num **ints, int32_t *count)
{
    *ints = attr_ints(c, name, count);
    if (*ints) {
        /* Numbers such as INT64_MIN mark the open end of a range; they stay huge instead of becoming symbols. */
        for (int32_t k = 0; k < *count; k++)
            if (!num_known((*ints)[k])) {
                num *plain = arena_copy(c->arena, *ints, (size_t)*count, sizeof *plain);
                for (; k < *count; k++)
                    plain[k] = num_known(plain[k]) ? plain[k] : -INT64_MAX / 2;
                *ints = plain;
            }
        return true;
    }
    if (!in(c, i)) {
        *count = -1;
        return true;
    }
    *ints = const_ints(c, i, count);
    return *ints != NULL;
}

void set_dtype(infer *c, int i, dtype t)
{
    value *v = out(c, i);
    if (v && t != DT_UNKNOWN)
        v->dtype = t;
}

/* Reuses the first input's array if the dimensions are equal, because most nodes keep the shape. Never overwrites
 * known dimensions, except a batch that is being replaced. The dimensions of a constant belong to the source. */
static num *shared_dims(const infer *c, int rank, const num *dims)
{
    const value *v = in(c, 0);
    if (!v || v->rank != rank || v->is_initializer || c->net->batch_from)
        return NULL;
    for (int k = 0; k < rank; k++)
        if (v->dims[k] != dims[k] || dims[k] == NUM_UNKNOWN)
            return NULL;
    return v->dims;
}

void set_shape(infer *c, int i, int rank, const num *dims)
{
    value *v = out(c, i);
    if (!v || rank < 0 || rank > MAX_RANK)
        return;
    num *shared = shared_dims(c, rank, dims);
    if (shared) {
        v->rank = (int8_t)rank;
        v->dims = shared;
        return;
    }
    num *copy = arena_copy(c->arena, dims, (size_t)rank, sizeof *dims);
    for (int k = 0; k < rank; k++)
        if (num_known(copy[k]) && copy[k] < 0) {
            complain(c, "dimension %d of its output would be %lld", k, (long long)copy[k]);
            copy[k] = NUM_UNKNOWN;
        } else if (num_symbolic(copy[k]) && !num_text(c->nums, copy[k])) {
            copy[k] = NUM_UNKNOWN; /* Would be mistaken for an expression. */
        }
    v->rank = (int8_t)rank;
    v->dims = copy;
}

void set_out(infer *c, int i, dtype t, int rank, const num *dims)
{
    set_dtype(c, i, t);
    set_shape(c, i, rank, dims);
}

void set_like(infer *c, int i, const value *v)
{
    value *o = out(c, i);
    if (!o || !v)
        return;
    o->kind = v->kind;
    o->element_count = v->element_count;
    o->elements = v->elements;
    set_out(c, i, v->dtype, v->rank, v->dims);
}

void set_rank_only(infer *c, int i, dtype t, int rank)
{
    num dims[MAX_RANK];
    for (int k = 0; k < rank && k < MAX_RANK; k++)
        dims[k] = NUM_UNKNOWN;
    set_out(c, i, t, rank, dims);
}

int broadcast(infer *c, const num *a, int a_rank, const num *b, int b_rank, num *dims)
{
    if (a_rank < 0 || b_rank < 0)
        return -1;
    int rank = a_rank > b_rank ? a_rank : b_rank;
    for (int i = 0; i < rank; i++) {
        int ia = i - (rank - a_rank), ib = i - (rank - b_rank);
        num x = ia < 0 ? 1 : a[ia], y = ib < 0 ? 1 : b[ib];
        if (x == y || y == 1)
            dims[i] = x;
        else if (x == 1)
            dims[i] = y;
        else if (dim_known(x) && dim_known(y)) {
            complain(c, "dimensions %lld and %lld do not match", (long long)x, (long long)y);
            return -1;
        } else /* A symbol is assumed to equal any number other than 1. Of two different symbols, the merged
                * dimension is unknown. */
            dims[i] = dim_known(x) ? x : dim_known(y) ? y : NUM_UNKNOWN;
    }
    return rank;
}

int axis_of(infer *c, num axis, int rank)
{
    if (num_known(axis) && axis < 0)
        axis += rank;
    if (!num_known(axis) || axis < 0 || axis >= rank) {
        complain(c, "axis %lld is out of range for rank %d", (long long)axis, rank);
        return -1;
    }
    return (int)axis;
}

void set_ints(infer *c, int i, const num *ints)
{
    value *v = out(c, i);
    if (v)
        v->ints = ints;
}

void set_reals(infer *c, int i, const double *reals)
{
    value *v = out(c, i);
    if (v)
        v->reals = reals;
}

int32_t foldable_count(infer *c, int i)
{
    const value *v = out(c, i);
    if (!v || v->kind != VALUE_TENSOR)
        return -1;
    num count = value_elements(c->net, v);
    return dim_known(count) && count <= MAX_FOLDED ? (int32_t)count : -1;
}

void complain(infer *c, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    str name = c->node->name;
    if (!name.len && c->node->output_count && c->node->outputs[0] != NO_VALUE)
        name = c->net->values.items[c->node->outputs[0]].name;
    char whole[900];
    snprintf(whole, sizeof whole, "node '%.*s' (%.*s): %s", STR_ARG(name), STR_ARG(c->node->type), text);
    if (!c->net->complaint)
        c->net->complaint = arena_str(c->arena, str_of(whole)).ptr;
    network_note(c->net, "%s", whole);
}
