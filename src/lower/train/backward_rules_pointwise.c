/* backward_rules_pointwise.c: gradients of pointwise operators and reductions. */
#include "lower/train/backward.h"

static tensor_id two(eager *e, const char *op, tensor_id a, tensor_id c)
{
    tensor_id inputs[2] = {a, c};
    return back_work(e, op, inputs, 2, eager_promote(e, inputs, 2), 1);
}

static tensor_id one(eager *e, const char *op, tensor_id t)
{
    return back_work(e, op, &t, 1, tensor_dtype(e, t), 1);
}

/* Casts to float32, for operators that autocast runs in float32. */
static tensor_id exact(eager *e, tensor_id t)
{
    return e->autocasts ? eager_to_float(e, t) : t;
}

/* ---- one operand ------------------------------------------------------------------------------------------------- */

/* Gradients of activations: one kernel that reads the gradient and either the input or the output. */
void back_unary(backward *b)
{
    static const struct {
        const char *op, *gradient;
        bool reads_output, saved_first; /* reads the output instead of the input; the saved operand determines the
                                         * strides */
        double flops;
    } NAMES[] = {
        {"relu", "threshold_backward", true, true, 1},
        {"gelu", "gelu_backward", false, false, 20},
        {"silu", "silu_backward", false, false, 14},
        {"sigmoid", "sigmoid_backward", true, false, 3},
        {"hardswish", "hardswish_backward", false, true, 5},
        {"hardsigmoid", "hardsigmoid_backward", false, false, 3},
        {"hardtanh", "hardtanh_backward", false, true, 2},
        {"leaky_relu", "leaky_relu_backward", false, true, 2},
        {"elu", "elu_backward", true, false, 4},
        {"tanh", "tanh_backward", true, false, 3},
        {"mish", "mish_backward", false, false, 30},
        {"softplus", "softplus_backward", false, false, 10},
        {"threshold", "threshold_backward", false, false, 1},
        {"hardshrink", "hardshrink_backward", false, false, 2},
        {"softshrink", "softshrink_backward", false, false, 2},
        {"log_sigmoid_forward", "log_sigmoid_backward", false, false, 10},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (!back_is_op_or_in_place(b->k.op, NAMES[i].op))
            continue;
        tensor_id saved = NAMES[i].reads_output ? b->k.outputs[0] : b->k.inputs[0];
        tensor_id inputs[2] = {NAMES[i].saved_first ? saved : b->dy, NAMES[i].saved_first ? b->dy : saved};
        back_give(b, 0, back_work(b->e, NAMES[i].gradient, inputs, 2, eager_promote(b->e, inputs, 2), NAMES[i].flops));
        return;
    }
}

void back_dropout(backward *b)
{
    tensor_id inputs[2] = {b->dy, b->k.outputs[1]};
    back_give(b, 0, back_work(b->e, "native_dropout_backward", inputs, 2, tensor_dtype(b->e, b->dy), 2));
}

/* Multiplies the gradient by a derivative that takes one more kernel. */
void back_scaled(backward *b)
{
    tensor_id slope = one(b->e, "mul", b->k.inputs[0]);
    back_give(b, 0, two(b->e, "mul", b->dy, slope));
}

void back_cast(backward *b)
{
    back_give(b, 0, b->dy);
}

void back_neg(backward *b)
{
    back_give(b, 0, one(b->e, "neg", b->dy));
}

/* alpha * other - self: the first operand is subtracted. */
void back_rsub(backward *b)
{
    back_neg(b);
}

void back_glu(backward *b)
{
    tensor_id inputs[2] = {b->dy, b->k.inputs[0]}, x = b->k.inputs[0];
    tensor_id made = back_launch_like(b->e, "glu_backward", inputs, 2, tensor_dtype(b->e, x), x);
    eager_count_flops(b->e, 4);
    back_give(b, 0, made);
}

/* The gradient is zero where the mask is set; a filler that is a tensor gets the sum of the rest. */
void back_masked_fill(backward *b)
{
    tensor_id inputs[2] = {b->dy, b->k.inputs[b->k.input_count > 1 ? 1 : 0]};
    if (back_wants(b, 0))
        back_give(b, 0, back_work(b->e, "masked_fill", inputs, 2, tensor_dtype(b->e, b->dy), 1));
}

