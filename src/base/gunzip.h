/* gunzip.h: inflates gzip data of up to two layers. Layers are streamed; only the innermost result is kept. */
#ifndef SOOTH_BASE_GUNZIP_H
#define SOOTH_BASE_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool gunzip_is_packed(const uint8_t *bytes, size_t size);

/* Inflates bytes[0 … size) into memory that the caller frees. Returns NULL, or an error message; `is_out_of_memory`
 * reports a failed allocation. The limit for all layers together is 1 GiB. */
const char *gunzip_all(const uint8_t *bytes, size_t size, uint8_t **result, size_t *result_size,
                       bool *is_out_of_memory);

#endif
