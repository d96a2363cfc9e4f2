/* onednn_products.c: convolutions and products with weights through oneDNN, in the layouts that it prefers. Tensors
 * keep the layout of the previous layer, and are copied if a primitive needs another one. */
#ifdef SOOTH_ONEDNN
#include "measure/onednn.h"
#include "measure/plain.h"

typedef struct product {
    one_call forward, data, weights;
    one_md x, y, w;   /* layouts of tensors and parameters in memory */
    one_md x_forward; /* layout in which the forward pass reads x */
    float *x_copy;    /* copy of x in that layout; NULL if x has it already */
    one_md dx, dy_data, w_data;
    one_md x_weights, dy_weights, dw;
} product;

typedef union descriptor {
    dnnl_convolution_desc_t conv;
    dnnl_inner_product_desc_t linear;
} descriptor;

typedef struct shapes {
    bool is_conv, has_bias;
    int x_rank, w_rank;
    int64_t x[RUN_RANK], y[RUN_RANK], w[RUN_RANK];
    dnnl_dims_t strides, dilations, before, after;
} shapes;

/* Logical dimensions in oneDNN's terms: grouped weights have the groups first, products have (rows, columns). */
static shapes shapes_of(const run *r, int layer)
{
    const run_layer *l = run_layer_of(r, layer);
    const run_shape *x = &r->net->values[l->inputs[0]].shape, *y = &r->net->values[l->output].shape;
    const run_shape *w = &r->net->params[l->params[0]].shape;
    shapes s = {.is_conv = l->kind == RUN_CONV, .has_bias = l->params[1] != NO_RUN};
    if (!s.is_conv) {
        int64_t in = x->dims[x->rank - 1], out = y->dims[y->rank - 1];
        s.x_rank = s.w_rank = 2;
        s.x[0] = s.y[0] = x->elements / in;
        s.x[1] = s.w[1] = in;
        s.y[1] = s.w[0] = out;
        return s;
    }
    int64_t groups = l->window.groups;
    int first = groups > 1;
    s.x_rank = 4;
    s.w_rank = 4 + first;
    memcpy(s.x, x->dims, sizeof s.x);
    memcpy(s.y, y->dims, sizeof s.y);
    s.w[0] = groups;
    s.w[first] = w->dims[0] / groups;
    for (int i = 1; i < 4; i++)
        s.w[first + i] = w->dims[i];
    for (int i = 0; i < 2; i++) {
        s.strides[i] = l->window.stride[i];
        s.dilations[i] = l->window.dilation[i] - 1;
        s.before[i] = l->window.before[i];
        s.after[i] = l->window.after[i] > 0 ? l->window.after[i] : 0;
    }
    return s;
}

static bool make_forward(run *r, int layer, product *p, const shapes *s)
{
    descriptor d;
    one_md x = one_any(s->x_rank, s->x), y = one_any(s->x_rank, s->y), w = one_any(s->w_rank, s->w);
    one_md bias = one_row_major(r, 1, &s->y[1], false), *b = s->has_bias ? &bias : NULL;
    dnnl_status_t status =
        s->is_conv ? r->onednn->dilated_convolution_forward_desc_init(&d.conv, dnnl_forward_training,
                                                                      dnnl_convolution_direct, &x, &w, b, &y,
                                                                      s->strides, s->dilations, s->before, s->after)
                   : r->onednn->inner_product_forward_desc_init(&d.linear, dnnl_forward_training, &x, &w, b, &y);
    if (status != dnnl_success || !one_make(r, layer, &p->forward, &d, NULL))
        return false;
    p->x_forward = *one_query(r, &p->forward, dnnl_query_src_md);
    p->w = *one_query(r, &p->forward, dnnl_query_weights_md);
    p->y = *one_query(r, &p->forward, dnnl_query_dst_md);
    one_arg(r, &p->forward, DNNL_ARG_SRC, &p->x_forward);
    one_arg(r, &p->forward, DNNL_ARG_WEIGHTS, &p->w);
    if (b)
        one_arg(r, &p->forward, DNNL_ARG_BIAS, b);
    one_arg(r, &p->forward, DNNL_ARG_DST, &p->y);
    return true;
}

