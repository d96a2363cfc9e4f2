/* wire_write.h: writes the protobuf wire format (wire.h reads it). Memory that runs out fails through `fail`.
 *
 * The length of a message stands before it and is known after it: five bytes are left for it and filled at the end. A varint
 * may be longer than it need be, and every reader accepts that. */
#ifndef SOOTH_FRONT_COMMON_WIRE_WRITE_H
#define SOOTH_FRONT_COMMON_WIRE_WRITE_H

#include "base/arena.h"

typedef struct wire_writer {
    uint8_t *bytes; /* free(), unless they are the arena's */
    size_t size, capacity;
    fail *fail;
    arena *arena; /* NULL: from malloc */
} wire_writer;

void wire_put_int(wire_writer *w, uint32_t field, int64_t number);
void wire_put_str(wire_writer *w, uint32_t field, str s);
void wire_put_bytes(wire_writer *w, uint32_t field, const void *bytes, size_t size);
void wire_put_float(wire_writer *w, uint32_t field, float number);
void wire_put_double(wire_writer *w, uint32_t field, double number);
/* Begins a message inside the field; wire_end takes what wire_begin gave. */
size_t wire_begin(wire_writer *w, uint32_t field);
void wire_end(wire_writer *w, size_t begin);

#endif
