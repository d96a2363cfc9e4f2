/* wire.h: reads the protobuf wire format in place.
 *
 * A message is a sequence of fields. A field is a varint key (number << 3 | type) and its payload:
 *   0  varint          1  8 bytes, little-endian     2  varint length, then that many bytes
 *   5  4 bytes         3, 4  begin and end of a group (deprecated; skipped)
 *
 * Not nanopb: it decodes through callbacks and copies every string, which takes 6 to 7 times as long (`make bench`:
 * 102 instead of 15 µs for ResNet-50, 4.7 instead of 0.7 ms for 13,691 nodes), and it needs generated code for each
 * format. Every length is checked against the enclosing message before use. */
#ifndef SOOTH_FRONT_COMMON_WIRE_H
#define SOOTH_FRONT_COMMON_WIRE_H

#include "base/fail.h"
#include "base/str.h"

#include <stdint.h>

typedef struct wire {
    const uint8_t *at, *end;
    const uint8_t *file; /* start of the file, for offsets in errors */
    fail *fail;
} wire;

typedef struct wire_field {
    uint32_t number;
    uint8_t type;
    uint64_t varint;      /* types 0, 1, 5 */
    const uint8_t *bytes; /* type 2 */
    size_t size;          /* type 2; 0 for the others */
} wire_field;

/* The general case of wire_next. */
bool wire_next_any(wire *w, wire_field *field);

/* Reads the next field with its payload; false at the end of the message. Fails on damage. Always inline, so that
 * the field stays in registers: reading is dominated by this function. */
__attribute__((always_inline)) static inline bool wire_next(wire *w, wire_field *field)
{
    /* Fast path: nearly all fields have a one-byte key and a length or number of one or two bytes. */
    const uint8_t *at = w->at, *end = w->end;
    if (end - at >= 2 && at[0] >= 8 && at[0] < 128 && (at[1] < 128 || (end - at >= 3 && at[2] < 128))) {
        const uint8_t type = at[0] & 7, *after = at[1] < 128 ? at + 2 : at + 3;
        size_t number = at[1] < 128 ? at[1] : (size_t)(at[1] & 127) | (size_t)at[2] << 7;
        if (type == 2 && number <= (size_t)(end - after)) {
            *field = (wire_field){.number = at[0] >> 3, .type = 2, .bytes = after, .size = number};
            w->at = after + number;
            return true;
        }
        if (type == 0) {
            *field = (wire_field){.number = at[0] >> 3, .type = 0, .bytes = after, .varint = number};
            w->at = after;
            return true;
        }
    }
    if (at == end)
        return false;
    /* Copies the reader, because its fields can stay in registers only if its address is never taken. */
    wire rest = *w;
    wire_field any;
    bool found = wire_next_any(&rest, &any);
    w->at = rest.at;
    *field = any;
    return found;
}

static inline wire wire_of(const uint8_t *bytes, size_t size, fail *f)
{
    return (wire){.at = bytes, .end = size ? bytes + size : bytes, .file = bytes, .fail = f};
}

/* The message or string inside a field; empty for a number, because protobuf ignores fields of an unexpected type. */
static inline wire wire_message(const wire *w, const wire_field *field)
{
    return (wire){.at = field->bytes, .end = field->bytes + field->size, .file = w->file, .fail = w->fail};
}

static inline str wire_str(const wire_field *field)
{
    return (str){(const char *)field->bytes, field->size};
}

double wire_float(const wire_field *field); /* type 5 */

/* A repeated integer field, packed (type 2) or single (type 0). Returns how many numbers the field holds and stores
 * at most `room`. */
size_t wire_packed_ints(wire packed, int64_t *to, size_t room);
static inline size_t wire_ints(const wire *w, const wire_field *field, int64_t *to, size_t room)
{
    if (field->type == 2)
        return wire_packed_ints(wire_message(w, field), to, room);
    if (room)
        to[0] = (int64_t)field->varint;
    return 1;
}

/* For format detection: true if a string or message field of that number (below 16) comes next and is within bounds.
 * Advances past it. Never fails. */
bool wire_part(const uint8_t **p, const uint8_t *end, uint32_t number, str *part);

_Noreturn void wire_fail(const wire *w, const uint8_t *at, const char *what);

#endif
