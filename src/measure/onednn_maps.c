/* onednn_maps.c: norms, functions, pooling, sums, concatenation, softmax and the loss through oneDNN, in the layout of
 * their inputs. */
#ifdef SOOTH_ONEDNN
#include "measure/onednn.h"
#include "measure/plain.h"

#include <math.h>

typedef struct map {
    one_call forward, backward;
    one_md x, y;
    void *workspace;   /* data from forward to backward; softmax and loss keep their result here */
    float *statistics; /* mean and variance of a batch norm */
    bool uses_output;  /* the backward pass reads the output instead of the input */
} map;

static one_md input_md(const run *r, int layer, int i)
{
    return one_tensor(r, run_layer_of(r, layer)->inputs[i]);
}

/* Keeps the workspace that a primitive passes from forward to backward. */
static void keep_workspace(run *r, map *m)
{
    const one_md *md = one_query(r, &m->forward, dnnl_query_workspace_md);
    if (!md || !one_bytes(r, md))
        return;
    m->workspace = run_alloc(r, PART_FEATURE_MAPS, one_bytes(r, md));
    one_arg(r, &m->forward, DNNL_ARG_WORKSPACE, md);
    one_arg(r, &m->backward, DNNL_ARG_WORKSPACE, md);
}

/* ---- batch norm -------------------------------------------------------------------------------------------------- */

static bool prepare_norm(run *r, int layer, map *m)
{
    const run_layer *l = run_layer_of(r, layer);
    const unsigned flags = dnnl_use_scale | dnnl_use_shift;
    int64_t channels = m->x.dims[1];
    dnnl_batch_normalization_desc_t d;
    one_md each = one_row_major(r, 1, &channels, false);
    if (r->onednn->batch_normalization_forward_desc_init(&d, dnnl_forward_training, &m->x, (float)l->a, flags) ||
        !one_make(r, layer, &m->forward, &d, NULL))
        return false;
    if (r->onednn->batch_normalization_backward_desc_init(&d, dnnl_backward, &m->x, &m->x, (float)l->a, flags) ||
        !one_make(r, layer, &m->backward, &d, m->forward.desc))
        return false;
    one_arg(r, &m->forward, DNNL_ARG_SRC, &m->x);
    one_arg(r, &m->forward, DNNL_ARG_SCALE, &each);
    one_arg(r, &m->forward, DNNL_ARG_SHIFT, &each);
    one_arg(r, &m->forward, DNNL_ARG_MEAN, &each);
    one_arg(r, &m->forward, DNNL_ARG_VARIANCE, &each);
    one_arg(r, &m->forward, DNNL_ARG_DST, &m->x);
    one_arg(r, &m->backward, DNNL_ARG_SRC, &m->x);
    one_arg(r, &m->backward, DNNL_ARG_SCALE, &each);
    /* The primitive's backward pass does not read this input. */
    one_arg(r, &m->backward, DNNL_ARG_SHIFT, &each);
    one_arg(r, &m->backward, DNNL_ARG_MEAN, &each);
    one_arg(r, &m->backward, DNNL_ARG_VARIANCE, &each);
    one_arg(r, &m->backward, DNNL_ARG_DIFF_DST, &m->x);
    one_arg(r, &m->backward, DNNL_ARG_DIFF_SRC, &m->x);
    one_arg(r, &m->backward, DNNL_ARG_DIFF_SCALE, &each);
    one_arg(r, &m->backward, DNNL_ARG_DIFF_SHIFT, &each);
    m->statistics = run_alloc(r, PART_FEATURE_MAPS, 2 * (size_t)channels * sizeof(float));
    one_set_output(r, layer, &m->x);
    return true;
}

static void norm_forward(run *r, int layer, map *m)
{
    int64_t channels = m->x.dims[1], elements = r->net->values[run_layer_of(r, layer)->output].shape.elements;
    float *mean = m->statistics, *variance = mean + channels;
    one_run(r, &m->forward,
            (void *[]){run_input(r, layer, 0)->data, run_param_of(r, layer, 0)->data, run_param_of(r, layer, 1)->data,
                       mean, variance, run_output(r, layer)->data});
    plain_running(run_layer_of(r, layer), channels, elements / channels, mean, variance,
                  run_param_of(r, layer, 2)->data, run_param_of(r, layer, 3)->data);
}

