/* keras_recurrent.c: maps Keras's recurrent layers: LSTM, GRU, SimpleRNN, their cells in RNN, Bidirectional,
 * ConvLSTM. */
#include "front/keras/keras.h"

typedef struct cell {
    const char *op;
    int gates;
} cell;

static bool cell_of(str class_name, cell *result)
{
    static const struct {
        const char *name, *op;
        int gates;
    } CELLS[] = {{"LSTM", "LSTM", 4},    {"GRU", "GRU", 3},       {"SimpleRNN", "RNN", 1}, {"CuDNNLSTM", "LSTM", 4},
                 {"CuDNNGRU", "GRU", 3}, {"LSTMCell", "LSTM", 4}, {"GRUCell", "GRU", 3},   {"SimpleRNNCell", "RNN", 1}};
    for (size_t i = 0; i < sizeof CELLS / sizeof *CELLS; i++)
        if (str_is(class_name, CELLS[i].name)) {
            *result = (cell){CELLS[i].op, CELLS[i].gates};
            return true;
        }
    return false;
}

/* If the reset gate comes after the product, a GRU has a second bias, for the state. */
static bool has_second_bias(const keras_call *c, cell k)
{
    return k.gates == 3 && (keras_bool(c, "reset_after", NULL, false) || str_is(c->class_name, "CuDNNGRU"));
}

static bool fill_weights(keras_call *c, cell k, num width, int directions, emit_recurrent *r)
{
    int64_t units = keras_int(c, "units", "output_dim", 0), gates;
    if (!dim_known(width) || units < 1 || units > INT32_MAX || __builtin_mul_overflow(units, k.gates, &gates))
        return false;
    *r = (emit_recurrent){.op = k.op, .hidden = units, .directions = directions, .b = NO_VALUE};
    r->w = keras_weight(c, "kernel", 3, (const int64_t[]){directions, gates, width});
    r->r = keras_weight(c, "recurrent_kernel", 3, (const int64_t[]){directions, gates, units});
    if (!keras_bool(c, "use_bias", NULL, true))
        return true;
    if (has_second_bias(c, k)) {
        r->linear_before_reset = true;
        r->b = keras_weight(c, "bias", 2, (const int64_t[]){directions, 2 * gates});
    } else {
        r->b =
            emit_gate_bias(c->e, keras_weight(c, "bias", 2, (const int64_t[]){directions, gates}), gates, directions);
    }
    return true;
}

/* Initial states (batch, H) as (1, batch, H). */
static void read_states(keras_call *c, value_id *states)
{
    for (int i = 0; i < 2; i++)
        states[i] =
            c->in_count > 1 + i ? emit_unsqueeze(c->e, c->in[1 + i], (const int64_t[]){0}, 1, NO_VALUE) : NO_VALUE;
}

static bool one_direction(keras_call *c, cell k, const keras_call *layer, bool go_backwards)
{
    emit_recurrent r;
    value_id initial[2], finals[2] = {NO_VALUE, NO_VALUE};
    if (!fill_weights(c, k, keras_dim(c, c->in[0], -1), 1, &r))
        return false;
    bool returns_state = keras_bool(layer, "return_state", NULL, false);
    r.last_only = !keras_bool(layer, "return_sequences", NULL, false);
    r.go_backwards = go_backwards;
    r.time_major = keras_bool(layer, "time_major", NULL, false);
    read_states(c, initial);
    for (int i = 0; returns_state && i < (k.gates == 4 ? 2 : 1); i++)
        finals[i] = emit_temp(c->e);
    emit_recurrent_layer(c->e, c->in[0], &r, initial, c->out, finals);
    for (int i = 0; i < 2; i++)
        if (finals[i] != NO_VALUE)
            c->results[1 + i] = emit_squeeze(c->e, finals[i], (const int64_t[]){0}, 1, NO_VALUE);
    return true;
}

/* Runs both directions, and concatenates their results or merges them in another way. */
static bool both_directions(keras_call *c)
{
    keras_call inner = *c;
    const json_node *wrapped = json_get(c->config, "layer");
    str mode = keras_text(c, "merge_mode", NULL);
    cell k;
    emit_recurrent r;
    inner.class_name = json_text(json_get(wrapped, "class_name"));
    inner.config = json_get(wrapped, "config");
    if (!cell_of(inner.class_name, &k))
        return false;
    if (mode.len == 0 || str_is(mode, "concat")) {
        if (!fill_weights(&inner, k, keras_dim(c, c->in[0], -1), 2, &r))
            return false;
        r.last_only = !keras_bool(&inner, "return_sequences", NULL, false);
        emit_recurrent_layer(c->e, c->in[0], &r, NULL, c->out, NULL);
        return true;
    }
    value_id sides[2], results[KERAS_MAX_RESULTS];
    for (int i = 0; i < 2; i++) {
        keras_call side = inner;
        side.path = keras_joined(c->e->b->arena, c->path, i == 0 ? STR("forward") : STR("backward"));
        side.out = sides[i] = emit_temp(c->e);
        side.results = results;
        side.in_count = 1;
        if (!one_direction(&side, k, &inner, i == 1))
            return false;
    }
    emit_2(c->e, str_is(mode, "mul") ? "Mul" : str_is(mode, "ave") ? "Mean" : "Add", sides[0], sides[1], c->out);
    return true;
}