void back_exp(backward *b)
{
    back_give(b, 0, two(b->e, "mul", b->dy, b->k.outputs[0]));
}

void back_log(backward *b)
{
    back_give(b, 0, two(b->e, "div", b->dy, b->k.inputs[0]));
}

void back_sin(backward *b)
{
    tensor_id slope = one(b->e, b->k.op[0] == 's' ? "cos" : "sin", b->k.inputs[0]);
    if (b->k.op[0] == 'c')
        slope = one(b->e, "neg", slope);
    back_give(b, 0, two(b->e, "mul", b->dy, slope));
}

/* dy · (n · x^(n-1)) */
void back_pow(backward *b)
{
    tensor_id slope = one(b->e, "pow", exact(b->e, b->k.inputs[0]));
    slope = one(b->e, "mul", slope);
    back_give(b, 0, two(b->e, "mul", b->dy, slope));
}

void back_sqrt(backward *b)
{
    tensor_id slope = one(b->e, "mul", b->k.outputs[0]);
    back_give(b, 0, two(b->e, "div", b->dy, slope));
}

void back_rsqrt(backward *b)
{
    tensor_id cube = one(b->e, "pow", exact(b->e, b->k.outputs[0]));
    tensor_id half = one(b->e, "mul", b->dy);
    back_give(b, 0, two(b->e, "mul", half, cube));
}

static tensor_id mask_of(eager *e, const char *op, tensor_id t, tensor_id other)
{
    tensor_id inputs[2] = {t, other};
    return back_work(e, op, inputs, other == NO_TENSOR ? 1 : 2, DT_BOOL, 1);
}

static tensor_id zero(eager *e, dtype type)
{
    extent x = {.rank = 0};
    return eager_launch_new(e, "scalar_tensor", NULL, 0, type, &x);
}

static tensor_id choose(eager *e, tensor_id mask, tensor_id a, tensor_id c)
{
    tensor_id inputs[3] = {mask, a, c};
    return back_work(e, "where", inputs, 3, eager_promote(e, inputs + 1, 2), 1);
}

/* True if the clamp has the bound: input 1 is the minimum, input 2 the maximum. */
static bool has_bound(const backward *b, int i)
{
    const node *n = b->e->node;
    return !n || !node_is(n, "Clip") || node_attr(n, i == 1 ? "min" : "max") ||
           (i < n->input_count && n->inputs[i] != NO_VALUE);
}

void back_clamp(backward *b)
{
    eager *e = b->e;
    bool is_clamp = strcmp(b->k.op, "clamp") == 0;
    bool has_low = is_clamp ? has_bound(b, 1) : strcmp(b->k.op, "clamp_max") != 0;
    bool has_both = is_clamp && has_low && has_bound(b, 2);
    tensor_id mask = mask_of(e, has_both ? "ge" : has_low ? "gt" : "lt", b->k.inputs[0], NO_TENSOR);
    if (has_both) {
        tensor_id masks[2] = {mask, mask_of(e, "le", b->k.inputs[0], NO_TENSOR)};
        mask = back_work(e, "logical_and", masks, 2, DT_BOOL, 1);
    }
    tensor_id nothing = zero(e, tensor_dtype(e, b->dy));
    back_give(b, 0, choose(e, mask, b->dy, nothing));
}

/* ---- two and more operands --------------------------------------------------------------------------------------- */

/* The gradient of the second operand, which a factor may scale (`alpha`). */
static tensor_id of_second(backward *b, tensor_id dy)
{
    bool scales = b->e->node && node_attr_int(b->e->node, "eager_scales", 0) && back_wants(b, 1);
    return scales ? one(b->e, "mul", dy) : dy;
}

void back_add(backward *b)
{
    back_give(b, 0, b->dy);
    back_give(b, 1, of_second(b, b->dy));
}

void back_sub(backward *b)
{
    back_give(b, 0, b->dy);
    if (back_wants(b, 1))
        back_give(b, 1, of_second(b, one(b->e, "neg", b->dy)));
}

void back_mul(backward *b)
{
    if (b->k.input_count == 1) { /* The divisor is a number. */
        back_give(b, 0, one(b->e, "mul", b->dy));
        return;
    }
    tensor_id gradients[2] = {NO_TENSOR, NO_TENSOR};
    for (int i = 0; i < 2; i++)
        if (back_wants(b, i))
            gradients[i] = two(b->e, "mul", b->dy, b->k.inputs[1 - i]);
    back_give(b, 0, gradients[0]);
    back_give(b, 1, gradients[1]);
}

