/* requests.h: a pass or a step of training as a sequence of requests to the allocator, from before the first step to
 * the end of the last.
 *
 * The sequence does not depend on the device. Library workspaces and the size of the memory are given when the
 * requests are replayed (memory.h), so one sequence serves all devices. */
#ifndef SOOTH_MEMORY_REQUESTS_H
#define SOOTH_MEMORY_REQUESTS_H

#include "memory/allocator.h"
#include "memory/lifetime.h"

typedef enum request_kind {
    REQUEST_TAKE,        /* allocates a storage */
    REQUEST_RENEW,       /* allocates a storage, then frees its block of the previous step */
    REQUEST_GIVE,        /* frees a storage */
    REQUEST_TAKE_BESIDE, /* allocates a temporary of the next kernel, an index of `beside_bytes` */
    REQUEST_GIVE_BESIDE,
    REQUEST_PRODUCTS,  /* workspace for matrix products: 0 of the forward pass, 1 of the backward thread */
    REQUEST_RUN,       /* a kernel runs, with its workspaces */
    REQUEST_EMPTY,     /* the cache is returned to the device */
    REQUEST_LAST_STEP, /* the last step begins */
} request_kind;

typedef struct request {
    request_kind kind;
    int32_t index;
} request;

/* Bytes of a storage from the kernel that makes it to the last that needs it. */
typedef struct held_storage {
    int64_t bytes; /* rounded up as the allocator does */
    int32_t birth, death;
    memory_part part;
} held_storage;

typedef struct requests_question {
    const program *program;
    const lifetime *lifetimes; /* of the program */
    const lower_options *options;
    int version;    /* version of PyTorch, by torch_version() */
    bool autotunes; /* cuDNN autotunes in the first pass; then the allocator empties its cache */
    bool returns;   /* the step is a function that releases its outputs; else they stay until the next ones */
} requests_question;

typedef struct memory_requests {
    int32_t kernel_count, storage_count;
    const allocator *start;         /* weights and inputs are on the device */
    const allocation *start_blocks; /* by storage */
    const request *items;
    int32_t count;
    const int64_t *beside_bytes;
    int32_t beside_count;
    const lifetime *lifetimes; /* by storage */
    struct {
        held_storage *items;
        int32_t count, capacity;
    } made;                                  /* by kernels */
    int64_t parts_before[MEMORY_PART_COUNT]; /* of tensors that exist before the first kernel and stay, rounded */
    int32_t tuned_convolutions;              /* kinds of convolutions that cuDNN autotunes */
    /* Bytes without rounding, workspaces and cache, in the last step: before it, and the peak and the end of each
     * phase. */
    int64_t live_before, live_peak[PHASE_UPDATE + 1], live_end[PHASE_UPDATE + 1];
    int64_t saved; /* kept by autograd for the backward pass, without parameters */
} memory_requests;

/* In `a`. `scratch` holds temporary data. */
const memory_requests *memory_requests_of(const requests_question *q, arena *a, arena *scratch);
/* Puts weights and inputs on the device, by their lifetimes: fills in `start` and `start_blocks`. */
void memory_requests_start(memory_requests *r, arena *a);

#endif
