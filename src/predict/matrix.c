/* matrix.c: one kernel of 6 rows by 32 or 16 columns kept in registers, compiled for three widths of vectors; the processor says
 * which. */
#include "predict/matrix.h"

#include <stdbool.h>
#include <string.h>

typedef float wide __attribute__((vector_size(64), aligned(4)));
enum { TILE_ROWS = 6, MAX_WIDES = 4, WIDE = 16 };
/* Sums stay in registers only if the loops over them are gone. */
#define UNROLL _Pragma("GCC unroll 6")

/* A tile of so many rows and `wides` vectors, constants where it is called. Written once; the callers below are compiled for different processors and each
 * gets a copy of its own. */
static inline __attribute__((always_inline)) void tile(const matrix_product *m, size_t row, size_t column, int rows,
                                                       int wides)
{
    wide sum[TILE_ROWS][MAX_WIDES];
    float *c = m->c + row * m->c_row + column;
    const float *begin = m->bias ? m->bias + column : c;
    size_t begin_row = m->bias ? 0 : m->c_row;
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < wides; j++)
            memcpy(&sum[i][j], begin + (size_t)i * begin_row + (size_t)WIDE * (size_t)j, sizeof(wide));
    }
    const float *a = m->a + row * m->a_row, *b = m->b + column;
    for (size_t k = 0; k < m->depth; k++, a += m->a_step, b += m->b_row) {
        wide of_b[MAX_WIDES];
        UNROLL
        for (int j = 0; j < wides; j++)
            memcpy(&of_b[j], b + (size_t)WIDE * (size_t)j, sizeof(wide));
        UNROLL
        for (int i = 0; i < rows; i++) {
            float x = a[(size_t)i * m->a_row];
            UNROLL
            for (int j = 0; j < wides; j++)
                sum[i][j] += x * of_b[j];
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < wides; j++)
            memcpy(c + (size_t)i * m->c_row + (size_t)WIDE * (size_t)j, &sum[i][j], sizeof(wide));
    }
}

static inline __attribute__((always_inline)) void few_rows(const matrix_product *m, size_t row, size_t column,
                                                           int wides)
{
    switch (m->rows - row) {
    case 1:
        tile(m, row, column, 1, wides);
        break;
    case 2:
        tile(m, row, column, 2, wides);
        break;
    default:
        tile(m, row, column, 3, wides);
        break;
    }
}

static inline __attribute__((always_inline)) void last_tile(const matrix_product *m, size_t row, size_t column,
                                                            int wides)
{
    switch (m->rows - row) {
    case 4:
        tile(m, row, column, 4, wides);
        break;
    case 5:
        tile(m, row, column, 5, wides);
        break;
    default:
        few_rows(m, row, column, wides);
        break;
    }
}

/* The rows that fill no tile. With few of them sums would wait for one another: they take twice as many columns at once. */
static inline __attribute__((always_inline)) void last_rows(const matrix_product *m, size_t row, size_t columns,
                                                            int wides)
{
    size_t column = 0, step = WIDE * (size_t)wides;
    if (m->rows - row <= TILE_ROWS / 2)
        for (; column + 2 * step <= columns; column += 2 * step)
            few_rows(m, row, column, 2 * wides);
    for (; column < columns; column += step)
        last_tile(m, row, column, wides);
}

/* Columns that fill no tile: layers of the networks have none. */
static inline __attribute__((always_inline)) void last_columns(const matrix_product *m, size_t column)
{
    for (size_t row = 0; row < m->rows; row++) {
        float *c = m->c + row * m->c_row;
        const float *a = m->a + row * m->a_row;
        for (size_t j = column; j < m->columns && m->bias; j++)
            c[j] = m->bias[j];
        for (size_t k = 0; k < m->depth; k++)
            for (size_t j = column; j < m->columns; j++)
                c[j] += a[k * m->a_step] * m->b[k * m->b_row + j];
    }
}

static inline __attribute__((always_inline)) void multiply_by(const matrix_product *m, int wides)
{
    size_t step = WIDE * (size_t)wides;
    size_t rows = m->rows - m->rows % TILE_ROWS, columns = m->columns - m->columns % step;
    for (size_t j = 0; j < columns; j += step)
        for (size_t i = 0; i < rows; i += TILE_ROWS)
            tile(m, i, j, TILE_ROWS, wides);
    if (rows < m->rows)
        last_rows(m, rows, columns, wides);
    if (columns < m->columns)
        last_columns(m, columns);
}

static void multiply(const matrix_product *m)
{
    multiply_by(m, 1);
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
    multiply_by(m, 2);
}

static TARGET_256 void multiply_256(const matrix_product *m)
{
    multiply_by(m, 1);
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
