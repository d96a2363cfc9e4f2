/* openblas.c: runs convolutions and products with weights through OpenBLAS. A convolution is im2col and a matrix
 * product for each image, as in Caffe. */
#include "measure/library.h"
#include "measure/plain.h"

#ifndef SOOTH_OPENBLAS

const char *openblas_missing(void)
{
    return "this program was built without OpenBLAS: install libopenblas-dev and build again";
}

void openblas_open(run *r)
{
    fail_with(r->fail, SOOTH_ERROR_UNSUPPORTED, "%s", openblas_missing());
}

void openblas_close(run *r)
{
    (void)r;
}

static bool prepare(run *r, int layer)
{
    (void)r, (void)layer;
    return false;
}

const run_backend OPENBLAS_BACKEND = {.name = "openblas", .prepare = prepare};

#else
#include <cblas.h>

struct openblas {
    void *handle;
    __typeof__(&cblas_sgemm) sgemm;
    __typeof__(&openblas_set_num_threads) set_num_threads;
};

static const char FILE_NAME[] = "libopenblas.so.0", PACKAGE[] = "libopenblas0 (or libopenblas0-pthread)";

const char *openblas_missing(void)
{
    return library_is_there(FILE_NAME) ? NULL : "libopenblas.so.0 cannot be opened: install libopenblas0";
}

void openblas_open(run *r)
{
    static const library_symbol SYMBOLS[] = {{"cblas_sgemm", offsetof(struct openblas, sgemm)},
                                             {"openblas_set_num_threads", offsetof(struct openblas, set_num_threads)}};
    struct openblas *b = ARENA_NEW(r->arena, struct openblas);
    b->handle = library_open(FILE_NAME, PACKAGE, SYMBOLS, sizeof SYMBOLS / sizeof *SYMBOLS, b, r->fail);
    b->set_num_threads((int)r->threads);
    r->openblas = b;
}

void openblas_close(run *r)
{
    if (r->openblas)
        library_close(r->openblas->handle);
    r->openblas = NULL;
}

/* One image's convolution as a product: (group_out × taps) times (taps × positions). */
typedef struct lowered {
    int64_t images, groups, group_in, group_out, high, wide, rows, columns, taps, positions;
    bool is_plain; /* a 1 × 1 window needs no im2col */
} lowered;

static lowered lowered_of(const run *r, int layer)
{
    const run_layer *l = run_layer_of(r, layer);
    const int64_t *x = r->net->values[l->inputs[0]].shape.dims, *y = r->net->values[l->output].shape.dims;
    const run_window *w = &l->window;
    lowered e = {x[0], w->groups, x[1] / w->groups, y[1] / w->groups, x[2], x[3], y[2], y[3], 0, y[2] * y[3], false};
    e.taps = e.group_in * w->size[0] * w->size[1];
    e.is_plain = w->size[0] == 1 && w->size[1] == 1 && w->stride[0] == 1 && w->stride[1] == 1 && w->before[0] == 0 &&
                 w->before[1] == 0 && w->after[0] == 0 && w->after[1] == 0;
    return e;
}

typedef struct columns_call {
    const run_window *window;
    const lowered *e;
    const float *image;
    float *columns;
    float *gradient; /* gradient of the image, to add to; NULL to write columns instead */
} columns_call;

/* Copies the pixels under tap (kh, kw) of channel `in` to `row`, or adds the gradients in `row` to them. */
static void columns_of_tap(const columns_call *c, int64_t in, int64_t kh, int64_t kw, float *row)
{
    const lowered *e = c->e;
    const run_window *k = c->window;
    int64_t offset = kw * k->dilation[1] - k->before[1];
    for (int64_t y = 0; y < e->rows; y++, row += e->columns) {
        int64_t h = y * k->stride[0] - k->before[0] + kh * k->dilation[0], plane = (in * e->high + h) * e->wide;
        bool inside = h >= 0 && h < e->high;
        for (int64_t x = 0; x < e->columns; x++) {
            int64_t w = x * k->stride[1] + offset;
            bool reads = inside && w >= 0 && w < e->wide;
            if (!c->gradient)
                row[x] = reads ? c->image[plane + w] : 0;
            else if (reads)
                c->gradient[plane + w] += row[x];
        }
    }
}

