/* plain.c: the backend in plain C, and its operators over single elements. */
#include "measure/plain.h"

#include <math.h>

enum { LEAST_ELEMENTS = 1 << 15 }; /* Fewest elements for which starting a thread pays off. */

static const run_shape *shape_of(const run *r, int value)
{
    return &r->net->values[value].shape;
}

/* ---- functions of one element ------------------------------------------------------------------------------------ */

static float unary(const run_layer *l, float x)
{
    float a = (float)l->a, b = (float)l->b;
    switch (l->unary) {
    case UNARY_RELU:
        return x > 0 ? x : 0;
    case UNARY_CLIP:
        return x < a ? a : x > b ? b : x;
    case UNARY_LEAKY:
        return x > 0 ? x : a * x;
    case UNARY_ELU:
        return x > 0 ? x : a * expm1f(x);
    case UNARY_SIGMOID:
        return 1 / (1 + expf(-x));
    case UNARY_TANH:
        return tanhf(x);
    case UNARY_SWISH:
        return x / (1 + expf(-x));
    case UNARY_HARD_SIGMOID:
        return fminf(1, fmaxf(0, a * x + b));
    case UNARY_HARD_SWISH:
        return x * fminf(1, fmaxf(0, x / 6 + 0.5f));
    case UNARY_GELU:
        return x * 0.5f * (1 + erff(x * 0.70710678f));
    }
    return x;
}

/* Slope of the function at x, where its value is y. If RELU or a clip works in place, x equals y. */
static float slope(const run_layer *l, float x, float y)
{
    float a = (float)l->a, b = (float)l->b, s;
    switch (l->unary) {
    case UNARY_RELU:
        return y > 0 ? 1 : 0;
    case UNARY_CLIP:
        return y > a && y < b ? 1 : 0;
    case UNARY_LEAKY:
        return x > 0 ? 1 : a;
    case UNARY_ELU:
        return x > 0 ? 1 : y + a;
    case UNARY_SIGMOID:
        return y * (1 - y);
    case UNARY_TANH:
        return 1 - y * y;
    case UNARY_SWISH:
        s = 1 / (1 + expf(-x));
        return s + y * (1 - s);
    case UNARY_HARD_SIGMOID:
        return y > 0 && y < 1 ? a : 0;
    case UNARY_HARD_SWISH:
        return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5f;
    case UNARY_GELU:
        return 0.5f * (1 + erff(x * 0.70710678f)) + x * 0.39894228f * expf(-x * x / 2);
    }
    return 1;
}

static void unary_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    if (c->layer->unary == UNARY_RELU)
        for (int64_t i = first; i < end; i++)
            c->out[i] = c->x[i] > 0 ? c->x[i] : 0;
    else
        for (int64_t i = first; i < end; i++)
            c->out[i] = unary(c->layer, c->x[i]);
}

static void unary_back_range(void *context, int64_t first, int64_t end)
{
    const plain_call *c = context;
    if (c->layer->unary == UNARY_RELU)
        for (int64_t i = first; i < end; i++)
            c->dx[i] = c->y[i] > 0 ? c->dy[i] : 0;
    else
        for (int64_t i = first; i < end; i++)
            c->dx[i] = c->dy[i] * slope(c->layer, c->x[i], c->y[i]);
}

/* ---- two operands ------------------------------------------------------------------------------------------------ */

/* Returns the index in a tensor of shape `s` that belongs to element `i` of shape `y`; dimensions of 1 are repeated. */
static int64_t operand_index(const run_shape *s, const run_shape *y, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int d = y->rank - 1; d >= 0; d--) {
        int64_t k = i % y->dims[d];
        i /= y->dims[d];
        at += s->dims[d] == 1 ? 0 : k * step;
        step *= s->dims[d];
    }
    return at;
}

static float operand(const float *x, const run_shape *s, const run_shape *y, int64_t i)
{
    return x[s->elements == y->elements ? i : operand_index(s, y, i)];
}

