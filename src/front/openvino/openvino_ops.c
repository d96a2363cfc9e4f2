/* openvino_ops.c: maps OpenVINO operators to canonical ones: arithmetic, reductions, data movement. Layers are in
 * openvino_ops_nn.c. Operators without a row keep their name under the domain "openvino".
 *
 * Axes, orders and sizes are constants in the .bin, which may be missing. Then the shapes declared at the ports
 * replace them, as far as costs and shapes need. */
#include "front/openvino/openvino.h"

static value_id in(const named_op *o, int i)
{
    return named_in_at(o, i);
}

static value_id out(const named_op *o)
{
    return named_out_at(o, 0);
}

/* ---- pointwise ------------------------------------------------------------------------------------------------- */

static void map_unary(emitter *e, const named_op *o, const char *canonical)
{
    emit_1(e, canonical, in(o, 0), out(o));
}

static void map_binary(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, in(o, 0), in(o, 1), out(o));
}

static void map_not_equal(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_1(e, "Not", emit_2(e, "Equal", in(o, 0), in(o, 1), NO_VALUE), out(o));
}

static void map_squared_difference(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    value_id d = emit_2(e, "Sub", in(o, 0), in(o, 1), NO_VALUE);
    emit_2(e, "Mul", d, d, out(o));
}

static void map_select(emitter *e, const named_op *o, const char *canonical)
{
    emit_op(e, canonical, (const value_id[]){in(o, 0), in(o, 1), in(o, 2)}, 3, out(o));
}

static void map_clamp(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_clip(e, in(o, 0), named_real(e, o, "min", 0), named_real(e, o, "max", 0), out(o));
}

static void map_alpha(emitter *e, const named_op *o, const char *canonical)
{
    emit_real(emit_op(e, canonical, (const value_id[]){in(o, 0)}, 1, out(o)), "alpha", named_real(e, o, "alpha", 1));
}

static void map_gelu(emitter *e, const named_op *o, const char *canonical)
{
    str mode = named_text(o, "approximation_mode", "ERF");
    node *n = emit_op(e, canonical, (const value_id[]){in(o, 0)}, 1, out(o));
    if (str_is(mode, "TANH") || str_is(mode, "tanh"))
        emit_text(n, "approximate", STR("tanh"));
}

static void map_swish(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_2(e, "Mul", in(o, 0), emit_1(e, "Sigmoid", in(o, 0), NO_VALUE), out(o));
}

static void map_cast(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    dtype type = openvino_type(named_text(o, "destination_type", ""));
    emit_cast(e, in(o, 0), type == DT_UNKNOWN ? named_declared(e, out(o))->dtype : type, out(o));
}

/* ---- reductions ------------------------------------------------------------------------------------------------ */

/* True for a constant whose data are not available. */
static bool is_hidden(emitter *e, value_id v)
{
    const tensor *t = emit_constant_of(e, v);
    return t && t->encoding == TENSOR_ELSEWHERE;
}

/* Returns the axes that the port's shape lacks, or has as 1 if they are kept; NO_VALUE if ambiguous. */
static value_id declared_axes(emitter *e, const named_op *o, bool keeps)
{
    int64_t axes[MAX_RANK];
    const value *x = named_declared(e, in(o, 0)), *y = named_declared(e, out(o));
    int count = 0, k = 0;
    for (int i = 0; i < x->rank; i++) {
        num kept = k < y->rank ? y->dims[k] : NUM_UNKNOWN;
        bool is_same = k < y->rank && (kept == x->dims[i] || (!dim_known(kept) && !dim_known(x->dims[i])));
        if (!is_same)
            axes[count++] = i;
        k += is_same || keeps;
    }
    return count && k == y->rank ? emit_list(e, axes, count) : NO_VALUE;
}

static void map_reduce(emitter *e, const named_op *o, const char *canonical)
{
    bool keeps = named_true(e, o, "keep_dims");
    value_id axes = is_hidden(e, in(o, 1)) ? declared_axes(e, o, keeps) : NO_VALUE;
    emit_reduce(e, canonical, in(o, 0), axes == NO_VALUE ? in(o, 1) : axes, keeps, out(o));
}

