/* coreml_ops.c: maps operators of CoreML programs (MIL). Arguments have names; settings are constant arguments and
 * are read like attributes. Operators without a row keep their name under the domain "coreml". */
#include "front/coreml/coreml.h"

typedef void (*mapper)(emitter *e, const named_op *o, const char *canonical);

static value_id x_of(const named_op *o)
{
    return named_in(o, "x");
}

static value_id out(const named_op *o)
{
    return named_out_at(o, 0);
}

/* ---- pointwise ------------------------------------------------------------------------------------------------- */

static void map_unary(emitter *e, const named_op *o, const char *canonical)
{
    emit_1(e, canonical, x_of(o), out(o));
}

static void map_binary(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, x_of(o), named_in(o, "y"), out(o));
}

static void map_not_equal(emitter *e, const named_op *o, const char *canonical)
{
    emit_1(e, "Not", emit_2(e, canonical, x_of(o), named_in(o, "y"), NO_VALUE), out(o));
}

static void map_floor_div(emitter *e, const named_op *o, const char *canonical)
{
    bool is_float = dtype_is_float(named_declared(e, x_of(o))->dtype);
    value_id q = emit_2(e, canonical, x_of(o), named_in(o, "y"), is_float ? NO_VALUE : out(o));
    if (is_float)
        emit_1(e, "Floor", q, out(o));
}

static void map_select(emitter *e, const named_op *o, const char *canonical)
{
    emit_op(e, canonical, (const value_id[]){named_in(o, "cond"), named_in(o, "a"), named_in(o, "b")}, 3, out(o));
}

static void map_silu(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_2(e, "Mul", x_of(o), emit_1(e, "Sigmoid", x_of(o), NO_VALUE), out(o));
}

static void map_square(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_2(e, "Mul", x_of(o), x_of(o), out(o));
}

static void map_rsqrt(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_1(e, "Reciprocal", emit_1(e, "Sqrt", x_of(o), NO_VALUE), out(o));
}

static void map_clip(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_clip(e, x_of(o), named_real(e, o, "alpha", 0), named_real(e, o, "beta", 0), out(o));
}

static void map_relu6(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_clip(e, x_of(o), 0, 6, out(o));
}

static void map_alpha(emitter *e, const named_op *o, const char *canonical)
{
    emit_real(emit_op(e, canonical, (const value_id[]){x_of(o)}, 1, out(o)), "alpha", named_real(e, o, "alpha", 0.01));
}

static void map_hard_sigmoid(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){x_of(o)}, 1, out(o));
    emit_real(n, "alpha", named_real(e, o, "alpha", 0.2));
    emit_real(n, "beta", named_real(e, o, "beta", 0.5));
}

static void map_gelu(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){x_of(o)}, 1, out(o));
    if (!str_is(named_text(o, "mode", "EXACT"), "EXACT"))
        emit_text(n, "approximate", STR("tanh"));
}

static void map_prelu(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_prelu(e, x_of(o), named_in(o, "alpha"), out(o));
}

/* MIL does not distinguish 32-bit and 64-bit integers, so the declared type of the output decides. */
static void map_cast(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_cast(e, x_of(o), named_declared(e, out(o))->dtype, out(o));
}

/* ---- reductions ------------------------------------------------------------------------------------------------ */

static void map_reduce(emitter *e, const named_op *o, const char *canonical)
{
    value_id axes = named_in(o, "axes");
    bool keeps = named_true(e, o, "keep_dims");
    if (axes != NO_VALUE)
        emit_reduce(e, canonical, x_of(o), axes, keeps, out(o));
    else
        emit_int(emit_op(e, canonical, (const value_id[]){x_of(o)}, 1, out(o)), "keepdims", keeps);
}

static void map_axis(emitter *e, const named_op *o, const char *canonical)
{
    emit_int(emit_op(e, canonical, (const value_id[]){x_of(o)}, 1, out(o)), "axis", named_int(e, o, "axis", -1));
}

