/* inflate_fuzz.c: compares the page's inflater (web/inflate.c) with zlib: both must accept the same data, in pieces of
 * any size, and give the same bytes. The first three bytes of an input are the kind of data and the sizes of the
 * pieces. */
#include "../web/inflate.c"

#include <zlib.h>

enum { ROOM = 1 << 20, HEAD = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t own[ROOM], theirs[ROOM];
    if (size < HEAD)
        return 0;
    const uint8_t *packed = data + HEAD, *in_end = data + size;
    z_stream z = {
        .next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)(size - HEAD), .next_out = theirs, .avail_out = ROOM};
    inflate_stream s = {.next_in = packed, .next_out = own};
    if (inflateInit2(&z, data[0] & 1 ? 31 : -15) != Z_OK || inflate_open(&s, data[0] & 1) != INFLATE_MORE)
        abort();
    int wanted = inflate(&z, Z_NO_FLUSH);
    inflate_result result;
    do {
        size_t in = (size_t)(in_end - s.next_in), room = (size_t)(own + ROOM - s.next_out);
        s.avail_in = in < data[1] + 1u ? in : data[1] + 1u;
        s.avail_out = room < 64 * (data[2] + 1u) ? room : 64 * (data[2] + 1u);
        result = inflate_run(&s);
    } while (result == INFLATE_MORE ||
             (result == INFLATE_NO_PROGRESS && s.next_in < in_end && s.next_out < own + ROOM));
    /* In truncated data, zlib detects some faults later. */
    bool is_later = result == INFLATE_DAMAGED && wanted != Z_STREAM_END && z.avail_in == 0;
    if ((result == INFLATE_END) != (wanted == Z_STREAM_END) ||
        ((result == INFLATE_DAMAGED) != (wanted == Z_DATA_ERROR) && !is_later))
        abort();
    if (result == INFLATE_END && ((size_t)(s.next_out - own) != z.total_out || memcmp(own, theirs, z.total_out) != 0 ||
                                  (size_t)(s.next_in - packed) != z.total_in))
        abort();
    inflateEnd(&z);
    inflate_close(&s);
    return 0;
}
