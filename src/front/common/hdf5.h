/* hdf5.h: reads the part of HDF5 that Keras uses: attributes of the root group, and the shapes of all datasets.
 *
 * Not libhdf5: it opens files by name instead of bytes in memory (gzip, `sooth_load_memory`), adds megabytes for two
 * strings, and has a history of vulnerabilities. A dozen record types suffice:
 *
 *   superblock      89 48 44 46 0d 0a 1a 0a, version 0, 1 (root symbol table entry at byte 24 + 4·offsets) or 2, 3
 *   (root object header)
 *   object header   version 1 (messages of 8 + n bytes) or 2 ("OHDR", messages of 4 or 6 + n bytes), continued by
 *   message 16
 *   messages        1 dataspace, 3 datatype, 6 link, 12 attribute, 17 symbol table
 *   symbol table    local heap ("HEAP") of names, B-tree ("TREE") of symbol nodes ("SNOD")
 *   global heap     "GCOL": strings of variable length
 *
 * Offsets and lengths must have 8 bytes, as in all Keras files. Dense attributes and groups in fractal heaps are not
 * supported. Data are never read; every offset is checked; each object header is read once. */
#ifndef SOOTH_FRONT_COMMON_HDF5_H
#define SOOTH_FRONT_COMMON_HDF5_H

#include "base/arena.h"

typedef struct hdf5 {
    const uint8_t *bytes;
    size_t size;
    arena *arena;
    fail *fail;
    uint64_t root; /* address of the root group's object header */
    uint64_t end;  /* end of the file as written */
    int32_t visits;
} hdf5;

typedef struct hdf5_dataset {
    str path; /* "/model_weights/dense/dense/kernel:0" */
    int rank;
    int64_t dims[32];
    int element_class; /* 0 integer, 1 floating point, 3 string, 9 variable length */
    int element_bytes;
} hdf5_dataset;

bool hdf5_sniff(const uint8_t *bytes, size_t size);
void hdf5_open(hdf5 *h, const uint8_t *bytes, size_t size, arena *a, fail *f);
/* Returns a string attribute of the root group; false if there is none of that name. */
bool hdf5_root_text(hdf5 *h, const char *name, str *text);
/* Calls `found` for each dataset, in the order of the file's directories. */
void hdf5_datasets(hdf5 *h, void (*found)(void *context, const hdf5_dataset *d), void *context);

#endif
