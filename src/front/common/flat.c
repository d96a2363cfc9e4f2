/* flat.c: reads FlatBuffers (flat.h). */
#include "front/common/flat.h"

#include <assert.h>

void flat_fail(const flat *f, size_t at, const char *what)
{
    fail_with(f->fail, SOOTH_ERROR_INPUT, "%s, at byte %zu of %zu; the file is damaged or cut off: get it again", what,
              at, f->size);
}

/* Reads a little-endian number of 1 to 8 bytes. */
static uint64_t number_at(const flat *f, size_t at, size_t bytes)
{
    if (at > f->size || bytes > f->size - at)
        flat_fail(f, at, "the file ends inside a number");
    uint64_t x = 0;
    for (size_t i = 0; i < bytes; i++)
        x |= (uint64_t)f->bytes[at + i] << (8 * i);
    return x;
}

static size_t follow(const flat *f, size_t at)
{
    size_t offset = (size_t)number_at(f, at, 4);
    if (offset == 0 || offset > f->size - at)
        flat_fail(f, at, "an offset points outside of the file");
    return at + offset;
}

static flat_table table_at(const flat *f, size_t at)
{
    int32_t back = (int32_t)(uint32_t)number_at(f, at, 4);
    int64_t vtable = (int64_t)at - back;
    if (vtable < 0 || (uint64_t)vtable > f->size)
        flat_fail(f, at, "a table's description is outside of the file");
    uint16_t bytes = (uint16_t)number_at(f, (size_t)vtable, 2);
    if (bytes < 4 || bytes > f->size - (size_t)vtable)
        flat_fail(f, (size_t)vtable, "a table's description has an impossible size");
    return (flat_table){.file = f, .at = at, .vtable = (size_t)vtable, .vtable_bytes = bytes};
}

flat_table flat_root(const flat *f)
{
    return table_at(f, follow(f, 0));
}

/* Position of a field; 0 if it is absent. */
static size_t field_at(flat_table t, int field)
{
    size_t entry = 4 + 2 * (size_t)field;
    if (!t.file || entry + 2 > t.vtable_bytes)
        return 0;
    size_t offset = (size_t)number_at(t.file, t.vtable + entry, 2);
    if (offset > t.file->size - t.at)
        flat_fail(t.file, t.vtable + entry, "a field is outside of the file");
    return offset ? t.at + offset : 0;
}

static uint64_t field_number(flat_table t, int field, size_t bytes, uint64_t otherwise)
{
    size_t at = field_at(t, field);
    return at ? number_at(t.file, at, bytes) : otherwise;
}

int64_t flat_int8(flat_table t, int field, int64_t otherwise)
{
    return (int8_t)field_number(t, field, 1, (uint64_t)otherwise);
}

int64_t flat_uint8(flat_table t, int field, int64_t otherwise)
{
    return (uint8_t)field_number(t, field, 1, (uint64_t)otherwise);
}

int64_t flat_int32(flat_table t, int field, int64_t otherwise)
{
    return (int32_t)field_number(t, field, 4, (uint64_t)otherwise);
}

int64_t flat_uint32(flat_table t, int field, int64_t otherwise)
{
    return (uint32_t)field_number(t, field, 4, (uint64_t)otherwise);
}

uint64_t flat_uint64(flat_table t, int field, uint64_t otherwise)
{
    return field_number(t, field, 8, otherwise);
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double flat_float(flat_table t, int field, double otherwise)
{
    size_t at = field_at(t, field);
    return at ? (double)float_of((uint32_t)number_at(t.file, at, 4)) : otherwise;
}

flat_table flat_inner(flat_table t, int field)
{
    size_t at = field_at(t, field);
    return at ? table_at(t.file, follow(t.file, at)) : (flat_table){0};
}

flat_vector flat_elements(flat_table t, int field, size_t element_bytes)
{
    size_t at = field_at(t, field);
    if (!at)
        return (flat_vector){0};
    at = follow(t.file, at);
    uint32_t count = (uint32_t)number_at(t.file, at, 4);
    at += 4;
    if (count > (t.file->size - at) / element_bytes)
        flat_fail(t.file, at, "a list is longer than the file");
    return (flat_vector){.file = t.file, .at = at, .count = count};
}

str flat_text(flat_table t, int field)
{
    flat_vector v = flat_elements(t, field, 1);
    return v.file ? (str){(const char *)v.file->bytes + v.at, v.count} : (str){0};
}

int32_t flat_int32_at(flat_vector v, uint32_t i)
{
    assert(i < v.count);
    return (int32_t)(uint32_t)number_at(v.file, v.at + 4 * (size_t)i, 4);
}

flat_table flat_table_at(flat_vector v, uint32_t i)
{
    assert(i < v.count);
    return table_at(v.file, follow(v.file, v.at + 4 * (size_t)i));
}
