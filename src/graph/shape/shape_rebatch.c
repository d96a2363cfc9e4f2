/* shape_rebatch.c: adjusts constants that contain the file's fixed batch when the user replaces it.
 *
 * Exporters with a fixed batch B write it into the targets of Reshape, Expand and ConstantOfShape. The network was
 * first inferred at batch B (network.file_shapes), so the shapes around each such node are known. The question is
 * which dimension of the target carries the batch. */
#include "graph/shape/shape.h"

/* Shape of an input or output at the file's batch; NULL if unknown. */
static const file_shape *at_file_batch(const infer *c, value_id id)
{
    if (id == NO_VALUE || id >= c->net->file_shape_count)
        return NULL;
    const file_shape *v = &c->net->file_shapes[id];
    return v->rank >= 0 ? v : NULL;
}

static bool is_rebatching(const infer *c)
{
    return c->net->batch_from > 0 && c->net->batch_to > 0 && c->net->file_shapes;
}

static num scaled(infer *c, num dim)
{
    num product = num_mul(c->nums, dim, c->net->batch_to);
    return num_known(product) && product % c->net->batch_from == 0 ? product / c->net->batch_from : NUM_UNKNOWN;
}

/* Returns the one dimension in which the shapes differ by the ratio of the batches; otherwise -1. */
static int batch_axis(infer *c, const file_shape *before, const value *now)
{
    int axis = -1;
    if (before->rank != now->rank || !value_shape_known(now))
        return -1;
    for (int i = 0; i < now->rank; i++) {
        if (before->dims[i] == now->dims[i])
            continue;
        if (axis >= 0 || scaled(c, before->dims[i]) != now->dims[i])
            return -1;
        axis = i;
    }
    return axis;
}

static int64_t product(const num *dims, int from, int to)
{
    int64_t p = 1;
    for (int i = from; i < to; i++)
        if (__builtin_mul_overflow(p, dims[i], &p))
            return 0;
    return p;
}

/* In row-major order the batch stays between its outer and inner dimensions. A target dimension can carry it if the
 * dimensions before it divide the outer part and those after it divide the inner part. Preference: the batch alone,
 * the same dimension as before, the first factor of a split dimension (heads), the outermost. */
static int carrier(const infer *c, const file_shape *before, int axis, const file_shape *target)
{
    const int64_t batch = c->net->batch_from;
    int64_t outer = product(before->dims, 0, axis), inner = product(before->dims, axis + 1, before->rank);
    /* Number of other elements in the dimension that contains the batch. */
    int64_t beside = before->dims[axis] / batch;
    int64_t inside; /* Number of elements inside the batch, if the batch is the outer factor of its dimension. */
    int same = -1, split = -1, first = -1;
    if (outer <= 0 || inner <= 0 || beside <= 0 || before->dims[axis] % batch != 0 ||
        __builtin_mul_overflow(inner, beside, &inside))
        return -1;
    for (int k = 0; k < target->rank; k++) {
        int64_t dim = target->dims[k], left = product(target->dims, 0, k);
        int64_t right = product(target->dims, k + 1, target->rank);
        if (left <= 0 || right <= 0 || dim <= 0 || dim % batch != 0)
            continue;
        if (dim == batch && left % outer == 0 && right % inner == 0 && beside % (left / outer) == 0)
            return k;
        if (same < 0 && left == outer && right == inner)
            same = k;
        if (split < 0 && left == outer && beside == 1 && axis + 1 < before->rank && dim != before->dims[axis + 1] &&
            before->dims[axis + 1] % (dim / batch) == 0)
            split = k;
        if (first < 0 && outer % left == 0 && inside % right == 0)
            first = k;
    }
    return same >= 0 ? same : split >= 0 ? split : first;
}

bool rebatch_reshape(infer *c, const num *target, int rank, num *dims)
{
    if (!is_rebatching(c))
        return false;
    const value *now = in(c, 0);
    const file_shape *before = at_file_batch(c, c->node->inputs[0]);
    const file_shape *after = out(c, 0) ? at_file_batch(c, c->node->outputs[0]) : NULL;
    if (!now || !before || !after || after->rank != rank)
        return false;
    int axis = batch_axis(c, before, now);
    if (axis < 0)
        return false;
    /* A target computed from shapes already has the new batch, so it stays unchanged. */
    for (int i = 0; i < rank; i++)
        if (target[i] != after->dims[i] && target[i] != -1 && target[i] != 0)
            return false;
    int k = carrier(c, before, axis, after);
    if (k < 0) {
        complain(c, "its target does not show which dimension is the batch");
        return false;
    }
    memcpy(dims, after->dims, (size_t)rank * sizeof *dims);
    dims[k] = scaled(c, dims[k]);
    return num_known(dims[k]);
}

