/* rules_matmul.c: matrix products: linear layers, batched products, einsum, attention. All are on autocast's list of what runs in 16 bits. */
#include "lower/eager.h"

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static void count_macs(eager *e, int64_t per_output)
{
    kernel *k = &e->out->kernels.items[e->out->kernels.count - 1];
    extent x = tensor_extent(e, k->outputs[0]);
    k->macs = times(extent_elements(&x), per_output);
    k->flops = times(2, k->macs);
}

/* ---- products ----------------------------------------------------------------------------------------------------------- */

static tensor_id mm(eager *e, tensor_id bias, tensor_id a, tensor_id b)
{
    extent x = {.rank = 2, .dims = {tensor_at(e, a)->dims[0], tensor_at(e, b)->dims[1]}};
    extent_contiguous(&x);
    tensor_id inputs[3] = {bias, a, b};
    tensor_id made = launch_new(e, bias == NO_TENSOR ? "mm" : "addmm", inputs, 3, tensor_dtype(e, a), &x);
    count_macs(e, tensor_at(e, a)->dims[1]);
    return made;
}

static int64_t product(const int64_t *dims, int count)
{
    int64_t n = 1;
    for (int i = 0; i < count; i++)
        n *= dims[i];
    return n;
}

/* Can the leading dimensions be taken together without a copy? Then it is one product of matrices. */
static bool folds(const extent *x)
{
    for (int i = 0; i + 2 < x->rank; i++)
        if (x->strides[i] != x->strides[i + 1] * x->dims[i + 1])
            return false;
    return true;
}

static tensor_id batched(eager *e, tensor_id a, tensor_id b)
{
    extent xa = tensor_extent(e, a), xb = tensor_extent(e, b), x = {.rank = xa.rank > xb.rank ? xa.rank : xb.rank};
    int lead = x.rank - 2;
    for (int i = 0; i < lead; i++) {
        int ia = i - (x.rank - xa.rank), ib = i - (x.rank - xb.rank);
        int64_t da = ia < 0 ? 1 : xa.dims[ia], db = ib < 0 ? 1 : xb.dims[ib];
        x.dims[i] = da == 1 ? db : da;
    }
    int64_t m = xa.dims[xa.rank - 2], k = xa.dims[xa.rank - 1], n = xb.dims[xb.rank - 1];
    int64_t batch = product(x.dims, lead);
    x.dims[lead] = m;
    x.dims[lead + 1] = k;
    a = reshape(e, expand(e, a, x.rank, x.dims), 3, (const int64_t[]){batch, m, k});
    x.dims[lead] = xb.dims[xb.rank - 2];
    x.dims[lead + 1] = n;
    b = reshape(e, expand(e, b, x.rank, x.dims), 3, (const int64_t[]){batch, xb.dims[xb.rank - 2], n});
    extent y = {.rank = 3, .dims = {batch, m, n}};
    extent_contiguous(&y);
    tensor_id made = launch_new(e, "bmm", (const tensor_id[]){a, b}, 2, tensor_dtype(e, a), &y);
    count_macs(e, k);
    x.dims[lead] = m;
    return reshape(e, made, x.rank, x.dims);
}

tensor_id matmul(eager *e, tensor_id a, tensor_id b)
{
    extent xa = tensor_extent(e, a), xb = tensor_extent(e, b);
    if (xa.rank == 2 && xb.rank == 2)
        return mm(e, NO_TENSOR, a, b);
    if (xa.rank >= 3 && xb.rank == 2 && folds(&xa)) {
        int64_t rows = product(xa.dims, xa.rank - 1);
        tensor_id flat = reshape(e, a, 2, (const int64_t[]){rows, xa.dims[xa.rank - 1]});
        xa.dims[xa.rank - 1] = xb.dims[1];
        return reshape(e, mm(e, NO_TENSOR, flat, b), xa.rank, xa.dims);
    }
    return batched(e, a, b);
}

tensor_id linear(eager *e, tensor_id x, tensor_id weight, tensor_id bias)
{
    x = to_low(e, x);
    weight = transpose_last(e, to_low(e, weight));
    bias = to_low(e, bias);
    extent shape = tensor_extent(e, x);
    if (bias != NO_TENSOR && (shape.rank == 2 || extent_is_contiguous(&shape))) {
        int64_t rows = product(shape.dims, shape.rank - 1);
        tensor_id flat = shape.rank == 2 ? x : reshape(e, x, 2, (const int64_t[]){rows, shape.dims[shape.rank - 1]});
        tensor_id y = mm(e, bias, flat, weight);
        shape.dims[shape.rank - 1] = tensor_at(e, weight)->dims[1];
        return shape.rank == 2 ? y : reshape(e, y, shape.rank, shape.dims);
    }
    tensor_id y = matmul(e, x, weight);
    return bias == NO_TENSOR ? y : binary(e, "add", y, bias);
}

/* ---- layers ------------------------------------------------------------------------------------------------------------- */

