/* convolve.h: the convolutions of graph networks over a batch, and their gradients. Each runs on one thread, so sums
 * have one order. */
#ifndef SOOTH_GNN_CONVOLVE_H
#define SOOTH_GNN_CONVOLVE_H

#include "gnn/batch.h"

/* A network: its layout and its parameters. */
typedef struct gnn_network {
    gnn_layout layout;
    const float *params;
    const float *transposed; /* gnn_layout_transpose() of each matrix; gradients need it */
} gnn_network;

/* One convolution, with the arrays that its gradient reads, in the pool. */
typedef struct gnn_block {
    const float *input; /* [nodes][width] */
    size_t width;
    float *read;    /* sage: mean of the nodes read; gin: the sum with the node itself. [nodes][width] */
    float *mixed;   /* gcn, gat: input times weight; gin: hidden layer. [nodes][hidden] */
    float *scores;  /* gat: attention by edge, then by node for its self-loop */
    float *ends;    /* gat: the two terms of a score, by node. [nodes][2] */
    float *inverse; /* sage: 1 / length of the row. gcn: 1 / sqrt(degree). [nodes] */
    float *result;  /* [nodes][hidden], before ReLU */
} gnn_block;

void gnn_convolve(const gnn_network *n, const gnn_batch *b, int index, gnn_block *block, gnn_pool *pool);
/* `slope` is the gradient of the result, which is overwritten. Adds to `gradient`, laid out as the parameters; adds the
 * input's gradient to `input_slope` unless that is NULL. */
void gnn_convolve_back(const gnn_network *n, const gnn_batch *b, int index, const gnn_block *block, float *slope,
                       float *gradient, float *input_slope, gnn_pool *pool);

/* c[rows][columns] = bias + a[rows][depth] b[depth][columns]; `b_row` is the distance of its rows. A bias of NULL adds
 * to c. */
void gnn_product(const float *a, size_t rows, size_t depth, const float *b, size_t b_row, size_t columns,
                 const float *bias, float *c);
/* c[a_columns][columns] += a[rows][a_columns]ᵀ b[rows][columns] */
void gnn_product_sum(const float *a, size_t a_columns, const float *b, size_t columns, size_t rows, float *c,
                     gnn_pool *pool);
/* sums[columns] += the rows of a */
void gnn_add_rows(const float *a, size_t rows, size_t columns, float *sums);

#endif
