/* constants.h: the numbers of data/memory.txt, which is embedded in the library: fitted, or read in the sources of the
 * software. */
#ifndef SOOTH_MEMORY_CONSTANTS_H
#define SOOTH_MEMORY_CONSTANTS_H

#include "device/device.h"

typedef enum memory_constant {
    CONTEXT_TRAIN_MIB,
    CONTEXT_INFER_MIB,
    CONTEXT_UNLAZY_MIB,         /* before CUDA 11.7, which loads kernel code lazily */
    CONTEXT_AUTOTUNED_MIB,      /* since then, if cuDNN autotunes, at most */
    CONTEXT_AUTOTUNED_EACH_MIB, /* the same per kind of convolution */
    CONTEXT_PER_SM_MIB,
    CONTEXT_CONVOLUTIONS_TRAIN_MIB,
    CONTEXT_CONVOLUTIONS_INFER_MIB,
    ALLOCATOR_TRAIN_PERCENT,
    PRODUCT_WORKSPACE_KIB,
    ERROR_TRAIN_PERCENT,
    ERROR_INFER_PERCENT,
    MEMORY_CONSTANT_COUNT,
} memory_constant;

typedef struct memory_constants {
    double of[MEMORY_CONSTANT_COUNT];
} memory_constants;

/* The constants of the device. Fails if the embedded file is damaged. */
memory_constants memory_constants_for(const device *d, fail *f);
/* The same from another text. */
memory_constants memory_constants_in(str text, const device *d, fail *f);

/* The same from a text; false if a line is malformed or a number is missing. */
bool memory_constants_read(memory_constants *c, str text, str compute_capability, str name);

#endif
