/* emit_layers.c: operators of TensorFlow-like formats that need several ONNX operators (emit.h). */
#include "front/common/emit.h"

/* ---- windows --------------------------------------------------------------------------------------------------- */

static void put_window(emitter *e, node *n, const emit_window *w)
{
    bool is_dilated = false;
    for (int i = 0; i < w->axes; i++)
        is_dilated |= w->dilations[i] > 1;
    emit_ints(e, n, "strides", w->strides, w->axes);
    if (is_dilated)
        emit_ints(e, n, "dilations", w->dilations, w->axes);
    if (w->padding == EMIT_PADS)
        emit_ints(e, n, "pads", w->pads, 2 * w->axes);
    else
        emit_text(n, "auto_pad", w->padding == EMIT_SAME ? STR("SAME_UPPER") : STR("VALID"));
    if (!w->channels_first)
        emit_int(n, "channels_last", 1);
}

node *emit_conv(emitter *e, const char *op, value_id x, value_id weight, value_id bias, const emit_window *w,
                value_id output)
{
    node *n = emit_op(e, op, (const value_id[]){x, weight, bias}, 3, output);
    put_window(e, n, w);
    if (w->group > 1)
        emit_int(n, "group", w->group);
    return n;
}

node *emit_pool(emitter *e, const char *op, value_id x, const emit_window *w, value_id output)
{
    node *n = emit_op(e, op, &x, 1, output);
    emit_ints(e, n, "kernel_shape", w->kernel, w->axes);
    put_window(e, n, w);
    return n;
}

void emit_resize(emitter *e, const char *mode, value_id x, value_id size, bool channels_first, value_id output)
{
    value_id sizes = emit_index_list(e, size);
    node *n = emit_op(e, "Resize", (const value_id[]){x, NO_VALUE, NO_VALUE, sizes}, 4, output);
    emit_text(n, "mode", str_of(mode));
    emit_ints(e, n, "axes", channels_first ? (const int64_t[]){2, 3} : (const int64_t[]){1, 2}, 2);
    if (!channels_first)
        emit_int(n, "channels_last", 1);
}

/* One batched product applies the weights to the patches. One repeated number per sample stands for the patches, so
 * that they depend on the input. */
value_id emit_local_product(emitter *e, value_id x, value_id kernel, int64_t places, int64_t taps)
{
    value_id flat = emit_reshaped(e, x, (const int64_t[]){0, -1}, 2, NO_VALUE), shape = emit_1(e, "Shape", x, NO_VALUE);
    const value_id cut[] = {flat, emit_list(e, (const int64_t[]){0}, 1), emit_list(e, (const int64_t[]){1}, 1),
                            emit_list(e, (const int64_t[]){1}, 1)};
    value_id one = emit_op(e, "Slice", cut, 4, NO_VALUE)->outputs[0];
    value_id batch = emit_2(e, "Gather", shape, emit_list(e, (const int64_t[]){0}, 1), NO_VALUE);
    node *patch_shape = emit_op(
        e, "Concat",
        (const value_id[]){emit_list(e, (const int64_t[]){places}, 1), batch, emit_list(e, (const int64_t[]){taps}, 1)},
        3, NO_VALUE);
    emit_int(patch_shape, "axis", 0);
    value_id patches = emit_2(e, "Expand", one, patch_shape->outputs[0], NO_VALUE);
    return emit_transpose(e, emit_2(e, "MatMul", patches, kernel, NO_VALUE), (const int64_t[]){1, 0, 2}, 3, NO_VALUE);
}

/* ---- pointwise ------------------------------------------------------------------------------------------------- */

void emit_clip(emitter *e, value_id x, double low, double high, value_id output)
{
    const value_id bounds[2] = {emit_scalar(e, DT_FLOAT32, low), emit_scalar(e, DT_FLOAT32, high)};
    emit_op(e, "Clip", (const value_id[]){x, bounds[0], bounds[1]}, 3, output);
}

