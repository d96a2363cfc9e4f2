/* tf_attr.c: reads attributes, shapes and constants of TensorFlow graphs.
 *
 * NodeDef.attr (5) is a map: entries of 1 key, 2 AttrValue.
 * AttrValue: 1 list, 2 s, 3 i, 4 f, 5 b, 6 type, 7 shape, 8 tensor, 10 func (1 name). ListValue: 2 s, 3 i, 7 shape.
 * TensorShapeProto: 2 dim (1 size), 3 unknown_rank.
 * TensorProto: 1 dtype, 2 tensor_shape, 4 tensor_content, 5 float_val, 6 double_val, 7 int_val, 8 string_val, 10
 * int64_val, 11 bool_val, 13 half_val, 16 uint32_val, 17 uint64_val. With fewer values than elements, the last is
 * repeated. */
#include "front/tensorflow/tf.h"

bool tf_attr(const tf_node *n, const char *name, wire *value)
{
    wire w = n->attrs;
    wire_field f, part;
    while (wire_next(&w, &f)) {
        if (f.number != 5 || f.type != 2)
            continue;
        wire entry = wire_message(&w, &f);
        bool is_it = false;
        while (wire_next(&entry, &part)) {
            if (part.number == 1)
                is_it = str_is(wire_str(&part), name);
            else if (part.number == 2 && is_it) {
                *value = wire_message(&entry, &part);
                return true;
            }
        }
    }
    return false;
}

/* Finds the last field of that number. */
static bool find_field(wire w, uint32_t number, wire_field *result)
{
    wire_field f;
    bool found = false;
    while (wire_next(&w, &f))
        if (f.number == number) {
            *result = f;
            found = true;
        }
    return found;
}

static bool attr_field(const tf_node *n, const char *name, uint32_t number, wire_field *f)
{
    wire value;
    return tf_attr(n, name, &value) && find_field(value, number, f);
}

int64_t tf_attr_int(const tf_node *n, const char *name, int64_t otherwise)
{
    wire_field f;
    if (attr_field(n, name, 3, &f) || attr_field(n, name, 5, &f)) /* i, b */
        return (int64_t)f.varint;
    return otherwise;
}

double tf_attr_real(const tf_node *n, const char *name, double otherwise)
{
    wire_field f;
    return attr_field(n, name, 4, &f) && f.type == 5 ? wire_float(&f) : otherwise;
}

str tf_attr_text(const tf_node *n, const char *name)
{
    wire_field f;
    return attr_field(n, name, 2, &f) ? wire_str(&f) : (str){0};
}

str tf_attr_text_at(const tf_node *n, const char *name, int i)
{
    wire value;
    wire_field list, f;
    if (!tf_attr(n, name, &value) || !find_field(value, 1, &list))
        return (str){0};
    wire w = wire_message(&value, &list);
    while (wire_next(&w, &f))
        if (f.number == 2 && i-- == 0)
            return wire_str(&f);
    return (str){0};
}

static dtype tf_type(int64_t number)
{
    static const dtype TYPES[] = {DT_UNKNOWN,    DT_FLOAT32,      DT_FLOAT64,     DT_INT32,       DT_UINT8,  DT_INT16,
                                  DT_INT8,       DT_STRING,       DT_COMPLEX64,   DT_INT64,       DT_BOOL,   DT_INT8,
                                  DT_UINT8,      DT_INT32,        DT_BFLOAT16,    DT_INT16,       DT_UINT16, DT_UINT16,
                                  DT_COMPLEX128, DT_FLOAT16,      DT_UNKNOWN,     DT_UNKNOWN,     DT_UINT32, DT_UINT64,
                                  DT_FLOAT8E5M2, DT_FLOAT8E4M3FN, [29] = DT_INT4, [30] = DT_UINT4};
    enum { REFERENCES = 100 }; /* types of references to variables are those of their values + 100 */
    if (number > REFERENCES)
        number -= REFERENCES;
    return number >= 0 && number < (int64_t)(sizeof TYPES / sizeof *TYPES) ? TYPES[number] : DT_UNKNOWN;
}

dtype tf_attr_type(const tf_node *n, const char *name)
{
    wire_field f;
    return attr_field(n, name, 6, &f) ? tf_type((int64_t)f.varint) : DT_UNKNOWN;
}

int tf_attr_ints(const tf_node *n, const char *name, int64_t *to, int room)
{
    wire_field list, f;
    wire value;
    if (!tf_attr(n, name, &value) || !find_field(value, 1, &list))
        return -1;
    wire w = wire_message(&value, &list);
    size_t count = 0;
    while (wire_next(&w, &f))
        if (f.number == 3)
            count += wire_ints(&w, &f, to + (count < (size_t)room ? count : (size_t)room),
                               count < (size_t)room ? (size_t)room - count : 0);
    return count <= (size_t)room ? (int)count : -1;
}

str tf_attr_function(const tf_node *n, const char *name)
{
    wire value;
    wire_field func, f;
    if (!tf_attr(n, name, &value) || !find_field(value, 10, &func) || !find_field(wire_message(&value, &func), 1, &f))
        return (str){0};
    return wire_str(&f);
}

