#include "cli/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

enum { FLUSH = 1 << 20, ZIP64 = 0xFFFF, NPY_ALIGN = 64 };
static const uint32_t IN_ZIP64 = 0xFFFFFFFFu;

static void flush(npz *z)
{
    if (z->buffer.size && !z->failed)
        z->failed = z->buffer.failed || !cli_put(z->out, z->buffer.data, z->buffer.size);
    z->buffer.size = 0;
}

static void raw(npz *z, const void *from, size_t size)
{
    bytes_add(&z->buffer, from, size);
    z->failed |= z->buffer.failed;
    z->written += size;
    if (z->buffer.size >= FLUSH)
        flush(z);
}

static void number(npz *z, uint64_t x, int size)
{
    uint8_t digits[8];
    for (int i = 0; i < size; i++)
        digits[i] = (uint8_t)(x >> 8 * i);
    raw(z, digits, (size_t)size);
}

/* Writes the fields that the local header and the directory share. */
static void common(npz *z, uint32_t crc)
{
    number(z, 45, 2); /* version that reads ZIP64 */
    number(z, 8, 2);  /* The checksum follows the data. */
    number(z, 0, 2);  /* stored */
    number(z, 0, 2);
    number(z, 0x21, 2); /* 1980-01-01, so that the bytes are the same every time. */
    number(z, crc, 4);
    number(z, IN_ZIP64, 4);
    number(z, IN_ZIP64, 4);
}

static void data(npz *z, const void *from, size_t size)
{
    npz_entry *e = &z->entries[z->count];
    e->crc = (uint32_t)crc32_z(e->crc, from, size);
    raw(z, from, size);
}

void npz_begin(npz *z, const char *name, const char *type, size_t size, uint64_t rows, uint64_t columns)
{
    char text[256];
    char shape[64];
    npz_entry *e = &z->entries[z->count];
    if (columns)
        snprintf(shape, sizeof shape, "(%llu, %llu)", (unsigned long long)rows, (unsigned long long)columns);
    else
        snprintf(shape, sizeof shape, "(%llu,)", (unsigned long long)rows);
    int used = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    size_t head = 10 + (size_t)used + 1, padded = (head + NPY_ALIGN - 1) / NPY_ALIGN * NPY_ALIGN;
    memset(text + used, ' ', padded - head);
    text[padded - 10 - 1] = '\n';
    *e = (npz_entry){.name = name, .offset = z->written, .size = padded + rows * (columns ? columns : 1) * size};
    raw(z, "PK\3\4", 4);
    common(z, 0);
    number(z, strlen(name) + 4, 2);
    number(z, 20, 2);
    raw(z, name, strlen(name));
    raw(z, ".npy", 4);
    number(z, 1, 2);
    number(z, 16, 2);
    number(z, e->size, 8);
    number(z, e->size, 8);
    data(z, "\x93NUMPY\1\0", 8);
    const uint8_t length[] = {(uint8_t)(padded - 10), (uint8_t)((padded - 10) >> 8)};
    data(z, length, 2);
    data(z, text, padded - 10);
}

void npz_put(npz *z, const void *numbers, size_t size)
{
    data(z, numbers, size);
}

void npz_end(npz *z)
{
    const npz_entry *e = &z->entries[z->count++];
    raw(z, "PK\7\10", 4);
    number(z, e->crc, 4);
    number(z, e->size, 8);
    number(z, e->size, 8);
}

void npz_finish(npz *z)
{
    uint64_t directory = z->written, end;
    for (int i = 0; i < z->count; i++) {
        const npz_entry *e = &z->entries[i];
        raw(z, "PK\1\2", 4);
        number(z, 45, 2);
        common(z, e->crc);
        number(z, strlen(e->name) + 4, 2);
        number(z, 28, 2);
        number(z, 0, 2); /* comment */
        number(z, 0, 8); /* number of the disk; attributes */
        number(z, IN_ZIP64, 4);
        raw(z, e->name, strlen(e->name));
        raw(z, ".npy", 4);
        number(z, 1, 2);
        number(z, 24, 2);
        number(z, e->size, 8);
        number(z, e->size, 8);
        number(z, e->offset, 8);
    }
    end = z->written;
    raw(z, "PK\6\6", 4);
    number(z, 44, 8);
    number(z, 45, 2);
    number(z, 45, 2);
    number(z, 0, 8);
    number(z, (uint64_t)z->count, 8);
    number(z, (uint64_t)z->count, 8);
    number(z, end - directory, 8);
    number(z, directory, 8);
    raw(z, "PK\6\7", 4);
    number(z, 0, 4);
    number(z, end, 8);
    number(z, 1, 4);
    raw(z, "PK\5\6", 4);
    number(z, 0, 4);
    number(z, ZIP64, 2);
    number(z, ZIP64, 2);
    number(z, IN_ZIP64, 4);
    number(z, IN_ZIP64, 4);
    number(z, 0, 2);
    flush(z);
    free(z->buffer.data);
    z->buffer = (bytes){0};
}