void emit_prelu(emitter *e, value_id x, value_id slope, value_id output)
{
    int64_t dims[MAX_RANK];
    int rank = x == NO_VALUE ? RANK_UNKNOWN : build_at(e->b, x)->rank;
    const value *s = slope == NO_VALUE ? NULL : build_at(e->b, slope);
    if (s && s->rank == 1 && s->dims[0] != 1 && rank > 2) {
        dims[0] = dim_known(s->dims[0]) ? s->dims[0] : -1;
        for (int i = 1; i < rank - 1; i++)
            dims[i] = 1;
        slope = emit_viewed(e, slope, dims, rank - 1);
    }
    emit_2(e, "PRelu", x, slope, output);
}

int64_t emit_mask(const int64_t *flags, int count)
{
    int64_t mask = 0;
    for (int i = 0; i < count && i < 63; i++)
        mask |= (int64_t)(flags[i] != 0) << i;
    return mask;
}

/* ---- stacking and slicing -------------------------------------------------------------------------------------- */

void emit_pack(emitter *e, const value_id *inputs, int count, int64_t axis, value_id output)
{
    if (count == 1) {
        emit_unsqueeze(e, inputs[0], &axis, 1, output);
        return;
    }
    value_id *rows = ARENA_ARRAY(e->b->arena, value_id, (size_t)count);
    value_id axes = emit_list(e, &axis, 1);
    for (int i = 0; i < count; i++)
        rows[i] = emit_2(e, "Unsqueeze", inputs[i], axes, NO_VALUE);
    emit_int(emit_op(e, "Concat", rows, count, output), "axis", axis);
}

void emit_unpack(emitter *e, value_id x, int64_t axis, const value_id *outputs, int count)
{
    if (count == 1) {
        emit_squeeze(e, x, &axis, 1, outputs[0]);
        return;
    }
    value_id *rows = ARENA_ARRAY(e->b->arena, value_id, (size_t)count);
    for (int i = 0; i < count; i++)
        rows[i] = emit_temp(e);
    node *n = emit_many(e, "Split", &x, 1, rows, count);
    emit_int(n, "axis", axis);
    emit_int(n, "num_outputs", count);
    value_id axes = emit_list(e, &axis, 1);
    for (int i = 0; i < count; i++)
        if (outputs[i] != NO_VALUE)
            emit_2(e, "Squeeze", rows[i], axes, outputs[i]);
}

/* Bounds of a slice, filled in position by position. */
typedef struct bounds {
    value_id pieces[MAX_RANK]; /* one scalar per position, if a bound is unknown */
    int64_t numbers[MAX_RANK];
    int count;
    bool is_known;
} bounds;

static void add_bound(emitter *e, bounds *b, const int64_t *known, value_id vector, int place, bool is_masked,
                      int64_t masked, int64_t more)
{
    int at = b->count++;
    b->pieces[at] = NO_VALUE;
    if (is_masked) {
        b->numbers[at] = masked;
    } else if (known) {
        /* The end of a slice of element -1 would be 0, the beginning; the largest number stands for it instead. */
        b->numbers[at] = more && known[place] == -1 ? INT64_MAX : known[place] + more;
    } else {
        int64_t index = place;
        b->pieces[at] = emit_2(e, "Gather", vector, emit_list(e, &index, 1), NO_VALUE);
        if (more)
            b->pieces[at] = emit_2(e, "Add", b->pieces[at], emit_list(e, &more, 1), NO_VALUE);
        b->is_known = false;
    }
}

static value_id join_bounds(emitter *e, const bounds *b)
{
    if (b->is_known)
        return emit_list(e, b->numbers, b->count);
    value_id pieces[MAX_RANK];
    for (int i = 0; i < b->count; i++)
        pieces[i] = b->pieces[i] != NO_VALUE ? b->pieces[i] : emit_list(e, &b->numbers[i], 1);
    if (b->count == 1)
        return pieces[0];
    node *n = emit_op(e, "Concat", pieces, b->count, NO_VALUE);
    emit_int(n, "axis", 0);
    return n->outputs[0];
}

static bool bit(int64_t mask, int i)
{
    return i < 63 && (mask >> i) & 1;
}

static int place_of_ellipsis(const emit_slice *s, int count)
{
    for (int i = 0; i < count; i++)
        if (bit(s->ellipsis_mask, i))
            return i;
    return count;
}

