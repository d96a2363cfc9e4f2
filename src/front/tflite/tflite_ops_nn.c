/* tflite_ops_nn.c: maps TFLite's layers to canonical operators: convolutions, pools, products, recurrent cells.
 * Option fields are numbered as in the schema. */
#include "front/tflite/tflite.h"

/* ---- convolution and pooling ----------------------------------------------------------------------------------- */

static int64_t positive(int64_t x)
{
    return x > 0 ? x : 1;
}

static emit_window window_of(const lite_op *o, int padding, int stride_w, int stride_h)
{
    return (emit_window){
        .axes = 2,
        .strides = {positive(flat_int32(o->options, stride_h, 0)), positive(flat_int32(o->options, stride_w, 0))},
        .dilations = {1, 1},
        .padding = flat_int8(o->options, padding, 0) == 0 ? EMIT_SAME : EMIT_VALID,
        .group = 1,
    };
}

static int64_t channels_of(const value *v)
{
    return v->rank > 0 && dim_known(v->dims[v->rank - 1]) ? v->dims[v->rank - 1] : 0;
}

void lite_map_conv(lite *l, const lite_op *o, const char *canonical)
{
    emit_window w = window_of(o, 0, 1, 2);
    int64_t activation = flat_int8(o->options, 3, 0);
    w.dilations[0] = positive(flat_int32(o->options, 5, 1));
    w.dilations[1] = positive(flat_int32(o->options, 4, 1));
    int64_t read = channels_of(lite_declared(l, lite_in(o, 1))), given = channels_of(lite_declared(l, lite_in(o, 0)));
    w.group = read > 0 && given > read && given % read == 0 ? given / read : 1;
    value_id weight = emit_permuted(&l->e, lite_in(o, 1), (const int64_t[]){0, 3, 1, 2}, 4);
    value_id y = lite_before_activation(l, o, activation);
    emit_conv(&l->e, canonical, lite_in(o, 0), weight, lite_in(o, 2), &w, y);
    lite_activate(l, o, activation, y);
}

void lite_map_depthwise_conv(lite *l, const lite_op *o, const char *canonical)
{
    emit_window w = window_of(o, 0, 1, 2);
    int64_t activation = flat_int8(o->options, 4, 0);
    w.dilations[0] = positive(flat_int32(o->options, 6, 1));
    w.dilations[1] = positive(flat_int32(o->options, 5, 1));
    w.group = positive(channels_of(lite_declared(l, lite_in(o, 0))));
    /* (1, h, w, C·multiplier) */
    value_id weight = emit_permuted(&l->e, lite_in(o, 1), (const int64_t[]){3, 0, 1, 2}, 4);
    value_id y = lite_before_activation(l, o, activation);
    emit_conv(&l->e, canonical, lite_in(o, 0), weight, lite_in(o, 2), &w, y);
    lite_activate(l, o, activation, y);
}

/* Inputs: output shape, weights (M, h, w, C), x, bias. */
void lite_map_transpose_conv(lite *l, const lite_op *o, const char *canonical)
{
    emit_window w = window_of(o, 0, 1, 2);
    int64_t activation = flat_int8(o->options, 3, 0), shape[4];
    value_id weight = emit_permuted(&l->e, lite_in(o, 1), (const int64_t[]){3, 0, 1, 2}, 4);
    value_id y = lite_before_activation(l, o, activation);
    node *n = emit_conv(&l->e, canonical, lite_in(o, 2), weight, lite_in(o, 3), &w, y);
    if (emit_known_ints(&l->e, lite_in(o, 0), shape, 4) == 4)
        emit_ints(&l->e, n, "output_shape", shape + 1, 2);
    lite_activate(l, o, activation, y);
}

static emit_window window_3d(const lite_op *o)
{
    emit_window w = {.axes = 3, .group = 1, .padding = flat_int8(o->options, 0, 0) == 0 ? EMIT_SAME : EMIT_VALID};
    static const int STRIDES[] = {1, 3, 2}, DILATIONS[] = {5, 7, 6};
    for (int i = 0; i < 3; i++) {
        w.strides[i] = positive(flat_int32(o->options, STRIDES[i], 0));
        w.dilations[i] = positive(flat_int32(o->options, DILATIONS[i], 1));
    }
    return w;
}

/* Weights (d, h, w, C, M). */
void lite_map_conv_3d(lite *l, const lite_op *o, const char *canonical)
{
    emit_window w = window_3d(o);
    int64_t activation = flat_int8(o->options, 4, 0);
    value_id weight = emit_permuted(&l->e, lite_in(o, 1), (const int64_t[]){4, 3, 0, 1, 2}, 5);
    value_id y = lite_before_activation(l, o, activation);
    emit_conv(&l->e, canonical, lite_in(o, 0), weight, lite_in(o, 2), &w, y);
    lite_activate(l, o, activation, y);
}

