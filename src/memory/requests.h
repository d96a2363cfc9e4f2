/* requests.h: a pass or a step of training as a sequence of requests to the allocator, from before the first step to the end of the last.
 *
 * No device goes in: how much libraries ask for while a kernel runs, and how much memory there is, are told when requests are played
 * (memory.h). So one sequence serves all devices. */
#ifndef SOOTH_MEMORY_REQUESTS_H
#define SOOTH_MEMORY_REQUESTS_H

#include "memory/allocator.h"
#include "memory/lifetime.h"

typedef enum request_kind {
    REQUEST_TAKE,        /* of a storage */
    REQUEST_RENEW,       /* of a storage: the last step's block is given back after the new one was taken */
    REQUEST_GIVE,        /* of a storage */
    REQUEST_TAKE_BESIDE, /* what the next kernel needs for itself: an index of `beside_bytes` */
    REQUEST_GIVE_BESIDE,
    REQUEST_PRODUCTS, /* the workspace for matrix products: 0 that of the forward pass, 1 of the thread that runs the backward pass */
    REQUEST_RUN,       /* a kernel runs, with its workspaces */
    REQUEST_EMPTY,     /* the cache goes back to the device */
    REQUEST_LAST_STEP, /* what follows is the last step */
} request_kind;

typedef struct request {
    request_kind kind;
    int32_t index;
} request;

/* What a storage takes from the kernel that makes it to the last that needs it. */
typedef struct held_storage {
    int64_t bytes; /* rounded */
    int32_t birth, death;
    memory_part part;
} held_storage;

typedef struct requests_question {
    const program *program;
    const lifetime *lifetimes; /* of the program */
    const lower_options *options;
    int version;    /* of PyTorch: torch_version() */
    bool autotunes; /* cuDNN tries convolutions out in the first pass; then the allocator gives back what it keeps */
    bool returns;   /* the step is a function that lets go of the outputs; else they stay until the next ones */
} requests_question;

typedef struct memory_requests {
    int32_t kernel_count, storage_count;
    const allocator *start;         /* weights and inputs are on the device */
    const allocation *start_blocks; /* by storage */
    const request *items;
    int32_t count;
    const int64_t *beside_bytes;
    int32_t beside_count;
    const lifetime *lifetimes; /* by storage: those of the question */
    struct {
        held_storage *items;
        int32_t count, capacity;
    } made;                                  /* by kernels */
    int64_t parts_before[MEMORY_PART_COUNT]; /* of what is there before the first kernel and stays, rounded */
    int32_t tuned_convolutions;              /* kinds that cuDNN tries algorithms out for, where it does */
    /* Bytes without rounding, workspaces and cache, in the last step: before it, and the peak and the end of each phase. */
    int64_t live_before, live_peak[PHASE_UPDATE + 1], live_end[PHASE_UPDATE + 1];
    int64_t saved; /* kept by autograd for the way back, parameters not counted */
} memory_requests;

/* In `a`. `scratch` gets what is needed on the way. */
const memory_requests *memory_requests_of(const requests_question *q, arena *a, arena *scratch);
/* Puts weights and inputs on the device, by their lifetimes: fills in `start` and `start_blocks`. */
void memory_requests_start(memory_requests *r, arena *a);

#endif
