/* inflate_test.c: the page's inflater (web/inflate.c) against zlib: data of all strategies and levels, in pieces of any
 * size, whole, cut off and damaged. */
#include "../../web/inflate.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <zlib.h>

enum { CASES = 4000, MOST_BYTES = 40000, ROOM = MOST_BYTES + 70000, AFTER = 10 };

static uint32_t seed = 7;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)seed * below) >> 32);
}

/* Noise, few letters, a pattern, or copies of earlier bytes. */
static void fill(uint8_t *bytes, size_t size)
{
    uint32_t kind = draw(4);
    for (size_t i = 0; i < size; i++)
        bytes[i] = kind == 0                          ? (uint8_t)draw(256)
                   : kind == 1                        ? (uint8_t) "abcab"[draw(5)]
                   : kind == 2 || i < 100 || !draw(9) ? (uint8_t)(i % 37)
                                                      : bytes[i - 1 - draw(99)];
}

static size_t pack(const uint8_t *bytes, size_t size, uint8_t *packed, size_t room, bool is_gzip)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes, .next_out = packed};
    assert_int_equal(deflateInit2(&z, (int)draw(10), Z_DEFLATED, is_gzip ? 31 : -15, 1 + (int)draw(9), (int)draw(5)),
                     Z_OK);
    z.avail_in = (uInt)size;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

/* Runs to the end of data or output, in pieces of at most these sizes. */
static inflate_result run(inflate_stream *s, const uint8_t *packed, size_t size, uint8_t *out, size_t in_piece,
                          size_t out_piece)
{
    const uint8_t *in_end = packed + size;
    uint8_t *out_end = out + ROOM;
    s->next_in = packed;
    s->next_out = out;
    for (;;) {
        size_t in = (size_t)(in_end - s->next_in), room = (size_t)(out_end - s->next_out);
        s->avail_in = in < in_piece ? in : in_piece;
        s->avail_out = room < out_piece ? room : out_piece;
        inflate_result result = inflate_run(s);
        if (result == INFLATE_END || result == INFLATE_DAMAGED ||
            (result == INFLATE_NO_PROGRESS && (s->next_in == in_end || s->next_out == out_end)))
            return result;
    }
}

static void compare(const uint8_t *packed, size_t size, bool is_gzip, uint8_t *own, uint8_t *theirs)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)size, .next_out = theirs, .avail_out = ROOM};
    assert_int_equal(inflateInit2(&z, is_gzip ? 31 : -15), Z_OK);
    int wanted = inflate(&z, Z_NO_FLUSH);
    inflate_stream s = {0};
    assert_int_equal(inflate_open(&s, is_gzip), INFLATE_MORE);
    inflate_result result = run(&s, packed, size, own, 1 + draw(draw(2) ? 7 : 5000), 1 + draw(draw(2) ? 9 : 70000));
    assert_int_equal(result == INFLATE_END, wanted == Z_STREAM_END);
    assert_int_equal(result == INFLATE_DAMAGED, wanted == Z_DATA_ERROR);
    if (wanted == Z_STREAM_END) {
        assert_int_equal(s.next_in - packed, z.total_in);
        assert_int_equal(s.next_out - own, z.total_out);
        assert_memory_equal(own, theirs, z.total_out);
    }
    inflateEnd(&z);
    inflate_close(&s);
}

static void test_like_zlib(void **state)
{
    (void)state;
    uint8_t *plain = malloc(MOST_BYTES), *packed = malloc(ROOM), *own = malloc(ROOM), *theirs = malloc(ROOM);
    assert_true(plain && packed && own && theirs);
    for (int i = 0; i < CASES; i++) {
        size_t size = draw(i % 50 ? 3000 : MOST_BYTES);
        bool is_gzip = draw(2);
        fill(plain, size);
        size_t used = pack(plain, size, packed, ROOM - AFTER, is_gzip);
        memset(packed + used, 0x55, AFTER); /* bytes after the data stay in the input */
        size_t given = draw(8) ? used + AFTER : draw((uint32_t)used);
        for (uint32_t damage = draw(3) ? 0 : 1 + draw(3); damage; damage--)
            packed[draw((uint32_t)used)] ^= (uint8_t)(1u << draw(8));
        compare(packed, given, is_gzip, own, theirs);
    }
    free(plain);
    free(packed);
    free(own);
    free(theirs);
}

static void test_checksum(void **state)
{
    (void)state;
    uint8_t bytes[300];
    fill(bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 60)
        assert_int_equal(inflate_crc32(inflate_crc32(0, bytes, cut), bytes + cut, sizeof bytes - cut),
                         crc32(0, bytes, sizeof bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_like_zlib), cmocka_unit_test(test_checksum)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