/* Maps RNN, which contains one cell or a list of cells. */
static bool wrapped_cells(keras_call *c)
{
    const json_node *outer = json_get(c->config, "cell"), *cells = json_get(json_get(outer, "config"), "cells");
    const json_node *x = cells ? json_first(cells) : outer;
    value_id in = c->in[0], results[KERAS_MAX_RESULTS];
    int place = 0;
    for (; x; x = cells ? x->next : NULL, place++) {
        keras_call inner = *c;
        cell k;
        bool is_last = !cells || !x->next;
        inner.class_name = json_text(json_get(x, "class_name"));
        inner.config = json_get(x, "config");
        inner.path = keras_joined(c->e->b->arena, c->path, arena_printf(c->e->b->arena, "cell_%d", place));
        inner.in = &in;
        inner.in_count = 1;
        inner.results = results;
        inner.out = is_last ? c->out : emit_temp(c->e);
        emit_recurrent r;
        if (!cell_of(inner.class_name, &k) || !fill_weights(&inner, k, keras_dim(c, in, -1), 1, &r))
            return false;
        r.last_only = is_last && !keras_bool(c, "return_sequences", NULL, false);
        emit_recurrent_layer(c->e, in, &r, NULL, inner.out, NULL);
        in = inner.out;
    }
    return place > 0;
}

/* ConvLSTM on (N, T, H, W, C). Convolutions run for all steps at once, which is the same work as step by step. */
static bool conv_lstm(keras_call *c)
{
    emitter *e = c->e;
    num dims[MAX_RANK], inner[MAX_RANK];
    int64_t kernel[2] = {3, 3}, strides[2] = {1, 1}, filters = keras_int(c, "filters", "nb_filter", 0), gates;
    if (keras_shape(c, c->in[0], dims) != 5 || keras_channels_first(c) || !dim_known(dims[1]) || !dim_known(dims[2]) ||
        !dim_known(dims[3]) || !dim_known(dims[4]) || __builtin_mul_overflow(filters, 4, &gates))
        return false;
    if (keras_ints(json_get(c->config, "kernel_size"), kernel, 2) == 1)
        kernel[1] = kernel[0];
    if (keras_ints(json_get(c->config, "strides"), strides, 2) == 1)
        strides[1] = strides[0];
    for (int i = 0; i < 2; i++)
        if (kernel[i] < 1 || strides[i] < 1)
            return false;
    emit_window w = {.axes = 2,
                     .strides = {strides[0], strides[1]},
                     .dilations = {1, 1},
                     .group = 1,
                     .padding = str_is(keras_text(c, "padding", "border_mode"), "same") ? EMIT_SAME : EMIT_VALID};
    emit_window state = {.axes = 2, .strides = {1, 1}, .dilations = {1, 1}, .group = 1, .padding = EMIT_SAME};
    value_id frames = emit_reshaped(e, c->in[0], (const int64_t[]){-1, dims[2], dims[3], dims[4]}, 4, NO_VALUE);
    value_id own = keras_weight(c, "kernel", 4, (const int64_t[]){gates, dims[4], kernel[0], kernel[1]});
    value_id recurrent =
        keras_weight(c, "recurrent_kernel", 4, (const int64_t[]){gates, filters, kernel[0], kernel[1]});
    value_id bias = keras_bool(c, "use_bias", NULL, true) ? keras_weight(c, "bias", 1, &gates) : NO_VALUE;
    value_id x = emit_conv(e, "Conv", frames, own, bias, &w, NO_VALUE)->outputs[0];
    value_id parts[4] = {emit_temp(e), emit_temp(e), emit_temp(e), emit_temp(e)};
    node *split = emit_many(e, "Split", &x, 1, parts, 4);
    emit_int(split, "axis", -1);
    emit_int(split, "num_outputs", 4);
    value_id h = emit_conv(e, "Conv", parts[0], recurrent, NO_VALUE, &state, NO_VALUE)->outputs[0];
    value_id sum = emit_2(e, "Add", x, h, NO_VALUE), gate[4] = {emit_temp(e), emit_temp(e), emit_temp(e), emit_temp(e)};
    split = emit_many(e, "Split", &sum, 1, gate, 4);
    emit_int(split, "axis", -1);
    emit_int(split, "num_outputs", 4);
    value_id kept =
        emit_2(e, "Mul", emit_1(e, "Sigmoid", gate[0], NO_VALUE), emit_1(e, "Tanh", gate[2], NO_VALUE), NO_VALUE);
    value_id cells = emit_2(e, "Add", kept, emit_1(e, "Sigmoid", gate[1], NO_VALUE), NO_VALUE);
    value_id y =
        emit_2(e, "Mul", emit_1(e, "Tanh", cells, NO_VALUE), emit_1(e, "Sigmoid", gate[3], NO_VALUE), NO_VALUE);
    if (keras_shape(c, y, inner) != 4 || !dim_known(inner[1]) || !dim_known(inner[2]))
        return false;
    bool all = keras_bool(c, "return_sequences", NULL, false);
    const int64_t target[] = {-1, dims[1], inner[1], inner[2], filters};
    value_id steps = emit_reshaped(e, y, target, 5, all ? c->out : NO_VALUE);
    if (!all) {
        node *last = emit_op(e, "Gather", (const value_id[]){steps, emit_number(e, -1)}, 2, c->out);
        emit_int(last, "axis", 1);
    }
    return true;
}

bool keras_recurrent(keras_call *c)
{
    cell k;
    bool is_done;
    if (cell_of(c->class_name, &k) && !str_ends(c->class_name, "Cell"))
        is_done = one_direction(c, k, c, keras_bool(c, "go_backwards", NULL, false));
    else if (str_is(c->class_name, "Bidirectional"))
        is_done = both_directions(c);
    else if (str_is(c->class_name, "RNN"))
        is_done = wrapped_cells(c);
    else if (str_is(c->class_name, "ConvLSTM2D"))
        is_done = conv_lstm(c);
    else
        return false;
    if (!is_done)
        keras_foreign(c);
    return true;
}
