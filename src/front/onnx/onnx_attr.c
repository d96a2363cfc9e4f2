/* onnx_attr.c: reads attributes of ONNX nodes.
 *
 * AttributeProto: 1 name, 2 f, 3 i, 4 s, 5 t, 6 g, 7 floats, 8 ints, 9 strings, 10 tensors, 11 graphs, 14 tp, 15
 * type_protos, 20 type, 21 ref_attr_name, 22 sparse_tensor, 23 sparse_tensors. */
#include "front/onnx/onnx_tensor.h"

/* AttributeProto.AttributeType */
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_FLOATS = 6, TYPE_INTS = 7, TYPE_STRINGS = 8 };

typedef struct list_lengths {
    size_t ints, floats, strings;
} list_lengths;

/* Counts the list elements, so that each list is allocated once. */
static list_lengths count_lists(wire w)
{
    list_lengths n = {0};
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 7)
            n.floats += f.type == 2 ? f.size / 4 : 1;
        else if (f.number == 8)
            n.ints += wire_ints(&w, &f, NULL, 0);
        else if (f.number == 9)
            n.strings++;
    }
    return n;
}

static void read_ints(builder *b, wire w, attr *a, size_t count)
{
    int64_t *ints = ARENA_ARRAY(b->arena, int64_t, count);
    size_t at = 0;
    wire_field f;
    while (wire_next(&w, &f))
        if (f.number == 8)
            at += wire_ints(&w, &f, ints + at, count - at);
    a->kind = ATTR_INTS;
    a->ints = ints;
}

static void read_floats(builder *b, wire w, attr *a, size_t count)
{
    double *reals = ARENA_ARRAY(b->arena, double, count);
    size_t at = 0;
    wire_field f;
    while (wire_next(&w, &f)) {
        if (f.number == 7 && f.type != 2)
            reals[at++] = wire_float(&f);
        for (size_t i = 0; f.number == 7 && f.type == 2 && i + 4 <= f.size; i += 4) {
            const uint8_t *p = f.bytes + i;
            wire_field one = {.varint = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24};
            reals[at++] = wire_float(&one);
        }
    }
    a->kind = ATTR_FLOATS;
    a->reals = reals;
}

static void read_strings(builder *b, wire w, attr *a, size_t count)
{
    str *strings = ARENA_ARRAY(b->arena, str, count);
    size_t at = 0;
    wire_field f;
    while (wire_next(&w, &f))
        if (f.number == 9)
            strings[at++] = wire_str(&f);
    a->kind = ATTR_STRINGS;
    a->strings = strings;
}

/* Files before IR version 2 have no type: the list that is present gives it, so empty lists are not recognized. */
static void read_lists(builder *b, wire w, attr *a, int64_t type)
{
    list_lengths n = count_lists(w);
    size_t count = 0;
    if (n.ints || type == TYPE_INTS)
        read_ints(b, w, a, count = n.ints);
    else if (n.floats || type == TYPE_FLOATS)
        read_floats(b, w, a, count = n.floats);
    else if (n.strings || type == TYPE_STRINGS)
        read_strings(b, w, a, count = n.strings);
    if (count > INT32_MAX)
        wire_fail(&w, w.at, "an attribute has more than 2^31 numbers");
    a->count = (int32_t)count;
}

enum { FEW = 16 };

/* Properties of an attribute, besides its value, that one reading finds. */
typedef struct attr_rest {
    int64_t type;
    int64_t ints[FEW]; /* Nearly all lists are short and of integers; these are read once. */
    size_t int_count;
    bool few_ints;
} attr_rest;

