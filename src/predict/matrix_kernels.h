/* matrix_kernels.h: the inner loops of matrix.c for any vector width. matrix.c includes it once per width and defines
 * WIDE (floats per vector), WIDES (vectors per tile) and NAME(), so that a vector is one register. Compilers split
 * wider vectors and spill them to memory. */
typedef float NAME(wide) __attribute__((vector_size(4 * WIDE), aligned(4)));
typedef int32_t NAME(mask) __attribute__((vector_size(4 * WIDE), aligned(4)));

/* WebAssembly has no fused multiplication and addition. In doubles the product is exact, so that the page has the
 * numbers of the program. */
#ifdef __wasm__
typedef double NAME(doubles) __attribute__((vector_size(8 * WIDE)));
#define TO_DOUBLES(v) __builtin_convertvector((v), NAME(doubles))
#define ADD_PRODUCT(sum, a, b) __builtin_convertvector(TO_DOUBLES(sum) + TO_DOUBLES(a) * TO_DOUBLES(b), NAME(wide))
#define ADD_PRODUCT_1(sum, a, b) (float)((double)(sum) + (double)(a) * (double)(b))
#else
#define ADD_PRODUCT(sum, a, b) (sum) + (a) * (b)
#define ADD_PRODUCT_1(sum, a, b) (sum) + (a) * (b)
#endif

/* Computes a tile of this many rows and `wides` vectors; both are constants at the call. Each caller is compiled for
 * another processor and inlines its own copy. */
static inline __attribute__((always_inline)) void NAME(tile)(const matrix_product *m, size_t row, size_t column,
                                                             int rows, int wides, bool picked, const uint16_t *picks)
{
    NAME(wide) sum[TILE_ROWS][2 * WIDES];
    float *c = m->c + row * m->c_row + column;
    const float *begin = m->bias ? m->bias + column : c;
    size_t begin_row = m->bias ? 0 : m->c_row;
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < wides; j++)
            memcpy(&sum[i][j], begin + (size_t)i * begin_row + (size_t)WIDE * (size_t)j, sizeof(NAME(wide)));
    }
    const float *all_a = m->a + row * m->a_row, *all_b = m->b + column, *a = all_a, *b = all_b;
    for (size_t k = 0; k < m->depth; k++, a += m->a_step, b += m->b_row) {
        if (picked) {
            a = all_a + picks[k] * m->a_step;
            b = all_b + picks[k] * m->b_row;
        }
        NAME(wide) of_b[2 * WIDES];
        UNROLL
        for (int j = 0; j < wides; j++)
            memcpy(&of_b[j], b + (size_t)WIDE * (size_t)j, sizeof(NAME(wide)));
        UNROLL
        for (int i = 0; i < rows; i++) {
            NAME(wide) x = a[(size_t)i * m->a_row] - (NAME(wide)){0};
            UNROLL
            for (int j = 0; j < wides; j++)
                sum[i][j] = ADD_PRODUCT(sum[i][j], x, of_b[j]);
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < wides; j++)
            memcpy(c + (size_t)i * m->c_row + (size_t)WIDE * (size_t)j, &sum[i][j], sizeof(NAME(wide)));
    }
}

static inline __attribute__((always_inline)) void NAME(few_rows)(const matrix_product *m, size_t row, size_t column,
                                                                 int wides, bool picked, const uint16_t *picks)
{
    switch (m->rows - row) {
    case 1:
        NAME(tile)(m, row, column, 1, wides, picked, picks);
        break;
    case 2:
        NAME(tile)(m, row, column, 2, wides, picked, picks);
        break;
    default:
        NAME(tile)(m, row, column, 3, wides, picked, picks);
        break;
    }
}

static inline __attribute__((always_inline)) void NAME(last_tile)(const matrix_product *m, size_t row, size_t column,
                                                                  bool picked, const uint16_t *picks)
{
    switch (m->rows - row) {
    case 4:
        NAME(tile)(m, row, column, 4, WIDES, picked, picks);
        break;
    case 5:
        NAME(tile)(m, row, column, 5, WIDES, picked, picks);
        break;
    default:
        NAME(few_rows)(m, row, column, WIDES, picked, picks);
        break;
    }
}

/* Computes the remaining rows. With few rows, each sum would wait for the previous one, so a tile has twice as many
 * columns. */
