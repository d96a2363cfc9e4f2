/* layout.c: computes strides: contiguous, channels last, of views, and of outputs of pointwise operators. */
#include "lower/layout.h"

#include <assert.h>

int64_t extent_elements(const extent *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n = mul_wrapping(n, x->dims[i]);
    return n;
}

/* Sets dense strides; `order` lists the dimensions, fastest first. */
static void order_strides(extent *x, const int *order)
{
    int64_t step = 1;
    for (int i = 0; i < x->rank; i++) {
        x->strides[order[i]] = step;
        step = mul_wrapping(step, x->dims[order[i]] > 1 ? x->dims[order[i]] : 1);
    }
}

void extent_contiguous(extent *x)
{
    int64_t step = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        x->strides[i] = step;
        step = mul_wrapping(step, x->dims[i] > 1 ? x->dims[i] : 1);
    }
}

void extent_channels_last(extent *x)
{
    if (x->rank == 4)
        order_strides(x, (const int[]){1, 3, 2, 0});
    else
        extent_contiguous(x);
}

static bool is_packed_in_order(const extent *x, const int *order)
{
    int64_t step = 1;
    for (int i = 0; i < x->rank; i++) {
        int64_t size = x->dims[order[i]];
        if (size == 0)
            return true;
        if (size != 1 && x->strides[order[i]] != step)
            return false;
        step = mul_wrapping(step, size);
    }
    return true;
}

bool extent_is_contiguous(const extent *x)
{
    int64_t step = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        if (x->dims[i] == 0)
            return true;
        if (x->dims[i] != 1 && x->strides[i] != step)
            return false;
        step = mul_wrapping(step, x->dims[i]);
    }
    return true;
}

bool extent_is_channels_last(const extent *x)
{
    return x->rank == 4 && is_packed_in_order(x, (const int[]){1, 3, 2, 0});
}

bool extent_suggests_channels_last(const extent *x)
{
    static const int ORDER[] = {1, 3, 2, 0};
    if (x->rank != 4 || x->strides[1] == 0)
        return false;
    int64_t least = 0;
    for (int i = 0; i < 4; i++) {
        int d = ORDER[i];
        if (x->dims[d] == 0 || x->strides[d] < least)
            return false;
        /* Shapes such as (N,1,1,1) are both contiguous and channels last; contiguous wins. */
        if (d == 0 && least == x->strides[1])
            return false;
        least = x->strides[d];
        if (x->dims[d] > 1)
            least = mul_wrapping(least, x->dims[d]);
    }
    return true;
}

