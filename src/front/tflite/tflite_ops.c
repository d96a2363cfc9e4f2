/* tflite_ops.c: maps TFLite operators to canonical ones; layers are in tflite_ops_nn.c. One row per operator,
 * numbered as the schema's BuiltinOperator; option fields are numbered as in the schema. Operators without a row
 * keep their name under the domain "tflite". */
#include "front/tflite/tflite.h"

value_id lite_in(const lite_op *o, int i)
{
    return i < o->in_count ? o->in[i] : NO_VALUE;
}

value_id lite_out(const lite_op *o, int i)
{
    return i < o->out_count ? o->out[i] : NO_VALUE;
}

const value *lite_declared(lite *l, value_id v)
{
    static const value NOTHING = {.rank = RANK_UNKNOWN};
    return v == NO_VALUE ? &NOTHING : build_at(l->e.b, v);
}

/* ---- activations that are part of an operator ------------------------------------------------------------------ */

enum { ACT_NONE, ACT_RELU, ACT_RELU_N1_TO_1, ACT_RELU6, ACT_TANH, ACT_SIGN_BIT };

value_id lite_before_activation(lite *l, const lite_op *o, int64_t activation)
{
    return activation == ACT_NONE ? lite_out(o, 0) : emit_temp(&l->e);
}

void lite_activate(lite *l, const lite_op *o, int64_t activation, value_id x)
{
    value_id y = lite_out(o, 0);
    if (activation == ACT_RELU)
        emit_1(&l->e, "Relu", x, y);
    else if (activation == ACT_RELU_N1_TO_1)
        emit_clip(&l->e, x, -1, 1, y);
    else if (activation == ACT_RELU6)
        emit_clip(&l->e, x, 0, 6, y);
    else if (activation == ACT_TANH)
        emit_1(&l->e, "Tanh", x, y);
    else if (activation != ACT_NONE)
        emit_1(&l->e, "Sign", x, y);
}

/* ---- pointwise ------------------------------------------------------------------------------------------------- */

static void map_plain(lite *l, const lite_op *o, const char *canonical)
{
    emit_op(&l->e, canonical, o->in, o->in_count, lite_out(o, 0));
}

static void map_activated(lite *l, const lite_op *o, const char *canonical)
{
    int64_t activation = flat_int8(o->options, 0, 0);
    value_id y = lite_before_activation(l, o, activation);
    emit_op(&l->e, canonical, o->in, o->in_count, y);
    lite_activate(l, o, activation, y);
}

static void map_clip(lite *l, const lite_op *o, const char *bounds)
{
    emit_clip(&l->e, lite_in(o, 0), bounds[0] == '-' ? -1 : 0, bounds[0] == '6' ? 6 : 1, lite_out(o, 0));
}

static void map_leaky_relu(lite *l, const lite_op *o, const char *canonical)
{
    emit_real(emit_op(&l->e, canonical, o->in, 1, lite_out(o, 0)), "alpha", flat_float(o->options, 0, 0));
}

static void map_gelu(lite *l, const lite_op *o, const char *canonical)
{
    node *n = emit_op(&l->e, canonical, o->in, 1, lite_out(o, 0));
    if (flat_uint8(o->options, 0, 0))
        emit_text(n, "approximate", STR("tanh"));
}

/* Two operators in sequence. */
static void map_two(lite *l, const lite_op *o, const char *first, const char *second)
{
    emit_1(&l->e, second, emit_op(&l->e, first, o->in, o->in_count, NO_VALUE)->outputs[0], lite_out(o, 0));
}

static void map_rsqrt(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    map_two(l, o, "Sqrt", "Reciprocal");
}

static void map_not_equal(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    map_two(l, o, "Equal", "Not");
}

static void map_floor_div(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    map_two(l, o, "Div", dtype_is_float(lite_declared(l, lite_in(o, 0))->dtype) ? "Floor" : "Identity");
}

static void map_square(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    emit_2(&l->e, "Mul", lite_in(o, 0), lite_in(o, 0), lite_out(o, 0));
}

static void map_squared_difference(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    value_id d = emit_2(&l->e, "Sub", lite_in(o, 0), lite_in(o, 1), NO_VALUE);
    emit_2(&l->e, "Mul", d, d, lite_out(o, 0));
}

