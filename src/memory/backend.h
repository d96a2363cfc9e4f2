/* backend.h: which of PyTorch's implementations runs a convolution, as far as memory depends on it. */
#ifndef SOOTH_MEMORY_BACKEND_H
#define SOOTH_MEMORY_BACKEND_H

#include "lower/lower.h"

/* Of "pt2.4-cu124" 204; what is not known counts as the newest. */
int torch_version(str stack);

bool is_channels_last(const placed_tensor *t);

bool is_depthwise(const program *p, const kernel *k);

/* Whether a depthwise convolution on maps goes to cuDNN; else it runs in PyTorch's own kernel, which counts elements with 32 bits. Other
 * convolutions always go to cuDNN. */
bool depthwise_uses_cudnn(const program *p, const kernel *k, int version);

#endif