int tf_shape(wire w, num *dims)
{
    wire_field f, d;
    int rank = 0;
    while (wire_next(&w, &f)) {
        if (f.number == 3 && f.varint)
            return RANK_UNKNOWN;
        if (f.number != 2 || f.type != 2)
            continue;
        if (rank == MAX_RANK)
            wire_fail(&w, f.bytes, "a shape has more than 64 dimensions");
        wire dim = wire_message(&w, &f);
        dims[rank] = 0;
        while (wire_next(&dim, &d))
            if (d.number == 1) {
                if ((int64_t)d.varint < -1)
                    wire_fail(&dim, d.bytes, "a shape has a negative dimension");
                dims[rank] = (int64_t)d.varint >= 0 ? (int64_t)d.varint : NUM_UNKNOWN;
            }
        rank++;
    }
    return rank;
}

int tf_attr_shape(const tf_node *n, const char *name, num *dims)
{
    wire value;
    wire_field f;
    if (!tf_attr(n, name, &value) || !find_field(value, 7, &f))
        return RANK_UNKNOWN;
    return tf_shape(wire_message(&value, &f), dims);
}

int tf_attr_shape_at(const tf_node *n, const char *name, int i, num *dims)
{
    wire value;
    wire_field list, f;
    if (!tf_attr(n, name, &value) || !find_field(value, 1, &list))
        return RANK_UNKNOWN;
    wire w = wire_message(&value, &list);
    while (wire_next(&w, &f))
        if (f.number == 7 && i-- == 0)
            return tf_shape(wire_message(&w, &f), dims);
    return RANK_UNKNOWN;
}

/* ---- constants ------------------------------------------------------------------------------------------------- */

static uint32_t field_of(dtype type)
{
    switch (type) {
    case DT_FLOAT32:
        return 5;
    case DT_FLOAT64:
        return 6;
    case DT_INT64:
        return 10;
    case DT_BOOL:
        return 11;
    case DT_FLOAT16:
    case DT_BFLOAT16:
        return 13;
    case DT_UINT32:
        return 16;
    case DT_UINT64:
        return 17;
    default:
        return 7;
    }
}

static bool next_varint(const uint8_t **at, const uint8_t *end, uint64_t *x)
{
    *x = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;
        *x |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

typedef struct element_writer {
    uint8_t *bytes;
    int width;
    int64_t count, room;
} element_writer;

static void add_element(element_writer *e, uint64_t bits)
{
    if (e->count == e->room)
        return;
    for (int i = 0; i < e->width; i++)
        e->bytes[e->count * e->width + i] = (uint8_t)(bits >> (8 * i));
    e->count++;
}

/* Adds one field, which is packed or a single value. */
static void add_field(element_writer *e, const wire_field *f, bool is_fixed)
{
    if (f->type != 2) {
        add_element(e, f->varint);
        return;
    }
    const uint8_t *at = f->bytes, *end = f->bytes + f->size;
    uint64_t x;
    if (is_fixed)
        for (; end - at >= e->width; at += e->width) {
            x = 0;
            for (int i = 0; i < e->width; i++)
                x |= (uint64_t)at[i] << (8 * i);
            add_element(e, x);
        }
    else
        while (e->count < e->room && next_varint(&at, end, &x))
            add_element(e, x);
}

/* Expands the values of a small constant to raw elements, repeating the last. */
static void spread_values(tf_file *f, tensor *t, wire w, int64_t count)
{
    int width = dtype_bits(t->dtype) / 8;
    bool is_fixed = t->dtype == DT_FLOAT32 || t->dtype == DT_FLOAT64;
    uint32_t number = field_of(t->dtype);
    wire_field part;
    if (count > MAX_FOLDED || width == 0)
        return;
    element_writer e = {.width = width, .room = count};
    e.bytes = ARENA_ARRAY(f->e.b->arena, uint8_t, (size_t)count * (size_t)width + 1);
    while (wire_next(&w, &part))
        if (part.number == number)
            add_field(&e, &part, is_fixed);
    if (e.count == 0 && count > 0) /* a tensor without values is all zeros */
        e.count = count;
    for (int64_t i = e.count; i < count; i++)
        memcpy(e.bytes + i * width, e.bytes + (e.count - 1) * width, (size_t)width);
    t->encoding = TENSOR_RAW;
    t->bytes = e.bytes;
    t->size = (size_t)count * (size_t)width;
}

const tensor *tf_tensor(tf_file *f, wire w)
{
    wire all = w;
    wire_field field;
    num dims[MAX_RANK];
    int rank = 0;
    dtype type = DT_UNKNOWN;
    str content = {0};
    while (wire_next(&w, &field)) {
        if (field.number == 1)
            type = tf_type((int64_t)field.varint);
        else if (field.number == 2)
            rank = tf_shape(wire_message(&w, &field), dims);
        else if (field.number == 4)
            content = wire_str(&field);
    }
    for (int i = 0; i < rank; i++)
        if (!dim_known(dims[i]))
            wire_fail(&w, all.at, "a constant has an unknown dimension");
    if (rank == RANK_UNKNOWN)
        wire_fail(&w, all.at, "a constant has no shape");
    tensor *t = ARENA_NEW(f->e.b->arena, tensor);
    *t = *emit_tensor(&f->e, type, rank, dims);
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= dims[i];   /* cannot overflow, because emit_tensor checked the product */
    enum { FEW_REALS = 8 }; /* larger tensors are weights, which shape arithmetic does not use */
    if (dtype_is_float(type) && rank > 0 && count > FEW_REALS)
        return t;
    if (content.len && content.len == (size_t)t->stored_bytes) {
        t->encoding = TENSOR_RAW;
        t->bytes = (const uint8_t *)content.ptr;
        t->size = content.len;
    } else if (type != DT_STRING && type != DT_UNKNOWN) {
        spread_values(f, t, all, count);
    }
    return t;
}
