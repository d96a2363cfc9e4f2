/* rules_other.c: lowers rare operators, and operators without a PyTorch module, to one kernel with the nearest ATen
 * name; lowers fused operators of ONNX Runtime to their parts. */
#include "graph/attention.h"
#include "lower/eager/eager.h"

/* Returns the element type of output i. Floating-point outputs have the precision of the first floating-point input. */
static dtype output_dtype(eager *e, int i)
{
    dtype type = e->net->values.items[e->node->outputs[i]].dtype;
    if (!dtype_is_float(type))
        return type;
    for (int n = 0; n < e->node->input_count; n++) {
        tensor_id t = eager_input_of(e, n);
        if (t != NO_TENSOR && dtype_is_float(tensor_dtype(e, t)))
            return tensor_dtype(e, t);
    }
    return e->weight_dtype;
}

/* True if output i has a reader. Without one, its shape may be unknown. */
static bool has_output(const eager *e, int i)
{
    return i < e->node->output_count && e->node->outputs[i] != NO_VALUE && e->readers[e->node->outputs[i]] > 0;
}

/* Launches one kernel that reads all inputs and writes all outputs. Outputs of the first input's shape have its
 * layout. */
void lower_as_one(eager *e)
{
    const node *n = e->node;
    tensor_id *inputs = ARENA_ARRAY(e->arena, tensor_id, (size_t)n->input_count + 1);
    for (int i = 0; i < n->input_count; i++)
        inputs[i] = eager_input_of(e, i);
    extent y = eager_output_extent(e, 0);
    tensor_id first = n->input_count > 0 ? inputs[0] : NO_TENSOR;
    extent x = first == NO_TENSOR ? (extent){.rank = -1} : tensor_extent(e, first);
    if (x.rank == y.rank && memcmp(x.dims, y.dims, (size_t)x.rank * sizeof *x.dims) == 0)
        extent_preserve(&y, &x);
    else
        extent_contiguous(&y);
    tensor_id made = eager_launch_new(e, eager_aten_name(e), inputs, n->input_count, output_dtype(e, 0), &y);
    eager_count_flops(e, (double)n->op->flops_per_element);
    tensor_id others[8] = {NO_TENSOR};
    for (int i = 1; i < n->output_count && i < 8; i++) {
        if (!has_output(e, i))
            continue;
        extent more = eager_output_extent(e, i);
        extent_contiguous(&more);
        others[i] = eager_add_output(e, output_dtype(e, i), &more);
    }
    eager_set_result(e, 0, made);
    for (int i = 1; i < n->output_count && i < 8; i++)
        if (has_output(e, i))
            eager_set_result(e, i, others[i]);
}

/* Lowers a sum or mean of several operands, added one by one. */
void lower_variadic(eager *e)
{
    tensor_id sum = eager_input_of(e, 0);
    for (int i = 1; i < e->node->input_count; i++)
        sum = eager_binary(e, "add", sum, eager_input_of(e, i));
    if (node_is(e->node, "Mean"))
        sum = eager_unary(e, "div", sum);
    eager_set_result(e, 0, sum);
}

