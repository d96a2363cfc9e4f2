/* mxnet_shapes.c: maps MXNet operators that move or create elements: shapes, slices, tiles, ranges. The others are
 * in mxnet_ops.c. */
#include "front/mxnet/mxnet.h"

#include <math.h>

void mxnet_map_concat(mxnet_call *c, const char *unused)
{
    (void)unused;
    grow_concat(c->g, c->in, c->in_count, mxnet_axis(c, "dim", mxnet_axis(c, "axis", 1)), c->out);
}

void mxnet_map_flatten(mxnet_call *c, const char *canonical)
{
    emit_int(emit_op(c->e, canonical, &c->x, 1, c->out), "axis", 1);
}

/* Codes: 0 keeps a dimension, -1 takes the rest, -2 copies all remaining dimensions, -3 merges two, -4 splits one
 * into the next two numbers. False if unknown dimensions prevent the result. */
static bool reshaped(const int64_t *code, int code_count, const num *dims, int rank, int64_t *shape, int *count)
{
    int at = 0;
    *count = 0;
    for (int i = 0; i < code_count && *count < MAX_RANK - 2; i++) {
        int64_t product;
        switch (code[i]) {
        case 0:
            if (at >= rank || !dim_known(dims[at]))
                return false;
            shape[(*count)++] = dims[at++];
            break;
        case -1:
            shape[(*count)++] = -1;
            at++;
            break;
        case -2:
            for (; at < rank && *count < MAX_RANK - 2; at++) {
                if (!dim_known(dims[at]))
                    return false;
                shape[(*count)++] = dims[at];
            }
            break;
        case -3:
            if (at + 1 >= rank || !dim_known(dims[at]) || !dim_known(dims[at + 1]) ||
                __builtin_mul_overflow(dims[at], dims[at + 1], &product))
                return false;
            shape[(*count)++] = product;
            at += 2;
            break;
        case -4: {
            if (i + 2 >= code_count || at >= rank || !dim_known(dims[at]))
                return false;
            int64_t first = code[i + 1], second = code[i + 2];
            if (first == -1 && second > 0)
                first = dims[at] / second;
            if (second == -1 && first > 0)
                second = dims[at] / first;
            shape[(*count)++] = first;
            shape[(*count)++] = second;
            at++;
            i += 2;
            break;
        }
        default:
            if (code[i] < 0)
                return false;
            shape[(*count)++] = code[i];
            at++;
        }
    }
    return true;
}

static void flip(int64_t *numbers, int count)
{
    for (int i = 0; i < count / 2; i++) {
        int64_t kept = numbers[i];
        numbers[i] = numbers[count - 1 - i];
        numbers[count - 1 - i] = kept;
    }
}

void mxnet_map_reshape(mxnet_call *c, const char *unused)
{
    (void)unused;
    int64_t code[MAX_RANK], shape[MAX_RANK];
    num dims[MAX_RANK];
    int code_count = mxnet_ints(mxnet_text(c->node, "shape"), code, MAX_RANK), count = 0;
    int rank = grow_shape(c->g, c->x, dims);
    bool is_reverse = mxnet_flag(c, "reverse", false);
    if (code_count <= 0) /* name of the attribute in the first version */
        code_count = mxnet_ints(mxnet_text(c->node, "target_shape"), code, MAX_RANK);
    if (code_count <= 0 || rank < 0) {
        mxnet_foreign(c);
        return;
    }
    if (is_reverse) {
        flip(code, code_count);
        flip(dims, rank);
    }
    bool is_known = reshaped(code, code_count, dims, rank, shape, &count);
    if (is_reverse)
        flip(shape, count);
    if (is_known)
        emit_reshaped(c->e, c->x, shape, count, c->out);
    else
        mxnet_foreign(c);
}

void mxnet_map_transpose(mxnet_call *c, const char *unused)
{
    (void)unused;
    int64_t perm[MAX_RANK];
    num dims[MAX_RANK];
    int count = mxnet_has(c, "axes") ? mxnet_ints(mxnet_text(c->node, "axes"), perm, MAX_RANK) : 0;
    int rank = grow_shape(c->g, c->x, dims);
    if (count <= 0) {
        for (count = 0; count < rank; count++)
            perm[count] = rank - 1 - count;
    }
    if (count > 0)
        emit_transpose(c->e, c->x, perm, count, c->out);
    else
        mxnet_foreign(c);
}