/* im2col of the channels first … end-1. Backward, the transpose: it adds the columns to the image's gradient. */
static void columns_range(void *context, int64_t first, int64_t end)
{
    const columns_call *c = context;
    const run_window *k = c->window;
    float *row = c->columns + first * k->size[0] * k->size[1] * c->e->positions;
    for (int64_t in = first; in < end; in++)
        for (int64_t kh = 0; kh < k->size[0]; kh++)
            for (int64_t kw = 0; kw < k->size[1]; kw++, row += c->e->positions)
                columns_of_tap(c, in, kh, kw, row);
}

static void columns_of(const run *r, int layer, const lowered *e, const float *image, float *columns, float *gradient)
{
    enum { LEAST = 1 << 17 }; /* Fewest elements for which starting a thread pays off. */
    columns_call c = {&run_layer_of(r, layer)->window, e, image, columns, gradient};
    int64_t each = e->taps / e->group_in * e->positions;
    run_parallel(r, e->group_in, LEAST / each + 1, columns_range, &c);
}

static bool prepare(run *r, int layer)
{
    const run_layer *l = run_layer_of(r, layer);
    if (l->kind != RUN_CONV && l->kind != RUN_LINEAR)
        return false;
    if (l->kind == RUN_CONV) {
        lowered e = lowered_of(r, layer);
        if (!e.is_plain)
            run_need_scratch(r, layer, (size_t)(e.taps * e.positions) * sizeof(float));
    }
    return true;
}

static float *scratch_of(run *r, const lowered *e)
{
    return e->is_plain ? NULL : run_scratch(r, (size_t)(e->taps * e->positions) * sizeof(float));
}

static void add_bias(const float *bias, int64_t channels, int64_t inner, float *y)
{
    for (int64_t o = 0; o < channels; o++)
        for (int64_t i = 0; i < inner; i++)
            y[o * inner + i] += bias[o];
}

static void conv_forward(run *r, int layer)
{
    lowered e = lowered_of(r, layer);
    const run_weights *bias = run_param_of(r, layer, 1);
    const float *x = run_plain_input(r, layer, 0), *w = run_param_of(r, layer, 0)->data;
    float *scratch = scratch_of(r, &e), *y = run_output(r, layer)->data;
    for (int64_t n = 0; n < e.images; n++) {
        for (int64_t g = 0; g < e.groups; g++) {
            const float *image = x + (n * e.groups + g) * e.group_in * e.high * e.wide;
            if (scratch)
                columns_of(r, layer, &e, image, scratch, NULL);
            r->openblas->sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)e.group_out, (blasint)e.positions,
                               (blasint)e.taps, 1, w + g * e.group_out * e.taps, (blasint)e.taps,
                               scratch ? scratch : image, (blasint)e.positions, 0,
                               y + (n * e.groups + g) * e.group_out * e.positions, (blasint)e.positions);
        }
        if (bias)
            add_bias(bias->data, e.groups * e.group_out, e.positions, y + n * e.groups * e.group_out * e.positions);
    }
}

static void conv_weights(run *r, int layer, const float *dy)
{
    lowered e = lowered_of(r, layer);
    const float *x = run_plain_input(r, layer, 0);
    float *scratch = scratch_of(r, &e), *dw = run_param_of(r, layer, 0)->gradient;
    for (int64_t n = 0; n < e.images; n++)
        for (int64_t g = 0; g < e.groups; g++) {
            const float *image = x + (n * e.groups + g) * e.group_in * e.high * e.wide;
            if (scratch)
                columns_of(r, layer, &e, image, scratch, NULL);
            r->openblas->sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)e.group_out, (blasint)e.taps,
                               (blasint)e.positions, 1, dy + (n * e.groups + g) * e.group_out * e.positions,
                               (blasint)e.positions, scratch ? scratch : image, (blasint)e.positions, n > 0,
                               dw + g * e.group_out * e.taps, (blasint)e.taps);
        }
}

static void conv_data(run *r, int layer, const float *dy, float *dx)
{
    lowered e = lowered_of(r, layer);
    const float *w = run_param_of(r, layer, 0)->data;
    float *scratch = scratch_of(r, &e);
    if (scratch)
        memset(dx, 0, (size_t)(e.images * e.groups * e.group_in * e.high * e.wide) * sizeof *dx);
    for (int64_t n = 0; n < e.images; n++)
        for (int64_t g = 0; g < e.groups; g++) {
            float *image = dx + (n * e.groups + g) * e.group_in * e.high * e.wide;
            r->openblas->sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)e.taps, (blasint)e.positions,
                               (blasint)e.group_out, 1, w + g * e.group_out * e.taps, (blasint)e.taps,
                               dy + (n * e.groups + g) * e.group_out * e.positions, (blasint)e.positions, 0,
                               scratch ? scratch : image, (blasint)e.positions);
            if (scratch)
                columns_of(r, layer, &e, NULL, scratch, image);
        }
}

