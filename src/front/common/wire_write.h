/* wire_write.h: writes the protobuf wire format (wire.h reads it). Running out of memory fails through `fail`.
 *
 * A message begins with its length, which is known only at its end. Five bytes are therefore reserved and filled in
 * later; readers accept varints that are longer than necessary. */
#ifndef SOOTH_FRONT_COMMON_WIRE_WRITE_H
#define SOOTH_FRONT_COMMON_WIRE_WRITE_H

#include "base/arena.h"

typedef struct wire_writer {
    uint8_t *bytes; /* freed with free(), unless they are in the arena */
    size_t size, capacity;
    fail *fail;
    arena *arena; /* NULL to use malloc */
} wire_writer;

void wire_put_int(wire_writer *w, uint32_t field, int64_t number);
void wire_put_str(wire_writer *w, uint32_t field, str s);
void wire_put_bytes(wire_writer *w, uint32_t field, const void *bytes, size_t size);
void wire_put_float(wire_writer *w, uint32_t field, float number);
void wire_put_double(wire_writer *w, uint32_t field, double number);
/* Begins a message in a field; pass the result to wire_end. */
size_t wire_begin(wire_writer *w, uint32_t field);
void wire_end(wire_writer *w, size_t begin);

#endif
