/* matrix_test.c: matrix products for every vector width of this processor, against plain sums. Numbers are small
 * integers, so that every order of summation gives the same result. */
#include "predict/matrix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_ROWS = 13, MOST_COLUMNS = 75, MOST_DEPTH = 5, GAP = 3, WIDTHS = 3, DEPTHS = 3 };

static const int WIDTH[WIDTHS] = {4, 8, 16};
static const size_t DEPTH[DEPTHS] = {0, 1, 3};

typedef struct matrices {
    float a[(MOST_ROWS + GAP) * (MOST_DEPTH + GAP) * 4], b[2 * MOST_DEPTH * (MOST_COLUMNS + GAP)];
    float c[MOST_ROWS * (MOST_COLUMNS + GAP)], before[MOST_ROWS * (MOST_COLUMNS + GAP)], bias[MOST_COLUMNS];
} matrices;

static void fill(float *to, size_t count, int seed)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)((int)((i * 7 + (size_t)seed * 13) % 11) - 5);
}

static float expected(const matrix_product *m, const matrices *all, const uint16_t *picks, size_t i, size_t j)
{
    float sum = m->bias ? m->bias[j] : all->before[i * m->c_row + j];
    for (size_t n = 0; n < m->depth; n++) {
        size_t k = picks ? picks[n] : n;
        sum += m->a[i * m->a_row + k * m->a_step] * m->b[k * m->b_row + j];
    }
    return sum;
}

static void check_product(const matrix_kernels *kernels, matrix_product *m, matrices *all, const uint16_t *picks)
{
    memcpy(all->c, all->before, sizeof all->c);
    if (picks)
        kernels->multiply_picked(m, picks);
    else
        kernels->multiply_add(m);
    for (size_t i = 0; i < MOST_ROWS; i++)
        for (size_t j = 0; j < m->c_row; j++) {
            bool is_inside = i < m->rows && j < m->columns;
            float wanted = is_inside ? expected(m, all, picks, i, j) : all->before[i * m->c_row + j];
            if (all->c[i * m->c_row + j] != wanted)
                fail_msg("%zu x %zu x %zu%s%s: (%zu, %zu) is %g, not %g", m->rows, m->depth, m->columns,
                         m->bias ? ", bias" : "", picks ? ", picked" : "", i, j, (double)all->c[i * m->c_row + j],
                         (double)wanted);
        }
}

static matrices all;

/* Bit 0 of `how` adds a bias; bit 1 uses only some steps of the depth. */
static void check_shape(const matrix_kernels *kernels, size_t rows, size_t columns, size_t depth, int how)
{
    static const uint16_t PICKS[MOST_DEPTH] = {0, 2, 3, 7, 9};
    bool is_turned = (rows + columns) % 2; /* a is stored in column order */
    matrix_product m = {.rows = rows, .columns = columns, .depth = depth, .a = all.a, .b = all.b, .c = all.c};
    m.a_row = is_turned ? 1 : 2 * MOST_DEPTH;
    m.a_step = is_turned ? MOST_ROWS : 1;
    m.b_row = columns + GAP;
    m.c_row = columns + GAP;
    m.bias = how & 1 ? all.bias : NULL;
    check_product(kernels, &m, &all, how & 2 ? PICKS : NULL);
}

static void every_product(void **state)
{
    (void)state;
    fill(all.a, sizeof all.a / sizeof *all.a, 1);
    fill(all.b, sizeof all.b / sizeof *all.b, 2);
    fill(all.before, sizeof all.before / sizeof *all.before, 3);
    fill(all.bias, MOST_COLUMNS, 4);
    for (int w = 0; w < WIDTHS; w++) {
        const matrix_kernels *kernels = matrix_kernels_of(WIDTH[w]);
        for (size_t rows = 0; kernels && rows <= MOST_ROWS; rows++)
            for (size_t columns = 0; columns <= MOST_COLUMNS; columns++)
                for (int i = 0; i < DEPTHS * 4; i++)
                    check_shape(kernels, rows, columns, DEPTH[i / 4], i % 4);
    }
}

static void activations(void **state)
{
    (void)state;
    float sum[40], out[40];
    for (int i = 0; i < 40; i++)
        sum[i] = (float)(i - 20) * 0.5F;
    for (int w = 0; w < WIDTHS; w++)
        for (size_t count = 0; matrix_kernels_of(WIDTH[w]) && count < 40; count++) {
            for (int i = 0; i < 40; i++)
                out[i] = -1;
            matrix_kernels_of(WIDTH[w])->activate(sum, out, count);
            for (size_t i = 0; i < 40; i++) {
                float gate = fminf(fmaxf(sum[i] / 6 + 0.5F, 0), 1);
                assert_float_equal(out[i], i < count ? sum[i] * gate : -1, 1e-5);
            }
        }
}

static void sums_of_rows(void **state)
{
    (void)state;
    enum { ROW = 48, ROWS = 5, STEP = 2 };
    float a[ROWS * ROW], b[ROW], out[ROWS * STEP];
    fill(a, ROWS * ROW, 5);
    fill(b, ROW, 6);
    for (int w = 0; w < WIDTHS; w++)
        for (size_t row = 0; matrix_kernels_of(WIDTH[w]) && row <= ROW; row += 16) {
            memset(out, 0, sizeof out);
            matrix_kernels_of(WIDTH[w])->dots(a, ROWS, row, b, out, STEP);
            for (size_t i = 0; i < ROWS; i++) {
                float sum = 0;
                for (size_t k = 0; k < row; k++)
                    sum += a[i * row + k] * b[k];
                assert_float_equal(out[i * STEP], sum, 0);
                assert_float_equal(out[i * STEP + 1], 0, 0);
            }
        }
}

static void widths(void **state)
{
    (void)state;
    assert_non_null(matrix_kernels_of(4));
    assert_null(matrix_kernels_of(0));
    assert_null(matrix_kernels_of(32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_product),
        cmocka_unit_test(activations),
        cmocka_unit_test(sums_of_rows),
        cmocka_unit_test(widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
