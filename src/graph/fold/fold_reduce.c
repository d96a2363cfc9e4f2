/* fold_reduce.c: folds sums, products, minima, maxima and sorting of known data. */
#include "graph/fold/fold.h"

#include <math.h>
#include <stdlib.h>

typedef enum reduction { REDUCE_MAX, REDUCE_MEAN, REDUCE_MIN, REDUCE_PROD, REDUCE_SUM } reduction;

static bool find_reduction(const node *n, reduction *found)
{
    static const struct {
        const char *name;
        reduction reduction;
    } NAMES[] = {{"ReduceMax", REDUCE_MAX},
                 {"ReduceMean", REDUCE_MEAN},
                 {"ReduceMin", REDUCE_MIN},
                 {"ReduceProd", REDUCE_PROD},
                 {"ReduceSum", REDUCE_SUM}};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(n->op->name, NAMES[i].name) == 0) {
            *found = NAMES[i].reduction;
            return true;
        }
    return false;
}

static num join_ints(infer *c, reduction r, num a, num b)
{
    bool plain = num_known(a) && num_known(b);
    switch (r) {
    case REDUCE_PROD:
        return num_mul(c->nums, a, b);
    case REDUCE_MAX:
        return plain ? (a > b ? a : b) : num_max(c->nums, a, b);
    case REDUCE_MIN:
        return plain ? (a < b ? a : b) : num_min(c->nums, a, b);
    default:
        return num_add(c->nums, a, b);
    }
}

static double join_reals(reduction r, double a, double b)
{
    return r == REDUCE_PROD ? a * b : r == REDUCE_MAX ? (a > b ? a : b) : r == REDUCE_MIN ? (a < b ? a : b) : a + b;
}

/* Finds the axes that the output keeps, by comparing the shapes of input and output. */
static bool kept_axes(infer *c, const data *d, bool *kept)
{
    const num *axes;
    int32_t count;
    if (!ints_argument(c, "axes", 1, &axes, &count))
        return false;
    bool none = count <= 0 && attr_int(c, "noop_with_empty_axes", 0) != 0;
    for (int i = 0; i < d->rank; i++)
        kept[i] = count > 0 || none;
    for (int32_t i = 0; i < count; i++) {
        int axis = axis_of(c, axes[i], d->rank);
        if (axis < 0)
            return false;
        kept[axis] = false;
    }
    return true;
}

void fold_reduce(infer *c)
{
    data d;
    folded f;
    reduction r;
    bool kept[MAX_RANK];
    if (!fold_input(c, 0, &d) || d.count == 0 || !find_reduction(c->node, &r) || !kept_axes(c, &d, kept) ||
        !fold_output(c, 0, &d, &f) || f.count == 0)
        return;
    uint8_t *begun = ARENA_ARRAY(c->arena, uint8_t, (size_t)f.count);
    int32_t at[MAX_RANK] = {0};
    for (int32_t k = 0; k < d.count; k++, fold_next(at, d.dims, d.rank)) {
        int64_t to = 0;
        for (int i = 0; i < d.rank; i++)
            to = kept[i] ? to * d.dims[i] + at[i] : to;
        if (to >= f.count)
            return;
        if (!begun[to])
            fold_copy(&f, (int32_t)to, &d, k);
        else if (f.ints)
            f.ints[to] = join_ints(c, r, f.ints[to], d.ints[k]);
        else
            f.reals[to] = join_reals(r, f.reals[to], d.reals[k]);
        begun[to] = 1;
    }
    for (int32_t k = 0; k < f.count && r == REDUCE_MEAN; k++) {
        if (f.ints)
            f.ints[k] = num_floordiv(c->nums, f.ints[k], d.count / f.count);
        else
            f.reals[k] /= d.count / f.count;
    }
    fold_store(c, 0, &f);
}

