#include "base/bytes.h"

#include <stdlib.h>

void bytes_add(bytes *b, const void *from, size_t size)
{
    if (b->failed || !size)
        return;
    if (b->capacity - b->size < size) {
        size_t capacity = b->capacity ? b->capacity : 4096;
        while (capacity - b->size < size)
            capacity *= 2;
        char *data = realloc(b->data, capacity);
        if (!data) {
            b->failed = true;
            return;
        }
        b->data = data;
        b->capacity = capacity;
    }
    memcpy(b->data + b->size, from, size);
    b->size += size;
}

void bytes_str(bytes *b, str s)
{
    bytes_whole(b, (int64_t)s.len);
    bytes_add(b, s.ptr, s.len);
    bytes_add(b, "", 1);
}

static bool take(str *at, void *to, size_t size)
{
    if (!at->ptr || at->len < size) {
        *at = (str){NULL, 0};
        memset(to, 0, size);
        return false;
    }
    memcpy(to, at->ptr, size);
    *at = (str){at->ptr + size, at->len - size};
    return true;
}

int64_t bytes_take_whole(str *at)
{
    int64_t x;
    take(at, &x, sizeof x);
    return x;
}

double bytes_take_real(str *at)
{
    double x;
    take(at, &x, sizeof x);
    return x;
}

str bytes_take_str(str *at)
{
    int64_t length;
    if (!take(at, &length, sizeof length) || length < 0 || (uint64_t)length >= at->len) {
        *at = (str){NULL, 0};
        return STR("");
    }
    str s = {at->ptr, (size_t)length};
    *at = (str){at->ptr + length + 1, at->len - (size_t)length - 1};
    return s;
}