static void map_softmax(lite *l, const lite_op *o, const char *canonical)
{
    emit_int(emit_op(&l->e, canonical, o->in, 1, lite_out(o, 0)), "axis", -1);
}

static void map_cast(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    emit_cast(&l->e, lite_in(o, 0), lite_declared(l, lite_out(o, 0))->dtype, lite_out(o, 0));
}

static void map_zeros_like(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    value_id shape = emit_1(&l->e, "Shape", lite_in(o, 0), NO_VALUE);
    emit_2(&l->e, "Expand", emit_scalar(&l->e, lite_declared(l, lite_out(o, 0))->dtype, 0), shape, lite_out(o, 0));
}

/* Maps Quantize and Dequantize: TFLite stores scale and zero point in the tensor, not as operands. float16 is only a
 * storage type. */
static void map_dequantize(lite *l, const lite_op *o, const char *canonical)
{
    dtype from = lite_declared(l, lite_in(o, 0))->dtype;
    const tensor *constant = emit_constant_of(&l->e, lite_in(o, 0));
    if (constant) { /* done once, at load time, so that the result is the weight */
        tensor *wide = ARENA_NEW(l->e.b->arena, tensor);
        *wide = *emit_tensor(&l->e, DT_FLOAT32, constant->rank, constant->dims);
        wide->stored_bytes = constant->stored_bytes;
        build_constant(l->e.b, lite_out(o, 0), wide);
        return;
    }
    if (from == DT_FLOAT16 || from == DT_BFLOAT16)
        emit_cast(&l->e, lite_in(o, 0), DT_FLOAT32, lite_out(o, 0));
    else
        emit_2(&l->e, canonical, lite_in(o, 0), emit_scalar(&l->e, DT_FLOAT32, 1), lite_out(o, 0));
}

static void map_quantize(lite *l, const lite_op *o, const char *canonical)
{
    node *n = emit_op(&l->e, canonical, (const value_id[]){lite_in(o, 0), emit_scalar(&l->e, DT_FLOAT32, 1)}, 2,
                      lite_out(o, 0));
    emit_int(n, "output_dtype", lite_declared(l, lite_out(o, 0))->dtype);
}

static void map_prelu(lite *l, const lite_op *o, const char *canonical)
{
    emit_2(&l->e, canonical, lite_in(o, 0), lite_in(o, 1), lite_out(o, 0));
}

/* ---- moving data ----------------------------------------------------------------------------------------------- */

static void map_concat(lite *l, const lite_op *o, const char *canonical)
{
    int64_t activation = flat_int8(o->options, 1, 0);
    value_id y = lite_before_activation(l, o, activation);
    emit_int(emit_op(&l->e, canonical, o->in, o->in_count, y), "axis", flat_int32(o->options, 0, 0));
    lite_activate(l, o, activation, y);
}

static void map_reshape(lite *l, const lite_op *o, const char *canonical)
{
    flat_vector given = flat_elements(o->options, 0, 4);
    int64_t dims[MAX_RANK];
    const value *y = lite_declared(l, lite_out(o, 0));
    if (lite_in(o, 1) != NO_VALUE && lite_declared(l, lite_in(o, 1))->rank == 1) {
        emit_2(&l->e, canonical, lite_in(o, 0), emit_index(&l->e, lite_in(o, 1)), lite_out(o, 0));
        return;
    }
    int rank = given.count <= MAX_RANK ? (int)given.count : 0;
    for (int i = 0; i < rank; i++)
        dims[i] = flat_int32_at(given, (uint32_t)i);
    if (rank == 0 && y->rank > 0) { /* some converters state the shape only at the output */
        rank = y->rank;
        for (int i = 0; i < rank; i++)
            dims[i] = dim_known(y->dims[i]) ? y->dims[i] : -1;
    }
    emit_reshaped(&l->e, lite_in(o, 0), dims, rank, lite_out(o, 0));
}

static void map_squeeze(lite *l, const lite_op *o, const char *canonical)
{
    flat_vector given = flat_elements(o->options, 0, 4);
    int64_t axes[MAX_RANK];
    int count = given.count <= MAX_RANK ? (int)given.count : 0;
    for (int i = 0; i < count; i++)
        axes[i] = flat_int32_at(given, (uint32_t)i);
    if (count)
        emit_squeeze(&l->e, lite_in(o, 0), axes, count, lite_out(o, 0));
    else
        emit_1(&l->e, canonical, lite_in(o, 0), lite_out(o, 0));
}

