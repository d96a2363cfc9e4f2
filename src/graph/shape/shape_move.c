/* shape_move.c: shapes of views and of operators that copy, cut, join and repeat. Selection by index is in
 * shape_index.c. */
#include "graph/shape/shape.h"

/* Combines two statements about one dimension. */
static num agreed(infer *c, num a, num b)
{
    if (dim_known(a) && dim_known(b) && a != b)
        complain(c, "dimensions %lld and %lld must be equal", (long long)a, (long long)b);
    return dim_known(a) ? a : dim_known(b) || a == NUM_UNKNOWN ? b : a;
}

/* Length of a one-dimensional input if it is a valid rank; else -1. */
static int rank_from_length(const value *v)
{
    return v && v->rank == 1 && dim_known(v->dims[0]) && v->dims[0] <= MAX_RANK ? (int)v->dims[0] : -1;
}

/* ---- views ----------------------------------------------------------------------------------------------------- */

/* Divides the input elements by those of the other output dimensions. Equal dimensions cancel out, even unknown
 * ones. */
static num remaining_dim(infer *c, const value *v, const num *dims, int rank, int open)
{
    num inputs[MAX_RANK], above = 1, below = 1;
    memcpy(inputs, v->dims, (size_t)v->rank * sizeof *inputs);
    for (int i = 0; i < rank; i++) {
        if (i == open)
            continue;
        int k = 0;
        while (k < v->rank && (inputs[k] != dims[i] || dims[i] == NUM_UNKNOWN || dims[i] == 0))
            k++;
        if (k < v->rank)
            inputs[k] = 1;
        else
            below = num_mul(c->nums, below, dims[i]);
    }
    above = num_product(c->nums, inputs, v->rank);
    if (below == 0)
        return NUM_UNKNOWN;
    if (num_known(above) && num_known(below) && above % below != 0) {
        complain(c, "%lld elements cannot be divided by %lld", (long long)above, (long long)below);
        return NUM_UNKNOWN;
    }
    return num_floordiv(c->nums, above, below);
}

/* Dimensions of a Reshape: 0 copies, -1 (or the only unknown number) takes the remaining elements. */
static void reshape_to(infer *c, const value *v, const num *target, int rank)
{
    num dims[MAX_RANK], kept[MAX_RANK];
    int open = -1, unknown = 0;
    bool zero_copies = attr_int(c, "allowzero", 0) == 0;
    num rest[MAX_RANK];
    value reduced = {.rank = v->rank, .dims = rest};
    if (v->rank > 0)
        memcpy(rest, v->dims, (size_t)v->rank * sizeof *rest);
    for (int i = 0; i < rank; i++) {
        dims[i] = kept[i] = target[i];
        if (target[i] == 0 && zero_copies) {
            dims[i] = kept[i] = i < v->rank ? v->dims[i] : NUM_UNKNOWN;
            if (i < v->rank)
                rest[i] = kept[i] = 1; /* dimension copied from the input: cancels out even if unknown */
        } else if (target[i] == -1) {
            dims[i] = NUM_UNKNOWN;
            open = i;
        }
        if (dims[i] == NUM_UNKNOWN && kept[i] != 1)
            unknown++;
        if (num_known(dims[i]) && dims[i] < 0) {
            complain(c, "target dimension %lld", (long long)dims[i]);
            dims[i] = NUM_UNKNOWN;
        }
    }
    if (unknown == 1 && v->rank >= 0) {
        for (int i = 0; i < rank && open < 0; i++)
            if (dims[i] == NUM_UNKNOWN && kept[i] != 1)
                open = i;
        dims[open] = remaining_dim(c, &reduced, kept, rank, open);
    }
    num before = v->rank < 0 ? NUM_UNKNOWN : value_elements(c->net, v), after = num_product(c->nums, dims, rank);
    if (num_known(before) && num_known(after) && before != after)
        complain(c, "%lld elements cannot be reshaped to %lld", (long long)before, (long long)after);
    set_shape(c, 0, rank, dims);
}

