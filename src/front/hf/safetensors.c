/* safetensors.c: reads weight files: names, types and shapes. They contain no network; a config.json in the same
 * directory describes it (api/model.c looks for it if a directory is given).
 *
 *   safetensors                   length of the header u64, little-endian; the header in JSON:
 *                                 {"NAME": {"dtype": "F32", "shape": [30, 20], "data_offsets": [0, 2400]},
 *                                 "__metadata__": {…}}
 *   model.safetensors.index.json  {"metadata": {"total_size": …}, "weight_map": {"NAME": "FILE", …}} of a model in
 *   several files
 *
 * Data are never read. */
#include "base/json_read.h"
#include "base/path.h"
#include "front/common/emit.h"
#include "front/front.h"

static const struct {
    const char *name;
    dtype type;
} TYPES[] = {
    {"F64", DT_FLOAT64},
    {"F32", DT_FLOAT32},
    {"F16", DT_FLOAT16},
    {"BF16", DT_BFLOAT16},
    {"F8_E4M3", DT_FLOAT8E4M3FN},
    {"F8_E5M2", DT_FLOAT8E5M2},
    {"F8_E8M0", DT_FLOAT8E8M0},
    {"F4", DT_FLOAT4E2M1},
    {"I64", DT_INT64},
    {"U64", DT_UINT64},
    {"I32", DT_INT32},
    {"U32", DT_UINT32},
    {"I16", DT_INT16},
    {"U16", DT_UINT16},
    {"I8", DT_INT8},
    {"U8", DT_UINT8},
    {"BOOL", DT_BOOL},
    {"C64", DT_COMPLEX64},
};

static uint64_t header_length(const uint8_t *bytes, size_t size)
{
    uint64_t length = 0;
    for (size_t i = 0; i < 8 && i < size; i++)
        length |= (uint64_t)bytes[i] << (8 * i);
    return length;
}

bool safetensors_sniff(const uint8_t *bytes, size_t size)
{
    enum { HEAD = 8, MOST_HEADER = 100 * 1000 * 1000 };
    return size > HEAD + 1 && bytes[HEAD] == '{' && bytes[7] == 0 && header_length(bytes, size) <= MOST_HEADER;
}

bool safetensors_index_sniff(const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    while (i < size && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t'))
        i++;
    str head = {(const char *)bytes, size < 65536 ? size : 65536};
    return i < size && bytes[i] == '{' && str_contains(head, "\"weight_map\"");
}

static dtype type_of(str name)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_is(name, TYPES[i].name))
            return TYPES[i].type;
    return DT_UNKNOWN;
}

static bool list_tensor(emitter *e, const json_node *n)
{
    const json_node *shape = json_get(n, "shape");
    dtype type = type_of(json_text(json_get(n, "dtype")));
    int64_t dims[MAX_RANK], elements = 1;
    if (!json_is(shape, JSON_ARRAY) || shape->count > MAX_RANK || type == DT_UNKNOWN || !n->key.len)
        return false;
    int rank = 0;
    for (const json_node *x = json_first(shape); x; x = x->next) {
        dims[rank] = json_int(x, -1);
        if (dims[rank] < 0 || __builtin_mul_overflow(elements, dims[rank], &elements) || elements > INT64_MAX / 16)
            return false;
        rank++;
    }
    emit_listed(e, arena_str(e->b->arena, n->key), type, rank, dims, 0);
    return true;
}

static void note(builder *b, str text)
{
    *(str *)ARENA_PUSH(b->arena, &b->source->notes) = text;
}

void safetensors_read(builder *b, const uint8_t *bytes, size_t size)
{
    fail *f = &b->model->fail;
    uint64_t length = header_length(bytes, size);
    if (length > size - 8)
        fail_with(f, SOOTH_ERROR_INPUT,
                  "the header has %llu bytes, but the file ends before that, at byte 0; fetch it again",
                  (unsigned long long)length);
    const json_node *root = json_read((str){(const char *)bytes + 8, (size_t)length}, "the header", b->arena, f);
    if (!json_is(root, JSON_OBJECT))
        fail_with(f, SOOTH_ERROR_INPUT, "the header is not a JSON object, at byte 8; fetch the file again");
    emitter e;
    emit_begin(&e, b, "safetensors");
    build_open(b, &b->source->main, false);
    for (const json_node *n = json_first(root); n; n = n->next)
        if (!str_is(n->key, "__metadata__") && !list_tensor(&e, n))
            fail_with(f, SOOTH_ERROR_INPUT,
                      "tensor '%.*s' has no valid type or shape in the header; fetch the file again",
                      (int)(n->key.len > 100 ? 100 : n->key.len), n->key.ptr);
    build_close(b);
    note(b, STR("the file has weights but no network: give its directory, or the config.json next to it"));
}

void safetensors_index_read(builder *b, const uint8_t *bytes, size_t size)
{
    fail *f = &b->model->fail;
    const json_node *root = json_read((str){(const char *)bytes, size}, "the file", b->arena, f);
    const json_node *map = json_get(root, "weight_map");
    if (!json_is(map, JSON_OBJECT))
        fail_with(f, SOOTH_ERROR_INPUT, "weight_map is not a JSON object; fetch the file again");
    for (const json_node *n = json_first(map); n; n = n->next) {
        str file = json_decoded(n, b->arena);
        if (path_leads_out(file))
            fail_with(f, SOOTH_ERROR_INPUT,
                      "tensor '%.*s' of weight_map is in '%.*s', which is outside of the model's directory; do not "
                      "trust this file",
                      STR_ARG(n->key), STR_ARG(file));
    }
    emitter e;
    emit_begin(&e, b, "safetensors");
    build_open(b, &b->source->main, false);
    build_close(b);
    note(b, arena_printf(b->arena,
                         "an index of %d tensors in several files, without their shapes: give the directory, or the "
                         "config.json next to it",
                         (int)map->count));
}