void emit_strided_slice(emitter *e, value_id x, const emit_slice *s, value_id output)
{
    int64_t begins[MAX_RANK], ends[MAX_RANK], steps[MAX_RANK];
    int count = emit_known_ints(e, s->strides, steps, MAX_RANK);
    int begin_count = emit_known_ints(e, s->begin, begins, MAX_RANK);
    int end_count = emit_known_ints(e, s->end, ends, MAX_RANK);
    if (count < 0 || (begin_count >= 0 && begin_count != count) || (end_count >= 0 && end_count != count)) {
        emit_foreign(e, STR("tensorflow"), STR("StridedSlice"), (const value_id[]){x, s->begin, s->end, s->strides}, 4,
                     &output, 1);
        return;
    }
    value_id begin = begin_count < 0 ? emit_index(e, s->begin) : NO_VALUE;
    value_id end = end_count < 0 ? emit_index(e, s->end) : NO_VALUE;
    int ellipsis = place_of_ellipsis(s, count);
    bounds starts = {.is_known = true}, stops = {.is_known = true};
    int64_t axes[MAX_RANK], cut_steps[MAX_RANK], shrunk[MAX_RANK], added[MAX_RANK];
    int shrunk_count = 0, added_count = 0;
    /* After an ellipsis, positions count from the end. */
    int behind = 0, final_behind = 0;
    for (int i = ellipsis + 1; i < count; i++) {
        behind += !bit(s->new_axis_mask, i);
        final_behind += bit(s->new_axis_mask, i) || !bit(s->shrink_axis_mask, i);
    }
    int64_t axis = 0, final_axis = 0;
    for (int i = 0; i < count; i++) {
        if (i == ellipsis) {
            axis = -behind;
            final_axis = -final_behind;
            continue;
        }
        if (bit(s->new_axis_mask, i)) {
            added[added_count++] = final_axis++;
            continue;
        }
        bool shrinks = bit(s->shrink_axis_mask, i);
        int64_t step = shrinks ? 1 : steps[i];
        bool from_start = bit(s->begin_mask, i) && !shrinks, to_end = bit(s->end_mask, i) && !shrinks;
        if (!from_start || !to_end || step != 1) {
            axes[starts.count] = axis;
            cut_steps[starts.count] = step;
            add_bound(e, &starts, begin_count < 0 ? NULL : begins, begin, i, from_start, step > 0 ? 0 : INT64_MAX, 0);
            if (shrinks)
                add_bound(e, &stops, begin_count < 0 ? NULL : begins, begin, i, false, 0, 1);
            else
                add_bound(e, &stops, end_count < 0 ? NULL : ends, end, i, to_end, step > 0 ? INT64_MAX : -INT64_MAX, 0);
        }
        if (shrinks)
            shrunk[shrunk_count++] = axis;
        else
            final_axis++;
        axis++;
    }
    bool is_last = shrunk_count == 0 && added_count == 0;
    if (starts.count) {
        value_id inputs[] = {x, join_bounds(e, &starts), join_bounds(e, &stops), emit_list(e, axes, starts.count),
                             emit_list(e, cut_steps, starts.count)};
        x = emit_op(e, "Slice", inputs, 5, is_last ? output : NO_VALUE)->outputs[0];
    } else if (is_last) {
        emit_1(e, "Identity", x, output);
    }
    if (shrunk_count)
        x = emit_squeeze(e, x, shrunk, shrunk_count, added_count ? NO_VALUE : output);
    if (added_count)
        emit_unsqueeze(e, x, added, added_count, output);
}

