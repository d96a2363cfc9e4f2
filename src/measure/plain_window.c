/* plain_window.c: convolutions, products with weights and pooling in plain C. */
#include "measure/plain.h"

#include <math.h>

typedef struct extents {
    int64_t images, in, high, wide, out, rows, columns, group_in, group_out;
} extents;

static extents extents_of(const plain_call *c)
{
    const int64_t *x = c->x_shape->dims, *y = c->y_shape->dims, groups = c->layer->window.groups;
    return (extents){x[0], x[1], x[2], x[3], y[1], y[2], y[3], x[1] / groups, y[1] / groups};
}

/* Output positions first … end-1 whose tap at `offset` is inside an input of `size`. */
static void taps_inside(int64_t offset, int64_t stride, int64_t size, int64_t outputs, int64_t *first, int64_t *end)
{
    *first = offset < 0 ? (-offset + stride - 1) / stride : 0;
    *end = size - 1 - offset < 0 ? 0 : (size - 1 - offset) / stride + 1;
    if (*end > outputs)
        *end = outputs;
    if (*first > *end)
        *first = *end;
}

static void row_forward(float *y, const float *x, float weight, int64_t count, int64_t stride)
{
    for (int64_t i = 0; i < count; i++)
        y[i] += weight * x[i * stride];
}

static void row_data(float *x, const float *y, float weight, int64_t count, int64_t stride)
{
    for (int64_t i = 0; i < count; i++)
        x[i * stride] += weight * y[i];
}

static float row_product(const float *y, const float *x, int64_t count, int64_t stride)
{
    float sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += y[i] * x[i * stride];
    return sum;
}

typedef enum plane_pass { PLANE_FORWARD, PLANE_DATA, PLANE_WEIGHTS } plane_pass;

/* Convolves one input plane into one output plane. */
static void plane(const plain_call *c, const extents *e, float *x, float *y, const float *w, float *dw, plane_pass pass)
{
    const run_window *k = &c->layer->window;
    for (int64_t kh = 0; kh < k->size[0]; kh++)
        for (int64_t kw = 0; kw < k->size[1]; kw++) {
            int64_t down = kh * k->dilation[0] - k->before[0], right = kw * k->dilation[1] - k->before[1];
            int64_t top, bottom, left, end, at = kh * k->size[1] + kw;
            taps_inside(down, k->stride[0], e->high, e->rows, &top, &bottom);
            taps_inside(right, k->stride[1], e->wide, e->columns, &left, &end);
            for (int64_t row = top; row < bottom; row++) {
                float *xs = x + (row * k->stride[0] + down) * e->wide + left * k->stride[1] + right;
                float *ys = y + row * e->columns + left;
                if (pass == PLANE_FORWARD)
                    row_forward(ys, xs, w[at], end - left, k->stride[1]);
                else if (pass == PLANE_DATA)
                    row_data(xs, ys, w[at], end - left, k->stride[1]);
                else
                    dw[at] += row_product(ys, xs, end - left, k->stride[1]);
            }
        }
}

static const float *weights_of(const plain_call *c, const extents *e, const float *all, int64_t out, int64_t in)
{
    return all + (out * e->group_in + in) * c->layer->window.size[0] * c->layer->window.size[1];
}

static void conv_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    extents e = extents_of(c);
    for (int64_t i = first; i < end; i++) {
        int64_t n = i / e.out, o = i % e.out, group = o / e.group_out;
        float *y = c->out + i * e.rows * e.columns;
        for (int64_t k = 0; k < e.rows * e.columns; k++)
            y[k] = c->bias ? c->bias[o] : 0;
        for (int64_t in = 0; in < e.group_in; in++) {
            float *x = (float *)c->x + (n * e.in + group * e.group_in + in) * e.high * e.wide; /* never written to */
            plane(c, &e, x, y, weights_of(c, &e, c->w, o, in), NULL, PLANE_FORWARD);
        }
    }
}

void plain_conv(const plain_call *c)
{
    run_parallel(c->r, c->y_shape->dims[0] * c->y_shape->dims[1], 1, conv_range, (void *)c);
}

