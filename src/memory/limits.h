/* limits.h: what stops a program besides memory: sizes that the software cannot index or launch.
 *
 * Found in timm's published benchmarks, whose runs step down to a smaller batch at any error, and in PyTorch's sources: see doc/memory.md. */
#ifndef SOOTH_MEMORY_LIMITS_H
#define SOOTH_MEMORY_LIMITS_H

#include "lower/lower.h"

/* Why the program cannot run under this version of PyTorch (torch_version()), in one clause; NULL: it can. */
const char *limit_reached(const program *p, int version);

#endif
