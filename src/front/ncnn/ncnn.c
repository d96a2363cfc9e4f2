/* ncnn.c: reads networks of ncnn (.param) and pnnx (.pnnx.param): text, one line per layer.
 *
 *   7767517                                       both begin with this number
 *   layers blobs
 *   type name inputs outputs input… output… key=value…
 *
 * ncnn's keys are numbers; an array has the key -23300 - number, and its length first. Shapes of blobs are there only
 * if a tool added them (-23330=4,dims,w,h,c per output). pnnx's keys are names, with #blob=(shape)type and
 * @weight=(shape)type.
 *
 * ncnn's blobs have no batch; a batch of 1 is added here. The weights file is not needed. Without an input size,
 * images of 224 x 224 are assumed, or the size that fits the first inner product. */
#include "front/ncnn/ncnn.h"
#include "base/names.h"
#include "front/front.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_LAYERS = 200000, MAX_PARAMS = 1 << 22, SEQUENCE = 128 };

static const char MAGIC[] = "7767517";

bool ncnn_sniff(const uint8_t *bytes, size_t size)
{
    return size > 8 && memcmp(bytes, MAGIC, 7) == 0 && (bytes[7] == '\n' || bytes[7] == '\r' || bytes[7] == ' ');
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

str ncnn_text(const ncnn_layer *l, const char *key)
{
    for (int32_t i = l->param_count - 1; i >= 0; i--)
        if (str_is(l->params[i].key, key))
            return l->params[i].value;
    return (str){0};
}

double ncnn_real_of(str text, double otherwise)
{
    char number[64], *end;
    if (text.len == 0 || text.len >= sizeof number)
        return otherwise;
    memcpy(number, text.ptr, text.len);
    number[text.len] = '\0';
    double result = strtod(number, &end);
    return end != number && result == result && result > -1e300 && result < 1e300 ? result : otherwise;
}

int ncnn_numbers(str text, int64_t *to, int room)
{
    int count = 0;
    for (size_t i = 0; i < text.len;) {
        size_t start = i;
        while (i < text.len && text.ptr[i] != ',' && text.ptr[i] != '(' && text.ptr[i] != ')' && text.ptr[i] != '[' &&
               text.ptr[i] != ']')
            i++;
        double number = ncnn_real_of((str){text.ptr + start, i - start}, 1e301);
        if (number >= -9e18 && number <= 9e18 && count < room)
            to[count++] = (int64_t)number;
        i++;
    }
    return count;
}

static str numbered(const ncnn_layer *l, int key)
{
    char name[16];
    snprintf(name, sizeof name, "%d", key);
    return ncnn_text(l, name);
}

int64_t ncnn_int(const ncnn_layer *l, int key, int64_t otherwise)
{
    double number = ncnn_real_of(numbered(l, key), (double)otherwise);
    return number >= -NCNN_MAX_SIZE && number <= 1e15 ? (int64_t)number : otherwise;
}

double ncnn_real(const ncnn_layer *l, int key, double otherwise)
{
    return ncnn_real_of(numbered(l, key), otherwise);
}

int ncnn_list(const ncnn_layer *l, int key, int64_t *to, int room)
{
    str text = numbered(l, -23300 - key);
    const char *comma = text.len ? memchr(text.ptr, ',', text.len) : NULL;
    if (text.len == 0)
        return -1;
    size_t length = comma ? (size_t)(comma - text.ptr) + 1 : text.len;
    return ncnn_numbers((str){text.ptr + length, text.len - length}, to, room);
}

int ncnn_hint(const ncnn_layer *l, int index, num *dims)
{
    int64_t numbers[4 * 64];
    int count = ncnn_list(l, 30, numbers, 4 * 64);
    if (index < 0 || index >= 64 || count < 4 * (index + 1))
        return RANK_UNKNOWN;
    const int64_t *own = numbers + (size_t)4 * (size_t)index; /* dims, w, h, c */
    if (own[0] < 1 || own[0] > 3)
        return RANK_UNKNOWN;
    dims[0] = 1;
    for (int i = 0; i < own[0]; i++) {
        if (own[own[0] - i] < 0 || own[own[0] - i] > NCNN_MAX_SIZE)
            return RANK_UNKNOWN;
        dims[1 + i] = own[own[0] - i];
    }
    return (int)own[0] + 1;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct reader {
    builder *b;
    ncnn *n;
    names blobs;
    str rest;
    int32_t line;
    bool is_pnnx;
} reader;

static _Noreturn void line_fail(const reader *r, const char *what)
{
    fail_with(&r->b->model->fail, SOOTH_ERROR_INPUT, "%s, at line %d; convert the model again", what, r->line);
}

static bool next_line(reader *r, str *line)
{
    if (r->rest.len == 0)
        return false;
    const char *end = memchr(r->rest.ptr, '\n', r->rest.len);
    size_t length = end ? (size_t)(end - r->rest.ptr) : r->rest.len;
    *line = (str){r->rest.ptr, length};
    length += end != NULL;
    r->rest = (str){r->rest.ptr + length, r->rest.len - length};
    r->line++;
    return true;
}

static bool next_word(str *line, str *word)
{
    size_t i = 0, start;
    while (i < line->len && (line->ptr[i] == ' ' || line->ptr[i] == '\t' || line->ptr[i] == '\r'))
        i++;
    start = i;
    while (i < line->len && line->ptr[i] != ' ' && line->ptr[i] != '\t' && line->ptr[i] != '\r')
        i++;
    *word = (str){line->ptr + start, i - start};
    *line = (str){line->ptr + i, line->len - i};
    return word->len > 0;
}

static int32_t blob_named(reader *r, str name)
{
    int32_t index = names_get(&r->blobs, name, -1);
    if (index >= 0)
        return index;
    *(ncnn_blob *)ARENA_PUSH(r->b->arena, &r->n->blobs) =
        (ncnn_blob){.name = name, .value = NO_VALUE, .producer = -1, .reader = -1};
    names_put(&r->blobs, name, r->n->blobs.count - 1);
    return r->n->blobs.count - 1;
}

static void read_layer(reader *r, str line, int32_t index)
{
    arena *a = r->b->arena;
    ncnn_layer *l = &r->n->layers[index];
    str word, counts[2];
    struct {
        ncnn_param *items;
        int32_t count, capacity;
    } params = {0};
    if (!next_word(&line, &l->type) || !next_word(&line, &l->name) || !next_word(&line, &counts[0]) ||
        !next_word(&line, &counts[1]))
        line_fail(r, "a layer has no type, name or number of blobs");
    double in = ncnn_real_of(counts[0], -1), out = ncnn_real_of(counts[1], -1);
    if (in < 0 || out < 0 || in > NCNN_MAX_BLOBS || out > NCNN_MAX_BLOBS)
        line_fail(r, "a layer has an impossible number of blobs");
    if (out > 0 && str_is(l->type, "pnnx.Output"))
        line_fail(r, "an output writes blobs");
    l->in = ARENA_ARRAY(a, int32_t, (size_t)in);
    l->out = ARENA_ARRAY(a, int32_t, (size_t)out);
    for (; l->in_count < (int)in; l->in_count++) {
        if (!next_word(&line, &word))
            line_fail(r, "a layer has too few blobs");
        int32_t blob = l->in[l->in_count] = blob_named(r, word);
        if (r->n->blobs.items[blob].producer < 0)
            line_fail(r, "a blob is read before it is written: layers must not form a cycle");
        r->n->blobs.items[blob].is_read = true;
        if (r->n->blobs.items[blob].reader < 0) {
            r->n->blobs.items[blob].reader = index;
            r->n->blobs.items[blob].place = l->in_count;
        }
    }
    for (; l->out_count < (int)out; l->out_count++) {
        if (!next_word(&line, &word))
            line_fail(r, "a layer has too few blobs");
        int32_t blob = l->out[l->out_count] = blob_named(r, word);
        if (r->n->blobs.items[blob].producer >= 0)
            line_fail(r, "a blob is written twice");
        r->n->blobs.items[blob].producer = index;
    }
    while (next_word(&line, &word)) {
        const char *equals = memchr(word.ptr, '=', word.len);
        if (!equals || params.count >= MAX_PARAMS)
            continue;
        size_t length = (size_t)(equals - word.ptr);
        *(ncnn_param *)ARENA_PUSH(a, &params) = (ncnn_param){{word.ptr, length}, {equals + 1, word.len - length - 1}};
    }
    l->params = params.items;
    l->param_count = params.count;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static bool tells_shape(str type)
{
    static const char *const TYPES[] = {"RMSNorm",      "LayerNorm",   "Gemm",
                                        "InnerProduct", "Convolution", "ConvolutionDepthWise",
                                        "SDPA",         "RotaryEmbed", "Embed"};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_is(type, TYPES[i]))
            return true;
    return false;
}

/* Returns the first reader that implies a shape, looking through copies and pointwise layers; otherwise the first
 * reader. */
static const ncnn_layer *reader_of(const ncnn *n, int32_t blob, int *place)
{
    enum { MOST = 64 };
    int32_t blobs[MOST] = {blob};
    const ncnn_layer *first = NULL;
    for (int at = 0, count = 1; at < count; at++) {
        const ncnn_blob *x = &n->blobs.items[blobs[at]];
        if (x->reader < 0)
            continue;
        const ncnn_layer *l = &n->layers[x->reader];
        if (!first || tells_shape(l->type)) {
            *place = x->place;
            first = l;
        }
        if (tells_shape(l->type))
            return l;
        bool is_copy = str_is(l->type, "Split");
        for (int i = 0; i < l->out_count && count < MOST && (is_copy || str_is(l->type, "BinaryOp")); i++)
            blobs[count++] = l->out[i];
    }
    return first;
}

/* Computes the input channels of the first convolution from the size of its weights. */
static int64_t channels_of(const ncnn_layer *l)
{
    int64_t outputs = ncnn_int(l, 0, 0), width = ncnn_int(l, 1, 1), height = ncnn_int(l, 11, width), taps;
    int64_t size = ncnn_int(l, 6, 0), groups = str_is(l->type, "ConvolutionDepthWise") ? ncnn_int(l, 7, 1) : 1;
    bool is_known = outputs > 0 && width > 0 && height > 0 && size > 0 && outputs < 1 << 20 && width < 1024 &&
                    height < 1024 && groups > 0 && groups < 1 << 20;
    taps = is_known ? outputs * width * height : 0;
    return is_known && size % taps == 0 && size / taps > 0 && size / taps < 1 << 20 ? size / taps * groups : 3;
}

/* Makes an input whose shape is not in the file; its reader decides. */
static value_id guessed(reader *r, int32_t blob, str name)
{
    int place = 0;
    const ncnn_layer *l = reader_of(r->n, blob, &place);
    int64_t width = 0;
    if (l && (str_is(l->type, "RMSNorm") || str_is(l->type, "LayerNorm")))
        width = ncnn_int(l, 0, 0);
    else if (l && str_is(l->type, "Gemm") && place == 0)
        width = ncnn_int(l, 9, 0);
    else if (l && str_is(l->type, "InnerProduct") && ncnn_int(l, 0, 0) > 0)
        width = ncnn_int(l, 2, 0) / ncnn_int(l, 0, 1);
    if (l && (str_is(l->type, "Convolution") || str_is(l->type, "ConvolutionDepthWise")))
        return grow_guess_input(r->b, &r->n->guesses, name, 4, (const num[]){1, channels_of(l), 224, 224});
    if (width > 0 && width < NCNN_MAX_SIZE) {
        *(str *)ARENA_PUSH(r->b->arena, &r->b->source->notes) = arena_printf(
            r->b->arena,
            "the file does not have the length of sequences: %d tokens are assumed for input '%.*s'; give --shape",
            SEQUENCE, STR_ARG(name));
        return grow_input(r->b, name, DT_FLOAT32, 3, (const num[]){1, SEQUENCE, width});
    }
    if (l && str_is(l->type, "SDPA") && place == 3)
        return grow_input(r->b, name, DT_FLOAT32, 3, (const num[]){1, SEQUENCE, SEQUENCE});
    if (l && str_is(l->type, "Embed"))
        return grow_input(r->b, name, DT_INT32, 2, (const num[]){1, SEQUENCE});
    if (l && r->n->guesses.count == 0 && !str_is(l->type, "RotaryEmbed") && !str_is(l->type, "SDPA"))
        return grow_guess_input(r->b, &r->n->guesses, name, 4, (const num[]){1, 3, 224, 224});
    return grow_input(r->b, name, DT_FLOAT32, RANK_UNKNOWN, NULL);
}

static void read_input(reader *r, const ncnn_layer *l)
{
    for (int i = 0; i < l->out_count; i++) {
        ncnn_blob *blob = &r->n->blobs.items[l->out[i]];
        str name = blob->name;
        num dims[MAX_RANK] = {1};
        int rank = ncnn_hint(l, i, dims);
        int64_t width = ncnn_int(l, 0, 0), height = ncnn_int(l, 1, 0), channels = ncnn_int(l, 2, 0);
        for (int k = 0; k < 3 && !r->is_pnnx; k++)
            if (ncnn_real(l, k, 0) < -1 || ncnn_real(l, k, 0) > NCNN_MAX_SIZE)
                fail_with(&r->b->model->fail, SOOTH_ERROR_INPUT,
                          "input '%.*s' has a dimension of %g; convert the model again", STR_ARG(name),
                          ncnn_real(l, k, 0));
        blob->is_input = true;
        if (r->is_pnnx) {
            char key[300];
            snprintf(key, sizeof key, "#%.*s", STR_ARG(name));
            str text = ncnn_text(l, key);
            rank = text.len ? ncnn_numbers(text, dims, MAX_RANK) : RANK_UNKNOWN;
        } else if (rank < 0 && width > 0) { /* pools by width only, by height and width, or by all three */
            rank = 1;
            if (channels > 0)
                dims[rank++] = channels;
            if (height > 0)
                dims[rank++] = height;
            dims[rank++] = width;
        }
        for (int k = 0; k < rank; k++)
            if (dims[k] < 0 || dims[k] > NCNN_MAX_SIZE)
                fail_with(&r->b->model->fail, SOOTH_ERROR_INPUT,
                          "input '%.*s' has a dimension of %lld; convert the model again", STR_ARG(name),
                          (long long)dims[k]);
        value_id v = rank > 0 ? grow_input(r->b, name, DT_FLOAT32, rank, dims) : guessed(r, l->out[i], name);
        r->n->blobs.items[l->out[i]].value = v;
    }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool is_input(const ncnn_layer *l)
{
    return str_is(l->type, "Input") || str_is(l->type, "pnnx.Input");
}

static void write_network(grower *g, void *program)
{
    ncnn *n = program;
    value_id in[NCNN_MAX_BLOBS], outs[NCNN_MAX_BLOBS];
    grow_guess_notes(g, &n->guesses);
    for (int32_t i = 0; i < n->layer_count; i++) {
        const ncnn_layer *l = &n->layers[i];
        if (is_input(l) || str_is(l->type, "pnnx.Output"))
            continue;
        g->e.name = l->name;
        for (int k = 0; k < l->in_count; k++)
            in[k] = n->blobs.items[l->in[k]].value;
        for (int k = 0; k < l->out_count; k++)
            outs[k] = n->blobs.items[l->out[k]].value = grow_value(g, n->blobs.items[l->out[k]].name);
        ncnn_call c = {.g = g,
                       .e = &g->e,
                       .layer = l,
                       .in = in,
                       .outs = outs,
                       .in_count = l->in_count,
                       .out_count = l->out_count,
                       .x = l->in_count ? in[0] : NO_VALUE,
                       .out = l->out_count ? outs[0] : NO_VALUE};
        if (str_is(g->b.source->format, "pnnx"))
            pnnx_write(&c);
        else
            ncnn_write(&c);
    }
    for (int32_t i = 0; i < n->layer_count; i++)
        if (str_is(n->layers[i].type, "pnnx.Output"))
            for (int k = 0; k < n->layers[i].in_count; k++)
                grow_output(g, n->blobs.items[n->layers[i].in[k]].value);
    for (int32_t i = 0; i < n->blobs.count; i++)
        if (!n->blobs.items[i].is_read && !n->blobs.items[i].is_input)
            grow_output(g, n->blobs.items[i].value);
}

void ncnn_read(builder *b, const uint8_t *bytes, size_t size)
{
    reader r = {.b = b, .n = ARENA_NEW(b->arena, ncnn), .rest = {(const char *)bytes, size}};
    str line, word;
    names_init(&r.blobs, b->arena);
    next_line(&r, &line);
    double count = next_line(&r, &line) && next_word(&line, &word) ? ncnn_real_of(word, -1) : -1;
    if (count < 1 || count > MAX_LAYERS || (size_t)count > r.rest.len)
        line_fail(&r, "the number of layers is not valid");
    r.n->layers = ARENA_ARRAY(b->arena, ncnn_layer, (size_t)count);
    while (r.n->layer_count < (int32_t)count) {
        if (!next_line(&r, &line))
            line_fail(&r, "the file ends before its last layer");
        str rest = line;
        if (next_word(&rest, &word))
            read_layer(&r, line, r.n->layer_count++);
    }
    r.is_pnnx = memchr(r.n->layers[0].type.ptr, '.', r.n->layers[0].type.len) != NULL;
    grow_begin(b, r.is_pnnx ? "pnnx" : "ncnn");
    for (int32_t i = 0; i < r.n->layer_count; i++)
        if (is_input(&r.n->layers[i]))
            read_input(&r, &r.n->layers[i]);
    grow_layers(b, write_network, r.n);
    grow_guess_sizes(b, &r.n->guesses);
}