void emit_begin_size(emitter *e, value_id x, value_id begin, value_id size, value_id output)
{
    int64_t begins[MAX_RANK], sizes[MAX_RANK], ends[MAX_RANK];
    int count = emit_known_ints(e, size, sizes, MAX_RANK), begin_count = emit_known_ints(e, begin, begins, MAX_RANK);
    if (count >= 0 && begin_count == count) {
        for (int i = 0; i < count; i++)
            if (sizes[i] < 0 || __builtin_add_overflow(begins[i], sizes[i], &ends[i]))
                ends[i] = INT64_MAX;
        emit_op(e, "Slice", (const value_id[]){x, emit_list(e, begins, count), emit_list(e, ends, count)}, 3, output);
        return;
    }
    /* A size of -1 takes the rest. */
    value_id starts = emit_index(e, begin), lengths = emit_index(e, size);
    value_id sum = emit_2(e, "Add", starts, lengths, NO_VALUE);
    value_id negative = emit_2(e, "Less", lengths, emit_number(e, 0), NO_VALUE);
    value_id stops =
        emit_op(e, "Where", (const value_id[]){negative, emit_number(e, INT64_MAX / 2), sum}, 3, NO_VALUE)->outputs[0];
    emit_op(e, "Slice", (const value_id[]){x, starts, stops}, 3, output);
}

bool emit_reverse(emitter *e, value_id x, value_id axes, value_id output)
{
    int64_t numbers[MAX_RANK], starts[MAX_RANK], ends[MAX_RANK], steps[MAX_RANK];
    int count = emit_known_ints(e, axes, numbers, MAX_RANK);
    for (int i = 0; i < count; i++) {
        starts[i] = INT64_MAX;
        ends[i] = -INT64_MAX;
        steps[i] = -1;
    }
    if (count < 0)
        return false;
    value_id inputs[] = {x, emit_list(e, starts, count), emit_list(e, ends, count), emit_list(e, numbers, count),
                         emit_list(e, steps, count)};
    emit_op(e, "Slice", inputs, 5, output);
    return true;
}

/* ---- padding and blocks ---------------------------------------------------------------------------------------- */

value_id emit_paddings(emitter *e, value_id pairs)
{
    int64_t numbers[2 * MAX_RANK], pads[2 * MAX_RANK];
    int count = emit_known_ints(e, pairs, numbers, 2 * MAX_RANK);
    if (count >= 0 && count % 2 == 0) {
        for (int i = 0; i < count / 2; i++) {
            pads[i] = numbers[(size_t)2 * (size_t)i];
            pads[count / 2 + i] = numbers[2 * i + 1];
        }
        return emit_list(e, pads, count);
    }
    value_id columns = emit_transpose(e, emit_index(e, pairs), (const int64_t[]){1, 0}, 2, NO_VALUE);
    return emit_reshaped(e, columns, (const int64_t[]){-1}, 1, NO_VALUE);
}

/* Pads the spatial axes with (before, after) pairs. */
static value_id pad_axes(emitter *e, value_id x, value_id pairs, int count)
{
    int64_t axes[MAX_RANK];
    for (int i = 0; i < count; i++)
        axes[i] = 1 + i;
    value_id inputs[] = {x, emit_paddings(e, pairs), NO_VALUE, emit_list(e, axes, count)};
    return emit_op(e, "Pad", inputs, 4, NO_VALUE)->outputs[0];
}

static value_id dim_at(emitter *e, value_id shape, int64_t axis)
{
    return emit_2(e, "Gather", shape, emit_list(e, &axis, 1), NO_VALUE);
}

static value_id rest_of(emitter *e, value_id shape, int64_t first)
{
    value_id inputs[] = {shape, emit_list(e, &first, 1), emit_list(e, (const int64_t[]){INT64_MAX}, 1)};
    return emit_op(e, "Slice", inputs, 3, NO_VALUE)->outputs[0];
}

static value_id reshape_to(emitter *e, value_id x, const value_id *parts, int count, value_id output)
{
    node *n = emit_op(e, "Concat", parts, count, NO_VALUE);
    emit_int(n, "axis", 0);
    return emit_2(e, "Reshape", x, n->outputs[0], output);
}

enum { MAX_BLOCKS = 8 };

static void foreign_blocks(emitter *e, const char *op, value_id x, value_id blocks, value_id pairs, value_id output)
{
    emit_foreign(e, STR("tensorflow"), str_of(op), (const value_id[]){x, blocks, pairs}, 3, &output, 1);
}

