/* zip.h: the entries of a ZIP archive that lies in memory, mapped or not.
 *
 * An own reader instead of libzip: an archive of a model is tens of gigabytes of stored weights around a few kilobytes of
 * text. This one reads the directory at the end, hands out stored entries where they lie, and touches no page of an
 * entry that nobody asks for; libzip wants a file or a source of its own and copies what it reads.
 *
 * Layout, little-endian:
 *   1. end record 50 4b 05 06 in the last 64 KiB + 22 bytes: count of entries, size and offset of the directory
 *   2. ZIP64: locator 50 4b 06 07 right before it, which gives the offset of the record 50 4b 06 06 with 64-bit numbers
 *   3. directory: for each entry 50 4b 01 02, method, sizes, name, offset of its local header; 64-bit numbers, where
 *      those do not fit, in extra field 1
 *   4. local header 50 4b 03 04: read only for where the data begin, since its sizes may be left to a descriptor after them
 *
 * What is refused: names that lead out of the archive, encrypted entries, methods other than stored (0) and deflate (8),
 * entries that expand to more than they say or than the caller allows. What zip_read gives
 * has the checksum that the directory says. */
#ifndef SOOTH_BASE_ZIP_H
#define SOOTH_BASE_ZIP_H

#include "base/arena.h"

typedef struct zip_entry {
    str name; /* in the archive's bytes */
    uint64_t header_offset, packed_bytes, bytes;
    uint32_t crc;
    uint16_t method, flags;
} zip_entry;

typedef struct zip {
    const uint8_t *archive;
    size_t size;
    arena *arena;
    fail *fail;
    zip_entry *entries; /* in the order of the directory */
    int32_t count;
    int32_t *slots; /* hash of the names: entry + 1 */
    uint32_t mask;
    uint64_t inflated_bytes; /* of all entries read so far */
} zip;

/* Do the bytes begin as an archive does? */
bool zip_sniff(const uint8_t *bytes, size_t size);
/* Reads the directory. The bytes must stay where they are as long as entries are used. */
void zip_open(zip *z, const uint8_t *bytes, size_t size, arena *a, fail *f);
/* The entry of that name, or NULL. */
const zip_entry *zip_find(const zip *z, str name);
/* The first entry whose name ends so (and is longer than that), or NULL; looks at every name. */
const zip_entry *zip_find_ending(const zip *z, const char *ending);
/* What the entry holds: in place if it is stored, else inflated into the arena. Fails if that is more than `cap_bytes`. */
str zip_read(zip *z, const zip_entry *e, size_t cap_bytes);
/* The bytes of a stored entry without a limit on their number: they are not touched. Empty if it is compressed. */
str zip_stored(zip *z, const zip_entry *e);

#endif
