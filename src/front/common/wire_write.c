#include "front/common/wire_write.h"

#include <stdlib.h>

enum { TYPE_VARINT = 0, TYPE_8_BYTES = 1, TYPE_LENGTH = 2, TYPE_4_BYTES = 5, LENGTH_ROOM = 5 };

static void add(wire_writer *w, const void *bytes, size_t size)
{
    if (size > w->capacity - w->size) {
        size_t capacity = w->capacity ? w->capacity : 1 << 14;
        while (capacity - w->size < size) {
            if (capacity > SIZE_MAX / 2)
                fail_with(w->fail, SOOTH_ERROR_SYSTEM, "the file would not fit into memory");
            capacity *= 2;
        }
        uint8_t *larger = w->arena ? arena_room(w->arena, capacity, 1) : realloc(w->bytes, capacity);
        if (larger && w->arena && w->size)
            memcpy(larger, w->bytes, w->size);
        if (!larger)
            fail_with(w->fail, SOOTH_ERROR_SYSTEM, "out of memory after %zu bytes of the file", w->size);
        w->bytes = larger;
        w->capacity = capacity;
    }
    if (size)
        memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static void varint(wire_writer *w, uint64_t x)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; x >= 128; x >>= 7)
        bytes[n++] = (uint8_t)(x | 128);
    bytes[n++] = (uint8_t)x;
    add(w, bytes, n);
}

static void key(wire_writer *w, uint32_t field, uint32_t type)
{
    varint(w, field << 3 | type);
}

void wire_put_int(wire_writer *w, uint32_t field, int64_t number)
{
    key(w, field, TYPE_VARINT);
    varint(w, (uint64_t)number);
}

void wire_put_bytes(wire_writer *w, uint32_t field, const void *bytes, size_t size)
{
    key(w, field, TYPE_LENGTH);
    varint(w, size);
    add(w, bytes, size);
}

void wire_put_str(wire_writer *w, uint32_t field, str s)
{
    wire_put_bytes(w, field, s.ptr, s.len);
}

void wire_put_double(wire_writer *w, uint32_t field, double number)
{
    uint64_t bits;
    uint8_t bytes[8];
    memcpy(&bits, &number, sizeof bits);
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    key(w, field, TYPE_8_BYTES);
    add(w, bytes, sizeof bytes);
}

void wire_put_float(wire_writer *w, uint32_t field, float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    uint8_t bytes[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16), (uint8_t)(bits >> 24)};
    key(w, field, TYPE_4_BYTES);
    add(w, bytes, sizeof bytes);
}

size_t wire_begin(wire_writer *w, uint32_t field)
{
    static const uint8_t room[LENGTH_ROOM] = {0};
    key(w, field, TYPE_LENGTH);
    add(w, room, sizeof room);
    return w->size;
}

void wire_end(wire_writer *w, size_t begin)
{
    size_t length = w->size - begin;
    if (length > INT32_MAX) /* protobuf's readers refuse longer messages */
        fail_with(w->fail, SOOTH_ERROR_UNSUPPORTED, "a message would be larger than 2 GiB");
    for (int i = 0; i < LENGTH_ROOM; i++)
        w->bytes[begin - LENGTH_ROOM + (size_t)i] =
            (uint8_t)((length >> (7 * i) & 127) | (i + 1 < LENGTH_ROOM ? 128 : 0));
}
