/* memory.h: device memory of a program: its requests, played through the caching allocator.
 *
 * The driver's context and library handles are not included: see constants.h. */
#ifndef SOOTH_MEMORY_MEMORY_H
#define SOOTH_MEMORY_MEMORY_H

#include "memory/requests.h"

/* Bytes that a library requests while a kernel runs; the gradients of a convolution are computed one after the
 * other. */
typedef struct kernel_workspace {
    int64_t first, second;
} kernel_workspace;

typedef struct memory_question {
    const memory_requests *requests;
    const kernel_workspace *workspaces; /* by kernel; NULL: none */
    int64_t product_workspace_bytes;    /* kept by the library for matrix products from its first call on */
    int64_t limit_bytes;                /* limit of the allocator; INT64_MAX: none */
} memory_question;

/* Bytes. The figures of a kernel are those while it runs. */
typedef struct memory_use {
    bool fits;                   /* false: the limit was exceeded; everything below ends at the kernel that failed */
    int32_t failed_kernel;       /* -1: none, or before the first */
    int64_t allocated, reserved; /* peaks of tensors and workspaces, and of reserved memory */
    int64_t parts[MEMORY_PART_COUNT]; /* of the allocated peak */
    int32_t peak_kernel;
    int64_t *of_kernel; /* by kernel, in the last step */
    int64_t *reserved_of_kernel;
    const memory_requests *requests; /* requests, with what does not depend on the device */
} memory_use;

/* In `a`. `scratch` holds temporary data. */
memory_use *memory_of(const memory_question *q, arena *a, arena *scratch);

#endif
