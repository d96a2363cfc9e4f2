/* gunzip.h: what gzip data hold, through up to two layers. Layers are streamed: only the innermost is kept. */
#ifndef SOOTH_BASE_GUNZIP_H
#define SOOTH_BASE_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool gunzip_is_packed(const uint8_t *bytes, size_t size);

/* Inflates bytes[0 … size). Gives memory for the caller to free, or returns what is wrong; "out of memory" is told by
 * `is_out_of_memory`. All layers together may hold 1 GiB. */
const char *gunzip_all(const uint8_t *bytes, size_t size, uint8_t **result, size_t *result_size,
                       bool *is_out_of_memory);

#endif
