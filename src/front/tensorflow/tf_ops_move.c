/* tf_ops_move.c: maps TensorFlow's data movement to canonical operators: reshape, join, slice, gather, scatter. */
#include "front/tensorflow/tf.h"

static void map_index_second(tf_op *o, const char *canonical)
{
    emit_2(o->e, canonical, tf_in(o, 0), emit_index(o->e, tf_in(o, 1)), tf_out(o, 0));
}

/* True if a size may be 0, which in ONNX means to keep the dimension. */
static void map_reshape(tf_op *o, const char *canonical)
{
    int64_t dims[MAX_RANK];
    int count = emit_known_ints(o->e, tf_in(o, 1), dims, MAX_RANK);
    node *n = emit_op(o->e, canonical, (const value_id[]){tf_in(o, 0), emit_index(o->e, tf_in(o, 1))}, 2, tf_out(o, 0));
    bool has_zero = false;
    for (int i = 0; i < count; i++)
        has_zero |= dims[i] == 0;
    if (has_zero)
        emit_int(n, "allowzero", 1);
}

static void map_squeeze(tf_op *o, const char *canonical)
{
    int64_t axes[MAX_RANK];
    int count = tf_attr_ints(o->node, "squeeze_dims", axes, MAX_RANK);
    if (count < 0)
        count = tf_attr_ints(o->node, "axis", axes, MAX_RANK);
    if (count > 0)
        emit_squeeze(o->e, tf_in(o, 0), axes, count, tf_out(o, 0));
    else
        emit_1(o->e, canonical, tf_in(o, 0), tf_out(o, 0));
}

static void map_expand_dims(tf_op *o, const char *canonical)
{
    emit_2(o->e, canonical, tf_in(o, 0), emit_index_list(o->e, tf_in(o, 1)), tf_out(o, 0));
}

static void map_flatten(tf_op *o, const char *canonical)
{
    emit_1(o->e, canonical, tf_in(o, 0), tf_out(o, 0));
}

static void map_transpose(tf_op *o, const char *unused)
{
    (void)unused;
    int64_t perm[MAX_RANK];
    int count = emit_known_ints(o->e, tf_in(o, 1), perm, MAX_RANK);
    if (count >= 0)
        emit_transpose(o->e, tf_in(o, 0), perm, count, tf_out(o, 0));
    else
        emit_2(o->e, "Transpose", tf_in(o, 0), emit_index(o->e, tf_in(o, 1)), tf_out(o, 0));
}

static void concat(tf_op *o, value_id axis_value, const value_id *parts, int count)
{
    int64_t axis = 0;
    emit_known_int(o->e, axis_value, &axis);
    emit_int(emit_op(o->e, "Concat", parts, count, tf_out(o, 0)), "axis", axis);
}

/* Lists of axes are often concatenated from constants; some operators need them as one constant. */
static bool join_constants(tf_op *o, const value_id *parts, int count)
{
    int64_t numbers[MAX_RANK];
    int sum = 0;
    dtype type = tf_attr_type(o->node, "T");
    if (type != DT_INT32 && type != DT_INT64)
        return false;
    for (int i = 0; i < count; i++) {
        int more = emit_known_ints(o->e, parts[i], numbers + sum, MAX_RANK - sum);
        const tensor *t = emit_constant_of(o->e, parts[i]);
        if (more < 0 || t->rank != 1)
            return false;
        sum += more;
    }
    value_id joined = emit_list(o->e, numbers, sum);
    build_constant(o->e->b, tf_out(o, 0), emit_constant_of(o->e, joined));
    build_at(o->e->b, tf_out(o, 0))->is_constant_node = true;
    return true;
}

static void map_concat(tf_op *o, const char *unused)
{
    (void)unused;
    concat(o, tf_in(o, 0), o->in + 1, o->in_count - 1);
}

static void map_concat_v2(tf_op *o, const char *unused)
{
    (void)unused;
    if (!join_constants(o, o->in, o->in_count - 1))
        concat(o, tf_in(o, o->in_count - 1), o->in, o->in_count - 1);
}

static void map_pack(tf_op *o, const char *unused)
{
    (void)unused;
    emit_pack(o->e, o->in, o->in_count, tf_attr_int(o->node, "axis", 0), tf_out(o, 0));
}

