/* torch_aten_special.c: ATen functions without an ONNX operator: pointwise functions, losses, signals, linear
 * algebra. Shapes are known; the cost is that of one pass over the elements, or unknown. */
#include "front/torch/torch.h"

/* ---- single elements --------------------------------------------------------------------------------------------- */

static value_id special(torch_call *c, const value_id *inputs, int count)
{
    torch_node n = torch_begin(c->torch, "SpecialFunction");
    n.domain = "sooth";
    for (int i = 0; i < count; i++)
        torch_in(&n, inputs[i]);
    torch_attr_text(&n, "function", str_of(c->op->name));
    return torch_end(&n);
}

static value_id as_real(torch *t, value_id x)
{
    return x != NO_VALUE && dtype_is_integer(torch_at(t, x)->dtype) ? torch_cast(t, x, DT_FLOAT32) : x;
}

static void rule_unary(torch_call *c)
{
    value_id x = as_real(c->torch, torch_arg_tensor(c, 0));
    torch_return(c, special(c, &x, 1));
}

/* Both operands are promoted to one type and broadcast. */
static void rule_binary(torch_call *c)
{
    torch *t = c->torch;
    dtype type = torch_promoted(t, c->args[0], c->args[1]);
    const value_id both[2] = {torch_cast(t, torch_operand(t, c->args[0], type), type),
                              torch_cast(t, torch_operand(t, c->args[1], type), type)};
    torch_return(c, special(c, both, 2));
}

static void rule_canonical_binary(torch_call *c)
{
    torch *t = c->torch;
    dtype type = torch_promoted(t, c->args[0], c->args[1]);
    torch_return(c, torch_emit2(t, c->op->canonical, torch_cast(t, torch_operand(t, c->args[0], type), type),
                                torch_cast(t, torch_operand(t, c->args[1], type), type)));
}

static void rule_canonical_unary(torch_call *c)
{
    torch_return(c, torch_emit1(c->torch, c->op->canonical, as_real(c->torch, torch_arg_tensor(c, 0))));
}

/* Functions that overwrite the first operand; the cost is one pass over it. */
static void rule_written(torch_call *c)
{
    value_id x = torch_arg_tensor(c, 0);
    torch_return(c, special(c, &x, 1));
}

static void rule_is_finite(torch_call *c)
{
    torch_return(c, torch_emit1(c->torch, "IsNaN", as_real(c->torch, torch_arg_tensor(c, 0))));
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

enum { REDUCTION_NONE = 0, REDUCTION_SUM = 2 };

static void reduce_loss(torch_call *c, value_id loss, int argument)
{
    num reduction = torch_arg_int(c, argument, 1);
    if (reduction == REDUCTION_NONE) {
        torch_return(c, loss);
        return;
    }
    torch_node n = torch_begin(c->torch, reduction == REDUCTION_SUM ? "ReduceSum" : "ReduceMean");
    torch_in(&n, loss);
    torch_attr_int(&n, "keepdims", 0);
    torch_return(c, torch_end(&n));
}

static void rule_square_loss(torch_call *c)
{
    torch *t = c->torch;
    value_id difference = torch_emit2(t, "Sub", torch_arg_tensor(c, 0), torch_arg_tensor(c, 1));
    reduce_loss(c, torch_emit2(t, "Mul", difference, difference), 2);
}

static void rule_absolute_loss(torch_call *c)
{
    torch *t = c->torch;
    reduce_loss(c, torch_emit1(t, "Abs", torch_emit2(t, "Sub", torch_arg_tensor(c, 0), torch_arg_tensor(c, 1))), 2);
}

static void rule_pair_loss(torch_call *c)
{
    const value_id both[2] = {torch_arg_tensor(c, 0), torch_arg_tensor(c, 1)};
    int at =
        str_starts(str_of(c->op->name), "binary_cross_entropy") ? (str_ends(str_of(c->op->name), "logits") ? 4 : 3) : 2;
    reduce_loss(c, special(c, both, 2), at);
}

/* Negative log-probability of the label, one number per sample. */
static void rule_label_loss(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0), labels = torch_arg_tensor(c, 1);
    bool is_of_classes = torch_rank(t, labels) >= 0 && torch_rank(t, labels) == torch_rank(t, x) - 1;
    if (str_starts(str_of(c->op->name), "cross_entropy")) {
        torch_node n = torch_begin(t, "LogSoftmax");
        torch_in(&n, x);
        torch_attr_int(&n, "axis", torch_rank(t, x) > 1 ? 1 : 0);
        x = torch_end(&n);
    }
    if (is_of_classes) {
        int64_t axis = torch_rank(t, x) > 1 ? 1 : 0;
        torch_node n = torch_begin(t, "GatherElements");
        torch_in(&n, x);
        torch_in(&n, torch_unsqueeze(t, labels, axis));
        torch_attr_int(&n, "axis", axis);
        x = torch_squeeze(t, torch_end(&n), axis);
    }
    reduce_loss(c, torch_emit1(t, "Neg", x), 3);
}