void mxnet_map_swap(mxnet_call *c, const char *unused)
{
    (void)unused;
    int64_t perm[MAX_RANK];
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), first = mxnet_axis(c, "dim1", 0), second = mxnet_axis(c, "dim2", 0);
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    if (rank < 0 || first < 0 || second < 0 || first >= rank || second >= rank) {
        mxnet_foreign(c);
        return;
    }
    perm[first] = second;
    perm[second] = first;
    emit_transpose(c->e, c->x, perm, rank, c->out);
}

void mxnet_map_split(mxnet_call *c, const char *unused)
{
    (void)unused;
    int64_t axis = mxnet_axis(c, "axis", 1), count = mxnet_size(c, "num_outputs", 1);
    value_id outs[MXNET_MAX_OUTPUTS];
    if (count < c->out_count || count > MXNET_MAX_OUTPUTS || count < 1) {
        mxnet_foreign(c);
        return;
    }
    for (int i = 0; i < count; i++)
        outs[i] = i < c->out_count ? c->outs[i] : NO_VALUE;
    if (mxnet_flag(c, "squeeze_axis", false)) {
        emit_unpack(c->e, c->x, axis, outs, (int)count);
        return;
    }
    node *n = emit_many(c->e, "Split", &c->x, 1, outs, (int)count);
    emit_int(n, "axis", axis);
    emit_int(n, "num_outputs", count);
}

void mxnet_map_slice_axis(mxnet_call *c, const char *unused)
{
    (void)unused;
    grow_slice(c->g, c->x, mxnet_axis(c, "axis", 0), mxnet_int(c, "begin", 0), mxnet_int(c, "end", INT64_MAX), c->out);
}

void mxnet_map_slice(mxnet_call *c, const char *unused)
{
    (void)unused;
    int64_t begins[MAX_RANK], ends[MAX_RANK], steps[MAX_RANK], axes[MAX_RANK];
    int count = mxnet_ints(mxnet_text(c->node, "begin"), begins, MAX_RANK);
    int end_count = mxnet_ints(mxnet_text(c->node, "end"), ends, MAX_RANK);
    int step_count = mxnet_ints(mxnet_text(c->node, "step"), steps, MAX_RANK);
    if (count <= 0 || end_count != count) {
        mxnet_foreign(c);
        return;
    }
    for (int i = 0; i < count; i++) {
        axes[i] = i;
        steps[i] = i < step_count && steps[i] != INT64_MIN && steps[i] != 0 ? steps[i] : 1;
        begins[i] = begins[i] != INT64_MIN ? begins[i] : steps[i] > 0 ? 0 : INT64_MAX;
        ends[i] = ends[i] != INT64_MIN ? ends[i] : steps[i] > 0 ? INT64_MAX : -INT64_MAX;
    }
    value_id inputs[] = {c->x, emit_list(c->e, begins, count), emit_list(c->e, ends, count),
                         emit_list(c->e, axes, count), emit_list(c->e, steps, count)};
    emit_op(c->e, "Slice", inputs, 5, c->out);
}

/* Slices to another tensor's size along the given axes, or along all; Crop does so for images. */
void mxnet_map_slice_like(mxnet_call *c, const char *canonical)
{
    int64_t axes[MAX_RANK], starts[MAX_RANK] = {0}, ends[MAX_RANK];
    num dims[MAX_RANK];
    int rank = c->in_count > 1 ? grow_shape(c->g, c->in[1], dims) : RANK_UNKNOWN, count = 0;
    if (canonical[0] == 'C')
        count = rank == 4 ? 2 : 0;
    else if (mxnet_has(c, "axes"))
        count = mxnet_ints(mxnet_text(c->node, "axes"), axes, MAX_RANK);
    for (int i = 0; canonical[0] == 'C' && i < count; i++)
        axes[i] = 2 + i;
    if (count <= 0)
        for (count = 0; count < rank; count++)
            axes[count] = count;
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank || !dim_known(dims[axis])) {
            mxnet_foreign(c);
            return;
        }
        ends[i] = dims[axis];
    }
    if (count <= 0) {
        mxnet_foreign(c);
        return;
    }
    value_id inputs[] = {c->x, emit_list(c->e, starts, count), emit_list(c->e, ends, count),
                         emit_list(c->e, axes, count)};
    emit_op(c->e, "Slice", inputs, 4, c->out);
}

