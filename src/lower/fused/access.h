/* access.h: the elements of a buffer that a loop reads, as loops with strides. A fusing compiler compares them to
 * decide whether two loops touch the same elements in the same order. */
#ifndef SOOTH_LOWER_FUSED_ACCESS_H
#define SOOTH_LOWER_FUSED_ACCESS_H

#include "base/arena.h"
#include "lower/layout.h"

/* A loop, slowest first; stride 0 for a loop that does not move. */
typedef struct piece {
    int64_t size, stride;
} piece;

typedef struct access {
    const piece *pieces;
    int16_t count;
    int16_t outer_count; /* loops before those of a reduction; all if there is none */
    bool is_scattered;   /* windows, borders, lookups: strides do not describe the elements */
    bool is_gathered;    /* scattered, and adjacent iterations may read distant memory */
    bool is_narrow;      /* scattered, and elements are read repeatedly, such as the statistics of a norm */
    int32_t part;        /* distinguishes reads of different slices with equal strides */
} access;

enum { MAX_PIECES = 48 };

/* Merges adjacent loops and drops those of size 1. */
access access_of(arena *a, const piece *pieces, int count);
/* Composes: the elements at the addresses `at` of something that reads `of` in the order of its addresses. */
access access_compose(arena *a, const access *at, const access *of);
/* Composes `of` with a single loop and stores nothing. Returns the number of resulting loops, -1 if strides cannot
 * describe them. `*made_stride` is set to the stride of the first one. */
int access_along(const access *of, int64_t size, int64_t stride, int64_t *made_stride);
access access_scattered(arena *a, int64_t elements);
/* Concatenates the outer loops and the loops of a reduction inside them. */
access access_join(arena *a, const access *outer, const access *inner);
/* Reorders the loops of `x` to match `order`, which covers the same elements. Returns `x` if they cannot be matched. */
access access_sorted(arena *a, const access *x, const access *order);

int64_t access_touched(const access *x);  /* number of distinct elements */
int64_t access_repeated(const access *x); /* reads per element */
/* True if the access reads every element of a dense buffer, in any order. */
bool access_covers(const access *x, int64_t elements);
/* True if the elements are read in memory order; each may be read several times. */
bool access_is_row(const access *x);
/* Equal for accesses of the same elements. */
uint64_t access_hash(const access *x);
/* Equal for accesses of the same elements in the same order. */
uint64_t access_order_hash(const access *x);

#endif