static void map_parallel_concat(tf_op *o, const char *unused)
{
    (void)unused;
    emit_int(emit_op(o->e, "Concat", o->in, o->in_count, tf_out(o, 0)), "axis", 0);
}

static void map_unpack(tf_op *o, const char *unused)
{
    (void)unused;
    emit_unpack(o->e, tf_in(o, 0), tf_attr_int(o->node, "axis", 0), o->out, o->out_count);
}

static void map_split(tf_op *o, const char *canonical)
{
    int64_t axis = 0;
    value_id x = tf_in(o, 1);
    emit_known_int(o->e, tf_in(o, 0), &axis);
    node *n = emit_many(o->e, canonical, &x, 1, o->out, o->out_count);
    emit_int(n, "axis", axis);
    emit_int(n, "num_outputs", o->out_count);
}

/* Reads sizes, of which one may be -1 for the rest. */
static value_id split_sizes(tf_op *o, int64_t axis)
{
    int64_t sizes[MAX_RANK], sum = 0;
    int count = emit_known_ints(o->e, tf_in(o, 1), sizes, MAX_RANK), rest = -1;
    for (int i = 0; i < count; i++) {
        if (sizes[i] < 0)
            rest = i;
        else if (__builtin_add_overflow(sum, sizes[i], &sum))
            sum = 0;
    }
    if (rest < 0)
        return emit_index(o->e, tf_in(o, 1));
    emitter *e = o->e;
    value_id pieces[MAX_RANK], shape = emit_1(e, "Shape", tf_in(o, 0), NO_VALUE);
    value_id whole = emit_2(e, "Gather", shape, emit_list(e, &axis, 1), NO_VALUE);
    for (int i = 0; i < count; i++)
        pieces[i] = i == rest ? emit_2(e, "Sub", whole, emit_list(e, &sum, 1), NO_VALUE) : emit_list(e, &sizes[i], 1);
    node *n = emit_op(e, "Concat", pieces, count, NO_VALUE);
    emit_int(n, "axis", 0);
    return n->outputs[0];
}

static void map_split_v(tf_op *o, const char *canonical)
{
    int64_t axis = 0;
    emit_known_int(o->e, tf_in(o, 2), &axis);
    node *n =
        emit_many(o->e, canonical, (const value_id[]){tf_in(o, 0), split_sizes(o, axis)}, 2, o->out, o->out_count);
    emit_int(n, "axis", axis);
}

static void map_slice(tf_op *o, const char *unused)
{
    (void)unused;
    emit_begin_size(o->e, tf_in(o, 0), tf_in(o, 1), tf_in(o, 2), tf_out(o, 0));
}

static void map_strided_slice(tf_op *o, const char *unused)
{
    (void)unused;
    emit_slice s = {
        .begin = tf_in(o, 1),
        .end = tf_in(o, 2),
        .strides = tf_in(o, 3),
        .begin_mask = tf_attr_int(o->node, "begin_mask", 0),
        .end_mask = tf_attr_int(o->node, "end_mask", 0),
        .ellipsis_mask = tf_attr_int(o->node, "ellipsis_mask", 0),
        .new_axis_mask = tf_attr_int(o->node, "new_axis_mask", 0),
        .shrink_axis_mask = tf_attr_int(o->node, "shrink_axis_mask", 0),
    };
    emit_strided_slice(o->e, tf_in(o, 0), &s, tf_out(o, 0));
}

static void map_gather(tf_op *o, const char *canonical)
{
    int64_t axis = 0, batch_dims = tf_attr_int(o->node, "batch_dims", 0);
    if (o->in_count > 2)
        emit_known_int(o->e, tf_in(o, 2), &axis);
    if (batch_dims) {
        value_id index = emit_unsqueeze(o->e, tf_in(o, 1), (const int64_t[]){-1}, 1, NO_VALUE);
        node *n = emit_op(o->e, "GatherND", (const value_id[]){tf_in(o, 0), index}, 2, tf_out(o, 0));
        emit_int(n, "batch_dims", batch_dims);
        return;
    }
    emit_int(emit_op(o->e, canonical, o->in, 2, tf_out(o, 0)), "axis", axis);
}