static void norm_backward(run *r, int layer, map *m)
{
    bool wanted = run_wants(r, layer, 0);
    run_buffer *dx = wanted ? run_gradient_in_place(r, layer) : run_take(r, one_bytes(r, &m->x));
    float *mean = m->statistics;
    one_run(r, &m->backward,
            (void *[]){run_input(r, layer, 0)->data, run_param_of(r, layer, 0)->data, run_param_of(r, layer, 1)->data,
                       mean, mean + m->x.dims[1], run_output(r, layer)->gradient->data, dx->data,
                       run_param_of(r, layer, 0)->gradient, run_param_of(r, layer, 1)->gradient});
    if (wanted)
        run_give(r, layer, 0, dx, false);
    else
        run_drop(dx);
}

/* ---- functions of one element ------------------------------------------------------------------------------------ */

typedef struct function_row {
    dnnl_alg_kind_t forward, backward;
    double alpha, beta;
} function_row;

static bool function_of(const run_layer *l, function_row *row)
{
    switch (l->unary) {
    case UNARY_RELU:
        *row = (function_row){dnnl_eltwise_relu, dnnl_eltwise_relu_use_dst_for_bwd, 0, 0};
        return true;
    case UNARY_CLIP:
        *row = (function_row){dnnl_eltwise_clip_v2, dnnl_eltwise_clip_v2_use_dst_for_bwd, l->a, l->b};
        return true;
    case UNARY_LEAKY:
        *row = (function_row){dnnl_eltwise_relu, dnnl_eltwise_relu, l->a, 0};
        return true;
    case UNARY_ELU:
        *row = (function_row){dnnl_eltwise_elu, dnnl_eltwise_elu, l->a, 0};
        return true;
    case UNARY_SIGMOID:
        *row = (function_row){dnnl_eltwise_logistic, dnnl_eltwise_logistic_use_dst_for_bwd, 0, 0};
        return true;
    case UNARY_TANH:
        *row = (function_row){dnnl_eltwise_tanh, dnnl_eltwise_tanh_use_dst_for_bwd, 0, 0};
        return true;
    case UNARY_SWISH:
        *row = (function_row){dnnl_eltwise_swish, dnnl_eltwise_swish, 1, 0};
        return true;
    case UNARY_GELU:
        *row = (function_row){dnnl_eltwise_gelu_erf, dnnl_eltwise_gelu_erf, 0, 0};
        return true;
    case UNARY_HARD_SWISH:
        *row = (function_row){dnnl_eltwise_hardswish, dnnl_eltwise_hardswish, 0, 0};
        return true;
    case UNARY_HARD_SIGMOID:
        return false;
    }
    return false;
}

static bool prepare_function(run *r, int layer, map *m)
{
    function_row row;
    dnnl_eltwise_desc_t d;
    if (!function_of(run_layer_of(r, layer), &row) || !isfinite(row.alpha) || !isfinite(row.beta))
        return false;
    if (r->onednn->eltwise_forward_desc_init(&d, dnnl_forward_training, row.forward, &m->x, (float)row.alpha,
                                             (float)row.beta) ||
        !one_make(r, layer, &m->forward, &d, NULL))
        return false;
    if (r->onednn->eltwise_backward_desc_init(&d, row.backward, &m->x, &m->x, (float)row.alpha, (float)row.beta) ||
        !one_make(r, layer, &m->backward, &d, m->forward.desc))
        return false;
    m->uses_output = row.backward != row.forward;
    one_arg(r, &m->forward, DNNL_ARG_SRC, &m->x);
    one_arg(r, &m->forward, DNNL_ARG_DST, &m->x);
    one_arg(r, &m->backward, m->uses_output ? DNNL_ARG_DST : DNNL_ARG_SRC, &m->x);
    one_arg(r, &m->backward, DNNL_ARG_DIFF_DST, &m->x);
    one_arg(r, &m->backward, DNNL_ARG_DIFF_SRC, &m->x);
    one_set_output(r, layer, &m->x);
    return true;
}

/* ---- pooling, local response norm -------------------------------------------------------------------------------- */

