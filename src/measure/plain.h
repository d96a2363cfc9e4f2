/* plain.h: operators in plain C on row-major arrays: the reference, and a fallback where a library has no operator. */
#ifndef SOOTH_MEASURE_PLAIN_H
#define SOOTH_MEASURE_PLAIN_H

#include "measure/run.h"

/* Arrays of one call. The backward pass reads dy and overwrites dx, dw and db, if they are not NULL. */
typedef struct plain_call {
    const run *r;
    const run_layer *layer;
    const run_shape *x_shape, *y_shape;
    const float *x, *w, *bias, *dy, *y;
    float *out, *dx, *dw, *db;
    void *state;
} plain_call;

void plain_conv(const plain_call *c);
void plain_conv_data(const plain_call *c);
void plain_conv_weights(const plain_call *c);
void plain_linear(const plain_call *c);
void plain_linear_data(const plain_call *c);
void plain_linear_weights(const plain_call *c);
/* db of a convolution or product: dy summed over all dimensions except the channels. */
void plain_bias(const plain_call *c);
void plain_pool(const plain_call *c); /* state: index of the maximum, int32 per output */
void plain_pool_data(const plain_call *c);
/* w is the scale; state: 2 floats per channel, mean and 1 ÷ standard deviation. */
void plain_batch_norm(const plain_call *c, float *mean, float *variance);
void plain_batch_norm_back(const plain_call *c);
void plain_lrn(const plain_call *c); /* state: the sum that each element is divided by */
void plain_lrn_data(const plain_call *c);

/* Updates running statistics of a batch norm from those of a batch of `count` elements per channel. */
void plain_running(const run_layer *l, int64_t channels, int64_t count, const float *mean, const float *variance,
                   float *running_mean, float *running_variance);

#endif
