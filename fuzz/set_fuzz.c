/* set_fuzz.c: libFuzzer target for the graphs of data sets. An input is the stored form. If its columns do not
 * decompress, they are compressed first, so that mutations reach the columns. A graph that was read must be the same
 * after writing and reading. */
#include "plan/set_graph.h"

#include <stdlib.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { HEAD_BYTES = 16 };

static str packed(str columns, arena *a)
{
    uLongf length = compressBound((uLong)(columns.len - HEAD_BYTES));
    char *stored = arena_room(a, HEAD_BYTES + length, 1);
    memcpy(stored, columns.ptr, HEAD_BYTES);
    if (compress2((Bytef *)stored + HEAD_BYTES, &length, (const Bytef *)columns.ptr + HEAD_BYTES,
                  (uLong)(columns.len - HEAD_BYTES), 1) != Z_OK)
        abort();
    return (str){stored, HEAD_BYTES + length};
}

static void read_and_write(str stored, arena *a, fail *f)
{
    if (setjmp(f->jump))
        return;
    set_graph g, again;
    if (set_graph_decode(stored, a, &g)) {
        if (stored.len < HEAD_BYTES || set_graph_decode(packed(stored, a), a, &g))
            return;
    }
    set_figures figures = set_figures_of(&g);
    if (figures.conv_count < 0 || figures.dense_count < 0 || figures.relu_count < 0)
        abort();
    set_architecture(&g);
    if (set_graph_decode(set_graph_encode(&g, a), a, &again) || set_fingerprint(&g) != set_fingerprint(&again))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)256 << 20);
    read_and_write((str){(const char *)bytes, size}, &a, &f);
    arena_free(&a);
    return 0;
}