void fold_cum_sum(infer *c)
{
    data d;
    folded f;
    num given;
    if (!fold_input(c, 0, &d) || d.rank < 1 || !scalar_int(c, 1, &given) || !fold_output(c, 0, &d, &f) ||
        f.count != d.count)
        return;
    int axis = axis_of(c, given, d.rank);
    if (axis < 0)
        return;
    bool exclusive = attr_int(c, "exclusive", 0) != 0, reverse = attr_int(c, "reverse", 0) != 0;
    int64_t strides[MAX_RANK];
    fold_strides(d.dims, d.rank, strides);
    int64_t length = d.dims[axis], stride = strides[axis];
    for (int32_t i = 0; i < d.count; i++) {
        /* i is the running index over (outer, axis, inner) in the order of summation. */
        int64_t block = length * stride, outer = i / block, inner = i % stride, step = i % block / stride;
        int64_t along = reverse ? length - 1 - step : step, before = reverse ? along + 1 : along - 1;
        int64_t at = outer * block + along * stride + inner, previous = outer * block + before * stride + inner;
        if (f.ints) {
            num sum = step ? f.ints[previous] : 0;
            f.ints[at] = num_add(c->nums, sum, exclusive ? (step ? d.ints[previous] : 0) : d.ints[at]);
        } else {
            double sum = step ? f.reals[previous] : 0;
            f.reals[at] = sum + (exclusive ? (step ? d.reals[previous] : 0) : d.reals[at]);
        }
    }
    fold_store(c, 0, &f);
}

/* Positions of the maxima or minima of integers along one axis. */
void fold_arg_max(infer *c)
{
    data d;
    folded f;
    if (!fold_input(c, 0, &d) || !d.ints || d.rank < 1 || !fold_output(c, 0, &d, &f))
        return;
    int axis = axis_of(c, attr_int(c, "axis", 0), d.rank);
    bool is_max = node_is(c->node, "ArgMax"), takes_last = attr_int(c, "select_last_index", 0) != 0;
    if (axis < 0 || d.dims[axis] == 0)
        return;
    int64_t strides[MAX_RANK];
    fold_strides(d.dims, d.rank, strides);
    int64_t length = d.dims[axis], stride = strides[axis];
    for (int32_t k = 0; k < f.count; k++) {
        int64_t base = k / stride * stride * length + k % stride;
        f.ints[k] = 0;
        for (int64_t i = 0; i < length; i++) {
            num x = d.ints[base + i * stride], best = d.ints[base + f.ints[k] * stride];
            if (!num_known(x))
                return;
            if ((is_max ? x > best : x < best) || (takes_last && x == best))
                f.ints[k] = i;
        }
    }
    fold_store(c, 0, &f);
}

typedef struct ranked {
    num key;
    int32_t place;
} ranked;

static int by_key(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->place - y->place;
}

/* For one-dimensional lists of integers. */
void fold_top_k(infer *c)
{
    data d;
    const value *o = out(c, 0) ? out(c, 0) : out(c, 1);
    if (!o || o->rank != 1 || !fold_input(c, 0, &d) || !d.ints || d.rank != 1 || !dim_known(o->dims[0]) ||
        o->dims[0] > d.count)
        return;
    int32_t count = (int32_t)o->dims[0];
    bool largest = attr_int(c, "largest", 1) != 0;
    ranked *items = ARENA_ARRAY(c->arena, ranked, (size_t)d.count + 1);
    num *values = ARENA_ARRAY(c->arena, num, (size_t)count + 1),
        *places = ARENA_ARRAY(c->arena, num, (size_t)count + 1);
    for (int32_t i = 0; i < d.count; i++) {
        if (!num_known(d.ints[i]))
            return;
        items[i] = (ranked){largest ? -d.ints[i] : d.ints[i], i};
    }
    qsort(items, (size_t)d.count, sizeof *items, by_key);
    for (int32_t i = 0; i < count; i++) {
        values[i] = d.ints[items[i].place];
        places[i] = items[i].place;
    }
    set_ints(c, 0, values);
    set_ints(c, 1, places);
}

/* For integers only; the input `values` holds (off, on). */
void fold_one_hot(infer *c)
{
    data indices, values;
    folded f;
    const value *v = in(c, 0);
    if (!v || (!v->ints && !v->tensor) || !fold_input(c, 0, &indices) || !indices.ints || !fold_input(c, 2, &values) ||
        values.count != 2 || !fold_output(c, 0, &values, &f) || f.rank != indices.rank + 1)
        return;
    int axis = axis_of(c, attr_int(c, "axis", -1), f.rank);
    if (axis < 0)
        return;
    int64_t inner = 1, depth = f.dims[axis];
    for (int i = axis + 1; i < f.rank; i++)
        inner *= f.dims[i];
    for (int32_t k = 0; k < f.count; k++) {
        int64_t outer = k / (inner * depth), at = k / inner % depth;
        num index = indices.ints[outer * inner + k % inner];
        if (!num_known(index))
            return;
        fold_copy(&f, k, &values, (index < 0 ? index + depth : index) == at);
    }
    fold_store(c, 0, &f);
}
