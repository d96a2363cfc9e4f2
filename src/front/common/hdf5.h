/* hdf5.h: a reader of the part of HDF5 that Keras writes: attributes of the root group, and the shapes of all data sets.
 *
 * Why not libhdf5: it opens files by name and not bytes in memory (gzip around them, `sooth_load_memory`), pulls in a
 * few megabytes for two texts, and a file that is hostile to it is an old trade. What is needed is a dozen records:
 *
 *   superblock      89 48 44 46 0d 0a 1a 0a, version 0, 1 (root symbol table entry at byte 24 + 4·offsets) or 2, 3 (root object header)
 *   object header   version 1 (messages of 8 + n bytes) or 2 ("OHDR", messages of 4 or 6 + n bytes), continued by message 16
 *   messages        1 dataspace, 3 datatype, 6 link, 12 attribute, 17 symbol table
 *   symbol table    local heap ("HEAP") of names, B-tree ("TREE") of symbol nodes ("SNOD")
 *   global heap     "GCOL": texts of variable length
 *
 * Offsets and lengths must be of 8 bytes, as all writers of Keras have them. Dense attributes and groups in fractal heaps are not
 * read. Data are never read; every offset is checked; each object header is read once. */
#ifndef SOOTH_FRONT_COMMON_HDF5_H
#define SOOTH_FRONT_COMMON_HDF5_H

#include "base/arena.h"

typedef struct hdf5 {
    const uint8_t *bytes;
    size_t size;
    arena *arena;
    fail *fail;
    uint64_t root; /* of the root group's object header */
    uint64_t end;  /* of the file, as it was written */
    int32_t visits;
} hdf5;

typedef struct hdf5_dataset {
    str path; /* "/model_weights/dense/dense/kernel:0" */
    int rank;
    int64_t dims[32];
    int element_class; /* 0 integer, 1 floating point, 3 text, 9 of variable length */
    int element_bytes;
} hdf5_dataset;

bool hdf5_sniff(const uint8_t *bytes, size_t size);
void hdf5_open(hdf5 *h, const uint8_t *bytes, size_t size, arena *a, fail *f);
/* The text of an attribute of the root group; false if there is none of that name. */
bool hdf5_root_text(hdf5 *h, const char *name, str *text);
/* Calls `found` for each data set, in the order of the file's directories. */
void hdf5_datasets(hdf5 *h, void (*found)(void *context, const hdf5_dataset *d), void *context);

#endif
