/* memory.h: how much memory of the device a program needs: its requests, played through the caching allocator.
 *
 * What the driver and the libraries need beside it (context, handles) is not in here: see constants.h. */
#ifndef SOOTH_MEMORY_MEMORY_H
#define SOOTH_MEMORY_MEMORY_H

#include "memory/requests.h"

/* Bytes that a library asks for while a kernel runs; a convolution's gradients are made one after the other. */
typedef struct kernel_workspace {
    int64_t first, second;
} kernel_workspace;

typedef struct memory_question {
    const memory_requests *requests;
    const kernel_workspace *workspaces; /* by kernel; NULL: none */
    int64_t product_workspace_bytes;    /* that the library for matrix products keeps from its first call on */
    int64_t limit_bytes;                /* that the allocator may take; INT64_MAX: as much as it asks for */
} memory_question;

/* Bytes. A kernel's figures are those while it runs. */
typedef struct memory_use {
    bool fits;                        /* in the limit; if not, everything below ends at the kernel that it failed at */
    int32_t failed_kernel;            /* -1: none, or before the first */
    int64_t allocated, reserved;      /* peaks: by tensors and workspaces, and taken of the device for them */
    int64_t parts[MEMORY_PART_COUNT]; /* of the allocated peak */
    int32_t peak_kernel;
    int64_t *of_kernel; /* by kernel, in the last step */
    int64_t *reserved_of_kernel;
    const memory_requests *requests; /* those of the question, with what does not depend on the device */
} memory_use;

/* In `a`. `scratch` gets what is needed on the way. */
memory_use *memory_of(const memory_question *q, arena *a, arena *scratch);

#endif
