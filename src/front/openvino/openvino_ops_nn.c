/* openvino_ops_nn.c: maps OpenVINO layers to canonical operators: convolutions, pools, matrix products, norms,
 * recurrent layers, attention, resizing. The rest is in openvino_ops.c. */
#include "front/openvino/openvino.h"

static value_id in(const named_op *o, int i)
{
    return named_in_at(o, i);
}

static value_id out(const named_op *o)
{
    return named_out_at(o, 0);
}

/* ---- windows --------------------------------------------------------------------------------------------------- */

static void read_sizes(emitter *e, const named_op *o, const char *name, int64_t *to, int axes, int64_t least)
{
    int64_t given[3];
    int count = named_ints(e, o, name, given, 3);
    for (int i = 0; i < axes; i++)
        to[i] = i < count && given[i] >= least ? given[i] : least;
}

int openvino_image_axes(emitter *e, const named_op *o)
{
    int rank = named_declared(e, in(o, 0))->rank;
    return rank >= 3 && rank <= 5 ? rank - 2 : 0;
}

static emit_window window_of(emitter *e, const named_op *o, int axes)
{
    emit_window w = {.axes = axes, .group = 1, .padding = EMIT_PADS, .channels_first = true};
    str automatic = named_text(o, "auto_pad", "explicit");
    read_sizes(e, o, "strides", w.strides, axes, 1);
    read_sizes(e, o, "dilations", w.dilations, axes, 1);
    read_sizes(e, o, "pads_begin", w.pads, axes, 0);
    read_sizes(e, o, "pads_end", w.pads + axes, axes, 0);
    if (str_is(automatic, "same_upper") || str_is(automatic, "SAME_UPPER") || str_is(automatic, "same_lower") ||
        str_is(automatic, "SAME_LOWER"))
        w.padding = EMIT_SAME;
    else if (str_is(automatic, "valid") || str_is(automatic, "VALID"))
        w.padding = EMIT_VALID;
    return w;
}

static void map_conv(emitter *e, const named_op *o, const char *canonical)
{
    int axes = openvino_image_axes(e, o);
    emit_window w = window_of(e, o, axes);
    if (axes)
        emit_conv(e, canonical, in(o, 0), in(o, 1), NO_VALUE, &w, out(o));
    else
        named_foreign(e, "openvino", o);
}

/* Reads the output shape if there is one; from the port if the constant is unavailable. */
static void put_output_size(emitter *e, const named_op *o, node *n, int axes)
{
    int64_t size[3];
    if (named_ints(e, o, "output_padding", size, 3) == axes)
        emit_ints(e, n, "output_padding", size, axes);
    if (in(o, 2) == NO_VALUE)
        return;
    bool known = emit_known_ints(e, in(o, 2), size, 3) == axes;
    const value *y = named_declared(e, out(o));
    for (int i = 0; !known && i < axes && y->rank == axes + 2; i++) {
        size[i] = y->dims[2 + i];
        if (!dim_known(size[i]))
            return;
    }
    if (known || y->rank == axes + 2)
        emit_ints(e, n, "output_shape", size, axes);
}

static void map_conv_transpose(emitter *e, const named_op *o, const char *canonical)
{
    int axes = openvino_image_axes(e, o);
    emit_window w = window_of(e, o, axes);
    if (axes)
        put_output_size(e, o, emit_conv(e, canonical, in(o, 0), in(o, 1), NO_VALUE, &w, out(o)), axes);
    else
        named_foreign(e, "openvino", o);
}

/* (G, M/G, C/G, kernel…) → (M, C/G, kernel…); transposed: (G, C/G, M/G, kernel…) → (C, M/G, kernel…). */
static void map_group_conv(emitter *e, const named_op *o, const char *canonical)
{
    int axes = openvino_image_axes(e, o);
    emit_window w = window_of(e, o, axes);
    int64_t dims[MAX_RANK];
    int rank = openvino_dims(e, in(o, 1), dims);
    int64_t groups = rank > 0 ? dims[0] : 0, rows;
    if (axes == 0 || rank != axes + 3 || groups < 1 || __builtin_mul_overflow(groups, dims[1], &rows)) {
        named_foreign(e, "openvino", o);
        return;
    }
    dims[1] = rows;
    w.group = groups;
    value_id weight = emit_viewed(e, in(o, 1), dims + 1, rank - 1);
    node *n = emit_conv(e, canonical, in(o, 0), weight, NO_VALUE, &w, out(o));
    if (strcmp(canonical, "Conv") != 0)
        put_output_size(e, o, n, axes);
}