/* x / (bias + alpha * mean of squares over neighbouring channels) ^ beta, as in F.local_response_norm. */
void lower_response_norm(eager *e)
{
    tensor_id x = eager_input_of(e, 0);
    tensor_id square = eager_binary(e, "mul", x, x);
    extent y = tensor_extent(e, square);
    int64_t size = node_attr_int(e->node, "size", 5);
    kernel_window *window = ARENA_NEW(e->arena, kernel_window);
    *window = (kernel_window){
        .rank = 3, .size = {size > 0 ? size : 1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .groups = 1};
    window->padding[0] = window->size[0] / 2;
    tensor_id mean = eager_launch_new(e, "avg_pool3d", &square, 1, tensor_dtype(e, square), &y);
    e->out->kernels.items[e->out->kernels.count - 1].window = window;
    eager_count_flops(e, (double)window->size[0]);
    mean = eager_unary(e, "pow", eager_unary(e, "add", eager_unary(e, "mul", mean)));
    eager_set_result(e, 0, eager_binary(e, "div", x, mean));
}

/* Returns the parameter repeated for each image. Returns NO_TENSOR if the norm has none, for which exporters write
 * constants. */
static tensor_id repeated(eager *e, int i, int64_t times)
{
    value_id v = i < e->node->input_count ? e->node->inputs[i] : NO_VALUE;
    if (v == NO_VALUE || e->net->values.items[v].is_constant_node || node_attr_int(e->node, "eager_plain", 0))
        return NO_TENSOR;
    tensor_id t = eager_input_of(e, i);
    extent x = tensor_extent(e, t);
    if (x.rank != 1)
        return t;
    x.dims[0] = mul_wrapping(x.dims[0], times);
    extent_contiguous(&x);
    return eager_launch_new(e, "repeat", &t, 1, tensor_dtype(e, t), &x);
}

/* at::instance_norm: a batch norm with batch statistics over one image that has the channels of all. */
void lower_instance_norm(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent own = tensor_extent(e, t);
    if (own.rank < 2) {
        lower_unknown(e);
        return;
    }
    tensor_id inputs[3] = {NO_TENSOR, repeated(e, 1, own.dims[0]), repeated(e, 2, own.dims[0])};
    extent y = own;
    y.dims[0] = 1;
    y.dims[1] = mul_wrapping(own.dims[0], own.dims[1]);
    extent_contiguous(&y);
    inputs[0] = eager_view_as(e, "view", eager_contiguous(e, t), &y);
    dtype type = tensor_dtype(e, t);
    bool is_cudnn = inputs[1] != NO_TENSOR && own.rank > 2 && tensor_dtype(e, inputs[1]) == DT_FLOAT32 &&
                    (type == DT_FLOAT32 || type == DT_FLOAT16);
    tensor_id made = eager_normalised(e, is_cudnn ? "cudnn_batch_norm" : "native_batch_norm", inputs, 3, &y);
    if (e->trains) {
        extent channels = {.rank = 1, .dims = {y.dims[1]}};
        extent_contiguous(&channels);
        eager_add_output(e, DT_FLOAT32, &channels);
        eager_add_output(e, DT_FLOAT32, &channels);
    }
    extent_contiguous(&own);
    eager_set_result(e, 0, eager_view_as(e, "view", made, &own));
}

/* Lowers a norm without weights: over the last axes a layer norm, otherwise one norm per channel. */
void lower_mean_variance_norm(eager *e)
{
    tensor_id t = eager_to_float(e, eager_input_of(e, 0));
    extent y = tensor_extent(e, t);
    int32_t count = 0;
    const int64_t *axes = node_attr_ints(e->node, "axes", &count);
    bool is_reduced[MAX_PLACED_RANK] = {false}, is_last = count > 0;
    for (int32_t i = 0; axes && i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + y.rank : axes[i];
        if (axis >= 0 && axis < y.rank)
            is_reduced[axis] = true;
    }
    for (int i = 0; i < y.rank; i++)
        is_last &= is_reduced[i] == (i >= y.rank - count);
    bool is_map = y.rank == 4 && is_reduced[2] && is_reduced[3] && !is_reduced[1];
    if (is_map && extent_suggests_channels_last(&y))
        extent_channels_last(&y);
    else
        extent_contiguous(&y);
    eager_set_result(e, 0,
                     eager_normalised(e, is_last && !is_map ? "native_layer_norm" : "native_group_norm", &t, 1, &y));
}

/* F.fold(): sums windows (N, C * kernel, windows) into the map. */
void lower_fold(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent y = eager_output_extent(e, 0);
    extent_contiguous(&y);
    eager_set_result(e, 0, eager_launch_new(e, "col2im", &t, 1, tensor_dtype(e, t), &y));
}

/* ---- ONNX Runtime's own ------------------------------------------------------------------------------------------ */

/* Adds a residual and an optional bias, then normalizes. Outputs: the result, two unused ones, the sum. */
void lower_skip_norm(eager *e)
{
    bool is_rms = node_is(e->node, "SkipSimplifiedLayerNormalization");
    tensor_id sum = eager_binary(e, "add", eager_input_of(e, 0), eager_input_of(e, 1)),
              bias = eager_input_of(e, is_rms ? 3 : 4);
    if (bias != NO_TENSOR)
        sum = eager_binary(e, "add", sum, bias);
    tensor_id inputs[3] = {eager_to_float(e, sum), eager_input_of(e, 2), is_rms ? NO_TENSOR : eager_input_of(e, 3)};
    extent y = tensor_extent(e, inputs[0]);
    extent_contiguous(&y);
    eager_set_result(e, 0, eager_normalised(e, is_rms ? "_fused_rms_norm" : "native_layer_norm", inputs, 3, &y));
    if (has_output(e, 3))
        eager_set_result(e, 3, sum);
    for (int i = 1; i < 3; i++)
        if (has_output(e, i)) { /* Mean and deviation; in inference no kernel writes them. */
            extent x = eager_output_extent(e, i);
            extent_contiguous(&x);
            eager_set_result(e, i, eager_tensor_new(e, DT_FLOAT32, &x));
        }
}

/* Lowers a product with quantized weights (N, blocks, bytes) and scales; the kernel reads the packed bytes. */
void lower_packed_product(eager *e)
{
    const node *n = e->node;
    tensor_id x = eager_to_low(e, eager_input_of(e, 0));
    extent shape = tensor_extent(e, x), y = eager_output_extent(e, 0);
    int64_t columns = node_attr_int(n, "N", 0), inner = node_attr_int(n, "K", 0), bits = node_attr_int(n, "bits", 4);
    if (shape.rank < 2 || inner < 1 || columns < 1 || shape.dims[shape.rank - 1] != inner || y.rank != shape.rank) {
        lower_unknown(e);
        return;
    }
    extent weight = {.rank = 2, .dims = {columns, inner}};
    extent_contiguous(&weight);
    tensor_id w = eager_tensor_new(e, bits > 4 ? DT_INT8 : DT_INT4, &weight);
    e->out->tensors.items[w].is_weight = true;
    e->out->tensors.items[w].value = n->inputs[1];
    eager_set_result(e, 0, eager_matmul(e, x, eager_transpose_last(e, w), true));
}

/* Views (N, L, heads · E) as (N, heads, L, E). A packed row needs only the number and strides of its columns. */
static tensor_id heads_of(eager *e, tensor_id t, int64_t batch, int64_t heads, int64_t length, int64_t size)
{
    const placed_tensor *p = tensor_at(e, t);
    int64_t row = p->rank == 3 ? p->dims[2] : mul_wrapping(heads, size);
    extent x = {.rank = 4, .dims = {batch, heads, length, size}, .strides = {mul_wrapping(length, row), size, row, 1}};
    if (p->rank == 4 && p->dims[1] == heads) /* Has this layout already. */
        return t;
    return eager_view_as(e, "slice", t, &x);
}

/* Returns the keys or values of this call, appended to the cache if there is one. */
static tensor_id with_past(eager *e, tensor_id t, int past, const extent *whole)
{
    tensor_id before = past < e->node->input_count ? eager_input_of(e, past) : NO_TENSOR;
    if (before == NO_TENSOR || tensor_at(e, before)->rank != 4)
        return t;
    return eager_launch_new(e, "cat", (const tensor_id[]){before, t}, 2, tensor_dtype(e, t), whole);
}

/* GroupQueryAttention and MultiHeadAttention: separate or packed queries, keys and values, optionally with a cache. */
void lower_contrib_attention(eager *e)
{
    const node *n = e->node;
    bool is_grouped = node_is(n, "GroupQueryAttention");
    int past = is_grouped ? 3 : 6;
    attention_geometry g;
    attention_read(e->net, n, &g);
    tensor_id x = eager_to_low(e, eager_input_of(e, 0));
    const num sizes[] = {g.batch, g.heads, g.kv_heads, g.queries, g.new_keys, g.keys, g.head_size, g.v_head_size};
    bool is_known = eager_input_rank(e, 0) == 3;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        is_known &= num_known(sizes[i]) && sizes[i] > 0;
    if (!is_known || g.heads % g.kv_heads) {
        lower_unknown(e);
        return;
    }
    tensor_id keys = eager_input_of(e, 1) == NO_TENSOR ? x : eager_to_low(e, eager_input_of(e, 1));
    tensor_id values = eager_input_of(e, 2) == NO_TENSOR ? x : eager_to_low(e, eager_input_of(e, 2));
    extent all = {.rank = 4, .dims = {g.batch, g.kv_heads, g.keys, g.head_size}}, all_values = all;
    all_values.dims[3] = g.v_head_size;
    extent_contiguous(&all);
    extent_contiguous(&all_values);
    tensor_id q = heads_of(e, x, g.batch, g.heads, g.queries, g.head_size);
    tensor_id k = with_past(e, heads_of(e, keys, g.batch, g.kv_heads, g.new_keys, g.head_size), past, &all);
    tensor_id v =
        with_past(e, heads_of(e, values, g.batch, g.kv_heads, g.new_keys, g.v_head_size), past + 1, &all_values);
    for (int i = 1; i < n->output_count; i++)
        if (has_output(e, i)) { /* The returned cache is the memory that was just written. */
            extent kept = eager_output_extent(e, i);
            extent_contiguous(&kept);
            eager_set_result(e, i, eager_view_as(e, "alias", i == 2 ? v : k, &kept));
        }
    tensor_id y = eager_attention(e, q, k, v, NO_TENSOR);
    extent out = eager_output_extent(e, 0);
    eager_set_result(e, 0, eager_reshape(e, eager_permute(e, y, (const int64_t[]){0, 2, 1, 3}), out.rank, out.dims));
}
