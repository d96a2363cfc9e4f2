/* matrix.c: one matrix kernel of 6 rows by two vectors in registers, compiled for three vector widths and chosen at run
 * time. */
#include "predict/matrix.h"

#include <stdbool.h>
#include <string.h>

enum { TILE_ROWS = 6, SUMS = 16 };
/* Unrolled, so that sums stay in registers. */
#define UNROLL _Pragma("GCC unroll 6")

#define WIDE 4
#define WIDES 2
#define NAME(name) name##_4
#include "predict/matrix_kernels.h"

static void multiply(const matrix_product *m)
{
    multiply_by_4(m);
}

static void multiply_picked(const matrix_product *m, const uint16_t *picks)
{
    multiply_picked_by_4(m, picks);
}

static void activate(const float *sum, float *out, size_t count)
{
    activate_by_4(sum, out, count);
}

static void dots(const float *a, size_t rows, size_t row, const float *b, float *out, size_t out_step)
{
    dots_by_4(a, rows, row, b, out, out_step);
}

/* ---- one copy for each kind of processor ------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define WIDE 8
#define WIDES 2
#define NAME(name) name##_8
#include "predict/matrix_kernels.h"

#define WIDE 16
#define WIDES 2
#define NAME(name) name##_16
#include "predict/matrix_kernels.h"

#define TARGET_512 __attribute__((target("avx512f,avx512vl,avx512dq,fma")))
#define TARGET_256 __attribute__((target("avx2,fma")))

static TARGET_512 void multiply_512(const matrix_product *m)
{
    multiply_by_16(m);
}

static TARGET_256 void multiply_256(const matrix_product *m)
{
    multiply_by_8(m);
}

static TARGET_512 void multiply_picked_512(const matrix_product *m, const uint16_t *picks)
{
    multiply_picked_by_16(m, picks);
}

static TARGET_256 void multiply_picked_256(const matrix_product *m, const uint16_t *picks)
{
    multiply_picked_by_8(m, picks);
}

static TARGET_512 void activate_512(const float *sum, float *out, size_t count)
{
    activate_by_16(sum, out, count);
}

static TARGET_256 void activate_256(const float *sum, float *out, size_t count)
{
    activate_by_8(sum, out, count);
}

static TARGET_512 void dots_512(const float *a, size_t rows, size_t row, const float *b, float *out, size_t out_step)
{
    dots_by_16(a, rows, row, b, out, out_step);
}

static TARGET_256 void dots_256(const float *a, size_t rows, size_t row, const float *b, float *out, size_t out_step)
{
    dots_by_8(a, rows, row, b, out, out_step);
}

static bool has_512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
}

static bool has_256(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static const matrix_kernels OF_16 = {multiply_512, multiply_picked_512, activate_512, dots_512};
static const matrix_kernels OF_8 = {multiply_256, multiply_picked_256, activate_256, dots_256};
#endif

static const matrix_kernels OF_4 = {multiply, multiply_picked, activate, dots};

const matrix_kernels *matrix_kernels_of(int width)
{
#if defined(__x86_64__)
    if (width == 16)
        return has_512() ? &OF_16 : NULL;
    if (width == 8)
        return has_256() ? &OF_8 : NULL;
#endif
    return width == 4 ? &OF_4 : NULL;
}

static const matrix_kernels *widest(void)
{
    const matrix_kernels *kernels = NULL;
    for (int width = 16; !kernels; width /= 2)
        kernels = matrix_kernels_of(width);
    return kernels;
}

void matrix_multiply_add(const matrix_product *m)
{
    widest()->multiply_add(m);
}

void matrix_multiply_picked(const matrix_product *m, const uint16_t *picks)
{
    widest()->multiply_picked(m, picks);
}

void matrix_activate(const float *sum, float *out, size_t count)
{
    widest()->activate(sum, out, count);
}

void matrix_dots(const float *a, size_t rows, size_t row, const float *b, float *out, size_t out_step)
{
    widest()->dots(a, rows, row, b, out, out_step);
}