static void map_pool(emitter *e, const named_op *o, const char *canonical)
{
    int axes = openvino_image_axes(e, o);
    emit_window w = window_of(e, o, axes);
    read_sizes(e, o, "kernel", w.kernel, axes, 1);
    if (axes == 0) {
        named_foreign(e, "openvino", o);
        return;
    }
    node *n = emit_pool(e, canonical, in(o, 0), &w, out(o));
    if (str_starts(named_text(o, "rounding_type", "floor"), "ceil"))
        emit_int(n, "ceil_mode", 1);
    if (canonical[0] == 'A' && !named_int(e, o, "exclude-pad", 1))
        emit_int(n, "count_include_pad", 1);
}

/* Maps an adaptive pool to fixed windows that give as many outputs as the port declares. */
static void map_adaptive_pool(emitter *e, const named_op *o, const char *canonical)
{
    int axes = openvino_image_axes(e, o);
    const value *x = named_declared(e, in(o, 0)), *y = named_declared(e, out(o));
    emit_window w = {.axes = axes, .group = 1, .padding = EMIT_PADS, .channels_first = true};
    bool is_known = axes > 0 && y->rank == x->rank, is_global = is_known;
    for (int i = 0; is_known && i < axes; i++) {
        num have = x->dims[2 + i], want = y->dims[2 + i];
        is_global = is_global && want == 1;
        is_known = dim_known(have) && dim_known(want) && want > 0 && have >= want;
        w.strides[i] = is_known ? have / want : 1;
        w.kernel[i] = is_known ? have - (want - 1) * w.strides[i] : 1;
        w.dilations[i] = 1;
    }
    if (is_global)
        emit_1(e, canonical[0] == 'A' ? "GlobalAveragePool" : "GlobalMaxPool", in(o, 0), out(o));
    else if (is_known)
        emit_pool(e, canonical, in(o, 0), &w, out(o));
    else
        named_foreign(e, "openvino", o);
}

/* ---- matrix products ------------------------------------------------------------------------------------------- */

static void map_matmul(emitter *e, const named_op *o, const char *canonical)
{
    value_id a = emit_turned(e, in(o, 0), named_true(e, o, "transpose_a"));
    emit_2(e, canonical, a, emit_turned(e, in(o, 1), named_true(e, o, "transpose_b")), out(o));
}

/* Inputs: queries, keys, values, mask, scale. */
static void map_attention(emitter *e, const named_op *o, const char *canonical)
{
    bool has_mask = in(o, 3) != NO_VALUE && named_declared(e, in(o, 3))->rank > 0;
    if (named_declared(e, in(o, 0))->rank != 4) {
        named_foreign(e, "openvino", o);
        return;
    }
    const value_id inputs[4] = {in(o, 0), in(o, 1), in(o, 2), has_mask ? in(o, 3) : NO_VALUE};
    node *n = emit_op(e, canonical, inputs, 4, out(o));
    if (named_true(e, o, "causal"))
        emit_int(n, "is_causal", 1);
}

/* ---- norms ----------------------------------------------------------------------------------------------------- */

/* Inputs are scale, shift, x before version 5, and x first since then. */
static void map_batch_norm(emitter *e, const named_op *o, const char *canonical)
{
    bool is_first = named_declared(e, in(o, 0))->rank > 1;
    const value_id inputs[5] = {in(o, is_first ? 0 : 2), in(o, is_first ? 1 : 0), in(o, is_first ? 2 : 1), in(o, 3),
                                in(o, 4)};
    node *n = emit_op(e, canonical, inputs, 5, out(o));
    emit_real(n, "epsilon", named_real(e, o, named_find(o, "epsilon") ? "epsilon" : "eps", 1e-5));
}

static void map_group_norm(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){in(o, 0), in(o, 1), in(o, 2)}, 3, out(o));
    emit_int(n, "num_groups", named_int(e, o, "num_groups", 1));
    emit_real(n, "epsilon", named_real(e, o, "epsilon", 1e-5));
}

static void map_mvn(emitter *e, const named_op *o, const char *canonical)
{
    int64_t axes[MAX_RANK];
    int count = emit_known_ints(e, in(o, 1), axes, MAX_RANK);
    if (count <= 0) { /* unavailable: assumes the last axis, as in nearly all networks */
        axes[0] = -1;
        count = 1;
    }
    emit_ints(e, emit_op(e, canonical, (const value_id[]){in(o, 0)}, 1, out(o)), "axes", axes, count);
}

static void map_lrn(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){in(o, 0)}, 1, out(o));
    emit_int(n, "size", named_int(e, o, "size", 1));
}