static void conv_data_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    extents e = extents_of(c);
    for (int64_t i = first; i < end; i++) {
        int64_t n = i / e.in, channel = i % e.in, group = channel / e.group_in, in = channel % e.group_in;
        float *dx = c->dx + i * e.high * e.wide;
        memset(dx, 0, (size_t)(e.high * e.wide) * sizeof *dx);
        for (int64_t o = group * e.group_out; o < (group + 1) * e.group_out; o++) {
            float *dy = (float *)c->dy + (n * e.out + o) * e.rows * e.columns; /* never written to */
            plane(c, &e, dx, dy, weights_of(c, &e, c->w, o, in), NULL, PLANE_DATA);
        }
    }
}

void plain_conv_data(const plain_call *c)
{
    run_parallel(c->r, c->x_shape->dims[0] * c->x_shape->dims[1], 1, conv_data_range, (void *)c);
}

static void conv_weights_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    extents e = extents_of(c);
    int64_t taps = c->layer->window.size[0] * c->layer->window.size[1];
    for (int64_t i = first; i < end; i++) {
        int64_t o = i / e.group_in, in = i % e.group_in, group = o / e.group_out;
        float *dw = c->dw + i * taps;
        memset(dw, 0, (size_t)taps * sizeof *dw);
        for (int64_t n = 0; n < e.images; n++) {
            float *x = (float *)c->x + (n * e.in + group * e.group_in + in) * e.high * e.wide;
            float *dy = (float *)c->dy + (n * e.out + o) * e.rows * e.columns;
            plane(c, &e, x, dy, NULL, dw, PLANE_WEIGHTS);
        }
    }
}

void plain_conv_weights(const plain_call *c)
{
    extents e = extents_of(c);
    run_parallel(c->r, e.out * e.group_in, 1, conv_weights_range, (void *)c);
}

static void bias_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    const run_shape *s = c->y_shape;
    bool is_image = s->rank == 4;
    int64_t channels = is_image ? s->dims[1] : s->dims[s->rank - 1];
    int64_t inner = is_image ? s->dims[2] * s->dims[3] : 1, outer = s->elements / channels / inner;
    for (int64_t o = first; o < end; o++) {
        double sum = 0;
        for (int64_t n = 0; n < outer; n++)
            for (int64_t i = 0; i < inner; i++)
                sum += c->dy[(n * channels + o) * inner + i];
        c->db[o] = (float)sum;
    }
}

void plain_bias(const plain_call *c)
{
    const run_shape *s = c->y_shape;
    run_parallel(c->r, s->rank == 4 ? s->dims[1] : s->dims[s->rank - 1], 16, bias_range, (void *)c);
}

/* ---- products with weights --------------------------------------------------------------------------------------- */

typedef struct matrix_extents {
    int64_t rows, in, out, in_step, out_step; /* sizes, and strides in the weights */
} matrix_extents;

static matrix_extents matrix_of(const plain_call *c)
{
    int64_t in = c->x_shape->dims[c->x_shape->rank - 1], out = c->y_shape->dims[c->y_shape->rank - 1];
    bool is_turned = c->layer->is_turned;
    return (matrix_extents){c->x_shape->elements / in, in, out, is_turned ? 1 : out, is_turned ? in : 1};
}

static void linear_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    matrix_extents m = matrix_of(c);
    for (int64_t i = first; i < end; i++) {
        int64_t row = i / m.out, o = i % m.out;
        float sum = c->bias ? c->bias[o] : 0;
        for (int64_t k = 0; k < m.in; k++)
            sum += c->x[row * m.in + k] * c->w[o * m.out_step + k * m.in_step];
        c->out[i] = sum;
    }
}

void plain_linear(const plain_call *c)
{
    run_parallel(c->r, c->y_shape->elements, 64, linear_range, (void *)c);
}

static void linear_data_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    matrix_extents m = matrix_of(c);
    for (int64_t i = first; i < end; i++) {
        int64_t row = i / m.in, k = i % m.in;
        float sum = 0;
        for (int64_t o = 0; o < m.out; o++)
            sum += c->dy[row * m.out + o] * c->w[o * m.out_step + k * m.in_step];
        c->dx[i] = sum;
    }
}

void plain_linear_data(const plain_call *c)
{
    run_parallel(c->r, c->x_shape->elements, 64, linear_data_range, (void *)c);
}

static void linear_weights_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    matrix_extents m = matrix_of(c);
    for (int64_t i = first; i < end; i++) {
        int64_t o = i / m.in, k = i % m.in;
        float sum = 0;
        for (int64_t row = 0; row < m.rows; row++)
            sum += c->dy[row * m.out + o] * c->x[row * m.in + k];
        c->dw[o * m.out_step + k * m.in_step] = sum;
    }
}

