/* bytes.h: a growing buffer of numbers and texts, and its reader. Buffers go from thread to thread and from process to
 * process of the same program, so numbers keep the machine's byte order. */
#ifndef SOOTH_BASE_BYTES_H
#define SOOTH_BASE_BYTES_H

#include "base/str.h"

typedef struct bytes {
    char *data; /* free() */
    size_t size, capacity;
    bool failed; /* Set if out of memory; everything added since is lost. */
} bytes;

void bytes_add(bytes *b, const void *from, size_t size);
static inline void bytes_whole(bytes *b, int64_t x)
{
    bytes_add(b, &x, sizeof x);
}
static inline void bytes_real(bytes *b, double x)
{
    bytes_add(b, &x, sizeof x);
}
void bytes_str(bytes *b, str s); /* length, then the text and a NUL */

/* Read a value and advance `at`. At the end they return 0 and "", and `at->ptr` becomes NULL. */
int64_t bytes_take_whole(str *at);
double bytes_take_real(str *at);
str bytes_take_str(str *at); /* NUL-terminated, inside the buffer */

#endif
