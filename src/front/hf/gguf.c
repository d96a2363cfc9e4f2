/* gguf.c: reads GGUF, llama.cpp's format: metadata and the table of tensors. The graph follows from the sizes in the
 * metadata and the tensors present; the data after the table are never read.
 *
 * Little-endian; a string is its length (u64) and its bytes:
 *   1. "GGUF", version u32 (2 or 3), number of tensors u64, number of metadata u64
 *   2. metadata: key (string), type u32, value; an array is element type u32, count u64, elements
 *   3. tensors: name (string), number of dimensions u32, dimensions u64 (the last one first), type u32, offset u64
 *
 * Types 0, 1, 24 … 30 are plain numbers; the others are blocks of values of a few bits that share scales
 * (gguf_graph.c). */
#include "front/hf/gguf.h"
#include "front/common/emit.h"
#include "front/front.h"

enum { MAX_DEPTH = 4, MAX_DIMS = 8 };

bool gguf_sniff(const uint8_t *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes, "GGUF", 4) == 0;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *bytes;
    size_t size, at;
    fail *fail;
} reader;

static const uint8_t *take(reader *r, uint64_t count)
{
    if (count > r->size - r->at)
        fail_with(r->fail, SOOTH_ERROR_INPUT, "the file ends inside its header, at byte %zu; fetch it again", r->at);
    const uint8_t *p = r->bytes + r->at;
    r->at += (size_t)count;
    return p;
}

static uint64_t take_number(reader *r, int count)
{
    const uint8_t *p = take(r, (uint64_t)count);
    uint64_t number = 0;
    for (int i = 0; i < count; i++)
        number |= (uint64_t)p[i] << (8 * i);
    return number;
}

static str take_string(reader *r)
{
    uint64_t length = take_number(r, 8);
    return (str){(const char *)take(r, length), (size_t)length};
}

/* ---- metadata ---------------------------------------------------------------------------------------------------- */

enum { TYPE_FLOAT32 = 6, TYPE_STRING = 8, TYPE_ARRAY = 9, TYPE_FLOAT64 = 12 };

static int type_bytes(const reader *r, uint64_t type)
{
    static const int BYTES[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type >= sizeof BYTES / sizeof *BYTES)
        fail_with(r->fail, SOOTH_ERROR_INPUT, "metadata has an invalid type %llu, at byte %zu; fetch the file again",
                  (unsigned long long)type, r->at);
    return BYTES[type];
}

static void skip_array(reader *r, int depth)
{
    uint64_t type = take_number(r, 4), count = take_number(r, 8);
    int width = type_bytes(r, type);
    if (width) {
        if (count > (r->size - r->at) / (size_t)width)
            count = UINT64_MAX / (unsigned)width; /* too large for any file, so that take() refuses it */
        take(r, count * (unsigned)width);
        return;
    }
    if (depth == MAX_DEPTH)
        fail_with(r->fail, SOOTH_ERROR_INPUT, "arrays are nested too deeply, at byte %zu; fetch the file again", r->at);
    for (uint64_t i = 0; i < count; i++) /* each string has its own length; the file's size bounds the loop */
        if (type == TYPE_STRING)
            take_string(r);
        else
            skip_array(r, depth + 1);
}

static void read_value(reader *r, gguf_value *v)
{
    v->type = (int)take_number(r, 4);
    if (v->type == TYPE_STRING) {
        v->text = take_string(r);
    } else if (v->type == TYPE_ARRAY) {
        size_t begin = r->at;
        v->element_type = (int)take_number(r, 4);
        v->count = (int64_t)take_number(r, 8);
        v->elements = r->bytes + r->at;
        r->at = begin;
        skip_array(r, 0);
    } else {
        int width = type_bytes(r, (uint64_t)v->type);
        v->elements = take(r, (uint64_t)width);
        v->element_type = v->type;
        v->count = 1;
    }
}

static const gguf_value *find(const gguf *g, str key)
{
    int32_t i = names_get(&g->keys, key, -1);
    return i < 0 ? NULL : &g->values[i];
}

static const gguf_value *find_own(const gguf *g, const char *key)
{
    char text[160];
    int length = snprintf(text, sizeof text, "%.*s.%s", STR_ARG(g->architecture), key);
    return length > 0 && (size_t)length < sizeof text ? find(g, (str){text, (size_t)length}) : NULL;
}