static void map_where(tf_op *o, const char *unused)
{
    (void)unused;
    value_id found = emit_1(o->e, "NonZero", tf_in(o, 0), NO_VALUE);
    emit_transpose(o->e, found, (const int64_t[]){1, 0}, 2, tf_out(o, 0));
}

static void map_pad(tf_op *o, const char *canonical)
{
    value_id pads = emit_paddings(o->e, tf_in(o, 1));
    node *n = emit_op(o->e, canonical, (const value_id[]){tf_in(o, 0), pads, tf_in(o, 2)}, 3, tf_out(o, 0));
    if (str_is(o->node->op, "MirrorPad"))
        emit_text(n, "mode", STR("reflect"));
}

static void map_space_to_batch(tf_op *o, const char *unused)
{
    (void)unused;
    emit_space_to_batch(o->e, tf_in(o, 0), tf_in(o, 1), tf_in(o, 2), tf_out(o, 0));
}

static void map_batch_to_space(tf_op *o, const char *unused)
{
    (void)unused;
    emit_batch_to_space(o->e, tf_in(o, 0), tf_in(o, 1), tf_in(o, 2), tf_out(o, 0));
}

static void map_reverse(tf_op *o, const char *unused)
{
    (void)unused;
    if (!emit_reverse(o->e, tf_in(o, 0), tf_in(o, 1), tf_out(o, 0)))
        tf_foreign(o);
}

static void map_reverse_sequence(tf_op *o, const char *canonical)
{
    node *n = emit_op(o->e, canonical, o->in, 2, tf_out(o, 0));
    emit_int(n, "time_axis", tf_attr_int(o->node, "seq_dim", 0));
    emit_int(n, "batch_axis", tf_attr_int(o->node, "batch_dim", 0));
}

static void map_one_hot(tf_op *o, const char *canonical)
{
    emitter *e = o->e;
    value_id off = emit_reshaped(e, tf_in(o, 3), (const int64_t[]){1}, 1, NO_VALUE);
    value_id on = emit_reshaped(e, tf_in(o, 2), (const int64_t[]){1}, 1, NO_VALUE);
    node *values = emit_op(e, "Concat", (const value_id[]){off, on}, 2, NO_VALUE);
    emit_int(values, "axis", 0);
    node *n = emit_op(e, canonical, (const value_id[]){tf_in(o, 0), tf_in(o, 1), values->outputs[0]}, 3, tf_out(o, 0));
    emit_int(n, "axis", tf_attr_int(o->node, "axis", -1));
}

static void map_scatter_nd(tf_op *o, const char *canonical)
{
    emitter *e = o->e;
    value_id zero = emit_scalar(e, tf_attr_type(o->node, "T"), 0);
    value_id zeros = emit_2(e, "Expand", zero, emit_index(e, tf_in(o, 2)), NO_VALUE);
    emit_op(e, canonical, (const value_id[]){zeros, emit_index(e, tf_in(o, 0)), tf_in(o, 1)}, 3, tf_out(o, 0));
}

/* Scatters whole rows at the indices. */
static void map_scatter_rows(tf_op *o, const char *canonical)
{
    emitter *e = o->e;
    value_id rows = emit_unsqueeze(e, emit_index(e, tf_in(o, 1)), (const int64_t[]){-1}, 1, NO_VALUE);
    emit_op(e, canonical, (const value_id[]){tf_in(o, 0), rows, tf_in(o, 2)}, 3, tf_out(o, 0));
}

static void map_tensor_scatter(tf_op *o, const char *canonical)
{
    emit_op(o->e, canonical, (const value_id[]){tf_in(o, 0), emit_index(o->e, tf_in(o, 1)), tf_in(o, 2)}, 3,
            tf_out(o, 0));
}

static void map_like_second(tf_op *o, const char *function)
{
    value_id second = tf_in(o, 1);
    node *n = emit_foreign(o->e, STR("sooth"), STR("SpecialFunction"), &second, 1, o->out, 1);
    emit_text(n, "function", str_of(function));
}

