/* memory.h: how much memory of the device a program needs: its lifetimes, played through the caching allocator.
 *
 * What the driver and the libraries need beside it (context, handles) is not in here: see constants.h. */
#ifndef SOOTH_MEMORY_MEMORY_H
#define SOOTH_MEMORY_MEMORY_H

#include "memory/lifetime.h"

/* Bytes that a library asks for while a kernel runs; a convolution's gradients are made one behind the other. */
typedef struct kernel_workspace {
    int64_t first, second;
} kernel_workspace;

typedef struct memory_question {
    const program *program;
    const lifetime *lifetimes; /* of the program */
    const lower_options *options;
    const kernel_workspace *workspaces; /* by kernel; NULL: none */
    int64_t product_workspace_bytes;    /* that the library for matrix products keeps from its first call on */
    int version;                        /* of PyTorch: torch_version() */
    bool autotunes; /* cuDNN tries convolutions out in the first pass; then the allocator gives back what it keeps */
    bool returns;   /* the step is a function that lets go of the outputs; else they stay until the next ones */
    int64_t limit_bytes; /* that the allocator may take; INT64_MAX: as much as it asks for */
} memory_question;

/* Bytes. A kernel's figures are those while it runs. */
typedef struct memory_use {
    bool fits;                        /* in the limit; if not, everything below ends at the kernel that it failed at */
    int32_t failed_kernel;            /* -1: none */
    int64_t allocated, reserved;      /* peaks: by tensors and workspaces, and taken of the device for them */
    int64_t parts[MEMORY_PART_COUNT]; /* of the allocated peak */
    int32_t peak_kernel;
    int64_t *of_kernel; /* by kernel, in the last step */
    int64_t *reserved_of_kernel;
    const lifetime *lifetimes; /* by storage: those of the question */
    /* Without rounding, workspaces and cache, in the last step: before it, and the peak and the end of each phase. */
    int64_t live_before, live_peak[PHASE_UPDATE + 1], live_end[PHASE_UPDATE + 1];
    int64_t saved; /* kept by autograd for the way back, parameters not counted */
} memory_use;

/* Kinds of convolutions that cuDNN tries algorithms out for, where it does. */
int32_t memory_tuned_convolutions(const program *p, int version, arena *a);

/* Everything is in `a`. */
memory_use *memory_of(const memory_question *q, arena *a);

#endif