static void map_axis(emitter *e, const named_op *o, const char *canonical)
{
    emit_int(emit_op(e, canonical, (const value_id[]){in(o, 0)}, 1, out(o)), "axis", named_int(e, o, "axis", 1));
}

static void map_top_k(emitter *e, const named_op *o, const char *canonical)
{
    value_id outputs[2] = {out(o), named_out_at(o, 1)};
    node *n = emit_many(e, canonical, (const value_id[]){in(o, 0), emit_index_list(e, in(o, 1))}, 2, outputs, 2);
    emit_int(n, "axis", named_int(e, o, "axis", -1));
    emit_int(n, "largest", !str_is(named_text(o, "mode", "max"), "min"));
}

static void map_cumsum(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, in(o, 0), in(o, 1), out(o));
}

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

static bool is_known(emitter *e, value_id v)
{
    int64_t numbers[MAX_RANK];
    return emit_known_ints(e, v, numbers, MAX_RANK) >= 0;
}

/* Reshapes to the port's declared shape; false if it is incomplete. */
static bool reshape_as_declared(emitter *e, value_id x, value_id y)
{
    int64_t dims[MAX_RANK];
    int rank = openvino_target(e, y, dims);
    if (rank < 0)
        return false;
    node *n = emit_op(e, "Reshape", (const value_id[]){x, emit_list(e, dims, rank)}, 2, y);
    emit_int(n, "allowzero", 1);
    return true;
}

static void map_reshape(emitter *e, const named_op *o, const char *canonical)
{
    /* Data of a computed shape may be unavailable, but the port has the result. */
    if (!is_known(e, in(o, 1)) && reshape_as_declared(e, in(o, 0), out(o)))
        return;
    value_id shape = emit_index_list(e, in(o, 1));
    node *n = emit_op(e, canonical, (const value_id[]){in(o, 0), shape}, 2, out(o));
    if (!named_true(e, o, "special_zero"))
        emit_int(n, "allowzero", 1);
}

/* Finds a permutation between two shapes; among several, one that keeps equal dimensions in order. */
static bool find_order(emitter *e, value_id x, value_id y, int64_t *perm)
{
    const value *from = named_declared(e, x), *to = named_declared(e, y);
    uint64_t used = 0;
    if (from->rank < 0 || from->rank != to->rank)
        return false;
    for (int i = 0; i < to->rank; i++) {
        int found = -1;
        for (int k = 0; k < from->rank && found < 0; k++)
            if (!(used >> k & 1) &&
                (from->dims[k] == to->dims[i] || (!dim_known(from->dims[k]) && !dim_known(to->dims[i]))))
                found = k;
        if (found < 0)
            return false;
        used |= UINT64_C(1) << found;
        perm[i] = found;
    }
    return true;
}

static void map_transpose(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    int64_t perm[MAX_RANK];
    int count = emit_known_ints(e, in(o, 1), perm, MAX_RANK);
    if (count <= 0 && find_order(e, in(o, 0), out(o), perm))
        count = named_declared(e, out(o))->rank;
    if (count > 0)
        emit_transpose(e, in(o, 0), perm, count, out(o));
    else
        named_foreign(e, "openvino", o);
}

static void map_squeeze(emitter *e, const named_op *o, const char *canonical)
{
    if (is_hidden(e, in(o, 1)) && reshape_as_declared(e, in(o, 0), out(o)))
        return;
    emit_2(e, canonical, in(o, 0), emit_index_list(e, in(o, 1)), out(o));
}

static void map_concat(emitter *e, const named_op *o, const char *canonical)
{
    value_id *parts = ARENA_ARRAY(e->b->arena, value_id, (size_t)o->in_count + 1);
    for (int32_t i = 0; i < o->in_count; i++)
        parts[i] = in(o, i);
    emit_int(emit_op(e, canonical, parts, o->in_count, out(o)), "axis", named_int(e, o, "axis", 1));
}

/* Returns the axis in which two shapes differ; -1 unless it is exactly one. */
static int64_t axis_between(emitter *e, value_id x, value_id y)
{
    const value *from = named_declared(e, x), *to = named_declared(e, y);
    int64_t axis = -1;
    for (int i = 0; i < from->rank && from->rank == to->rank; i++)
        if (from->dims[i] != to->dims[i])
            axis = axis < 0 ? i : from->rank;
    return axis < from->rank ? axis : -1;
}

