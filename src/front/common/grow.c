/* grow.c: writes layers in sequence and makes weights that fit their inputs (grow.h). */
#include "front/common/grow.h"
#include "graph/elaborate.h"

#include <stdio.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct growth {
    void (*write)(grower *g, void *program);
    void *program;
    const char *format;
} growth;

void grow_begin(builder *b, const char *format)
{
    emitter e;
    emit_begin(&e, b, format);
    build_open(b, &b->source->main, false);
}

value_id grow_input(builder *b, str name, dtype type, int rank, const num *dims)
{
    value_id v = build_local(b, name);
    build_type(b, v, type, rank, dims);
    build_input(b, v);
    return v;
}

static void write_all(sooth_model *model, void *program)
{
    const growth *whole = program;
    source *s = &model->source;
    grower g = {.format = whole->format,
                .b = {.model = model,
                      .source = s,
                      .arena = &model->source_arena,
                      .scratch = &model->scratch_arena,
                      .ops = model->ops},
                .done = {.values = s->values.count, .nodes = s->main.nodes.count, .inputs = s->main.inputs.count}};
    value_id first = s->main.first_value;
    build_open(&g.b, &s->main, false);
    s->main.first_value = first;
    g.e = (emitter){.b = &g.b, .name = STR("")};
    whole->write(&g, whole->program);
    infer_built(model, &g.done);
}

void grow_layers(builder *b, void (*write)(grower *g, void *program), void *program)
{
    growth *whole = ARENA_NEW(b->arena, growth);
    *whole = (growth){write, program, b->source->format.ptr};
    build_close(b);
    elaborate_begin(b, write_all, whole);
}

/* ---- guesses ----------------------------------------------------------------------------------------------------- */

value_id grow_guess_input(builder *b, grow_guesses *guesses, str name, int rank, const num *dims)
{
    bool is_first_image = rank == 4 && guesses->count == 0, is_token = rank == 2 && guesses->rank != 4;
    if ((!is_first_image && !is_token) || guesses->count == GROW_MAX_GUESSES)
        return grow_input(b, name, DT_FLOAT32, RANK_UNKNOWN, NULL);
    value_id v = grow_input(b, name, DT_FLOAT32, rank, dims);
    guesses->items[guesses->count].input = v;
    guesses->items[guesses->count++].dims = build_at(b, v)->dims;
    guesses->rank = rank;
    return v;
}

void grow_guess_sizes(builder *b, grow_guesses *guesses)
{
    /* The first guess comes again at the end, because it is as good as any other if none fits. */
    static const num IMAGES[] = {299, 384, 112, 512, 32, 28, 224}, SEQUENCES[] = {384, 512, 64, 256, 32, 16, 128};
    for (int i = 0; i < 7 && guesses->count && b->model->net.complaint; i++) {
        for (int k = 0; k < guesses->count; k++)
            if (guesses->rank == 4)
                guesses->items[k].dims[2] = guesses->items[k].dims[3] = IMAGES[i];
            else
                guesses->items[k].dims[1] = SEQUENCES[i];
        infer_network(b->model, NULL);
    }
}

void grow_guess_notes(grower *g, const grow_guesses *guesses)
{
    for (int k = 0; k < guesses->count; k++) {
        char text[128];
        size_t length = 0;
        num dims[MAX_RANK];
        int rank = grow_shape(g, guesses->items[k].input, dims);
        if (rank != guesses->rank || memcmp(dims, guesses->items[k].dims, (size_t)rank * sizeof *dims) != 0)
            continue;
        for (int i = 0; i < rank; i++)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%lld", i ? "," : "", (long long)dims[i]);
        str name = build_at(&g->b, guesses->items[k].input)->name;
        network_note(&g->b.model->net,
                     "the file does not have the shape of input '%.*s': %s is assumed; give --shape '%.*s=%s'",
                     STR_ARG(name), text, STR_ARG(name), text);
    }
}

