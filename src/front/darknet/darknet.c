/* darknet.c: reads Darknet configurations (.cfg): text in sections, one per layer.
 *
 *   [net]                 the input: width, height, channels, or inputs; the rest is for training
 *   [convolutional]       a layer; it reads the previous one, or those in `layers` and `from`: numbers from 0 on,
 *   filters=32            or backwards from here if they are negative
 *   # comment, ; comment
 *
 * The weights file is not needed: shapes follow from the layers. Layers are named after their sections and counted
 * from 0; the tensors they write are named by that number. `batch` is the training batch and is ignored: the batch
 * is 1. */
#include "front/common/grow.h"
#include "front/front.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_SECTIONS = 100000, MAX_OPTIONS = 1000000, MAX_SIZE = 1 << 24, MAX_LIST = 256 };

typedef struct option {
    str key, value;
} option;

typedef struct section {
    str type;
    int32_t first, count; /* range of its options */
    int32_t line;
} section;

typedef struct darknet {
    fail *fail;
    struct {
        section *items;
        int32_t count, capacity;
    } sections;
    struct {
        option *items;
        int32_t count, capacity;
    } options;
    value_id input;
    bool ends_within_line; /* the file ends without a newline inside an option's name, or right after '=' */
} darknet;

/* One run over the layers. */
typedef struct writer {
    const darknet *d;
    grower *g;
    const section *section;
    value_id *results; /* indexed by layer */
    bool *is_read;     /* indexed by layer: another layer reads it */
    int32_t at;        /* index of the layer that is being written */
    value_id x, out;   /* its input and output */
} writer;