static void map_arg(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){x_of(o)}, 1, out(o));
    emit_int(n, "axis", named_int(e, o, "axis", -1));
    emit_int(n, "keepdims", named_true(e, o, "keep_dims"));
}

static void map_cumsum(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, x_of(o), emit_number(e, named_int(e, o, "axis", 0)), out(o));
}

static void map_top_k(emitter *e, const named_op *o, const char *canonical)
{
    value_id k = named_in(o, "k"), outputs[2] = {out(o), named_out_at(o, 1)};
    const value_id inputs[2] = {x_of(o), k == NO_VALUE ? emit_list(e, (const int64_t[]){1}, 1) : emit_index_list(e, k)};
    node *n = emit_many(e, canonical, inputs, 2, outputs, 2);
    emit_int(n, "axis", named_int(e, o, "axis", -1));
    emit_int(n, "largest", !named_true(e, o, "ascending"));
}

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

static void map_reshape(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, x_of(o), named_index_list(e, o, "shape"), out(o));
}

static void map_transpose(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    int64_t perm[MAX_RANK];
    int count = named_ints(e, o, "perm", perm, MAX_RANK), rank = named_declared(e, x_of(o))->rank;
    for (int i = 0; i < count; i++)
        perm[i] += perm[i] < 0 && rank > 0 ? rank : 0;
    if (count >= 0)
        emit_transpose(e, x_of(o), perm, count, out(o));
    else
        named_foreign(e, "coreml", o);
}

static void map_axes(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, x_of(o), named_index_list(e, o, "axes"), out(o));
}

static void map_concat(emitter *e, const named_op *o, const char *canonical)
{
    const named_slot *x = named_list(o, "values");
    emit_int(emit_op(e, canonical, x->ids, x->count, out(o)), "axis", named_int(e, o, "axis", 0));
}

static void map_stack(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    const named_slot *x = named_list(o, "values");
    if (x->count)
        emit_pack(e, x->ids, x->count, named_int(e, o, "axis", 0), out(o));
}

static void map_split(emitter *e, const named_op *o, const char *canonical)
{
    value_id sizes = named_index_list(e, o, "split_sizes");
    value_id *outputs = ARENA_ARRAY(e->b->arena, value_id, (size_t)o->out_count + 1);
    for (int32_t i = 0; i < o->out_count; i++)
        outputs[i] = named_out_at(o, i);
    node *n = emit_many(e, canonical, (const value_id[]){x_of(o), sizes}, 2, outputs, o->out_count);
    emit_int(n, "axis", named_int(e, o, "axis", 0));
    if (sizes == NO_VALUE)
        emit_int(n, "num_outputs", o->out_count);
}

static int64_t mask_of(emitter *e, const named_op *o, const char *name)
{
    int64_t flags[MAX_RANK];
    return emit_mask(flags, named_ints(e, o, name, flags, MAX_RANK));
}

static void map_slice_by_index(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    int64_t ones[MAX_RANK];
    int rank = named_declared(e, x_of(o))->rank;
    value_id stride = named_in(o, "stride");
    if (stride == NO_VALUE && rank >= 0) {
        for (int i = 0; i < rank; i++)
            ones[i] = 1;
        stride = emit_list(e, ones, rank);
    }
    emit_slice s = {.begin = named_index_list(e, o, "begin"),
                    .end = named_index_list(e, o, "end"),
                    .strides = stride,
                    .begin_mask = mask_of(e, o, "begin_mask"),
                    .end_mask = mask_of(e, o, "end_mask"),
                    .shrink_axis_mask = mask_of(e, o, "squeeze_mask"),
                    .rank = rank};
    if (stride == NO_VALUE || s.begin == NO_VALUE || s.end == NO_VALUE || !emit_constant_of(e, stride))
        named_foreign(e, "coreml", o);
    else
        emit_strided_slice(e, x_of(o), &s, out(o));
}

static void map_slice_by_size(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_begin_size(e, x_of(o), named_index_list(e, o, "begin"), named_index_list(e, o, "size"), out(o));
}

