/* model.h: what the fuzz targets do with a model file: everything that the program does.
 *
 * Load, bind, inspect, predict, memory, slices, largest batch, convert and read back, all reports. A hash of the
 * bytes chooses the settings, so that each input runs a few of them, always the same. invariants.h checks the
 * answers. */
#ifndef SOOTH_FUZZ_MODEL_H
#define SOOTH_FUZZ_MODEL_H

#include <stddef.h>
#include <stdint.h>

/* The environment variable FUZZ_SETTINGS (the number that a broken invariant prints) replaces the hash, for
 * minimizing a finding. */
void fuzz_model(const uint8_t *bytes, size_t size);

#endif