static void map_normalize(emitter *e, const named_op *o, const char *canonical)
{
    int64_t axis;
    node *n = emit_op(e, canonical, (const value_id[]){in(o, 0)}, 1, out(o));
    emit_int(n, "axis", emit_known_int(e, in(o, 1), &axis) ? axis : 1);
    emit_int(n, "p", 2);
}

static void map_prelu(emitter *e, const named_op *o, const char *unused)
{
    (void)unused;
    emit_prelu(e, in(o, 0), in(o, 1), out(o));
}

/* ---- images ---------------------------------------------------------------------------------------------------- */

static void map_blocks(emitter *e, const named_op *o, const char *canonical)
{
    node *n = emit_op(e, canonical, (const value_id[]){in(o, 0)}, 1, out(o));
    emit_int(n, "blocksize", named_int(e, o, "block_size", 1));
    if (canonical[0] == 'D' && str_is(named_text(o, "mode", "blocks_first"), "depth_first"))
        emit_text(n, "mode", STR("CRD"));
}

static const char *resize_mode(str mode)
{
    return str_is(mode, "nearest") ? "nearest" : str_is(mode, "cubic") ? "cubic" : "linear";
}

/* Computes the sizes that the port declares for the known axes, however the operands specify them. */
static value_id scales_and_axes(emitter *e, const named_op *o, int64_t *axes, int *count)
{
    int last = o->in_count - 1, place = 1;
    while (place < last && !dtype_is_float(named_declared(e, in(o, place))->dtype))
        place++;
    const value *scales = named_declared(e, in(o, place)), *x = named_declared(e, in(o, 0));
    *count = place < last ? emit_known_ints(e, in(o, last), axes, MAX_RANK) : x->rank;
    for (int i = 0; place == last && i < x->rank; i++)
        axes[i] = i;
    bool fits = dtype_is_float(scales->dtype) && scales->rank == 1 && *count > 0 && scales->dims[0] == *count;
    return fits ? in(o, place) : NO_VALUE;
}

static void map_interpolate(emitter *e, const named_op *o, const char *canonical)
{
    int64_t sizes[MAX_RANK], axes[MAX_RANK];
    const value *y = named_declared(e, out(o)), *x = named_declared(e, in(o, 0));
    int count = 0;
    bool by_sizes = str_is(named_text(o, "shape_calculation_mode", "sizes"), "sizes");
    for (int i = 0; i < y->rank && x->rank == y->rank; i++)
        if (dim_known(y->dims[i]) && y->dims[i] != x->dims[i]) {
            axes[count] = i;
            sizes[count++] = y->dims[i];
        }
    value_id given = NO_VALUE;
    if (count == 0 && by_sizes) { /* The port has open dimensions, so the operands give the sizes. */
        int last = o->in_count - 1;
        count = last >= 2 ? emit_known_ints(e, in(o, last), axes, MAX_RANK) : 0;
        given = count > 0 ? emit_index_list(e, in(o, 1)) : NO_VALUE;
    } else if (count > 0) {
        given = emit_list(e, sizes, count);
    }
    value_id scales = NO_VALUE;
    if (given == NO_VALUE &&
        !by_sizes) /* version 11 has scales instead of sizes, version 4 after sizes; axes come last */
        scales = scales_and_axes(e, o, axes, &count);
    if (given == NO_VALUE && scales == NO_VALUE) {
        named_foreign(e, "openvino", o);
        return;
    }
    node *n = emit_op(e, canonical, (const value_id[]){in(o, 0), NO_VALUE, scales, given}, 4, out(o));
    emit_text(n, "mode", str_of(resize_mode(named_text(o, "mode", "linear"))));
    emit_ints(e, n, "axes", axes, count);
}

/* ---- recurrent layers ------------------------------------------------------------------------------------------ */

static const int64_t SWAP[] = {1, 0, 2};

/* OpenVINO's (batch, D, H) is ONNX's (D, batch, H). */
/* A state stored in the file is the initial state, not a parameter. */
static value_id swapped(emitter *e, value_id v)
{
    if (v == NO_VALUE)
        return v;
    if (emit_constant_of(e, v))
        build_at(e->b, v)->is_constant_node = true;
    return emit_transpose(e, v, SWAP, 3, NO_VALUE);
}

/* With linear_before_reset the third gate has two biases: (…, its W, its R). ONNX has two for each gate, W's and
 * then R's. */
static value_id gru_bias(emitter *e, value_id bias, int64_t hidden, int directions)
{
    const int64_t lengths[] = {3 * hidden, hidden};
    value_id parts[3] = {emit_temp(e), emit_scalar(e, DT_FLOAT32, 0), emit_temp(e)};
    value_id inputs[] = {bias, emit_list(e, lengths, 2)}, outputs[] = {parts[0], parts[2]};
    emit_int(emit_many(e, "Split", inputs, 2, outputs, 2), "axis", 1);
    parts[1] = emit_2(e, "Expand", parts[1], emit_list(e, (const int64_t[]){directions, 2 * hidden}, 2), NO_VALUE);
    node *n = emit_op(e, "Concat", parts, 3, NO_VALUE);
    emit_int(n, "axis", 1);
    return n->outputs[0];
}