/* A weight is stored as (out, in), whichever way the exporter turned it. */
static tensor_id linear_weight(eager *e, value_id v, bool is_out_in)
{
    tensor_id t = tensor_of(e, v);
    if (is_out_in)
        return t;
    if (!tensor_at(e, t)->is_weight)
        return transpose_last(e, t);
    extent x = tensor_extent(e, t);
    if (x.dims[0] * x.strides[0] != 0 && x.strides[1] == 1) { /* turn the weight itself, once */
        int64_t in = x.dims[0];
        placed_tensor *w = &e->out->tensors.items[t];
        extent turned = {.rank = 2, .dims = {x.dims[1], in}};
        extent_contiguous(&turned);
        tensor_id made = tensor_new(e, w->dtype, &turned);
        w = &e->out->tensors.items[made];
        w->is_weight = true;
        w->value = v;
        e->of_value[v] = made;
        return made;
    }
    return t;
}

static bool are_matrices(eager *e, int a, int b)
{
    return input_of(e, a) != NO_TENSOR && input_of(e, b) != NO_TENSOR && input_rank(e, a) >= 2 && input_rank(e, b) >= 2;
}

void lower_linear(eager *e)
{
    if (!are_matrices(e, 0, 1) || input_rank(e, 1) != 2) {
        lower_unknown(e);
        return;
    }
    bool is_out_in = node_attr_int(e->node, "transB", 0) != 0;
    tensor_id weight = linear_weight(e, e->node->inputs[1], is_out_in);
    set_result(e, 0, linear(e, input_of(e, 0), weight, input_of(e, 2)));
}

void lower_gemm(eager *e)
{
    if (!are_matrices(e, 0, 1) || input_rank(e, 0) != 2 || input_rank(e, 1) != 2) {
        lower_unknown(e);
        return;
    }
    tensor_id a = to_low(e, input_of(e, 0)), b = to_low(e, input_of(e, 1)), c = to_low(e, input_of(e, 2));
    if (node_attr_int(e->node, "transA", 0))
        a = transpose_last(e, a);
    if (node_attr_int(e->node, "transB", 0))
        b = transpose_last(e, b);
    set_result(e, 0, mm(e, c, a, b));
}

void lower_matmul(eager *e)
{
    if (!are_matrices(e, 0, 1)) {
        lower_unknown(e);
        return;
    }
    tensor_id a = to_low(e, input_of(e, 0)), b = to_low(e, input_of(e, 1));
    set_result(e, 0, matmul(e, a, b));
}

void lower_einsum(eager *e)
{
    lower_unknown(e);
}

/* ---- attention ---------------------------------------------------------------------------------------------------------- */

/* The memory-efficient kernel wants rows of the bias that begin at multiples of 16 bytes: others are padded. */
static tensor_id aligned_bias(eager *e, tensor_id bias, const extent *scores)
{
    bias = to_low(e, bias);
    extent x = tensor_extent(e, bias);
    int64_t columns = x.dims[x.rank - 1], rest = columns % 8;
    if (rest) {
        extent padded = x;
        padded.dims[x.rank - 1] += 8 - rest;
        extent_contiguous(&padded);
        bias = launch_new(e, "constant_pad_nd", &bias, 1, tensor_dtype(e, bias), &padded);
        memcpy(x.strides, padded.strides, sizeof x.strides);
        bias = view_as(e, "slice", bias, &x);
    }
    return x.rank <= scores->rank ? expand(e, bias, scores->rank, scores->dims) : bias;
}

void lower_attention(eager *e)
{
    const node *n = e->node;
    tensor_id q = input_of(e, 0), k = input_of(e, 1), v = input_of(e, 2), bias = input_of(e, 3);
    if (q == NO_TENSOR || k == NO_TENSOR || v == NO_TENSOR || input_rank(e, 0) != 4 || input_rank(e, 1) != 4 ||
        input_rank(e, 2) != 4) {
        lower_unknown(e);
        return;
    }
    bool upright = node_attr_int(n, "upright", 0) != 0;
    if (upright) {
        q = transpose_last(e, q);
        k = transpose_last(e, k);
        v = transpose_last(e, v);
    } else if (node_attr_int(n, "key_transposed", 0)) {
        k = transpose_last(e, k);
    }
    q = to_low(e, q);
    k = to_low(e, k);
    v = to_low(e, v);
    extent xq = tensor_extent(e, q), xk = tensor_extent(e, k), xv = tensor_extent(e, v), x = xq, scores = xq;
    scores.dims[3] = xk.dims[2];
    if (bias != NO_TENSOR)
        bias = aligned_bias(e, bias, &scores);
    x.dims[3] = xv.dims[3];
    /* The result lies as (N, L, heads, E). */
    extent turned = {.rank = 4, .dims = {x.dims[0], x.dims[2], x.dims[1], x.dims[3]}};
    extent_contiguous(&turned);
    memcpy(x.strides, (int64_t[4]){turned.strides[0], turned.strides[2], turned.strides[1], turned.strides[3]},
           4 * sizeof *x.strides);
    bool is_flash = bias == NO_TENSOR && is_low(tensor_dtype(e, q));
    const char *op = is_flash ? "_scaled_dot_product_flash_attention" : "_scaled_dot_product_efficient_attention";
    tensor_id y = launch_new(e, op, (const tensor_id[]){q, k, v, bias}, 4, tensor_dtype(e, q), &x);
    kernel *made = &e->out->kernels.items[e->out->kernels.count - 1];
    int64_t pairs = times(times(xq.dims[0], xq.dims[1]), times(xq.dims[2], xk.dims[2]));
    made->macs = times(pairs, xq.dims[3] + xv.dims[3]);
    made->flops = times(2, made->macs);
    set_result(e, 0, upright ? transpose_last(e, y) : y);
}