static void binary_forward(const plain_call *c, const float *other, const run_shape *other_shape)
{
    bool adds = c->layer->kind == RUN_SUM;
    for (int64_t i = 0; i < c->y_shape->elements; i++) {
        float a = operand(c->x, c->x_shape, c->y_shape, i), b = operand(other, other_shape, c->y_shape, i);
        c->out[i] = adds ? a + b : a * b;
    }
}

/* Computes the gradient of operand `k`; the gradients of repeated elements are summed. */
static void binary_backward(const plain_call *c, const float *other, const run_shape *shape,
                            const run_shape *other_shape, float *to)
{
    memset(to, 0, (size_t)shape->elements * sizeof *to);
    for (int64_t i = 0; i < c->y_shape->elements; i++) {
        float d = c->dy[i];
        if (c->layer->kind == RUN_PRODUCT)
            d *= operand(other, other_shape, c->y_shape, i);
        to[shape->elements == c->y_shape->elements ? i : operand_index(shape, c->y_shape, i)] += d;
    }
}

/* ---- concatenation ----------------------------------------------------------------------------------------------- */

static int64_t inner_elements(const run_shape *s, int axis)
{
    int64_t inner = 1;
    for (int d = axis; d < s->rank; d++)
        inner *= s->dims[d];
    return inner;
}

/* Copies a part of each row of the joined tensor to or from one operand. */
static void copy_part(const run_shape *part, const run_shape *joined, int axis, int64_t offset, float *to,
                      const float *from, bool into_joined)
{
    int64_t count = inner_elements(part, axis), all = inner_elements(joined, axis), rows = part->elements / count;
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + (into_joined ? i * all + offset : i * count), from + (into_joined ? i * count : i * all + offset),
               (size_t)count * sizeof *to);
}

/* ---- softmax and loss -------------------------------------------------------------------------------------------- */

static void softmax_forward(const plain_call *c)
{
    int64_t wide = c->x_shape->dims[c->x_shape->rank - 1], rows = c->x_shape->elements / wide;
    for (int64_t n = 0; n < rows; n++) {
        const float *x = c->x + n * wide;
        float most = x[0], *y = c->out + n * wide;
        double sum = 0;
        for (int64_t i = 1; i < wide; i++)
            most = fmaxf(most, x[i]);
        for (int64_t i = 0; i < wide; i++)
            sum += y[i] = expf(x[i] - most);
        for (int64_t i = 0; i < wide; i++)
            y[i] = (float)(y[i] / sum);
    }
}

static void softmax_backward(const plain_call *c)
{
    int64_t wide = c->x_shape->dims[c->x_shape->rank - 1], rows = c->x_shape->elements / wide;
    for (int64_t n = 0; n < rows; n++) {
        const float *y = c->y + n * wide, *dy = c->dy + n * wide;
        double sum = 0;
        for (int64_t i = 0; i < wide; i++)
            sum += (double)y[i] * dy[i];
        for (int64_t i = 0; i < wide; i++)
            c->dx[n * wide + i] = y[i] * (float)(dy[i] - sum);
    }
}

/* Cross entropy; stores the probabilities in the state. */
static double loss_forward(const plain_call *c)
{
    double loss = 0;
    int64_t classes = c->x_shape->dims[1], batch = c->x_shape->dims[0];
    plain_call softmax = *c;
    softmax.out = c->state;
    softmax_forward(&softmax);
    for (int64_t n = 0; n < batch; n++) {
        const float *x = c->x + n * classes;
        double most = x[0];
        for (int64_t i = 1; i < classes; i++)
            most = fmax(most, x[i]);
        double sum = exp(x[0] - most);
        for (int64_t i = 1; i < classes; i++)
            sum += exp(x[i] - most);
        loss += log(sum) + most - x[c->r->labels[n]];
    }
    return loss / (double)batch;
}

static void loss_backward(const plain_call *c)
{
    int64_t classes = c->x_shape->dims[1], batch = c->x_shape->dims[0];
    const float *probabilities = c->state;
    for (int64_t n = 0; n < batch; n++)
        for (int64_t i = 0; i < classes; i++)
            c->dx[n * classes + i] = (probabilities[n * classes + i] - (c->r->labels[n] == i)) / (float)batch;
}

