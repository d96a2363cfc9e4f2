/* model.h: what the fuzz targets of model readers do with a file: everything that the program does with it.
 *
 * Loading, binding, inspect, predict, memory, slices, the largest batch, converting and reading back, all reports. A hash of the bytes chooses
 * the settings, so that an input runs a few of them quickly and always the same. invariants.h has what must hold of the answers. */
#ifndef SOOTH_FUZZ_MODEL_H
#define SOOTH_FUZZ_MODEL_H

#include <stddef.h>
#include <stdint.h>

/* The environment variable FUZZ_SETTINGS (the number that a broken invariant prints) takes the place of the hash, to make a finding smaller. */
void fuzz_model(const uint8_t *bytes, size_t size);

#endif