static void map_expand_dims(lite *l, const lite_op *o, const char *canonical)
{
    emit_2(&l->e, canonical, lite_in(o, 0), emit_index_list(&l->e, lite_in(o, 1)), lite_out(o, 0));
}

static void map_index_second(lite *l, const lite_op *o, const char *canonical)
{
    emit_2(&l->e, canonical, lite_in(o, 0), emit_index(&l->e, lite_in(o, 1)), lite_out(o, 0));
}

static void map_transpose(lite *l, const lite_op *o, const char *unused)
{
    int64_t perm[MAX_RANK];
    int count = emit_known_ints(&l->e, lite_in(o, 1), perm, MAX_RANK);
    if (count < 0)
        emit_foreign(&l->e, STR("tflite"), STR("TRANSPOSE"), o->in, o->in_count, o->out, o->out_count);
    else
        emit_transpose(&l->e, lite_in(o, 0), perm, count, lite_out(o, 0));
    (void)unused;
}

static void map_gather(lite *l, const lite_op *o, const char *canonical)
{
    int64_t batch_dims = flat_int32(o->options, 1, 0);
    if (batch_dims) {
        node *n = emit_op(
            &l->e, "GatherND",
            (const value_id[]){lite_in(o, 0), emit_unsqueeze(&l->e, lite_in(o, 1), (const int64_t[]){-1}, 1, NO_VALUE)},
            2, lite_out(o, 0));
        emit_int(n, "batch_dims", batch_dims);
        return;
    }
    node *n = emit_op(&l->e, canonical, o->in, 2, lite_out(o, 0));
    emit_int(n, "axis", flat_int32(o->options, 0, 0));
}

static void map_embedding(lite *l, const lite_op *o, const char *canonical)
{
    emit_2(&l->e, canonical, lite_in(o, 1), lite_in(o, 0), lite_out(o, 0));
}

static void map_slice(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    emit_begin_size(&l->e, lite_in(o, 0), lite_in(o, 1), lite_in(o, 2), lite_out(o, 0));
}

static void map_reverse(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    if (!emit_reverse(&l->e, lite_in(o, 0), lite_in(o, 1), lite_out(o, 0)))
        emit_foreign(&l->e, STR("tflite"), STR("REVERSE_V2"), o->in, o->in_count, o->out, o->out_count);
}

static void map_strided_slice(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    emit_slice s = {
        .begin = lite_in(o, 1),
        .end = lite_in(o, 2),
        .strides = lite_in(o, 3),
        .begin_mask = flat_int32(o->options, 0, 0),
        .end_mask = flat_int32(o->options, 1, 0),
        .ellipsis_mask = flat_int32(o->options, 2, 0),
        .new_axis_mask = flat_int32(o->options, 3, 0),
        .shrink_axis_mask = flat_int32(o->options, 4, 0),
    };
    emit_strided_slice(&l->e, lite_in(o, 0), &s, lite_out(o, 0));
}

static void map_pack(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    if (o->in_count)
        emit_pack(&l->e, o->in, o->in_count, flat_int32(o->options, 1, 0), lite_out(o, 0));
}

static void map_unpack(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    if (o->out_count)
        emit_unpack(&l->e, lite_in(o, 0), flat_int32(o->options, 1, 0), o->out, o->out_count);
}

static void split(lite *l, const lite_op *o, value_id x, value_id sizes, value_id axis_value)
{
    int64_t axis = 0;
    emit_known_int(&l->e, axis_value, &axis);
    node *n = emit_many(&l->e, "Split", (const value_id[]){x, sizes}, 2, o->out, o->out_count);
    emit_int(n, "axis", axis);
    if (sizes == NO_VALUE)
        emit_int(n, "num_outputs", o->out_count);
}

static void map_split(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    split(l, o, lite_in(o, 1), NO_VALUE, lite_in(o, 0));
}

