/* torch_aten_window.c: sliding-window operators, in the form that PyTorch's ONNX exporter writes and lowering
 * recognizes. */
#include "front/torch/torch.h"

enum { MAX_WINDOWS = 256, MAX_PLACES = 1 << 16 };

static void give_up(torch_call *c)
{
    torch_return_foreign(c, DT_UNKNOWN, RANK_UNKNOWN, NULL);
}

/* Returns the positions of an axis that the windows cover: (kernel, windows). */
static value_id places(torch *t, num kernel, num windows, num stride, num dilation)
{
    num *table = ARENA_ARRAY(t->arena, num, (size_t)(kernel * windows));
    for (num k = 0; k < kernel; k++)
        for (num i = 0; i < windows; i++)
            table[k * windows + i] = k * dilation + i * stride;
    value_id flat = torch_const_ints(t, table, (int)(kernel * windows));
    return torch_reshape(t, flat, (const num[]){kernel, windows}, 2);
}

/* F.unfold: (N, C, H, W) → (N, C * kernel, windows). */
static void rule_im2col(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    num kernel[2], dilation[2], padding[2], stride[2], windows[2];
    bool is_known = torch_rank(t, x) == 4 && torch_arg_sizes(c, 1, kernel, 2, 1) &&
                    torch_arg_sizes(c, 2, dilation, 2, 1) && torch_arg_sizes(c, 3, padding, 2, 0) &&
                    torch_arg_sizes(c, 4, stride, 2, 1);
    for (int i = 0; i < 2 && is_known; i++) {
        num size = torch_dim(t, x, 2 + i);
        is_known = dim_known(size) && size < MAX_PLACES && kernel[i] > 0 && kernel[i] < MAX_PLACES && stride[i] > 0 &&
                   dilation[i] > 0 && dilation[i] < MAX_PLACES && padding[i] >= 0 && padding[i] < MAX_PLACES;
        num room = is_known ? size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1 : -1;
        is_known = room >= 0;
        windows[i] = is_known ? room / stride[i] + 1 : 0;
        is_known = is_known && kernel[i] * windows[i] <= MAX_PLACES;
    }
    if (!is_known) {
        give_up(c);
        return;
    }
    num batch = torch_dim(t, x, 0), channels = torch_dim(t, x, 1);
    if (padding[0] || padding[1]) {
        const num pads[8] = {0, 0, padding[0], padding[1], 0, 0, padding[0], padding[1]};
        x = torch_emit2(t, "Pad", x, torch_const_ints(t, pads, 8));
    }
    x = torch_gather(t, x, places(t, kernel[0], windows[0], stride[0], dilation[0]), 2);
    x = torch_gather(t, x, places(t, kernel[1], windows[1], stride[1], dilation[1]), 4);
    x = torch_transpose(t, x, (const int64_t[]){0, 1, 2, 4, 3, 5}, 6);
    const num dims[3] = {batch, num_mul(t->nums, channels, kernel[0] * kernel[1]), windows[0] * windows[1]};
    torch_return(c, torch_reshape(t, x, dims, 3));
}

/* F.fold, the inverse of F.unfold. */
static void rule_col2im(torch_call *c)
{
    torch *t = c->torch;
    num image[2], kernel[2], dilation[2], padding[2], stride[2];
    if (!torch_arg_sizes(c, 1, image, 2, 1) || !torch_arg_sizes(c, 2, kernel, 2, 1) ||
        !torch_arg_sizes(c, 3, dilation, 2, 1) || !torch_arg_sizes(c, 4, padding, 2, 0) ||
        !torch_arg_sizes(c, 5, stride, 2, 1)) {
        give_up(c);
        return;
    }
    torch_node n = torch_begin(t, "Col2Im");
    torch_in(&n, torch_arg_tensor(c, 0));
    torch_in(&n, torch_const_ints(t, image, 2));
    torch_in(&n, torch_const_ints(t, kernel, 2));
    torch_attr_ints(&n, "dilations", dilation, 2);
    torch_attr_ints(&n, "pads", (const int64_t[]){padding[0], padding[1], padding[0], padding[1]}, 4);
    torch_attr_ints(&n, "strides", stride, 2);
    torch_return(c, torch_end(&n));
}

/* x.unfold(axis, size, step): (…, D, …) → (…, windows, …, size). */
static void rule_unfold(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), windows[MAX_WINDOWS];
    int rank = torch_rank(t, x), axis = torch_axis(torch_arg_int(c, 1, 0), rank);
    num size = torch_arg_int(c, 2, 1), step = torch_arg_int(c, 3, 1), whole = torch_dim(t, x, axis);
    bool is_known = axis >= 0 && rank < MAX_RANK - 1 && dim_known(whole) && dim_known(size) && dim_known(step) &&
                    size > 0 && step > 0 && size <= whole && (whole - size) / step < MAX_WINDOWS;
    if (!is_known) {
        give_up(c);
        return;
    }
    int64_t order[MAX_RANK];
    for (int i = 0; i < rank; i++)
        order[i] = i < axis ? i : i < rank - 1 ? i + 1 : axis;
    int count = (int)((whole - size) / step) + 1;
    for (int i = 0; i < count; i++) {
        value_id part = torch_slice(t, x, axis, i * step, i * step + size, 1);
        if (axis < rank - 1)
            part = torch_transpose(t, part, order, rank);
        windows[i] = torch_unsqueeze(t, part, axis);
    }
    torch_return(c, torch_concat(t, windows, count, axis));
}

static const torch_op OPS[] = {
    {"col2im", "input output_size kernel_size dilation padding stride", rule_col2im, NULL},
    {"im2col", "input kernel_size dilation padding stride", rule_im2col, NULL},
    {"unfold", "input dimension size step", rule_unfold, NULL},
};

const torch_op *torch_ops_window(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
