/* plain_norm.c: batch norm in training and local response norm in plain C. */
#include "measure/plain.h"

#include <math.h>

typedef struct channels {
    int64_t outer, count, inner;
} channels;

static channels channels_of(const run_shape *s)
{
    int64_t inner = 1;
    for (int i = 2; i < s->rank; i++)
        inner *= s->dims[i];
    return (channels){s->dims[0], s->dims[1], inner};
}

typedef struct norm_call {
    const plain_call *c;
    float *mean, *variance;
} norm_call;

static void norm_range(void *context, int64_t first, int64_t end)
{
    const norm_call *call = context;
    const plain_call *c = call->c;
    channels e = channels_of(c->x_shape);
    float *state = c->state;
    double count = (double)(e.outer * e.inner);
    for (int64_t k = first; k < end; k++) {
        double sum = 0, squares = 0;
        for (int64_t n = 0; n < e.outer; n++)
            for (int64_t i = 0; i < e.inner; i++)
                sum += c->x[(n * e.count + k) * e.inner + i];
        double mean = sum / count;
        for (int64_t n = 0; n < e.outer; n++)
            for (int64_t i = 0; i < e.inner; i++) {
                double d = c->x[(n * e.count + k) * e.inner + i] - mean;
                squares += d * d;
            }
        double variance = squares / count;
        call->mean[k] = (float)mean;
        call->variance[k] = (float)variance;
        state[2 * k] = (float)mean;
        state[2 * k + 1] = (float)(1 / sqrt(variance + c->layer->a));
        float scale = c->w[k] * state[2 * k + 1], shift = c->bias[k] - state[2 * k] * scale;
        for (int64_t n = 0; n < e.outer; n++)
            for (int64_t i = 0; i < e.inner; i++) {
                int64_t at = (n * e.count + k) * e.inner + i;
                c->out[at] = c->x[at] * scale + shift;
            }
    }
}

void plain_batch_norm(const plain_call *c, float *mean, float *variance)
{
    norm_call call = {c, mean, variance};
    run_parallel(c->r, c->x_shape->dims[1], 4, norm_range, &call);
}

static void norm_back_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    channels e = channels_of(c->x_shape);
    const float *state = c->state;
    double count = (double)(e.outer * e.inner);
    for (int64_t k = first; k < end; k++) {
        double sum = 0, product = 0;
        float mean = state[2 * k], inverse = state[2 * k + 1];
        for (int64_t n = 0; n < e.outer; n++)
            for (int64_t i = 0; i < e.inner; i++) {
                int64_t at = (n * e.count + k) * e.inner + i;
                sum += c->dy[at];
                product += (double)c->dy[at] * (c->x[at] - mean);
            }
        product *= inverse;
        c->dw[k] = (float)product;
        c->db[k] = (float)sum;
        if (!c->dx)
            continue;
        float scale = c->w[k] * inverse, offset = (float)(sum / count), slope = (float)(product / count) * inverse;
        for (int64_t n = 0; n < e.outer; n++)
            for (int64_t i = 0; i < e.inner; i++) {
                int64_t at = (n * e.count + k) * e.inner + i;
                c->dx[at] = scale * (c->dy[at] - offset - (c->x[at] - mean) * slope);
            }
    }
}

void plain_batch_norm_back(const plain_call *c)
{
    run_parallel(c->r, c->x_shape->dims[1], 4, norm_back_range, (void *)c);
}

void plain_running(const run_layer *l, int64_t channel_count, int64_t count, const float *mean, const float *variance,
                   float *running_mean, float *running_variance)
{
    float keep = (float)l->b, take = 1 - keep, unbiased = count > 1 ? (float)count / (float)(count - 1) : 1;
    for (int64_t k = 0; k < channel_count; k++) {
        running_mean[k] = keep * running_mean[k] + take * mean[k];
        running_variance[k] = keep * running_variance[k] + take * unbiased * variance[k];
    }
}

/* ---- local response norm: y = x ÷ s^beta, s = bias + alpha ÷ size × the sum of squares over channels around ------ */

static void lrn_window(const run_layer *l, int64_t k, int64_t count, int64_t *first, int64_t *end)
{
    int64_t before = (l->size - 1) / 2, after = l->size - 1 - before;
    *first = k > before ? k - before : 0;
    *end = k + after < count ? k + after + 1 : count;
}

static void lrn_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    const run_layer *l = c->layer;
    channels e = channels_of(c->x_shape);
    float *sums = c->state;
    for (int64_t at = first; at < end; at++) {
        int64_t n = at / e.inner / e.count, k = at / e.inner % e.count, i = at % e.inner, from, to;
        double sum = 0;
        lrn_window(l, k, e.count, &from, &to);
        for (int64_t j = from; j < to; j++) {
            float x = c->x[(n * e.count + j) * e.inner + i];
            sum += (double)x * x;
        }
        sums[at] = (float)(l->bias + l->a / (double)l->size * sum);
        c->out[at] = c->x[at] * powf(sums[at], (float)-l->b);
    }
}

void plain_lrn(const plain_call *c)
{
    run_parallel(c->r, c->x_shape->elements, 1024, lrn_range, (void *)c);
}

/* The positions whose sums contain x[k]: the mirror image of lrn_window(). */
static void lrn_data_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    const run_layer *l = c->layer;
    channels e = channels_of(c->x_shape);
    const float *sums = c->state;
    int64_t before = (l->size - 1) / 2, after = l->size - 1 - before;
    for (int64_t at = first; at < end; at++) {
        int64_t n = at / e.inner / e.count, k = at / e.inner % e.count, i = at % e.inner;
        int64_t from = k > after ? k - after : 0, to = k + before < e.count ? k + before + 1 : e.count;
        double sum = 0;
        for (int64_t j = from; j < to; j++) {
            int64_t other = (n * e.count + j) * e.inner + i;
            sum += (double)c->dy[other] * c->x[other] * pow(sums[other], -l->b - 1);
        }
        c->dx[at] = (float)(c->dy[at] * pow(sums[at], -l->b) - 2 * l->a * l->b / (double)l->size * c->x[at] * sum);
    }
}

void plain_lrn_data(const plain_call *c)
{
    run_parallel(c->r, c->x_shape->elements, 1024, lrn_data_range, (void *)c);
}
