/* archive.h: wraps a fuzzer's bytes into a ZIP archive, so that it need not learn ZIP first. */
#ifndef SOOTH_FUZZ_ARCHIVE_H
#define SOOTH_FUZZ_ARCHIVE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct archive {
    uint8_t *bytes;
    size_t size;
    struct {
        const char *name;
        size_t offset, size;
        uint32_t crc;
    } entries[8];
    int count;
} archive;

static inline void archive_put(archive *a, const void *from, size_t size)
{
    a->bytes = realloc(a->bytes, a->size + size + 1);
    if (!a->bytes)
        abort();
    if (size)
        memcpy(a->bytes + a->size, from, size);
    a->size += size;
}

static inline void archive_number(archive *a, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        archive_put(a, &(uint8_t){(uint8_t)(i < 8 ? number >> (8 * i) : 0)}, 1);
}

static inline void archive_add(archive *a, const char *name, const void *data, size_t size)
{
    a->entries[a->count].name = name;
    a->entries[a->count].offset = a->size;
    a->entries[a->count].crc = (uint32_t)crc32(0, data, (uInt)size);
    a->entries[a->count].size = size;
    archive_put(a, "PK\3\4", 4);
    archive_number(a, 0, 10);
    archive_number(a, a->entries[a->count++].crc, 4);
    archive_number(a, size, 4);
    archive_number(a, size, 4);
    archive_number(a, strlen(name), 2);
    archive_number(a, 0, 2);
    archive_put(a, name, strlen(name));
    archive_put(a, data, size);
}

static inline void archive_end(archive *a)
{
    size_t directory = a->size;
    for (int i = 0; i < a->count; i++) {
        archive_put(a, "PK\1\2", 4);
        archive_number(a, 0, 12);
        archive_number(a, a->entries[i].crc, 4);
        archive_number(a, a->entries[i].size, 4);
        archive_number(a, a->entries[i].size, 4);
        archive_number(a, strlen(a->entries[i].name), 2);
        archive_number(a, 0, 12);
        archive_number(a, a->entries[i].offset, 4);
        archive_put(a, a->entries[i].name, strlen(a->entries[i].name));
    }
    size_t end = a->size;
    archive_put(a, "PK\5\6", 4);
    archive_number(a, 0, 4);
    archive_number(a, (uint64_t)a->count, 2);
    archive_number(a, (uint64_t)a->count, 2);
    archive_number(a, end - directory, 4);
    archive_number(a, directory, 4);
    archive_number(a, 0, 2);
}

#endif