__attribute__((format(printf, 3, 4))) static _Noreturn void section_fail(const darknet *d, const section *s,
                                                                         const char *format, ...)
{
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fail_with(d->fail, SOOTH_ERROR_INPUT, "%s, in section [%.*s] at line %d; correct the configuration", what,
              STR_ARG(s->type), s->line);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static str trimmed(str s)
{
    while (s.len && is_space(s.ptr[0]))
        s = (str){s.ptr + 1, s.len - 1};
    while (s.len && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

/* Reads the next line, without surrounding spaces; false at the end. */
static bool next_line(str *rest, str *line)
{
    if (rest->len == 0)
        return false;
    const char *end = memchr(rest->ptr, '\n', rest->len);
    size_t length = end ? (size_t)(end - rest->ptr) : rest->len;
    *line = trimmed((str){rest->ptr, length});
    length += end != NULL;
    *rest = (str){rest->ptr + length, rest->len - length};
    return true;
}

/* Returns the name in brackets, which a comment may follow. */
static str section_name(str line)
{
    const char *end = memchr(line.ptr, ']', line.len);
    return end ? trimmed((str){line.ptr + 1, (size_t)(end - line.ptr) - 1}) : (str){0};
}

static bool is_comment(str line)
{
    return line.len == 0 || line.ptr[0] == '#' || line.ptr[0] == ';';
}

bool darknet_sniff(const uint8_t *bytes, size_t size)
{
    str rest = {(const char *)bytes, size < 65536 ? size : 65536}, line;
    if (rest.len >= 3 && memcmp(rest.ptr, "\xef\xbb\xbf", 3) == 0)
        rest = (str){rest.ptr + 3, rest.len - 3};
    while (next_line(&rest, &line)) {
        if (is_comment(line))
            continue;
        str name = line.ptr[0] == '[' ? section_name(line) : (str){0};
        return str_is(name, "net") || str_is(name, "network");
    }
    return false;
}

static void read_sections(darknet *d, arena *a, str rest)
{
    str line;
    const char *end = rest.ptr + rest.len;
    if (rest.len >= 3 && memcmp(rest.ptr, "\xef\xbb\xbf", 3) == 0)
        rest = (str){rest.ptr + 3, rest.len - 3};
    for (int32_t number = 1; next_line(&rest, &line); number++) {
        if (is_comment(line))
            continue;
        if (line.ptr[0] == '[') {
            if (d->sections.count >= MAX_SECTIONS)
                fail_with(d->fail, SOOTH_ERROR_INPUT, "more than %d sections, at line %d; no real network has them",
                          MAX_SECTIONS, number);
            section *s = ARENA_PUSH(a, &d->sections);
            *s = (section){.type = section_name(line), .first = d->options.count, .line = number};
            if (!memchr(line.ptr, ']', line.len))
                fail_with(d->fail, SOOTH_ERROR_INPUT,
                          "'%.*s' at line %d does not end with ']'; correct the configuration, or get the file again "
                          "if it was cut off",
                          line.len < 60 ? (int)line.len : 60, line.ptr, number);
            if (s->type.len == 0)
                section_fail(d, s, "a section has no name");
            continue;
        }
        const char *equals = memchr(line.ptr, '=', line.len);
        d->ends_within_line = rest.len == 0 && line.ptr + line.len == end && (!equals || equals + 1 == end);
        if (!equals || d->options.count >= MAX_OPTIONS) /* Darknet only warns about such lines */
            continue;
        size_t length = (size_t)(equals - line.ptr);
        str value = trimmed((str){equals + 1, line.len - length - 1});
        const char *comment = memchr(value.ptr, '#', value.len);
        if (comment)
            value = trimmed((str){value.ptr, (size_t)(comment - value.ptr)});
        *(option *)ARENA_PUSH(a, &d->options) = (option){trimmed((str){line.ptr, length}), value};
        d->sections.items[d->sections.count - 1].count++;
    }
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static str text_option(const darknet *d, const section *s, const char *key)
{
    for (int32_t i = s->count - 1; i >= 0; i--) /* of repeated options, the last one wins */
        if (str_is(d->options.items[s->first + i].key, key))
            return d->options.items[s->first + i].value;
    return (str){0};
}

static bool number_of(str s, double *number)
{
    char text[64];
    if (s.len == 0 || s.len >= sizeof text)
        return false;
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    char *end;
    *number = strtod(text, &end);
    return end != text && *number == *number;
}

static double real_option(const darknet *d, const section *s, const char *key, double otherwise)
{
    double number;
    return number_of(text_option(d, s, key), &number) ? number : otherwise;
}

static int64_t int_option(const darknet *d, const section *s, const char *key, int64_t otherwise, int64_t least)
{
    double number = real_option(d, s, key, (double)otherwise);
    if (number < (double)least || number > MAX_SIZE)
        section_fail(d, s, "'%s' is %g, which is not a valid size", key, number);
    return (int64_t)number;
}

/* Reads comma-separated numbers, at most MAX_LIST. */
static int int_list(const darknet *d, const section *s, const char *key, int64_t *to)
{
    str rest = text_option(d, s, key);
    int count = 0;
    while (rest.len) {
        const char *comma = memchr(rest.ptr, ',', rest.len);
        size_t length = comma ? (size_t)(comma - rest.ptr) : rest.len;
        double number;
        if (number_of(trimmed((str){rest.ptr, length}), &number)) {
            if (count == MAX_LIST || number < -MAX_SECTIONS || number > MAX_SECTIONS)
                section_fail(d, s, "'%s' is too long, or names an impossible layer", key);
            to[count++] = (int64_t)number;
        }
        length += comma != NULL;
        rest = (str){rest.ptr + length, rest.len - length};
    }
    return count;
}

static int64_t size_of(const writer *w, const char *key, int64_t otherwise)
{
    return int_option(w->d, w->section, key, otherwise, 1);
}

static int64_t count_of(const writer *w, const char *key, int64_t otherwise)
{
    return int_option(w->d, w->section, key, otherwise, 0);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Reads the results of the layers that an option lists. */
static int read_layers(writer *w, const char *key, value_id *to)
{
    int64_t numbers[MAX_LIST];
    int count = int_list(w->d, w->section, key, numbers);
    for (int i = 0; i < count; i++) {
        int64_t layer = numbers[i] < 0 ? w->at + numbers[i] : numbers[i];
        if (layer < 0 || layer >= w->at)
            section_fail(w->d, w->section, "layer %lld is read, but it does not come before its reader",
                         (long long)numbers[i]);
        to[i] = w->results[layer];
        w->is_read[layer] = true;
    }
    if (count == 0)
        section_fail(w->d, w->section, "'%s' names no layer", key);
    return count;
}

static void activate(writer *w, str name, value_id x, value_id output)
{
    static const struct {
        const char *name, *canonical;
    } PLAIN[] = {{"relu", "Relu"},        {"logistic", "Sigmoid"}, {"loggy", "Sigmoid"}, {"tanh", "Tanh"},
                 {"elu", "Elu"},          {"selu", "Selu"},        {"gelu", "Gelu"},     {"mish", "Mish"},
                 {"hswish", "HardSwish"}, {"linear", "Identity"}};
    emitter *e = &w->g->e;
    if (str_is(name, "leaky") || str_is(name, "revleaky")) {
        emit_real(emit_op(e, "LeakyRelu", &x, 1, output), "alpha", 0.1);
    } else if (str_is(name, "swish")) {
        emit_2(e, "Mul", x, emit_1(e, "Sigmoid", x, NO_VALUE), output);
    } else if (str_is(name, "relu6")) {
        grow_clip(w->g, x, 0, 6, output);
    } else if (str_is(name, "hardtan")) {
        grow_clip(w->g, x, -1, 1, output);
    } else if (str_is(name, "ramp")) { /* max(x, 0) + x/10 */
        value_id tenth = emit_2(e, "Mul", x, emit_scalar(e, DT_FLOAT32, 0.1), NO_VALUE);
        emit_2(e, "Add", emit_1(e, "Relu", x, NO_VALUE), tenth, output);
    } else {
        for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++)
            if (str_is(name, PLAIN[i].name)) {
                emit_1(e, PLAIN[i].canonical, x, output);
                return;
            }
        grow_foreign_like(w->g, name, &x, 1, x, output);
    }
}

/* Applies batch norm, then the activation, to the layer's product. */
static void finish(writer *w, value_id product, const char *default_activation)
{
    str activation = text_option(w->d, w->section, "activation");
    if (activation.len == 0)
        activation = str_of(default_activation);
    bool has_norm = count_of(w, "batch_normalize", 0) != 0, is_linear = str_is(activation, "linear");
    if (has_norm)
        product = grow_batch_norm(w->g, product, true, true, 1e-5, is_linear ? w->out : NO_VALUE);
    if (!is_linear)
        activate(w, activation, product, w->out);
}

/* Returns the output value of the product: the layer's own if neither norm nor activation follows. */
static value_id product_output(const writer *w, const char *default_activation)
{
    str activation = text_option(w->d, w->section, "activation");
    bool is_linear = activation.len ? str_is(activation, "linear") : strcmp(default_activation, "linear") == 0;
    return is_linear && !count_of(w, "batch_normalize", 0) ? w->out : NO_VALUE;
}

static void map_convolutional(writer *w)
{
    static const char *const ACTIVATION = "logistic"; /* Darknet's default */
    int64_t size = size_of(w, "size", 1), stride = size_of(w, "stride", 1), dilation = size_of(w, "dilation", 1);
    int64_t pad = count_of(w, "pad", 0) ? size / 2 : count_of(w, "padding", 0);
    dilation = size == 1 ? 1 : dilation;
    /* Darknet increases the padding with the dilation. */
    emit_window window = grow_window(size, size, size_of(w, "stride_y", stride), size_of(w, "stride_x", stride),
                                     pad * dilation, pad * dilation);
    window.dilations[0] = window.dilations[1] = dilation;
    window.group = size_of(w, "groups", 1);
    bool is_transposed = str_is(w->section->type, "deconvolutional") || str_is(w->section->type, "deconv");
    if (text_option(w->d, w->section, "share_index").len) {
        int64_t shared = real_option(w->d, w->section, "share_index", 0) < 0
                             ? w->at + (int64_t)real_option(w->d, w->section, "share_index", 0)
                             : count_of(w, "share_index", 0);
        if (shared < 0 || shared >= w->at)
            section_fail(w->d, w->section, "'share_index' names a layer that does not come before it");
        w->g->owner = arena_printf(w->g->b.arena, "%.*s_%lld", STR_ARG(w->section->type), (long long)shared);
    }
    if (count_of(w, "antialiasing", 0))
        network_note(&w->g->b.model->net, "layer '%.*s' asks for antialiasing, which is not counted",
                     STR_ARG(w->g->e.name));
    value_id product =
        grow_conv(w->g, is_transposed ? "ConvTranspose" : "Conv", w->x, &window, size_of(w, "filters", 1),
                  !count_of(w, "batch_normalize", 0), product_output(w, ACTIVATION));
    finish(w, product, ACTIVATION);
}

static void map_connected(writer *w)
{
    value_id product = grow_dense(w->g, w->x, 1, size_of(w, "output", 1), !count_of(w, "batch_normalize", 0),
                                  product_output(w, "logistic"));
    finish(w, product, "logistic");
}

static void map_pool(writer *w)
{
    int64_t stride = size_of(w, "stride", 1), size = size_of(w, "size", stride);
    int64_t padding = count_of(w, "padding", size - 1), begin = padding / 2;
    emit_window window =
        grow_window(size, size, size_of(w, "stride_y", stride), size_of(w, "stride_x", stride), begin, begin);
    window.pads[2] = window.pads[3] = padding - begin;
    emit_pool(&w->g->e, str_is(w->section->type, "local_avgpool") ? "AveragePool" : "MaxPool", w->x, &window, w->out);
}

/* Each position has its own weights. */
static void map_local(writer *w)
{
    grower *g = w->g;
    int64_t size = size_of(w, "size", 1), stride = size_of(w, "stride", 1), filters = size_of(w, "filters", 1), taps;
    int64_t pad = count_of(w, "pad", 0) ? size / 2 : 0;
    num channels = grow_dim(g, w->x, 1), height = grow_dim(g, w->x, 2), width = grow_dim(g, w->x, 3);
    if (!dim_known(channels) || !dim_known(height) || !dim_known(width) || height + 2 * pad < size ||
        width + 2 * pad < size || size > 1024 || __builtin_mul_overflow(channels, size * size, &taps)) {
        grow_foreign(g, w->section->type, &w->x, 1, &w->out, 1);
        return;
    }
    int64_t out_height = (height + 2 * pad - size) / stride + 1, out_width = (width + 2 * pad - size) / stride + 1;
    int64_t places = out_height * out_width;
    value_id kernel = grow_weight(g, "weight", 3, (const int64_t[]){places, taps, filters});
    value_id rows = emit_local_product(&g->e, w->x, kernel, places, taps);
    value_id columns = emit_transpose(&g->e, rows, (const int64_t[]){0, 2, 1}, 3, NO_VALUE);
    value_id image = emit_reshaped(&g->e, columns, (const int64_t[]){0, filters, out_height, out_width}, 4, NO_VALUE);
    value_id bias = grow_weight(g, "bias", 3, (const int64_t[]){filters, out_height, out_width});
    value_id sum = emit_2(&g->e, "Add", image, bias, product_output(w, "logistic"));
    finish(w, sum, "logistic");
}

static void map_route(writer *w)
{
    value_id inputs[MAX_LIST];
    int count = read_layers(w, "layers", inputs);
    int64_t groups = size_of(w, "groups", 1), group = count_of(w, "group_id", 0);
    for (int i = 0; i < count && groups > 1; i++) {
        num channels = grow_dim(w->g, inputs[i], 1);
        int64_t part = dim_known(channels) ? channels / groups : 0;
        inputs[i] = grow_slice(w->g, inputs[i], 1, part * group, part * (group + 1), count == 1 ? w->out : NO_VALUE);
    }
    if (groups == 1 || count > 1)
        grow_concat(w->g, inputs, count, 1, w->out);
}

/* Brings the other layer's result to the shape of x: crops or pads channels, strides larger images. */
static value_id fitted(writer *w, value_id other)
{
    grower *g = w->g;
    emitter *e = &g->e;
    num own[MAX_RANK], dims[MAX_RANK];
    if (grow_same_shape(g, w->x, other) || grow_shape(g, w->x, own) != 4 || grow_shape(g, other, dims) != 4)
        return other;
    for (int i = 1; i < 4; i++)
        if (!dim_known(own[i]) || !dim_known(dims[i]))
            return other;
    if (dims[1] > own[1])
        other = grow_slice(g, other, 1, 0, own[1], NO_VALUE);
    for (int64_t i = 2; i < 4; i++)
        if (dims[i] > own[i] && own[i] > 0) {
            int64_t step = dims[i] / own[i];
            value_id inputs[] = {other, emit_list(e, (const int64_t[]){0}, 1),
                                 emit_list(e, (const int64_t[]){step * own[i]}, 1), emit_list(e, &i, 1),
                                 emit_list(e, &step, 1)};
            other = emit_op(e, "Slice", inputs, 5, NO_VALUE)->outputs[0];
            dims[i] = own[i];
        }
    int64_t pads[8] = {0};
    bool is_padded = false;
    for (int i = 1; i < 4; i++) {
        pads[4 + i] = own[i] > dims[i] ? own[i] - dims[i] : 0;
        is_padded |= pads[4 + i] > 0;
    }
    return is_padded ? emit_2(e, "Pad", other, emit_list(e, pads, 8), NO_VALUE) : other;
}

/* Weights of a sum: one per layer, or one per channel of each. */
static value_id weighted(writer *w, value_id v, int index)
{
    str kind = text_option(w->d, w->section, "weights_type");
    bool by_channel = str_is(kind, "per_channel");
    num channels = grow_dim(w->g, v, 1);
    if ((!by_channel && !str_is(kind, "per_feature")) || !dim_known(channels))
        return v;
    const char *name = arena_printf(w->g->b.arena, "weight_%d", index).ptr;
    value_id weight = grow_weight(w->g, name, 3, (const int64_t[]){by_channel ? channels : 1, 1, 1});
    return emit_2(&w->g->e, "Mul", v, weight, NO_VALUE);
}

static void map_shortcut(writer *w)
{
    value_id inputs[MAX_LIST];
    int count = read_layers(w, "from", inputs);
    str activation = text_option(w->d, w->section, "activation");
    bool is_linear = activation.len == 0 || str_is(activation, "linear");
    value_id sum = weighted(w, w->x, 0);
    for (int i = 0; i < count; i++) {
        bool is_last = i == count - 1;
        value_id other = weighted(w, fitted(w, inputs[i]), i + 1);
        sum = emit_2(&w->g->e, "Add", sum, other, is_last && is_linear ? w->out : NO_VALUE);
    }
    if (!is_linear)
        activate(w, activation, sum, w->out);
}

/* The previous layer scales the channels, or the elements, of another one. */
static void map_scale(writer *w)
{
    value_id inputs[MAX_LIST];
    int count = read_layers(w, "from", inputs);
    str activation = text_option(w->d, w->section, "activation");
    bool is_linear = activation.len == 0 || str_is(activation, "linear");
    value_id product = emit_2(&w->g->e, "Mul", inputs[count - 1], w->x, is_linear ? w->out : NO_VALUE);
    if (!is_linear)
        activate(w, activation, product, w->out);
}

static void map_reorg(writer *w)
{
    int64_t extra = count_of(w, "extra", 0);
    if (extra) { /* the table has one more row, of zeros */
        node *flat = emit_op(&w->g->e, "Flatten", &w->x, 1, NO_VALUE);
        emit_int(flat, "axis", 1);
        value_id pads = emit_list(&w->g->e, (const int64_t[]){0, 0, 0, extra}, 4);
        emit_2(&w->g->e, "Pad", flat->outputs[0], pads, w->out);
        return;
    }
    bool is_reverse = count_of(w, "reverse", 0) != 0;
    node *n = emit_op(&w->g->e, is_reverse ? "DepthToSpace" : "SpaceToDepth", &w->x, 1, w->out);
    emit_int(n, "blocksize", size_of(w, "stride", 1));
}

static void map_crop(writer *w)
{
    value_id rows = grow_slice(w->g, w->x, 2, 0, size_of(w, "crop_height", 1), NO_VALUE);
    grow_slice(w->g, rows, 3, 0, size_of(w, "crop_width", 1), w->out);
}

static void map_upsample(writer *w)
{
    double stride = (double)size_of(w, "stride", 2);
    grow_upsample(w->g, "nearest", w->x, stride, stride, w->out);
}

/* Softmax over the channels (`spatial`), over all elements, or over each group of elements. */
static void map_softmax(writer *w)
{
    emitter *e = &w->g->e;
    int64_t groups = size_of(w, "groups", 1);
    if (count_of(w, "spatial", 0)) {
        grow_softmax(w->g, w->x, 1, w->out);
        return;
    }
    node *flat = emit_op(e, "Flatten", &w->x, 1, NO_VALUE);
    emit_int(flat, "axis", 1);
    value_id x = flat->outputs[0];
    if (groups == 1) {
        grow_softmax(w->g, x, 1, w->out);
        return;
    }
    x = grow_softmax(w->g, emit_reshaped(e, x, (const int64_t[]){0, groups, -1}, 3, NO_VALUE), 2, NO_VALUE);
    emit_reshaped(e, x, (const int64_t[]){0, -1}, 2, w->out);
}

/* A sigmoid over nearly all channels decodes boxes. With `new_coords`, the previous layer already applies it. */
static void map_yolo(writer *w)
{
    emit_1(&w->g->e, count_of(w, "new_coords", 0) ? "Identity" : "Sigmoid", w->x, w->out);
}

static void map_lrn(writer *w)
{
    emit_int(emit_op(&w->g->e, "LRN", &w->x, 1, w->out), "size", size_of(w, "size", 5));
}

static void map_batch_norm(writer *w)
{
    grow_batch_norm(w->g, w->x, true, true, 1e-5, w->out);
}

static void map_activation(writer *w)
{
    str name = text_option(w->d, w->section, "activation");
    activate(w, name.len ? name : STR("linear"), w->x, w->out);
}

/* ---- recurrent layers: one step, with the state of the step before ----------------------------------------------- */

typedef struct cell {
    writer *w;
    str layer;
    bool has_norm;
} cell;

static cell cell_of(writer *w)
{
    return (cell){w, w->g->e.name, count_of(w, "batch_normalize", 0) != 0};
}

/* One of the connected layers inside a recurrent layer. */
static value_id part(cell *c, const char *name, value_id x, int64_t units)
{
    grower *g = c->w->g;
    g->e.name = arena_printf(g->b.arena, "%.*s/%s", STR_ARG(c->layer), name);
    value_id y = grow_dense(g, x, 1, units, !c->has_norm, NO_VALUE);
    if (c->has_norm)
        y = grow_batch_norm(g, y, true, true, 1e-5, NO_VALUE);
    g->e.name = c->layer;
    return y;
}

static value_id gate(cell *c, const char *from_input, const char *from_state, value_id state, int64_t units,
                     const char *activation)
{
    emitter *e = &c->w->g->e;
    value_id input = part(c, from_input, c->w->x, units), recurrent = part(c, from_state, state, units);
    return emit_1(e, activation, emit_2(e, "Add", input, recurrent, NO_VALUE), NO_VALUE);
}

static void map_rnn(writer *w)
{
    cell c = cell_of(w);
    int64_t hidden = size_of(w, "hidden", 1);
    value_id state = grow_buffer(w->g, "state", 2, (const int64_t[]){1, hidden});
    str activation = text_option(w->d, w->section, "activation");
    value_id input = part(&c, "input", w->x, hidden), recurrent = part(&c, "self", state, hidden),
             next = emit_temp(&w->g->e);
    if (activation.len == 0)
        activation = STR("logistic");
    activate(w, activation, emit_2(&w->g->e, "Add", input, recurrent, NO_VALUE), next);
    activate(w, activation, part(&c, "output", next, size_of(w, "output", 1)), w->out);
}

/* z·h + (1 - z)·h', where h' uses the state after the reset gate */
static void map_gru(writer *w)
{
    cell c = cell_of(w);
    emitter *e = &w->g->e;
    int64_t units = size_of(w, "output", 1);
    value_id state = grow_buffer(w->g, "state", 2, (const int64_t[]){1, units});
    value_id update = gate(&c, "input_z", "state_z", state, units, "Sigmoid");
    value_id reset = gate(&c, "input_r", "state_r", state, units, "Sigmoid");
    value_id forgot = emit_2(e, "Mul", reset, state, NO_VALUE);
    value_id next = gate(&c, "input_h", "state_h", forgot, units, "Tanh");
    value_id rest = emit_2(e, "Sub", emit_scalar(e, DT_FLOAT32, 1), update, NO_VALUE);
    emit_2(e, "Add", emit_2(e, "Mul", update, state, NO_VALUE), emit_2(e, "Mul", rest, next, NO_VALUE), w->out);
}

static void map_lstm(writer *w)
{
    cell c = cell_of(w);
    emitter *e = &w->g->e;
    int64_t units = size_of(w, "output", 1);
    value_id state = grow_buffer(w->g, "state", 2, (const int64_t[]){1, units});
    value_id memory = grow_buffer(w->g, "cell", 2, (const int64_t[]){1, units});
    value_id forget = gate(&c, "uf", "wf", state, units, "Sigmoid"), in = gate(&c, "ui", "wi", state, units, "Sigmoid");
    value_id new = gate(&c, "ug", "wg", state, units, "Tanh"), out = gate(&c, "uo", "wo", state, units, "Sigmoid");
    value_id kept =
        emit_2(e, "Add", emit_2(e, "Mul", forget, memory, NO_VALUE), emit_2(e, "Mul", in, new, NO_VALUE), NO_VALUE);
    emit_2(e, "Mul", out, emit_1(e, "Tanh", kept, NO_VALUE), w->out);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef struct row {
    const char *type;
    void (*map)(writer *w);
    const char *canonical; /* operator without options; NULL if there is a function */
} row;

static const row ROWS[] = {
    {"Gaussian_yolo", map_yolo, NULL},
    {"activation", map_activation, NULL},
    {"avg", NULL, "GlobalAveragePool"},
    {"avgpool", NULL, "GlobalAveragePool"},
    {"batchnorm", map_batch_norm, NULL},
    {"conn", map_connected, NULL},
    {"connected", map_connected, NULL},
    {"contrastive", NULL, "Identity"}, /* a loss */
    {"conv", map_convolutional, NULL},
    {"convolutional", map_convolutional, NULL},
    {"cost", NULL, "Identity"}, /* a loss */
    {"crop", map_crop, NULL},
    {"deconv", map_convolutional, NULL},
    {"deconvolutional", map_convolutional, NULL},
    {"detection", NULL, "Identity"}, /* a loss */
    {"dropout", NULL, "Dropout"},
    {"empty", NULL, "Identity"},
    {"gru", map_gru, NULL},
    {"local", map_local, NULL},
    {"local_avgpool", map_pool, NULL},
    {"logistic", NULL, "Sigmoid"},
    {"lrn", map_lrn, NULL},
    {"lstm", map_lstm, NULL},
    {"max", map_pool, NULL},
    {"maxpool", map_pool, NULL},
    {"normalization", map_lrn, NULL},
    {"region", map_yolo, NULL},
    {"reorg", map_reorg, NULL},
    {"reorg3d", map_reorg, NULL},
    {"rnn", map_rnn, NULL},
    {"route", map_route, NULL},
    {"sam", map_scale, NULL},
    {"scale_channels", map_scale, NULL},
    {"shortcut", map_shortcut, NULL},
    {"silence", NULL, "Identity"},
    {"soft", map_softmax, NULL},
    {"softmax", map_softmax, NULL},
    {"upsample", map_upsample, NULL},
    {"yolo", map_yolo, NULL},
};

static void write_layer(writer *w)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        if (!str_is(w->section->type, ROWS[i].type))
            continue;
        if (ROWS[i].map)
            ROWS[i].map(w);
        else
            emit_1(&w->g->e, ROWS[i].canonical, w->x, w->out);
        return;
    }
    grow_foreign(w->g, w->section->type, &w->x, 1, &w->out, 1);
}

/* True if the layer selects its own inputs. */
static bool reads_before(str type)
{
    return !str_is(type, "route");
}

static void write_network(grower *g, void *program)
{
    const darknet *d = program;
    arena *a = g->b.arena;
    int32_t count = d->sections.count - 1;
    writer w = {.d = d, .g = g};
    w.results = ARENA_ARRAY(a, value_id, (size_t)count);
    w.is_read = ARENA_ARRAY(a, bool, (size_t)count);
    for (w.at = 0; w.at < count; w.at++) {
        w.section = &d->sections.items[w.at + 1];
        w.x = w.at ? w.results[w.at - 1] : d->input;
        w.out = grow_value(g, arena_printf(a, "%d", w.at));
        g->e.name = arena_printf(a, "%.*s_%d", STR_ARG(w.section->type), w.at);
        g->owner = (str){0};
        if (w.at && reads_before(w.section->type))
            w.is_read[w.at - 1] = true;
        write_layer(&w);
        w.results[w.at] = w.out;
    }
    for (int32_t i = 0; i < count; i++)
        if (!w.is_read[i])
            grow_output(g, w.results[i]);
}

static value_id read_input(builder *b, const darknet *d)
{
    const section *s = &d->sections.items[0];
    num dims[4] = {1, int_option(d, s, "channels", 0, 0), int_option(d, s, "height", 0, 0),
                   int_option(d, s, "width", 0, 0)};
    int64_t inputs = int_option(d, s, "inputs", 0, 0);
    if (dims[1] && dims[2] && dims[3])
        return grow_input(b, STR("input"), DT_FLOAT32, 4, dims);
    if (!inputs)
        section_fail(d, s, "the input has neither 'width', 'height', 'channels' nor 'inputs'");
    return grow_input(b, STR("input"), DT_FLOAT32, 2, (const num[]){1, inputs});
}

/* A section without options usually means that the file was cut off there. */
static bool needs_options(str type)
{
    static const char *const TYPES[] = {"convolutional", "conv",   "connected", "maxpool",
                                        "yolo",          "region", "detection", "upsample"};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_is(type, TYPES[i]))
            return true;
    return false;
}

void darknet_read(builder *b, const uint8_t *bytes, size_t size)
{
    darknet *d = ARENA_NEW(b->arena, darknet);
    d->fail = &b->model->fail;
    read_sections(d, b->arena, (str){(const char *)bytes, size});
    if (d->sections.count < 2)
        fail_with(d->fail, SOOTH_ERROR_INPUT, "the configuration has no layer after [net]; give the whole file");
    grow_begin(b, "darknet");
    const section *last = &d->sections.items[d->sections.count - 1];
    if (d->ends_within_line || (last->count == 0 && needs_options(last->type)))
        *(str *)ARENA_PUSH(b->arena, &b->source->notes) = arena_printf(
            b->arena, "the file ends inside section [%.*s] at line %d: it may be cut off, with layers missing",
            STR_ARG(last->type), last->line);
    d->input = read_input(b, d);
    grow_layers(b, write_network, d);
}