/* Lengths in the third operand; -1 means the rest. NO_VALUE if unknown. */
static value_id lengths_of_parts(emitter *e, const named_op *o, int64_t axis)
{
    int64_t lengths[MAX_RANK], others = 0;
    int count = emit_known_ints(e, in(o, 2), lengths, MAX_RANK), open = -1;
    value_id parts[MAX_RANK];
    if (count != o->out_count || count < 1)
        return NO_VALUE;
    for (int i = 0; i < count; i++) {
        if (lengths[i] == -1 && open < 0)
            open = i;
        else if (lengths[i] < 0 || __builtin_add_overflow(others, lengths[i], &others))
            return NO_VALUE;
        parts[i] = emit_list(e, &lengths[i], 1);
    }
    if (open < 0)
        return emit_list(e, lengths, count);
    value_id shape = emit_1(e, "Shape", in(o, 0), NO_VALUE);
    value_id whole = emit_2(e, "Gather", shape, emit_list(e, &axis, 1), NO_VALUE);
    parts[open] = emit_2(e, "Sub", whole, emit_list(e, &others, 1), NO_VALUE);
    node *n = emit_op(e, "Concat", parts, count, NO_VALUE);
    emit_int(n, "axis", 0);
    return n->outputs[0];
}

static void map_split(emitter *e, const named_op *o, const char *canonical)
{
    int64_t axis, lengths[MAX_RANK];
    value_id *outputs = ARENA_ARRAY(e->b->arena, value_id, (size_t)o->out_count + 1);
    bool has_lengths = o->in_count > 2, is_variadic = has_lengths;
    if (!emit_known_int(e, in(o, 1), &axis))
        axis = axis_between(e, in(o, 0), out(o));
    const value *x = named_declared(e, in(o, 0));
    int64_t place = axis < 0 && x->rank > 0 ? axis + x->rank : axis;
    for (int32_t i = 0; i < o->out_count; i++) {
        outputs[i] = named_out_at(o, i);
        const value *part = named_declared(e, outputs[i]);
        bool known = o->out_count <= MAX_RANK && place >= 0 && place < part->rank && dim_known(part->dims[place]);
        if (known)
            lengths[i] = part->dims[place];
        else
            has_lengths = false;
    }
    value_id sizes = has_lengths   ? emit_list(e, lengths, o->out_count)
                     : is_variadic ? lengths_of_parts(e, o, axis)
                                   : NO_VALUE;
    has_lengths = sizes != NO_VALUE;
    node *n = emit_many(e, canonical, (const value_id[]){in(o, 0), sizes}, 2, outputs, o->out_count);
    emit_int(n, "axis", axis);
    if (!has_lengths)
        emit_int(n, "num_outputs", o->out_count);
}

/* True if the port determines the result of a slice or pad. Axes that are open at the input may stay open. */
static bool is_settled(emitter *e, const named_op *o)
{
    const value *x = named_declared(e, in(o, 0)), *y = named_declared(e, out(o));
    for (int i = 0; i < y->rank; i++)
        if (!dim_known(y->dims[i]) && (i >= x->rank || dim_known(x->dims[i])))
            return false;
    return x->rank >= 0 && x->rank == y->rank;
}

/* Slices without available bounds: takes as many elements of each axis as the port declares. */
static void slice_as_declared(emitter *e, const named_op *o)
{
    int64_t starts[MAX_RANK], ends[MAX_RANK], axes[MAX_RANK];
    const value *x = named_declared(e, in(o, 0)), *y = named_declared(e, out(o));
    int count = 0;
    if (x->rank != y->rank) { /* false if axes are removed or added too */
        if (!reshape_as_declared(
                e, emit_op(e, "Slice", (const value_id[]){in(o, 0), in(o, 1), in(o, 2)}, 3, NO_VALUE)->outputs[0],
                out(o)))
            named_foreign(e, "openvino", o);
        return;
    }
    for (int i = 0; i < x->rank; i++)
        if (dim_known(y->dims[i]) && y->dims[i] != x->dims[i]) {
            starts[count] = 0;
            axes[count] = i;
            ends[count++] = y->dims[i];
        }
    const value_id inputs[4] = {in(o, 0), emit_list(e, starts, count), emit_list(e, ends, count),
                                emit_list(e, axes, count)};
    emit_op(e, "Slice", inputs, 4, out(o));
}