void grow_complain(grower *g, const char *what)
{
    network *net = &g->b.model->net;
    network_note(net, "layer '%.*s': %s", STR_ARG(g->e.name), what);
    if (!net->complaint)
        net->complaint = what;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Number of the last copy of the value's name. The search continues there, because names are never freed. */
static int32_t *last_copy_of(grower *g, value_id v)
{
    if (v >= g->copies.count) {
        ARENA_RESERVE(g->b.arena, &g->copies, (size_t)(g->b.source->values.count - g->copies.count));
        int32_t *added = g->copies.items + g->copies.count;
        for (; g->copies.count < g->b.source->values.count; g->copies.count++)
            *added++ = 1;
    }
    return &g->copies.items[v];
}

value_id grow_value(grower *g, str name)
{
    int32_t before = g->b.source->values.count;
    value_id v = name.len ? build_local(&g->b, name) : emit_temp(&g->e);
    if (g->b.source->values.count != before)
        return v;
    int32_t *last = last_copy_of(g, v);
    while (g->b.source->values.count == before)
        v = build_local(&g->b, arena_printf(g->b.arena, "%.*s#%d", STR_ARG(name), ++*last));
    return v;
}

void grow_output(grower *g, value_id v)
{
    if (v != NO_VALUE)
        elaborate_output(g->b.model, v);
}

static const value *look(grower *g, value_id v)
{
    infer_built(g->b.model, &g->done);
    return v == NO_VALUE ? NULL : &g->b.model->net.values.items[v];
}

int grow_shape(grower *g, value_id v, num *dims)
{
    const value *x = look(g, v);
    if (!x || x->rank < 0)
        return RANK_UNKNOWN;
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    return x->rank;
}

num grow_dim(grower *g, value_id v, int axis)
{
    const value *x = look(g, v);
    int rank = x ? x->rank : RANK_UNKNOWN;
    if (axis < 0)
        axis += rank;
    return axis >= 0 && axis < rank ? x->dims[axis] : NUM_UNKNOWN;
}

bool grow_same_shape(grower *g, value_id a, value_id b)
{
    num first[MAX_RANK], second[MAX_RANK];
    int rank = grow_shape(g, a, first);
    return rank >= 0 && grow_shape(g, b, second) == rank && memcmp(first, second, (size_t)rank * sizeof *first) == 0;
}

value_id grow_weight(grower *g, const char *what, int rank, const int64_t *dims)
{
    str owner = g->owner.len ? g->owner : g->e.name, name = {0};
    if (g->given_count > 0) {
        name = *g->given++;
        g->given_count--;
    }
    if (name.len == 0)
        name = arena_printf(g->b.arena, "%.*s/%s", STR_ARG(owner), what);
    return emit_weight(&g->e, name, DT_FLOAT32, rank, dims);
}

value_id grow_buffer(grower *g, const char *what, int rank, const int64_t *dims)
{
    value_id v = grow_weight(g, what, rank, dims);
    build_at(&g->b, v)->is_constant_node = true;
    return v;
}

void grow_foreign(grower *g, str type, const value_id *inputs, int count, const value_id *outputs, int output_count)
{
    emit_foreign(&g->e, str_of(g->format), type, inputs, count, outputs, output_count);
}

void grow_foreign_like(grower *g, str type, const value_id *inputs, int count, value_id x, value_id output)
{
    num dims[MAX_RANK];
    int rank = grow_shape(g, x, dims);
    bool is_known = rank >= 0;
    for (int i = 0; i < rank; i++)
        is_known &= dim_known(dims[i]);
    if (is_known)
        build_type(&g->b, output, DT_FLOAT32, rank, dims);
    grow_foreign(g, type, inputs, count, &output, 1);
}

/* ---- layers with weights ----------------------------------------------------------------------------------------- */

static value_id output_or_new(grower *g, value_id output)
{
    return output == NO_VALUE ? emit_temp(&g->e) : output;
}

static value_id unknown_layer(grower *g, const char *op, value_id x, value_id output)
{
    output = output_or_new(g, output);
    grow_foreign(g, str_of(op), &x, 1, &output, 1);
    return output;
}

value_id grow_conv(grower *g, const char *op, value_id x, const emit_window *w, int64_t filters, bool has_bias,
                   value_id output)
{
    num channels = grow_dim(g, x, 1);
    int64_t group = w->group > 0 ? w->group : 1, dims[5];
    bool is_transposed = strcmp(op, "ConvTranspose") == 0;
    if (!dim_known(channels) || filters < 0)
        return unknown_layer(g, op, x, output);
    dims[0] = is_transposed ? channels : filters;
    dims[1] = (is_transposed ? filters : channels) / group;
    memcpy(dims + 2, w->kernel, (size_t)w->axes * sizeof *dims);
    for (int i = 0; i < w->axes; i++)
        if (w->kernel[i] < 1)
            fail_with(&g->b.model->fail, SOOTH_ERROR_INPUT, "the kernel of layer '%.*s' has a size of %lld",
                      STR_ARG(g->e.name), (long long)w->kernel[i]);
    value_id weight = grow_weight(g, "weight", w->axes + 2, dims);
    value_id bias = has_bias ? grow_weight(g, "bias", 1, &filters) : NO_VALUE;
    return emit_conv(&g->e, op, x, weight, bias, w, output)->outputs[0];
}

value_id grow_dense(grower *g, value_id x, int axis, int64_t units, bool has_bias, value_id output)
{
    num dims[MAX_RANK];
    int rank = grow_shape(g, x, dims);
    int64_t width = 1;
    if (axis < 0)
        axis += rank;
    bool is_known = rank >= 1 && axis >= 0 && axis < rank && units >= 0;
    for (int i = axis; i < rank && is_known; i++)
        is_known = dim_known(dims[i]) && !__builtin_mul_overflow(width, dims[i], &width);
    if (!is_known)
        return unknown_layer(g, "Dense", x, output);
    if (axis == rank - 1 && rank == 1) { /* a vector counts as one row */
        x = emit_unsqueeze(&g->e, x, (const int64_t[]){0}, 1, NO_VALUE);
    } else if (axis < rank - 1 && axis == 1) {
        node *n = emit_op(&g->e, "Flatten", &x, 1, NO_VALUE);
        emit_int(n, "axis", axis);
        x = n->outputs[0];
    } else if (axis < rank - 1) {
        int64_t shape[MAX_RANK] = {0}; /* 0 keeps a dimension */
        shape[axis] = -1;
        x = emit_reshaped(&g->e, x, shape, axis + 1, NO_VALUE);
    }
    bool is_row = rank == 1 || axis == 1;
    if (is_row) {
        value_id weight = grow_weight(g, "weight", 2, (const int64_t[]){units, width});
        value_id bias = has_bias ? grow_weight(g, "bias", 1, &units) : NO_VALUE;
        node *n = emit_op(&g->e, "Gemm", (const value_id[]){x, weight, bias}, 3, rank == 1 ? NO_VALUE : output);
        emit_int(n, "transB", 1);
        return rank == 1 ? emit_squeeze(&g->e, n->outputs[0], (const int64_t[]){0}, 1, output) : n->outputs[0];
    }
    value_id weight = grow_weight(g, "weight", 2, (const int64_t[]){width, units});
    value_id product = emit_2(&g->e, "MatMul", x, weight, has_bias ? NO_VALUE : output);
    return has_bias ? emit_2(&g->e, "Add", product, grow_weight(g, "bias", 1, &units), output) : product;
}

value_id grow_batch_norm(grower *g, value_id x, bool has_scale, bool has_bias, double epsilon, value_id output)
{
    num channels = grow_dim(g, x, 1);
    if (!dim_known(channels))
        return unknown_layer(g, "BatchNormalization", x, output);
    value_id inputs[5] = {x};
    inputs[1] = has_scale ? grow_weight(g, "scale", 1, &channels) : grow_buffer(g, "scale", 1, &channels);
    inputs[2] = has_bias ? grow_weight(g, "shift", 1, &channels) : grow_buffer(g, "shift", 1, &channels);
    inputs[3] = grow_buffer(g, "mean", 1, &channels);
    inputs[4] = grow_buffer(g, "variance", 1, &channels);
    node *n = emit_op(&g->e, "BatchNormalization", inputs, 5, output);
    emit_real(n, "epsilon", epsilon);
    return n->outputs[0];
}

value_id grow_scale(grower *g, value_id x, int axis, int axes, bool has_bias, value_id output)
{
    num dims[MAX_RANK];
    int rank = grow_shape(g, x, dims);
    if (axis < 0)
        axis += rank;
    if (axes < 0)
        axes = rank - axis;
    bool is_known = rank >= 1 && axis >= 0 && axis + axes <= rank;
    for (int i = axis; i < axis + axes && is_known; i++)
        is_known = dim_known(dims[i]);
    if (!is_known)
        return unknown_layer(g, "Scale", x, output);
    for (int i = axis + axes; i < rank; i++) /* broadcast aligns at the right end */
        dims[i] = 1;
    value_id y =
        emit_2(&g->e, "Mul", x, grow_weight(g, "scale", rank - axis, dims + axis), has_bias ? NO_VALUE : output);
    return has_bias ? emit_2(&g->e, "Add", y, grow_weight(g, "bias", rank - axis, dims + axis), output) : y;
}

value_id grow_prelu(grower *g, value_id x, int64_t slopes, value_id output)
{
    int64_t dims[MAX_RANK] = {slopes};
    num shape[MAX_RANK];
    int rank = grow_shape(g, x, shape), slope_rank = rank > 2 && slopes != 1 ? rank - 1 : 1;
    for (int i = 1; i < slope_rank; i++)
        dims[i] = 1;
    return emit_2(&g->e, "PRelu", x, grow_weight(g, "slope", slope_rank, dims), output);
}

/* ---- layers without ---------------------------------------------------------------------------------------------- */

emit_window grow_window(int64_t kernel_h, int64_t kernel_w, int64_t stride_h, int64_t stride_w, int64_t pad_h,
                        int64_t pad_w)
{
    return (emit_window){.axes = 2,
                         .kernel = {kernel_h, kernel_w},
                         .strides = {stride_h, stride_w},
                         .dilations = {1, 1},
                         .padding = EMIT_PADS,
                         .pads = {pad_h, pad_w, pad_h, pad_w},
                         .group = 1,
                         .channels_first = true};
}

value_id grow_clip(grower *g, value_id x, double low, double high, value_id output)
{
    value_id inputs[] = {x, emit_scalar(&g->e, DT_FLOAT32, low), emit_scalar(&g->e, DT_FLOAT32, high)};
    return emit_op(&g->e, "Clip", inputs, 3, output)->outputs[0];
}

value_id grow_upsample(grower *g, const char *mode, value_id x, double scale_h, double scale_w, value_id output)
{
    value_id scales = emit_reals(&g->e, (const float[]){1, 1, (float)scale_h, (float)scale_w}, 4);
    node *n = emit_op(&g->e, "Resize", (const value_id[]){x, NO_VALUE, scales}, 3, output);
    emit_text(n, "mode", str_of(mode));
    return n->outputs[0];
}

value_id grow_slice(grower *g, value_id x, int64_t axis, int64_t begin, int64_t end, value_id output)
{
    value_id inputs[] = {x, emit_list(&g->e, &begin, 1), emit_list(&g->e, &end, 1), emit_list(&g->e, &axis, 1)};
    return emit_op(&g->e, "Slice", inputs, 4, output)->outputs[0];
}

value_id grow_concat(grower *g, const value_id *inputs, int count, int64_t axis, value_id output)
{
    if (count == 1)
        return emit_1(&g->e, "Identity", inputs[0], output);
    node *n = emit_op(&g->e, "Concat", inputs, count, output);
    emit_int(n, "axis", axis);
    return n->outputs[0];
}

value_id grow_shuffle(grower *g, value_id x, int64_t group, value_id output)
{
    num channels = grow_dim(g, x, 1), height = grow_dim(g, x, 2), width = grow_dim(g, x, 3);
    if (!dim_known(channels) || !dim_known(height) || !dim_known(width) || group < 1 || channels % group != 0)
        return unknown_layer(g, "ShuffleChannel", x, output);
    value_id split = emit_reshaped(&g->e, x, (const int64_t[]){0, group, channels / group, height, width}, 5, NO_VALUE);
    value_id woven = emit_transpose(&g->e, split, (const int64_t[]){0, 2, 1, 3, 4}, 5, NO_VALUE);
    return emit_reshaped(&g->e, woven, (const int64_t[]){0, channels, height, width}, 4, output);
}

value_id grow_softmax(grower *g, value_id x, int64_t axis, value_id output)
{
    node *n = emit_op(&g->e, "Softmax", &x, 1, output);
    emit_int(n, "axis", axis);
    return n->outputs[0];
}
