/* flat.h: reads FlatBuffers in place and checks every offset against the file first.
 *
 * Layout, all little-endian:
 *   file     u32 offset of the root table; 4 letters that name the format
 *   table    i32 distance back to its vtable; then its fields
 *   vtable   u16 its own size, u16 the table's size, then for each field u16 its offset in the table, 0 if it is absent
 *   vector   u32 number of elements, then the elements; a string is a vector of bytes
 *   a u32 offset to a table, vector or string counts from its own position */
#ifndef SOOTH_FRONT_COMMON_FLAT_H
#define SOOTH_FRONT_COMMON_FLAT_H

#include "base/fail.h"
#include "base/str.h"

typedef struct flat {
    const uint8_t *bytes;
    size_t size;
    fail *fail;
} flat;

typedef struct flat_table {
    const flat *file; /* NULL if the table is absent; its fields then have their defaults */
    size_t at, vtable;
    uint16_t vtable_bytes;
} flat_table;

typedef struct flat_vector {
    const flat *file;
    size_t at; /* offset of the first element */
    uint32_t count;
} flat_vector;

flat_table flat_root(const flat *f);

/* Return a field by its number in the schema; `otherwise` is the schema's default. */
int64_t flat_int8(flat_table t, int field, int64_t otherwise);
int64_t flat_uint8(flat_table t, int field, int64_t otherwise);
int64_t flat_int32(flat_table t, int field, int64_t otherwise);
int64_t flat_uint32(flat_table t, int field, int64_t otherwise);
uint64_t flat_uint64(flat_table t, int field, uint64_t otherwise);
double flat_float(flat_table t, int field, double otherwise);
flat_table flat_inner(flat_table t, int field);
str flat_text(flat_table t, int field);
/* A vector; all of its elements of `element_bytes` are inside the file. An absent vector has no elements. */
flat_vector flat_elements(flat_table t, int field, size_t element_bytes);

/* Element i; it must be below count. */
int32_t flat_int32_at(flat_vector v, uint32_t i);
flat_table flat_table_at(flat_vector v, uint32_t i); /* for a vector of offsets */

_Noreturn void flat_fail(const flat *f, size_t at, const char *what);

#endif