static bool make_pool(run *r, int layer, map *m)
{
    const run_layer *l = run_layer_of(r, layer);
    const run_window *w = &l->window;
    const run_shape *y = &r->net->values[l->output].shape;
    dnnl_dims_t strides, size, before, after;
    dnnl_pooling_desc_t d;
    dnnl_alg_kind_t kind = l->kind == RUN_MAX_POOL ? dnnl_pooling_max
                           : w->counts_padding     ? dnnl_pooling_avg_include_padding
                                                   : dnnl_pooling_avg_exclude_padding;
    for (int i = 0; i < 2; i++) {
        /* PyTorch does not count padding that comes from rounding up. */
        if (w->dilation[i] != 1 || (w->counts_padding && w->after[i] > w->before[i]))
            return false;
        strides[i] = w->stride[i];
        size[i] = w->size[i];
        before[i] = w->before[i];
        after[i] = w->after[i] > 0 ? w->after[i] : 0;
    }
    one_md any = one_any(4, y->dims);
    if (r->onednn->pooling_forward_desc_init(&d, dnnl_forward_training, kind, &m->x, &any, strides, size, before,
                                             after) ||
        !one_make(r, layer, &m->forward, &d, NULL))
        return false;
    m->y = *one_query(r, &m->forward, dnnl_query_dst_md);
    return !r->onednn->pooling_backward_desc_init(&d, kind, &m->x, &m->y, strides, size, before, after) &&
           one_make(r, layer, &m->backward, &d, m->forward.desc);
}

static bool make_lrn(run *r, int layer, map *m)
{
    const run_layer *l = run_layer_of(r, layer);
    float alpha = (float)l->a, beta = (float)l->b, bias = (float)l->bias;
    dnnl_lrn_desc_t d;
    m->y = m->x;
    return !r->onednn->lrn_forward_desc_init(&d, dnnl_forward_training, dnnl_lrn_across_channels, &m->x, l->size, alpha,
                                             beta, bias) &&
           one_make(r, layer, &m->forward, &d, NULL) &&
           !r->onednn->lrn_backward_desc_init(&d, dnnl_lrn_across_channels, &m->x, &m->x, l->size, alpha, beta, bias) &&
           one_make(r, layer, &m->backward, &d, m->forward.desc);
}

static bool prepare_window(run *r, int layer, map *m)
{
    bool is_lrn = run_layer_of(r, layer)->kind == RUN_LRN;
    if (!(is_lrn ? make_lrn(r, layer, m) : make_pool(r, layer, m)))
        return false;
    one_arg(r, &m->forward, DNNL_ARG_SRC, &m->x);
    one_arg(r, &m->forward, DNNL_ARG_DST, &m->y);
    if (is_lrn)
        one_arg(r, &m->backward, DNNL_ARG_SRC, &m->x);
    one_arg(r, &m->backward, DNNL_ARG_DIFF_DST, &m->y);
    one_arg(r, &m->backward, DNNL_ARG_DIFF_SRC, &m->x);
    keep_workspace(r, m);
    one_set_output(r, layer, &m->y);
    return true;
}

/* ---- softmax and loss -------------------------------------------------------------------------------------------- */

static bool prepare_softmax(run *r, int layer, map *m)
{
    const run_layer *l = run_layer_of(r, layer);
    bool is_loss = l->kind == RUN_LOSS;
    dnnl_softmax_desc_t d;
    int axis = l->axis;
    if (is_loss ? r->onednn->logsoftmax_forward_desc_init(&d, dnnl_forward_training, &m->x, axis)
                : r->onednn->softmax_forward_desc_init(&d, dnnl_forward_training, &m->x, axis))
        return false;
    if (!one_make(r, layer, &m->forward, &d, NULL))
        return false;
    if (is_loss ? r->onednn->logsoftmax_backward_desc_init(&d, &m->x, &m->x, axis)
                : r->onednn->softmax_backward_desc_init(&d, &m->x, &m->x, axis))
        return false;
    if (!one_make(r, layer, &m->backward, &d, m->forward.desc))
        return false;
    one_arg(r, &m->forward, DNNL_ARG_SRC, &m->x);
    one_arg(r, &m->forward, DNNL_ARG_DST, &m->x);
    one_arg(r, &m->backward, DNNL_ARG_DST, &m->x);
    one_arg(r, &m->backward, DNNL_ARG_DIFF_DST, &m->x);
    one_arg(r, &m->backward, DNNL_ARG_DIFF_SRC, &m->x);
    if (is_loss)
        m->workspace = run_alloc(r, PART_FEATURE_MAPS, one_bytes(r, &m->x));
    else
        one_set_output(r, layer, &m->x);
    return true;
}

