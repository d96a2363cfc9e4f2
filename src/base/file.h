/* file.h: a model's bytes: mapped, or inflated from gzip. Weights in a mapped file cost nothing until they are touched,
 * and nobody touches them. */
#ifndef SOOTH_BASE_FILE_H
#define SOOTH_BASE_FILE_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct file_map {
    const uint8_t *bytes;
    size_t size;
    int descriptor; /* while the file is being read; -1 otherwise */
    void *mapping;  /* what munmap gives back; NULL if there is none */
    size_t mapping_size;
    uint8_t *inflated; /* what free gives back; NULL if the file was not compressed */
} file_map;

/* Maps the file at `path` ("-" is standard input). `map` belongs to the caller before the call, so that nothing leaks when
 * it fails. */
void file_open(file_map *map, const char *path, fail *f);
/* Bytes of the caller. */
void file_of_memory(file_map *map, const void *bytes, size_t size);
/* If the bytes are gzip, replaces them by what they contain; looks through at most two layers. */
void file_inflate(file_map *map, fail *f);
/* Most of it will not be read again: pages of a large mapped file no longer count as the process's. What is read again all the same comes
 * from the system's cache. */
void file_let_go(file_map *map);
void file_close(file_map *map);
bool file_is_there(const char *path); /* a regular file */

#endif
