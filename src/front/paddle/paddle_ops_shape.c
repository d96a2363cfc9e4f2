/* paddle_ops_shape.c: maps PaddlePaddle operators that move, select and create tensors. The rest is in paddle_ops.c. */
#include "front/paddle/paddle.h"

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

/* Returns sizes as a value, from the operand or attribute that this version has. */
static value_id sizes_of(emitter *e, const named_op *o, const char *const *names, int count)
{
    value_id v = NO_VALUE;
    for (int i = 0; v == NO_VALUE && i < count; i++)
        v = named_index_list(e, o, names[i]);
    return v;
}

static void map_reshape(emitter *e, const named_op *o, const char *canonical)
{
    value_id shape = sizes_of(e, o, (const char *const[]){"ShapeTensor", "Shape", "shape"}, 3);
    emit_2(e, canonical, paddle_x(o), shape, paddle_out(o));
}

static void map_flatten(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    int64_t dims[MAX_RANK];
    int rank = named_declared(e, paddle_x(o))->rank;
    int64_t from = named_int(e, o, "start_axis", 1), to = named_int(e, o, "stop_axis", 1);
    from += from < 0 && rank > 0 ? rank : 0;
    to += to < 0 && rank > 0 ? rank : 0;
    if (rank == 0) {
        emit_reshaped(e, paddle_x(o), (const int64_t[]){1}, 1, paddle_out(o));
        return;
    }
    if (rank < 0 || from < 0 || to < from || to >= rank) {
        named_foreign(e, "paddle", o);
        return;
    }
    value_id parts[3], shape = emit_1(e, "Shape", paddle_x(o), NO_VALUE);
    int count = 0, merged = (int)from;
    for (int i = 0; i < rank; i++)
        dims[i] = i < merged ? 0 : -1;
    if (to == rank - 1) { /* 0 keeps a dimension, and no other comes after it */
        emit_reshaped(e, paddle_x(o), dims, merged + 1, paddle_out(o));
        return;
    }
    if (merged > 0)
        parts[count++] = emit_list(e, dims, merged);
    parts[count++] = emit_list(e, (const int64_t[]){-1}, 1);
    value_id bounds[3] = {shape, emit_list(e, (const int64_t[]){to + 1}, 1), emit_list(e, (const int64_t[]){rank}, 1)};
    parts[count++] = emit_op(e, "Slice", bounds, 3, NO_VALUE)->outputs[0];
    node *whole = emit_op(e, "Concat", parts, count, NO_VALUE);
    emit_int(whole, "axis", 0);
    emit_2(e, "Reshape", paddle_x(o), whole->outputs[0], paddle_out(o));
}

static void map_flatten_at(emitter *e, const named_op *o, const char *canonical)
{
    emit_int(emit_op(e, canonical, (const value_id[]){paddle_x(o)}, 1, paddle_out(o)), "axis",
             named_int(e, o, "axis", 1));
}

/* Paddle ignores axes whose size is not 1, but ONNX refuses them; removes those that are known. */
static void map_squeeze(emitter *e, const named_op *o, const char *canonical)
{
    int64_t axes[MAX_RANK];
    int count = named_ints(e, o, "axes", axes, MAX_RANK), kept = 0;
    const value *x = named_declared(e, paddle_x(o));
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + x->rank : axes[i];
        bool is_other = axis >= 0 && axis < x->rank && dim_known(x->dims[axis]) && x->dims[axis] != 1;
        if (!is_other)
            axes[kept++] = axes[i];
    }
    if (count > 0 && kept == 0)
        emit_1(e, "Identity", paddle_x(o), paddle_out(o));
    else
        emit_2(e, canonical, paddle_x(o), count > 0 ? emit_list(e, axes, kept) : NO_VALUE, paddle_out(o));
}

static void map_unsqueeze(emitter *e, const named_op *o, const char *canonical)
{
    value_id axes = sizes_of(e, o, (const char *const[]){"AxesTensorList", "AxesTensor", "axes"}, 3);
    emit_2(e, canonical, paddle_x(o), axes, paddle_out(o));
}

static void map_transpose(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    int64_t perm[MAX_RANK];
    int count = named_ints(e, o, named_find(o, "perm") ? "perm" : "axis", perm, MAX_RANK);
    if (count < 0)
        named_foreign(e, "paddle", o);
    else
        emit_transpose(e, paddle_x(o), perm, count, paddle_out(o));
}

