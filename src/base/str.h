/* str.h: a slice of bytes owned by someone else. Names in a mapped model file are used in place, so they are not
 * NUL-terminated and are not copied for reading. */
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

/* Makes a str from a string literal. */
#define STR(literal) ((str){(literal), sizeof(literal) - 1})
/* Arguments for "%.*s". Truncates at 256 bytes: messages stay readable, and int never overflows. */
#define STR_ARG(s) ((int)((s).len > 256 ? 256 : (s).len)), ((s).ptr ? (s).ptr : "")

static inline str str_of(const char *zero_terminated)
{
    return (str){zero_terminated, strlen(zero_terminated)};
}

/* True if the texts are equal. Compares eight bytes at a time without a call, because names are short and compared
 * often. The last eight bytes overlap earlier ones; str_short() reads shorter texts. */
static inline uint64_t str_eight(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Packs a text of fewer than eight bytes into a number, which is unique among texts of that length. */
static inline uint64_t str_short(str s)
{
    uint32_t first, last;
    if (s.len >= sizeof first) {
        memcpy(&first, s.ptr, sizeof first);
        memcpy(&last, s.ptr + s.len - sizeof last, sizeof last);
        return (uint64_t)last << 32 | first;
    }
    const uint8_t *p = (const uint8_t *)s.ptr;
    return s.len ? p[0] | (uint32_t)p[s.len / 2] << 8 | (uint32_t)p[s.len - 1] << 16 : 0;
}

/* Copies the bytes, eight at a time. */
static inline void str_copy(char *to, str s)
{
    if (s.len < 8) {
        for (size_t i = 0; i < s.len; i++)
            to[i] = s.ptr[i];
        return;
    }
    for (size_t i = 0; i + 8 < s.len; i += 8)
        memcpy(to + i, s.ptr + i, 8);
    memcpy(to + s.len - 8, s.ptr + s.len - 8, 8);
}

static inline bool str_eq(str a, str b)
{
    if (a.len != b.len)
        return false;
    if (a.len < 8)
        return str_short(a) == str_short(b);
    for (size_t i = 0; i + 8 < a.len; i += 8)
        if (str_eight(a.ptr + i) != str_eight(b.ptr + i))
            return false;
    return str_eight(a.ptr + a.len - 8) == str_eight(b.ptr + b.len - 8);
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

static inline bool str_contains(str s, const char *part)
{
    size_t n = strlen(part);
    if (s.len < n) /* An empty text may be NULL. */
        return false;
    const char *at = s.ptr, *end = s.ptr + s.len;
    while (n && (size_t)(end - at) >= n && (at = memchr(at, part[0], (size_t)(end - at) - n + 1))) {
        if (memcmp(at, part, n) == 0)
            return true;
        at++;
    }
    return false;
}

/* Mixes the upper bits into the lower ones at the end, because most names differ only in a digit at their end. */
static inline uint32_t str_hash(str s)
{
    const uint64_t mix = 0x9e3779b97f4a7c15u;
    uint64_t h = s.len * mix;
    for (size_t i = 0; i + 8 < s.len; i += 8) {
        h = (h ^ str_eight(s.ptr + i)) * mix;
        h ^= h >> 32;
    }
    h = (h ^ (s.len < 8 ? str_short(s) : str_eight(s.ptr + s.len - 8))) * mix;
    return (uint32_t)(((h ^ h >> 32) * mix) >> 32);
}

#endif