/* ---- shapes that are known, of work that is not ------------------------------------------------------------------ */

static int dims_of(torch *t, value_id x, num *dims)
{
    int rank = torch_rank(t, x);
    for (int i = 0; i < rank; i++)
        dims[i] = torch_dim(t, x, i);
    return rank;
}

static void rule_like_first(torch_call *c)
{
    num dims[MAX_RANK];
    value_id x = torch_arg_tensor(c, 0);
    int rank = dims_of(c->torch, x, dims);
    torch_return_foreign(c, torch_at(c->torch, x)->dtype, rank, dims);
}

static void rule_like_second(torch_call *c)
{
    num dims[MAX_RANK];
    value_id x = torch_arg_tensor(c, 1);
    int rank = dims_of(c->torch, x, dims);
    torch_return_foreign(c, torch_at(c->torch, x)->dtype, rank, dims);
}

static void rule_determinant(torch_call *c)
{
    num dims[MAX_RANK];
    value_id x = torch_arg_tensor(c, 0);
    int rank = dims_of(c->torch, x, dims);
    torch_return_foreign(c, torch_at(c->torch, x)->dtype, rank < 2 ? RANK_UNKNOWN : rank - 2, dims);
}

/* Fourier transforms with n and dim, or s and dims. If one side is real, only the last of these dimensions changes. */
static void rule_fourier(torch_call *c)
{
    torch *t = c->torch;
    num dims[MAX_RANK], sizes[MAX_RANK], axes[MAX_RANK];
    value_id x = torch_arg_tensor(c, 0);
    str name = str_of(c->op->name);
    int rank = dims_of(t, x, dims), size_count = torch_arg_ints(c, 1, sizes), axis_count = torch_arg_ints(c, 2, axes);
    bool is_real_out = str_starts(name, "fft_irfft") || str_starts(name, "fft_hfft");
    bool is_half = str_starts(name, "fft_rfft") || str_starts(name, "fft_ihfft");
    int last = rank < 1 ? -1 : torch_axis(axis_count > 0 ? axes[axis_count - 1] : -1, rank);
    if (last < 0) {
        torch_return_foreign(c, DT_COMPLEX64, RANK_UNKNOWN, NULL);
        return;
    }
    for (int i = 0; i < size_count && size_count <= rank; i++) {
        int axis = torch_axis(axis_count == size_count ? axes[i] : i - size_count, rank);
        if (axis >= 0 && num_known(sizes[i]) && sizes[i] > 0)
            dims[axis] = sizes[i];
    }
    if (is_half)
        dims[last] = num_known(dims[last]) ? dims[last] / 2 + 1 : NUM_UNKNOWN;
    else if (is_real_out && size_count < 1)
        dims[last] = num_known(dims[last]) && dims[last] < INT32_MAX ? 2 * (dims[last] - 1) : NUM_UNKNOWN;
    torch_return_foreign(c, is_real_out ? DT_FLOAT32 : DT_COMPLEX64, rank, dims);
}