static void read_attr_field(builder *b, const wire *w, const wire_field *f, attr *a, attr_rest *rest)
{
    onnx_label ignored;
    switch (f->number) {
    case 1:
        a->name = wire_str(f);
        break;
    case 2:
        a->kind = ATTR_FLOAT;
        a->real = wire_float(f);
        break;
    case 3:
        a->kind = ATTR_INT;
        a->integer = (int64_t)f->varint;
        break;
    case 4:
        a->kind = ATTR_STRING;
        a->string = wire_str(f);
        break;
    case 5:
        a->kind = ATTR_TENSOR;
        a->tensor = onnx_tensor(b, wire_message(w, f), &ignored);
        break;
    case 6:
        a->kind = ATTR_GRAPH;
        a->graph = ARENA_NEW(b->arena, graph);
        onnx_graph(b, wire_message(w, f), a->graph);
        break;
    case 7:
    case 9:
        rest->few_ints = false;
        break;
    case 8:
        rest->few_ints = rest->few_ints && f->type == 0 && rest->int_count < FEW;
        if (rest->few_ints)
            rest->ints[rest->int_count++] = (int64_t)f->varint;
        break;
    case 20:
        rest->type = (int64_t)f->varint;
        break;
    case 21:
        if (f->size) {
            a->kind = ATTR_REFERENCE;
            a->string = arena_str(b->arena, wire_str(f));
        }
        break;
    case 22:
        a->kind = ATTR_TENSOR;
        a->tensor = onnx_sparse_tensor(b, wire_message(w, f), &ignored);
        break;
    case 10:
    case 11:
    case 14:
    case 15:
    case 23:
        a->kind = ATTR_OTHER;
        break;
    default:
        break;
    }
}

void onnx_attr(builder *b, wire w, attr *a)
{
    const wire whole = w;
    wire_field f;
    attr_rest rest;
    rest.type = 0;
    rest.int_count = 0;
    rest.few_ints = true;
    while (wire_next(&w, &f))
        read_attr_field(b, &w, &f, a, &rest);
    const int64_t type = rest.type;
    if (a->kind == ATTR_REFERENCE)
        a->count = (int32_t)(type & INT32_MAX);
    if (a->kind == ATTR_OTHER)
        a->string = (str){(const char *)whole.at, (size_t)(whole.end - whole.at)};
    if (type >= TYPE_FLOATS && type <= TYPE_STRINGS && a->kind != ATTR_REFERENCE)
        a->kind = ATTR_NONE;
    if (a->kind == ATTR_NONE && rest.int_count && rest.few_ints) {
        a->kind = ATTR_INTS;
        a->ints = arena_copy(b->arena, rest.ints, rest.int_count, sizeof *rest.ints);
        a->count = (int32_t)rest.int_count;
    } else if (a->kind == ATTR_NONE) {
        read_lists(b, whole, a, type);
    }
    if (a->kind == ATTR_NONE) /* proto3 omits zeros, so only the type identifies the attribute */
        a->kind = type == TYPE_FLOAT    ? ATTR_FLOAT
                  : type == TYPE_INT    ? ATTR_INT
                  : type == TYPE_STRING ? ATTR_STRING
                                        : ATTR_OTHER;
}

/* Attributes with tensors or graphs cannot be shared between nodes. */
static bool is_plain(const attr *a)
{
    return a->kind != ATTR_TENSOR && a->kind != ATTR_GRAPH;
}

attr *onnx_attrs(builder *b, wire w, int count)
{
    enum { MAX_KNOWN_BYTES = 1024 };
    onnx_reader *reader = b->front;
    const str bytes = {(const char *)w.at, (size_t)(w.end - w.at)};
    const bool is_short = bytes.len <= MAX_KNOWN_BYTES;
    known_attrs *known = is_short ? &reader->known[str_hash(bytes) % KNOWN_ATTRS] : NULL;
    if (known && str_eq(known->bytes, bytes))
        return known->attrs;
    attr *attrs = ARENA_ARRAY(b->arena, attr, (size_t)count);
    bool all_plain = true;
    wire_field f;
    for (int i = 0; i < count && wire_next(&w, &f); i++) {
        onnx_attr(b, wire_message(&w, &f), &attrs[i]);
        all_plain = all_plain && is_plain(&attrs[i]);
    }
    if (known && all_plain)
        *known = (known_attrs){bytes, attrs};
    return attrs;
}