/* Image (N,H,W,C), boxes (n,4), box images, (height, width) → (n, height, width, C). */
static void map_crop_and_resize(tf_op *o, const char *unused)
{
    (void)unused;
    emitter *e = o->e;
    value_id image = emit_1(e, "Shape", tf_in(o, 0), NO_VALUE), boxes = emit_1(e, "Shape", tf_in(o, 1), NO_VALUE);
    value_id count = emit_2(e, "Gather", boxes, emit_list(e, (const int64_t[]){0}, 1), NO_VALUE);
    value_id channels = emit_2(e, "Gather", image, emit_list(e, (const int64_t[]){3}, 1), NO_VALUE);
    value_id parts[] = {count, emit_index(e, tf_in(o, 3)), channels};
    node *shape = emit_op(e, "Concat", parts, 3, NO_VALUE);
    emit_int(shape, "axis", 0);
    value_id zeros = emit_2(e, "Expand", emit_scalar(e, DT_FLOAT32, 0), shape->outputs[0], NO_VALUE);
    node *n = emit_foreign(e, STR("sooth"), STR("SpecialFunction"), &zeros, 1, o->out, 1);
    emit_text(n, "function", STR("CropAndResize"));
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const tf_row ROWS[] = {
    {"BatchToSpaceND", map_batch_to_space, NULL},
    {"BroadcastTo", map_index_second, "Expand"},
    {"Concat", map_concat, NULL},
    {"ConcatV2", map_concat_v2, NULL},
    {"CropAndResize", map_crop_and_resize, NULL},
    {"ExpandDims", map_expand_dims, "Unsqueeze"},
    {"Flatten", map_flatten, "Flatten"},
    {"Gather", map_gather, "Gather"},
    {"GatherNd", map_index_second, "GatherND"},
    {"GatherV2", map_gather, "Gather"},
    {"MatrixSolve", map_like_second, "MatrixSolve"},
    {"MatrixTriangularSolve", map_like_second, "MatrixTriangularSolve"},
    {"MirrorPad", map_pad, "Pad"},
    {"OneHot", map_one_hot, "OneHot"},
    {"Pack", map_pack, NULL},
    {"Pad", map_pad, "Pad"},
    {"PadV2", map_pad, "Pad"},
    {"ParallelConcat", map_parallel_concat, NULL},
    {"Reshape", map_reshape, "Reshape"},
    {"ResourceGather", map_gather, "Gather"},
    {"ReverseSequence", map_reverse_sequence, "ReverseSequence"},
    {"ReverseV2", map_reverse, NULL},
    {"ScatterAdd", map_scatter_rows, "ScatterND"},
    {"ScatterDiv", map_scatter_rows, "ScatterND"},
    {"ScatterMax", map_scatter_rows, "ScatterND"},
    {"ScatterMin", map_scatter_rows, "ScatterND"},
    {"ScatterMul", map_scatter_rows, "ScatterND"},
    {"ScatterNd", map_scatter_nd, "ScatterND"},
    {"ScatterNdAdd", map_tensor_scatter, "ScatterND"},
    {"ScatterNdSub", map_tensor_scatter, "ScatterND"},
    {"ScatterNdUpdate", map_tensor_scatter, "ScatterND"},
    {"ScatterSub", map_scatter_rows, "ScatterND"},
    {"ScatterUpdate", map_scatter_rows, "ScatterND"},
    {"Slice", map_slice, NULL},
    {"SpaceToBatchND", map_space_to_batch, NULL},
    {"Split", map_split, "Split"},
    {"SplitV", map_split_v, "Split"},
    {"Squeeze", map_squeeze, "Squeeze"},
    {"StridedSlice", map_strided_slice, NULL},
    {"TensorScatterAdd", map_tensor_scatter, "ScatterND"},
    {"TensorScatterSub", map_tensor_scatter, "ScatterND"},
    {"TensorScatterUpdate", map_tensor_scatter, "ScatterND"},
    {"Tile", map_index_second, "Tile"},
    {"Transpose", map_transpose, NULL},
    {"Unpack", map_unpack, NULL},
    {"Where", map_where, NULL},
};

const tf_row *tf_rows_move(size_t *count)
{
    *count = sizeof ROWS / sizeof *ROWS;
    return ROWS;
}
