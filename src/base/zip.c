#include "base/zip.h"
#include "base/path.h"

#include <zlib.h>

enum { END_BYTES = 22, LOCATOR_BYTES = 20, END64_BYTES = 56, HEADER_BYTES = 46, LOCAL_BYTES = 30 };
/* Limit on the bytes inflated from one archive; the largest real archives need a tenth of it. */
static const uint64_t MAX_INFLATED = (uint64_t)256 << 20;

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const uint8_t *p)
{
    return u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t u64(const uint8_t *p)
{
    return u32(p) | (uint64_t)u32(p + 4) << 32;
}

static _Noreturn void damaged(const zip *z, const uint8_t *at, const char *what)
{
    fail_with(z->fail, SOOTH_ERROR_INPUT, "the ZIP archive is damaged: %s, at byte %zu; copy the file again", what,
              (size_t)(at - z->archive));
}

bool zip_sniff(const uint8_t *bytes, size_t size)
{
    return size >= END_BYTES && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

typedef struct directory {
    uint64_t count, bytes, offset;
} directory;

static directory find_directory(const zip *z)
{
    const uint8_t *end = z->archive + z->size;
    size_t reach = z->size < END_BYTES + 65535 ? z->size : END_BYTES + 65535;
    const uint8_t *first = end - reach, *p = z->size < END_BYTES ? first - 1 : end - END_BYTES;
    while (p >= first && !(memcmp(p, "PK\5\6", 4) == 0 && p + END_BYTES + u16(p + 20) <= end))
        p--;
    if (p < first)
        damaged(z, end, "its central directory at the end is missing; the file is cut off");
    directory d = {u16(p + 10), u32(p + 12), u32(p + 16)};
    if (p - z->archive >= LOCATOR_BYTES && memcmp(p - LOCATOR_BYTES, "PK\6\7", 4) == 0) {
        uint64_t offset = u64(p - LOCATOR_BYTES + 8);
        if (offset > z->size || z->size - offset < END64_BYTES || memcmp(z->archive + offset, "PK\6\6", 4) != 0)
            damaged(z, p - LOCATOR_BYTES, "the ZIP64 record of its directory is not where it should be");
        const uint8_t *q = z->archive + offset;
        d = (directory){u64(q + 32), u64(q + 40), u64(q + 48)};
    }
    if (d.offset > z->size || d.bytes > z->size - d.offset)
        damaged(z, p, "its directory extends beyond the end of the file");
    if (d.count > d.bytes / HEADER_BYTES)
        damaged(z, p, "its directory is too small for its number of entries");
    return d;
}

/* Checks names although entries are never written to disk, because names refer to each other. */
static void check_name(const zip *z, const uint8_t *header, str name)
{
    if (path_leads_out(name))
        fail_with(z->fail, SOOTH_ERROR_INPUT,
                  "an entry of the ZIP archive is called '%.*s', which leads out of the archive, at byte %zu; do not "
                  "trust this file",
                  STR_ARG(name), (size_t)(header - z->archive));
}

/* Extra field 1 has 64-bit values for those sizes and offsets that are all ones in the entry, in this order. */
static void read_extra64(const zip *z, zip_entry *e, const uint8_t *extra, size_t size)
{
    const uint8_t *p = extra, *end = extra + size;
    while (end - p >= 4) {
        size_t bytes = u16(p + 2);
        const uint8_t *field = p + 4;
        if (bytes > (size_t)(end - field))
            return; /* padding after the last field */
        if (u16(p) == 1) {
            uint64_t *wanted[] = {&e->bytes, &e->packed_bytes, &e->header_offset};
            for (size_t i = 0, used = 0; i < 3; i++) {
                if (*wanted[i] != UINT32_MAX)
                    continue;
                if (used + 8 > bytes)
                    damaged(z, p, "a 64-bit size is missing in its directory");
                *wanted[i] = u64(field + used);
                used += 8;
            }
            return;
        }
        p = field + bytes;
    }
}

static void add_name(zip *z, const uint8_t *header, int32_t index)
{
    uint32_t k = str_hash(z->entries[index].name);
    for (;; k++) {
        int32_t *slot = &z->slots[k & z->mask];
        if (*slot && !str_eq(z->entries[*slot - 1].name, z->entries[index].name))
            continue;
        if (*slot) /* Duplicate names are refused, because some readers use the first such entry and others the last. */
            fail_with(z->fail, SOOTH_ERROR_INPUT,
                      "two entries of the ZIP archive are called '%.*s', at byte %zu; do not trust this file",
                      STR_ARG(z->entries[index].name), (size_t)(header - z->archive));
        *slot = index + 1;
        return;
    }
}

void zip_open(zip *z, const uint8_t *bytes, size_t size, arena *a, fail *f)
{
    *z = (zip){.archive = bytes, .size = size, .arena = a, .fail = f};
    directory d = find_directory(z);
    if (d.count > INT32_MAX / 4)
        damaged(z, bytes + d.offset, "it has more entries than any model");
    z->entries = ARENA_ARRAY(a, zip_entry, (size_t)d.count);
    uint32_t slots = 16;
    while (slots < 2 * d.count)
        slots *= 2;
    z->slots = ARENA_ARRAY(a, int32_t, slots);
    z->mask = slots - 1;
    const uint8_t *p = bytes + d.offset, *end = p + d.bytes;
    for (uint64_t i = 0; i < d.count; i++) {
        if (end - p < HEADER_BYTES || memcmp(p, "PK\1\2", 4) != 0)
            damaged(z, p, "an entry of its directory is missing");
        size_t name = u16(p + 28), extra = u16(p + 30), comment = u16(p + 32);
        if ((size_t)(end - p) - HEADER_BYTES < name + extra + comment)
            damaged(z, p, "an entry of its directory extends beyond the directory's end");
        zip_entry *e = &z->entries[z->count];
        *e = (zip_entry){.name = {(const char *)p + HEADER_BYTES, name},
                         .flags = u16(p + 8),
                         .method = u16(p + 10),
                         .crc = u32(p + 16),
                         .packed_bytes = u32(p + 20),
                         .bytes = u32(p + 24),
                         .header_offset = u32(p + 42)};
        check_name(z, p, e->name);
        read_extra64(z, e, p + HEADER_BYTES + name, extra);
        add_name(z, p, z->count++);
        p += HEADER_BYTES + name + extra + comment;
    }
}

const zip_entry *zip_find(const zip *z, str name)
{
    for (uint32_t k = str_hash(name);; k++) {
        int32_t slot = z->slots[k & z->mask];
        if (!slot)
            return NULL;
        if (str_eq(z->entries[slot - 1].name, name))
            return &z->entries[slot - 1];
    }
}

const zip_entry *zip_find_ending(const zip *z, const char *ending)
{
    size_t length = strlen(ending);
    for (int32_t i = 0; i < z->count; i++)
        if (z->entries[i].name.len > length && str_ends(z->entries[i].name, ending))
            return &z->entries[i];
    return NULL;
}

static const uint8_t *data_of(const zip *z, const zip_entry *e)
{
    if (e->header_offset > z->size || z->size - e->header_offset < LOCAL_BYTES)
        damaged(z, z->archive + z->size, "an entry starts beyond the end of the file");
    const uint8_t *p = z->archive + e->header_offset;
    if (memcmp(p, "PK\3\4", 4) != 0)
        damaged(z, p, "an entry is not where the directory says");
    size_t skipped = LOCAL_BYTES + (size_t)u16(p + 26) + u16(p + 28), room = z->size - (size_t)e->header_offset;
    if (skipped > room || e->packed_bytes > room - skipped)
        damaged(z, p, "an entry extends beyond the end of the file");
    if (e->flags & 1)
        fail_with(z->fail, SOOTH_ERROR_UNSUPPORTED,
                  "entry '%.*s' of the ZIP archive is encrypted; pack it without a password", STR_ARG(e->name));
    return p + skipped;
}

static str inflate_entry(zip *z, const zip_entry *e, const uint8_t *data)
{
    /* Deflate expands at most 1032 times, so a larger claimed size is false and is refused before memory is
     * allocated. */
    if (e->bytes / 1032 > e->packed_bytes)
        damaged(z, data, "a compressed entry is too small for the size it declares");
    uint8_t *room = arena_room(z->arena, (size_t)e->bytes + 1, 1);
    z_stream s = {.next_in = (Bytef *)(uintptr_t)data, .next_out = room};
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK)
        fail_with(z->fail, SOOTH_ERROR_SYSTEM, "out of memory");
    s.avail_in = (uInt)(e->packed_bytes > UINT32_MAX ? UINT32_MAX : e->packed_bytes);
    s.avail_out = (uInt)e->bytes + 1; /* one byte more, to detect an entry that is longer than declared */
    int state = inflate(&s, Z_FINISH);
    uint64_t made = e->bytes + 1 - s.avail_out;
    inflateEnd(&s);
    if (state != Z_STREAM_END || made != e->bytes)
        damaged(z, data,
                made > e->bytes ? "a compressed entry is longer than it declares" : "a compressed entry is damaged");
    return (str){(const char *)room, (size_t)made};
}

/* Returns the content after checking its CRC. Fuzzers skip the check, because they cannot compute CRCs. */
static str checked(const zip *z, const zip_entry *e, str content)
{
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    if (crc32_z(0, (const Bytef *)content.ptr, content.len) != e->crc)
        fail_with(z->fail, SOOTH_ERROR_INPUT,
                  "the checksum of entry '%.*s' of the ZIP archive does not match its directory: the file is damaged; "
                  "copy it again",
                  STR_ARG(e->name));
#else
    (void)z;
    (void)e;
#endif
    return content;
}

str zip_read(zip *z, const zip_entry *e, size_t cap_bytes)
{
    const uint8_t *data = data_of(z, e);
    if (e->bytes > cap_bytes || (e->method != 0 && e->bytes + z->inflated_bytes > MAX_INFLATED))
        fail_with(z->fail, SOOTH_ERROR_INPUT,
                  "entry '%.*s' of the ZIP archive has %llu bytes, more than any real model has there; do not trust "
                  "this file",
                  STR_ARG(e->name), (unsigned long long)e->bytes);
    if (e->method == 0 && e->bytes != e->packed_bytes)
        damaged(z, data, "a stored entry has two different sizes");
    if (e->method == 0)
        return checked(z, e, (str){(const char *)data, (size_t)e->bytes});
    if (e->method != 8)
        fail_with(z->fail, SOOTH_ERROR_UNSUPPORTED,
                  "entry '%.*s' of the ZIP archive is compressed with method %d; only stored and deflated entries are "
                  "supported",
                  STR_ARG(e->name), e->method);
    z->inflated_bytes += e->bytes;
    return checked(z, e, inflate_entry(z, e, data));
}

str zip_stored(zip *z, const zip_entry *e)
{
    if (e->method != 0 || e->bytes != e->packed_bytes)
        return (str){0};
    return (str){(const char *)data_of(z, e), (size_t)e->bytes};
}