static void map_gather(emitter *e, const named_op *o, const char *canonical)
{
    emit_int(emit_op(e, canonical, (const value_id[]){x_of(o), named_in(o, "indices")}, 2, out(o)), "axis",
             named_int(e, o, "axis", 0));
}

static void map_gather_nd(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, x_of(o), emit_index(e, named_in(o, "indices")), out(o));
}

static void map_scatter_nd(emitter *e, const named_op *o, const char *canonical)
{
    const value_id inputs[3] = {named_in(o, "data"), emit_index(e, named_in(o, "indices")), named_in(o, "updates")};
    emit_op(e, canonical, inputs, 3, out(o));
}

static void map_tile(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, x_of(o), named_index_list(e, o, "reps"), out(o));
}

/* Reads (before, after) pairs of the last axes. */
static void map_pad(emitter *e, const named_op *o, const char *canonical)
{
    int64_t pairs[2 * MAX_RANK], pads[2 * MAX_RANK], axes[MAX_RANK];
    int count = named_ints(e, o, "pad", pairs, 2 * MAX_RANK);
    str mode = named_text(o, "mode", "constant");
    if (count < 0 || count % 2) {
        named_foreign(e, "coreml", o);
        return;
    }
    for (int i = 0; i < count / 2; i++) {
        pads[i] = pairs[(size_t)2 * (size_t)i];
        pads[count / 2 + i] = pairs[2 * i + 1];
        axes[i] = i - count / 2;
    }
    const value_id inputs[4] = {x_of(o), emit_list(e, pads, count), NO_VALUE, emit_list(e, axes, count / 2)};
    node *n = emit_op(e, canonical, inputs, 4, out(o));
    if (!str_is(mode, "constant"))
        emit_text(n, "mode", str_is(mode, "replicate") ? STR("edge") : STR("reflect"));
}

static void map_flatten(emitter *e, const named_op *o, const char *canonical)
{
    emit_int(emit_op(e, canonical, (const value_id[]){x_of(o)}, 1, out(o)), "axis", named_int(e, o, "axis", 1));
}

/* Casts, because sizes are 32-bit in MIL. */
static void map_shape(emitter *e, const named_op *o, const char *canonical)
{
    emit_cast(e, emit_1(e, canonical, x_of(o), NO_VALUE), DT_INT32, out(o));
}

static void map_fill(emitter *e, const named_op *o, const char *canonical)
{
    value_id number = named_in(o, "value");
    if (number == NO_VALUE)
        number = emit_scalar(e, DT_FLOAT32, 0);
    emit_2(e, canonical, number, named_index_list(e, o, "shape"), out(o));
}

static void map_fill_like(emitter *e, const named_op *o, const char *canonical)
{
    value_id shape = emit_1(e, "Shape", named_in(o, "ref_tensor"), NO_VALUE), number = named_in(o, "value");
    emit_2(e, canonical, number == NO_VALUE ? emit_scalar(e, DT_FLOAT32, 0) : number, shape, out(o));
}

static void map_range(emitter *e, const named_op *o, const char *canonical)
{
    emit_op(e, canonical, (const value_id[]){named_in(o, "start"), named_in(o, "end"), named_in(o, "step")}, 3, out(o));
}

static void map_reverse(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    value_id axes = named_in(o, "axes");
    if (axes == NO_VALUE || !emit_reverse(e, x_of(o), axes, out(o)))
        named_foreign(e, "coreml", o);
}

static void map_one_hot(emitter *e, const named_op *o, const char *canonical)
{
    value_id depth = named_in(o, "one_hot_vector_size");
    const value_id inputs[3] = {named_in(o, "indices"), depth == NO_VALUE ? emit_number(e, 1) : emit_index(e, depth),
                                emit_reals(e, (const float[]){0, 1}, 2)};
    emit_int(emit_op(e, canonical, inputs, 3, out(o)), "axis", named_int(e, o, "axis", -1));
}

/* ---- lists of tensors: elements along the first axis ------------------------------------------------------------- */