/* ---- products with weights --------------------------------------------------------------------------------------- */

typedef struct matrix {
    blasint rows, in, out, step; /* step: distance between rows of the weights */
    CBLAS_TRANSPOSE weights, other;
} matrix;

static matrix matrix_of(const run *r, int layer)
{
    const run_layer *l = run_layer_of(r, layer);
    const run_shape *x = &r->net->values[l->inputs[0]].shape, *y = &r->net->values[l->output].shape;
    blasint in = (blasint)x->dims[x->rank - 1], out = (blasint)y->dims[y->rank - 1];
    return (matrix){(blasint)(x->elements / in),
                    in,
                    out,
                    l->is_turned ? in : out,
                    l->is_turned ? CblasTrans : CblasNoTrans,
                    l->is_turned ? CblasNoTrans : CblasTrans};
}

static void linear_forward(run *r, int layer)
{
    matrix m = matrix_of(r, layer);
    const run_weights *bias = run_param_of(r, layer, 1);
    float *y = run_output(r, layer)->data;
    for (int64_t n = 0; bias && n < m.rows; n++)
        memcpy(y + n * m.out, bias->data, (size_t)m.out * sizeof *y);
    r->openblas->sgemm(CblasRowMajor, CblasNoTrans, m.weights, m.rows, m.out, m.in, 1, run_plain_input(r, layer, 0),
                       m.in, run_param_of(r, layer, 0)->data, m.step, bias != NULL, y, m.out);
}

static void linear_weights(run *r, int layer, const float *dy)
{
    matrix m = matrix_of(r, layer);
    const float *x = run_plain_input(r, layer, 0);
    bool is_turned = run_layer_of(r, layer)->is_turned;
    r->openblas->sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, is_turned ? m.out : m.in, is_turned ? m.in : m.out,
                       m.rows, 1, is_turned ? dy : x, is_turned ? m.out : m.in, is_turned ? x : dy,
                       is_turned ? m.in : m.out, 0, run_param_of(r, layer, 0)->gradient, m.step);
}

static void linear_data(run *r, int layer, const float *dy, float *dx)
{
    matrix m = matrix_of(r, layer);
    r->openblas->sgemm(CblasRowMajor, CblasNoTrans, m.other, m.rows, m.in, m.out, 1, dy, m.out,
                       run_param_of(r, layer, 0)->data, m.step, 0, dx, m.in);
}

/* ---- the backend ------------------------------------------------------------------------------------------------- */

static void forward(run *r, int layer)
{
    if (run_layer_of(r, layer)->kind == RUN_CONV)
        conv_forward(r, layer);
    else
        linear_forward(r, layer);
}

static void backward_weights(run *r, int layer)
{
    const run_layer *l = run_layer_of(r, layer);
    const run_weights *bias = run_param_of(r, layer, 1);
    const float *dy = run_output(r, layer)->gradient->data;
    if (l->kind == RUN_CONV)
        conv_weights(r, layer, dy);
    else
        linear_weights(r, layer, dy);
    plain_call c = {.r = r, .layer = l, .y_shape = &r->net->values[l->output].shape, .dy = dy};
    c.db = bias ? bias->gradient : NULL;
    if (bias)
        plain_bias(&c);
}

static void backward_data(run *r, int layer)
{
    const float *dy = run_output(r, layer)->gradient->data;
    if (!run_wants(r, layer, 0))
        return;
    run_buffer *dx = run_gradient_room(r, layer, 0, true);
    if (run_layer_of(r, layer)->kind == RUN_CONV)
        conv_data(r, layer, dy, dx->data);
    else
        linear_data(r, layer, dy, dx->data);
    run_give(r, layer, 0, dx, true);
}

static const char *algorithm(const run *r, int layer)
{
    if (run_layer_of(r, layer)->kind == RUN_LINEAR)
        return "sgemm";
    return lowered_of(r, layer).is_plain ? "sgemm per image" : "im2col + sgemm per image";
}

const run_backend OPENBLAS_BACKEND = {"openblas", prepare, forward, backward_weights, backward_data, algorithm};

#endif
