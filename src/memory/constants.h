/* constants.h: the numbers of data/memory.txt, which is inside the library: what was fitted, or read in the software's sources. */
#ifndef SOOTH_MEMORY_CONSTANTS_H
#define SOOTH_MEMORY_CONSTANTS_H

#include "device/device.h"

typedef enum memory_constant {
    CONTEXT_TRAIN_MIB,
    CONTEXT_INFER_MIB,
    CONTEXT_UNLAZY_MIB,         /* before CUDA 11.7, which loads code when it is first called */
    CONTEXT_AUTOTUNED_MIB,      /* since then, where cuDNN tries its algorithms out, at most */
    CONTEXT_AUTOTUNED_EACH_MIB, /* the same for each kind of convolution */
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

/* Those that hold for the device. Fails if what is inside the library is damaged. */
memory_constants memory_constants_for(const device *d, fail *f);
/* The same of another text. */
memory_constants memory_constants_in(str text, const device *d, fail *f);

/* The same from a text; false if a line is not understood or a number is missing. */
bool memory_constants_read(memory_constants *c, str text, str compute_capability, str name);

#endif