/* Inputs: output shape, weights (d, h, w, M, C), x, bias. */
void lite_map_transpose_conv_3d(lite *l, const lite_op *o, const char *canonical)
{
    emit_window w = window_3d(o);
    int64_t activation = flat_int8(o->options, 4, 0), shape[5];
    value_id weight = emit_permuted(&l->e, lite_in(o, 1), (const int64_t[]){4, 3, 0, 1, 2}, 5);
    value_id y = lite_before_activation(l, o, activation);
    node *n = emit_conv(&l->e, canonical, lite_in(o, 2), weight, lite_in(o, 3), &w, y);
    if (emit_known_ints(&l->e, lite_in(o, 0), shape, 5) == 5)
        emit_ints(&l->e, n, "output_shape", shape + 1, 3);
    lite_activate(l, o, activation, y);
}

void lite_map_pool(lite *l, const lite_op *o, const char *canonical)
{
    emit_window w = window_of(o, 0, 1, 2);
    int64_t activation = flat_int8(o->options, 5, 0);
    w.kernel[0] = positive(flat_int32(o->options, 4, 0));
    w.kernel[1] = positive(flat_int32(o->options, 3, 0));
    value_id y = lite_before_activation(l, o, activation);
    emit_pool(&l->e, canonical, lite_in(o, 0), &w, y);
    lite_activate(l, o, activation, y);
}

void lite_map_blocks(lite *l, const lite_op *o, const char *canonical)
{
    node *n = emit_op(&l->e, canonical, o->in, 1, lite_out(o, 0));
    emit_int(n, "blocksize", flat_int32(o->options, 0, 0));
    emit_int(n, "channels_last", 1);
}

void lite_map_resize(lite *l, const lite_op *o, const char *mode)
{
    emit_resize(&l->e, mode, lite_in(o, 0), lite_in(o, 1), false, lite_out(o, 0));
}

void lite_map_lrn(lite *l, const lite_op *o, const char *canonical)
{
    node *n = emit_op(&l->e, canonical, o->in, 1, lite_out(o, 0));
    emit_int(n, "size", 2 * (flat_int32(o->options, 0, 0) & 0xffff) + 1);
    emit_int(n, "channels_last", 1);
}

void lite_map_l2_norm(lite *l, const lite_op *o, const char *canonical)
{
    int64_t activation = flat_int8(o->options, 0, 0);
    value_id y = lite_before_activation(l, o, activation);
    node *n = emit_op(&l->e, canonical, o->in, 1, y);
    emit_int(n, "axis", -1);
    emit_int(n, "p", 2);
    lite_activate(l, o, activation, y);
}

/* ---- matrix products ------------------------------------------------------------------------------------------- */

/* Weights are (out, in). x is flattened to rows unless the options keep its dimensions. */
void lite_map_fully_connected(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    int64_t activation = flat_int8(o->options, 0, 0);
    const value *x = lite_declared(l, lite_in(o, 0)), *weight = lite_declared(l, lite_in(o, 1));
    bool keeps = flat_uint8(o->options, 2, 0) != 0 && x->rank != 2;
    value_id rows = lite_in(o, 0), y = lite_before_activation(l, o, activation);
    int64_t width = weight->rank == 2 && dim_known(weight->dims[1]) ? weight->dims[1] : -1;
    bool is_rows = x->rank == 2 && x->dims[1] == width;
    if (!keeps && !is_rows && width > 0)
        rows = emit_reshaped(&l->e, rows, (const int64_t[]){-1, width}, 2, NO_VALUE);
    if (!keeps) {
        emit_int(emit_op(&l->e, "Gemm", (const value_id[]){rows, lite_in(o, 1), lite_in(o, 2)}, 3, y), "transB", 1);
    } else {
        value_id turned = emit_permuted(&l->e, lite_in(o, 1), (const int64_t[]){1, 0}, 2), bias = lite_in(o, 2);
        value_id product = emit_2(&l->e, "MatMul", rows, turned, bias == NO_VALUE ? y : NO_VALUE);
        if (bias != NO_VALUE)
            emit_2(&l->e, "Add", product, bias, y);
    }
    lite_activate(l, o, activation, y);
}

void lite_map_batch_matmul(lite *l, const lite_op *o, const char *canonical)
{
    value_id a = emit_turned(&l->e, lite_in(o, 0), flat_uint8(o->options, 0, 0) != 0);
    value_id b = emit_turned(&l->e, lite_in(o, 1), flat_uint8(o->options, 1, 0) != 0);
    emit_2(&l->e, canonical, a, b, lite_out(o, 0));
}