/* Inputs: x, start, stop, step, axes. */
static void map_slice(emitter *e, const named_op *o, const char *canonical)
{
    bool knows = is_known(e, in(o, 1)) && is_known(e, in(o, 2)) && is_known(e, in(o, 4));
    if (is_hidden(e, in(o, 1)) || is_hidden(e, in(o, 2)) || is_hidden(e, in(o, 4)) || (!knows && is_settled(e, o))) {
        slice_as_declared(e, o);
        return;
    }
    const value_id inputs[5] = {in(o, 0), emit_index_list(e, in(o, 1)), emit_index_list(e, in(o, 2)),
                                emit_index_list(e, in(o, 4)), emit_index_list(e, in(o, 3))};
    emit_op(e, canonical, inputs, 5, out(o));
}

static int64_t mask_of(emitter *e, const named_op *o, const char *name)
{
    int64_t flags[MAX_RANK];
    return emit_mask(flags, named_ints(e, o, name, flags, MAX_RANK));
}

/* A 1 in the begin and end masks means that the bound is ignored. */
static void map_strided_slice(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    int64_t numbers[MAX_RANK];
    int count = emit_known_ints(e, in(o, 1), numbers, MAX_RANK);
    value_id steps = in(o, 3);
    if (count < 0 || (steps != NO_VALUE && !is_known(e, steps))) {
        slice_as_declared(e, o);
        return;
    }
    if (steps == NO_VALUE) {
        for (int i = 0; i < count; i++)
            numbers[i] = 1;
        steps = emit_list(e, numbers, count);
    }
    emit_slice s = {.begin = in(o, 1), .end = in(o, 2), .strides = steps, .rank = named_declared(e, in(o, 0))->rank};
    s.begin_mask = mask_of(e, o, "begin_mask");
    s.end_mask = mask_of(e, o, "end_mask");
    s.ellipsis_mask = mask_of(e, o, "ellipsis_mask");
    s.new_axis_mask = mask_of(e, o, "new_axis_mask");
    s.shrink_axis_mask = mask_of(e, o, "shrink_axis_mask");
    emit_strided_slice(e, in(o, 0), &s, out(o));
}

/* Returns the axis that the indices replace. If the constant is unavailable, derives it from declared shapes. */
static int64_t gather_axis(emitter *e, const named_op *o)
{
    int64_t axis;
    if (emit_known_int(e, in(o, 2), &axis))
        return axis;
    const value *x = named_declared(e, in(o, 0)), *index = named_declared(e, in(o, 1)), *y = named_declared(e, out(o));
    for (int a = 0; a < x->rank && index->rank >= 0 && y->rank == x->rank - 1 + index->rank; a++) {
        bool fits = true;
        for (int i = 0; i < y->rank; i++) {
            num want = i < a ? x->dims[i] : i < a + index->rank ? index->dims[i - a] : x->dims[i - index->rank + 1];
            fits = fits && (want == y->dims[i] || (!dim_known(want) && !dim_known(y->dims[i])));
        }
        if (fits)
            return a;
    }
    return 0;
}

static void map_gather(emitter *e, const named_op *o, const char *canonical)
{
    int64_t axis = gather_axis(e, o), batch_dims = named_int(e, o, "batch_dims", 0);
    const value *index = named_declared(e, in(o, 1));
    batch_dims += batch_dims < 0 && index->rank > 0 ? index->rank : 0;
    if (batch_dims > 0 && batch_dims == axis) { /* gives each index a last dimension */
        value_id rows = emit_unsqueeze(e, in(o, 1), (const int64_t[]){-1}, 1, NO_VALUE);
        emit_int(emit_op(e, "GatherND", (const value_id[]){in(o, 0), rows}, 2, out(o)), "batch_dims", batch_dims);
        return;
    }
    if (batch_dims > 0) {
        named_foreign(e, "openvino", o);
        return;
    }
    emit_int(emit_op(e, canonical, (const value_id[]){in(o, 0), in(o, 1)}, 2, out(o)), "axis", axis);
}

