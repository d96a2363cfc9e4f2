/* rules_matmul.c: matrix products: linear layers, batched products, attention. Autocast runs all of them in 16 bits. */
#include "lower/eager/eager.h"

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

/* ---- products ---------------------------------------------------------------------------------------------------- */

static tensor_id mm(eager *e, tensor_id bias, tensor_id a, tensor_id b)
{
    extent x = {.rank = 2, .dims = {tensor_at(e, a)->dims[0], tensor_at(e, b)->dims[1]}};
    extent_contiguous(&x);
    tensor_id inputs[3] = {bias, a, b};
    tensor_id made = eager_launch_new(e, bias == NO_TENSOR ? "mm" : "addmm", inputs, 3, tensor_dtype(e, a), &x);
    count_macs(e, tensor_at(e, a)->dims[1]);
    return made;
}

/* Gives the result of a product its leading dimensions back. For autograd this is no view of the product. */
static tensor_id unfolded(eager *e, tensor_id t, const extent *x)
{
    t = eager_reshape(e, t, x->rank, x->dims);
    e->out->kernels.items[e->out->kernels.count - 1].op = "_unsafe_view";
    return t;
}

static int64_t product(const int64_t *dims, int count)
{
    int64_t n = 1;
    for (int i = 0; i < count; i++)
        n = mul_wrapping(n, dims[i]);
    return n;
}

/* True if the leading dimensions can be merged without a copy, so that one matrix product suffices. */
static bool folds(const extent *x)
{
    for (int i = 0; i + 2 < x->rank; i++)
        if (x->strides[i] != mul_wrapping(x->strides[i + 1], x->dims[i + 1]))
            return false;
    return true;
}

tensor_id eager_batched_product(eager *e, tensor_id a, tensor_id b)
{
    const placed_tensor *pa = tensor_at(e, a);
    int64_t inner = pa->dims[2];
    extent y = {.rank = 3, .dims = {pa->dims[0], pa->dims[1], tensor_at(e, b)->dims[2]}};
    extent_contiguous(&y);
    tensor_id made = eager_launch_new(e, "bmm", (const tensor_id[]){a, b}, 2, tensor_dtype(e, a), &y);
    count_macs(e, inner);
    return made;
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
    a = eager_reshape(e, eager_expand(e, a, x.rank, x.dims), 3, (const int64_t[]){batch, m, k});
    x.dims[lead] = xb.dims[xb.rank - 2];
    x.dims[lead + 1] = n;
    b = eager_reshape(e, eager_expand(e, b, x.rank, x.dims), 3, (const int64_t[]){batch, xb.dims[xb.rank - 2], n});
    x.dims[lead] = m;
    return unfolded(e, eager_batched_product(e, a, b), &x);
}

/* Training always folds the leading dimensions, because that avoids copies of the gradient. */
tensor_id eager_matmul(eager *e, tensor_id a, tensor_id b, bool folds_always)
{
    extent xa = tensor_extent(e, a), xb = tensor_extent(e, b);
    if (xa.rank == 2 && xb.rank == 2)
        return mm(e, NO_TENSOR, a, b);
    if (xa.rank >= 3 && xb.rank == 2 && (folds_always || e->trains || folds(&xa))) {
        int64_t rows = product(xa.dims, xa.rank - 1);
        tensor_id flat = eager_reshape(e, a, 2, (const int64_t[]){rows, xa.dims[xa.rank - 1]});
        xa.dims[xa.rank - 1] = xb.dims[1];
        return unfolded(e, mm(e, NO_TENSOR, flat, b), &xa);
    }
    return batched(e, a, b);
}

