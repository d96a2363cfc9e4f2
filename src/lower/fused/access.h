/* access.h: an access is the set of elements of a buffer that a nest of loops reads. A fusing compiler compares
 * accesses to decide whether two loops read the same elements in the same order. */
#ifndef SOOTH_LOWER_FUSED_ACCESS_H
#define SOOTH_LOWER_FUSED_ACCESS_H

#include "base/arena.h"
#include "lower/layout.h"

/* One loop of a nest; the outermost comes first. With stride 0 it reads the same element repeatedly. */
typedef struct piece {
    int64_t size, stride;
} piece;

typedef struct access {
    const piece *pieces;
    int16_t count;
    int16_t outer_count; /* Number of loops outside the reduction; equal to `count` without a reduction. */
    bool is_scattered;   /* Strides cannot describe which elements are read: sliding windows, padding, lookups. */
    bool is_gathered;    /* Scattered, and adjacent iterations may read distant memory. */
    bool is_narrow;      /* Scattered, but each element is read repeatedly, such as the statistics of a norm. */
    int32_t part;        /* Number of the slice, for slices of a buffer that have equal strides. */
} access;

enum { MAX_PIECES = 48 };

/* Builds an access. Merges adjacent loops and drops loops of size 1. */
access access_of(arena *a, const piece *pieces, int count);
/* Composes two accesses: the result reads the elements that `of` reads at positions `at`. */
access access_compose(arena *a, const access *at, const access *of);
/* Composes `of` with a single loop without storing the result. Returns the number of resulting loops, or -1 if strides
 * cannot describe them. Sets `*made_stride` to the stride of the first resulting loop. */
int access_along(const access *of, int64_t size, int64_t stride, int64_t *made_stride);
access access_scattered(arena *a, int64_t elements);
/* Appends the loops of a reduction (`inner`) to the loops around it (`outer`). */
access access_join(arena *a, const access *outer, const access *inner);
/* Reorders the loops of `x` to match `order`, which covers the same elements. Returns `x` unchanged if that is
 * impossible. */
access access_sorted(arena *a, const access *x, const access *order);

int64_t access_touched(const access *x);  /* Returns how many distinct elements are read. */
int64_t access_repeated(const access *x); /* Returns how often each element is read. */
/* True if the access reads every element of a dense buffer, in any order. */
bool access_covers(const access *x, int64_t elements);
/* True if elements are read in memory order. Repeated reads of one element are allowed. */
bool access_is_row(const access *x);
/* Two accesses to the same elements have equal hashes. */
uint64_t access_hash(const access *x);
/* Two accesses to the same elements in the same order have equal hashes. */
uint64_t access_order_hash(const access *x);

#endif