/* Sorts the dimensions by stride, smallest first. Among equal strides, later dimensions come first. */
static void sort_by_stride(const extent *x, int *order)
{
    for (int i = 0; i < x->rank; i++) {
        int d = x->rank - 1 - i, at = i;
        while (at > 0 && x->strides[order[at - 1]] > x->strides[d]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = d;
    }
}

bool extent_is_dense(const extent *x)
{
    if (extent_is_contiguous(x) || extent_is_channels_last(x))
        return true;
    extent real = {0}; /* Without dimensions of size 1. */
    for (int i = 0; i < x->rank; i++)
        if (x->dims[i] != 1) {
            real.dims[real.rank] = x->dims[i];
            real.strides[real.rank++] = x->strides[i];
        }
    int order[MAX_PLACED_RANK];
    sort_by_stride(&real, order);
    return is_packed_in_order(&real, order);
}

void extent_heads_last(extent *x)
{
    extent turned = {.rank = 4, .dims = {x->dims[0], x->dims[2], x->dims[1], x->dims[3]}};
    extent_contiguous(&turned);
    memcpy(x->strides, (int64_t[4]){turned.strides[0], turned.strides[2], turned.strides[1], turned.strides[3]},
           4 * sizeof *x->strides);
}

void extent_preserve(extent *x, const extent *like)
{
    assert(x->rank == like->rank);
    if (extent_is_dense(like)) {
        memcpy(x->strides, like->strides, sizeof x->strides);
        return;
    }
    extent_pointwise(x, like, 1);
}

bool extent_view(const extent *x, extent *result)
{
    if (extent_elements(x) == 0) {
        extent_contiguous(result);
        return true;
    }
    if (x->rank == 0) {
        for (int i = 0; i < result->rank; i++)
            result->strides[i] = 1;
        return true;
    }
    /* A view is possible if the new dimensions exactly fill runs of contiguous old dimensions. */
    int to = result->rank - 1;
    int64_t base = x->strides[x->rank - 1], old_size = 1, new_size = 1;
    for (int from = x->rank - 1; from >= 0; from--) {
        old_size = mul_wrapping(old_size, x->dims[from]);
        if (from > 0 && (x->dims[from - 1] == 1 || x->strides[from - 1] == mul_wrapping(old_size, base)))
            continue;
        while (to >= 0 && (new_size < old_size || result->dims[to] == 1)) {
            result->strides[to] = mul_wrapping(new_size, base);
            new_size = mul_wrapping(new_size, result->dims[to--]);
        }
        if (new_size != old_size)
            return false;
        if (from > 0) {
            base = x->strides[from - 1];
            old_size = new_size = 1;
        }
    }
    return to == -1;
}

/* ---- pointwise --------------------------------------------------------------------------------------------------- */

static int64_t broadcast_stride(const extent *operand, const extent *result, int d)
{
    int own = d - (result->rank - operand->rank);
    return own < 0 || (operand->dims[own] == 1 && result->dims[d] != 1) ? 0 : operand->strides[own];
}

/* Compares the strides of dimensions a and b over all operands: -1 if a is the inner one, 1 if it is the outer one,
 * 0 if undetermined. */
static int compare_dimensions(const extent *result, const extent *operands, int count, int a, int b)
{
    for (int i = 0; i < count; i++) {
        int64_t step_a = broadcast_stride(&operands[i], result, a), step_b = broadcast_stride(&operands[i], result, b);
        if (step_a == 0 || step_b == 0)
            continue;
        if (step_a != step_b)
            return step_a < step_b ? -1 : 1;
        if (result->dims[a] > result->dims[b])
            return 1;
    }
    return 0;
}

static bool all_alike(const extent *result, const extent *operands, int count)
{
    for (int i = 0; i < count; i++)
        if (operands[i].rank != result->rank ||
            memcmp(operands[i].dims, result->dims, (size_t)result->rank * sizeof *result->dims) != 0)
            return false;
    return true;
}

static bool all_are(bool (*is_so)(const extent *x), const extent *operands, int count)
{
    for (int i = 0; i < count; i++)
        if (!is_so(&operands[i]))
            return false;
    return true;
}

static bool fast_path(extent *result, const extent *operands, int count)
{
    if (count == 0 || !all_alike(result, operands, count))
        return false;
    if (all_are(extent_is_contiguous, operands, count)) {
        extent_contiguous(result);
        return true;
    }
    if (all_are(extent_is_channels_last, operands, count)) {
        extent_channels_last(result);
        return true;
    }
    for (int i = 1; i < count; i++)
        if (memcmp(operands[i].strides, operands[0].strides, (size_t)result->rank * sizeof(int64_t)) != 0)
            return false;
    if (!all_are(extent_is_dense, operands, count))
        return false;
    memcpy(result->strides, operands[0].strides, sizeof result->strides);
    return true;
}

void extent_pointwise(extent *result, const extent *operands, int count)
{
    if (fast_path(result, operands, count))
        return;
    int order[MAX_PLACED_RANK];
    for (int i = 0; i < result->rank; i++)
        order[i] = result->rank - 1 - i;
    /* Insertion sort; skips undetermined pairs. */
    for (int i = 1; i < result->rank; i++) {
        int at = i;
        for (int before = i - 1; before >= 0; before--) {
            int c = compare_dimensions(result, operands, count, order[before], order[at]);
            if (c < 0)
                break;
            if (c > 0) {
                int swapped = order[before];
                order[before] = order[at];
                order[at] = swapped;
                at = before;
            }
        }
    }
    order_strides(result, order);
}

int64_t layout_picked_bytes(const char *op, int64_t all, int64_t output, int64_t indices)
{
    static const char *const ROWS[] = {"index", "embedding", "gather"};
    /* Compares the first letter before calling strcmp(), because most names differ there. */
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (op[0] == ROWS[i][0] && strcmp(op, ROWS[i]) == 0)
            return all < output ? all : output;
    static const char *const LOSSES[] = {"nll_loss_forward", "nll_loss2d_forward", "nll_loss_backward",
                                         "nll_loss2d_backward"};
    for (size_t i = 0; op[0] == 'n' && i < sizeof LOSSES / sizeof *LOSSES; i++)
        if (strcmp(op, LOSSES[i]) == 0)
            return indices < all ? indices : all;
    return all;
}