static void map_make_list(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    const named_slot *shape = named_list(o, "elem_shape");
    value_id *parts = ARENA_ARRAY(e->b->arena, value_id, (size_t)shape->count + 1);
    parts[0] = named_index_list(e, o, "init_length");
    if (parts[0] == NO_VALUE)
        parts[0] = emit_list(e, (const int64_t[]){1}, 1);
    for (int32_t i = 0; i < shape->count; i++)
        /* A string names an open dimension, which is the batch. */
        parts[1 + i] = named_declared(e, shape->ids[i])->dtype == DT_STRING ? emit_list(e, (const int64_t[]){1}, 1)
                                                                            : emit_index_list(e, shape->ids[i]);
    node *n = emit_op(e, "Concat", parts, shape->count + 1, NO_VALUE);
    emit_int(n, "axis", 0);
    emit_2(e, "Expand", emit_scalar(e, DT_FLOAT32, 0), n->outputs[0], out(o));
}

static void map_list_read(emitter *e, const named_op *o, const char *canonical)
{
    value_id index = named_in(o, "index");
    emit_2(e, canonical, named_in(o, "ls"), index == NO_VALUE ? named_in(o, "indices") : index, out(o));
}

static void map_list_write(emitter *e, const named_op *o, const char *canonical)
{
    value_id index = emit_reshaped(e, emit_index(e, named_in(o, "index")), (const int64_t[]){1, 1}, 2, NO_VALUE);
    value_id row = emit_unsqueeze(e, named_in(o, "value"), (const int64_t[]){0}, 1, NO_VALUE);
    emit_op(e, canonical, (const value_id[]){named_in(o, "ls"), index, row}, 3, out(o));
}

/* Sets all elements of a list at once. */
static void map_list_scatter(emitter *e, const named_op *o, const char *canonical)
{
    emit_1(e, canonical, named_in(o, "value"), out(o));
}

static void map_list_length(emitter *e, const named_op *o, const char *canonical)
{
    value_id shape = emit_1(e, "Shape", named_in(o, "ls"), NO_VALUE);
    emit_2(e, canonical, shape, emit_number(e, 0), out(o));
}

/* ---- layers ---------------------------------------------------------------------------------------------------- */

static void read_sizes(emitter *e, const named_op *o, const char *name, int64_t *to, int axes)
{
    int64_t given[3];
    int count = named_ints(e, o, name, given, 3);
    for (int i = 0; i < axes; i++)
        to[i] = i < count && given[i] > 0 ? given[i] : 1;
}

static emit_window window_of(emitter *e, const named_op *o, int axes)
{
    int64_t pairs[6];
    emit_window w = {.axes = axes, .group = 1, .padding = EMIT_VALID, .channels_first = true};
    str type = named_text(o, "pad_type", "valid");
    int count = named_ints(e, o, "pad", pairs, 6);
    read_sizes(e, o, "strides", w.strides, axes);
    read_sizes(e, o, "dilations", w.dilations, axes);
    if (str_starts(type, "same"))
        w.padding = EMIT_SAME;
    if (str_is(type, "custom") && count == 2 * axes) {
        w.padding = EMIT_PADS;
        for (int i = 0; i < axes; i++) {
            w.pads[i] = pairs[(size_t)2 * (size_t)i] > 0 ? pairs[(size_t)2 * (size_t)i] : 0;
            w.pads[axes + i] = pairs[2 * i + 1] > 0 ? pairs[2 * i + 1] : 0;
        }
    }
    return w;
}

static void map_conv(emitter *e, const named_op *o, const char *canonical)
{
    value_id weight = named_in(o, "weight");
    int rank = named_declared(e, weight)->rank, axes = rank >= 3 && rank <= 5 ? rank - 2 : 0;
    int64_t shape[5];
    emit_window w = window_of(e, o, axes);
    w.group = named_int(e, o, "groups", 1);
    if (axes == 0) {
        named_foreign(e, "coreml", o);
        return;
    }
    node *n = emit_conv(e, canonical, x_of(o), weight, named_in(o, "bias"), &w, out(o));
    if (canonical[4] == 'T' && named_ints(e, o, "output_shape", shape, 5) == rank)
        emit_ints(e, n, "output_shape", shape + 2, axes);
}

