/* num.h: whole numbers that may be symbolic.
 *
 * Dimensions and shape data are int64_t. A few values at the bottom of the range are not numbers: NUM_UNKNOWN, and
 * indices of polynomials over named symbols ("N", "4*N", "floor((height-1)/2)+1") in a num_table. Equal expressions
 * have equal indices, so == compares them. Arithmetic that overflows gives NUM_UNKNOWN. */
#ifndef SOOTH_GRAPH_NUM_H
#define SOOTH_GRAPH_NUM_H

#include "base/arena.h"

typedef int64_t num;

#define NUM_UNKNOWN INT64_MIN
enum { NUM_MAX_EXPRESSIONS = 1 << 20 };

static inline bool num_known(num a)
{
    return a > INT64_MIN + NUM_MAX_EXPRESSIONS;
}
static inline bool num_symbolic(num a)
{
    return !num_known(a) && a != NUM_UNKNOWN;
}
/* True for a plain number. */
static inline bool dim_known(num a)
{
    return a >= 0;
}

typedef struct num_expression num_expression;
typedef struct num_remembered num_remembered;
typedef struct num_table {
    arena *arena;
    struct {
        num_expression **items;
        int32_t count, capacity;
    } expressions;
    int32_t *buckets; /* Hash of the text → expression + 1. */
    int32_t bucket_count;
    num_remembered *remembered; /* Cache of symbolic operations, indexed by hash; NULL before the first. */
    int32_t remembered_count;
    int32_t remembered_new; /* Entries added since the cache last grew. */
} num_table;

void num_table_init(num_table *t, arena *a);
num num_symbol(num_table *t, str name);
/* Canonical text, NUL-terminated; NULL for NUM_UNKNOWN and for plain numbers. */
const char *num_text(const num_table *t, num a);

/* Nearly all numbers are plain; these are added and multiplied inline. */
num num_add_symbolic(num_table *t, num a, num b);
num num_mul_symbolic(num_table *t, num a, num b);

static inline num num_add(num_table *t, num a, num b)
{
    int64_t sum;
    if (!num_known(a) || !num_known(b))
        return num_add_symbolic(t, a, b);
    return __builtin_add_overflow(a, b, &sum) || !num_known(sum) ? NUM_UNKNOWN : sum;
}

static inline num num_mul(num_table *t, num a, num b)
{
    int64_t product;
    if (!num_known(a) || !num_known(b))
        return num_mul_symbolic(t, a, b);
    return __builtin_mul_overflow(a, b, &product) || !num_known(product) ? NUM_UNKNOWN : product;
}

static inline num num_sub(num_table *t, num a, num b)
{
    return num_add(t, a, num_mul(t, b, -1));
}

num num_floordiv(num_table *t, num a, num b); /* NUM_UNKNOWN if b is 0. */
num num_ceildiv(num_table *t, num a, num b);
num num_mod(num_table *t, num a, num b); /* Has the sign of the divisor, as in Python. */
num num_min(num_table *t, num a, num b);
num num_max(num_table *t, num a, num b);

/* Sum of many numbers without interning the partial sums. The result equals repeated num_add. */
typedef struct num_sum num_sum;
num_sum *num_sum_begin(num_table *t); /* Starts at 0; lives as long as the table. */
void num_sum_add(num_table *t, num_sum *sum, num x);
num num_sum_end(num_table *t, const num_sum *sum);

/* Product of all numbers; 1 if there are none. Multiplies plain numbers first, which leaves a single symbolic
 * product for most shapes. */
static inline num num_product(num_table *t, const num *items, int count)
{
    num plain = 1, open = 1;
    for (int i = 0; i < count; i++)
        if (num_known(items[i]))
            plain = num_mul(t, plain, items[i]);
        else
            open = open == 1 ? items[i] : num_mul(t, open, items[i]);
    return open == 1 ? plain : num_mul(t, plain, open);
}

#endif