void mxnet_map_expand_dims(mxnet_call *c, const char *unused)
{
    (void)unused;
    int64_t axis = mxnet_axis(c, "axis", 0);
    emit_unsqueeze(c->e, c->x, &axis, 1, c->out);
}

void mxnet_map_squeeze(mxnet_call *c, const char *canonical)
{
    int64_t axes[MAX_RANK];
    int count = mxnet_has(c, "axis") ? mxnet_ints(mxnet_text(c->node, "axis"), axes, MAX_RANK) : 0;
    if (count > 0)
        emit_squeeze(c->e, c->x, axes, count, c->out);
    else
        emit_1(c->e, canonical, c->x, c->out);
}

void mxnet_map_stack(mxnet_call *c, const char *unused)
{
    (void)unused;
    emit_pack(c->e, c->in, c->in_count, mxnet_axis(c, "axis", 0), c->out);
}

void mxnet_map_tile(mxnet_call *c, const char *canonical)
{
    int64_t repeats[MAX_RANK], padded[MAX_RANK];
    num dims[MAX_RANK];
    int count = mxnet_ints(mxnet_text(c->node, "reps"), repeats, MAX_RANK), rank = grow_shape(c->g, c->x, dims);
    if (count < 1 || rank < count) {
        mxnet_foreign(c);
        return;
    }
    for (int i = 0; i < rank; i++)
        padded[i] = i < rank - count ? 1 : repeats[i - (rank - count)];
    emit_2(c->e, canonical, c->x, emit_list(c->e, padded, rank), c->out);
}

/* Repeats each element: a new axis is tiled and merged. Without an axis the tensor is flattened. */
void mxnet_map_repeat(mxnet_call *c, const char *unused)
{
    (void)unused;
    num dims[MAX_RANK];
    int64_t times = mxnet_size(c, "repeats", 1), shape[MAX_RANK], tiles[MAX_RANK], size;
    value_id x = c->x;
    int rank = grow_shape(c->g, x, dims), axis = mxnet_axis(c, "axis", 0);
    if (!mxnet_has(c, "axis") && rank >= 0) {
        x = emit_reshaped(c->e, x, (const int64_t[]){-1}, 1, NO_VALUE);
        rank = grow_shape(c->g, x, dims);
        axis = 0;
    }
    axis += axis < 0 ? rank : 0;
    if (rank < 1 || rank + 1 >= MAX_RANK || axis < 0 || axis >= rank || !dim_known(dims[axis]) ||
        __builtin_mul_overflow(dims[axis], times, &size)) {
        mxnet_foreign(c);
        return;
    }
    for (int i = 0; i <= rank; i++)
        tiles[i] = i == axis + 1 ? times : 1;
    for (int i = 0; i < rank; i++)
        shape[i] = i == axis ? size : i < axis ? 0 : dim_known(dims[i]) ? dims[i] : -1;
    value_id rows = emit_unsqueeze(c->e, x, (const int64_t[]){axis + 1}, 1, NO_VALUE);
    value_id tiled = emit_2(c->e, "Tile", rows, emit_list(c->e, tiles, rank + 1), NO_VALUE);
    emit_reshaped(c->e, tiled, shape, rank, c->out);
}

void mxnet_map_broadcast_axis(mxnet_call *c, const char *unused)
{
    (void)unused;
    int64_t axes[MAX_RANK], sizes[MAX_RANK], shape[MAX_RANK];
    num dims[MAX_RANK];
    int rank = grow_shape(c->g, c->x, dims), count = mxnet_ints(mxnet_text(c->node, "axis"), axes, MAX_RANK);
    if (rank < 1 || count < 1 || mxnet_ints(mxnet_text(c->node, "size"), sizes, MAX_RANK) != count) {
        mxnet_foreign(c);
        return;
    }
    for (int i = 0; i < rank; i++)
        shape[i] = 1;
    for (int i = 0; i < count; i++)
        if (axes[i] >= 0 && axes[i] < rank)
            shape[axes[i]] = sizes[i];
    emit_2(c->e, "Expand", c->x, emit_list(c->e, shape, rank), c->out);
}