static bool element(const gguf_value *v, int64_t index, int64_t *integer, double *real)
{
    static const int BYTES[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    static const bool IS_SIGNED[] = {0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0};
    if (!v || index >= v->count || v->element_type < 0 || v->element_type > TYPE_FLOAT64 || !BYTES[v->element_type])
        return false;
    int width = BYTES[v->element_type];
    uint64_t bits = 0;
    for (int i = 0; i < width; i++)
        bits |= (uint64_t)v->elements[index * width + i] << (8 * i);
    if (v->element_type == TYPE_FLOAT32) {
        float x;
        uint32_t low = (uint32_t)bits;
        memcpy(&x, &low, sizeof x);
        *real = x;
        *integer = -1;
    } else if (v->element_type == TYPE_FLOAT64) {
        memcpy(real, &bits, sizeof *real);
        *integer = -1;
    } else {
        bool is_negative = IS_SIGNED[v->element_type] && bits >> (8 * width - 1);
        *integer = is_negative || bits > INT64_MAX ? -1 : (int64_t)bits;
        *real = (double)*integer;
    }
    return true;
}

int64_t gguf_int(const gguf *g, const char *key, int64_t layer, int64_t otherwise)
{
    const gguf_value *v = find_own(g, key);
    int64_t integer;
    double real;
    if (!v || !element(v, v->type == TYPE_ARRAY ? layer : 0, &integer, &real))
        return otherwise;
    enum { MOST = 1 << 24 };
    if (integer < 0 || integer > MOST)
        fail_with(g->fail, SOOTH_ERROR_INPUT,
                  "not a possible size, at '%.*s.%s' of the metadata; convert the model again",
                  STR_ARG(g->architecture), key);
    return integer;
}

double gguf_real(const gguf *g, const char *key, double otherwise)
{
    int64_t integer;
    double real;
    return element(find_own(g, key), 0, &integer, &real) ? real : otherwise;
}

/* Looks up a text by its complete key. */
static str gguf_text(const gguf *g, const char *key)
{
    const gguf_value *v = find(g, str_of(key));
    return v && v->type == TYPE_STRING ? v->text : (str){0};
}

int64_t gguf_array_length(const gguf *g, const char *key)
{
    const gguf_value *v = find(g, str_of(key));
    return v && v->type == TYPE_ARRAY ? v->count : 0;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

gguf_tensor *gguf_find(const gguf *g, str name)
{
    int32_t i = names_get(&g->tensor_names, name, -1);
    return i < 0 ? NULL : &g->tensors[i];
}

static void read_tensor(reader *r, gguf_tensor *t)
{
    t->name = take_string(r);
    uint64_t rank = take_number(r, 4);
    if (rank > MAX_DIMS)
        fail_with(r->fail, SOOTH_ERROR_INPUT, "a tensor has %llu dimensions, at byte %zu; fetch the file again",
                  (unsigned long long)rank, r->at);
    t->rank = (int)rank;
    t->elements = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        uint64_t dim = take_number(r, 8);
        if (dim > INT64_MAX || __builtin_mul_overflow(t->elements, (int64_t)dim, &t->elements))
            fail_with(r->fail, SOOTH_ERROR_INPUT, "a tensor is larger than memory, at byte %zu; fetch the file again",
                      r->at);
        t->dims[i] = (int64_t)dim;
    }
    t->type = (int)take_number(r, 4);
    take(r, 8); /* skips the offset of its data */
}

static void read_header(reader *r, gguf *g, arena *a)
{
    take(r, 4);
    uint64_t version = take_number(r, 4);
    if (version == 1 || version > 3)
        fail_with(r->fail, SOOTH_ERROR_UNSUPPORTED,
                  "GGUF version %llu is not supported; versions 2 and 3 are, little-endian",
                  (unsigned long long)version);
    uint64_t tensors = take_number(r, 8), values = take_number(r, 8);
    enum { LEAST_TENSOR = 24, LEAST_VALUE = 13 };
    if (tensors > r->size / LEAST_TENSOR || values > r->size / LEAST_VALUE || tensors > INT32_MAX || values > INT32_MAX)
        fail_with(
            r->fail, SOOTH_ERROR_INPUT,
            "the header declares more tensors or metadata than the file can hold, at byte 8; fetch the file again");
    names_init(&g->keys, a);
    names_init(&g->tensor_names, a);
    g->values = ARENA_ARRAY(a, gguf_value, (size_t)values + 1);
    g->tensors = ARENA_ARRAY(a, gguf_tensor, (size_t)tensors + 1);
    for (uint64_t i = 0; i < values; i++) {
        str key = take_string(r);
        read_value(r, &g->values[i]);
        names_put(&g->keys, key, (int32_t)i);
    }
    for (uint64_t i = 0; i < tensors; i++) {
        read_tensor(r, &g->tensors[i]);
        names_put(&g->tensor_names, g->tensors[i].name, (int32_t)i);
    }
    g->tensor_count = (int32_t)tensors;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void list_tensors(builder *b, const gguf *g)
{
    emitter e;
    emit_begin(&e, b, "gguf");
    build_open(b, &b->source->main, false);
    for (int32_t i = 0; i < g->tensor_count; i++) {
        const gguf_tensor *t = &g->tensors[i];
        if (t->name.len)
            emit_listed(&e, arena_str(b->arena, t->name), gguf_dtype(t->type), t->rank, t->dims, gguf_tensor_bytes(t));
    }
    build_close(b);
}

void gguf_read(builder *b, const uint8_t *bytes, size_t size)
{
    gguf g = {.fail = &b->model->fail};
    reader r = {bytes, size, 0, g.fail};
    read_header(&r, &g, b->arena);
    g.architecture = gguf_text(&g, "general.architecture");
    if (!gguf_build(b, &g)) {
        list_tensors(b, &g);
        *(str *)ARENA_PUSH(b->arena, &b->source->notes) =
            arena_printf(b->arena, "the graph of architecture '%.*s' is not known: only the file's tensors are listed",
                         STR_ARG(g.architecture));
    }
    b->source->format = STR("gguf");
    str name = gguf_text(&g, "general.name");
    b->source->main.name = arena_str(b->arena, name.len && name.len < 200 ? name : g.architecture);
    b->source->producer = STR("");
}
