/* access.h: which elements of a buffer a loop reads, as a row of loops with strides: what a fusing compiler compares
 * to see whether two loops touch the same elements in the same order. */
#ifndef SOOTH_LOWER_FUSED_ACCESS_H
#define SOOTH_LOWER_FUSED_ACCESS_H

#include "base/arena.h"
#include "lower/layout.h"

/* One loop, slowest first; 0 is the stride of a loop that does not move. */
typedef struct piece {
    int64_t size, stride;
} piece;

typedef struct access {
    const piece *pieces;
    int16_t count;
    int16_t outer_count; /* those before the loops of a reduction; all of them if there is none */
    bool is_scattered;   /* windows, borders, lookups: the elements are not told by strides */
    bool is_gathered;    /* of those: neighbours in the loop need not be neighbours in memory */
    bool is_narrow;      /* of those: what is read there is read again and again, such as the numbers of a norm */
    int32_t part;        /* reads of different slices with equal strides differ in this */
} access;

enum { MAX_PIECES = 48 };

/* Neighbouring loops that are one are merged, those of size 1 left out. */
access access_of(arena *a, const piece *pieces, int count);
/* What is read at the addresses of `at` of something that reads `of` in the order of its addresses. */
access access_compose(arena *a, const access *at, const access *of);
/* The same for one loop, without keeping it: how many loops it becomes, -1 if strides do not tell. `made_stride` is that of the first. */
int access_along(const access *of, int64_t size, int64_t stride, int64_t *made_stride);
access access_scattered(arena *a, int64_t elements);
/* Loops of a followed by loops of b, those of a reduction. */
access access_join(arena *a, const access *outer, const access *inner);
/* The loops of `x` in the order in which `order`, over the same elements, falls; itself if loops cannot be matched. */
access access_sorted(arena *a, const access *x, const access *order);

int64_t access_touched(const access *x);  /* elements; each once */
int64_t access_repeated(const access *x); /* how often each of them is read */
/* Each of the elements of a dense buffer, in whatever order. */
bool access_covers(const access *x, int64_t elements);
/* One element after the other, each as often as it is wanted. */
bool access_is_row(const access *x);
/* Equal for accesses of the same elements. */
uint64_t access_hash(const access *x);
/* Equal for accesses of the same elements in the same order. */
uint64_t access_order_hash(const access *x);

#endif