static void map_pool(emitter *e, const named_op *o, const char *canonical)
{
    int rank = named_declared(e, x_of(o))->rank, axes = rank >= 3 && rank <= 5 ? rank - 2 : 0;
    emit_window w = window_of(e, o, axes);
    read_sizes(e, o, "kernel_sizes", w.kernel, axes);
    if (axes == 0) {
        named_foreign(e, "coreml", o);
        return;
    }
    node *n = emit_pool(e, canonical, x_of(o), &w, out(o));
    if (named_true(e, o, "ceil_mode"))
        emit_int(n, "ceil_mode", 1);
    if (canonical[0] == 'A' && !named_true(e, o, "exclude_padding_from_average"))
        emit_int(n, "count_include_pad", 1);
}

static void map_linear(emitter *e, const named_op *o, const char *canonical)
{
    value_id bias = named_in(o, "bias"), turned = emit_turned(e, named_in(o, "weight"), true);
    value_id y = emit_2(e, canonical, x_of(o), turned, bias == NO_VALUE ? out(o) : NO_VALUE);
    if (bias != NO_VALUE)
        emit_2(e, "Add", y, bias, out(o));
}

static void map_matmul(emitter *e, const named_op *o, const char *canonical)
{
    value_id a = emit_turned(e, x_of(o), named_true(e, o, "transpose_x"));
    emit_2(e, canonical, a, emit_turned(e, named_in(o, "y"), named_true(e, o, "transpose_y")), out(o));
}

static void map_einsum(emitter *e, const named_op *o, const char *canonical)
{
    const named_slot *x = named_list(o, "values");
    emit_text(emit_op(e, canonical, x->ids, x->count, out(o)), "equation", named_text(o, "equation", ""));
}

static value_id or_number(emitter *e, value_id v, double number)
{
    return v == NO_VALUE ? emit_scalar(e, DT_FLOAT32, number) : v;
}

static void map_norm(emitter *e, const named_op *o, const char *canonical)
{
    bool is_batch = canonical[0] == 'B';
    const value_id inputs[5] = {x_of(o), or_number(e, named_in(o, "gamma"), 1), or_number(e, named_in(o, "beta"), 0),
                                is_batch ? named_in(o, "mean") : NO_VALUE,
                                is_batch ? named_in(o, "variance") : NO_VALUE};
    emit_real(emit_op(e, canonical, inputs, 5, out(o)), "epsilon", named_real(e, o, "epsilon", 1e-5));
}

static void map_layer_norm(emitter *e, const named_op *o, const char *canonical)
{
    int64_t axes[MAX_RANK], first = -1;
    int count = named_ints(e, o, "axes", axes, MAX_RANK), rank = named_declared(e, x_of(o))->rank;
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 && rank > 0 ? axes[i] + rank : axes[i];
        first = first < 0 || axis < first ? axis : first;
    }
    const value_id inputs[3] = {x_of(o), or_number(e, named_in(o, "gamma"), 1), named_in(o, "beta")};
    node *n = emit_op(e, canonical, inputs, 3, out(o));
    emit_int(n, "axis", first);
    emit_real(n, "epsilon", named_real(e, o, "epsilon", 1e-5));
}

static void map_l2_norm(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){x_of(o)}, 1, out(o));
    emit_int(n, "axis", -1);
    emit_int(n, "p", 2);
}

static void map_lrn(emitter *e, const named_op *o, const char *canonical)
{
    emit_int(emit_op(e, canonical, (const value_id[]){x_of(o)}, 1, out(o)), "size", named_int(e, o, "size", 1));
}

static void map_blocks(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){x_of(o)}, 1, out(o));
    bool is_pixel = str_is(o->type, "pixel_shuffle");
    emit_int(n, "blocksize", named_int(e, o, is_pixel ? "upscale_factor" : "block_size", 1));
    if (is_pixel)
        emit_text(n, "mode", STR("CRD"));
}