void back_div(backward *b)
{
    eager *e = b->e;
    if (b->k.input_count == 1) {
        back_give(b, 0, one(e, "div", b->dy));
        return;
    }
    if (back_wants(b, 0))
        back_give(b, 0, two(e, "div", b->dy, b->k.inputs[1]));
    if (back_wants(b, 1)) { /* -dy · (x / y) / y */
        tensor_id minus = one(e, "neg", b->dy);
        tensor_id quotient = two(e, "div", two(e, "div", b->k.inputs[0], b->k.inputs[1]), b->k.inputs[1]);
        back_give(b, 1, two(e, "mul", minus, quotient));
    }
}

void back_where(backward *b)
{
    eager *e = b->e;
    for (int i = 1; i < 3; i++)
        if (back_wants(b, i)) {
            tensor_id nothing = zero(e, tensor_dtype(e, b->dy));
            back_give(b, i, choose(e, b->k.inputs[0], i == 1 ? b->dy : nothing, i == 1 ? nothing : b->dy));
        }
}

void back_addcmul(backward *b)
{
    back_give(b, 0, b->dy);
    for (int i = 1; i < 3 && b->k.input_count == 3; i++)
        if (back_wants(b, i))
            back_give(b, i, two(b->e, "mul", b->dy, one(b->e, "mul", b->k.inputs[3 - i])));
}

