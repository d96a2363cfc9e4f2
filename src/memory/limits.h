/* limits.h: limits other than memory that stop a program: sizes that the software cannot index or launch.
 *
 * Found in timm's published benchmarks, which step down to a smaller batch at any error, and in PyTorch's sources: see
 * doc/memory.md. */
#ifndef SOOTH_MEMORY_LIMITS_H
#define SOOTH_MEMORY_LIMITS_H

#include "lower/lower.h"

/* How near a program is to the limits of a version of PyTorch. */
typedef struct limit_distance {
    double
        share; /* of the limit that is nearest, which is reached at 1; in proportion to the batch. 0: there is none */
    const char *reached; /* why the program cannot run, in one clause; NULL: it can */
} limit_distance;

/* `version` is that of torch_version(). */
limit_distance limit_of(const program *p, int version);

#endif
