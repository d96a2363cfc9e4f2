/* allocator.h: PyTorch's caching allocator, played through without a device.
 *
 * What a program asks for is rounded, cut out of segments that were asked of the driver, and kept for the next request when it is
 * given back. So more memory is taken from the device than tensors need, and how much depends on the order of
 * requests. The rules are those of c10/cuda/CUDACachingAllocator.cpp with its default settings:
 *   1. Sizes are rounded up to 512 bytes. Up to 1 MiB is small; small and large requests have segments of their own.
 *   2. The smallest free block that is large enough is taken, of equal ones that at the lowest address.
 *   3. Without one, a segment is made: 2 MiB for small requests, 20 MiB for those below 10 MiB, else the size rounded up to 2 MiB.
 *   4. What is left of a block is split off: of small ones always, of large ones if it is more than 1 MiB.
 *   5. A block that is given back joins free neighbours in its segment. Segments go back only when the device is full. */
#ifndef SOOTH_MEMORY_ALLOCATOR_H
#define SOOTH_MEMORY_ALLOCATOR_H

#include "base/arena.h"

typedef struct allocator allocator;
typedef int32_t allocation; /* a block that is in use */
enum { NO_ALLOCATION = -1 };

/* At most `limit_bytes` are taken of the device. Everything is in `a`. */
allocator *allocator_new(arena *a, int64_t limit_bytes);
/* The same blocks in use and free, under another limit, which what is taken already may exceed. */
allocator *allocator_copy(arena *a, const allocator *from, int64_t limit_bytes);

/* NO_ALLOCATION: not even after giving back every segment that nobody uses. Negative sizes count as nothing. */
allocation allocator_take(allocator *m, int64_t bytes);
void allocator_give(allocator *m, allocation block);
/* Gives back to the device what is not in use. */
void allocator_empty_cache(allocator *m);

int64_t allocator_allocated(const allocator *m); /* in use now, rounded */
int64_t allocator_reserved(const allocator *m);  /* taken of the device now */
int64_t allocator_peak_allocated(const allocator *m);
int64_t allocator_peak_reserved(const allocator *m);

/* What a request takes at least. */
int64_t allocator_rounded(int64_t bytes);

#endif