void shape_reshape(infer *c)
{
    const value *v = in(c, 0);
    const num *target;
    int32_t count;
    if (!v)
        return;
    set_dtype(c, 0, v->dtype);
    if (!ints_argument(c, "shape", 1, &target, &count)) {
        int rank = rank_from_length(in(c, 1));
        if (rank == 1 && v->rank >= 0) {
            num all = value_elements(c->net, v);
            set_shape(c, 0, 1, &all);
        } else if (rank >= 0) {
            set_rank_only(c, 0, v->dtype, rank);
        }
        return;
    }
    if (count < 0 || count > MAX_RANK)
        return;
    num rebatched[MAX_RANK];
    if (rebatch_reshape(c, target, count, rebatched))
        set_shape(c, 0, count, rebatched);
    else
        reshape_to(c, v, target, count);
}

void shape_flatten(infer *c)
{
    const value *v = in(c, 0);
    if (!v)
        return;
    set_rank_only(c, 0, v->dtype, 2);
    int64_t axis = attr_int(c, "axis", 1);
    if (v->rank < 0)
        return;
    if (axis < 0)
        axis += v->rank;
    if (axis < 0 || axis > v->rank) {
        complain(c, "axis %lld is out of range for rank %d", (long long)axis, v->rank);
        return;
    }
    num dims[2] = {num_product(c->nums, v->dims, (int)axis), num_product(c->nums, v->dims + axis, v->rank - (int)axis)};
    set_shape(c, 0, 2, dims);
}

void shape_squeeze(infer *c)
{
    const value *v = ranked_input(c, 0);
    const num *axes;
    int32_t count;
    bool dropped[MAX_RANK] = {false};
    if (!v)
        return;
    if (!ints_argument(c, "axes", 1, &axes, &count)) {
        int axis_count = rank_from_length(in(c, 1));
        if (axis_count >= 0 && axis_count <= v->rank)
            set_rank_only(c, 0, v->dtype, v->rank - axis_count);
        return;
    }
    for (int i = 0; i < v->rank && count < 0; i++) {
        if (!dim_known(v->dims[i]))
            return; /* the unknown dimension may be 1 and then vanishes too */
        dropped[i] = v->dims[i] == 1;
    }
    for (int32_t i = 0; i < count; i++) {
        int axis = axis_of(c, axes[i], v->rank);
        if (axis < 0)
            return;
        if (dim_known(v->dims[axis]) && v->dims[axis] != 1)
            complain(c, "axis %d cannot be squeezed: it has %lld elements", axis, (long long)v->dims[axis]);
        dropped[axis] = true;
    }
    num dims[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < v->rank; i++)
        if (!dropped[i])
            dims[rank++] = v->dims[i];
    set_shape(c, 0, rank, dims);
}

void shape_unsqueeze(infer *c)
{
    const value *v = ranked_input(c, 0);
    const num *axes;
    int32_t count;
    bool added[MAX_RANK] = {false};
    if (!v)
        return;
    if (!ints_argument(c, "axes", 1, &axes, &count)) {
        int axis_count = rank_from_length(in(c, 1));
        if (axis_count >= 0)
            set_rank_only(c, 0, v->dtype, v->rank + axis_count);
        return;
    }
    if (count < 0 || count + v->rank > MAX_RANK)
        return;
    int rank = v->rank + count;
    for (int32_t i = 0; i < count; i++) {
        int axis = axis_of(c, axes[i], rank);
        if (axis < 0)
            return;
        if (added[axis]) {
            complain(c, "axis %d is given twice", axis);
            return;
        }
        added[axis] = true;
    }
    num dims[MAX_RANK];
    for (int i = 0, k = 0; i < rank; i++)
        dims[i] = added[i] ? 1 : v->dims[k++];
    set_shape(c, 0, rank, dims);
}

bool transpose_axes(infer *c, int rank, int *axes)
{
    int32_t count;
    const num *perm; /* TensorFlow gives perm as an input, which may be computed */
    bool used[MAX_RANK] = {false};
    if (!ints_argument(c, "perm", 1, &perm, &count))
        return false;
    if (perm && count != rank) {
        complain(c, "perm has %d axes; the input has %d", count, rank);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        axes[i] = perm ? axis_of(c, perm[i], rank) : rank - 1 - i;
        if (axes[i] < 0)
            return false;
        if (used[axes[i]]) {
            complain(c, "perm names axis %d twice", axes[i]);
            return false;
        }
        used[axes[i]] = true;
    }
    return true;
}