static void map_scatter(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){in(o, 0), emit_index(e, in(o, 1)), in(o, 2)}, 3, out(o));
    int64_t axis;
    if (canonical[7] == 'E')
        emit_int(n, "axis", emit_known_int(e, in(o, 3), &axis) ? axis : 0);
}

/* Inputs: data, indices, updates, axis. The updates replace rows along the axis. */
static void map_same_shape(emitter *e, const named_op *o, const char *canonical)
{
    emit_foreign(e, STR("sooth"), str_of(canonical), (const value_id[]){in(o, 0)}, 1, (const value_id[]){out(o)}, 1);
}

static void map_broadcast(emitter *e, const named_op *o, const char *canonical)
{
    int64_t dims[MAX_RANK];
    value_id shape = in(o, 1);
    int rank = is_known(e, shape) ? -1 : openvino_dims(e, out(o), dims);
    emit_2(e, canonical, in(o, 0), rank >= 0 ? emit_list(e, dims, rank) : emit_index_list(e, shape), out(o));
}

/* Repeats. The shorter list, repeats or dimensions, is extended by leading ones. */
static void map_tile(emitter *e, const named_op *o, const char *canonical)
{
    int64_t repeats[MAX_RANK], axes[MAX_RANK];
    int rank = named_declared(e, in(o, 0))->rank, count = emit_known_ints(e, in(o, 1), repeats, MAX_RANK);
    value_id x = in(o, 0), times = emit_index_list(e, in(o, 1));
    if (rank >= 0 && count >= 0 && count < rank) {
        memmove(repeats + rank - count, repeats, (size_t)count * sizeof *repeats);
        for (int i = 0; i < rank - count; i++)
            repeats[i] = 1;
        times = emit_list(e, repeats, rank);
    } else if (rank >= 0 && count > rank) {
        for (int i = 0; i < count - rank; i++)
            axes[i] = i;
        x = emit_unsqueeze(e, x, axes, count - rank, NO_VALUE);
    }
    emit_2(e, canonical, x, times, out(o));
}

/* Computes pads as the difference between the port's shape and the input's. */
static value_id declared_pads(emitter *e, const named_op *o)
{
    int64_t pads[2 * MAX_RANK] = {0};
    const value *x = named_declared(e, in(o, 0)), *y = named_declared(e, out(o));
    if (x->rank < 0 || x->rank != y->rank)
        return NO_VALUE;
    for (int i = 0; i < x->rank; i++)
        if (dim_known(x->dims[i]) && dim_known(y->dims[i]))
            pads[x->rank + i] = y->dims[i] - x->dims[i];
    return emit_list(e, pads, 2 * x->rank);
}

static void map_pad(emitter *e, const named_op *o, const char *canonical)
{
    str mode = named_text(o, "pad_mode", "constant");
    bool knows = is_known(e, in(o, 1)) && is_known(e, in(o, 2));
    value_id pads = !knows && is_settled(e, o) ? declared_pads(e, o) : NO_VALUE;
    if (pads == NO_VALUE) {
        const value_id both[2] = {emit_index_list(e, in(o, 1)), emit_index_list(e, in(o, 2))};
        node *joined = emit_op(e, "Concat", both, 2, NO_VALUE);
        emit_int(joined, "axis", 0);
        pads = joined->outputs[0];
    }
    node *n = emit_op(e, canonical, (const value_id[]){in(o, 0), pads, in(o, 3)}, 3, out(o));
    if (!str_is(mode, "constant"))
        emit_text(n, "mode", str_is(mode, "edge") ? STR("edge") : STR("reflect"));
}

static void map_one_hot(emitter *e, const named_op *o, const char *canonical)
{
    const value_id both[2] = {emit_reshaped(e, in(o, 3), (const int64_t[]){1}, 1, NO_VALUE),
                              emit_reshaped(e, in(o, 2), (const int64_t[]){1}, 1, NO_VALUE)};
    node *values = emit_op(e, "Concat", both, 2, NO_VALUE);
    emit_int(values, "axis", 0);
    node *n =
        emit_op(e, canonical, (const value_id[]){in(o, 0), emit_index(e, in(o, 1)), values->outputs[0]}, 3, out(o));
    emit_int(n, "axis", named_int(e, o, "axis", -1));
}