static bool make_data(run *r, int layer, product *p, const shapes *s)
{
    descriptor d;
    one_md x = one_any(s->x_rank, s->x), y = one_any(s->x_rank, s->y), w = one_any(s->w_rank, s->w);
    dnnl_status_t status =
        s->is_conv ? r->onednn->dilated_convolution_backward_data_desc_init(
                         &d.conv, dnnl_convolution_direct, &x, &w, &y, s->strides, s->dilations, s->before, s->after)
                   : r->onednn->inner_product_backward_data_desc_init(&d.linear, &x, &w, &y);
    if (status != dnnl_success || !one_make(r, layer, &p->data, &d, p->forward.desc))
        return false;
    p->dx = *one_query(r, &p->data, dnnl_query_diff_src_md);
    p->w_data = *one_query(r, &p->data, dnnl_query_weights_md);
    p->dy_data = *one_query(r, &p->data, dnnl_query_diff_dst_md);
    one_arg(r, &p->data, DNNL_ARG_DIFF_DST, &p->dy_data);
    one_arg(r, &p->data, DNNL_ARG_WEIGHTS, &p->w_data);
    one_arg(r, &p->data, DNNL_ARG_DIFF_SRC, &p->dx);
    return true;
}

static bool make_weights(run *r, int layer, product *p, const shapes *s)
{
    descriptor d;
    one_md x = one_any(s->x_rank, s->x), y = one_any(s->x_rank, s->y), w = one_any(s->w_rank, s->w);
    one_md bias = one_row_major(r, 1, &s->y[1], false), *b = s->has_bias ? &bias : NULL;
    dnnl_status_t status =
        s->is_conv ? r->onednn->dilated_convolution_backward_weights_desc_init(
                         &d.conv, dnnl_convolution_direct, &x, &w, b, &y, s->strides, s->dilations, s->before, s->after)
                   : r->onednn->inner_product_backward_weights_desc_init(&d.linear, &x, &w, b, &y);
    if (status != dnnl_success || !one_make(r, layer, &p->weights, &d, p->forward.desc))
        return false;
    p->x_weights = *one_query(r, &p->weights, dnnl_query_src_md);
    p->dw = *one_query(r, &p->weights, dnnl_query_diff_weights_md);
    p->dy_weights = *one_query(r, &p->weights, dnnl_query_diff_dst_md);
    one_arg(r, &p->weights, DNNL_ARG_DIFF_DST, &p->dy_weights);
    one_arg(r, &p->weights, DNNL_ARG_SRC, &p->x_weights);
    one_arg(r, &p->weights, DNNL_ARG_DIFF_WEIGHTS, &p->dw);
    if (b)
        one_arg(r, &p->weights, DNNL_ARG_DIFF_BIAS, b);
    return true;
}

static bool prepare(run *r, int layer)
{
    const run_layer *l = run_layer_of(r, layer);
    if (l->params[0] == NO_RUN)
        return false;
    shapes s = shapes_of(r, layer);
    const run_shape *x = &r->net->values[l->inputs[0]].shape;
    product *p = ARENA_NEW(r->arena, product);
    /* A product over the last of more than two dimensions works on rows, so tensors must be row-major. */
    bool is_folded = !s.is_conv && x->rank != 2;
    if (is_folded && r->tensors[l->inputs[0]].layout)
        return false;
    if (!make_forward(r, layer, p, &s) || !make_weights(r, layer, p, &s) ||
        (run_wants(r, layer, 0) && !make_data(r, layer, p, &s)))
        return false;
    one_md plain_y = one_row_major(r, s.x_rank, s.y, false);
    if (is_folded && !one_same(r, &p->y, &plain_y))
        return false;
    p->x = is_folded ? one_row_major(r, 2, s.x, false) : one_tensor(r, l->inputs[0]);
    one_md plain_w = one_row_major(r, s.w_rank, s.w, !s.is_conv && !l->is_turned);
    r->weights[l->params[0]].layout = one_layout(r, &p->w, &plain_w);
    if (!is_folded)
        one_set_output(r, layer, &p->y);
    if (!one_same(r, &p->x, &p->x_forward))
        p->x_copy = run_alloc(r, PART_FEATURE_MAPS, one_bytes(r, &p->x_forward));
    r->states[layer] = p;
    return true;
}