tensor_id eager_linear(eager *e, tensor_id x, tensor_id weight, tensor_id bias)
{
    x = eager_to_low(e, x);
    /* matmul copies rows to fold them if the matrix needs a gradient; a cast without gradients does not. */
    bool folds_always = !e->is_stated || tensor_at(e, weight)->is_weight || e->low == DT_UNKNOWN;
    weight = eager_transpose_last(e, eager_to_low(e, weight));
    bias = eager_to_low(e, bias);
    extent shape = tensor_extent(e, x);
    if (bias != NO_TENSOR && (shape.rank == 2 || extent_is_contiguous(&shape))) {
        int64_t rows = product(shape.dims, shape.rank - 1);
        tensor_id flat =
            shape.rank == 2 ? x : eager_reshape(e, x, 2, (const int64_t[]){rows, shape.dims[shape.rank - 1]});
        tensor_id y = mm(e, bias, flat, weight);
        shape.dims[shape.rank - 1] = tensor_at(e, weight)->dims[1];
        return shape.rank == 2 ? y : unfolded(e, y, &shape);
    }
    tensor_id y = eager_matmul(e, x, weight, folds_always);
    return bias == NO_TENSOR ? y : eager_binary(e, "add", y, bias);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Returns the parameter (out, in) of a weight that the exporter stores transposed. */
static tensor_id linear_weight(eager *e, value_id v)
{
    tensor_id t = eager_tensor_of(e, v);
    const value *val = &e->net->values.items[v];
    if (!tensor_at(e, t)->is_weight)
        return eager_transpose_last(e, t);
    if (tensor_at(e, t)->is_turned)
        return t;
    extent turned = {.rank = 2, .dims = {val->dims[1], val->dims[0]}};
    extent_contiguous(&turned);
    tensor_id made = eager_tensor_new(e, tensor_at(e, t)->dtype, &turned);
    placed_tensor *w = &e->out->tensors.items[made];
    w->is_weight = w->is_turned = true;
    w->value = v;
    e->of_value[v] = made;
    return made;
}

tensor_id eager_layer_weight(eager *e, const node *n)
{
    value_id w = n->inputs[1];
    return node_attr_int(n, "transB", 0) ? eager_tensor_of(e, w) : linear_weight(e, w);
}

static bool are_matrices(eager *e, int a, int b)
{
    return eager_input_of(e, a) != NO_TENSOR && eager_input_of(e, b) != NO_TENSOR && eager_input_rank(e, a) >= 2 &&
           eager_input_rank(e, b) >= 2;
}

/* True if the weight is (in, heads, size) or (heads, size, out); then it is viewed as a matrix. */
static bool is_split_weight(eager *e)
{
    const placed_tensor *x = tensor_at(e, eager_input_of(e, 0)), *w = tensor_at(e, eager_input_of(e, 1));
    extent own = extent_of(w);
    int64_t in = x->dims[x->rank - 1];
    return w->rank > 2 && w->is_weight && extent_is_contiguous(&own) && in > 0 && extent_elements(&own) % in == 0 &&
           !node_attr_int(e->node, "transB", 0);
}

static void lower_split_linear(eager *e)
{
    tensor_id x = eager_to_low(e, eager_input_of(e, 0)), w = eager_input_of(e, 1),
              bias = eager_to_low(e, eager_input_of(e, 2));
    extent own = tensor_extent(e, w), shape = tensor_extent(e, x), matrix = {.rank = 2};
    matrix.dims[0] = shape.dims[shape.rank - 1];
    matrix.dims[1] = extent_elements(&own) / matrix.dims[0];
    extent_contiguous(&matrix);
    tensor_id y = eager_matmul(e, x, eager_to_low(e, eager_view_as(e, "view", w, &matrix)), true);
    eager_set_result(e, 0, bias == NO_TENSOR ? y : eager_binary(e, "add", y, bias));
}

/* True for queries times relative position embeddings (positions, size). The product is padded and sheared to absolute
 * positions, which distinguishes it from a linear layer. */
static bool is_relative_product(const eager *e)
{
    const node *rows = eager_reader_of(e, e->node->outputs[0]);
    const node *padded = rows && node_is(rows, "Reshape") ? eager_reader_of(e, rows->outputs[0]) : NULL;
    return padded && node_is(padded, "Pad");
}

/* Lowers x @ weight in the network's own code, whose casts and folding differ from a linear layer. */
static void lower_own_product(eager *e, value_id w)
{
    bool is_weight = tensor_at(e, eager_tensor_of(e, w))->is_weight;
    tensor_id weight = is_weight ? eager_transpose_last(e, linear_weight(e, w)) : eager_tensor_of(e, w);
    tensor_id x = eager_to_low(e, eager_input_of(e, 0));
    eager_set_result(e, 0, eager_matmul(e, x, eager_to_low(e, weight), false));
}

/* A program's x @ weight, with an optional sum: addmm for matrices. */
static void lower_stated_product(eager *e, value_id w)
{
    tensor_id x = eager_to_low(e, eager_input_of(e, 0)), weight = eager_to_low(e, eager_tensor_of(e, w)),
              bias = eager_input_of(e, 2);
    if (bias != NO_TENSOR && tensor_at(e, x)->rank == 2) {
        eager_set_result(e, 0, mm(e, eager_to_low(e, bias), x, weight));
        return;
    }
    tensor_id y = eager_matmul(e, x, weight, false);
    eager_set_result(e, 0, bias == NO_TENSOR ? y : eager_binary(e, "add", y, bias));
}

void lower_linear(eager *e)
{
    if (are_matrices(e, 0, 1) && is_split_weight(e)) {
        lower_split_linear(e);
        return;
    }
    if (!are_matrices(e, 0, 1) || eager_input_rank(e, 1) != 2) {
        lower_unknown(e);
        return;
    }
    bool is_out_in = node_attr_int(e->node, "transB", 0) != 0;
    value_id w = e->node->inputs[1];
    tensor_id bias = eager_input_of(e, 2);
    if (e->is_stated && !is_out_in) {
        lower_stated_product(e, w);
    } else if (is_out_in) {
        eager_set_result(e, 0, eager_linear(e, eager_input_of(e, 0), eager_tensor_of(e, w), bias));
    } else if (bias == NO_TENSOR && !e->net->has_turned_weights) {
        tensor_id x = eager_to_low(e, eager_input_of(e, 0)), weight = eager_to_low(e, eager_tensor_of(e, w));
        eager_set_result(e, 0, eager_matmul(e, x, weight, e->net->values.items[w].is_initializer));
    } else if (bias == NO_TENSOR && (!tensor_at(e, eager_tensor_of(e, w))->is_weight || is_relative_product(e))) {
        lower_own_product(e, w);
    } else {
        eager_set_result(e, 0, eager_linear(e, eager_input_of(e, 0), linear_weight(e, w), bias));
    }
}

void lower_gemm(eager *e)
{
    if (!are_matrices(e, 0, 1) || eager_input_rank(e, 0) != 2 || eager_input_rank(e, 1) != 2) {
        lower_unknown(e);
        return;
    }
    tensor_id a = eager_to_low(e, eager_input_of(e, 0)), b = eager_to_low(e, eager_input_of(e, 1)),
              c = eager_to_low(e, eager_input_of(e, 2));
    if (node_attr_int(e->node, "transA", 0))
        a = eager_transpose_last(e, a);
    if (node_attr_int(e->node, "transB", 0))
        b = eager_transpose_last(e, b);
    eager_set_result(e, 0, mm(e, c, a, b));
}

void lower_matmul(eager *e)
{
    /* Position of the second operand: each operand has a scale and a zero point. */
    int at = node_is(e->node, "QLinearMatMul") ? 3 : 1;
    bool is_rotated = node_attr_int(e->node, "transBatchA", 0) || node_attr_int(e->node, "transBatchB", 0);
    bool has_both = eager_input_of(e, 0) != NO_TENSOR && eager_input_of(e, at) != NO_TENSOR;
    bool has_vector =
        has_both && node_is(e->node, "MatMul") && (eager_input_rank(e, 0) == 1 || eager_input_rank(e, at) == 1);
    if ((!are_matrices(e, 0, at) && !has_vector) || is_rotated) {
        lower_unknown(e);
        return;
    }
    tensor_id a = eager_input_of(e, 0), b = eager_input_of(e, at);
    if (has_vector) { /* A vector operand is viewed as a matrix before the product, and the result viewed back. */
        if (eager_input_rank(e, 0) == 1)
            a = eager_reshape(e, a, 2, (const int64_t[]){1, tensor_at(e, a)->dims[0]});
        if (eager_input_rank(e, at) == 1)
            b = eager_reshape(e, b, 2, (const int64_t[]){tensor_at(e, b)->dims[0], 1});
    }
    if (node_is(e->node, "FusedMatMul")) {
        a = node_attr_int(e->node, "transA", 0) ? eager_transpose_last(e, a) : a;
        b = node_attr_int(e->node, "transB", 0) ? eager_transpose_last(e, b) : b;
    }
    bool exact = !e->is_stated && (tensor_at(e, a)->keeps_float || tensor_at(e, b)->keeps_float);
    a = exact ? a : eager_to_low(e, a);
    b = exact ? b : eager_to_low(e, b);
    tensor_id y = eager_matmul(e, a, b, false);
    if (has_vector) {
        extent x = eager_output_extent(e, 0);
        y = eager_reshape(e, y, x.rank, x.dims);
    }
    e->out->tensors.items[y].keeps_float = exact;
    eager_set_result(e, 0, y);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* PyTorch turns a boolean mask into a bias: where(mask, 0, -inf), whose numbers are tensors. An engine's kernels read
 * the mask itself. */
static tensor_id as_bias(eager *e, tensor_id mask, dtype type)
{
    if (tensor_dtype(e, mask) != DT_BOOL || e->options->runtime == RUNTIME_ENGINE)
        return mask;
    extent number = {.rank = 0};
    tensor_id inputs[3] = {mask};
    for (int i = 1; i < 3; i++)
        inputs[i] = eager_launch_new(e, "scalar_tensor", NULL, 0, type, &number);
    return eager_pointwise(e, "where", inputs, 3, type);
}

/* Pads the bias for the memory-efficient kernel, which requires strides that are multiples of eight elements, except
 * the last. */
static tensor_id aligned_bias(eager *e, tensor_id bias, const extent *scores)
{
    bias = eager_to_low(e, bias);
    extent x = tensor_extent(e, bias);
    bool aligned = true;
    for (int i = 0; i + 1 < x.rank; i++)
        aligned &= x.strides[i] % 8 == 0;
    if (!aligned && x.rank > 0) {
        extent padded = x;
        padded.dims[x.rank - 1] += 8 - x.dims[x.rank - 1] % 8;
        extent_contiguous(&padded);
        bias = eager_launch_new(e, "constant_pad_nd", &bias, 1, tensor_dtype(e, bias), &padded);
        memcpy(x.strides, padded.strides, sizeof x.strides);
        bias = eager_view_as(e, "slice", bias, &x);
    }
    return x.rank <= scores->rank ? eager_expand(e, bias, scores->rank, scores->dims) : bias;
}

/* Flash attention requires a head size that is a multiple of eight. */
static tensor_id aligned_heads(eager *e, tensor_id t)
{
    extent x = tensor_extent(e, t);
    int64_t rest = x.dims[3] % 8;
    if (!rest)
        return t;
    x.dims[3] += 8 - rest;
    extent_contiguous(&x);
    return eager_launch_new(e, "constant_pad_nd", &t, 1, tensor_dtype(e, t), &x);
}

static tensor_id batch_of_one(eager *e, tensor_id t)
{
    extent x = tensor_extent(e, t);
    memmove(x.dims + 1, x.dims, (size_t)x.rank * sizeof *x.dims);
    memmove(x.strides + 1, x.strides, (size_t)x.rank * sizeof *x.strides);
    x.dims[0] = 1;
    x.strides[0] = mul_wrapping(x.dims[1], x.strides[1]);
    x.rank++;
    return eager_view_as(e, "unsqueeze", t, &x);
}

tensor_id eager_attention(eager *e, tensor_id q, tensor_id k, tensor_id v, tensor_id bias)
{
    q = eager_to_low(e, q);
    k = eager_to_low(e, k);
    v = eager_to_low(e, v);
    int64_t width = tensor_at(e, v)->dims[3];
    /* Flash attention requires equal sizes of keys and values. */
    bool is_flash = bias == NO_TENSOR && eager_is_low(tensor_dtype(e, q)) && tensor_at(e, q)->dims[3] == width;
    if (is_flash) {
        q = aligned_heads(e, q);
        k = aligned_heads(e, k);
        v = aligned_heads(e, v);
    }
    extent xq = tensor_extent(e, q), xk = tensor_extent(e, k), xv = tensor_extent(e, v), x = xq, scores = xq;
    scores.dims[3] = xk.dims[2];
    if (bias != NO_TENSOR)
        bias = aligned_bias(e, as_bias(e, bias, tensor_dtype(e, q)), &scores);
    x.dims[3] = xv.dims[3];
    if (is_flash) { /* The result of flash attention has the layout of the queries. */
        extent_pointwise(&x, &xq, 1);
    } else { /* Other results are stored as (N, L, heads, E). */
        extent_heads_last(&x);
    }
    const char *op = is_flash ? "_scaled_dot_product_flash_attention" : "_scaled_dot_product_efficient_attention";
    tensor_id y = eager_launch_new(e, op, (const tensor_id[]){q, k, v, bias}, 4, tensor_dtype(e, q), &x);
    kernel *made = &e->out->kernels.items[e->out->kernels.count - 1];
    int64_t pairs = times(times(xq.dims[0], xq.dims[1]), times(xq.dims[2], xk.dims[2]));
    made->macs = times(pairs, xq.dims[3] + xv.dims[3]);
    made->flops = times(2, made->macs);
    if (e->trains) { /* Training also needs the log-sum-exp of the softmax. */
        extent sums = {.rank = 3, .dims = {xq.dims[0], xq.dims[1], xq.dims[2]}};
        extent_contiguous(&sums);
        eager_add_output(e, DT_FLOAT32, &sums);
    }
    if (x.dims[3] != width) {
        x.dims[3] = width;
        y = eager_view_as(e, "slice", y, &x);
    }
    return y;
}

/* Attention before PyTorch 2: (q @ k^T) * scale, softmax, product with v. Rank 3 is nn.MultiheadAttention, which
 * scales the queries instead. */
static tensor_id attention_in_steps(eager *e, tensor_id q, tensor_id k, tensor_id v, tensor_id bias)
{
    bool scales_queries = tensor_at(e, q)->rank == 3;
    if (scales_queries)
        q = eager_unary(e, "div", q);
    q = eager_to_low(e, q);
    k = eager_to_low(e, k);
    tensor_id scores = eager_matmul(e, q, eager_transpose_last(e, k), false);
    if (!scales_queries)
        scores = eager_unary(e, "mul", scores);
    if (bias != NO_TENSOR)
        scores = eager_binary(e, "add", scores, bias);
    tensor_id weights = eager_to_low(e, eager_softmax(e, "_softmax", scores));
    return eager_matmul(e, weights, eager_to_low(e, v), false);
}

tensor_id eager_attention_scores(eager *e, tensor_id q, tensor_id k, tensor_id *v, dtype *type)
{
    q = eager_to_low(e, q);
    k = eager_to_low(e, k);
    *v = eager_to_low(e, *v);
    *type = tensor_dtype(e, q);
    if (eager_is_low(*type) && e->options->steps != STEPS_HALF) {
        q = eager_cast(e, q, DT_FLOAT32);
        k = eager_cast(e, k, DT_FLOAT32);
        *v = eager_cast(e, *v, DT_FLOAT32);
    }
    q = eager_unary(e, "mul", q);
    k = eager_unary(e, "mul", eager_transpose_last(e, k));
    return eager_matmul(e, q, k, false);
}

/* Attention of rank 3 with a bias, up to PyTorch 2.9. Since 2.5, fully masked rows are set to zero. */
static tensor_id attention_by_math(eager *e, tensor_id q, tensor_id k, tensor_id v, tensor_id bias)
{
    dtype type;
    tensor_id scores = eager_attention_scores(e, q, k, &v, &type);
    if (bias != NO_TENSOR)
        eager_launch(e, "add_", (const tensor_id[]){scores, bias}, 2, scores, KERNEL_IN_PLACE);
    extent x = tensor_extent(e, scores);
    extent_contiguous(&x);
    tensor_id weights = eager_launch_new(e, "_softmax", &scores, 1, tensor_dtype(e, scores), &x);
    if (e->options->steps == STEPS_FLOAT) {
        tensor_id is_masked = eager_launch_new(e, "eq", &scores, 1, DT_BOOL, &x);
        weights =
            eager_launch_new(e, "where", (const tensor_id[]){is_masked, weights}, 2, tensor_dtype(e, weights), &x);
    }
    return eager_cast(e, eager_matmul(e, weights, v, false), type);
}

/* True if keys and values are parts of one tensor, even if queries are pooled. */
static bool is_packed(eager *e)
{
    const node *from = NULL;
    for (int i = 1; i < 3; i++) {
        const node *part = eager_maker_of(e, e->node->inputs[i], "Squeeze");
        const node *split = part ? eager_maker_of(e, part->inputs[0], "Split") : NULL;
        if (!split || (from && split != from))
            return false;
        from = split;
    }
    return true;
}

void lower_attention(eager *e)
{
    const node *n = e->node;
    tensor_id q = eager_input_of(e, 0), k = eager_input_of(e, 1), v = eager_input_of(e, 2), bias = eager_input_of(e, 3);
    if (q == NO_TENSOR || k == NO_TENSOR || v == NO_TENSOR || eager_input_rank(e, 0) > 4 ||
        eager_input_rank(e, 0) < 3 || eager_input_rank(e, 1) != eager_input_rank(e, 0) ||
        eager_input_rank(e, 2) != eager_input_rank(e, 0)) {
        lower_unknown(e);
        return;
    }
    static const int64_t SWAP[] = {0, 2, 1, 3};
    bool heads_behind = node_attr_int(n, "heads_behind", 0) != 0 && eager_input_rank(e, 0) == 4;
    if (heads_behind) {
        q = eager_permute(e, q, SWAP);
        k = eager_permute(e, k, SWAP);
        v = eager_permute(e, v, SWAP);
    }
    bool is_flat = eager_input_rank(e, 0) == 3 && bias != NO_TENSOR && e->options->steps != STEPS_NEWEST && !e->trains;
    if (eager_input_rank(e, 0) == 3 && !e->options->explicit_attention && !is_flat) {
        q = batch_of_one(e, q);
        k = batch_of_one(e, k);
        v = batch_of_one(e, v);
        bias = bias != NO_TENSOR && tensor_at(e, bias)->rank == 3 ? batch_of_one(e, bias) : bias;
    }
    bool upright = node_attr_int(n, "upright", 0) != 0;
    if (upright) {
        q = eager_transpose_last(e, q);
        k = eager_transpose_last(e, k);
        v = eager_transpose_last(e, v);
    } else if (node_attr_int(n, "key_transposed", 0)) {
        k = eager_transpose_last(e, k);
    }
    if (e->has_steps && bias == NO_TENSOR && is_packed(e)) {
        /* True for global attention in a network that also attends within windows. Its operands are copied. */
        q = eager_contiguous(e, q);
        k = eager_contiguous(e, k);
        v = eager_contiguous(e, v);
    }
    tensor_id y = e->options->explicit_attention ? attention_in_steps(e, q, k, v, bias)
                  : is_flat                      ? attention_by_math(e, q, k, v, bias)
                                                 : eager_attention(e, q, k, v, bias);
    y = upright ? eager_transpose_last(e, y) : y;
    eager_set_result(e, 0, heads_behind ? eager_permute(e, y, SWAP) : y);
}

/* ---- ONNX's attention: with a cache, heads of keys that queries share -------------------------------------------- */

/* Views (N, L, heads · E) as (N, heads, L, E). */
static tensor_id heads_first(eager *e, tensor_id t, int64_t heads)
{
    extent x = tensor_extent(e, t);
    if (x.rank == 4 || heads < 1 || x.dims[2] % heads)
        return t;
    t = eager_reshape(e, t, 4, (const int64_t[]){x.dims[0], x.dims[1], heads, x.dims[2] / heads});
    return eager_permute(e, t, (const int64_t[]){0, 2, 1, 3});
}

/* Concatenates the cache and the new keys or values. Every pass copies the whole cache. */
static tensor_id append(eager *e, tensor_id past, tensor_id t)
{
    if (past == NO_TENSOR || (e->transformers && tensor_at(e, past)->dims[2] == 0)) /* Training has no cache. */
        return t;
    extent x = tensor_extent(e, t);
    x.dims[2] += tensor_at(e, past)->dims[2];
    extent_contiguous(&x);
    return eager_launch_new(e, "cat", (const tensor_id[]){past, t}, 2, tensor_dtype(e, t), &x);
}

/* Repeats each key head for all queries that share it. Copies, unless there is only one. */
static tensor_id repeat_heads(eager *e, tensor_id t, int64_t heads)
{
    extent x = tensor_extent(e, t);
    if (x.dims[1] == heads || x.dims[1] < 1)
        return t;
    extent wide = {.rank = 5, .dims = {x.dims[0], x.dims[1], heads / x.dims[1], x.dims[2], x.dims[3]}};
    const int64_t one[] = {x.dims[0], x.dims[1], 1, x.dims[2], x.dims[3]};
    if (x.dims[1] == 1)
        return eager_expand(e, t, 4, (const int64_t[]){x.dims[0], heads, x.dims[2], x.dims[3]});
    t = eager_clone(e, eager_expand(e, eager_reshape(e, t, 5, one), 5, wide.dims));
    return eager_reshape(e, t, 4, (const int64_t[]){x.dims[0], heads, x.dims[2], x.dims[3]});
}

/* Returns keys or values, before their heads are repeated where attention shares them. */
static tensor_id shared_input(eager *e, int i)
{
    value_id v = i < e->node->input_count ? e->node->inputs[i] : NO_VALUE;
    bool is_shared = e->is_stated && v != NO_VALUE && e->shared[v] != NO_VALUE;
    return is_shared ? eager_tensor_of(e, e->shared[v]) : eager_input_of(e, i);
}

void lower_onnx_attention(eager *e)
{
    const node *n = e->node;
    tensor_id q = eager_input_of(e, 0), k = shared_input(e, 1), v = shared_input(e, 2), bias = NO_TENSOR;
    if (n->input_count > 3 && n->inputs[3] != NO_VALUE && !(e->is_stated && e->is_left_out[n->inputs[3]]))
        bias = eager_input_of(e, 3);
    int rank = eager_input_rank(e, 0);
    bool is_sound = n->op->domain[0] == '\0' && (rank == 3 || rank == 4) && eager_input_rank(e, 1) == rank &&
                    eager_input_rank(e, 2) == rank && (n->output_count < 4 || n->outputs[3] == NO_VALUE);
    if (!is_sound || (eager_input_of(e, 4) == NO_TENSOR) != (eager_input_of(e, 5) == NO_TENSOR)) {
        lower_unknown(e);
        return;
    }
    q = heads_first(e, q, node_attr_int(n, "q_num_heads", 0));
    k = append(e, eager_input_of(e, 4), heads_first(e, k, node_attr_int(n, "kv_num_heads", 0)));
    v = append(e, eager_input_of(e, 5), heads_first(e, v, node_attr_int(n, "kv_num_heads", 0)));
    if (n->output_count > 1 && n->outputs[1] != NO_VALUE)
        eager_set_result(e, 1, k);
    if (n->output_count > 2 && n->outputs[2] != NO_VALUE)
        eager_set_result(e, 2, v);
    int64_t heads = tensor_at(e, q)->rank == 4 ? tensor_at(e, q)->dims[1] : 0;
    if (tensor_at(e, q)->rank != 4 || tensor_at(e, k)->rank != 4 || tensor_at(e, v)->rank != 4 || heads < 1 ||
        tensor_at(e, k)->dims[1] < 1 || heads % tensor_at(e, k)->dims[1]) {
        lower_unknown(e);
        return;
    }
    bool in_steps = e->options->explicit_attention;
    bool is_wide = e->low == DT_UNKNOWN && !eager_is_low(tensor_dtype(e, q));
    enum { SHARES_HEADS = 453 }; /* Versions before 4.53 repeated them for every kernel. */
    bool repeats = e->transformers && e->transformers < SHARES_HEADS;
    if (bias != NO_TENSOR || in_steps || is_wide || repeats) { /* Other kernels do not support shared key heads. */
        k = repeat_heads(e, k, heads);
        v = repeat_heads(e, v, heads);
    }
    tensor_id y = in_steps ? attention_in_steps(e, q, k, v, bias) : eager_attention(e, q, k, v, bias);
    if (rank == 3) {
        extent x = eager_output_extent(e, 0);
        y = eager_reshape(e, eager_permute(e, y, (const int64_t[]){0, 2, 1, 3}), 3, x.dims);
    }
    eager_set_result(e, 0, y);
}