/* (…, samples) → (…, n_fft / 2 + 1, frames), optionally with a last dimension for real and imaginary part. */
static void rule_stft(torch_call *c)
{
    torch *t = c->torch;
    num dims[MAX_RANK];
    value_id x = torch_arg_tensor(c, 0);
    bool has_center = c->args[6].kind == TORCH_TEXT; /* one overload has `center` and `pad_mode` before the others */
    int rank = dims_of(t, x, dims);
    num size = torch_arg_int(c, 1, 0), hop = torch_arg_int(c, 2, NUM_UNKNOWN);
    if (c->args[2].kind == TORCH_NONE)
        hop = size / 4;
    bool is_padded = has_center ? torch_arg_bool(c, 5, true) : torch_arg_bool(c, 9, false);
    bool is_onesided = torch_arg_bool(c, has_center ? 8 : 6, true),
         is_complex = torch_arg_bool(c, has_center ? 9 : 7, true);
    bool is_known = rank >= 1 && rank < MAX_RANK - 2 && dim_known(dims[rank - 1]) && dims[rank - 1] < INT32_MAX &&
                    size > 0 && size < INT32_MAX && hop > 0;
    num room = is_known ? dims[rank - 1] + (is_padded ? size / 2 * 2 : 0) - size : -1;
    if (room < 0) {
        torch_return_foreign(c, is_complex ? DT_COMPLEX64 : DT_FLOAT32, RANK_UNKNOWN, NULL);
        return;
    }
    dims[rank - 1] = is_onesided ? size / 2 + 1 : size;
    dims[rank] = room / hop + 1;
    dims[rank + 1] = 2;
    torch_return_foreign(c, is_complex ? DT_COMPLEX64 : DT_FLOAT32, rank + (is_complex ? 1 : 2), dims);
}

/* The inverse of stft. */
static void rule_istft(torch_call *c)
{
    num dims[MAX_RANK];
    int rank = dims_of(c->torch, torch_arg_tensor(c, 0), dims);
    num size = torch_arg_int(c, 1, 0), length = torch_arg_int(c, 8, NUM_UNKNOWN);
    num hop = c->args[2].kind == TORCH_NONE ? size / 4 : torch_arg_int(c, 2, NUM_UNKNOWN);
    if (c->args[8].kind == TORCH_NONE && rank >= 2 && dim_known(dims[rank - 1]) && dims[rank - 1] < INT32_MAX &&
        hop > 0 && hop < INT32_MAX)
        length = hop * (dims[rank - 1] - 1);
    if (rank >= 2)
        dims[rank - 2] = length;
    torch_return_foreign(c, DT_FLOAT32, rank < 2 ? RANK_UNKNOWN : rank - 1, dims);
}

/* Complex tensors are represented by their real part, so operators on them count half of the bytes. */
static void rule_as_complex(torch_call *c)
{
    torch *t = c->torch;
    value_id x = torch_arg_tensor(c, 0);
    int rank = torch_rank(t, x);
    if (rank < 1) {
        torch_return_foreign(c, DT_COMPLEX64, RANK_UNKNOWN, NULL);
        return;
    }
    torch_return(c, torch_squeeze(t, torch_slice(t, x, rank - 1, 0, 1, 1), rank - 1));
}

static void rule_as_real(torch_call *c)
{
    torch *t = c->torch;
    num dims[MAX_RANK];
    value_id x = torch_arg_tensor(c, 0);
    int rank = dims_of(t, x, dims);
    if (rank < 0 || rank >= MAX_RANK - 1) {
        torch_return_foreign(c, DT_FLOAT32, RANK_UNKNOWN, NULL);
        return;
    }
    dims[rank] = 2;
    if (torch_at(t, x)->dtype == DT_COMPLEX64) {
        torch_return_foreign(c, DT_FLOAT32, rank + 1, dims);
        return;
    }
    torch_return(c, torch_expand(t, torch_unsqueeze(t, x, rank), dims, rank + 1));
}

static void rule_part(torch_call *c)
{
    num dims[MAX_RANK];
    value_id x = torch_arg_tensor(c, 0);
    if (torch_at(c->torch, x)->dtype != DT_COMPLEX64) {
        torch_return_same(c);
        return;
    }
    int rank = dims_of(c->torch, x, dims);
    torch_return_foreign(c, DT_FLOAT32, rank, dims);
}

