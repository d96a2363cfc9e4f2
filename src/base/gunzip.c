#include "base/gunzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MAX_LAYERS = 2, WINDOW_BYTES = 1 << 16, HEAD_BYTES = 2 };

/* Limit on inflated data, which take memory, unlike a mapped file. Graphs are far smaller. */
static const size_t MAX_INFLATED = (size_t)1 << 30;
static const size_t MAX_PIECE = (size_t)1 << 30; /* zlib counts in 32 bits */

static const char OUT_OF_MEMORY[] = "out of memory";
static const char TOO_LARGE[] =
    "the decompressed data exceed 1 GiB; decompress the file first, because a plain file is mapped instead of read";

/* One gzip layer. It reads memory (`from` is NULL), or the output of another layer through `window`. */
typedef struct layer {
    z_stream z;
    struct layer *from;
    const uint8_t *rest; /* memory after zlib's current piece */
    size_t rest_bytes;
    uint8_t *window;
    size_t total_bytes; /* bytes inflated so far */
    bool is_open, is_over;
    const char *problem;
} layer;

bool gunzip_is_packed(const uint8_t *bytes, size_t size)
{
    return size >= HEAD_BYTES && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

static bool open_layer(layer *l)
{
    l->is_open = inflateInit2(&l->z, 16 + MAX_WBITS) == Z_OK;
    if (!l->is_open)
        l->problem = OUT_OF_MEMORY;
    return l->is_open;
}

static size_t read_layer(layer *l, uint8_t *out, size_t room);

/* Provides zlib with more input; false at the end. */
static bool feed(layer *l)
{
    if (l->z.avail_in >= HEAD_BYTES)
        return true;
    size_t had = l->z.avail_in, more;
    if (l->from) {
        memmove(l->window, l->z.next_in, had);
        more = read_layer(l->from, l->window + had, WINDOW_BYTES - had);
        l->z.next_in = l->window;
        l->problem = l->from->problem;
        if (!l->problem && l->total_bytes + l->from->total_bytes > MAX_INFLATED)
            l->problem = TOO_LARGE;
    } else {
        more = l->rest_bytes < MAX_PIECE ? l->rest_bytes : MAX_PIECE;
        l->z.next_in = (Bytef *)(uintptr_t)(l->rest - had);
        l->rest += more;
        l->rest_bytes -= more;
    }
    l->z.avail_in = (uInt)(had + more);
    return more > 0;
}

/* Inflates up to `room` bytes into `out`; returns fewer at the end or after an error. */
static size_t read_layer(layer *l, uint8_t *out, size_t room)
{
    size_t done = 0;
    while (done < room && !l->is_over && !l->problem) {
        bool is_fed = feed(l);
        if (l->problem)
            break;
        size_t piece = room - done < MAX_PIECE ? room - done : MAX_PIECE;
        l->z.next_out = out + done;
        l->z.avail_out = (uInt)piece;
        int state = inflate(&l->z, Z_NO_FLUSH);
        size_t made = piece - l->z.avail_out;
        done += made;
        l->total_bytes += made;
        if (state == Z_STREAM_END) { /* gzip members may be concatenated; other trailing bytes are padding */
            feed(l);
            l->is_over = !gunzip_is_packed(l->z.next_in, l->z.avail_in) || inflateReset(&l->z) != Z_OK;
        } else if (state == Z_BUF_ERROR && !is_fed && made == 0) {
            l->problem = "the compressed data end too early; copy the file again";
        } else if (state != Z_OK && state != Z_BUF_ERROR) {
            l->problem = state == Z_MEM_ERROR ? OUT_OF_MEMORY : "the compressed data are damaged; copy the file again";
        }
    }
    return done;
}

/* Appends everything that is left in `l` to `data`. */
static void read_rest(layer *l, uint8_t **data, size_t *used, size_t capacity)
{
    while (!l->problem && !l->is_over) {
        if (*used >= MAX_INFLATED) {
            l->problem = TOO_LARGE;
            return;
        }
        if (*used == capacity) {
            capacity = capacity < MAX_INFLATED / 2 ? capacity * 2 : MAX_INFLATED;
            uint8_t *larger = realloc(*data, capacity);
            if (!larger) {
                l->problem = OUT_OF_MEMORY;
                return;
            }
            *data = larger;
        }
        *used += read_layer(l, *data + *used, capacity - *used);
    }
}

/* Opens layers until the data are not gzip. Returns the innermost layer and its first bytes in `head`. */
static layer *open_all(layer *layers, uint8_t *head, size_t *head_bytes)
{
    layer *l = layers;
    for (int depth = 1;; depth++) {
        if (!open_layer(l))
            return l;
        *head_bytes = read_layer(l, head, HEAD_BYTES);
        if (l->problem || !gunzip_is_packed(head, *head_bytes))
            return l;
        if (depth == MAX_LAYERS) {
            l->problem = "it is compressed more than twice; decompress it first";
            return l;
        }
        layer *inner = l + 1;
        inner->from = l;
        inner->window = malloc(WINDOW_BYTES);
        if (!inner->window) {
            l->problem = OUT_OF_MEMORY;
            return l;
        }
        memcpy(inner->window, head, HEAD_BYTES);
        inner->z.next_in = inner->window;
        inner->z.avail_in = HEAD_BYTES;
        l = inner;
    }
}

const char *gunzip_all(const uint8_t *bytes, size_t size, uint8_t **result, size_t *result_size, bool *is_out_of_memory)
{
    layer layers[MAX_LAYERS] = {{.rest = bytes, .rest_bytes = size}};
    uint8_t head[HEAD_BYTES];
    size_t used = 0, capacity = size < (1 << 14) ? 1 << 16 : size < MAX_INFLATED / 4 ? size * 4 : MAX_INFLATED;
    layer *innermost = open_all(layers, head, &used);
    uint8_t *data = innermost->problem ? NULL : malloc(capacity);
    if (!data && !innermost->problem)
        innermost->problem = OUT_OF_MEMORY;
    if (data) {
        memcpy(data, head, used);
        read_rest(innermost, &data, &used, capacity);
    }
    for (int i = 0; i < MAX_LAYERS; i++) {
        if (layers[i].is_open)
            inflateEnd(&layers[i].z);
        free(layers[i].window);
    }
    *is_out_of_memory = innermost->problem == OUT_OF_MEMORY;
    if (innermost->problem) {
        free(data);
        return innermost->problem;
    }
    *result = data;
    *result_size = used;
    return NULL;
}
