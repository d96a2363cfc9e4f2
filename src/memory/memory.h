/* memory.h: computes the device memory of a program: runs its requests through the simulated caching allocator.
 * Excludes the driver's context and library handles (constants.h). */
#ifndef SOOTH_MEMORY_MEMORY_H
#define SOOTH_MEMORY_MEMORY_H

#include "memory/requests.h"

/* Bytes that a library requests while a kernel runs. The gradients of a convolution are computed one after the
 * other. */
typedef struct kernel_workspace {
    int64_t first, second;
} kernel_workspace;

typedef struct memory_question {
    const memory_requests *requests;
    const kernel_workspace *workspaces; /* Indexed by kernel; NULL if there are none. */
    int64_t product_workspace_bytes;    /* Workspace for matrix products, held by the library after its first call. */
    int64_t limit_bytes;                /* Limit of the allocator; INT64_MAX if there is none. */
} memory_question;

/* Memory in bytes. Figures of a kernel are those while it runs. */
typedef struct memory_use {
    /* False if the limit was exceeded. The figures below then end at the kernel that failed. */
    bool fits;
    int32_t failed_kernel;            /* -1 if there is none, or before the first kernel. */
    int64_t allocated, reserved;      /* Peaks of allocated and of reserved memory. */
    int64_t parts[MEMORY_PART_COUNT]; /* Kernel at the peak of allocated memory. */
    int32_t peak_kernel;
    int64_t *of_kernel; /* Indexed by kernel, in the last step. */
    int64_t *reserved_of_kernel;
    const memory_requests *requests; /* Requests and other data that do not depend on the device. */
} memory_use;

/* Allocates in `a`. `scratch` holds temporary data. */
memory_use *memory_of(const memory_question *q, arena *a, arena *scratch);

#endif
