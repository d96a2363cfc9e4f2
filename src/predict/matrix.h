/* matrix.h: products of small dense matrices and activations: the inner loops of prediction and training.
 *
 * Not a BLAS: the matrices have some hundred rows and columns, where a library's call and packing cost as much as the
 * product. With equal vector width, sums have the same order on every machine. */
#ifndef SOOTH_PREDICT_MATRIX_H
#define SOOTH_PREDICT_MATRIX_H

#include <stddef.h>
#include <stdint.h>

/* c[rows][columns] += a[rows][depth] * b[depth][columns]. Rows of b and c are contiguous; element (i, k) of a is a[i *
 * a_row + k * a_step], so a may be transposed. */
typedef struct matrix_product {
    size_t rows, columns, depth;
    const float *a;
    size_t a_row, a_step;
    const float *b;
    size_t b_row;
    float *c;
    size_t c_row;
    const float *bias; /* [columns]: initial value of the sums of every row. NULL: the values of c. */
} matrix_product;

void matrix_multiply_add(const matrix_product *m);
/* The same over the `depth` columns of a and rows of b listed in `picks`; all other columns of a are zero. */
void matrix_multiply_picked(const matrix_product *m, const uint16_t *picks);

/* out[i] = x * clamp(x / 6 + 1/2, 0, 1) with x = sum[i]: the hard swish activation. */
void matrix_activate(const float *sum, float *out, size_t count);
/* out[i] = sum over k of a[i * row + k] * b[k] for each of `rows` rows; row is a multiple of 16. */
void matrix_dots(const float *a, size_t rows, size_t row, const float *b, float *out, size_t out_step);

/* Return the functions for vectors of 4, 8 or 16 floats; NULL if the processor has none. */
typedef struct matrix_kernels {
    void (*multiply_add)(const matrix_product *m);
    void (*multiply_picked)(const matrix_product *m, const uint16_t *picks);
    void (*activate)(const float *sum, float *out, size_t count);
    void (*dots)(const float *a, size_t rows, size_t row, const float *b, float *out, size_t out_step);
} matrix_kernels;

const matrix_kernels *matrix_kernels_of(int width);

#endif