static int64_t axis_of(emitter *e, const named_op *o, int64_t otherwise)
{
    return named_list(o, "AxisTensor")->count ? named_int(e, o, "AxisTensor", otherwise)
                                              : named_int(e, o, "axis", otherwise);
}

static void map_concat(emitter *e, const named_op *o, const char *canonical)
{
    const named_slot *x = named_list(o, "X");
    emit_int(emit_op(e, canonical, x->ids, x->count, paddle_out(o)), "axis", axis_of(e, o, 0));
}

static void map_stack(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    const named_slot *x = named_list(o, "X");
    if (x->count)
        emit_pack(e, x->ids, x->count, axis_of(e, o, 0), paddle_out(o));
}

static void map_unstack(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    const named_slot *out = paddle_outs(o);
    if (out->count)
        emit_unpack(e, paddle_x(o), axis_of(e, o, 0), out->ids, out->count);
}

static void map_split(emitter *e, const named_op *o, const char *canonical)
{
    const named_slot *out = paddle_outs(o);
    int64_t sections[MAX_RANK];
    int count = named_ints(e, o, "sections", sections, MAX_RANK), open = -1;
    int64_t axis = axis_of(e, o, 0), rest = 0;
    const value *x = named_declared(e, paddle_x(o));
    int64_t place = axis < 0 ? axis + x->rank : axis;
    for (int i = 0; i < count; i++) {
        if (sections[i] < 0)
            open = i;
        else if (__builtin_add_overflow(rest, sections[i], &rest))
            open = count;
    }
    bool is_known = place >= 0 && place < x->rank && dim_known(x->dims[place]) && x->dims[place] >= rest;
    if (open >= 0 && open < count && is_known) /* one size may be -1: the rest */
        sections[open] = x->dims[place] - rest;
    bool given = count == out->count && count > 0 && (open < 0 || is_known);
    node *n = emit_many(e, canonical, (const value_id[]){paddle_x(o), given ? emit_list(e, sections, count) : NO_VALUE},
                        2, out->ids, out->count);
    emit_int(n, "axis", axis);
    if (!given)
        emit_int(n, "num_outputs", out->count);
}

static void map_slice(emitter *e, const named_op *o, const char *canonical)
{
    int64_t axes[MAX_RANK], dropped[MAX_RANK];
    int count = named_ints(e, o, "axes", axes, MAX_RANK);
    int dropped_count = named_ints(e, o, "decrease_axis", dropped, MAX_RANK);
    value_id starts = sizes_of(e, o, (const char *const[]){"StartsTensorList", "StartsTensor", "starts"}, 3);
    value_id ends = sizes_of(e, o, (const char *const[]){"EndsTensorList", "EndsTensor", "ends"}, 3);
    value_id steps = sizes_of(e, o, (const char *const[]){"StridesTensorList", "StridesTensor", "strides"}, 3);
    if (count < 0 || starts == NO_VALUE || ends == NO_VALUE) {
        named_foreign(e, "paddle", o);
        return;
    }
    /* Before Paddle 2.5 tensors had at least one dimension, so the last one stays. */
    if (dropped_count > 0 && named_declared(e, paddle_x(o))->rank == dropped_count &&
        named_declared(e, paddle_out(o))->rank == 1)
        dropped_count--;
    bool drops = dropped_count > 0;
    value_id inputs[5] = {paddle_x(o), starts, ends, emit_list(e, axes, count), steps};
    value_id y = emit_op(e, canonical, inputs, 5, drops ? NO_VALUE : paddle_out(o))->outputs[0];
    if (drops)
        emit_squeeze(e, y, dropped, dropped_count, paddle_out(o));
}