/* Gradient of maximum(a, c): where both are equal, each receives half. */
void back_select_larger(backward *b)
{
    eager *e = b->e;
    bool is_max = strcmp(b->k.op, "maximum") == 0;
    tensor_id other = b->k.input_count > 1 ? b->k.inputs[1] : NO_TENSOR;
    for (int i = 0; i < 2; i++)
        if (back_wants(b, i)) {
            tensor_id half = one(e, "div", b->dy);
            tensor_id equal = mask_of(e, "eq", b->k.inputs[0], other);
            tensor_id is_not_chosen = mask_of(e, is_max == (i == 0) ? "lt" : "gt", b->k.inputs[0], other);
            tensor_id masked[2] = {choose(e, equal, half, b->dy), is_not_chosen};
            back_give(b, i, back_work(e, "masked_fill", masked, 2, tensor_dtype(e, b->dy), 1));
        }
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* Returns the gradient with its reduced dimensions restored at size 1. */
static tensor_id with_kept_dims(backward *b, tensor_id t)
{
    eager *e = b->e;
    extent x = tensor_extent(e, b->k.inputs[0]), y = tensor_extent(e, t);
    if (x.rank == y.rank)
        return t;
    int at = y.rank - 1;
    for (int i = x.rank - 1; i >= 0; i--) {
        /* The remaining dimensions are in order. Among equal sizes, later ones match first. */
        bool is_kept = at >= 0 && i >= at && x.dims[i] == y.dims[at];
        at -= is_kept;
        x.dims[i] = is_kept ? x.dims[i] : 1;
    }
    return at >= 0 ? t : eager_reshape(e, t, x.rank, x.dims);
}

static tensor_id as_wide_as_input(backward *b, tensor_id t)
{
    extent x = tensor_extent(b->e, b->k.inputs[0]);
    return eager_expand(b->e, with_kept_dims(b, t), x.rank, x.dims);
}

void back_mean(backward *b)
{
    back_give(b, 0, one(b->e, "div", as_wide_as_input(b, b->dy)));
}

void back_sum(backward *b)
{
    back_give(b, 0, as_wide_as_input(b, b->dy));
}

/* All elements equal to the maximum share the gradient evenly. */
void back_amax(backward *b)
{
    eager *e = b->e;
    tensor_id y = with_kept_dims(b, b->k.outputs[0]), dy = with_kept_dims(b, b->dy);
    extent kept = tensor_extent(e, y);
    tensor_id mask = mask_of(e, "eq", y, b->k.inputs[0]);
    tensor_id shared = two(e, "div", dy, eager_launch_new(e, "sum", &mask, 1, DT_INT64, &kept));
    tensor_id inputs[2] = {shared, mask};
    back_give(b, 0, back_work(e, "mul", inputs, 2, tensor_dtype(e, dy), 1));
}

/* 2 / (n - 1) · dy · (x - mean(x)) */
static tensor_id of_variance(backward *b, tensor_id dy)
{
    eager *e = b->e;
    tensor_id x = b->k.inputs[0];
    dy = one(e, "mul", with_kept_dims(b, dy));
    extent kept = tensor_extent(e, dy);
    extent_contiguous(&kept);
    tensor_id mean = eager_launch_new(e, "mean", &x, 1, tensor_dtype(e, x), &kept);
    return two(e, "mul", dy, two(e, "sub", x, mean));
}

void back_var(backward *b)
{
    back_give(b, 0, of_variance(b, b->dy));
}

/* dy / (2 · y), or 0 where the deviation is 0, as the gradient of the variance. */
void back_std(backward *b)
{
    eager *e = b->e;
    tensor_id twice = one(e, "mul", b->k.outputs[0]), of_var = two(e, "div", b->dy, twice);
    tensor_id inputs[2] = {of_var, mask_of(e, "eq", b->k.outputs[0], NO_TENSOR)};
    back_give(b, 0, of_variance(b, back_work(e, "masked_fill_", inputs, 2, tensor_dtype(e, of_var), 1)));
}

void back_var_mean(backward *b)
{
    eager *e = b->e;
    tensor_id sum = NO_TENSOR, of_mean = b->k.output_count > 1 ? b->gradients[b->k.outputs[1]] : NO_TENSOR;
    if (b->dy != NO_TENSOR)
        sum = of_variance(b, b->dy);
    if (of_mean != NO_TENSOR)
        of_mean = one(e, "div", as_wide_as_input(b, of_mean));
    if (sum != NO_TENSOR && of_mean != NO_TENSOR)
        sum = two(e, "add", sum, of_mean);
    back_give(b, 0, sum != NO_TENSOR ? sum : of_mean);
}

/* dy · x / |x|, or 0 where the norm is 0. */
void back_vector_norm(backward *b)
{
    eager *e = b->e;
    tensor_id norm = with_kept_dims(b, b->k.outputs[0]), dy = with_kept_dims(b, b->dy);
    tensor_id unit = two(e, "div", b->k.inputs[0], norm);
    tensor_id inputs[2] = {unit, mask_of(e, "eq", norm, NO_TENSOR)};
    unit = back_work(e, "masked_fill_", inputs, 2, tensor_dtype(e, unit), 1);
    back_give(b, 0, two(e, "mul", unit, dy));
}

/* dy · exp(x - y) */
void back_log_sum_exp(backward *b)
{
    eager *e = b->e;
    tensor_id y = with_kept_dims(b, b->k.outputs[0]), dy = with_kept_dims(b, b->dy);
    back_give(b, 0, two(e, "mul", dy, one(e, "exp", two(e, "sub", b->k.inputs[0], y))));
}

/* The sum of all later gradients: a running sum from the other end. */
void back_running_sum(backward *b)
{
    eager *e = b->e;
    back_give(b, 0, one(e, "flip", one(e, "cumsum", one(e, "flip", exact(e, b->dy)))));
}

/* One kernel writes both gradients; that of the slopes is summed over all else. */
void back_prelu(backward *b)
{
    eager *e = b->e;
    tensor_id inputs[3] = {b->dy, b->k.inputs[0], b->k.inputs[1]}, x = b->k.inputs[0];
    tensor_id made = back_launch_like(e, "_prelu_kernel_backward", inputs, 3, tensor_dtype(e, x), x);
    tensor_id slopes = back_add_output_like(e, tensor_dtype(e, x), x);
    eager_count_flops(e, 4);
    back_give(b, 0, made);
    back_give(b, 1, slopes);
}

/* The gradient has the input's type, even if the output has a wider one. */
void back_softmax(backward *b)
{
    eager *e = b->e;
    bool is_log = strcmp(b->k.op, "_log_softmax") == 0;
    tensor_id inputs[2] = {b->dy, b->k.outputs[0]};
    tensor_id made = back_launch_like(e, is_log ? "_log_softmax_backward_data" : "_softmax_backward_data", inputs, 2,
                                      tensor_dtype(e, b->k.inputs[0]), b->k.outputs[0]);
    e->out->kernels.items[e->out->kernels.count - 1].axes_behind = b->k.axes_behind;
    eager_count_flops(e, 5);
    back_give(b, 0, made);
}