void shape_transpose(infer *c)
{
    const value *v = in(c, 0);
    int axes[MAX_RANK];
    if (!v)
        return;
    int32_t count;
    set_dtype(c, 0, v->dtype);
    if (v->rank < 0 && attr_ints(c, "perm", &count) && count <= MAX_RANK)
        set_rank_only(c, 0, v->dtype, count);
    if (v->rank < 0 || !transpose_axes(c, v->rank, axes))
        return;
    num dims[MAX_RANK];
    for (int i = 0; i < v->rank; i++)
        dims[i] = v->dims[axes[i]];
    set_shape(c, 0, v->rank, dims);
}

/* ---- joining and cutting --------------------------------------------------------------------------------------- */

void shape_concat(infer *c)
{
    int rank = RANK_UNKNOWN, axis = -1;
    num dims[MAX_RANK], length = 0;
    /* Before operator set 4 the axis had a default. */
    int64_t given_axis = attr_int(c, "axis", 1);
    for (int i = c->node->input_count - 1; i >= 0; i--) {
        const value *v = in(c, i);
        set_dtype(c, 0, v ? v->dtype : DT_UNKNOWN);
        if (v && v->rank >= 0)
            rank = v->rank;
    }
    if (rank < 0 || (axis = axis_of(c, given_axis, rank)) < 0)
        return;
    bool joins = rebatch_joins(c, axis);
    for (int i = 0; i < rank; i++)
        dims[i] = NUM_UNKNOWN;
    for (int i = 0; i < c->node->input_count; i++) {
        const value *v = in(c, i);
        if (!v || v->rank < 0) {
            length = NUM_UNKNOWN;
            continue;
        }
        if (v->rank != rank) {
            complain(c, "inputs have ranks %d and %d", rank, v->rank);
            return;
        }
        for (int k = 0; k < rank; k++)
            if (k != axis)
                dims[k] = agreed(c, dims[k], joins && k == 0 ? rebatch_joined(c, c->node->inputs[i]) : v->dims[k]);
        length = num_add(c->nums, length, v->dims[axis]);
    }
    dims[axis] = length;
    set_shape(c, 0, rank, dims);
}

/* Lengths of the pieces along the axis: given, or equal. */
static bool split_lengths(infer *c, num whole, int pieces, num *lengths)
{
    const num *given;
    int32_t count;
    if (!ints_argument(c, "split", 1, &given, &count))
        return false;
    if (count > 0) {
        if (count < pieces)
            complain(c, "%d lengths for %d outputs", count, pieces);
        for (int i = 0; i < pieces; i++)
            lengths[i] = i < count ? given[i] : NUM_UNKNOWN;
        return true;
    }
    int64_t parts = attr_int(c, "num_outputs", pieces);
    if (parts < pieces || parts < 1)
        return false;
    num chunk = num_ceildiv(c->nums, whole, parts);
    if (!num_known(whole) || (c->node->opset < 18 && whole % parts == 0))
        chunk = num_floordiv(c->nums, whole, parts);
    else if (c->node->opset < 18)
        complain(c, "%lld elements cannot be split into %lld equal parts", (long long)whole, (long long)parts);
    for (int i = 0; i < pieces; i++) {
        lengths[i] = chunk;
        if (num_known(whole)) { /* the last piece may be shorter */
            num rest = num_sub(c->nums, whole, num_mul(c->nums, chunk, i));
            lengths[i] = !num_known(rest) || rest < 0 ? 0 : rest < chunk ? rest : chunk;
        }
    }
    return true;
}

void shape_split(infer *c)
{
    const value *v = in(c, 0);
    int pieces = c->node->output_count;
    if (!v)
        return;
    for (int i = 0; i < pieces; i++)
        set_dtype(c, i, v->dtype);
    if (v->rank < 1)
        return;
    int axis = axis_of(c, attr_int(c, "axis", 0), v->rank);
    if (axis < 0)
        return;
    num *lengths = ARENA_ARRAY(c->arena, num, (size_t)pieces);
    bool known = split_lengths(c, v->dims[axis], pieces, lengths);
    num dims[MAX_RANK];
    memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    for (int i = 0; i < pieces; i++) {
        dims[axis] = known ? lengths[i] : NUM_UNKNOWN;
        set_shape(c, i, v->rank, dims);
    }
}

/* True if the number is so large that it marks the end of a range as "to the end". */
static bool is_far(num a)
{
    return num_known(a) && (a >= INT32_MAX || a <= -INT32_MAX);
}

