/* layout.h: memory layout of strided tensors by PyTorch's rules. All functions are pure. */
#ifndef SOOTH_LOWER_LAYOUT_H
#define SOOTH_LOWER_LAYOUT_H

#include "lower/lower.h"

/* Largest rank. Tensors of higher rank are refused, as PyTorch's kernels do. */
enum { MAX_PLACED_RANK = 16 };

typedef struct extent {
    int rank;
    int64_t dims[MAX_PLACED_RANK];
    int64_t strides[MAX_PLACED_RANK];
} extent;

/* Multiplies with wrapping overflow, because a damaged network may contain any number. Creating a tensor checks the
 * size. */
static inline int64_t mul_wrapping(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Adds two non-negative counts of FLOPs or bytes; saturates on overflow. */
static inline int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Dimensions beyond the rank stay uninitialized, for speed. */
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

/* Returns the product of the dimensions. The caller has checked that it fits. */
int64_t extent_elements(const extent *x);

void extent_contiguous(extent *x);    /* Sets contiguous strides. */
void extent_channels_last(extent *x); /* For rank 4; other ranks become contiguous. */
/* Sets strides of (N, heads, L, E) stored as (N, L, heads, E), the output layout of memory-efficient attention. */
void extent_heads_last(extent *x);
/* Sets dense strides in the stride order of `like` (same rank), as PyTorch's preserve_format does. */
void extent_preserve(extent *x, const extent *like);

bool extent_is_contiguous(const extent *x);
bool extent_is_channels_last(const extent *x); /* For rank 4. */
/* PyTorch's suggest_memory_format(): it also considers strides of dimensions of size 1. */
bool extent_suggests_channels_last(const extent *x);
bool extent_is_dense(const extent *x); /* True if there are no holes and no overlap. */

/* Computes the strides of a view with other dimensions. Returns false if the tensor must be copied. */
bool extent_view(const extent *x, extent *result);

/* Sets the strides of a pointwise operator's output: the dimension order of its operands, all broadcast to
 * result->dims. */
void extent_pointwise(extent *result, const extent *operands, int count);

/* Returns the bytes that a kernel reads of an input of `all` bytes; lookups read only the selected rows. `indices`:
 * bytes of the last input. */
int64_t layout_picked_bytes(const char *op, int64_t all, int64_t output, int64_t indices);

#endif
