/* state.h: initial weights and inputs from a generator that other programs can reproduce, and files with the results of
 * a step.
 *
 * unit(stream, i) = (mix(mix(stream) + i) >> 40) ÷ 2^24, where mix is the finalizer of SplitMix64:
 *     z += 0x9e3779b97f4a7c15; z = (z ^ z >> 30) × 0xbf58476d1ce4e5b9; z = (z ^ z >> 27) × 0x94d049bb133111eb; z ^ z >>
 * 31 Weight i of parameter p (counted in the order of the network, buffers included) is (2 unit(p, i) - 1) × (6 ÷ fan
 * in)^½.
 * Biases and means are 0, scales and variances 1. The label of image n of step s is floor(unit(2^32 + s, n) × classes),
 * and element i of that image is unit(2^33 + s, n × elements + i) + 2 unit(2^34 + label, cell) - 1.5, where cell is
 * i × 64 ÷ elements: every label has a pattern of its own below the noise. */
#ifndef SOOTH_MEASURE_STATE_H
#define SOOTH_MEASURE_STATE_H

#include "measure/run.h"

void state_weights(run *r);
/* Fills the input's tensor and the labels, one per sample. */
void state_batch(run *r, int64_t step, int32_t *labels);

/* Replaces parameters by those of a safetensors file that have the same name; fails if one has another shape or type,
 * or if none is there. `path` is for messages. */
void state_load(run *r, str bytes, const char *path);

/* Writes a safetensors file: each parameter NAME, its gradient NAME.grad, and the loss. `put` receives the file in
 * pieces and returns false to stop. */
typedef bool (*state_put)(void *context, const char *bytes, size_t size);
void state_save(run *r, state_put put, void *context);

#endif
