/* coreml_net.c: reads CoreML neural networks: a list of layers that contain their weights.
 *
 *   NeuralNetwork       1 layers, 5 arrayInputShapeMapping (1: ranks are exact)
 *   NeuralNetworkLayer  1 name, 2 input, 3 output, 5 outputTensor (1 rank, 2 dimValue), then one field with the layer's
 *   parameters
 *
 * Weights are skipped; their shapes follow from the other parameters. In the first versions all tensors are (N, C,
 * H, W), and an array of one to three dimensions is a row or an image. */
#include "front/coreml/coreml_net.h"

/* ---- parameters ------------------------------------------------------------------------------------------------ */

int64_t layer_int(wire params, uint32_t number, int64_t otherwise)
{
    wire_field f;
    while (wire_next(&params, &f))
        if (f.number == number && f.type == 0)
            otherwise = (int64_t)f.varint;
    return otherwise;
}

double layer_real(wire params, uint32_t number, double otherwise)
{
    wire_field f;
    while (wire_next(&params, &f))
        if (f.number == number && f.type == 5)
            otherwise = wire_float(&f);
    return otherwise;
}

bool layer_has(wire params, uint32_t number)
{
    wire_field f;
    while (wire_next(&params, &f))
        if (f.number == number)
            return true;
    return false;
}

wire layer_inner(wire params, uint32_t number)
{
    wire_field f;
    wire found = {.at = params.end, .end = params.end, .file = params.file, .fail = params.fail};
    while (wire_next(&params, &f))
        if (f.number == number && f.type == 2)
            found = wire_message(&params, &f);
    return found;
}

int layer_ints(wire params, uint32_t number, int64_t *to, int room)
{
    wire_field f;
    int count = 0;
    while (wire_next(&params, &f))
        if (f.number == number) {
            size_t more = wire_ints(&params, &f, to + count, (size_t)(room - count));
            if (more > (size_t)(room - count))
                return -1;
            count += (int)more;
        }
    return count;
}

/* ---- windows --------------------------------------------------------------------------------------------------- */

static void read_sizes(wire params, uint32_t number, int64_t *to)
{
    int64_t given[2];
    int count = layer_ints(params, number, given, 2);
    for (int i = 0; i < 2; i++)
        to[i] = i < count && given[i] > 0 ? given[i] : 1;
}

/* BorderAmounts: 10 borderAmounts (1 startEdgeSize, 2 endEdgeSize), one per axis. */
static void read_borders(wire borders, int64_t pads[4])
{
    wire_field f;
    int axis = 0;
    while (wire_next(&borders, &f))
        if (f.number == 10 && axis < 2) {
            wire edge = wire_message(&borders, &f);
            int64_t from = layer_int(edge, 1, 0), to = layer_int(edge, 2, 0);
            pads[axis] = from > 0 ? from : 0;
            pads[2 + axis++] = to > 0 ? to : 0;
        }
}

static emit_window window_of(wire params, uint32_t stride, uint32_t valid, uint32_t same)
{
    emit_window w = {.axes = 2, .dilations = {1, 1}, .group = 1, .padding = EMIT_PADS, .channels_first = true};
    read_sizes(params, stride, w.strides);
    read_borders(layer_inner(layer_inner(params, valid), 1), w.pads);
    if (layer_has(params, same))
        w.padding = EMIT_SAME;
    return w;
}

static value_id weight(emitter *e, const coreml_layer *l, const char *what, int rank, const int64_t *dims)
{
    return emit_weight(e, arena_printf(e->b->arena, "%.*s/%s", STR_ARG(l->name), what), DT_FLOAT32, rank, dims);
}

static bool is_size(int64_t x)
{
    return x > 0 && x <= INT32_MAX;
}

/* ---- layers with weights ---------------------------------------------------------------------------------------- */

