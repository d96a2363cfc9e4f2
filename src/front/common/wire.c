#include "front/common/wire.h"

void wire_fail(const wire *w, const uint8_t *at, const char *what)
{
    fail_with(w->fail, SOOTH_ERROR_INPUT, "%s, at byte %zu; the file is damaged or cut off: copy or export it again",
              what, (size_t)(at - w->file));
}

static inline uint64_t read_varint(wire *w)
{
    const uint8_t *start = w->at;
    if (start != w->end && *start < 128)
        return *w->at++;
    uint64_t x = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (w->at == w->end)
            wire_fail(w, start, "a number extends beyond its message");
        uint8_t byte = *w->at++;
        if (shift < 64)
            x |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return x;
    }
    wire_fail(w, start, "a number has more than ten bytes");
}

static uint64_t read_fixed(wire *w, int bytes)
{
    if (w->end - w->at < bytes)
        wire_fail(w, w->at, "a number extends beyond its message");
    uint64_t x = 0;
    for (int i = bytes - 1; i >= 0; i--)
        x = x << 8 | w->at[i];
    w->at += bytes;
    return x;
}

static size_t read_length(wire *w)
{
    const uint8_t *start = w->at;
    uint64_t size = read_varint(w);
    if (size > (uint64_t)(w->end - w->at))
        wire_fail(w, start, "a field is longer than its message");
    return (size_t)size;
}

/* Skips to the matching end of a group. */
static void skip_group(wire *w)
{
    const uint8_t *start = w->at;
    for (int64_t depth = 1; depth > 0;) {
        if (w->at == w->end)
            wire_fail(w, start, "a group does not end");
        switch (read_varint(w) & 7) {
        case 0:
            read_varint(w);
            break;
        case 1:
            read_fixed(w, 8);
            break;
        case 2: {
            size_t size = read_length(w);
            w->at += size;
            break;
        }
        case 3:
            depth++;
            break;
        case 4:
            depth--;
            break;
        case 5:
            read_fixed(w, 4);
            break;
        default:
            wire_fail(w, w->at, "a field has an invalid type");
        }
    }
}

bool wire_next_any(wire *w, wire_field *field)
{
    if (w->at == w->end)
        return false;
    const uint8_t *start = w->at;
    uint64_t key = read_varint(w);
    if (key >> 3 == 0 || key >> 3 > 536870911)
        wire_fail(w, start, "a field has an invalid number");
    *field = (wire_field){.number = (uint32_t)(key >> 3), .type = key & 7, .bytes = w->at};
    switch (field->type) {
    case 0:
        field->varint = read_varint(w);
        break;
    case 1:
        field->varint = read_fixed(w, 8);
        break;
    case 2:
        field->size = read_length(w);
        field->bytes = w->at;
        w->at += field->size;
        break;
    case 3:
        skip_group(w);
        break;
    case 5:
        field->varint = read_fixed(w, 4);
        break;
    default:
        wire_fail(w, start, "a field has an invalid type");
    }
    return true;
}

double wire_float(const wire_field *field)
{
    uint32_t bits = (uint32_t)field->varint;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

size_t wire_packed_ints(wire packed, int64_t *to, size_t room)
{
    size_t count = 0;
    while (packed.at < packed.end) {
        uint64_t x = read_varint(&packed);
        if (count < room)
            to[count] = (int64_t)x;
        count++;
    }
    return count;
}

bool wire_part(const uint8_t **p, const uint8_t *end, uint32_t number, str *part)
{
    const uint8_t *at = *p;
    uint64_t length = 0;
    if (at == end || *at++ != (number << 3 | 2))
        return false;
    for (int shift = 0; shift < 64; shift += 7) {
        if (at == end)
            return false;
        length |= (uint64_t)(*at & 127) << shift;
        if (*at++ < 128)
            break;
    }
    if (length > (uint64_t)(end - at))
        return false;
    *part = (str){(const char *)at, (size_t)length};
    *p = at + length;
    return true;
}