static void forward(run *r, int layer)
{
    product *p = r->states[layer];
    const run_weights *bias = run_param_of(r, layer, 1);
    const run_tensor *x = run_input(r, layer, 0);
    if (p->x_copy)
        one_copy(r, &p->x, x->data, &p->x_forward, p->x_copy);
    void *data[4] = {p->x_copy ? p->x_copy : x->data, run_param_of(r, layer, 0)->data};
    int count = 2;
    if (bias)
        data[count++] = bias->data;
    data[count] = run_output(r, layer)->data;
    one_run(r, &p->forward, data);
}

/* Returns the tensor in another layout: the same memory, or a copy, to which *copy then points. */
static void *in_layout(run *r, const one_md *from, float *data, const one_md *to, run_buffer **copy)
{
    *copy = NULL;
    if (one_same(r, from, to))
        return data;
    *copy = run_take(r, one_bytes(r, to));
    one_copy(r, from, data, to, (*copy)->data);
    return (*copy)->data;
}

static void drop(run_buffer *buffer)
{
    if (buffer)
        run_drop(buffer);
}

static void backward_weights(run *r, int layer)
{
    product *p = r->states[layer];
    const run_weights *bias = run_param_of(r, layer, 1), *w = run_param_of(r, layer, 0);
    run_buffer *dy_copy, *x_copy, *dw_copy = NULL;
    void *data[4];
    data[0] = in_layout(r, &p->y, run_output(r, layer)->gradient->data, &p->dy_weights, &dy_copy);
    data[1] = in_layout(r, p->x_copy ? &p->x_forward : &p->x, p->x_copy ? p->x_copy : run_input(r, layer, 0)->data,
                        &p->x_weights, &x_copy);
    data[2] = w->gradient;
    if (!one_same(r, &p->dw, &p->w)) {
        dw_copy = run_take(r, one_bytes(r, &p->dw));
        data[2] = dw_copy->data;
    }
    data[3] = bias ? bias->gradient : NULL;
    one_run(r, &p->weights, data);
    if (dw_copy)
        one_copy(r, &p->dw, dw_copy->data, &p->w, w->gradient);
    drop(dy_copy);
    drop(x_copy);
    drop(dw_copy);
}

static void backward_data(run *r, int layer)
{
    product *p = r->states[layer];
    if (!p->data.primitive)
        return;
    run_buffer *dy_copy, *w_copy, *dx = run_gradient_room(r, layer, 0, false);
    bool is_direct = one_same(r, &p->dx, &p->x);
    run_buffer *raw = is_direct ? NULL : run_take(r, one_bytes(r, &p->dx));
    void *data[3];
    data[0] = in_layout(r, &p->y, run_output(r, layer)->gradient->data, &p->dy_data, &dy_copy);
    data[1] = in_layout(r, &p->w, run_param_of(r, layer, 0)->data, &p->w_data, &w_copy);
    data[2] = is_direct ? dx->data : raw->data;
    one_run(r, &p->data, data);
    if (raw)
        one_copy(r, &p->dx, raw->data, &p->x, dx->data);
    drop(raw);
    drop(dy_copy);
    drop(w_copy);
    run_give(r, layer, 0, dx, false);
}

const run_backend ONEDNN_PRODUCTS = {"onednn", prepare, forward, backward_weights, backward_data, NULL};

#else
typedef int onednn_is_absent; /* C requires at least one declaration per file. */
#endif
