/* inflate.h: decompresses deflate data (RFC 1951) and gzip members (RFC 1952), piece by piece, for the page: Debian's
 * emscripten has no zlib, and the browser's DecompressionStream cannot be called from C. The program itself uses zlib.
 *
 * As with zlib, a run ends when the input is used up, the output is full, or the data end. Input that belongs to what
 * follows is left in next_in. Memory: 34 KiB for a stream, whatever the data say. */
#ifndef SOOTH_WEB_INFLATE_H
#define SOOTH_WEB_INFLATE_H

#include <stddef.h>
#include <stdint.h>

typedef enum inflate_result {
    INFLATE_MORE = 0,     /* goes on with more input or more room */
    INFLATE_END = 1,      /* the data are complete */
    INFLATE_DAMAGED = -3, /* invalid data, or a checksum that does not match */
    INFLATE_NO_MEMORY = -4,
    INFLATE_NO_PROGRESS = -5 /* no input, or no room */
} inflate_result;

typedef struct inflate_stream {
    const uint8_t *next_in;
    size_t avail_in;
    uint8_t *next_out;
    size_t avail_out;
    struct inflate_state *state;
} inflate_stream;

inflate_result inflate_open(inflate_stream *s, int is_gzip); /* INFLATE_MORE or INFLATE_NO_MEMORY */
inflate_result inflate_run(inflate_stream *s);
/* Begins another stream or gzip member of the same kind. */
void inflate_restart(inflate_stream *s);
void inflate_close(inflate_stream *s);

/* The checksum of gzip and ZIP; `crc` is that of the bytes before, 0 at the beginning. */
uint32_t inflate_crc32(uint32_t crc, const uint8_t *bytes, size_t size);

#endif