/* ---- the backend ------------------------------------------------------------------------------------------------- */

static size_t state_bytes(const run *r, const run_layer *l)
{
    const run_shape *x = shape_of(r, l->inputs[0]);
    switch (l->kind) {
    case RUN_MAX_POOL:
        return (size_t)shape_of(r, l->output)->elements * sizeof(int32_t);
    case RUN_BATCH_NORM:
        return (size_t)x->dims[1] * 4 * sizeof(float);
    case RUN_LRN:
    case RUN_LOSS:
        return (size_t)x->elements * sizeof(float);
    default:
        return 0;
    }
}

static bool prepare(run *r, int layer)
{
    const run_layer *l = run_layer_of(r, layer);
    size_t bytes = state_bytes(r, l);
    for (int i = 0; i < l->input_count; i++)
        run_keep_plain(r, l->inputs[i]);
    if (bytes)
        r->states[layer] = run_alloc(r, PART_FEATURE_MAPS, bytes);
    return true;
}

static plain_call call_of(run *r, int layer)
{
    const run_layer *l = run_layer_of(r, layer);
    const run_weights *w = run_param_of(r, layer, 0), *b = run_param_of(r, layer, 1);
    plain_call c = {.r = r, .layer = l, .x_shape = shape_of(r, l->inputs[0]), .x = run_plain_input(r, layer, 0)};
    if (l->output != NO_RUN) {
        c.y_shape = shape_of(r, l->output);
        c.y = c.out = run_output(r, layer)->data;
    }
    c.w = w ? w->data : NULL;
    c.dw = w ? w->gradient : NULL;
    c.bias = b ? b->data : NULL;
    c.db = b ? b->gradient : NULL;
    c.state = r->states[layer];
    return c;
}

static void norm_forward(run *r, int layer, const plain_call *c)
{
    int64_t channels = c->x_shape->dims[1];
    float *mean = (float *)c->state + 2 * channels, *variance = mean + channels;
    plain_batch_norm(c, mean, variance);
    plain_running(c->layer, channels, c->x_shape->elements / channels, mean, variance, run_param_of(r, layer, 2)->data,
                  run_param_of(r, layer, 3)->data);
}

static void concat_forward(run *r, int layer, const plain_call *c)
{
    int64_t offset = 0;
    for (int i = 0; i < c->layer->input_count; i++) {
        const run_shape *part = shape_of(r, c->layer->inputs[i]);
        copy_part(part, c->y_shape, c->layer->axis, offset, c->out, run_plain_input(r, layer, i), true);
        offset += inner_elements(part, c->layer->axis);
    }
}

static void forward(run *r, int layer)
{
    plain_call c = call_of(r, layer);
    switch (c.layer->kind) {
    case RUN_CONV:
        plain_conv(&c);
        break;
    case RUN_LINEAR:
        plain_linear(&c);
        break;
    case RUN_BATCH_NORM:
        norm_forward(r, layer, &c);
        break;
    case RUN_UNARY:
        run_parallel(r, c.x_shape->elements, LEAST_ELEMENTS, unary_range, &c);
        break;
    case RUN_MAX_POOL:
    case RUN_AVERAGE_POOL:
        plain_pool(&c);
        break;
    case RUN_SUM:
    case RUN_PRODUCT:
        binary_forward(&c, run_plain_input(r, layer, 1), shape_of(r, c.layer->inputs[1]));
        break;
    case RUN_CONCAT:
        concat_forward(r, layer, &c);
        break;
    case RUN_RESHAPE:
        memcpy(c.out, c.x, (size_t)c.x_shape->elements * sizeof *c.out);
        break;
    case RUN_LRN:
        plain_lrn(&c);
        break;
    case RUN_SOFTMAX:
        softmax_forward(&c);
        break;
    case RUN_LOSS:
        r->loss = loss_forward(&c);
        break;
    }
}