static void rule_polar(torch_call *c)
{
    torch *t = c->torch;
    torch_return(c, torch_emit2(t, "Mul", torch_arg_tensor(c, 0), torch_emit1(t, "Cos", torch_arg_tensor(c, 1))));
}

/* clang-format off */
static const torch_op OPS[] = {
    {"digamma", "input", rule_unary, NULL},
    {"erfc", "input", rule_unary, NULL},
    {"erfinv", "input", rule_unary, NULL},
    {"exp2", "input", rule_unary, NULL},
    {"frac", "input", rule_unary, NULL},
    {"hardshrink", "input lambd", rule_unary, NULL},
    {"i0", "input", rule_unary, NULL},
    {"lgamma", "input", rule_unary, NULL},
    {"log10", "input", rule_unary, NULL},
    {"log1p", "input", rule_unary, NULL},
    {"log_sigmoid", "input", rule_unary, NULL},
    {"logit", "input eps", rule_unary, NULL},
    {"deg2rad", "input", rule_unary, NULL},
    {"rad2deg", "input", rule_unary, NULL},
    {"nan_to_num", "input nan posinf neginf", rule_unary, NULL},
    {"rrelu", "input lower upper training", rule_unary, NULL},
    {"sinc", "input", rule_unary, NULL},
    {"softshrink", "input lambd", rule_unary, NULL},
    {"special_entr", "input", rule_unary, NULL},
    {"special_log_ndtr", "input", rule_unary, NULL},
    {"special_ndtr", "input", rule_unary, NULL},
    {"threshold", "input threshold value", rule_unary, NULL},
    {"trunc", "input", rule_unary, NULL},
    {"fix", "input", rule_unary, NULL},
    {"angle", "input", rule_unary, NULL},
    {"sgn", "input", rule_canonical_unary, "Sign"},
    {"special_expit", "input", rule_canonical_unary, "Sigmoid"},
    {"special_erf", "input", rule_canonical_unary, "Erf"},
    {"arccos", "input", rule_canonical_unary, "Acos"},
    {"arcsin", "input", rule_canonical_unary, "Asin"},
    {"arctan", "input", rule_canonical_unary, "Atan"},
    {"isfinite", "input", rule_is_finite, NULL},
    {"positive", "input", torch_return_same, NULL},
    {"conj", "input", torch_return_same, NULL},
    {"_conj", "input", torch_return_same, NULL},
    {"resolve_conj", "input", torch_return_same, NULL},
    {"resolve_neg", "input", torch_return_same, NULL},

    {"__lshift__", "input other", rule_binary, NULL},
    {"__rshift__", "input other", rule_binary, NULL},
    {"bitwise_left_shift", "input other", rule_binary, NULL},
    {"bitwise_right_shift", "input other", rule_binary, NULL},
    {"arctan2", "input other", rule_binary, NULL},
    {"atan2", "input other", rule_binary, NULL},
    {"complex", "real imag", rule_binary, NULL},
    {"copysign", "input other", rule_binary, NULL},
    {"gcd", "input other", rule_binary, NULL},
    {"heaviside", "input values", rule_binary, NULL},
    {"hypot", "input other", rule_binary, NULL},
    {"lcm", "input other", rule_binary, NULL},
    {"logaddexp", "input other", rule_binary, NULL},
    {"logaddexp2", "input other", rule_binary, NULL},
    {"special_xlog1py", "input other", rule_binary, NULL},
    {"special_xlogy", "input other", rule_binary, NULL},
    {"xlogy", "input other", rule_binary, NULL},
    {"float_power", "input exponent", rule_canonical_binary, "Pow"},
    {"fmax", "input other", rule_canonical_binary, "Max"},
    {"fmin", "input other", rule_canonical_binary, "Min"},

    {"cauchy", "input", rule_written, NULL},
    {"exponential", "input", rule_written, NULL},
    {"index_add", "input dim index source alpha", rule_written, NULL},
    {"index_copy", "input dim index source", rule_written, NULL},
    {"index_fill", "input dim index value", rule_written, NULL},
    {"index_reduce", "input dim index source reduce include_self", rule_written, NULL},
    {"logcumsumexp", "input dim", rule_written, NULL},
    {"masked_scatter", "input mask source", rule_written, NULL},
    {"normal", "mean std", rule_written, NULL},
    {"renorm", "input p dim maxnorm", rule_written, NULL},
    {"scatter_reduce", "input dim index src reduce include_self", rule_written, NULL},
    {"select_scatter", "input src dim index", rule_written, NULL},
    {"diagonal_scatter", "input src offset dim1 dim2", rule_written, NULL},
    {"bucketize", "input boundaries out_int32 right", rule_written, NULL},

    {"binary_cross_entropy", "input target weight reduction", rule_pair_loss, NULL},
    {"binary_cross_entropy_with_logits", "input target weight pos_weight reduction", rule_pair_loss, NULL},
    {"cross_entropy_loss", "input target weight reduction ignore_index label_smoothing", rule_label_loss, NULL},
    {"huber_loss", "input target reduction delta", rule_pair_loss, NULL},
    {"kl_div", "input target reduction log_target", rule_pair_loss, NULL},
    {"l1_loss", "input target reduction", rule_absolute_loss, NULL},
    {"mse_loss", "input target reduction", rule_square_loss, NULL},
    {"nll_loss", "input target weight reduction ignore_index", rule_label_loss, NULL},
    {"nll_loss_nd", "input target weight reduction ignore_index", rule_label_loss, NULL},
    {"smooth_l1_loss", "input target reduction beta", rule_pair_loss, NULL},

    {"cholesky", "input upper", rule_like_first, NULL},
    {"det", "input", rule_determinant, NULL},
    {"fft_fftshift", "input dim", rule_like_first, NULL},
    {"fft_ifftshift", "input dim", rule_like_first, NULL},
    {"inverse", "input", rule_like_first, NULL},
    {"linalg_cholesky", "input upper", rule_like_first, NULL},
    {"linalg_det", "input", rule_determinant, NULL},
    {"linalg_inv", "input", rule_like_first, NULL},
    {"linalg_pinv", "input", rule_like_first, NULL},
    {"linalg_matrix_exp", "input", rule_like_first, NULL},
    {"linalg_solve", "input other left", rule_like_second, NULL},
    {"searchsorted", "sorted_sequence input", rule_like_second, NULL},

    {"fft_fft", "input n dim norm", rule_fourier, NULL},
    {"fft_fft2", "input s dim norm", rule_fourier, NULL},
    {"fft_fftn", "input s dim norm", rule_fourier, NULL},
    {"fft_hfft", "input n dim norm", rule_fourier, NULL},
    {"fft_ifft", "input n dim norm", rule_fourier, NULL},
    {"fft_ifft2", "input s dim norm", rule_fourier, NULL},
    {"fft_ifftn", "input s dim norm", rule_fourier, NULL},
    {"fft_ihfft", "input n dim norm", rule_fourier, NULL},
    {"fft_irfft", "input n dim norm", rule_fourier, NULL},
    {"fft_irfft2", "input s dim norm", rule_fourier, NULL},
    {"fft_irfftn", "input s dim norm", rule_fourier, NULL},
    {"fft_rfft", "input n dim norm", rule_fourier, NULL},
    {"fft_rfft2", "input s dim norm", rule_fourier, NULL},
    {"fft_rfftn", "input s dim norm", rule_fourier, NULL},
    {"istft", "input n_fft hop_length win_length window center normalized onesided length return_complex", rule_istft, NULL},
    {"stft", "input n_fft hop_length win_length window normalized onesided return_complex align_to_window center pad_mode",
     rule_stft, NULL},

    {"imag", "input", rule_part, NULL},
    {"polar", "abs angle", rule_polar, NULL},
    {"real", "input", rule_part, NULL},
    {"view_as_complex", "input", rule_as_complex, NULL},
    {"view_as_real", "input", rule_as_real, NULL},
};
/* clang-format on */

const torch_op *torch_ops_special(size_t *count)
{
    *count = sizeof OPS / sizeof *OPS;
    return OPS;
}