static inline __attribute__((always_inline)) void NAME(last_rows)(const matrix_product *m, size_t row, size_t columns,
                                                                  bool picked, const uint16_t *picks)
{
    size_t column = 0, step = (size_t)WIDE * WIDES;
    if (m->rows - row <= TILE_ROWS / 2)
        for (; column + 2 * step <= columns; column += 2 * step)
            NAME(few_rows)(m, row, column, 2 * WIDES, picked, picks);
    for (; column < columns; column += step)
        NAME(last_tile)(m, row, column, picked, picks);
}

/* Computes the remaining columns. The networks' layers need none of this. */
static inline __attribute__((always_inline)) void NAME(last_columns)(const matrix_product *m, size_t column,
                                                                     const uint16_t *picks)
{
    for (size_t row = 0; row < m->rows; row++) {
        float *c = m->c + row * m->c_row;
        const float *a = m->a + row * m->a_row;
        for (size_t j = column; j < m->columns && m->bias; j++)
            c[j] = m->bias[j];
        for (size_t i = 0; i < m->depth; i++) {
            size_t k = picks ? picks[i] : i;
            for (size_t j = column; j < m->columns; j++)
                c[j] = ADD_PRODUCT_1(c[j], a[k * m->a_step], m->b[k * m->b_row + j]);
        }
    }
}

static inline __attribute__((always_inline)) void NAME(multiply_tiles)(const matrix_product *m, bool picked,
                                                                       const uint16_t *picks)
{
    size_t step = (size_t)WIDE * WIDES;
    size_t rows = m->rows - m->rows % TILE_ROWS, columns = m->columns - m->columns % step;
    for (size_t j = 0; j < columns; j += step)
        for (size_t i = 0; i < rows; i += TILE_ROWS)
            NAME(tile)(m, i, j, TILE_ROWS, WIDES, picked, picks);
    if (rows < m->rows)
        NAME(last_rows)(m, rows, columns, picked, picks);
    if (columns < m->columns)
        NAME(last_columns)(m, columns, picks);
}

static inline __attribute__((always_inline)) void NAME(multiply_by)(const matrix_product *m)
{
    NAME(multiply_tiles)(m, false, NULL);
}

static inline __attribute__((always_inline)) void NAME(multiply_picked_by)(const matrix_product *m,
                                                                           const uint16_t *picks)
{
    NAME(multiply_tiles)(m, true, picks);
}

static inline __attribute__((always_inline)) void NAME(activate_by)(const float *restrict sum, float *restrict out,
                                                                    size_t count)
{
    size_t i = 0;
    for (; i + WIDE <= count; i += WIDE) {
        NAME(wide) x, gate;
        memcpy(&x, sum + i, sizeof x);
        gate = ADD_PRODUCT((NAME(wide)){0} + 0.5F, x, (NAME(wide)){0} + 1.0F / 6);
        gate = (NAME(wide))((NAME(mask))gate & ~(gate < 0));
        NAME(mask) above = gate > 1;
        NAME(wide) one = gate * 0 + 1;
        gate = (NAME(wide))(((NAME(mask))gate & ~above) | ((NAME(mask))one & above));
        x *= gate;
        memcpy(out + i, &x, sizeof x);
    }
    for (; i < count; i++) {
        float gate = ADD_PRODUCT_1(0.5F, sum[i], 1.0F / 6);
        gate = gate < 0 ? 0 : gate;
        gate = gate > 1 ? 1 : gate;
        out[i] = sum[i] * gate;
    }
}

/* Sixteen independent sums; the compiler may not reorder sums itself. */
static inline __attribute__((always_inline)) void NAME(dots_by)(const float *a, size_t rows, size_t row, const float *b,
                                                                float *out, size_t out_step)
{
    for (size_t i = 0; i < rows; i++) {
        NAME(wide) sums[SUMS / WIDE];
        memset(sums, 0, sizeof sums);
        for (size_t k = 0; k < row; k += SUMS) {
            UNROLL
            for (int j = 0; j < SUMS / WIDE; j++) {
                NAME(wide) x, y;
                memcpy(&x, a + i * row + k + (size_t)(WIDE * j), sizeof x);
                memcpy(&y, b + k + (size_t)(WIDE * j), sizeof y);
                sums[j] = ADD_PRODUCT(sums[j], x, y);
            }
        }
        float sum = 0;
        for (int k = 0; k < SUMS; k++)
            sum += sums[k / WIDE][k % WIDE];
        out[i * out_step] = sum;
    }
}
#undef ADD_PRODUCT
#undef ADD_PRODUCT_1
#undef TO_DOUBLES
#undef WIDE
#undef WIDES
#undef NAME