static void loss_forward(run *r, int layer, map *m)
{
    const float *result = m->workspace;
    double loss = 0;
    one_run(r, &m->forward, (void *[]){run_input(r, layer, 0)->data, m->workspace});
    for (int64_t n = 0; n < r->net->batch; n++)
        loss -= result[n * r->net->classes + r->labels[n]];
    r->loss = loss / (double)r->net->batch;
}

static void loss_backward(run *r, int layer, map *m)
{
    run_buffer *dx = run_gradient_room(r, layer, 0, false), *dy = run_take(r, dx->bytes);
    memset(dy->data, 0, one_bytes(r, &m->x));
    for (int64_t n = 0; n < r->net->batch; n++)
        dy->data[n * r->net->classes + r->labels[n]] = -1 / (float)r->net->batch;
    one_run(r, &m->backward, (void *[]){m->workspace, dy->data, dx->data});
    run_drop(dy);
    run_give(r, layer, 0, dx, false);
}

/* ---- sums and concatenation -------------------------------------------------------------------------------------- */

static bool prepare_sum(run *r, int layer, map *m)
{
    const run_layer *l = run_layer_of(r, layer);
    const run_shape *a = &r->net->values[l->inputs[0]].shape, *b = &r->net->values[l->inputs[1]].shape;
    one_md operands[2] = {input_md(r, layer, 0), input_md(r, layer, 1)};
    dnnl_primitive_desc_t desc = NULL;
    /* Both operands share the gradient, so they must have the layout of the sum. */
    if (a->elements != b->elements || !one_same(r, &operands[0], &operands[1]))
        return false;
    dnnl_status_t status = r->onednn->sum_primitive_desc_create(&desc, &operands[0], 2, (float[]){1, 1}, operands,
                                                                r->onednn->attributes, r->onednn->engine);
    if (!one_make_of(r, layer, &m->forward, status, desc))
        return false;
    one_arg(r, &m->forward, DNNL_ARG_MULTIPLE_SRC, &operands[0]);
    one_arg(r, &m->forward, DNNL_ARG_MULTIPLE_SRC + 1, &operands[1]);
    one_arg(r, &m->forward, DNNL_ARG_DST, &operands[0]);
    one_set_output(r, layer, &operands[0]);
    return true;
}

static void sum_backward(run *r, int layer)
{
    run_buffer *dy = run_output(r, layer)->gradient;
    for (int i = 0; i < 2; i++)
        if (run_wants(r, layer, i)) {
            dy->references++;
            run_give(r, layer, i, dy, false);
        }
}

/* Returns the descriptor of operand i inside the joined tensor. */
static bool part_md(const run *r, int layer, int i, const one_md *joined, one_md *part)
{
    const run_layer *l = run_layer_of(r, layer);
    const run_shape *shape = &r->net->values[l->inputs[i]].shape;
    dnnl_dims_t offsets = {0}, sizes = {0};
    memcpy(sizes, shape->dims, sizeof shape->dims);
    for (int k = 0; k < i; k++)
        offsets[l->axis] += r->net->values[l->inputs[k]].shape.dims[l->axis];
    return r->onednn->memory_desc_init_submemory(part, joined, sizes, offsets) == dnnl_success;
}

static bool prepare_concat(run *r, int layer, map *m)
{
    const run_layer *l = run_layer_of(r, layer);
    dnnl_primitive_desc_t desc = NULL;
    if (l->input_count > ONE_ARGS - 2)
        return false;
    one_md parts[ONE_ARGS];
    for (int i = 0; i < l->input_count; i++)
        parts[i] = input_md(r, layer, i);
    dnnl_status_t status = r->onednn->concat_primitive_desc_create(&desc, NULL, l->input_count, l->axis, parts,
                                                                   r->onednn->attributes, r->onednn->engine);
    if (!one_make_of(r, layer, &m->forward, status, desc))
        return false;
    m->y = *one_query(r, &m->forward, dnnl_query_dst_md);
    for (int i = 0; i < l->input_count; i++) {
        one_md part;
        if (!part_md(r, layer, i, &m->y, &part))
            return false;
        one_arg(r, &m->forward, DNNL_ARG_MULTIPLE_SRC + i, &parts[i]);
    }
    one_arg(r, &m->forward, DNNL_ARG_DST, &m->y);
    one_set_output(r, layer, &m->y);
    return true;
}