static void map_split_v(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    int64_t sizes[MAX_RANK];
    int count = emit_known_ints(&l->e, lite_in(o, 1), sizes, MAX_RANK);
    bool has_rest = false;
    for (int i = 0; i < count; i++)
        has_rest |= sizes[i] < 0;
    const value *x = lite_declared(l, lite_in(o, 0));
    int64_t axis = 0;
    emit_known_int(&l->e, lite_in(o, 2), &axis);
    axis += axis < 0 ? x->rank : 0;
    if (has_rest && x->rank > 0 && axis >= 0 && axis < x->rank) { /* the last part takes the rest if its size is -1 */
        int64_t rest = x->dims[axis];
        for (int i = 0; i < count; i++)
            rest -= sizes[i] > 0 && dim_known(rest) && sizes[i] <= rest ? sizes[i] : 0;
        for (int i = 0; i < count; i++)
            sizes[i] = sizes[i] < 0 ? rest : sizes[i];
    }
    split(l, o, lite_in(o, 0), count >= 0 ? emit_list(&l->e, sizes, count) : emit_index(&l->e, lite_in(o, 1)),
          lite_in(o, 2));
}

static void map_pad(lite *l, const lite_op *o, const char *canonical)
{
    emit_op(&l->e, canonical, (const value_id[]){lite_in(o, 0), emit_paddings(&l->e, lite_in(o, 1)), lite_in(o, 2)}, 3,
            lite_out(o, 0));
}

static void map_mirror_pad(lite *l, const lite_op *o, const char *canonical)
{
    node *n = emit_op(&l->e, canonical, (const value_id[]){lite_in(o, 0), emit_paddings(&l->e, lite_in(o, 1))}, 2,
                      lite_out(o, 0));
    emit_text(n, "mode", STR("reflect"));
}

static void map_space_to_batch(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    emit_space_to_batch(&l->e, lite_in(o, 0), lite_in(o, 1), lite_in(o, 2), lite_out(o, 0));
}

static void map_batch_to_space(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    emit_batch_to_space(&l->e, lite_in(o, 0), lite_in(o, 1), lite_in(o, 2), lite_out(o, 0));
}

static void map_fill(lite *l, const lite_op *o, const char *canonical)
{
    emit_2(&l->e, canonical, lite_in(o, 1), emit_index(&l->e, lite_in(o, 0)), lite_out(o, 0));
}

static void map_scatter_nd(lite *l, const lite_op *o, const char *canonical)
{
    emitter *e = &l->e;
    dtype type = lite_declared(l, lite_in(o, 1))->dtype;
    value_id zeros = emit_2(e, "Expand", emit_scalar(e, type, 0), emit_index(e, lite_in(o, 2)), NO_VALUE);
    emit_op(e, canonical, (const value_id[]){zeros, emit_index(e, lite_in(o, 0)), lite_in(o, 1)}, 3, lite_out(o, 0));
}

/* ---- shapes, reductions, sorting ------------------------------------------------------------------------------- */

/* Casts ONNX's int64 indices to the file's type, which may be narrower. */
static value_id narrow(lite *l, const lite_op *o, value_id x, int output)
{
    dtype type = lite_declared(l, lite_out(o, output))->dtype;
    return type == DT_INT64 ? x : emit_cast(&l->e, x, type, lite_out(o, output));
}

static value_id wide(lite *l, const lite_op *o, int output)
{
    return lite_declared(l, lite_out(o, output))->dtype == DT_INT64 ? lite_out(o, output) : emit_temp(&l->e);
}

static void map_shape(lite *l, const lite_op *o, const char *canonical)
{
    narrow(l, o, emit_1(&l->e, canonical, lite_in(o, 0), wide(l, o, 0)), 0);
}

static void map_rank(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    value_id shape = emit_1(&l->e, "Shape", lite_in(o, 0), NO_VALUE);
    narrow(l, o, emit_1(&l->e, "Size", shape, wide(l, o, 0)), 0);
}

static void map_reduce(lite *l, const lite_op *o, const char *canonical)
{
    emit_reduce(&l->e, canonical, lite_in(o, 0), lite_in(o, 1), flat_uint8(o->options, 0, 0) != 0, lite_out(o, 0));
}

static void map_arg(lite *l, const lite_op *o, const char *canonical)
{
    int64_t axis = -1;
    emit_known_int(&l->e, lite_in(o, 1), &axis);
    node *n = emit_op(&l->e, canonical, o->in, 1, wide(l, o, 0));
    emit_int(n, "axis", axis);
    emit_int(n, "keepdims", 0);
    narrow(l, o, n->outputs[0], 0);
}