/* Resolves a position counted from the end, then clamps it to low … high. */
static int64_t clamped(int64_t at, int64_t whole, int64_t low, int64_t high)
{
    if (at < 0)
        at = at < -whole ? -1 : at + whole;
    return at < low ? low : at > high ? high : at;
}

bool slice_range(num whole, num start, num end, num step, int64_t *first, int64_t *count)
{
    if (!dim_known(whole) || !num_known(start) || !num_known(end) || !num_known(step) || step == 0)
        return false;
    if (step > 0) {
        *first = clamped(start, whole, 0, whole);
        int64_t stop = clamped(end, whole, 0, whole);
        *count = stop > *first ? (stop - *first - 1) / step + 1 : 0;
    } else {
        *first = clamped(start, whole, 0, whole - 1);
        /* Runtimes read the largest integers as "to the end" in both directions. */
        bool to_end = end == INT64_MAX || end == INT32_MAX;
        int64_t stop = to_end ? -1 : clamped(end, whole, -1, whole - 1);
        *count = whole > 0 && *first > stop ? (*first - stop - 1) / -step + 1 : 0;
    }
    return true;
}

/* Returns the length of a symbolic range, assuming that nothing is clamped. */
static num symbolic_slice(infer *c, num whole, num start, num end, num step)
{
    if (start == NUM_UNKNOWN || end == NUM_UNKNOWN || !num_known(step) || step <= 0)
        return start == 0 || is_far(start) ? (step == -1 && is_far(end) && end < 0 ? whole : NUM_UNKNOWN) : NUM_UNKNOWN;
    if (whole == NUM_UNKNOWN)
        return NUM_UNKNOWN;
    num stop = is_far(end) && end > 0 ? whole : num_known(end) && end < 0 ? num_add(c->nums, whole, end) : end;
    num first = num_known(start) && start < 0 ? (is_far(start) ? 0 : num_add(c->nums, whole, start)) : start;
    num length = num_sub(c->nums, stop, first);
    if (num_known(length) && length < 0)
        length = 0;
    /* A known end may exceed a symbolic dimension. */
    if (num_known(end) && end > 0 && !is_far(end) && !num_known(whole))
        length = num_sub(c->nums, num_min(c->nums, whole, end), first);
    return step == 1 ? length : num_ceildiv(c->nums, length, step);
}

bool slice_arguments(infer *c, int rank, slice_axis *axes)
{
    const num *starts, *ends, *given_axes, *steps;
    int32_t start_count, end_count, axis_count, step_count;
    bool known_starts = ints_argument(c, "starts", 1, &starts, &start_count);
    bool known_ends = ints_argument(c, "ends", 2, &ends, &end_count);
    bool known_steps = ints_argument(c, "steps", 4, &steps, &step_count);
    if (!ints_argument(c, "axes", 3, &given_axes, &axis_count))
        return false;
    for (int i = 0; i < rank; i++)
        axes[i] = (slice_axis){.start = 0, .end = INT64_MAX, .step = 1};
    if (axis_count < 0) { /* by default the first axes, one per start */
        const value *v = in(c, known_starts ? 2 : 1);
        axis_count = known_starts ? start_count : known_ends ? end_count : rank_from_length(v);
        if (axis_count < 0 || axis_count > rank)
            return false;
        given_axes = NULL;
    }
    for (int32_t i = 0; i < axis_count; i++) {
        int axis = given_axes ? axis_of(c, given_axes[i], rank) : i;
        if (axis < 0)
            return false;
        axes[axis] = (slice_axis){.start = known_starts && i < start_count ? starts[i] : NUM_UNKNOWN,
                                  .end = known_ends && i < end_count ? ends[i] : NUM_UNKNOWN,
                                  .step = !known_steps     ? NUM_UNKNOWN
                                          : i < step_count ? steps[i]
                                                           : 1,
                                  .is_cut = true};
    }
    return true;
}

void shape_slice(infer *c)
{
    const value *v = in(c, 0);
    slice_axis axes[MAX_RANK];
    if (!v)
        return;
    set_dtype(c, 0, v->dtype);
    if (v->rank < 0)
        return;
    if (!slice_arguments(c, v->rank, axes)) {
        set_rank_only(c, 0, v->dtype, v->rank);
        return;
    }
    num dims[MAX_RANK];
    for (int i = 0; i < v->rank; i++) {
        int64_t first, count;
        dims[i] = v->dims[i];
        if (!axes[i].is_cut)
            continue;
        dims[i] = slice_range(v->dims[i], axes[i].start, axes[i].end, axes[i].step, &first, &count)
                      ? count
                      : symbolic_slice(c, v->dims[i], axes[i].start, axes[i].end, axes[i].step);
    }
    set_shape(c, 0, v->rank, dims);
}

