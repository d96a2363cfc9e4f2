/* zip_test.c: valid and hostile archives in memory. */
#include "base/zip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

typedef struct bytes {
    uint8_t data[4096];
    size_t size;
} bytes;

static void put(bytes *b, uint64_t number, int count)
{
    for (int i = 0; i < count; i++)
        b->data[b->size++] = i < 8 ? (uint8_t)(number >> (8 * i)) : 0;
}

static void put_text(bytes *b, const void *text, size_t size)
{
    memcpy(b->data + b->size, text, size);
    b->size += size;
}

typedef struct entry {
    const char *name;
    const void *data;
    size_t packed, size;
    int method;
    const char *plain; /* uncompressed content; NULL: `data` */
} entry;

static uint64_t checksum(const entry *e)
{
    return e->plain ? crc32_z(0, (const Bytef *)e->plain, e->size) : crc32_z(0, e->data, e->packed);
}

/* `wide`: the directory has 64-bit numbers. */
static void write_archive(bytes *b, const entry *entries, int count, bool wide)
{
    size_t offsets[8];
    b->size = 0;
    for (int i = 0; i < count; i++) {
        const entry *e = &entries[i];
        offsets[i] = b->size;
        put_text(b, "PK\3\4", 4);
        put(b, 20, 2);
        put(b, 8, 2); /* sizes are in a descriptor after the data */
        put(b, (uint64_t)e->method, 2);
        put(b, 0, 16);
        put(b, strlen(e->name), 2);
        put(b, 3, 2);
        put_text(b, e->name, strlen(e->name));
        put_text(b, "xyz", 3);
        put_text(b, e->data, e->packed);
    }
    size_t directory = b->size;
    for (int i = 0; i < count; i++) {
        const entry *e = &entries[i];
        put_text(b, "PK\1\2", 4);
        put(b, 20, 2);
        put(b, 20, 2);
        put(b, 8, 2);
        put(b, (uint64_t)e->method, 2);
        put(b, 0, 4);
        put(b, checksum(e), 4);
        put(b, wide ? UINT32_MAX : e->packed, 4);
        put(b, wide ? UINT32_MAX : e->size, 4);
        put(b, strlen(e->name), 2);
        put(b, wide ? 28 : 0, 2);
        put(b, 0, 10);
        put(b, wide ? UINT32_MAX : offsets[i], 4);
        put_text(b, e->name, strlen(e->name));
        if (wide) {
            put(b, 1, 2);
            put(b, 24, 2);
            put(b, e->size, 8);
            put(b, e->packed, 8);
            put(b, offsets[i], 8);
        }
    }
    size_t end = b->size;
    if (wide) {
        put_text(b, "PK\6\6", 4);
        put(b, 44, 8);
        put(b, 45 | 45 << 16, 4);
        put(b, 0, 8);
        put(b, (uint64_t)count, 8);
        put(b, (uint64_t)count, 8);
        put(b, end - directory, 8);
        put(b, directory, 8);
        put_text(b, "PK\6\7", 4);
        put(b, 0, 4);
        put(b, end, 8);
        put(b, 1, 4);
    }
    put_text(b, "PK\5\6", 4);
    put(b, 0, 4);
    put(b, wide ? 65535 : (uint64_t)count, 2);
    put(b, wide ? 65535 : (uint64_t)count, 2);
    put(b, wide ? UINT32_MAX : end - directory, 4);
    put(b, wide ? UINT32_MAX : directory, 4);
    put(b, 0, 2);
}

static size_t deflated(const void *data, size_t size, uint8_t *out, size_t room)
{
    z_stream s = {
        .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = out, .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    deflateEnd(&s);
    return room - s.avail_out;
}

/* Content of entry "a/b", or the error message. */
static const char *answer(const bytes *b, size_t cap)
{
    static char text[1024];
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, 1 << 20);
    if (setjmp(f.jump)) {
        snprintf(text, sizeof text, "%s", error.message);
    } else {
        zip z;
        zip_open(&z, b->data, b->size, &a, &f);
        const zip_entry *e = zip_find(&z, STR("a/b"));
        str s = e ? zip_read(&z, e, cap) : STR("none");
        snprintf(text, sizeof text, "%.*s", (int)s.len, s.ptr);
    }
    arena_free(&a);
    return text;
}