/* Pad, reshape to (N, H/b, b, W/b, b, rest), move the blocks to the front, reshape to (b·b·N, H/b, W/b, …). */
void emit_space_to_batch(emitter *e, value_id x, value_id blocks, value_id pairs, value_id output)
{
    int64_t sizes[MAX_BLOCKS], perm[2 * MAX_BLOCKS + 2], product = 1;
    int m = emit_known_ints(e, blocks, sizes, MAX_BLOCKS);
    value_id parts[2 * MAX_BLOCKS + 2];
    if (m < 1) {
        foreign_blocks(e, "SpaceToBatchND", x, blocks, pairs, output);
        return;
    }
    value_id padded = pad_axes(e, x, pairs, m), shape = emit_1(e, "Shape", padded, NO_VALUE);
    parts[0] = dim_at(e, shape, 0);
    for (int i = 0; i < m; i++) {
        product = sizes[i] > 0 && product < 1 << 20 ? product * sizes[i] : product;
        value_id size = emit_list(e, &sizes[i], 1);
        parts[1 + 2 * i] = emit_2(e, "Div", dim_at(e, shape, 1 + i), size, NO_VALUE);
        parts[2 + 2 * i] = size;
        perm[i] = 2 + 2 * i;
        perm[m + 1 + i] = 1 + 2 * i;
    }
    perm[m] = 0;
    perm[2 * m + 1] = 2 * m + 1;
    parts[2 * m + 1] = emit_list(e, (const int64_t[]){-1}, 1);
    value_id split = reshape_to(e, padded, parts, 2 * m + 2, NO_VALUE);
    value_id moved = emit_transpose(e, split, perm, 2 * m + 2, NO_VALUE);
    value_id last[MAX_BLOCKS + 2] = {emit_2(e, "Mul", parts[0], emit_list(e, &product, 1), NO_VALUE)};
    for (int i = 0; i < m; i++)
        last[1 + i] = parts[1 + 2 * i];
    last[1 + m] = rest_of(e, shape, 1 + m);
    reshape_to(e, moved, last, m + 2, output);
}

/* Reshape to (b…, N/product, H, W, rest), move each block after its axis, reshape to (N/product, H·b, W·b, …), crop. */
void emit_batch_to_space(emitter *e, value_id x, value_id blocks, value_id pairs, value_id output)
{
    int64_t sizes[MAX_BLOCKS], crops[2 * MAX_BLOCKS], perm[2 * MAX_BLOCKS + 2], product = 1;
    int m = emit_known_ints(e, blocks, sizes, MAX_BLOCKS);
    value_id parts[2 * MAX_BLOCKS + 2], last[MAX_BLOCKS + 2];
    if (m < 1 || emit_known_ints(e, pairs, crops, 2 * MAX_BLOCKS) != 2 * m) {
        foreign_blocks(e, "BatchToSpaceND", x, blocks, pairs, output);
        return;
    }
    for (int i = 0; i < m; i++)
        product = sizes[i] > 0 && product < 1 << 20 ? product * sizes[i] : product;
    value_id shape = emit_1(e, "Shape", x, NO_VALUE);
    last[0] = parts[m] = emit_2(e, "Div", dim_at(e, shape, 0), emit_list(e, &product, 1), NO_VALUE);
    perm[0] = m;
    for (int i = 0; i < m; i++) {
        parts[i] = emit_list(e, &sizes[i], 1);
        parts[m + 1 + i] = dim_at(e, shape, 1 + i);
        last[1 + i] = emit_2(e, "Mul", parts[m + 1 + i], parts[i], NO_VALUE);
        perm[1 + 2 * i] = m + 1 + i;
        perm[2 + 2 * i] = i;
    }
    parts[2 * m + 1] = emit_list(e, (const int64_t[]){-1}, 1);
    perm[2 * m + 1] = 2 * m + 1;
    last[1 + m] = rest_of(e, shape, 1 + m);
    value_id split = reshape_to(e, x, parts, 2 * m + 2, NO_VALUE);
    value_id joined = reshape_to(e, emit_transpose(e, split, perm, 2 * m + 2, NO_VALUE), last, m + 2, NO_VALUE);
    int64_t starts[MAX_BLOCKS], ends[MAX_BLOCKS], axes[MAX_BLOCKS];
    for (int i = 0; i < m; i++) {
        axes[i] = 1 + i;
        starts[i] = crops[(size_t)2 * (size_t)i];
        ends[i] = crops[2 * i + 1] > 0 ? -crops[2 * i + 1] : INT64_MAX;
    }
    value_id inputs[] = {joined, emit_list(e, starts, m), emit_list(e, ends, m), emit_list(e, axes, m)};
    emit_op(e, "Slice", inputs, 4, output);
}