static void write_conv(emitter *e, const coreml_layer *l)
{
    emit_window w = window_of(l->params, 30, 50, 51);
    bool is_turned = layer_int(l->params, 60, 0) != 0;
    int64_t out = layer_int(l->params, 1, 0), channels = layer_int(l->params, 2, 0), shape[2];
    w.group = layer_int(l->params, 10, 1);
    w.group = w.group > 0 ? w.group : 1;
    read_sizes(l->params, 20, w.kernel);
    read_sizes(l->params, 40, w.dilations);
    if (!is_size(out) || !is_size(channels) || (is_turned && out % w.group != 0)) {
        layer_foreign(e, l);
        return;
    }
    const int64_t dims[4] = {is_turned ? channels : out, is_turned ? out / w.group : channels, w.kernel[0],
                             w.kernel[1]};
    value_id kernel = l->in_count > 1 ? layer_in(l, 1) : weight(e, l, "weights", 4, dims);
    value_id bias = layer_int(l->params, 70, 0) ? weight(e, l, "bias", 1, &out) : NO_VALUE;
    node *n = emit_conv(e, is_turned ? "ConvTranspose" : "Conv", layer_in(l, 0), kernel, bias, &w, layer_out(l, 0));
    if (is_turned && layer_ints(l->params, 100, shape, 2) == 2)
        emit_ints(e, n, "output_shape", shape, 2);
}