/* Resizes by scales or to a given size. */
static void map_resize(emitter *e, const named_op *o, const char *mode)
{
    double scales[2] = {named_real(e, o, "scale_factor_height", 0), named_real(e, o, "scale_factor_width", 0)};
    int64_t sizes[2] = {named_int(e, o, "target_size_height", 0), named_int(e, o, "target_size_width", 0)};
    bool by_size = sizes[0] > 0 && sizes[1] > 0;
    if (!by_size && !(scales[0] > 0 && scales[1] > 0)) {
        named_foreign(e, "coreml", o);
        return;
    }
    const float factors[2] = {(float)scales[0], (float)scales[1]};
    const value_id inputs[4] = {x_of(o), NO_VALUE, by_size ? NO_VALUE : emit_reals(e, factors, 2),
                                by_size ? emit_list(e, sizes, 2) : NO_VALUE};
    node *n = emit_op(e, "Resize", inputs, 4, out(o));
    emit_text(n, "mode", str_of(mode));
    emit_ints(e, n, "axes", (const int64_t[]){-2, -1}, 2);
}

static void map_attention(emitter *e, const named_op *o, const char *canonical)
{
    const value_id inputs[4] = {named_in(o, "query"), named_in(o, "key"), named_in(o, "value"),
                                named_in(o, "attn_mask")};
    if (named_declared(e, inputs[0])->rank == 4)
        emit_op(e, canonical, inputs, 4, out(o));
    else
        named_foreign(e, "coreml", o);
}

/* (batch, D·H) ↔ (D, batch, H) */
static value_id state_in(emitter *e, value_id v, int directions)
{
    if (v == NO_VALUE)
        return v;
    if (emit_constant_of(e, v)) /* a constant is the initial state, not a parameter */
        build_at(e->b, v)->is_constant_node = true;
    if (directions == 1)
        return emit_unsqueeze(e, v, (const int64_t[]){0}, 1, NO_VALUE);
    value_id split = emit_reshaped(e, v, (const int64_t[]){0, directions, -1}, 3, NO_VALUE);
    return emit_transpose(e, split, (const int64_t[]){1, 0, 2}, 3, NO_VALUE);
}

static void state_out(emitter *e, value_id v, int directions, value_id to)
{
    if (v == NO_VALUE || to == NO_VALUE)
        return;
    if (directions == 1)
        emit_squeeze(e, v, (const int64_t[]){0}, 1, to);
    else
        emit_reshaped(e, emit_transpose(e, v, (const int64_t[]){1, 0, 2}, 3, NO_VALUE), (const int64_t[]){0, -1}, 2,
                      to);
}