static void backward_weights(run *r, int layer)
{
    if (run_layer_of(r, layer)->kind == RUN_BATCH_NORM) /* This call also computes the gradient of the data. */
        return;
    plain_call c = call_of(r, layer);
    run_buffer *dy = run_plain_gradient(r, layer);
    c.dy = dy->data;
    if (c.layer->kind == RUN_CONV)
        plain_conv_weights(&c);
    else if (c.layer->kind == RUN_LINEAR)
        plain_linear_weights(&c);
    if (c.db)
        plain_bias(&c);
    run_drop(dy);
}

/* Sums pass their gradient on unchanged; other pairs compute one gradient per operand. */
static void binary_back(run *r, int layer, plain_call *c, run_buffer *dy)
{
    for (int i = 0; i < 2; i++) {
        const run_shape *s = shape_of(r, c->layer->inputs[i]);
        if (!run_wants(r, layer, i))
            continue;
        if (c->layer->kind == RUN_SUM && s->elements == c->y_shape->elements) {
            dy->references++;
            run_give(r, layer, i, dy, true);
            continue;
        }
        run_buffer *dx = run_gradient_room(r, layer, i, true);
        binary_backward(c, run_plain_input(r, layer, 1 - i), s, shape_of(r, c->layer->inputs[1 - i]), dx->data);
        run_give(r, layer, i, dx, true);
    }
}

static void concat_back(run *r, int layer, const plain_call *c)
{
    int64_t offset = 0;
    for (int i = 0; i < c->layer->input_count; i++) {
        const run_shape *part = shape_of(r, c->layer->inputs[i]);
        if (run_wants(r, layer, i)) {
            run_buffer *dx = run_gradient_room(r, layer, i, true);
            copy_part(part, c->y_shape, c->layer->axis, offset, dx->data, c->dy, false);
            run_give(r, layer, i, dx, true);
        }
        offset += inner_elements(part, c->layer->axis);
    }
}

static void one_input_back(run *r, plain_call *c)
{
    switch (c->layer->kind) {
    case RUN_CONV:
        plain_conv_data(c);
        break;
    case RUN_LINEAR:
        plain_linear_data(c);
        break;
    case RUN_UNARY:
        run_parallel(r, c->x_shape->elements, LEAST_ELEMENTS, unary_back_range, c);
        break;
    case RUN_MAX_POOL:
    case RUN_AVERAGE_POOL:
        plain_pool_data(c);
        break;
    case RUN_RESHAPE:
        memcpy(c->dx, c->dy, (size_t)c->x_shape->elements * sizeof *c->dx);
        break;
    case RUN_LRN:
        plain_lrn_data(c);
        break;
    case RUN_SOFTMAX:
        softmax_backward(c);
        break;
    default:
        loss_backward(c);
        break;
    }
}

static void backward_data(run *r, int layer)
{
    plain_call c = call_of(r, layer);
    bool is_loss = c.layer->kind == RUN_LOSS, wants = run_wants(r, layer, 0);
    run_buffer *dy = is_loss ? NULL : run_plain_gradient(r, layer);
    c.dy = dy ? dy->data : NULL;
    if (c.layer->kind == RUN_SUM || c.layer->kind == RUN_PRODUCT) {
        binary_back(r, layer, &c, dy);
    } else if (c.layer->kind == RUN_CONCAT) {
        concat_back(r, layer, &c);
    } else if (wants || c.layer->kind == RUN_BATCH_NORM) {
        run_buffer *dx = wants ? run_gradient_room(r, layer, 0, true) : NULL;
        c.dx = dx ? dx->data : NULL;
        if (c.layer->kind == RUN_BATCH_NORM)
            plain_batch_norm_back(&c);
        else
            one_input_back(r, &c);
        if (dx)
            run_give(r, layer, 0, dx, true);
    }
    if (dy)
        run_drop(dy);
}

static const char *algorithm(const run *r, int layer)
{
    (void)r, (void)layer;
    return "reference";
}

const run_backend PLAIN_BACKEND = {"plain", prepare, forward, backward_weights, backward_data, algorithm};