/* ---- repeating and padding ------------------------------------------------------------------------------------- */

void shape_expand(infer *c)
{
    const value *v = in(c, 0);
    int32_t count;
    if (!v)
        return;
    set_dtype(c, 0, v->dtype);
    const num *target = const_ints(c, 1, &count);
    int rank = target ? count : rank_from_length(in(c, 1));
    if (rank < 0 || rank > MAX_RANK)
        return;
    num wanted[MAX_RANK], dims[MAX_RANK];
    for (int i = 0; i < rank; i++)
        wanted[i] = target && !(num_known(target[i]) && target[i] < 0) ? target[i] : NUM_UNKNOWN;
    if (target)
        rebatch_target(c, 1, wanted, rank);
    rank = broadcast(c, v->dims, v->rank, wanted, rank, dims);
    set_shape(c, 0, rank, dims);
}

void shape_tile(infer *c)
{
    const value *v = ranked_input(c, 0);
    int32_t count;
    if (!v)
        return;
    num dims[MAX_RANK];
    if (c->node->input_count == 3) { /* operator set 1: repeat count and axis */
        num times, axis;
        if (!scalar_int(c, 1, &times) || !scalar_int(c, 2, &axis) || !num_known(axis)) {
            set_rank_only(c, 0, v->dtype, v->rank);
            return;
        }
        int at = axis_of(c, axis, v->rank);
        if (at < 0)
            return;
        memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
        dims[at] = num_mul(c->nums, dims[at], times);
        set_shape(c, 0, v->rank, dims);
        return;
    }
    const num *repeats = const_ints(c, 1, &count);
    if (repeats && count != v->rank) {
        complain(c, "%d repeats for rank %d", count, v->rank);
        return;
    }
    for (int i = 0; i < v->rank; i++)
        dims[i] = repeats ? num_mul(c->nums, v->dims[i], repeats[i]) : NUM_UNKNOWN;
    set_shape(c, 0, v->rank, dims);
}

void shape_pad(infer *c)
{
    const value *v = in(c, 0);
    const num *pads, *axes;
    int32_t pad_count, axis_count = -1;
    if (!v)
        return;
    set_dtype(c, 0, v->dtype);
    if (v->rank < 0)
        return;
    bool known = ints_argument(c, attr_ints(c, "paddings", &pad_count) ? "paddings" : "pads", 1, &pads, &pad_count);
    known = known && pad_count >= 0 && ints_argument(c, "axes", 3, &axes, &axis_count);
    if (!known) {
        set_rank_only(c, 0, v->dtype, v->rank);
        return;
    }
    int cut = axis_count < 0 ? v->rank : axis_count;
    if (pad_count != 2 * cut) {
        complain(c, "%d pads for %d axes", pad_count, cut);
        return;
    }
    num dims[MAX_RANK];
    if (v->rank)
        memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    for (int i = 0; i < cut; i++) {
        int axis = axis_count < 0 ? i : axis_of(c, axes[i], v->rank);
        if (axis < 0)
            return;
        dims[axis] = num_add(c->nums, dims[axis], num_add(c->nums, pads[i], pads[i + cut]));
    }
    set_shape(c, 0, v->rank, dims);
}

/* Crops or pads the given axes to the given lengths. */
void shape_center_crop_pad(infer *c)
{
    const value *v = ranked_input(c, 0);
    int32_t length_count, axis_count;
    if (!v)
        return;
    const num *lengths = const_ints(c, 1, &length_count);
    const int64_t *axes = attr_ints(c, "axes", &axis_count);
    int cut = axes ? axis_count : v->rank;
    num dims[MAX_RANK];
    if (v->rank)
        memcpy(dims, v->dims, (size_t)v->rank * sizeof *dims);
    for (int i = 0; i < cut; i++) {
        int axis = axes ? axis_of(c, axes[i], v->rank) : i;
        if (axis < 0)
            return;
        dims[axis] = lengths && i < length_count ? lengths[i] : NUM_UNKNOWN;
    }
    set_shape(c, 0, v->rank, dims);
}
