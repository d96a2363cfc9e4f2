/* pass.h: a whole network over a batch: outputs, and the gradient of the loss. */
#ifndef SOOTH_GNN_PASS_H
#define SOOTH_GNN_PASS_H

#include "gnn/convolve.h"

/* The loss of an output is Huber's function of its error in the logarithm: quadratic up to `huber`, linear above. */
typedef struct gnn_loss {
    double huber;
    double dropout;   /* share of the numbers between blocks that a training step drops */
    double per_label; /* weight of each known label; the gradient is that of the weighted sum */
} gnn_loss;

/* Writes log(output) less the centre: outputs[row_count][GNN_OUTPUTS]. */
void gnn_pass_forward(const gnn_network *n, const gnn_batch *b, gnn_pool *pool, float *outputs);

/* Adds the gradient to `gradient`, laid out as the parameters, and returns the weighted loss. `outputs` may be
 * NULL. */
double gnn_pass_gradient(const gnn_network *n, const gnn_batch *b, const gnn_loss *loss, gnn_pool *pool,
                         float *gradient, float *outputs);

#endif