/* SVDF: a first matrix computes features, and a second one weights each feature over the time steps in its state. A
 * unit is the sum of `rank` features. */
void lite_map_svdf(lite *l, const lite_op *o, const char *unused)
{
    (void)unused;
    emitter *e = &l->e;
    const value *time = lite_declared(l, lite_in(o, 2));
    int64_t rank = positive(flat_int32(o->options, 0, 1)), activation = flat_int8(o->options, 1, 0);
    int64_t filters = time->rank == 2 ? time->dims[0] : 1, memory = time->rank == 2 ? time->dims[1] : 1;
    node *features = emit_op(e, "Gemm", (const value_id[]){lite_in(o, 0), lite_in(o, 1)}, 2, NO_VALUE);
    emit_int(features, "transB", 1);
    value_id feature = emit_unsqueeze(e, features->outputs[0], (const int64_t[]){2}, 1, NO_VALUE);
    value_id state = emit_reshaped(e, lite_in(o, 4), (const int64_t[]){-1, filters, memory}, 3, NO_VALUE);
    value_id seen = emit_2(e, "Add", state, feature, NO_VALUE);
    value_id weighted = emit_2(e, "Mul", seen, lite_in(o, 2), NO_VALUE);
    value_id sums =
        emit_reduce(e, "ReduceSum", weighted, emit_list(e, (const int64_t[]){2}, 1), false, NO_VALUE)->outputs[0];
    value_id units = emit_reshaped(e, sums, (const int64_t[]){-1, filters / rank, rank}, 3, NO_VALUE);
    bool has_bias = lite_in(o, 3) != NO_VALUE;
    value_id y = lite_before_activation(l, o, activation);
    value_id out =
        emit_reduce(e, "ReduceSum", units, emit_list(e, (const int64_t[]){2}, 1), false, has_bias ? NO_VALUE : y)
            ->outputs[0];
    if (has_bias)
        emit_2(e, "Add", out, lite_in(o, 3), y);
    lite_activate(l, o, activation, y);
}

/* ---- recurrent ------------------------------------------------------------------------------------------------- */

/* One direction. From `first` on, the inputs have four input weights, four recurrent weights (first + 4), and biases
 * (first + 11). With coupled input and forget gates there are three of each. ONNX has no projections and peepholes. */
static bool has_plain_gates(lite *l, const lite_op *o, int first, int64_t *hidden, int64_t *width)
{
    const value *w = lite_declared(l, lite_in(o, first + 1)), *r = lite_declared(l, lite_in(o, first + 5));
    if (w->rank != 2 || r->rank != 2 || !w->is_initializer || !r->is_initializer)
        return false;
    *hidden = w->dims[0];
    *width = w->dims[1];
    bool has_peephole = false;
    for (int i = first + 8; i <= first + 10; i++)
        has_peephole |= lite_in(o, i) != NO_VALUE;
    return !has_peephole && r->dims[1] == *hidden && lite_in(o, first) != NO_VALUE;
}

void lite_map_sequence_lstm(lite *l, const lite_op *o, const char *canonical)
{
    emitter *e = &l->e;
    int64_t hidden, width, gates;
    value_id projection = lite_in(o, 16);
    if (!has_plain_gates(l, o, 1, &hidden, &width) || projection != NO_VALUE ||
        __builtin_mul_overflow(hidden, 4, &gates)) {
        emit_foreign(e, STR("tflite"), STR("UNIDIRECTIONAL_SEQUENCE_LSTM"), o->in, o->in_count, o->out, o->out_count);
        return;
    }
    dtype type = lite_declared(l, lite_in(o, 2))->dtype;
    str name = e->name;
    emit_recurrent r = {.op = canonical, .hidden = hidden, .directions = 1};
    r.time_major = flat_uint8(o->options, 3, 0) != 0;
    r.w =
        emit_weight(e, arena_printf(e->b->arena, "%.*s~W", STR_ARG(name)), type, 3, (const int64_t[]){1, gates, width});
    r.r = emit_weight(e, arena_printf(e->b->arena, "%.*s~R", STR_ARG(name)), type, 3,
                      (const int64_t[]){1, gates, hidden});
    value_id bias =
        emit_weight(e, arena_printf(e->b->arena, "%.*s~B", STR_ARG(name)), DT_FLOAT32, 2, (const int64_t[]){1, gates});
    r.b = emit_gate_bias(e, bias, gates, 1);
    emit_recurrent_layer(e, lite_in(o, 0), &r, NULL, lite_out(o, 0), NULL);
}