/* x is (time, batch, …); each direction has weights (gates·H, …) and one bias. */
static void map_recurrent(emitter *e, const named_op *o, const char *canonical)
{
    bool is_lstm = canonical[0] == 'L';
    str direction = named_text(o, "direction", "forward");
    emit_recurrent r = {.op = canonical, .time_major = true};
    r.directions = str_is(direction, "bidirectional") ? 2 : 1;
    r.go_backwards = str_is(direction, "reverse");
    r.last_only = !named_true(e, o, "output_sequence");
    r.w = emit_joined(e, named_in(o, "weight_ih"), r.directions, 2);
    r.r = emit_joined(e, named_in(o, "weight_hh"), r.directions, 2);
    value_id bias = emit_joined(e, named_in(o, "bias"), r.directions, 1);
    const value *recurrence = named_declared(e, named_in(o, "weight_hh"));
    if (r.w == NO_VALUE || r.r == NO_VALUE || recurrence->rank != 2) {
        named_foreign(e, "coreml", o);
        return;
    }
    r.hidden = recurrence->dims[1];
    if (bias != NO_VALUE)
        r.b = emit_gate_bias(e, bias, recurrence->dims[0], r.directions);
    else
        r.b = NO_VALUE;
    value_id initial[2] = {state_in(e, named_in(o, "initial_h"), r.directions),
                           state_in(e, named_in(o, "initial_c"), r.directions)};
    value_id finals[2] = {emit_temp(e), is_lstm ? emit_temp(e) : NO_VALUE};
    value_id y = r.last_only ? emit_temp(e) : out(o);
    emit_recurrent_layer(e, x_of(o), &r, initial, y, finals);
    if (r.last_only)
        emit_unsqueeze(e, y, (const int64_t[]){0}, 1, out(o));
    for (int i = 0; i < 2; i++)
        state_out(e, finals[i], r.directions, named_out_at(o, 1 + i));
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const struct row {
    const char *name;
    mapper map;
    const char *canonical;
} ROWS[] = {
    {"abs", map_unary, "Abs"},
    {"acos", map_unary, "Acos"},
    {"add", map_binary, "Add"},
    {"asin", map_unary, "Asin"},
    {"atan", map_unary, "Atan"},
    {"atanh", map_unary, "Atanh"},
    {"avg_pool", map_pool, "AveragePool"},
    {"batch_norm", map_norm, "BatchNormalization"},
    {"cast", map_cast, NULL},
    {"ceil", map_unary, "Ceil"},
    {"clip", map_clip, NULL},
    {"concat", map_concat, "Concat"},
    {"conv", map_conv, "Conv"},
    {"conv_transpose", map_conv, "ConvTranspose"},
    {"cos", map_unary, "Cos"},
    {"cosh", map_unary, "Cosh"},
    {"cumsum", map_cumsum, "CumSum"},
    {"depth_to_space", map_blocks, "DepthToSpace"},
    {"einsum", map_einsum, "Einsum"},
    {"elu", map_alpha, "Elu"},
    {"equal", map_binary, "Equal"},
    {"erf", map_unary, "Erf"},
    {"exp", map_unary, "Exp"},
    {"exp2", map_unary, "Exp"},
    {"expand_dims", map_axes, "Unsqueeze"},
    {"fill", map_fill, "Expand"},
    {"fill_like", map_fill_like, "Expand"},
    {"flatten2d", map_flatten, "Flatten"},
    {"floor", map_unary, "Floor"},
    {"floor_div", map_floor_div, "Div"},
    {"gather", map_gather, "Gather"},
    {"gather_along_axis", map_gather, "GatherElements"},
    {"gather_nd", map_gather_nd, "GatherND"},
    {"gelu", map_gelu, "Gelu"},
    {"greater", map_binary, "Greater"},
    {"greater_equal", map_binary, "GreaterOrEqual"},
    {"gru", map_recurrent, "GRU"},
    {"identity", map_unary, "Identity"},
    {"instance_norm", map_norm, "InstanceNormalization"},
    {"inverse", map_unary, "Reciprocal"},
    {"l2_norm", map_l2_norm, "LpNormalization"},
    {"l2_pool", map_pool, "LpPool"},
    {"layer_norm", map_layer_norm, "LayerNormalization"},
    {"leaky_relu", map_alpha, "LeakyRelu"},
    {"less", map_binary, "Less"},
    {"less_equal", map_binary, "LessOrEqual"},
    {"linear", map_linear, "MatMul"},
    {"list_gather", map_list_read, "Gather"},
    {"list_length", map_list_length, "Gather"},
    {"list_read", map_list_read, "Gather"},
    {"list_scatter", map_list_scatter, "Identity"},
    {"list_write", map_list_write, "ScatterND"},
    {"local_response_norm", map_lrn, "LRN"},
    {"log", map_unary, "Log"},
    {"logical_and", map_binary, "And"},
    {"logical_not", map_unary, "Not"},
    {"logical_or", map_binary, "Or"},
    {"logical_xor", map_binary, "Xor"},
    {"lstm", map_recurrent, "LSTM"},
    {"make_list", map_make_list, NULL},
    {"matmul", map_matmul, "MatMul"},
    {"max_pool", map_pool, "MaxPool"},
    {"maximum", map_binary, "Max"},
    {"minimum", map_binary, "Min"},
    {"mod", map_binary, "Mod"},
    {"mul", map_binary, "Mul"},
    {"non_zero", map_unary, "NonZero"},
    {"not_equal", map_not_equal, "Equal"},
    {"one_hot", map_one_hot, "OneHot"},
    {"pad", map_pad, "Pad"},
    {"pixel_shuffle", map_blocks, "DepthToSpace"},
    {"pow", map_binary, "Pow"},
    {"prelu", map_prelu, NULL},
    {"range_1d", map_range, "Range"},
    {"read_state", map_unary, "Identity"},
    {"real_div", map_binary, "Div"},
    {"reduce_argmax", map_arg, "ArgMax"},
    {"reduce_argmin", map_arg, "ArgMin"},
    {"reduce_l1_norm", map_reduce, "ReduceL1"},
    {"reduce_l2_norm", map_reduce, "ReduceL2"},
    {"reduce_log_sum", map_reduce, "ReduceLogSum"},
    {"reduce_log_sum_exp", map_reduce, "ReduceLogSumExp"},
    {"reduce_max", map_reduce, "ReduceMax"},
    {"reduce_mean", map_reduce, "ReduceMean"},
    {"reduce_min", map_reduce, "ReduceMin"},
    {"reduce_prod", map_reduce, "ReduceProd"},
    {"reduce_sum", map_reduce, "ReduceSum"},
    {"reduce_sum_square", map_reduce, "ReduceSumSquare"},
    {"relu", map_unary, "Relu"},
    {"relu6", map_relu6, NULL},
    {"reshape", map_reshape, "Reshape"},
    {"resize_bilinear", map_resize, "linear"},
    {"resize_nearest_neighbor", map_resize, "nearest"},
    {"reverse", map_reverse, NULL},
    {"round", map_unary, "Round"},
    {"rsqrt", map_rsqrt, NULL},
    {"scaled_dot_product_attention", map_attention, "Attention"},
    {"scaled_tanh", map_unary, "Tanh"},
    {"scatter_nd", map_scatter_nd, "ScatterND"},
    {"select", map_select, "Where"},
    {"shape", map_shape, "Shape"},
    {"sigmoid", map_unary, "Sigmoid"},
    {"sigmoid_hard", map_hard_sigmoid, "HardSigmoid"},
    {"sign", map_unary, "Sign"},
    {"silu", map_silu, NULL},
    {"sin", map_unary, "Sin"},
    {"sinh", map_unary, "Sinh"},
    {"slice_by_index", map_slice_by_index, NULL},
    {"slice_by_size", map_slice_by_size, NULL},
    {"softmax", map_axis, "Softmax"},
    {"softplus", map_unary, "Softplus"},
    {"softplus_parametric", map_unary, "Softplus"},
    {"softsign", map_unary, "Softsign"},
    {"space_to_depth", map_blocks, "SpaceToDepth"},
    {"split", map_split, "Split"},
    {"sqrt", map_unary, "Sqrt"},
    {"square", map_square, NULL},
    {"squeeze", map_axes, "Squeeze"},
    {"stack", map_stack, NULL},
    {"sub", map_binary, "Sub"},
    {"tan", map_unary, "Tan"},
    {"tanh", map_unary, "Tanh"},
    {"thresholded_relu", map_alpha, "ThresholdedRelu"},
    {"tile", map_tile, "Tile"},
    {"topk", map_top_k, "TopK"},
    {"transpose", map_transpose, NULL},
    {"upsample_bilinear", map_resize, "linear"},
    {"upsample_nearest_neighbor", map_resize, "nearest"},
};

void coreml_map(emitter *e, const named_op *o)
{
    const struct row *row = named_search(ROWS, sizeof ROWS / sizeof *ROWS, sizeof *ROWS, o->type);
    bool is_whole = o->out_count > 0 && out(o) != NO_VALUE;
    for (int32_t i = 0; is_whole && i < o->in_count; i++)
        is_whole = o->in[i].count > 0 && o->in[i].ids[0] != NO_VALUE;
    if (row && is_whole)
        row->map(e, o, row->canonical);
    else
        named_foreign(e, "coreml", o);
}
