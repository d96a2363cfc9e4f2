/* allocator.h: a simulation of PyTorch's caching allocator.
 *
 * Requests are rounded, cut out of segments of the driver, and kept for reuse when they are freed. So the device gives
 * more memory than tensors need, depending on the order of requests. The rules are those of
 * c10/cuda/CUDACachingAllocator.cpp with default settings:
 *    1. Sizes are rounded up to 512 bytes. Up to 1 MiB is small; small and large requests have separate segments.
 *    2. The smallest free block that is large enough is taken; of equal ones, that at the lowest address.
 *    3. Without one, a segment is made: 2 MiB for small requests, 20 MiB for those below 10 MiB, else the size
 *      rounded up to 2 MiB.
 *    4. The rest of a block is split off: always from small blocks, from large ones if it exceeds 1 MiB.
 *    5. A freed block merges with free neighbours in its segment. Segments are returned only when the device is
 *      full. */
#ifndef SOOTH_MEMORY_ALLOCATOR_H
#define SOOTH_MEMORY_ALLOCATOR_H

#include "base/arena.h"

typedef struct allocator allocator;
typedef int32_t allocation; /* a block that is in use */
enum { NO_ALLOCATION = -1 };

/* Takes at most `limit_bytes` of the device. Everything is in `a`. */
allocator *allocator_new(arena *a, int64_t limit_bytes);
/* Copies the allocator with all its blocks and sets another limit. The memory in use may already exceed it. */
allocator *allocator_copy(arena *a, const allocator *from, int64_t limit_bytes);

/* NO_ALLOCATION: it fails even after all unused segments were returned. Negative sizes count as 0. */
allocation allocator_take(allocator *m, int64_t bytes);
void allocator_give(allocator *m, allocation block);
/* Returns unused segments to the device. */
void allocator_empty_cache(allocator *m);

int64_t allocator_allocated(const allocator *m); /* in use now, rounded */
int64_t allocator_reserved(const allocator *m);  /* reserved on the device now */
int64_t allocator_peak_allocated(const allocator *m);
int64_t allocator_peak_reserved(const allocator *m);

/* Rounded size of a request. */
int64_t allocator_rounded(int64_t bytes);

#endif
