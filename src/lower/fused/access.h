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
    bool is_gathered;    /* of those: neighbours in the loop may not be neighbours in memory */
    bool is_narrow;      /* of those: elements are read repeatedly, such as the numbers of a norm */
    int32_t part;        /* distinguishes reads of different slices with equal strides */
} access;

enum { MAX_PIECES = 48 };

/* Merges adjacent loops and drops those of size 1. */
access access_of(arena *a, const piece *pieces, int count);
/* Composes: the elements at the addresses `at` of something that reads `of` in the order of its addresses. */
access access_compose(arena *a, const access *at, const access *of);
/* The same for one loop, without storing it: the number of loops, -1 if strides do not describe it. `made_stride` is
 * that of the first. */
int access_along(const access *of, int64_t size, int64_t stride, int64_t *made_stride);
access access_scattered(arena *a, int64_t elements);
/* Loops of a, then loops of b, which are those of a reduction. */
access access_join(arena *a, const access *outer, const access *inner);
/* The loops of `x` in the order that `order`, over the same elements, has; itself if loops cannot be matched. */
access access_sorted(arena *a, const access *x, const access *order);

int64_t access_touched(const access *x);  /* elements; each once */
int64_t access_repeated(const access *x); /* reads per element */
/* Every element of a dense buffer, in any order. */
bool access_covers(const access *x, int64_t elements);
/* Elements in order, each as often as needed. */
bool access_is_row(const access *x);
/* Equal for accesses of the same elements. */
uint64_t access_hash(const access *x);
/* Equal for accesses of the same elements in the same order. */
uint64_t access_order_hash(const access *x);

#endif
