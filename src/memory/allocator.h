/* allocator.h: simulates PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp, default settings).
 *
 * 1. Sizes are rounded up to 512 bytes. Requests up to 1 MiB are small; small and large ones have separate segments.
 * 2. A request takes the smallest free block that fits, at the lowest address among equal sizes.
 * 3. Without a free block, the device provides a segment: 2 MiB for small requests, 20 MiB for those below 10 MiB,
 *    otherwise the size rounded up to 2 MiB.
 * 4. The rest of a block becomes a free block: always in small segments, in large ones only if it exceeds 1 MiB.
 * 5. A freed block merges with free neighbours. Segments are returned only when the device is full. */
#ifndef SOOTH_MEMORY_ALLOCATOR_H
#define SOOTH_MEMORY_ALLOCATOR_H

#include "base/arena.h"

typedef struct allocator allocator;
typedef int32_t allocation; /* Index of an allocated block. */
enum { NO_ALLOCATION = -1 };

/* Creates an allocator that reserves at most `limit_bytes` of the device. Allocates in `a`. */
allocator *allocator_new(arena *a, int64_t limit_bytes);
/* Copies the allocator with all its blocks and sets another limit, which may be below the memory in use. */
allocator *allocator_copy(arena *a, const allocator *from, int64_t limit_bytes);

/* Returns NO_ALLOCATION if the request fails even after unused segments are returned. Negative sizes count as 0. */
allocation allocator_take(allocator *m, int64_t bytes);
void allocator_give(allocator *m, allocation block);
/* Returns unused segments to the device. */
void allocator_empty_cache(allocator *m);

int64_t allocator_allocated(const allocator *m); /* Currently allocated, rounded. */
int64_t allocator_reserved(const allocator *m);  /* Currently reserved on the device. */
int64_t allocator_peak_reserved(const allocator *m);

/* Returns the rounded size of a request. */
int64_t allocator_rounded(int64_t bytes);

#endif