/* ---- recurrent layers ------------------------------------------------------------------------------------------ */

value_id emit_joined(emitter *e, value_id of_first, int count, int rank)
{
    int64_t dims[3] = {count, 0, 0};
    const value *first = of_first == NO_VALUE ? NULL : build_at(e->b, of_first);
    if (!first || first->rank != rank || !first->is_initializer)
        return NO_VALUE;
    for (int i = 0; i < rank; i++)
        dims[1 + i] = first->dims[i];
    return emit_weight(e, arena_printf(e->b->arena, "%.*s~%d", STR_ARG(first->name), count), first->dtype, rank + 1,
                       dims);
}

value_id emit_gate_bias(emitter *e, value_id bias, int64_t gates_by_hidden, int directions)
{
    const int64_t dims[2] = {directions, gates_by_hidden};
    value_id zeros = emit_temp(e); /* ONNX has a second bias for the state, which these formats lack */
    build_constant(e->b, zeros, emit_tensor(e, DT_FLOAT32, 2, dims));
    build_at(e->b, zeros)->is_constant_node = true;
    node *n = emit_op(e, "Concat", (const value_id[]){bias, zeros}, 2, NO_VALUE);
    emit_int(n, "axis", 1);
    return n->outputs[0];
}

void emit_recurrent_layer(emitter *e, value_id x, const emit_recurrent *r, const value_id *initial, value_id output,
                          value_id *final_states)
{
    static const int64_t SWAP[] = {1, 0, 2};
    bool is_lstm = strcmp(r->op, "LSTM") == 0;
    if (!r->time_major)
        x = emit_transpose(e, x, SWAP, 3, NO_VALUE);
    value_id inputs[7] = {
        x, r->w, r->r, r->b, NO_VALUE, initial ? initial[0] : NO_VALUE, initial && is_lstm ? initial[1] : NO_VALUE};
    value_id outputs[3] = {emit_temp(e), final_states ? final_states[0] : NO_VALUE,
                           final_states && is_lstm ? final_states[1] : NO_VALUE};
    if (r->last_only && outputs[1] == NO_VALUE)
        outputs[1] = emit_temp(e);
    node *n = emit_many(e, r->op, inputs, 7, outputs, is_lstm ? 3 : 2);
    emit_int(n, "hidden_size", r->hidden);
    if (r->directions == 2 || r->go_backwards)
        emit_text(n, "direction", r->directions == 2 ? STR("bidirectional") : STR("reverse"));
    if (r->linear_before_reset)
        emit_int(n, "linear_before_reset", 1);
    if (r->last_only) { /* (D, batch, H) */
        if (r->directions == 1)
            emit_squeeze(e, outputs[1], (const int64_t[]){0}, 1, output);
        else
            emit_reshaped(e, emit_transpose(e, outputs[1], SWAP, 3, NO_VALUE), (const int64_t[]){0, -1}, 2, output);
        return;
    }
    if (r->directions == 1) { /* (time, 1, batch, H) */
        value_id y = emit_squeeze(e, outputs[0], (const int64_t[]){1}, 1, r->time_major ? output : NO_VALUE);
        if (!r->time_major)
            emit_transpose(e, y, SWAP, 3, output);
        return;
    }
    const int64_t *perm = r->time_major ? (const int64_t[]){0, 2, 1, 3} : (const int64_t[]){2, 0, 1, 3};
    emit_reshaped(e, emit_transpose(e, outputs[0], perm, 4, NO_VALUE), (const int64_t[]){0, 0, -1}, 3, output);
}
