/* npz.h: writes NumPy's .npz: a ZIP archive of stored .npy arrays, in one pass. Numbers are little-endian.
 * 1. An entry has a local header with the sizes in a ZIP64 field; then "\x93NUMPY", version 1.0, the length of the
 * text, and the text {'descr': …, 'fortran_order': False, 'shape': …}, padded to 64 bytes; then the numbers.
 * 2. The sizes precede the numbers. The checksum is known only afterwards, so it follows them (bit 3 of the flags).
 * 3. The directory and the end records have ZIP64 fields. */
#ifndef SOOTH_CLI_NPZ_H
#define SOOTH_CLI_NPZ_H

#include "base/bytes.h"
#include "cli/cli.h"

enum { NPZ_MOST_ARRAYS = 64 };

typedef struct npz_entry {
    const char *name;
    uint64_t offset, size;
    uint32_t crc;
} npz_entry;

typedef struct npz {
    cli_output *out;
    uint64_t written;
    bool failed; /* cli_end() reports the reason. */
    npz_entry entries[NPZ_MOST_ARRAYS];
    int count;
    uint64_t left; /* Remaining bytes of the open array. */
    bytes buffer;
} npz;

/* Begins an array. `type` is NumPy's ("<i4", "<f8", "|S12"), `size` is that of an element; `columns` is 0 for one
 * dimension. */
void npz_begin(npz *z, const char *name, const char *type, size_t size, uint64_t rows, uint64_t columns);
/* Appends numbers of the array. The caller must write as many as announced, because npz_end() does not check it. */
void npz_put(npz *z, const void *numbers, size_t size);
void npz_end(npz *z);
void npz_finish(npz *z); /* Writes the directory. */

#endif