static void map_top_k(lite *l, const lite_op *o, const char *canonical)
{
    value_id indices = lite_out(o, 1) == NO_VALUE ? NO_VALUE : wide(l, o, 1);
    value_id outputs[2] = {lite_out(o, 0), indices}, k = emit_index_list(&l->e, lite_in(o, 1));
    emit_many(&l->e, canonical, (const value_id[]){lite_in(o, 0), k}, 2, outputs, 2);
    if (indices != NO_VALUE)
        narrow(l, o, indices, 1);
}

static void map_one_hot(lite *l, const lite_op *o, const char *canonical)
{
    emitter *e = &l->e;
    value_id off = emit_reshaped(e, lite_in(o, 3), (const int64_t[]){1}, 1, NO_VALUE);
    value_id on = emit_reshaped(e, lite_in(o, 2), (const int64_t[]){1}, 1, NO_VALUE);
    node *values = emit_op(e, "Concat", (const value_id[]){off, on}, 2, NO_VALUE);
    emit_int(values, "axis", 0);
    node *n =
        emit_op(e, canonical, (const value_id[]){lite_in(o, 0), lite_in(o, 1), values->outputs[0]}, 3, lite_out(o, 0));
    emit_int(n, "axis", flat_int32(o->options, 0, 0));
}

/* Transposes, because TFLite's output is (count, rank) and ONNX's is (rank, count). */
static void map_where(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    value_id found = emit_1(&l->e, "NonZero", lite_in(o, 0), NO_VALUE);
    emit_transpose(&l->e, found, (const int64_t[]){1, 0}, 2, lite_out(o, 0));
}

static void map_cumsum(lite *l, const lite_op *o, const char *canonical)
{
    node *n = emit_op(&l->e, canonical, o->in, 2, lite_out(o, 0));
    emit_int(n, "exclusive", flat_uint8(o->options, 0, 0));
    emit_int(n, "reverse", flat_uint8(o->options, 1, 0));
}

/* ---- control flow ---------------------------------------------------------------------------------------------- */

static void map_if(lite *l, const lite_op *o, const char *canonical)
{
    lite_body body = {.captured = o->in + 1, .captured_count = o->in_count - 1};
    if (o->in_count < 1)
        return;
    graph *branches[2] = {ARENA_NEW(l->e.b->arena, graph), ARENA_NEW(l->e.b->arena, graph)};
    lite_subgraph(l, flat_int32(o->options, 0, 0), branches[0], &body);
    lite_subgraph(l, flat_int32(o->options, 1, 0), branches[1], &body);
    node *n = emit_many(&l->e, canonical, o->in, 1, o->out, o->out_count);
    emit_graph(n, "then_branch", branches[0]);
    emit_graph(n, "else_branch", branches[1]);
}

/* Returns the trip count, limit - start, if the condition compares a counter with a limit. */
static value_id trip_count(lite *l, const lite_op *o)
{
    emitter *e = &l->e;
    lite_limit limit;
    int64_t number;
    if (!lite_find_limit(l, flat_int32(o->options, 0, 0), &limit))
        return NO_VALUE;
    value_id end = NO_VALUE;
    if (limit.limit >= 0)
        end = emit_index(e, lite_in(o, limit.limit));
    else if (tensor_ints(limit.constant, &number, 1))
        end = emit_number(e, number);
    value_id start = emit_index(e, lite_in(o, limit.counter));
    return end == NO_VALUE || start == NO_VALUE ? NO_VALUE : emit_2(e, "Sub", end, start, NO_VALUE);
}

