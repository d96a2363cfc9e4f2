/* zlib.h: the part of zlib's interface that Sooth uses, for builds without zlib, over inflate.h. */
#ifndef SOOTH_WEB_ZLIB_H
#define SOOTH_WEB_ZLIB_H

#include "../inflate.h"

typedef uint8_t Bytef;
typedef size_t uInt;
typedef unsigned long uLong;
typedef inflate_stream z_stream;

enum {
    MAX_WBITS = 15,
    Z_NO_FLUSH = 0,
    Z_FINISH = 4,
    Z_OK = INFLATE_MORE,
    Z_STREAM_END = INFLATE_END,
    Z_DATA_ERROR = INFLATE_DAMAGED,
    Z_MEM_ERROR = INFLATE_NO_MEMORY,
    Z_BUF_ERROR = INFLATE_NO_PROGRESS
};

/* Window bits below 0: raw deflate data; above 15: gzip. */
static inline int inflateInit2(z_stream *s, int window_bits)
{
    return inflate_open(s, window_bits > MAX_WBITS);
}

static inline int inflate(z_stream *s, int flush)
{
    (void)flush;
    return inflate_run(s);
}

static inline int inflateReset(z_stream *s)
{
    inflate_restart(s);
    return Z_OK;
}

static inline int inflateEnd(z_stream *s)
{
    inflate_close(s);
    return Z_OK;
}

static inline uLong crc32_z(uLong crc, const Bytef *bytes, size_t size)
{
    return inflate_crc32((uint32_t)crc, bytes, size);
}

static inline uLong crc32(uLong crc, const Bytef *bytes, uInt size)
{
    return bytes ? inflate_crc32((uint32_t)crc, bytes, size) : 0;
}

#endif