static void map_range(emitter *e, const named_op *o, const char *canonical)
{
    dtype type = openvino_type(named_text(o, "output_type", ""));
    value_id bounds[3];
    for (int i = 0; i < 3; i++) {
        bool differs = type != DT_UNKNOWN && named_declared(e, in(o, i))->dtype != type;
        bounds[i] = differs && in(o, i) != NO_VALUE ? emit_cast(e, in(o, i), type, NO_VALUE) : in(o, i);
    }
    emit_op(e, canonical, bounds, 3, out(o));
}

/* ONNX has 64-bit sizes, which are cast if the port declares 32 bits. */
static void map_shape(emitter *e, const named_op *o, const char *canonical)
{
    bool is_narrow = str_is(named_text(o, "output_type", "i64"), "i32");
    value_id shape = emit_1(e, canonical, in(o, 0), is_narrow ? NO_VALUE : out(o));
    if (is_narrow)
        emit_cast(e, shape, DT_INT32, out(o));
}

static void map_gather_elements(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){in(o, 0), in(o, 1)}, 2, out(o));
    emit_int(n, canonical[6] == 'N' ? "batch_dims" : "axis",
             named_int(e, o, canonical[6] == 'N' ? "batch_dims" : "axis", 0));
}

static void map_einsum(emitter *e, const named_op *o, const char *canonical)
{
    value_id *parts = ARENA_ARRAY(e->b->arena, value_id, (size_t)o->in_count + 1);
    for (int32_t i = 0; i < o->in_count; i++)
        parts[i] = in(o, i);
    emit_text(emit_op(e, canonical, parts, o->in_count, out(o)), "equation", named_text(o, "equation", ""));
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const openvino_row ROWS[] = {
    {"Abs", map_unary, "Abs"},
    {"Acos", map_unary, "Acos"},
    {"Acosh", map_unary, "Acosh"},
    {"Add", map_binary, "Add"},
    {"Asin", map_unary, "Asin"},
    {"Asinh", map_unary, "Asinh"},
    {"Assign", map_unary, "Identity"},
    {"Atan", map_unary, "Atan"},
    {"Atanh", map_unary, "Atanh"},
    {"BitwiseAnd", map_binary, "BitwiseAnd"},
    {"BitwiseNot", map_unary, "BitwiseNot"},
    {"BitwiseOr", map_binary, "BitwiseOr"},
    {"BitwiseXor", map_binary, "BitwiseXor"},
    {"Broadcast", map_broadcast, "Expand"},
    {"Ceiling", map_unary, "Ceil"},
    {"Clamp", map_clamp, NULL},
    {"Concat", map_concat, "Concat"},
    {"Convert", map_cast, NULL},
    {"ConvertLike", map_binary, "CastLike"},
    {"Cos", map_unary, "Cos"},
    {"Cosh", map_unary, "Cosh"},
    {"CumSum", map_cumsum, "CumSum"},
    {"Divide", map_binary, "Div"},
    {"Einsum", map_einsum, "Einsum"},
    {"Elu", map_alpha, "Elu"},
    {"Equal", map_binary, "Equal"},
    {"Erf", map_unary, "Erf"},
    {"Exp", map_unary, "Exp"},
    {"FakeQuantize", map_unary, "Identity"},
    {"Floor", map_unary, "Floor"},
    {"FloorMod", map_binary, "Mod"},
    {"Gather", map_gather, "Gather"},
    {"GatherElements", map_gather_elements, "GatherElements"},
    {"GatherND", map_gather_elements, "GatherND"},
    {"Gelu", map_gelu, "Gelu"},
    {"Greater", map_binary, "Greater"},
    {"GreaterEqual", map_binary, "GreaterOrEqual"},
    {"HSigmoid", map_unary, "HardSigmoid"},
    {"HSwish", map_unary, "HardSwish"},
    {"IsInf", map_unary, "IsInf"},
    {"IsNaN", map_unary, "IsNaN"},
    {"Less", map_binary, "Less"},
    {"LessEqual", map_binary, "LessOrEqual"},
    {"Log", map_unary, "Log"},
    {"LogSoftmax", map_axis, "LogSoftmax"},
    {"LogicalAnd", map_binary, "And"},
    {"LogicalNot", map_unary, "Not"},
    {"LogicalOr", map_binary, "Or"},
    {"LogicalXor", map_binary, "Xor"},
    {"Maximum", map_binary, "Max"},
    {"Minimum", map_binary, "Min"},
    {"Mish", map_unary, "Mish"},
    {"Mod", map_binary, "Mod"},
    {"Multiply", map_binary, "Mul"},
    {"Negative", map_unary, "Neg"},
    {"NonZero", map_unary, "NonZero"},
    {"NotEqual", map_not_equal, NULL},
    {"OneHot", map_one_hot, "OneHot"},
    {"Pad", map_pad, "Pad"},
    {"Power", map_binary, "Pow"},
    {"Range", map_range, "Range"},
    {"ReLU", map_unary, "Relu"},
    {"ReadValue", map_unary, "Identity"},
    {"ReduceL1", map_reduce, "ReduceL1"},
    {"ReduceL2", map_reduce, "ReduceL2"},
    {"ReduceLogicalAnd", map_reduce, "ReduceMin"},
    {"ReduceLogicalOr", map_reduce, "ReduceMax"},
    {"ReduceMax", map_reduce, "ReduceMax"},
    {"ReduceMean", map_reduce, "ReduceMean"},
    {"ReduceMin", map_reduce, "ReduceMin"},
    {"ReduceProd", map_reduce, "ReduceProd"},
    {"ReduceSum", map_reduce, "ReduceSum"},
    {"Relu", map_unary, "Relu"},
    {"Reshape", map_reshape, "Reshape"},
    {"Roll", map_same_shape, "Roll"},
    {"Round", map_unary, "Round"},
    {"ScatterElementsUpdate", map_scatter, "ScatterElements"},
    {"ScatterNDUpdate", map_scatter, "ScatterND"},
    {"Select", map_select, "Where"},
    {"Selu", map_unary, "Selu"},
    {"ShapeOf", map_shape, "Shape"},
    {"Sigmoid", map_unary, "Sigmoid"},
    {"Sign", map_unary, "Sign"},
    {"Sin", map_unary, "Sin"},
    {"Sinh", map_unary, "Sinh"},
    {"Slice", map_slice, "Slice"},
    {"SoftMax", map_axis, "Softmax"},
    {"SoftPlus", map_unary, "Softplus"},
    {"SoftSign", map_unary, "Softsign"},
    {"Softmax", map_axis, "Softmax"},
    {"Split", map_split, "Split"},
    {"Sqrt", map_unary, "Sqrt"},
    {"SquaredDifference", map_squared_difference, NULL},
    {"Squeeze", map_squeeze, "Squeeze"},
    {"StridedSlice", map_strided_slice, NULL},
    {"Subtract", map_binary, "Sub"},
    {"Swish", map_swish, NULL},
    {"Tan", map_unary, "Tan"},
    {"Tanh", map_unary, "Tanh"},
    {"Tile", map_tile, "Tile"},
    {"TopK", map_top_k, "TopK"},
    {"Transpose", map_transpose, NULL},
    {"Unsqueeze", map_squeeze, "Unsqueeze"},
    {"VariadicSplit", map_split, "Split"},
};

void openvino_map(emitter *e, const named_op *o, bool is_old)
{
    size_t count;
    const openvino_row *row = NULL, *rows = openvino_old_rows(&count);
    bool is_whole = o->type.len && o->in_count > 0 && in(o, 0) != NO_VALUE && o->out_count > 0 && out(o) != NO_VALUE;
    if (is_whole && is_old)
        row = named_search(rows, count, sizeof *rows, o->type);
    if (is_whole && !row)
        row = named_search(ROWS, sizeof ROWS / sizeof *ROWS, sizeof *ROWS, o->type);
    if (is_whole && !row) {
        rows = openvino_nn_rows(&count);
        row = named_search(rows, count, sizeof *rows, o->type);
    }
    if (row)
        row->map(e, o, row->canonical);
    else
        named_foreign(e, "openvino", o);
}