static void concat_forward(run *r, int layer, map *m)
{
    void *data[ONE_ARGS];
    int count = run_layer_of(r, layer)->input_count;
    for (int i = 0; i < count; i++)
        data[i] = run_input(r, layer, i)->data;
    data[count] = run_output(r, layer)->data;
    one_run(r, &m->forward, data);
}

static void concat_backward(run *r, int layer, const map *m)
{
    for (int i = 0; i < run_layer_of(r, layer)->input_count; i++) {
        one_md from, to = input_md(r, layer, i);
        if (!run_wants(r, layer, i) || !part_md(r, layer, i, &m->y, &from))
            continue;
        run_buffer *dx = run_gradient_room(r, layer, i, false);
        one_copy(r, &from, run_output(r, layer)->gradient->data, &to, dx->data);
        run_give(r, layer, i, dx, false);
    }
}

/* ---- the backend ------------------------------------------------------------------------------------------------- */

static bool prepare(run *r, int layer)
{
    map *m = ARENA_NEW(r->arena, map);
    m->x = input_md(r, layer, 0);
    r->states[layer] = m;
    switch (run_layer_of(r, layer)->kind) {
    case RUN_BATCH_NORM:
        return prepare_norm(r, layer, m);
    case RUN_UNARY:
        return prepare_function(r, layer, m);
    case RUN_MAX_POOL:
    case RUN_AVERAGE_POOL:
    case RUN_LRN:
        return prepare_window(r, layer, m);
    case RUN_SUM:
        return prepare_sum(r, layer, m);
    case RUN_CONCAT:
        return prepare_concat(r, layer, m);
    case RUN_SOFTMAX:
    case RUN_LOSS:
        return prepare_softmax(r, layer, m);
    default:
        return false;
    }
}

static void forward(run *r, int layer)
{
    map *m = r->states[layer];
    switch (run_layer_of(r, layer)->kind) {
    case RUN_BATCH_NORM:
        norm_forward(r, layer, m);
        break;
    case RUN_SUM:
        one_run(r, &m->forward,
                (void *[]){run_input(r, layer, 0)->data, run_input(r, layer, 1)->data, run_output(r, layer)->data});
        break;
    case RUN_CONCAT:
        concat_forward(r, layer, m);
        break;
    case RUN_LOSS:
        loss_forward(r, layer, m);
        break;
    default:
        one_run(r, &m->forward, (void *[]){run_input(r, layer, 0)->data, run_output(r, layer)->data, m->workspace});
        break;
    }
}

/* Sets up layers with one input: what backward reads, gradients, and the workspace. */
static void single_backward(run *r, int layer, map *m)
{
    if (!run_wants(r, layer, 0))
        return;
    run_kind kind = run_layer_of(r, layer)->kind;
    bool is_pool = kind == RUN_MAX_POOL || kind == RUN_AVERAGE_POOL;
    bool reads_output = m->uses_output || kind == RUN_SOFTMAX;
    run_buffer *dx = kind == RUN_UNARY ? run_gradient_in_place(r, layer) : run_gradient_room(r, layer, 0, false);
    float *dy = run_output(r, layer)->gradient->data;
    void *data[] = {reads_output ? run_output(r, layer)->data : run_input(r, layer, 0)->data, dy, dx->data,
                    m->workspace};
    one_run(r, &m->backward, data + is_pool);
    run_give(r, layer, 0, dx, false);
}

static void backward_data(run *r, int layer)
{
    map *m = r->states[layer];
    switch (run_layer_of(r, layer)->kind) {
    case RUN_BATCH_NORM:
        norm_backward(r, layer, m);
        break;
    case RUN_SUM:
        sum_backward(r, layer);
        break;
    case RUN_CONCAT:
        concat_backward(r, layer, m);
        break;
    case RUN_LOSS:
        loss_backward(r, layer, m);
        break;
    default:
        single_backward(r, layer, m);
        break;
    }
}

const run_backend ONEDNN_MAPS = {"onednn", prepare, forward, NULL, backward_data, NULL};

#else
typedef int onednn_is_absent; /* C requires at least one declaration per file. */
#endif