static void map_while(lite *l, const lite_op *o, const char *canonical)
{
    lite_body body = {.is_loop = true};
    graph *g = ARENA_NEW(l->e.b->arena, graph);
    value_id *inputs = ARENA_ARRAY(l->e.b->arena, value_id, (size_t)o->in_count + 2);
    inputs[0] = trip_count(l, o);
    lite_subgraph(l, flat_int32(o->options, 1, 0), g, &body);
    for (int i = 0; i < o->in_count; i++)
        inputs[2 + i] = o->in[i];
    inputs[1] = emit_scalar(&l->e, DT_BOOL, 1);
    emit_graph(emit_many(&l->e, canonical, inputs, o->in_count + 2, o->out, o->out_count), "body", g);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    lite_mapper *map;
    const char *canonical;
} OPERATORS[] = {
    [0] = {"ADD", map_activated, "Add"},
    [1] = {"AVERAGE_POOL_2D", lite_map_pool, "AveragePool"},
    [2] = {"CONCATENATION", map_concat, "Concat"},
    [3] = {"CONV_2D", lite_map_conv, "Conv"},
    [4] = {"DEPTHWISE_CONV_2D", lite_map_depthwise_conv, "Conv"},
    [5] = {"DEPTH_TO_SPACE", lite_map_blocks, "DepthToSpace"},
    [6] = {"DEQUANTIZE", map_dequantize, "DequantizeLinear"},
    [7] = {"EMBEDDING_LOOKUP", map_embedding, "Gather"},
    [8] = {"FLOOR", map_plain, "Floor"},
    [9] = {"FULLY_CONNECTED", lite_map_fully_connected, NULL},
    [10] = {"HASHTABLE_LOOKUP", NULL, NULL},
    [11] = {"L2_NORMALIZATION", lite_map_l2_norm, "LpNormalization"},
    [12] = {"L2_POOL_2D", lite_map_pool, "LpPool"},
    [13] = {"LOCAL_RESPONSE_NORMALIZATION", lite_map_lrn, "LRN"},
    [14] = {"LOGISTIC", map_plain, "Sigmoid"},
    [15] = {"LSH_PROJECTION", NULL, NULL},
    [16] = {"LSTM", NULL, NULL},
    [17] = {"MAX_POOL_2D", lite_map_pool, "MaxPool"},
    [18] = {"MUL", map_activated, "Mul"},
    [19] = {"RELU", map_plain, "Relu"},
    [20] = {"RELU_N1_TO_1", map_clip, "-1"},
    [21] = {"RELU6", map_clip, "6"},
    [22] = {"RESHAPE", map_reshape, "Reshape"},
    [23] = {"RESIZE_BILINEAR", lite_map_resize, "linear"},
    [24] = {"RNN", NULL, NULL},
    [25] = {"SOFTMAX", map_softmax, "Softmax"},
    [26] = {"SPACE_TO_DEPTH", lite_map_blocks, "SpaceToDepth"},
    [27] = {"SVDF", lite_map_svdf, NULL},
    [28] = {"TANH", map_plain, "Tanh"},
    [29] = {"CONCAT_EMBEDDINGS", NULL, NULL},
    [30] = {"SKIP_GRAM", NULL, NULL},
    [31] = {"CALL", NULL, NULL},
    [32] = {"CUSTOM", NULL, NULL},
    [33] = {"EMBEDDING_LOOKUP_SPARSE", NULL, NULL},
    [34] = {"PAD", map_pad, "Pad"},
    [35] = {"UNIDIRECTIONAL_SEQUENCE_RNN", NULL, NULL},
    [36] = {"GATHER", map_gather, "Gather"},
    [37] = {"BATCH_TO_SPACE_ND", map_batch_to_space, NULL},
    [38] = {"SPACE_TO_BATCH_ND", map_space_to_batch, NULL},
    [39] = {"TRANSPOSE", map_transpose, NULL},
    [40] = {"MEAN", map_reduce, "ReduceMean"},
    [41] = {"SUB", map_activated, "Sub"},
    [42] = {"DIV", map_activated, "Div"},
    [43] = {"SQUEEZE", map_squeeze, "Squeeze"},
    [44] = {"UNIDIRECTIONAL_SEQUENCE_LSTM", lite_map_sequence_lstm, "LSTM"},
    [45] = {"STRIDED_SLICE", map_strided_slice, NULL},
    [46] = {"BIDIRECTIONAL_SEQUENCE_RNN", NULL, NULL},
    [47] = {"EXP", map_plain, "Exp"},
    [48] = {"TOPK_V2", map_top_k, "TopK"},
    [49] = {"SPLIT", map_split, NULL},
    [50] = {"LOG_SOFTMAX", map_softmax, "LogSoftmax"},
    [51] = {"DELEGATE", NULL, NULL},
    [52] = {"BIDIRECTIONAL_SEQUENCE_LSTM", NULL, NULL},
    [53] = {"CAST", map_cast, NULL},
    [54] = {"PRELU", map_prelu, "PRelu"},
    [55] = {"MAXIMUM", map_plain, "Max"},
    [56] = {"ARG_MAX", map_arg, "ArgMax"},
    [57] = {"MINIMUM", map_plain, "Min"},
    [58] = {"LESS", map_plain, "Less"},
    [59] = {"NEG", map_plain, "Neg"},
    [60] = {"PADV2", map_pad, "Pad"},
    [61] = {"GREATER", map_plain, "Greater"},
    [62] = {"GREATER_EQUAL", map_plain, "GreaterOrEqual"},
    [63] = {"LESS_EQUAL", map_plain, "LessOrEqual"},
    [64] = {"SELECT", map_plain, "Where"},
    [65] = {"SLICE", map_slice, NULL},
    [66] = {"SIN", map_plain, "Sin"},
    [67] = {"TRANSPOSE_CONV", lite_map_transpose_conv, "ConvTranspose"},
    [68] = {"SPARSE_TO_DENSE", NULL, NULL},
    [69] = {"TILE", map_index_second, "Tile"},
    [70] = {"EXPAND_DIMS", map_expand_dims, "Unsqueeze"},
    [71] = {"EQUAL", map_plain, "Equal"},
    [72] = {"NOT_EQUAL", map_not_equal, NULL},
    [73] = {"LOG", map_plain, "Log"},
    [74] = {"SUM", map_reduce, "ReduceSum"},
    [75] = {"SQRT", map_plain, "Sqrt"},
    [76] = {"RSQRT", map_rsqrt, NULL},
    [77] = {"SHAPE", map_shape, "Shape"},
    [78] = {"POW", map_plain, "Pow"},
    [79] = {"ARG_MIN", map_arg, "ArgMin"},
    [80] = {"FAKE_QUANT", map_plain, "Identity"},
    [81] = {"REDUCE_PROD", map_reduce, "ReduceProd"},
    [82] = {"REDUCE_MAX", map_reduce, "ReduceMax"},
    [83] = {"PACK", map_pack, NULL},
    [84] = {"LOGICAL_OR", map_plain, "Or"},
    [85] = {"ONE_HOT", map_one_hot, "OneHot"},
    [86] = {"LOGICAL_AND", map_plain, "And"},
    [87] = {"LOGICAL_NOT", map_plain, "Not"},
    [88] = {"UNPACK", map_unpack, NULL},
    [89] = {"REDUCE_MIN", map_reduce, "ReduceMin"},
    [90] = {"FLOOR_DIV", map_floor_div, NULL},
    [91] = {"REDUCE_ANY", map_reduce, "ReduceMax"},
    [92] = {"SQUARE", map_square, NULL},
    [93] = {"ZEROS_LIKE", map_zeros_like, NULL},
    [94] = {"FILL", map_fill, "Expand"},
    [95] = {"FLOOR_MOD", map_plain, "Mod"},
    [96] = {"RANGE", map_plain, "Range"},
    [97] = {"RESIZE_NEAREST_NEIGHBOR", lite_map_resize, "nearest"},
    [98] = {"LEAKY_RELU", map_leaky_relu, "LeakyRelu"},
    [99] = {"SQUARED_DIFFERENCE", map_squared_difference, NULL},
    [100] = {"MIRROR_PAD", map_mirror_pad, "Pad"},
    [101] = {"ABS", map_plain, "Abs"},
    [102] = {"SPLIT_V", map_split_v, NULL},
    [103] = {"UNIQUE", NULL, NULL},
    [104] = {"CEIL", map_plain, "Ceil"},
    [105] = {"REVERSE_V2", map_reverse, NULL},
    [106] = {"ADD_N", map_plain, "Sum"},
    [107] = {"GATHER_ND", map_index_second, "GatherND"},
    [108] = {"COS", map_plain, "Cos"},
    [109] = {"WHERE", map_where, NULL},
    [110] = {"RANK", map_rank, NULL},
    [111] = {"ELU", map_plain, "Elu"},
    [112] = {"REVERSE_SEQUENCE", NULL, NULL},
    [113] = {"MATRIX_DIAG", NULL, NULL},
    [114] = {"QUANTIZE", map_quantize, "QuantizeLinear"},
    [115] = {"MATRIX_SET_DIAG", NULL, NULL},
    [116] = {"ROUND", map_plain, "Round"},
    [117] = {"HARD_SWISH", map_plain, "HardSwish"},
    [118] = {"IF", map_if, "If"},
    [119] = {"WHILE", map_while, "Loop"},
    [120] = {"NON_MAX_SUPPRESSION_V4", NULL, NULL},
    [121] = {"NON_MAX_SUPPRESSION_V5", NULL, NULL},
    [122] = {"SCATTER_ND", map_scatter_nd, "ScatterND"},
    [123] = {"SELECT_V2", map_plain, "Where"},
    [124] = {"DENSIFY", map_plain, "Identity"},
    [125] = {"SEGMENT_SUM", NULL, NULL},
    [126] = {"BATCH_MATMUL", lite_map_batch_matmul, "MatMul"},
    [128] = {"CUMSUM", map_cumsum, "CumSum"},
    [129] = {"CALL_ONCE", NULL, NULL},
    [130] = {"BROADCAST_TO", map_index_second, "Expand"},
    [131] = {"RFFT2D", NULL, NULL},
    [132] = {"CONV_3D", lite_map_conv_3d, "Conv"},
    [133] = {"IMAG", NULL, NULL},
    [134] = {"REAL", NULL, NULL},
    [135] = {"COMPLEX_ABS", NULL, NULL},
    [136] = {"HASHTABLE", NULL, NULL},
    [137] = {"HASHTABLE_FIND", NULL, NULL},
    [138] = {"HASHTABLE_IMPORT", NULL, NULL},
    [139] = {"HASHTABLE_SIZE", NULL, NULL},
    [140] = {"REDUCE_ALL", map_reduce, "ReduceMin"},
    [141] = {"CONV_3D_TRANSPOSE", lite_map_transpose_conv_3d, "ConvTranspose"},
    [142] = {"VAR_HANDLE", NULL, NULL},
    [143] = {"READ_VARIABLE", NULL, NULL},
    [144] = {"ASSIGN_VARIABLE", NULL, NULL},
    [145] = {"BROADCAST_ARGS", NULL, NULL},
    [146] = {"RANDOM_STANDARD_NORMAL", NULL, NULL},
    [147] = {"BUCKETIZE", NULL, NULL},
    [148] = {"RANDOM_UNIFORM", NULL, NULL},
    [149] = {"MULTINOMIAL", NULL, NULL},
    [150] = {"GELU", map_gelu, "Gelu"},
    [151] = {"DYNAMIC_UPDATE_SLICE", NULL, NULL},
    [152] = {"RELU_0_TO_1", map_clip, "1"},
    [153] = {"UNSORTED_SEGMENT_PROD", NULL, NULL},
    [154] = {"UNSORTED_SEGMENT_MAX", NULL, NULL},
    [155] = {"UNSORTED_SEGMENT_SUM", NULL, NULL},
    [156] = {"ATAN2", NULL, NULL},
    [157] = {"UNSORTED_SEGMENT_MIN", NULL, NULL},
    [158] = {"SIGN", map_plain, "Sign"},
    [159] = {"BITCAST", NULL, NULL},
    [160] = {"BITWISE_XOR", map_plain, "BitwiseXor"},
    [161] = {"RIGHT_SHIFT", map_plain, "BitShift"},
};

void lite_map(lite *l, const lite_op *o)
{
    enum { CUSTOM = 32 };
    bool has_row = o->code >= 0 && o->code < (int64_t)(sizeof OPERATORS / sizeof *OPERATORS) && OPERATORS[o->code].name;
    bool is_whole = o->in_count > 0 && o->in[0] != NO_VALUE && o->out_count > 0 && o->out[0] != NO_VALUE;
    if (has_row && OPERATORS[o->code].map && is_whole) {
        OPERATORS[o->code].map(l, o, OPERATORS[o->code].canonical);
        return;
    }
    str type =
        has_row ? str_of(OPERATORS[o->code].name) : arena_printf(l->e.b->arena, "BUILTIN_%lld", (long long)o->code);
    if (o->code == CUSTOM && o->custom.len)
        type = o->custom;
    emit_foreign(&l->e, STR("tflite"), type, o->in, o->in_count, o->out, o->out_count);
}