/* Inputs: x, hidden (and cell) state, lengths, W, R, B. x is (batch, time, …), the output (batch, D, time, H). */
static void map_sequence(emitter *e, const named_op *o, const char *canonical)
{
    bool is_lstm = canonical[0] == 'L';
    int first = is_lstm ? 4 : 3, states = is_lstm ? 2 : 1;
    int64_t gates = is_lstm ? 4 : canonical[0] == 'G' ? 3 : 1, hidden = named_int(e, o, "hidden_size", 0);
    const value *w = named_declared(e, in(o, first)), *b = named_declared(e, in(o, first + 2));
    if (w->rank != 3 || b->rank != 2 || !dim_known(w->dims[0]) || w->dims[0] < 1 || w->dims[0] > 2 || hidden < 1 ||
        hidden > INT32_MAX) {
        named_foreign(e, "openvino", o);
        return;
    }
    int directions = (int)w->dims[0];
    str direction = named_text(o, "direction", "forward");
    bool before_reset = named_true(e, o, "linear_before_reset");
    value_id bias = NO_VALUE;
    if (b->dims[1] == gates * hidden)
        bias = emit_gate_bias(e, in(o, first + 2), gates * hidden, directions);
    else if (before_reset && b->dims[1] == 4 * hidden)
        bias = gru_bias(e, in(o, first + 2), hidden, directions);
    value_id inputs[7] = {emit_transpose(e, in(o, 0), SWAP, 3, NO_VALUE),
                          in(o, first),
                          in(o, first + 1),
                          bias,
                          NO_VALUE,
                          swapped(e, in(o, 1)),
                          is_lstm ? swapped(e, in(o, 2)) : NO_VALUE};
    value_id outputs[3] = {emit_temp(e), NO_VALUE, NO_VALUE};
    for (int i = 0; i < states; i++)
        outputs[1 + i] = named_out_at(o, 1 + i) == NO_VALUE ? NO_VALUE : emit_temp(e);
    node *n = emit_many(e, canonical, inputs, 7, outputs, 1 + states);
    emit_int(n, "hidden_size", hidden);
    if (directions == 2 || str_is(direction, "reverse"))
        emit_text(n, "direction", directions == 2 ? STR("bidirectional") : STR("reverse"));
    if (before_reset)
        emit_int(n, "linear_before_reset", 1);
    emit_transpose(e, outputs[0], (const int64_t[]){2, 1, 0, 3}, 4, out(o));
    for (int i = 0; i < states; i++)
        if (outputs[1 + i] != NO_VALUE)
            emit_transpose(e, outputs[1 + i], SWAP, 3, named_out_at(o, 1 + i));
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const openvino_row ROWS[] = {
    {"AdaptiveAvgPool", map_adaptive_pool, "AveragePool"},
    {"AdaptiveMaxPool", map_adaptive_pool, "MaxPool"},
    {"AvgPool", map_pool, "AveragePool"},
    {"BatchNormInference", map_batch_norm, "BatchNormalization"},
    {"Convolution", map_conv, "Conv"},
    {"ConvolutionBackpropData", map_conv_transpose, "ConvTranspose"},
    {"DepthToSpace", map_blocks, "DepthToSpace"},
    {"GRUSequence", map_sequence, "GRU"},
    {"GroupConvolution", map_group_conv, "Conv"},
    {"GroupConvolutionBackpropData", map_group_conv, "ConvTranspose"},
    {"GroupNormalization", map_group_norm, "GroupNormalization"},
    {"Interpolate", map_interpolate, "Resize"},
    {"LRN", map_lrn, "LRN"},
    {"LSTMSequence", map_sequence, "LSTM"},
    {"MVN", map_mvn, "MeanVarianceNormalization"},
    {"MatMul", map_matmul, "MatMul"},
    {"MaxPool", map_pool, "MaxPool"},
    {"NormalizeL2", map_normalize, "LpNormalization"},
    {"PReLU", map_prelu, NULL},
    {"RNNSequence", map_sequence, "RNN"},
    {"ScaledDotProductAttention", map_attention, "Attention"},
    {"SpaceToDepth", map_blocks, "SpaceToDepth"},
};

const openvino_row *openvino_nn_rows(size_t *count)
{
    *count = sizeof ROWS / sizeof *ROWS;
    return ROWS;
}