/* -1 keeps a dimension, as 1 does in ONNX. Sizes in several one-number tensors are examined one by one. */
static value_id expanded_sizes(emitter *e, const named_op *o, const char *name)
{
    int64_t sizes[MAX_RANK];
    int count = named_ints(e, o, name, sizes, MAX_RANK);
    const named_slot *s = named_list(o, name);
    if (count >= 0) {
        for (int i = 0; i < count; i++)
            sizes[i] = sizes[i] == -1 ? 1 : sizes[i];
        return emit_list(e, sizes, count);
    }
    if (s->count > 1) {
        value_id *pieces = ARENA_ARRAY(e->b->arena, value_id, (size_t)s->count);
        for (int32_t i = 0; i < s->count; i++) {
            int64_t number;
            bool keeps = emit_known_int(e, s->ids[i], &number) && number == -1;
            pieces[i] = keeps ? emit_list(e, (const int64_t[]){1}, 1) : emit_index_list(e, s->ids[i]);
        }
        node *n = emit_op(e, "Concat", pieces, s->count, NO_VALUE);
        emit_int(n, "axis", 0);
        return n->outputs[0];
    }
    if (s->count == 0)
        return NO_VALUE;
    value_id all = emit_index_list(e, s->ids[0]); /* replaces -1 by 1 in a computed size */
    value_id keeps = emit_2(e, "Equal", all, emit_number(e, -1), NO_VALUE);
    return emit_op(e, "Where", (const value_id[]){keeps, emit_number(e, 1), all}, 3, NO_VALUE)->outputs[0];
}

static void map_expand(emitter *e, const named_op *o, const char *canonical)
{
    static const char *const NAMES[] = {"expand_shapes_tensor", "Shape", "target_shape", "shape"};
    value_id shape = NO_VALUE;
    for (size_t i = 0; shape == NO_VALUE && i < sizeof NAMES / sizeof *NAMES; i++)
        shape = expanded_sizes(e, o, NAMES[i]);
    emit_2(e, canonical, paddle_x(o), shape, paddle_out(o));
}

static void map_expand_as(emitter *e, const named_op *o, const char *canonical)
{
    value_id like = named_in(o, "Y");
    value_id shape = like != NO_VALUE ? emit_1(e, "Shape", like, NO_VALUE) : expanded_sizes(e, o, "target_shape");
    emit_2(e, canonical, paddle_x(o), shape, paddle_out(o));
}

static void map_tile(emitter *e, const named_op *o, const char *canonical)
{
    value_id repeats = sizes_of(e, o, (const char *const[]){"repeat_times_tensor", "RepeatTimes", "repeat_times"}, 3);
    int64_t numbers[MAX_RANK], whole[MAX_RANK];
    int count = emit_known_ints(e, repeats, numbers, MAX_RANK), rank = named_declared(e, paddle_x(o))->rank;
    if (count >= 0 && count < rank) { /* leading dimensions are 1 */
        for (int i = 0; i < rank; i++)
            whole[i] = i < rank - count ? 1 : numbers[i - (rank - count)];
        repeats = emit_list(e, whole, rank);
    }
    emit_2(e, canonical, paddle_x(o), repeats, paddle_out(o));
}

static void map_shape(emitter *e, const named_op *o, const char *canonical)
{
    emit_1(e, canonical, paddle_x(o), paddle_out(o));
}

/* (before, after) of the first axis, of the second … */
static void map_pad(emitter *e, const named_op *o, const char *canonical)
{
    int64_t pairs[2 * MAX_RANK], pads[2 * MAX_RANK];
    int count = named_ints(e, o, "paddings", pairs, 2 * MAX_RANK);
    if (count < 0 || count % 2) {
        named_foreign(e, "paddle", o);
        return;
    }
    for (int i = 0; i < count / 2; i++) {
        pads[i] = pairs[(size_t)2 * (size_t)i];
        pads[count / 2 + i] = pairs[2 * i + 1];
    }
    emit_2(e, canonical, paddle_x(o), emit_list(e, pads, count), paddle_out(o));
}

/* Reads (before, after) pairs, starting with the last spatial axis, or with the first if `from_last` is false
 * (pad2d). */
static void pad_space(emitter *e, const named_op *o, bool from_last)
{
    int64_t pairs[6], pads[6], axes[3];
    int count = named_ints(e, o, "Paddings", pairs, 6);
    const value *x = named_declared(e, paddle_x(o));
    str format = named_text(o, "data_format", "NCHW"), mode = named_text(o, "mode", "constant");
    bool channels_last = format.len && format.ptr[format.len - 1] == 'C';
    if (count < 0)
        count = named_ints(e, o, "paddings", pairs, 6);
    int spatial = count / 2;
    /* Paddle.js pads images as if they had a depth dimension. */
    if (x->rank > 2 && x->rank - 2 < spatial)
        spatial = x->rank - 2;
    if (count < 2 || count % 2) {
        named_foreign(e, "paddle", o);
        return;
    }
    for (int i = 0; i < spatial; i++) {
        int pair = from_last ? spatial - 1 - i : i;
        pads[i] = pairs[(size_t)2 * (size_t)pair];
        pads[spatial + i] = pairs[2 * pair + 1];
        axes[i] = (channels_last ? 1 : 2) + i;
    }
    value_id inputs[4] = {paddle_x(o), emit_list(e, pads, 2 * spatial), NO_VALUE, emit_list(e, axes, spatial)};
    node *n = emit_op(e, "Pad", inputs, 4, paddle_out(o));
    if (!str_is(mode, "constant"))
        emit_text(n, "mode", str_is(mode, "reflect") ? STR("reflect") : STR("edge"));
}

