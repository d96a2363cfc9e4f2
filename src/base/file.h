/* file.h: the bytes of a model file: mapped, or inflated from gzip. Weights in a mapped file cost nothing, because
 * they are never touched. */
#ifndef SOOTH_BASE_FILE_H
#define SOOTH_BASE_FILE_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct file_map {
    const uint8_t *bytes;
    size_t size;
    int descriptor; /* Open while the file is read; -1 otherwise. */
    void *mapping;  /* memory for munmap, or NULL */
    size_t mapping_size;
    uint8_t *inflated; /* Memory for free(); NULL if the file was not compressed. */
} file_map;

/* Maps the file at `path` ("-": standard input). The caller owns `map` before the call, so that nothing leaks on
 * failure. */
void file_open(file_map *map, const char *path, fail *f);
/* Uses the caller's bytes. */
void file_of_memory(file_map *map, const void *bytes, size_t size);
/* Inflates gzip data in place of the bytes, through at most two layers. */
void file_inflate(file_map *map, fail *f);
/* Releases the pages of a large mapped file after most of it has been read. Later reads come from the system's
 * cache. */
void file_let_go(file_map *map);
void file_close(file_map *map);
bool file_is_there(const char *path); /* True for a regular file. */

#endif
