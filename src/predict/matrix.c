/* matrix.c: one kernel of 6 rows by 32 columns kept in registers, compiled for three widths of vectors; the processor says which. */
#include "predict/matrix.h"

#include <string.h>

typedef float wide __attribute__((vector_size(64), aligned(4)));
enum { TILE_ROWS = 6, TILE_COLUMNS = 32 };
/* Sums stay in registers only if the loops over them are gone. */
#define UNROLL _Pragma("GCC unroll 6")

/* A full tile. Written once; the callers below are compiled for different processors and each gets a copy of its own. */
static inline __attribute__((always_inline)) void tile_full(const matrix_product *m, size_t row, size_t column)
{
    wide sum[TILE_ROWS][2];
    UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        memcpy(&sum[i][0], m->c + (row + (size_t)i) * m->c_row + column, sizeof(wide));
        memcpy(&sum[i][1], m->c + (row + (size_t)i) * m->c_row + column + 16, sizeof(wide));
    }
    const float *a = m->a + row * m->a_row, *b = m->b + column;
    for (size_t k = 0; k < m->depth; k++, a += m->a_step, b += m->b_row) {
        wide low, high;
        memcpy(&low, b, sizeof low);
        memcpy(&high, b + 16, sizeof high);
        UNROLL
        for (int i = 0; i < TILE_ROWS; i++) {
            float x = a[(size_t)i * m->a_row];
            sum[i][0] += x * low;
            sum[i][1] += x * high;
        }
    }
    UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        memcpy(m->c + (row + (size_t)i) * m->c_row + column, &sum[i][0], sizeof(wide));
        memcpy(m->c + (row + (size_t)i) * m->c_row + column + 16, &sum[i][1], sizeof(wide));
    }
}

/* What is left at the edges, row by row. */
static inline __attribute__((always_inline)) void tile_edge(const matrix_product *m, size_t row, size_t column,
                                                            size_t row_end, size_t column_end)
{
    for (; row < row_end; row++) {
        float *c = m->c + row * m->c_row;
        const float *a = m->a + row * m->a_row;
        for (size_t k = 0; k < m->depth; k++) {
            float x = a[k * m->a_step];
            const float *b = m->b + k * m->b_row;
            for (size_t j = column; j < column_end; j++)
                c[j] += x * b[j];
        }
    }
}

static inline __attribute__((always_inline)) void multiply(const matrix_product *m)
{
    size_t rows = m->rows - m->rows % TILE_ROWS, columns = m->columns - m->columns % TILE_COLUMNS;
    for (size_t j = 0; j < columns; j += TILE_COLUMNS)
        for (size_t i = 0; i < rows; i += TILE_ROWS)
            tile_full(m, i, j);
    tile_edge(m, 0, columns, rows, m->columns);
    tile_edge(m, rows, 0, m->rows, m->columns);
}

#if defined(__x86_64__)
static __attribute__((target("avx512f,avx512vl,avx512dq,fma"))) void multiply_512(const matrix_product *m)
{
    multiply(m);
}

static __attribute__((target("avx2,fma"))) void multiply_256(const matrix_product *m)
{
    multiply(m);
}
#endif

void matrix_multiply_add(const matrix_product *m)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        multiply_512(m);
        return;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        multiply_256(m);
        return;
    }
#endif
    multiply(m);
}