static void map_pad2d(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    pad_space(e, o, false);
}

static void map_pad3d(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    pad_space(e, o, true);
}

static void map_flip(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    int64_t axes[MAX_RANK];
    int count = named_ints(e, o, "axis", axes, MAX_RANK);
    if (count < 0 || !emit_reverse(e, paddle_x(o), emit_list(e, axes, count), paddle_out(o)))
        named_foreign(e, "paddle", o);
}

/* ---- picking --------------------------------------------------------------------------------------------------- */

static void map_gather(emitter *e, const named_op *o, const char *canonical)
{
    int64_t axis = named_list(o, "Axis")->count ? named_int(e, o, "Axis", 0) : named_int(e, o, "axis", 0);
    value_id index = named_in(o, "Index");
    if (str_is(o->type, "index_select"))
        axis = named_int(e, o, named_find(o, "dim") ? "dim" : "axis", 0);
    const value *declared = named_declared(e, index);
    if (declared->rank == 2 && declared->dims[1] == 1) /* here a column counts as a list */
        index = emit_reshaped(e, index, (const int64_t[]){-1}, 1, NO_VALUE);
    emit_int(emit_op(e, canonical, (const value_id[]){paddle_x(o), index}, 2, paddle_out(o)), "axis", axis);
}

static void map_gather_nd(emitter *e, const named_op *o, const char *canonical)
{
    emit_2(e, canonical, paddle_x(o), emit_index(e, named_in(o, "Index")), paddle_out(o));
}

static void map_take_along(emitter *e, const named_op *o, const char *canonical)
{
    value_id x = named_in(o, "Input");
    emit_int(emit_op(e, canonical, (const value_id[]){x, emit_index(e, named_in(o, "Index"))}, 2, paddle_out(o)),
             "axis", named_int(e, o, named_find(o, "Axis") ? "Axis" : "axis", 0));
}

static void map_embedding(emitter *e, const named_op *o, const char *canonical)
{
    value_id ids = named_in(o, "Ids");
    const value *declared = named_declared(e, ids);
    bool has_column = str_is(o->type, "lookup_table") && declared->rank > 1 && declared->dims[declared->rank - 1] == 1;
    if (has_column)
        ids = emit_squeeze(e, ids, (const int64_t[]){-1}, 1, NO_VALUE);
    emit_2(e, canonical, named_in(o, "W"), ids, paddle_out(o));
}

static void map_one_hot(emitter *e, const named_op *o, const char *canonical)
{
    value_id depth = named_in(o, "depth_tensor");
    int64_t number = named_int(e, o, named_find(o, "depth") ? "depth" : "num_classes", 1);
    depth = depth == NO_VALUE ? emit_number(e, number) : emit_index(e, depth);
    emit_op(e, canonical, (const value_id[]){paddle_x(o), depth, emit_reals(e, (const float[]){0, 1}, 2)}, 3,
            paddle_out(o));
}

/* Transposes the positions, which ONNX has as columns and Paddle as rows. */
static void map_where_index(emitter *e, const named_op *o, const char *canonical)
{
    value_id x = named_in_at(o, 0);
    emit_transpose(e, emit_1(e, canonical, x, NO_VALUE), (const int64_t[]){1, 0}, 2, paddle_out(o));
}