static void entries_are_found(void **state)
{
    (void)state;
    static bytes b;
    uint8_t packed[64];
    size_t size = deflated("hello hello hello", 17, packed, sizeof packed);
    for (int wide = 0; wide < 2; wide++) {
        const entry stored[] = {{"version", "3", 1, 1, 0, NULL}, {"a/b", "text", 4, 4, 0, NULL}};
        write_archive(&b, stored, 2, wide);
        assert_true(zip_sniff(b.data, b.size));
        assert_string_equal(answer(&b, 100), "text");
        const entry deflate[] = {{"a/b", packed, size, 17, 8, "hello hello hello"}, {"a/b", "second", 6, 6, 0, NULL}};
        write_archive(&b, deflate, 1, wide);
        assert_string_equal(answer(&b, 100), "hello hello hello");
        write_archive(&b, deflate, 2, wide);
        assert_non_null(strstr(answer(&b, 100), "two entries of the ZIP archive are called 'a/b', at byte"));
        write_archive(&b, stored, 1, wide);
        assert_string_equal(answer(&b, 100), "none");
    }
}

static void refused(const entry *e, const char *why)
{
    static bytes b;
    write_archive(&b, e, 1, false);
    const char *message = answer(&b, 1000);
    if (!strstr(message, why))
        fail_msg("'%s' does not say '%s'", message, why);
}

static void hostile_entries_are_refused(void **state)
{
    (void)state;
    refused(&(entry){"a/../../etc/passwd", "x", 1, 1, 0, NULL}, "leads out of the archive");
    refused(&(entry){"/etc/passwd", "x", 1, 1, 0, NULL}, "leads out of the archive");
    refused(&(entry){"..\\x", "x", 1, 1, 0, NULL}, "leads out of the archive");
    refused(&(entry){"C:\\x", "x", 1, 1, 0, NULL}, "leads out of the archive");
    refused(&(entry){"a/b", "x", 1, 1, 12, NULL}, "compressed with method 12");
    refused(&(entry){"a/b", "x", 1, 2000000, 8, NULL}, "more than any real model");
    refused(&(entry){"a/b", "\1\2", 2, 900, 8, NULL}, "is damaged");
    uint8_t packed[64], zeros[1000] = {0};
    size_t size = deflated(zeros, sizeof zeros, packed, sizeof packed);
    refused(&(entry){"a/b", packed, size, 10, 8, NULL}, "longer than it declares");
    refused(&(entry){"a/b", "text", 4, 4, 0, "test"}, "does not match its directory");
    size = deflated("text", 4, packed, sizeof packed);
    refused(&(entry){"a/b", packed, size, 4, 8, "test"}, "does not match its directory");
}

/* Truncated or changed anywhere: an answer or a message, never a read out of bounds. */
static void damage_is_refused(void **state)
{
    (void)state;
    static bytes b;
    write_archive(&b, &(entry){"a/b", "text", 4, 4, 0, NULL}, 1, true);
    bytes whole = b;
    for (size_t i = 0; i < whole.size; i++) {
        b.size = i;
        assert_non_null(strstr(answer(&b, 100), "damaged"));
    }
    for (size_t i = 0; i < whole.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            b = whole;
            b.data[i] ^= (uint8_t)(1 << bit);
            const char *got = answer(&b, 100);
            if (strcmp(got, "text") && strcmp(got, "none") && !strstr(got, "ZIP archive"))
                fail_msg("byte %zu changed: '%s'", i, got);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_found),
        cmocka_unit_test(hostile_entries_are_refused),
        cmocka_unit_test(damage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
