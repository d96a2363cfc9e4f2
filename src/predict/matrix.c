/* matrix.c: one kernel of 6 rows by 32 columns kept in registers, compiled for three widths of vectors; the processor says which. */
#include "predict/matrix.h"

#include <stdbool.h>
#include <string.h>

typedef float wide __attribute__((vector_size(64), aligned(4)));
enum { TILE_ROWS = 6, TILE_COLUMNS = 32 };
/* Sums stay in registers only if the loops over them are gone. */
#define UNROLL _Pragma("GCC unroll 6")

/* `rows` rows of a tile, a constant where it is called. Written once; the callers below are compiled for different processors and each
 * gets a copy of its own. */
static inline __attribute__((always_inline)) void tile(const matrix_product *m, size_t row, size_t column, int rows)
{
    wide sum[TILE_ROWS][2];
    float *c = m->c + row * m->c_row + column;
    UNROLL
    for (int i = 0; i < rows; i++) {
        memcpy(&sum[i][0], c + (size_t)i * m->c_row, sizeof(wide));
        memcpy(&sum[i][1], c + (size_t)i * m->c_row + 16, sizeof(wide));
    }
    const float *a = m->a + row * m->a_row, *b = m->b + column;
    for (size_t k = 0; k < m->depth; k++, a += m->a_step, b += m->b_row) {
        wide low, high;
        memcpy(&low, b, sizeof low);
        memcpy(&high, b + 16, sizeof high);
        UNROLL
        for (int i = 0; i < rows; i++) {
            float x = a[(size_t)i * m->a_row];
            sum[i][0] += x * low;
            sum[i][1] += x * high;
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        memcpy(c + (size_t)i * m->c_row, &sum[i][0], sizeof(wide));
        memcpy(c + (size_t)i * m->c_row + 16, &sum[i][1], sizeof(wide));
    }
}

static inline __attribute__((always_inline)) void last_tile(const matrix_product *m, size_t row, size_t column)
{
    switch (m->rows - row) {
    case 1:
        tile(m, row, column, 1);
        break;
    case 2:
        tile(m, row, column, 2);
        break;
    case 3:
        tile(m, row, column, 3);
        break;
    case 4:
        tile(m, row, column, 4);
        break;
    case 5:
        tile(m, row, column, 5);
        break;
    default:
        break;
    }
}

/* Columns that fill no tile: layers of the networks have none. */
static inline __attribute__((always_inline)) void last_columns(const matrix_product *m, size_t column)
{
    for (size_t row = 0; row < m->rows; row++) {
        float *c = m->c + row * m->c_row;
        const float *a = m->a + row * m->a_row;
        for (size_t k = 0; k < m->depth; k++)
            for (size_t j = column; j < m->columns; j++)
                c[j] += a[k * m->a_step] * m->b[k * m->b_row + j];
    }
}

static inline __attribute__((always_inline)) void multiply(const matrix_product *m)
{
    size_t rows = m->rows - m->rows % TILE_ROWS, columns = m->columns - m->columns % TILE_COLUMNS;
    for (size_t j = 0; j < columns; j += TILE_COLUMNS) {
        for (size_t i = 0; i < rows; i += TILE_ROWS)
            tile(m, i, j, TILE_ROWS);
        last_tile(m, rows, j);
    }
    if (columns < m->columns)
        last_columns(m, columns);
}

static inline __attribute__((always_inline)) void activate(const float *restrict sum, float *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float gate = sum[i] * (1.0F / 6) + 0.5F;
        gate = gate < 0 ? 0 : gate;
        gate = gate > 1 ? 1 : gate;
        out[i] = sum[i] * gate;
    }
}

/* In sixteen sums beside one another, which the compiler may not choose by itself. */
static inline __attribute__((always_inline)) void dots(const float *a, size_t rows, size_t row, const float *b,
                                                       float *out, size_t out_step)
{
    for (size_t i = 0; i < rows; i++) {
        wide sums = {0};
        for (size_t k = 0; k < row; k += 16) {
            wide x, y;
            memcpy(&x, a + i * row + k, sizeof x);
            memcpy(&y, b + k, sizeof y);
            sums += x * y;
        }
        float sum = 0;
        for (int k = 0; k < 16; k++)
            sum += sums[k];
        out[i * out_step] = sum;
    }
}

/* ---- one copy for each kind of processor --------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define TARGET_512 __attribute__((target("avx512f,avx512vl,avx512dq,fma")))
#define TARGET_256 __attribute__((target("avx2,fma")))

static TARGET_512 void multiply_512(const matrix_product *m)
{
    multiply(m);
}

static TARGET_256 void multiply_256(const matrix_product *m)
{
    multiply(m);
}

static TARGET_512 void activate_512(const float *sum, float *out, size_t count)
{
    activate(sum, out, count);
}

static TARGET_256 void activate_256(const float *sum, float *out, size_t count)
{
    activate(sum, out, count);
}

static TARGET_512 void dots_512(const float *a, size_t rows, size_t row, const float *b, float *out, size_t out_step)
{
    dots(a, rows, row, b, out, out_step);
}

static TARGET_256 void dots_256(const float *a, size_t rows, size_t row, const float *b, float *out, size_t out_step)
{
    dots(a, rows, row, b, out, out_step);
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

#define CHOOSE(name, ...)                                                                                              \
    (has_512() ? name##_512(__VA_ARGS__) : has_256() ? name##_256(__VA_ARGS__) : name(__VA_ARGS__))
#else
#define CHOOSE(name, ...) name(__VA_ARGS__)
#endif

void matrix_multiply_add(const matrix_product *m)
{
    CHOOSE(multiply, m);
}

void matrix_activate(const float *sum, float *out, size_t count)
{
    CHOOSE(activate, sum, out, count);
}

void matrix_dots(const float *a, size_t rows, size_t row, const float *b, float *out, size_t out_step)
{
    CHOOSE(dots, a, rows, row, b, out, out_step);
}
