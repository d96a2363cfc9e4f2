/* onnx_tensor.c: reads constants of an ONNX file: type and dimensions. The data stay in place.
 *
 * TensorProto: 1 dims, 2 data_type, 4 float_data, 5 int32_data, 7 int64_data, 8 name, 9 raw_data, 10 double_data, 11
 * uint64_data, 12 doc_string, 13 external_data, 14 data_location (1 = external).
 * SparseTensorProto: 1 values (TensorProto, carries the name), 2 indices, 3 dims. */
#include "front/onnx/onnx_tensor.h"

#include "base/path.h"

/* Collects unpacked numbers, which are not contiguous in the file. */
typedef struct loose_numbers {
    uint8_t *bytes;
    size_t size, capacity;
} loose_numbers;

enum { MAX_LOOSE_BYTES = 10 * MAX_FOLDED };

static void add_loose(builder *b, loose_numbers *l, const wire_field *f)
{
    uint8_t encoded[10];
    size_t n = 0;
    if (f->type == 0) {
        uint64_t x = f->varint;
        for (; x >= 128; x >>= 7)
            encoded[n++] = (uint8_t)(x | 128);
        encoded[n++] = (uint8_t)x;
    } else {
        for (int i = 0; i < (f->type == 1 ? 8 : 4); i++)
            encoded[n++] = (uint8_t)(f->varint >> (8 * i));
    }
    if (l->size + n > MAX_LOOSE_BYTES) /* the rest is not needed, because larger tensors are not folded */
        return;
    if (l->size + n > l->capacity) {
        size_t larger = l->capacity ? l->capacity * 2 : 64;
        uint8_t *bytes = ARENA_ARRAY(b->arena, uint8_t, larger);
        if (l->size)
            memcpy(bytes, l->bytes, l->size);
        l->bytes = bytes;
        l->capacity = larger;
    }
    memcpy(l->bytes + l->size, encoded, n);
    l->size += n;
}

static void set_data(builder *b, tensor *t, loose_numbers *loose, wire_field f, int encoding)
{
    t->encoding = encoding;
    if (f.type == 2) {
        t->bytes = f.bytes;
        t->size = f.size;
        return;
    }
    add_loose(b, loose, &f);
    t->bytes = loose->bytes;
    t->size = loose->size;
}

typedef struct dim_list {
    int64_t dims[MAX_RANK];
    size_t rank;
} dim_list;

static inline void read_dims(wire w, wire_field f, dim_list *list)
{
    list->rank += wire_ints(&w, &f, list->dims + list->rank, MAX_RANK - list->rank);
    if (list->rank > MAX_RANK)
        wire_fail(&w, f.bytes, "a tensor has more than 64 dimensions");
}

static void set_dims(builder *b, wire w, const uint8_t *start, tensor *t, const dim_list *list)
{
    int64_t elements = 1, bits = 0;
    for (size_t i = 0; i < list->rank; i++) {
        if (list->dims[i] < 0)
            wire_fail(&w, start, "a tensor has a negative dimension");
        if (__builtin_mul_overflow(elements, list->dims[i], &elements))
            wire_fail(&w, start, "a tensor has too many elements (2^63 or more)");
    }
    if (__builtin_mul_overflow(elements, dtype_bits(t->dtype), &bits))
        wire_fail(&w, start, "a tensor has too many bytes (2^63 or more)");
    t->rank = (int8_t)list->rank;
    t->dims = arena_copy(b->arena, list->dims, list->rank, sizeof *list->dims);
    t->stored_bytes = bits / 8 + (bits % 8 != 0);
}

/* Checks a StringStringEntryProto: 1 key, 2 value. The file that it names is not opened. */
static void check_external(onnx_reader *reader, wire w)
{
    str key = {0}, value = {0};
    wire_field f;
    const uint8_t *start = w.at;
    while (wire_next(&w, &f))
        if (f.number == 1)
            key = wire_str(&f);
        else if (f.number == 2)
            value = wire_str(&f);
    if (!str_is(key, "location") || str_eq(value, reader->location))
        return;
    reader->location = value;
    if (path_leads_out(value))
        fail_with(w.fail, SOOTH_ERROR_INPUT,
                  "a tensor has its data in '%.*s', which is outside of the model's directory, at byte %zu; do not "
                  "trust this file",
                  STR_ARG(value), (size_t)(start - w.file));
}

const tensor *onnx_tensor(builder *b, wire w, onnx_label *label)
{
    enum { FEW_BYTES = 16 };
    const uint8_t *start = w.at;
    tensor *t = ARENA_NEW(b->arena, tensor);
    t->encoding = TENSOR_ELSEWHERE;
    dim_list dims;
    dims.rank = 0;
    bool external = false;
    loose_numbers loose = {0};
    wire_field f;
    *label = (onnx_label){0};
    while (wire_next(&w, &f)) {
        switch (f.number) {
        case 1:
            read_dims(w, f, &dims);
            break;
        case 2:
            t->dtype = dtype_of_onnx((int64_t)f.varint);
            break;
        case 4:
            set_data(b, t, &loose, f, TENSOR_FLOATS);
            break;
        case 5:
        case 7:
        case 11:
            set_data(b, t, &loose, f, TENSOR_VARINTS);
            break;
        case 8:
            label->name = wire_str(&f);
            break;
        case 9:
            set_data(b, t, &loose, f, TENSOR_RAW);
            break;
        case 10:
            set_data(b, t, &loose, f, TENSOR_DOUBLES);
            break;
        case 12:
            label->doc = wire_str(&f);
            break;
        case 13:
            external = true;
            check_external(b->front, wire_message(&w, &f));
            break;
        case 14:
            external = external || f.varint == 1;
            break;
        default:
            break;
        }
    }
    if (external)
        t->encoding = TENSOR_ELSEWHERE;
    set_dims(b, w, start, t, &dims);
    /* Rules read these when the file's lines have left the cache. */
    if (t->encoding == TENSOR_RAW && t->size <= FEW_BYTES)
        t->bytes = arena_copy(b->arena, t->bytes, t->size, 1);
    return t;
}

const tensor *onnx_sparse_tensor(builder *b, wire w, onnx_label *label)
{
    const uint8_t *start = w.at;
    tensor *t = ARENA_NEW(b->arena, tensor);
    t->encoding = TENSOR_ELSEWHERE;
    dim_list dims;
    dims.rank = 0;
    int64_t values_bytes = 0;
    wire_field f;
    *label = (onnx_label){0};
    while (wire_next(&w, &f)) {
        if (f.number == 1) {
            const tensor *values = onnx_tensor(b, wire_message(&w, &f), label);
            t->dtype = values->dtype;
            values_bytes = values->stored_bytes;
        } else if (f.number == 3) {
            read_dims(w, f, &dims);
        }
    }
    set_dims(b, w, start, t, &dims);
    t->stored_bytes = values_bytes;
    return t;
}

const tensor *onnx_left_out(builder *b, wire w, const value *type, int64_t packed_bytes)
{
    tensor *t = ARENA_NEW(b->arena, tensor);
    dim_list dims;
    *t = (tensor){.dtype = type->dtype, .encoding = TENSOR_ELSEWHERE};
    for (dims.rank = 0; dims.rank < (size_t)type->rank; dims.rank++)
        dims.dims[dims.rank] = type->dims[dims.rank];
    set_dims(b, w, w.at, t, &dims);
    t->packed_bytes = packed_bytes > 0 && packed_bytes <= t->stored_bytes ? packed_bytes : 0;
    return t;
}