static void map_triangle(emitter *e, const named_op *o, const char *canonical)
{
    bool is_lower = str_is(o->type, "tril") || named_true(e, o, "lower");
    value_id k = emit_number(e, named_int(e, o, "diagonal", 0));
    emit_int(emit_op(e, canonical, (const value_id[]){paddle_x(o), k}, 2, paddle_out(o)), "upper", !is_lower);
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static dtype paddle_type_named(str name)
{
    if (str_is(name, "bfloat16"))
        return DT_BFLOAT16;
    for (int t = DT_UNKNOWN + 1; t < DT_COUNT; t++)
        if (str_is(name, dtype_name((dtype)t)))
            return (dtype)t;
    return DT_UNKNOWN;
}

/* Returns a type, which is a number in ProgramDesc and a name in PIR. */
static dtype type_of(emitter *e, const named_op *o, const char *name)
{
    const named_attr *a = named_find(o, name);
    dtype type = !a                      ? DT_UNKNOWN
                 : a->kind == NAMED_TEXT ? paddle_type_named(a->text)
                                         : paddle_type(named_int(e, o, name, -1));
    return type == DT_UNKNOWN ? named_declared(e, paddle_out(o))->dtype : type;
}

static void map_cast(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_cast(e, paddle_x(o), type_of(e, o, named_find(o, "out_dtype") ? "out_dtype" : "dtype"), paddle_out(o));
}

/* The fill value; a string if a float cannot hold it. */
static double filler_of(emitter *e, const named_op *o)
{
    double number = named_real(e, o, "value", 0);
    str text = named_text(o, "str_value", "");
    named_op inner = {.attrs = &(named_attr){.name = STR("v"), .kind = NAMED_TEXT, .text = text}, .attr_count = 1};
    return text.len ? named_real(e, &inner, "v", number) : number;
}

/* Writes a small fill as a constant, because shape arithmetic uses it. */
static bool fill_few(emitter *e, const int64_t *dims, int rank, dtype type, double number, value_id out)
{
    enum { FEW = 64 };
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || dims[i] > FEW || (count *= dims[i]) > FEW)
            return false;
    const tensor *one = emit_constant_of(e, emit_scalar(e, type, number));
    if (one->dtype != type || out == NO_VALUE)
        return false;
    tensor *t = ARENA_NEW(e->b->arena, tensor);
    *t = *emit_tensor(e, type, rank, dims);
    uint8_t *bytes = ARENA_ARRAY(e->b->arena, uint8_t, one->size * (size_t)count + 1);
    for (int64_t i = 0; i < count; i++)
        memcpy(bytes + (size_t)i * one->size, one->bytes, one->size);
    t->encoding = TENSOR_RAW;
    t->bytes = bytes;
    t->size = one->size * (size_t)count;
    build_constant(e->b, out, t);
    build_at(e->b, out)->is_constant_node = true;
    return true;
}

static void map_full(emitter *e, const named_op *o, const char *canonical)
{
    static const char *const NAMES[] = {"ShapeTensorList", "ShapeTensor", "shape"};
    int64_t dims[MAX_RANK];
    dtype type = type_of(e, o, "dtype");
    double number = filler_of(e, o);
    value_id given = named_in(o, "ValueTensor");
    bool is_plain =
        given == NO_VALUE && !named_list(o, "ShapeTensorList")->count && !named_list(o, "ShapeTensor")->count;
    int rank = is_plain ? named_ints(e, o, "shape", dims, MAX_RANK) : -1;
    if (rank >= 0 && fill_few(e, dims, rank, type, number, paddle_out(o)))
        return;
    value_id shape = sizes_of(e, o, NAMES, 3);
    emit_2(e, canonical, given != NO_VALUE ? given : emit_scalar(e, type, number), shape, paddle_out(o));
}

static void map_int_array(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    const named_attr *a = named_find(o, "value");
    int32_t count = a && a->kind == NAMED_INTS ? a->count : 0;
    value_id list = emit_list(e, count ? a->ints : NULL, count);
    if (paddle_out(o) != NO_VALUE) {
        build_constant(e->b, paddle_out(o), emit_constant_of(e, list));
        build_at(e->b, paddle_out(o))->is_constant_node = true;
    }
}

static void map_full_like(emitter *e, const named_op *o, const char *canonical)
{
    double number = str_starts(o->type, "ones") ? 1 : named_real(e, o, "value", 0);
    dtype type = named_declared(e, paddle_out(o))->dtype;
    value_id shape = emit_1(e, "Shape", paddle_x(o), NO_VALUE);
    emit_2(e, canonical, emit_scalar(e, type, number), shape, paddle_out(o));
}