/* True if these data are the same at the new batch. */
static bool same_data(const file_shape *before, const value *now, int32_t count)
{
    return now->is_initializer || (before->ints && now->ints && before->rank == now->rank &&
                                   memcmp(before->ints, now->ints, (size_t)count * sizeof(num)) == 0);
}

void rebatch_target(infer *c, int input, num *dims, int rank)
{
    const value *v = in(c, input);
    /* A 1 may or may not be the batch; if it is, a later join decides (rebatch_joined). */
    if (!is_rebatching(c) || c->net->batch_from == 1 || !v || rank < 2 || dims[0] != c->net->batch_from)
        return;
    const file_shape *before = at_file_batch(c, c->node->inputs[input]);
    if (before && same_data(before, v, rank))
        dims[0] = c->net->batch_to;
}

bool rebatch_joins(infer *c, int axis)
{
    for (int i = 0; is_rebatching(c) && axis != 0 && i < c->node->input_count; i++) {
        const value *v = in(c, i);
        const file_shape *before = at_file_batch(c, c->node->inputs[i]);
        if (v && before && v->rank > 1 && v->dims[0] == c->net->batch_to && before->dims[0] == c->net->batch_from)
            return true;
    }
    return false;
}

/* Returns the value that an operator repeated to the file's batch to make v; NO_VALUE if there is none. */
static value_id one_back(const infer *c, const value *v)
{
    const node *n = v->producer == NO_NODE ? NULL : &c->net->nodes.items[v->producer];
    bool passes_on = n && (node_is(n, "Unsqueeze") || node_is(n, "Identity") || node_is(n, "Cast"));
    return passes_on ? n->inputs[0] : NO_VALUE;
}

num rebatch_joined(infer *c, value_id id)
{
    const int64_t old = c->net->batch_from, new = c->net->batch_to;
    enum { MAX_CHAIN = 4 };
    value_id chain[MAX_CHAIN];
    int length = 0;
    value *v = &c->net->values.items[id];
    const file_shape *before = at_file_batch(c, id);
    if (v->dims[0] != old || !before || before->rank != v->rank || before->dims[0] != old)
        return v->dims[0];
    /* An Expand that repeats a value over the whole batch must produce the new batch. */
    for (; id != NO_VALUE && length < MAX_CHAIN; id = one_back(c, v)) {
        v = &c->net->values.items[id];
        if (v->rank < 1 || v->dims[0] != old || v->ints || v->reals)
            break;
        if (v->is_initializer && length == 0)
            return new; /* a constant that the exporter repeated */
        chain[length++] = id;
        const node *n = v->producer == NO_NODE ? NULL : &c->net->nodes.items[v->producer];
        if (!n || (!node_is(n, "Expand") && !node_is(n, "ConstantOfShape")))
            continue;
        for (int i = 0; i < length; i++)
            c->net->values.items[chain[i]].dims[0] = new;
        return new;
    }
    complain(c, "one of its inputs keeps a batch of %lld", (long long)old);
    return NUM_UNKNOWN;
}

/* True if the known parts of an input are the same as at the file's batch. */
static bool is_as_before(const infer *c, value_id id)
{
    const value *now = id == NO_VALUE ? NULL : &c->net->values.items[id];
    const file_shape *before = now ? at_file_batch(c, id) : NULL;
    if (!now)
        return true;
    if (!before || before->rank != now->rank || !value_shape_known(now))
        return false;
    int64_t count = product(now->dims, 0, now->rank);
    return memcmp(before->dims, now->dims, (size_t)now->rank * sizeof(num)) == 0 && !before->ints == !now->ints &&
           (!now->ints || memcmp(before->ints, now->ints, (size_t)count * sizeof(num)) == 0);
}

void rebatch_keep(infer *c)
{
    if (!is_rebatching(c))
        return;
    for (int32_t i = 0; i < c->node->input_count; i++)
        if (!is_as_before(c, c->node->inputs[i]))
            return;
    for (int32_t i = 0; i < c->node->output_count; i++) {
        value *v = c->node->outputs[i] == NO_VALUE ? NULL : &c->net->values.items[c->node->outputs[i]];
        const file_shape *before = v && !value_shape_known(v) ? at_file_batch(c, c->node->outputs[i]) : NULL;
        if (!before)
            continue;
        v->rank = before->rank;
        v->dims = arena_copy(c->arena, before->dims, (size_t)before->rank, sizeof(num));
    }
}