void plain_linear_weights(const plain_call *c)
{
    matrix_extents m = matrix_of(c);
    run_parallel(c->r, m.in * m.out, 64, linear_weights_range, (void *)c);
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

typedef struct box {
    int64_t top, bottom, left, right; /* The part of the window that is inside the input. */
    float divisor;                    /* divisor of a mean */
} box;

static box box_of(const plain_call *c, const extents *e, int64_t row, int64_t column)
{
    const run_window *k = &c->layer->window;
    int64_t top = row * k->stride[0] - k->before[0], left = column * k->stride[1] - k->before[1];
    int64_t bottom = top + k->size[0], right = left + k->size[1];
    /* As in PyTorch, padding that comes from rounding up is never counted. */
    int64_t padded_high = e->high + k->before[0], padded_wide = e->wide + k->before[1];
    int64_t counted =
        ((bottom < padded_high ? bottom : padded_high) - top) * ((right < padded_wide ? right : padded_wide) - left);
    box b = {top > 0 ? top : 0, bottom < e->high ? bottom : e->high, left > 0 ? left : 0,
             right < e->wide ? right : e->wide, 1};
    b.divisor = (float)(k->counts_padding ? counted : (b.bottom - b.top) * (b.right - b.left));
    return b;
}

static int32_t max_at(const plain_call *c, const extents *e, const float *x, int64_t row, int64_t column)
{
    const run_window *k = &c->layer->window;
    float best = -INFINITY;
    int32_t at = -1;
    for (int64_t kh = 0; kh < k->size[0]; kh++)
        for (int64_t kw = 0; kw < k->size[1]; kw++) {
            int64_t h = row * k->stride[0] - k->before[0] + kh * k->dilation[0];
            int64_t w = column * k->stride[1] - k->before[1] + kw * k->dilation[1];
            if (h < 0 || w < 0 || h >= e->high || w >= e->wide)
                continue;
            float value = x[h * e->wide + w];
            if (at < 0 || value > best) {
                best = value;
                at = (int32_t)(h * e->wide + w);
            }
        }
    return at;
}

static void pool_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    extents e = extents_of(c);
    for (int64_t i = first; i < end; i++) {
        const float *x = c->x + i * e.high * e.wide;
        for (int64_t k = 0; k < e.rows * e.columns; k++) {
            int64_t to = i * e.rows * e.columns + k;
            if (c->layer->kind == RUN_MAX_POOL) {
                int32_t at = max_at(c, &e, x, k / e.columns, k % e.columns);
                ((int32_t *)c->state)[to] = at;
                c->out[to] = at < 0 ? 0 : x[at];
                continue;
            }
            box b = box_of(c, &e, k / e.columns, k % e.columns);
            float sum = 0;
            for (int64_t h = b.top; h < b.bottom; h++)
                for (int64_t w = b.left; w < b.right; w++)
                    sum += x[h * e.wide + w];
            c->out[to] = sum / b.divisor;
        }
    }
}

void plain_pool(const plain_call *c)
{
    run_parallel(c->r, c->x_shape->dims[0] * c->x_shape->dims[1], 8, pool_range, (void *)c);
}

static void pool_data_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    extents e = extents_of(c);
    for (int64_t i = first; i < end; i++) {
        float *dx = c->dx + i * e.high * e.wide;
        memset(dx, 0, (size_t)(e.high * e.wide) * sizeof *dx);
        for (int64_t k = 0; k < e.rows * e.columns; k++) {
            int64_t from = i * e.rows * e.columns + k;
            if (c->layer->kind == RUN_MAX_POOL) {
                int32_t at = ((const int32_t *)c->state)[from];
                if (at >= 0)
                    dx[at] += c->dy[from];
                continue;
            }
            box b = box_of(c, &e, k / e.columns, k % e.columns);
            for (int64_t h = b.top; h < b.bottom; h++)
                for (int64_t w = b.left; w < b.right; w++)
                    dx[h * e.wide + w] += c->dy[from] / b.divisor;
        }
    }
}

void plain_pool_data(const plain_call *c)
{
    run_parallel(c->r, c->x_shape->dims[0] * c->x_shape->dims[1], 8, pool_data_range, (void *)c);
}
