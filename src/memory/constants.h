/* constants.h: the numbers of data/memory.txt, which is embedded in the library. They are fitted or come from the
 * sources of the software. */
#ifndef SOOTH_MEMORY_CONSTANTS_H
#define SOOTH_MEMORY_CONSTANTS_H

#include "device/device.h"

typedef enum memory_constant {
    CONTEXT_TRAIN_MIB,
    CONTEXT_INFER_MIB,
    CONTEXT_UNLAZY_MIB,         /* Before CUDA 11.7, which introduced lazy loading of kernel code. */
    CONTEXT_AUTOTUNED_MIB,      /* Since CUDA 11.7, upper bound if cuDNN autotunes. */
    CONTEXT_AUTOTUNED_EACH_MIB, /* The same bound per kind of convolution. */
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

/* Returns the constants of the device. Fails if the embedded file is damaged. */
memory_constants memory_constants_for(const device *d, fail *f);
/* Reads the constants from another text. */
memory_constants memory_constants_in(str text, const device *d, fail *f);

/* Reads the constants from a text. Returns false if a line is malformed or a number is missing. */
bool memory_constants_read(memory_constants *c, str text, str compute_capability, str name);

#endif
