/* backward_rules_products.c: gradients of matrix products, attention, convolutions, pooling and normalization. */
#include "lower/train/backward.h"

static kernel *last_kernel(eager *e)
{
    return &e->out->kernels.items[e->out->kernels.count - 1];
}

static int64_t scaled(int64_t n, double by)
{
    double x = (double)n * by;
    return n == INT64_MAX || x > 9e18 ? INT64_MAX : (int64_t)x;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* True if the matrix is column-major. */
static bool is_turned(const extent *x)
{
    return x->strides[0] == 1 && x->strides[1] == x->dims[0];
}

/* Casts float32 to autocast's type, which autograd does not do for saved tensors. */
static tensor_id lowered(eager *e, tensor_id t)
{
    return e->autocasts && tensor_dtype(e, t) == DT_FLOAT32 ? eager_cast(e, t, e->low) : t;
}

tensor_id back_product_of(eager *e, tensor_id a, tensor_id c)
{
    a = lowered(e, a);
    c = lowered(e, c);
    return tensor_at(e, a)->rank == 3 ? eager_batched_product(e, a, c) : eager_matmul(e, a, c, false);
}

/* Computes the gradient of a factor. It is transposed in memory if the factor is. */
void back_mm(backward *b)
{
    eager *e = b->e;
    int first = b->k.input_count - 2; /* A bias precedes the two factors. */
    tensor_id a = b->k.inputs[first], c = b->k.inputs[first + 1];
    extent xa = tensor_extent(e, a), xc = tensor_extent(e, c);
    tensor_id da = NO_TENSOR, dc = NO_TENSOR;
    if (back_wants(b, first))
        da = is_turned(&xa) ? eager_transpose_last(e, back_product_of(e, c, eager_transpose_last(e, b->dy)))
                            : back_product_of(e, b->dy, eager_transpose_last(e, c));
    if (back_wants(b, first + 1))
        dc = is_turned(&xc) ? eager_transpose_last(e, back_product_of(e, eager_transpose_last(e, b->dy), a))
                            : back_product_of(e, eager_transpose_last(e, a), b->dy);
    if (first > 0)
        back_give(b, 0, b->dy);
    back_give(b, first, da);
    back_give(b, first + 1, dc);
}

void back_bmm(backward *b)
{
    eager *e = b->e;
    tensor_id a = b->k.inputs[0], c = b->k.inputs[1], da = NO_TENSOR, dc = NO_TENSOR;
    if (back_wants(b, 0))
        da = back_product_of(e, b->dy, eager_transpose_last(e, c));
    if (back_wants(b, 1))
        dc = back_product_of(e, eager_transpose_last(e, a), b->dy);
    back_give(b, 0, da);
    back_give(b, 1, dc);
}

/* A sum with a batch of products; the products have a factor if the node's rule wrote one. */
void back_baddbmm(backward *b)
{
    eager *e = b->e;
    if (b->k.input_count < 3)
        return;
    const node *product = e->node ? eager_maker_of(e, e->node->inputs[0], "Mul") : NULL;
    tensor_id a = b->k.inputs[1], c = b->k.inputs[2], dy = b->dy, da = NO_TENSOR, dc = NO_TENSOR;
    if (back_wants(b, 1))
        da = back_product_of(e, dy, eager_transpose_last(e, c));
    if (back_wants(b, 2))
        dc = back_product_of(e, eager_transpose_last(e, a), dy);
    back_give(b, 0, dy);
    back_give(b, 1, product && da != NO_TENSOR ? back_work(e, "mul", &da, 1, tensor_dtype(e, da), 1) : da);
    back_give(b, 2, product && dc != NO_TENSOR ? back_work(e, "mul", &dc, 1, tensor_dtype(e, dc), 1) : dc);
}

/* Gradient of attention: five products, because the scores are computed again; the forward pass has two. */
void back_attention(backward *b)
{
    eager *e = b->e;
    bool is_flash = strcmp(b->k.op, "_scaled_dot_product_flash_attention") == 0;
    const tensor_id *in = b->k.inputs;
    bool has_bias = b->k.input_count > 3;
    tensor_id inputs[7] = {b->dy, in[0], in[1], in[2], has_bias ? in[3] : NO_TENSOR, b->k.outputs[0], NO_TENSOR};
    if (b->k.output_count > 1)
        inputs[6] = b->k.outputs[1];
    const char *op =
        is_flash ? "_scaled_dot_product_flash_attention_backward" : "_scaled_dot_product_efficient_attention_backward";
    tensor_id made[4] = {NO_TENSOR, NO_TENSOR, NO_TENSOR, NO_TENSOR};
    for (int i = 0; i < 3; i++) {
        extent x = tensor_extent(e, in[i]), order = x;
        if (is_flash)
            extent_preserve(&x, &order);
        else
            extent_heads_last(&x);
        dtype type = tensor_dtype(e, in[i]);
        made[i] = i == 0 ? eager_launch_new(e, op, inputs, 7, type, &x) : eager_add_output(e, type, &x);
    }
    if (has_bias && back_wants(b, 3))
        made[3] = back_add_output_like(e, tensor_dtype(e, in[3]), in[3]);
    kernel *k = last_kernel(e);
    k->macs = scaled(b->k.macs, 2.5);
    k->flops = scaled(b->k.flops, 2.5);
    for (int i = 0; i < b->k.input_count; i++)
        back_give(b, i, made[i]);
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

void back_convolution(backward *b)
{
    eager *e = b->e;
    tensor_id x = b->k.inputs[0], w = b->k.inputs[1], inputs[3] = {b->dy, x, w};
    extent xx = tensor_extent(e, x), xw = tensor_extent(e, w);
    bool last = extent_suggests_channels_last(&xx) || extent_suggests_channels_last(&xw);
    if (last) {
        extent_channels_last(&xx);
        extent_channels_last(&xw);
    } else {
        extent_contiguous(&xx);
        extent_contiguous(&xw);
    }
    dtype type = tensor_dtype(e, b->dy);
    tensor_id dx = NO_TENSOR, dw = NO_TENSOR, bias = NO_TENSOR;
    if (back_wants(b, 0)) {
        dx = eager_launch_new(e, "convolution_backward", inputs, 3, type, &xx);
        dw = back_wants(b, 1) ? eager_add_output(e, type, &xw) : NO_TENSOR;
    } else if (back_wants(b, 1)) {
        dw = eager_launch_new(e, "convolution_backward", inputs, 3, type, &xw);
    } else {
        return;
    }
    if (back_wants(b, 2))
        bias = back_add_output_like(e, type, b->k.inputs[2]);
    int count = (dx != NO_TENSOR) + (dw != NO_TENSOR);
    kernel *k = last_kernel(e);
    k->window = b->k.window;
    k->macs = scaled(b->k.macs, count);
    k->flops = scaled(b->k.flops, count);
    back_give(b, 0, dx);
    back_give(b, 1, dw);
    back_give(b, 2, bias);
}

/* ---- pooling and resampling -------------------------------------------------------------------------------------- */

void back_pool(backward *b)
{
    eager *e = b->e;
    tensor_id x = b->k.inputs[0], inputs[3] = {b->dy, x, b->k.output_count > 1 ? b->k.outputs[1] : NO_TENSOR};
    extent xx = tensor_extent(e, x);
    if (extent_suggests_channels_last(&xx))
        extent_channels_last(&xx);
    else
        extent_contiguous(&xx);
    str op = arena_printf(e->arena, "%s_backward", b->k.op);
    tensor_id made = eager_launch_new(e, op.ptr, inputs, 3, tensor_dtype(e, b->dy), &xx);
    last_kernel(e)->window = b->k.window;
    last_kernel(e)->flops = b->k.flops;
    back_give(b, 0, made);
}

void back_resample(backward *b)
{
    eager *e = b->e;
    str op = arena_printf(e->arena, "%s_backward", b->k.op);
    tensor_id like = b->k.inputs[0];
    extent xx = tensor_extent(e, b->dy), x = tensor_extent(e, like);
    bool keeps_layout = strcmp(b->k.op, "upsample_bicubic2d") != 0;
    if (keeps_layout && extent_suggests_channels_last(&xx))
        extent_channels_last(&x);
    else
        extent_contiguous(&x);
    tensor_id made = eager_launch_new(e, op.ptr, &b->dy, 1, tensor_dtype(e, b->dy), &x);
    last_kernel(e)->flops = b->k.flops;
    back_give(b, 0, made);
}

/* ---- normalisation ----------------------------------------------------------------------------------------------- */

/* One kernel computes the gradients of the input and of both weights. */
static void back_normalised(backward *b, const char *op, tensor_id dy, tensor_id like)
{
    eager *e = b->e;
    tensor_id inputs[9] = {dy};
    int count = 1;
    for (int i = 0; i < b->k.input_count && count < 7; i++)
        inputs[count++] = b->k.inputs[i];
    for (int i = 1; i < b->k.output_count && count < 9; i++)
        inputs[count++] = b->k.outputs[i];
    tensor_id x = b->k.inputs[0], made[3] = {NO_TENSOR, NO_TENSOR, NO_TENSOR};
    if (back_wants(b, 0) || b->k.input_count < 2)
        made[0] = back_launch_like(e, op, inputs, count, tensor_dtype(e, x), like);
    for (int i = 1; i < b->k.input_count && i < 3; i++) {
        tensor_id parameter = b->k.inputs[i];
        made[i] = made[0] == NO_TENSOR && i == 1
                      ? back_launch_like(e, op, inputs, count, tensor_dtype(e, parameter), parameter)
                      : back_add_output_like(e, tensor_dtype(e, parameter), parameter);
    }
    last_kernel(e)->flops = scaled(b->k.flops, 2);
    for (int i = 0; i < 3; i++)
        back_give(b, i, made[i]);
}

/* Gradient of a batch norm. Converts dy to the layout of the input. */
void back_batch_norm(backward *b)
{
    eager *e = b->e;
    extent x = tensor_extent(e, b->k.inputs[0]), dy = tensor_extent(e, b->dy);
    bool is_cudnn = strcmp(b->k.op, "cudnn_batch_norm") == 0;
    tensor_id t = b->dy;
    if (is_cudnn && extent_suggests_channels_last(&x) && !extent_is_channels_last(&dy)) {
        extent_channels_last(&x);
        t = eager_launch_new(e, "clone", &t, 1, tensor_dtype(e, t), &x);
    } else if (is_cudnn && !extent_suggests_channels_last(&x)) {
        t = eager_contiguous(e, t);
    }
    back_normalised(b, is_cudnn ? "cudnn_batch_norm_backward" : "native_batch_norm_backward", t, b->k.inputs[0]);
}

/* The gradient of a layer norm's input has the layout of dy. If group norm requires contiguous memory, its gradient
 * is copied too. */
void back_norm(backward *b)
{
    str op = arena_printf(b->e->arena, "%s_backward", b->k.op);
    bool is_layer_norm = strcmp(b->k.op, "native_layer_norm") == 0;
    bool copies = b->e->options->contiguous_norms && strcmp(b->k.op, "native_group_norm") == 0;
    tensor_id dy = copies ? eager_contiguous(b->e, b->dy) : b->dy;
    back_normalised(b, op.ptr, dy, is_layer_norm ? dy : b->k.inputs[0]);
}

/* ---- loss -------------------------------------------------------------------------------------------------------- */

void back_loss(backward *b)
{
    eager *e = b->e;
    bool is_map = strcmp(b->k.op, "nll_loss2d_forward") == 0;
    tensor_id inputs[3] = {b->dy, b->k.inputs[0], b->k.inputs[1]};
    back_give(b, 0,
              back_launch_like(e, is_map ? "nll_loss2d_backward" : "nll_loss_backward", inputs, 3,
                               tensor_dtype(e, b->k.inputs[0]), b->k.inputs[0]));
}