/* Fills a given shape whose one dimension comes from another tensor. */
static void map_full_batch(emitter *e, const named_op *o, const char *canonical)
{
    int64_t dims[MAX_RANK], from = named_int(e, o, "input_dim_idx", 0), to = named_int(e, o, "output_dim_idx", 0);
    int rank = named_ints(e, o, "shape", dims, MAX_RANK);
    if (rank <= 0 || to < 0 || to >= rank) {
        named_foreign(e, "paddle", o);
        return;
    }
    value_id shape = emit_1(e, "Shape", named_in(o, "Input"), NO_VALUE),
             *pieces = ARENA_ARRAY(e->b->arena, value_id, (size_t)rank);
    for (int i = 0; i < rank; i++)
        pieces[i] = i == to ? emit_2(e, "Gather", shape, emit_list(e, &from, 1), NO_VALUE) : emit_list(e, &dims[i], 1);
    node *n = emit_op(e, "Concat", pieces, rank, NO_VALUE);
    emit_int(n, "axis", 0);
    emit_2(e, canonical, emit_scalar(e, type_of(e, o, "dtype"), filler_of(e, o)), n->outputs[0], paddle_out(o));
}

static value_id scalar_operand(emitter *e, const named_op *o, const char *name, dtype type)
{
    value_id v = named_in(o, name);
    double number;
    if (named_reals(e, o, name, &number, 1) == 1)
        return emit_scalar(e, type, number);
    if (v != NO_VALUE && named_declared(e, v)->rank != 0)
        v = emit_reshaped(e, v, NULL, 0, NO_VALUE);
    return v == NO_VALUE || named_declared(e, named_in(o, name))->dtype == type ? v : emit_cast(e, v, type, NO_VALUE);
}

static void map_range(emitter *e, const named_op *o, const char *canonical)
{
    dtype type = type_of(e, o, "dtype");
    value_id bounds[3] = {scalar_operand(e, o, "Start", type), scalar_operand(e, o, "End", type),
                          scalar_operand(e, o, "Step", type)};
    emit_op(e, canonical, bounds, 3, paddle_out(o));
}

/* A constant that is stored in the program itself. */
static void map_assign_value(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    static const char *const NAMES[] = {"int32_values", "int64_values", "fp32_values", "bool_values", "values"};
    int64_t dims[MAX_RANK], count = 1;
    int rank = named_ints(e, o, "shape", dims, MAX_RANK);
    const named_attr *a = NULL;
    for (size_t i = 0; (!a || a->count == 0) && i < sizeof NAMES / sizeof *NAMES; i++)
        a = named_find(o, NAMES[i]) && named_find(o, NAMES[i])->kind != NAMED_TEXT ? named_find(o, NAMES[i]) : a;
    dtype type = type_of(e, o, "dtype");
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(count, dims[i], &count))
            rank = -1;
    if (rank < 0 || paddle_out(o) == NO_VALUE || type == DT_UNKNOWN) {
        named_foreign(e, "paddle", o);
        return;
    }
    const tensor *t = emit_tensor(e, type, rank, dims);
    if (a && a->kind == NAMED_INTS && a->count == count && dtype_is_integer(type)) {
        const tensor *numbers = emit_constant_of(e, emit_list(e, a->ints, a->count));
        tensor *known = ARENA_NEW(e->b->arena, tensor);
        *known = *emit_tensor(e, DT_INT64, rank, dims); /* elements as in the file */
        known->encoding = TENSOR_RAW;
        known->bytes = numbers->bytes;
        known->size = numbers->size;
        t = known;
    }
    build_constant(e->b, paddle_out(o), t);
    build_at(e->b, paddle_out(o))->is_constant_node = true;
}

