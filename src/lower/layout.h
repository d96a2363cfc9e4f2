/* layout.h: memory layout of strided tensors by PyTorch's rules: pure functions of dimensions and strides. */
#ifndef SOOTH_LOWER_LAYOUT_H
#define SOOTH_LOWER_LAYOUT_H

#include "lower/lower.h"

/* Most dimensions; more than PyTorch's kernels support are refused. */
enum { MAX_PLACED_RANK = 16 };

typedef struct extent {
    int rank;
    int64_t dims[MAX_PLACED_RANK];
    int64_t strides[MAX_PLACED_RANK];
} extent;

/* Numbers of a damaged network may be anything: overflow wraps, and is refused when a tensor is made. */
static inline int64_t mul_wrapping(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Saturating sum of FLOPs or bytes, which are not negative. */
static inline int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Leaves everything beyond the rank uninitialized, for speed: nothing reads it. */
static inline void extent_read(extent *x, const placed_tensor *t)
{
    x->rank = t->rank;
    for (int i = 0; i < t->rank; i++) {
        x->dims[i] = t->dims[i];
        x->strides[i] = t->strides[i];
    }
}

static inline extent extent_of(const placed_tensor *t)
{
    extent x;
    extent_read(&x, t);
    return x;
}

/* Product of the dimensions; the caller has checked that it fits. */
int64_t extent_elements(const extent *x);

void extent_contiguous(extent *x);    /* sets the strides */
void extent_channels_last(extent *x); /* rank 4; others become contiguous */
/* (N, heads, L, E) with the layout of (N, L, heads, E), as memory-efficient attention writes it. */
void extent_heads_last(extent *x);
/* Dense, with strides descending as those of `like` (same rank): PyTorch's preserve_format. */
void extent_preserve(extent *x, const extent *like);

bool extent_is_contiguous(const extent *x);
bool extent_is_channels_last(const extent *x); /* rank 4 */
/* suggest_memory_format: also considers strides of dimensions of size 1. */
bool extent_suggests_channels_last(const extent *x);
bool extent_is_dense(const extent *x); /* no holes, no overlap */

/* Strides of the same memory under other dimensions; false if it must be copied. */
bool extent_view(const extent *x, extent *result);

/* Strides of the output of a pointwise operator: the dimension order of its operands (all broadcast to
 * result->dims). */
void extent_pointwise(extent *result, const extent *operands, int count);

/* Bytes that a kernel reads of an input of `all` bytes: all, except for lookups of rows or of each label's probability.
 * `indices`: bytes of the last input. */
int64_t layout_picked_bytes(const char *op, int64_t all, int64_t output, int64_t indices);

#endif
