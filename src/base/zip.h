/* zip.h: reads the entries of a ZIP archive in memory, mapped or not.
 *
 * Not libzip: a model archive holds gigabytes of stored weights and a few kilobytes of text. This reader hands out
 * stored entries in place and touches no page of unused ones; libzip copies what it reads.
 *
 * Layout, little-endian:
 *   1. end record 50 4b 05 06 in the last 64 KiB + 22 bytes: number of entries, size and offset of the directory
 *   2. ZIP64: locator 50 4b 06 07 right before it, with the offset of the record 50 4b 06 06 with 64-bit numbers
 *   3. directory: for each entry 50 4b 01 02, method, sizes, name, offset of its local header; 64-bit numbers are in
 *      extra field 1
 *   4. local header 50 4b 03 04: read only to find the data; its sizes may be missing
 *
 * Refused: names that lead out of the archive, encrypted entries, methods other than stored (0) and deflate (8),
 * entries that expand beyond their declared size or the caller's limit. zip_read checks the directory's checksum. */
#ifndef SOOTH_BASE_ZIP_H
#define SOOTH_BASE_ZIP_H

#include "base/arena.h"

typedef struct zip_entry {
    str name; /* slice of the archive's bytes */
    uint64_t header_offset, packed_bytes, bytes;
    uint32_t crc;
    uint16_t method, flags;
} zip_entry;

typedef struct zip {
    const uint8_t *archive;
    size_t size;
    arena *arena;
    fail *fail;
    zip_entry *entries; /* In directory order. */
    int32_t count;
    int32_t *slots; /* Hash table of the names: entry + 1. */
    uint32_t mask;
    uint64_t inflated_bytes; /* Bytes of all entries read so far. */
} zip;

/* True if the bytes look like a ZIP archive. */
bool zip_sniff(const uint8_t *bytes, size_t size);
/* Reads the directory. The bytes must stay in place while entries are used. */
void zip_open(zip *z, const uint8_t *bytes, size_t size, arena *a, fail *f);
/* Entry by name, or NULL. */
const zip_entry *zip_find(const zip *z, str name);
/* First entry whose name ends with `ending` and is longer, or NULL; linear search. */
const zip_entry *zip_find_ending(const zip *z, const char *ending);
/* Content of the entry: in place if stored, else inflated into the arena. Fails if it exceeds `cap_bytes`. */
str zip_read(zip *z, const zip_entry *e, size_t cap_bytes);
/* Bytes of a stored entry of any size, without touching them. Empty if the entry is compressed. */
str zip_stored(zip *z, const zip_entry *e);

#endif
