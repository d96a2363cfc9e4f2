/* backend.h: selects the implementation of a convolution in PyTorch, where memory depends on it. */
#ifndef SOOTH_MEMORY_BACKEND_H
#define SOOTH_MEMORY_BACKEND_H

#include "lower/lower.h"

/* Returns 204 for "pt2.4-cu124". An unknown version counts as the newest. */
int torch_version(str stack);

bool is_channels_last(const placed_tensor *t);

bool is_depthwise(const program *p, const kernel *k);

/* True if a depthwise convolution on maps runs in cuDNN. Otherwise PyTorch's own kernel runs it, with 32-bit indices.
 * Other convolutions always run in cuDNN. */
bool depthwise_uses_cudnn(const program *p, const kernel *k, int version);

#endif
