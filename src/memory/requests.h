/* requests.h: records a pass or training step as a sequence of requests to the allocator. The sequence serves all
 * devices, because workspaces and memory size are inputs of its replay (memory.h). */
#ifndef SOOTH_MEMORY_REQUESTS_H
#define SOOTH_MEMORY_REQUESTS_H

#include "memory/allocator.h"
#include "memory/lifetime.h"

typedef enum request_kind {
    REQUEST_TAKE,        /* Allocates a storage. */
    REQUEST_RENEW,       /* Allocates a storage, then frees its block of the previous step. */
    REQUEST_GIVE,        /* Frees a storage. */
    REQUEST_TAKE_BESIDE, /* Allocates a temporary of the next kernel; the argument is an index in `beside_bytes`. */
    REQUEST_GIVE_BESIDE,
    /* Allocates the workspace of matrix products. Argument 0: for the forward pass; 1: for the backward thread. */
    REQUEST_PRODUCTS,
    REQUEST_RUN,       /* Runs a kernel with its workspaces. */
    REQUEST_EMPTY,     /* Returns the cache to the device. */
    REQUEST_LAST_STEP, /* Begins the last step. */
} request_kind;

typedef struct request {
    request_kind kind;
    int32_t index;
} request;

/* A storage's bytes, from the kernel that writes it to the last kernel that needs it. */
typedef struct held_storage {
    int64_t bytes; /* Rounded up as in the allocator. */
    int32_t birth, death;
    memory_part part;
} held_storage;

typedef struct requests_question {
    const program *program;
    const lifetime *lifetimes; /* Storages of the program. */
    const lower_options *options;
    int version;    /* PyTorch version: torch_version(). */
    bool autotunes; /* cuDNN autotunes in the first pass; the allocator then empties its cache. */
    /* The step is a function call that releases its outputs. Otherwise outputs stay until those of the next step
     * exist. */
    bool returns;
} requests_question;

typedef struct memory_requests {
    int32_t kernel_count, storage_count;
    const allocator *start;         /* State of the allocator with weights and inputs on the device. */
    const allocation *start_blocks; /* Indexed by storage. */
    const request *items;
    int32_t count;
    const int64_t *beside_bytes;
    int32_t beside_count;
    const lifetime *lifetimes; /* Indexed by storage. */
    struct {
        held_storage *items;
        int32_t count, capacity;
    } made;                                  /* Tensors that kernels write. */
    int64_t parts_before[MEMORY_PART_COUNT]; /* Rounded, of tensors that exist throughout. */
    int32_t tuned_convolutions;              /* Kinds of convolutions that cuDNN autotunes. */
    /* Bytes in the last step, without rounding, workspaces and cache: before it, at its peak, and at the end of each
     * phase. */
    int64_t live_before, live_peak[PHASE_UPDATE + 1], live_end[PHASE_UPDATE + 1];
    int64_t saved; /* Kept by autograd for the backward pass, without parameters. */
} memory_requests;

/* Allocates in `a`. `scratch` holds temporary data. */
const memory_requests *memory_requests_of(const requests_question *q, arena *a, arena *scratch);
/* Places weights and inputs on the device by their lifetimes. Fills `start` and `start_blocks`. */
void memory_requests_start(memory_requests *r, arena *a);

#endif