/* Broadcasts each vector along its own axis. */
static void map_meshgrid(emitter *e, const named_op *o, const char *canonical)
{
    const named_slot *x = named_list(o, "X"), *out = paddle_outs(o);
    int64_t dims[MAX_RANK];
    if (x->count < 1 || x->count > MAX_RANK || out->count != x->count) {
        named_foreign(e, "paddle", o);
        return;
    }
    value_id *sizes = ARENA_ARRAY(e->b->arena, value_id, (size_t)x->count);
    for (int32_t i = 0; i < x->count; i++)
        sizes[i] = emit_1(e, "Shape", emit_reshaped(e, x->ids[i], (const int64_t[]){-1}, 1, NO_VALUE), NO_VALUE);
    node *shape = emit_op(e, "Concat", sizes, x->count, NO_VALUE);
    emit_int(shape, "axis", 0);
    value_id all = shape->outputs[0];
    for (int32_t i = 0; i < x->count; i++) {
        for (int32_t k = 0; k < x->count; k++)
            dims[k] = k == i ? -1 : 1;
        emit_2(e, canonical, emit_reshaped(e, x->ids[i], dims, x->count, NO_VALUE), all, out->ids[i]);
    }
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const paddle_row ROWS[] = {
    {"arange", "Start End Step", map_range, "Range"},
    {"assign_value", "", map_assign_value, NULL},
    {"cast", "X", map_cast, NULL},
    {"concat", "X axis", map_concat, "Concat"},
    {"concat_mul", "X axis", map_concat, "Concat"},
    {"embedding", "Ids W", map_embedding, "Gather"},
    {"expand", "X shape", map_expand, "Expand"},
    {"expand_as", "X Y", map_expand_as, "Expand"},
    {"expand_as_v2", "X Y", map_expand_as, "Expand"},
    {"expand_v2", "X", map_expand, "Expand"},
    {"fill_any_like", "X", map_full_like, "Expand"},
    {"fill_constant", "", map_full, "Expand"},
    {"fill_constant_batch_size_like", "Input", map_full_batch, "Expand"},
    {"flatten", "X", map_flatten, NULL},
    {"flatten2", "X", map_flatten_at, "Flatten"},
    {"flatten_contiguous_range", "X", map_flatten, NULL},
    {"flip", "X", map_flip, NULL},
    {"full", "", map_full, "Expand"},
    {"full_batch_size_like", "Input", map_full_batch, "Expand"},
    {"full_int_array", "", map_int_array, NULL},
    {"full_like", "X value", map_full_like, "Expand"},
    {"full_with_tensor", "ValueTensor ShapeTensor", map_full, "Expand"},
    {"gather", "X Index Axis", map_gather, "Gather"},
    {"gather_nd", "X Index", map_gather_nd, "GatherND"},
    {"index_select", "X Index", map_gather, "Gather"},
    {"lookup_table", "Ids W", map_embedding, "Gather"},
    {"lookup_table_v2", "Ids W", map_embedding, "Gather"},
    {"meshgrid", "X", map_meshgrid, "Expand"},
    {"nonzero", "X", map_where_index, "NonZero"},
    {"one_hot", "X num_classes", map_one_hot, "OneHot"},
    {"one_hot_v2", "X", map_one_hot, "OneHot"},
    {"ones_like", "X", map_full_like, "Expand"},
    {"pad", "X", map_pad, "Pad"},
    {"pad2d", "X", map_pad2d, NULL},
    {"pad3d", "X Paddings", map_pad3d, NULL},
    {"range", "Start End Step", map_range, "Range"},
    {"reshape", "X shape", map_reshape, "Reshape"},
    {"reshape2", "X", map_reshape, "Reshape"},
    {"reverse", "X", map_flip, NULL},
    {"shape", "X", map_shape, "Shape"},
    {"shape64", "X", map_shape, "Shape"},
    {"size", "X", map_shape, "Size"},
    {"slice", "X starts ends", map_slice, "Slice"},
    {"split", "X sections axis", map_split, "Split"},
    {"split_with_num", "X axis", map_split, "Split"},
    {"squeeze", "X axes", map_squeeze, "Squeeze"},
    {"squeeze2", "X", map_squeeze, "Squeeze"},
    {"stack", "X", map_stack, NULL},
    {"strided_slice", "X starts ends strides", map_slice, "Slice"},
    {"take_along_axis", "Input Index", map_take_along, "GatherElements"},
    {"tile", "X repeat_times", map_tile, "Tile"},
    {"transpose", "X", map_transpose, NULL},
    {"transpose2", "X", map_transpose, NULL},
    {"tril", "X", map_triangle, "Trilu"},
    {"tril_triu", "X", map_triangle, "Trilu"},
    {"triu", "X", map_triangle, "Trilu"},
    {"unbind", "X", map_unstack, NULL},
    {"unsqueeze", "X axes", map_unsqueeze, "Unsqueeze"},
    {"unsqueeze2", "X", map_unsqueeze, "Unsqueeze"},
    {"unstack", "X", map_unstack, NULL},
    {"where_index", "X", map_where_index, "NonZero"},
    {"zeros_like", "X", map_full_like, "Expand"},
};

const paddle_row *paddle_shape_rows(size_t *count)
{
    *count = sizeof ROWS / sizeof *ROWS;
    return ROWS;
}
