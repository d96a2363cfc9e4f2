/* gnn_fuzz.c: libFuzzer target for the models of `sooth gnn`. An input is the part of a model file after its checksum;
 * missing parts are filled with small numbers. A model that was read must be the same after writing and reading, and
 * predict numbers inside their intervals. */
#include "gnn/use.h"
#include "invariants.h"

#include <math.h>
#include <stdlib.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { HEAD_BYTES = 20, KIND_AT = 0, HIDDEN_AT = 8, COUNT_AT = 40, AFTER_HEAD = 44, MOST_HIDDEN = 64 };

static sooth_model *network;

static void open_network(void)
{
    sooth_error error;
    if (!network && (sooth_load_file("zoo:nasbench_macro/01200000", &network, &error) != SOOTH_OK ||
                     sooth_bind(network, NULL, &error) != SOOTH_OK))
        broken("%s", error.message);
}

static uint32_t word_at(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Corrects the number of parameters and the checksum. */
static str whole_file(const uint8_t *bytes, size_t size, arena *a)
{
    gnn_model sample = {.layout = {.count = 0}};
    size_t least = gnn_file_encode(&sample, a).len, params = 0;
    if (size >= AFTER_HEAD && word_at(bytes + KIND_AT) < GNN_KINDS && word_at(bytes + HIDDEN_AT) <= MOST_HIDDEN &&
        word_at(bytes + HIDDEN_AT) % 32 == 0 && word_at(bytes + HIDDEN_AT))
        params = gnn_layout_of((gnn_kind)word_at(bytes + KIND_AT), word_at(bytes + HIDDEN_AT)).count;
    size_t whole = params ? least + 4 * params : HEAD_BYTES + size;
    uint8_t *file = arena_alloc(a, whole, 1);
    memcpy(file, "sooth gnn net 1", 16);
    memcpy(file + HEAD_BYTES, bytes, size < whole - HEAD_BYTES ? size : whole - HEAD_BYTES);
    for (size_t i = size & ~(size_t)3; params && i + 4 <= whole - HEAD_BYTES; i += 4) {
        const float x = (float)((int)(i * 2654435761U >> 16 & 0xff) - 128) / 512;
        memcpy(file + HEAD_BYTES + i, &x, sizeof x);
    }
    for (int i = 0; params && i < 4; i++)
        file[HEAD_BYTES + COUNT_AT + i] = (uint8_t)(params >> 8 * i);
    uLong sum = crc32_z(0, file + HEAD_BYTES, whole - HEAD_BYTES);
    for (int i = 0; i < 4; i++)
        file[HEAD_BYTES - 4 + i] = (uint8_t)(sum >> 8 * i);
    return (str){(const char *)file, whole};
}

static void read_and_use(const uint8_t *bytes, size_t size, arena *a, fail *f)
{
    gnn_model m, again;
    float setting[GNN_SETTINGS] = {0};
    if (setjmp(f->jump)) {
        check_error(f->error->code, f->error);
        return;
    }
    gnn_file_decode(whole_file(bytes, size, a), &m, a);
    str written = gnn_file_encode(&m, a);
    gnn_file_decode(written, &again, a);
    str twice = gnn_file_encode(&again, a);
    if (written.len != twice.len || memcmp(written.ptr, twice.ptr, twice.len) != 0)
        broken("a model differs after writing and reading");
    gnn_prediction p = gnn_use(&m, network, setting, a);
    for (int o = 0; o < GNN_OUTPUTS; o++) {
        sooth_interval x = p.outputs[o];
        if (m.outputs >> o & 1 ? !(x.low > 0 && x.low <= x.value && x.value <= x.high && isfinite(x.high))
                               : !isnan(x.value))
            broken("output %d is %g (%g to %g)", o, x.value, x.low, x.high);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    open_network();
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)64 << 20);
    read_and_use(bytes, size, &a, &f);
    arena_free(&a);
    return 0;
}
