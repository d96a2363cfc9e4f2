/* limits.h: limits other than memory that stop a program: sizes that the software cannot index or launch. They come
 * from PyTorch's sources and from timm's published benchmarks, which use a smaller batch after any error
 * (doc/memory.md). */
#ifndef SOOTH_MEMORY_LIMITS_H
#define SOOTH_MEMORY_LIMITS_H

#include "lower/lower.h"

/* Distance of a program to the limits of a PyTorch version. */
typedef struct limit_distance {
    double
        share; /* Size ÷ limit, for the nearest limit: reached at 1. Proportional to the batch. 0 without any limit. */
    const char *reached; /* Reason why the program cannot run, in one clause; NULL if it can. */
} limit_distance;

/* `version` is the result of torch_version(). */
limit_distance limit_of(const program *p, int version);

#endif
