/* str.h: a slice of bytes that somebody else owns. Names in a model file are used where they lie in the
 * mapped file, so they are not NUL-terminated and are never copied just to be read. */
#ifndef SOOTH_BASE_STR_H
#define SOOTH_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct str {
    const char *ptr;
    size_t len;
} str;

/* A str of a string literal. */
#define STR(literal) ((str){(literal), sizeof(literal) - 1})
/* For printf's "%.*s". Lengths of more than 256 bytes are cut: messages stay readable, int never overflows. */
#define STR_ARG(s) ((int)((s).len > 256 ? 256 : (s).len)), ((s).ptr ? (s).ptr : "")

static inline str str_of(const char *zero_terminated)
{
    return (str){zero_terminated, strlen(zero_terminated)};
}

static inline bool str_eq(str a, str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool str_is(str a, const char *zero_terminated)
{
    return str_eq(a, str_of(zero_terminated));
}

static inline bool str_starts(str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.len >= n && memcmp(s.ptr, prefix, n) == 0;
}

static inline bool str_ends(str s, const char *suffix)
{
    size_t n = strlen(suffix);
    return s.len >= n && memcmp(s.ptr + s.len - n, suffix, n) == 0;
}

/* Names in models are long and differ at their ends: eight bytes at a time. */
static inline uint32_t str_hash(str s)
{
    uint64_t h = s.len, part;
    size_t i = 0;
    for (; i + sizeof part <= s.len; i += sizeof part) {
        memcpy(&part, s.ptr + i, sizeof part);
        h = (h ^ part) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    part = 0;
    for (unsigned shift = 0; i < s.len; i++, shift += 8)
        part |= (uint64_t)(uint8_t)s.ptr[i] << shift;
    h = (h ^ part) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

#endif