/* 0 keeps a dimension. */
void mxnet_map_broadcast_to(mxnet_call *c, const char *canonical)
{
    int64_t shape[MAX_RANK];
    int count = mxnet_ints(mxnet_text(c->node, "shape"), shape, MAX_RANK);
    for (int i = 0; i < count; i++)
        shape[i] = shape[i] == 0 ? 1 : shape[i];
    if (count > 0)
        emit_2(c->e, canonical, c->x, emit_list(c->e, shape, count), c->out);
    else
        mxnet_foreign(c);
}

void mxnet_map_broadcast_like(mxnet_call *c, const char *canonical)
{
    if (c->in_count < 2)
        mxnet_foreign(c);
    else
        emit_2(c->e, canonical, c->x, emit_1(c->e, "Shape", c->in[1], NO_VALUE), c->out);
}

void mxnet_map_reverse(mxnet_call *c, const char *unused)
{
    (void)unused;
    int64_t axes[MAX_RANK];
    int count = mxnet_ints(mxnet_text(c->node, "axis"), axes, MAX_RANK);
    if (count < 1 || !emit_reverse(c->e, c->x, emit_list(c->e, axes, count), c->out))
        mxnet_foreign(c);
}

/* (before, after) for each axis in turn. */
void mxnet_map_pad(mxnet_call *c, const char *canonical)
{
    int64_t pairs[2 * MAX_RANK], pads[2 * MAX_RANK];
    int count = mxnet_ints(mxnet_text(c->node, "pad_width"), pairs, 2 * MAX_RANK);
    if (count < 2 || count % 2 != 0) {
        mxnet_foreign(c);
        return;
    }
    for (int i = 0; i < count; i++)
        pads[i % 2 * (count / 2) + i / 2] = pairs[i];
    emit_2(c->e, canonical, c->x, emit_list(c->e, pads, count), c->out);
}

/* start, stop, step; a single number means 0 … start. */
void mxnet_map_range(mxnet_call *c, const char *unused)
{
    (void)unused;
    double start = mxnet_real(c, "start", 0), stop = mxnet_has(c, "stop") ? mxnet_real(c, "stop", 0) : start,
           step = mxnet_real(c, "step", 1);
    start = mxnet_has(c, "stop") ? start : 0;
    double length = step != 0 ? ceil((stop - start) / step) : 0;
    int64_t count = length > 0 && length < MXNET_MAX_SIZE ? (int64_t)length : 0;
    value_id one = emit_scalar(c->e, DT_FLOAT32, start);
    emit_2(c->e, "Expand", one, emit_list(c->e, &count, 1), c->out);
}

void mxnet_map_fill(mxnet_call *c, const char *canonical)
{
    int64_t shape[MAX_RANK];
    int count = mxnet_ints(mxnet_text(c->node, "shape"), shape, MAX_RANK);
    for (int i = 0; i < count; i++)
        if (shape[i] < 0)
            count = -1;
    if (count < 0)
        mxnet_foreign(c);
    else
        emit_2(c->e, "Expand", emit_scalar(c->e, DT_FLOAT32, canonical[0] == 'O'), emit_list(c->e, shape, count),
               c->out);
}

/* Along one axis, by default the first. */
void mxnet_map_take(mxnet_call *c, const char *canonical)
{
    if (c->in_count < 2) {
        mxnet_foreign(c);
        return;
    }
    value_id index = emit_cast(c->e, c->in[1], DT_INT64, NO_VALUE);
    emit_int(emit_op(c->e, canonical, (const value_id[]){c->x, index}, 2, c->out), "axis", mxnet_axis(c, "axis", 0));
}

/* The index tuples are along the first axis. */
void mxnet_map_gather_nd(mxnet_call *c, const char *canonical)
{
    int64_t perm[MAX_RANK];
    num dims[MAX_RANK];
    int rank = c->in_count > 1 ? grow_shape(c->g, c->in[1], dims) : 0;
    if (rank < 1) {
        mxnet_foreign(c);
        return;
    }
    for (int i = 0; i < rank; i++)
        perm[i] = (i + 1) % rank;
    value_id index = emit_cast(c->e, c->in[1], DT_INT64, NO_VALUE);
    emit_2(c->e, canonical, c->x, emit_transpose(c->e, index, perm, rank, NO_VALUE), c->out);
}