static void write_pool(emitter *e, const coreml_layer *l)
{
    static const char *const NAMES[] = {"MaxPool", "AveragePool", "LpPool"};
    static const char *const GLOBAL[] = {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"};
    emit_window w = window_of(l->params, 20, 30, 31);
    int64_t type = layer_int(l->params, 1, 0);
    type = type >= 0 && type < 3 ? type : 0;
    if (layer_int(l->params, 60, 0)) {
        emit_1(e, GLOBAL[type], layer_in(l, 0), layer_out(l, 0));
        return;
    }
    read_sizes(l->params, 10, w.kernel);
    bool to_last = layer_has(l->params, 32);
    if (to_last) {
        int64_t pads[2];
        int count = layer_ints(layer_inner(l->params, 32), 10, pads, 2);
        for (int i = 0; i < count; i++)
            w.pads[i] = w.pads[2 + i] = pads[i] > 0 ? pads[i] : 0;
    }
    node *n = emit_pool(e, NAMES[type], layer_in(l, 0), &w, layer_out(l, 0));
    if (to_last)
        emit_int(n, "ceil_mode", 1);
    if (type == 1 && !layer_int(l->params, 50, 0))
        emit_int(n, "count_include_pad", 1);
}

/* A product over the last axis. If ranks are not exact: over the channels of (N, C, 1, 1). */
static void write_inner_product(emitter *e, const coreml_layer *l)
{
    const int64_t dims[2] = {layer_int(l->params, 1, 0), layer_int(l->params, 2, 0)};
    bool has_bias = layer_int(l->params, 10, 0) != 0;
    if (!is_size(dims[0]) || !is_size(dims[1])) {
        layer_foreign(e, l);
        return;
    }
    value_id x = layer_in(l, 0), last = l->is_exact ? layer_out(l, 0) : NO_VALUE;
    if (!l->is_exact)
        x = emit_reshaped(e, x, (const int64_t[]){0, dims[0]}, 2, NO_VALUE);
    value_id y = emit_2(e, "MatMul", x, weight(e, l, "weights", 2, dims), has_bias ? NO_VALUE : last);
    if (has_bias)
        y = emit_2(e, "Add", y, weight(e, l, "bias", 1, &dims[1]), last);
    if (!l->is_exact)
        emit_unsqueeze(e, y, (const int64_t[]){2, 3}, 2, layer_out(l, 0));
}

/* Removes the last axis of the indices, which has size 1. */
static void write_embedding(emitter *e, const coreml_layer *l)
{
    const int64_t dims[2] = {layer_int(l->params, 1, 0), layer_int(l->params, 2, 0)};
    bool is_nd = l->kind == 1040;
    if (!is_size(dims[0]) || !is_size(dims[1]) || !is_nd) {
        layer_foreign(e, l);
        return;
    }
    value_id x = emit_squeeze(e, layer_in(l, 0), (const int64_t[]){-1}, 1, NO_VALUE);
    emit_2(e, "Gather", weight(e, l, "weights", 2, dims), emit_cast(e, x, DT_INT64, NO_VALUE), layer_out(l, 0));
}

static void write_batch_norm(emitter *e, const coreml_layer *l)
{
    int64_t channels = layer_int(l->params, 1, 0);
    bool is_instance = layer_int(l->params, 6, 0) != 0;
    if (!is_size(channels)) {
        layer_foreign(e, l);
        return;
    }
    const value_id inputs[5] = {layer_in(l, 0), weight(e, l, "gamma", 1, &channels), weight(e, l, "beta", 1, &channels),
                                is_instance ? NO_VALUE : weight(e, l, "mean", 1, &channels),
                                is_instance ? NO_VALUE : weight(e, l, "variance", 1, &channels)};
    node *n = emit_op(e, is_instance ? "InstanceNormalization" : "BatchNormalization", inputs, 5, layer_out(l, 0));
    emit_real(n, "epsilon", layer_real(l->params, 10, 1e-5));
}

/* A factor or summand of shape [C], [1] or [C,H,W]; [C] applies to the channels of an image. */
static value_id shaped_weight(emitter *e, const coreml_layer *l, const char *what, uint32_t field)
{
    int64_t dims[MAX_RANK];
    int rank = layer_ints(l->params, field, dims, MAX_RANK - 2);
    for (int i = 0; i < rank; i++)
        if (!is_size(dims[i]))
            return NO_VALUE;
    if (rank < 0)
        return NO_VALUE;
    if (rank == 1 && !l->is_exact) {
        dims[1] = dims[2] = 1;
        rank = 3;
    }
    return weight(e, l, what, rank, dims);
}

static void write_scale(emitter *e, const coreml_layer *l)
{
    bool is_bias = l->kind == 250, has_bias = is_bias || layer_int(l->params, 3, 0) != 0;
    value_id x = layer_in(l, 0);
    if (!is_bias) {
        value_id factor = shaped_weight(e, l, "scale", 1);
        if (factor != NO_VALUE)
            x = emit_2(e, "Mul", x, factor, has_bias ? NO_VALUE : layer_out(l, 0));
    }
    value_id summand = has_bias ? shaped_weight(e, l, "bias", is_bias ? 1 : 4) : NO_VALUE;
    if (summand != NO_VALUE)
        emit_2(e, "Add", x, summand, layer_out(l, 0));
    else if (has_bias || x == layer_in(l, 0))
        emit_1(e, "Identity", x, layer_out(l, 0));
}

/* WeightParams: 1 floatValue. Keeps the data of a few numbers, which may be a shape. */
static void write_constant(emitter *e, const coreml_layer *l)
{
    enum { FEW = 64 };
    int64_t dims[MAX_RANK], count = 1;
    int rank = layer_ints(l->params, 1, dims, MAX_RANK);
    value_id v = layer_out(l, 0);
    for (int i = 0; i < rank; i++)
        if (!is_size(dims[i]) || __builtin_mul_overflow(count, dims[i], &count))
            rank = -1;
    if (rank < 0 || v == NO_VALUE || build_at(e->b, v)->is_initializer) {
        layer_foreign(e, l);
        return;
    }
    tensor *t = ARENA_NEW(e->b->arena, tensor);
    *t = *emit_tensor(e, DT_FLOAT32, rank, dims);
    wire_field f;
    for (wire data = layer_inner(l->params, 2); count <= FEW && wire_next(&data, &f);)
        if (f.number == 1 && f.type == 2 && f.size == (size_t)count * 4) {
            t->encoding = TENSOR_RAW;
            t->bytes = f.bytes;
            t->size = f.size;
        }
    build_constant(e->b, v, t);
    build_at(e->b, v)->is_constant_node = count == 1;
}

static void write_layer_norm(emitter *e, const coreml_layer *l)
{
    int64_t dims[MAX_RANK];
    int rank = layer_ints(l->params, 1, dims, MAX_RANK);
    for (int i = 0; i < rank; i++)
        if (!is_size(dims[i]))
            rank = -1;
    if (rank < 1) {
        layer_foreign(e, l);
        return;
    }
    const value_id inputs[3] = {layer_in(l, 0), weight(e, l, "gamma", rank, dims), weight(e, l, "beta", rank, dims)};
    node *n = emit_op(e, "LayerNormalization", inputs, 3, layer_out(l, 0));
    emit_int(n, "axis", -rank);
    emit_real(n, "epsilon", layer_real(l->params, 2, 1e-5));
}

static bool has_rank(emitter *e, value_id v)
{
    return v != NO_VALUE && build_at(e->b, v)->rank >= 0;
}

/* Product of two inputs, or of one input and the layer's weight matrix. */
static void write_matmul(emitter *e, const coreml_layer *l)
{
    const int64_t dims[2] = {layer_int(l->params, 5, 0), layer_int(l->params, 6, 0)};
    bool has_weight = l->in_count < 2;
    if (has_weight && (!is_size(dims[0]) || !is_size(dims[1]))) {
        layer_foreign(e, l);
        return;
    }
    bool has_bias = has_weight && layer_int(l->params, 7, 0) != 0;
    bool turns_a = layer_int(l->params, 1, 0) != 0, turns_b = !has_weight && layer_int(l->params, 2, 0) != 0;
    value_id a = layer_in(l, 0), b = has_weight ? weight(e, l, "weights", 2, dims) : layer_in(l, 1);
    if ((turns_a && !has_rank(e, a)) || (turns_b && !has_rank(e, b))) { /* FusedMatMul transposes at any rank. */
        value_id outputs[] = {layer_out(l, 0)};
        node *n = emit_foreign(e, STR("com.microsoft"), STR("FusedMatMul"), (const value_id[]){a, b}, 2, outputs, 1);
        emit_int(n, "transA", turns_a);
        emit_int(n, "transB", turns_b);
        return;
    }
    a = emit_turned(e, a, turns_a);
    b = emit_turned(e, b, turns_b);
    value_id y = emit_2(e, "MatMul", a, b, has_bias ? NO_VALUE : layer_out(l, 0));
    if (has_bias)
        emit_2(e, "Add", y, weight(e, l, "bias", 1, &dims[1]), layer_out(l, 0));
}

/* (time, batch, features, 1, 1) ↔ (time, batch, features) */
static const int64_t ENDS[] = {3, 4};

static value_id flat_in(emitter *e, value_id v)
{
    return v == NO_VALUE ? v : emit_squeeze(e, v, ENDS, 2, NO_VALUE);
}

static void write_lstm(emitter *e, const coreml_layer *l)
{
    int directions = l->kind == 430 ? 2 : 1;
    int64_t width = layer_int(l->params, 1, 0), hidden = layer_int(l->params, 2, 0);
    wire params = layer_inner(l->params, 15);
    const value *x = l->in_count ? build_at(e->b, l->in[0]) : NULL;
    if (!is_size(width) || !is_size(hidden) || hidden > INT32_MAX / 8 || !x || (x->rank >= 0 && x->rank != 5)) {
        layer_foreign(e, l);
        return;
    }
    emit_recurrent r = {.op = "LSTM", .hidden = hidden, .directions = directions, .time_major = true, .b = NO_VALUE};
    r.go_backwards = directions == 1 && layer_int(l->params, 100, 0) != 0;
    r.last_only = layer_int(params, 10, 0) == 0;
    r.w = weight(e, l, "weights", 3, (const int64_t[]){directions, 4 * hidden, width});
    r.r = weight(e, l, "recurrence", 3, (const int64_t[]){directions, 4 * hidden, hidden});
    if (layer_int(params, 20, 0))
        r.b = emit_gate_bias(e, weight(e, l, "bias", 2, (const int64_t[]){directions, 4 * hidden}), 4 * hidden,
                             directions);
    value_id initial[2] = {NO_VALUE, NO_VALUE}, finals[2] = {NO_VALUE, NO_VALUE};
    for (int i = 0; i < 2; i++) {
        value_id state = flat_in(e, layer_in(l, 1 + i));
        if (directions == 2 && layer_in(l, 3 + i) != NO_VALUE) {
            const value_id both[2] = {state, flat_in(e, layer_in(l, 3 + i))};
            node *n = emit_op(e, "Concat", both, 2, NO_VALUE);
            emit_int(n, "axis", 0);
            state = n->outputs[0];
        }
        initial[i] = state;
        finals[i] = layer_out(l, 1 + i) == NO_VALUE ? NO_VALUE : emit_temp(e);
    }
    value_id y = emit_temp(e);
    emit_recurrent_layer(e, flat_in(e, layer_in(l, 0)), &r, initial, y, finals);
    if (r.last_only)
        y = emit_unsqueeze(e, y, (const int64_t[]){0}, 1, NO_VALUE);
    emit_unsqueeze(e, y, ENDS, 2, layer_out(l, 0));
    for (int i = 0; i < 2; i++) {
        if (finals[i] == NO_VALUE)
            continue;
        value_id sides[2] = {finals[i], NO_VALUE};
        if (directions == 2) {
            sides[0] = emit_temp(e);
            sides[1] = emit_temp(e);
            node *n = emit_many(e, "Split", &finals[i], 1, sides, 2);
            emit_int(n, "axis", 0);
            emit_int(n, "num_outputs", 2);
        }
        for (int side = 0; side < directions; side++)
            if (layer_out(l, 1 + i + 2 * side) != NO_VALUE)
                emit_unsqueeze(e, sides[side], ENDS, 2, layer_out(l, 1 + i + 2 * side));
    }
}

/* WeightParams: floats, or half-precision floats as bytes. */
static int64_t weight_count(wire weights)
{
    wire_field f;
    int64_t count = 0;
    while (wire_next(&weights, &f))
        if (f.number == 1)
            count += f.type == 2 ? (int64_t)(f.size / 4) : 1;
        else if (f.number == 2 && f.type == 2)
            count += (int64_t)(f.size / 2);
    return count > 0 ? count : 1;
}

static void write_prelu(emitter *e, const coreml_layer *l)
{
    int64_t count = weight_count(layer_inner(layer_inner(l->params, 25), 1));
    emit_2(e, "PRelu", layer_in(l, 0), weight(e, l, "alpha", 3, (const int64_t[]){count, 1, 1}), layer_out(l, 0));
}

static void write_layer(emitter *e, const coreml_layer *l)
{
    enum { ACTIVATION = 130, PRELU = 25 };
    static const struct {
        uint32_t kind;
        void (*write)(emitter *e, const coreml_layer *l);
    } WRITERS[] = {{100, write_conv},       {120, write_pool},       {140, write_inner_product}, {150, write_embedding},
                   {160, write_batch_norm}, {245, write_scale},      {250, write_scale},         {290, write_constant},
                   {420, write_lstm},       {430, write_lstm},       {1040, write_embedding},    {1045, write_matmul},
                   {1070, write_constant},  {1350, write_layer_norm}};
    bool has_in = l->in_count > 0 || l->kind == 290 || l->kind == 1070;
    e->name = l->name;
    if (l->out_count == 0)
        return;
    if (l->kind == ACTIVATION && layer_has(l->params, PRELU) && has_in) {
        write_prelu(e, l);
        return;
    }
    for (size_t i = 0; has_in && i < sizeof WRITERS / sizeof *WRITERS; i++)
        if (WRITERS[i].kind == l->kind) {
            WRITERS[i].write(e, l);
            return;
        }
    if (!has_in || !coreml_write_layer(e, l))
        layer_foreign(e, l);
}

/* ---- the network ----------------------------------------------------------------------------------------------- */

static value_id output_named(emitter *e, str name, wire type)
{
    num dims[MAX_RANK];
    int64_t rank = layer_int(type, 1, -1);
    int count = layer_ints(type, 2, dims, MAX_RANK);
    if (name.len == 0)
        return NO_VALUE;
    value_id v = build_local(e->b, name);
    if (build_at(e->b, v)->is_declared) { /* in loops, a variable may be written again */
        static const char OTHER[] = "%.*s#%d";
        v = build_local(e->b, arena_printf(e->b->arena, OTHER, STR_ARG(name), e->made++));
        return v;
    }
    for (int i = 0; i < count; i++)
        dims[i] = dims[i] >= 0 ? dims[i] : NUM_UNKNOWN;
    build_type(e->b, v, DT_FLOAT32, rank >= 0 && rank == count ? count : RANK_UNKNOWN, dims);
    return v;
}

static void read_layer(emitter *e, wire w, bool is_exact)
{
    arena *a = e->b->arena;
    struct {
        value_id *items;
        int32_t count, capacity;
    } in = {0}, out = {0};
    coreml_layer l = {.is_exact = is_exact};
    wire_field f;
    /* Collects all wires first, because types follow the names. */
    struct {
        wire *items;
        int32_t count, capacity;
    } types = {0};
    for (wire x = w; wire_next(&x, &f);) {
        if (f.number == 1)
            l.name = wire_str(&f);
        else if (f.number == 2)
            *(value_id *)ARENA_PUSH(a, &in) = build_value(e->b, wire_str(&f));
        else if (f.number == 5)
            *(wire *)ARENA_PUSH(a, &types) = wire_message(&x, &f);
        else if (f.number >= 100 && f.type == 2) {
            l.kind = f.number;
            l.params = wire_message(&x, &f);
        }
    }
    for (wire x = w; wire_next(&x, &f);)
        if (f.number == 3) {
            wire none = {.at = w.end, .end = w.end, .file = w.file, .fail = w.fail};
            wire type = out.count < types.count ? types.items[out.count] : none;
            *(value_id *)ARENA_PUSH(a, &out) = output_named(e, wire_str(&f), type);
        }
    if (in.count > INT16_MAX || out.count > INT16_MAX)
        wire_fail(&w, w.at, "a layer has more than 32767 inputs or outputs");
    l.in = in.items;
    l.in_count = in.count;
    l.out = out.items;
    l.out_count = out.count;
    if (l.kind)
        write_layer(e, &l);
}

static void add_input(emitter *e, const coreml_feature *f, bool is_exact)
{
    builder *b = e->b;
    num dims[MAX_RANK];
    int rank = f->rank;
    if (f->name.len == 0)
        return;
    for (int i = 0; i < rank; i++)
        dims[i] = dim_known(f->dims[i])
                      ? f->dims[i]
                      : num_symbol(&b->source->symbols, arena_printf(b->arena, "%.*s[%d]", STR_ARG(f->name), i));
    if ((!is_exact && rank >= 1 && rank <= 3) || (f->is_image && rank == 3)) { /* (N, C, H, W) */
        const num c = dims[0], h = rank > 1 ? dims[1] : 1, w = rank > 2 ? dims[2] : 1;
        const num whole[4] = {1, c, h, w};
        memcpy(dims, whole, sizeof whole);
        rank = 4;
    }
    value_id v = build_local(b, f->name);
    if (build_at(b, v)->is_declared)
        return;
    build_type(b, v, f->type == DT_UNKNOWN ? DT_FLOAT32 : f->type, rank, dims);
    build_input(b, v);
}

void coreml_read_net(emitter *e, wire net, const coreml_features *inputs, const coreml_features *outputs)
{
    builder *b = e->b;
    bool is_exact = layer_int(net, 5, 0) == 1;
    wire_field f, part;
    str last = {0};
    build_open(b, &b->source->main, false);
    for (int32_t i = 0; i < inputs->count; i++)
        add_input(e, &inputs->items[i], is_exact);
    for (wire w = net; wire_next(&w, &f);)
        if (f.number == 1) {
            read_layer(e, wire_message(&w, &f), is_exact);
            for (wire l = wire_message(&w, &f); wire_next(&l, &part);)
                last = part.number == 3 ? wire_str(&part) : last;
        }
    for (int32_t i = 0; i < outputs->count; i++) {
        value_id v = build_local(b, outputs->items[i].name);
        /* class labels are not tensors of the network, so they are left out */
        if (v != NO_VALUE && build_at(b, v)->is_declared)
            build_output(b, v);
    }
    if (b->source->main.outputs.count == 0 && last.len)
        build_output(b, build_local(b, last));
    build_close(b);
}
