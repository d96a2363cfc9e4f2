#include "models/net.h"

void net_begin(builder *b)
{
    opset_import *import = ARENA_PUSH(b->arena, &b->source->opsets);
    *import = (opset_import){STR(""), ZOO_OPSET};
    build_open(b, &b->source->main, false);
}

void net_begin_literal(builder *b)
{
    b->source->is_literal = true;
    net_begin(b);
}

void net_end(builder *b)
{
    build_close(b);
}

num net_batch(builder *b)
{
    return num_symbol(&b->source->symbols, STR("N"));
}

value_id net_input(builder *b, const char *name, dtype t, int rank, const num *dims)
{
    value_id v = build_fresh(b, str_of(name));
    build_type(b, v, t, rank, dims);
    build_input(b, v);
    return v;
}

void net_output(builder *b, value_id v, dtype t, int rank, const num *dims)
{
    build_type(b, v, t, rank, dims);
    build_output(b, v);
}

str net_number(builder *b, str scope, int64_t number, const char *part)
{
    char digits[20], *first = digits + sizeof digits;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    size_t count = (size_t)(digits + sizeof digits - first), rest = strlen(part);
    char *p = arena_room(b->arena, scope.len + count + rest + 1, 1);
    str_copy(p, scope);
    memcpy(p + scope.len, first, count);
    memcpy(p + scope.len + count, part, rest + 1);
    return (str){p, scope.len + count + rest};
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static tensor *new_tensor(builder *b, dtype t, int rank, const int64_t *dims)
{
    tensor *x = ARENA_NEW(b->arena, tensor);
    *x = (tensor){.dtype = t, .rank = (int8_t)rank, .encoding = TENSOR_ELSEWHERE};
    x->dims = arena_copy(b->arena, dims, (size_t)rank, sizeof *dims);
    x->stored_bytes = dtype_bits(t) / 8;
    for (int i = 0; i < rank; i++)
        x->stored_bytes *= dims[i];
    return x;
}

value_id net_weight(builder *b, str name, int rank, const int64_t *dims)
{
    value_id v = build_fresh(b, name);
    build_constant(b, v, new_tensor(b, DT_FLOAT32, rank, dims));
    return v;
}

value_id net_buffer(builder *b, str name, dtype t, int rank, const int64_t *dims)
{
    value_id v = build_fresh(b, name);
    build_constant(b, v, new_tensor(b, t, rank, dims));
    build_at(b, v)->is_constant_node = true;
    return v;
}

/* Stores tensor data in little-endian order, as files do. */
static void set_bytes(builder *b, tensor *t, const uint64_t *elements, size_t count, size_t element_bytes)
{
    uint8_t *bytes = ARENA_ARRAY(b->arena, uint8_t, count * element_bytes);
    for (size_t i = 0; i < count * element_bytes; i++)
        bytes[i] = (uint8_t)(elements[i / element_bytes] >> (8 * (i % element_bytes)));
    t->encoding = TENSOR_RAW;
    t->bytes = bytes;
    t->size = count * element_bytes;
}

value_id net_ints(builder *b, const char *name, int rank, const int64_t *values, int count)
{
    value_id v = build_fresh(b, str_of(name));
    tensor *t = new_tensor(b, DT_INT64, rank, &(int64_t){count});
    uint64_t *elements = arena_copy(b->arena, values, (size_t)count, sizeof *values);
    set_bytes(b, t, elements, (size_t)count, 8);
    build_constant(b, v, t);
    return v;
}

value_id net_real(builder *b, const char *name, float number)
{
    value_id v = build_fresh(b, str_of(name));
    tensor *t = new_tensor(b, DT_FLOAT32, 0, NULL);
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    set_bytes(b, t, &(uint64_t){bits}, 1, 4);
    build_constant(b, v, t);
    return v;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

value_id net_node(builder *b, const char *op, str name, const value_id *inputs, int input_count, int attr_count,
                  node **result)
{
    value_id out = build_fresh(b, net_join(b, name, ".out"));
    node *n = build_node(b, STR(""), str_of(op), name, input_count, 1, attr_count);
    n->opset = ZOO_OPSET;
    for (int i = 0; i < input_count; i++)
        n->inputs[i] = inputs[i];
    n->outputs[0] = out;
    *result = n;
    return out;
}

value_id net_unary(builder *b, const char *op, str name, value_id x)
{
    node *n;
    return net_node(b, op, name, &x, 1, 0, &n);
}

value_id net_binary(builder *b, const char *op, str name, value_id x, value_id y)
{
    node *n;
    return net_node(b, op, name, (value_id[]){x, y}, 2, 0, &n);
}

value_id net_conv(builder *b, str name, value_id x, net_conv_shape s)
{
    return net_conv_wide(b, name, x, s, s.kernel, s.pad);
}

value_id net_conv_wide(builder *b, str name, value_id x, net_conv_shape s, int64_t kernel_width, int64_t pad_width)
{
    value_id inputs[3] = {x};
    inputs[1] =
        net_weight(b, net_join(b, name, ".weight"), 4, (int64_t[]){s.out, s.in / s.groups, s.kernel, kernel_width});
    if (s.has_bias)
        inputs[2] = net_weight(b, net_join(b, name, ".bias"), 1, &s.out);
    node *n;
    value_id out = net_node(b, "Conv", name, inputs, s.has_bias ? 3 : 2, 4, &n);
    build_attr_ints(b, n, 0, "kernel_shape", (int64_t[]){s.kernel, kernel_width}, 2);
    build_attr_ints(b, n, 1, "strides", (int64_t[]){s.stride, s.stride}, 2);
    build_attr_ints(b, n, 2, "pads", (int64_t[]){s.pad, pad_width, s.pad, pad_width}, 4);
    build_attr_int(b, n, 3, "group", s.groups);
    return out;
}

value_id net_batch_norm(builder *b, str name, value_id x, int64_t channels)
{
    return net_batch_norm_of(b, name, x, channels, 0);
}

value_id net_batch_norm_of(builder *b, str name, value_id x, int64_t channels, double epsilon)
{
    static const char *const parts[] = {".weight", ".bias", ".running_mean", ".running_var"};
    value_id inputs[5] = {x};
    const tensor *t = new_tensor(b, DT_FLOAT32, 1, &channels);
    for (int i = 0; i < 4; i++) {
        inputs[i + 1] = build_fresh(b, net_join(b, name, parts[i]));
        build_constant(b, inputs[i + 1], t);
    }
    node *n;
    value_id out = net_node(b, "BatchNormalization", name, inputs, 5, epsilon > 0, &n);
    if (epsilon > 0)
        build_attr_real(b, n, 0, "epsilon", epsilon);
    return out;
}

/* `flag` is the name of an attribute to set to 1; NULL: none. */
static value_id pool(builder *b, const char *op, str name, value_id x, const int64_t window[3], const char *flag)
{
    int64_t kernel = window[0], stride = window[1], pad = window[2];
    node *n;
    value_id out = net_node(b, op, name, &x, 1, flag ? 4 : 3, &n);
    build_attr_ints(b, n, 0, "kernel_shape", (int64_t[]){kernel, kernel}, 2);
    build_attr_ints(b, n, 1, "strides", (int64_t[]){stride, stride}, 2);
    build_attr_ints(b, n, 2, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
    if (flag)
        build_attr_int(b, n, 3, flag, 1);
    return out;
}

value_id net_max_pool(builder *b, str name, value_id x, int64_t kernel, int64_t stride, int64_t pad)
{
    return pool(b, "MaxPool", name, x, (int64_t[]){kernel, stride, pad}, NULL);
}

value_id net_max_pool_ceil(builder *b, str name, value_id x, int64_t kernel, int64_t stride, int64_t pad)
{
    return pool(b, "MaxPool", name, x, (int64_t[]){kernel, stride, pad}, "ceil_mode");
}

value_id net_average_pool(builder *b, str name, value_id x, int64_t kernel, int64_t stride, int64_t pad)
{
    return pool(b, "AveragePool", name, x, (int64_t[]){kernel, stride, pad}, NULL);
}

value_id net_average_pool_padded(builder *b, str name, value_id x, int64_t kernel, int64_t stride, int64_t pad)
{
    return pool(b, "AveragePool", name, x, (int64_t[]){kernel, stride, pad}, "count_include_pad");
}

value_id net_concat(builder *b, str name, const value_id *parts, int count, int64_t axis)
{
    node *n;
    value_id out = net_node(b, "Concat", name, parts, count, 1, &n);
    build_attr_int(b, n, 0, "axis", axis);
    return out;
}

value_id net_slice(builder *b, str name, value_id x, int64_t axis, int64_t first, int64_t end)
{
    node *n;
    value_id inputs[4] = {x};
    inputs[1] = net_ints(b, net_join(b, name, ".starts").ptr, 1, &first, 1);
    inputs[2] = net_ints(b, net_join(b, name, ".ends").ptr, 1, &end, 1);
    inputs[3] = net_ints(b, net_join(b, name, ".axes").ptr, 1, &axis, 1);
    return net_node(b, "Slice", name, inputs, 4, 0, &n);
}

void net_split(builder *b, str name, value_id x, int64_t axis, value_id *parts, int count)
{
    node *n = build_node(b, STR(""), STR("Split"), name, 1, count, 2);
    n->opset = ZOO_OPSET;
    n->inputs[0] = x;
    for (int i = 0; i < count; i++)
        parts[i] = n->outputs[i] = build_fresh(b, net_number(b, net_join(b, name, "."), i, ""));
    build_attr_int(b, n, 0, "axis", axis);
    build_attr_int(b, n, 1, "num_outputs", count);
}

value_id net_layer_norm(builder *b, str name, value_id x, int64_t width, double epsilon)
{
    value_id inputs[3] = {x};
    inputs[1] = net_weight(b, net_join(b, name, ".weight"), 1, &width);
    inputs[2] = net_weight(b, net_join(b, name, ".bias"), 1, &width);
    node *n;
    value_id out = net_node(b, "LayerNormalization", name, inputs, 3, 2, &n);
    build_attr_int(b, n, 0, "axis", -1);
    build_attr_real(b, n, 1, "epsilon", epsilon);
    return out;
}

net_rms net_rms_numbers(builder *b, float epsilon)
{
    return (net_rms){net_real(b, "two", 2), net_real(b, "epsilon", epsilon),
                     net_ints(b, "last_axis", 1, (int64_t[]){-1}, 1)};
}

value_id net_rms_norm(builder *b, str scope, value_id x, int64_t width, const net_rms *numbers)
{
    value_id y = net_binary(b, "Pow", net_join(b, scope, ".pow"), x, numbers->two);
    y = net_binary(b, "ReduceMean", net_join(b, scope, ".mean"), y, numbers->last_axis);
    y = net_binary(b, "Add", net_join(b, scope, ".add"), y, numbers->epsilon);
    y = net_unary(b, "Sqrt", net_join(b, scope, ".sqrt"), y);
    y = net_unary(b, "Reciprocal", net_join(b, scope, ".rsqrt"), y);
    y = net_binary(b, "Mul", net_join(b, scope, ".scale"), x, y);
    if (!width)
        return y;
    value_id weight = net_weight(b, net_join(b, scope, ".weight"), 1, &width);
    return net_binary(b, "Mul", net_join(b, scope, ".mul"), weight, y);
}

value_id net_product(builder *b, str name, value_id x, int64_t in, int64_t out)
{
    value_id weight = net_weight(b, net_join(b, name, ".weight"), 2, (int64_t[]){in, out});
    return net_binary(b, "MatMul", name, x, weight);
}

value_id net_linear(builder *b, str name, value_id x, int64_t in, int64_t out)
{
    value_id weight = net_weight(b, net_join(b, name, ".weight"), 2, (int64_t[]){in, out});
    value_id bias = net_weight(b, net_join(b, name, ".bias"), 1, &out);
    value_id product = net_binary(b, "MatMul", NAME("%s.MatMul", name.ptr), x, weight);
    return net_binary(b, "Add", NAME("%s.Add", name.ptr), product, bias);
}

value_id net_gemm(builder *b, str name, value_id x, int64_t in, int64_t out)
{
    value_id inputs[3] = {x};
    inputs[1] = net_weight(b, net_join(b, name, ".weight"), 2, (int64_t[]){out, in});
    inputs[2] = net_weight(b, net_join(b, name, ".bias"), 1, &out);
    node *n;
    value_id result = net_node(b, "Gemm", name, inputs, 3, 1, &n);
    build_attr_int(b, n, 0, "transB", 1);
    return result;
}

value_id net_token(builder *b, const char *name, value_id samples, int64_t width)
{
    node *n;
    value_id batch = net_node(b, "Shape", NAME("%s.batch", name), &samples, 1, 2, &n);
    build_attr_int(b, n, 0, "start", 0);
    build_attr_int(b, n, 1, "end", 1);
    value_id one = net_ints(b, NAME("%s.shape", name).ptr, 1, (int64_t[]){1, width}, 2);
    value_id shape = net_node(b, "Concat", NAME("%s.dims", name), (value_id[]){batch, one}, 2, 1, &n);
    build_attr_int(b, n, 0, "axis", 0);
    value_id token = net_weight(b, str_of(name), 3, (int64_t[]){1, 1, width});
    return net_binary(b, "Expand", NAME("%s.expand", name), token, shape);
}

value_id net_tied_product(builder *b, str name, value_id x, value_id table)
{
    value_id turned = net_transpose(b, net_join(b, name, ".weight"), table, (int64_t[]){1, 0}, 2);
    return net_binary(b, "MatMul", name, x, turned);
}

value_id net_attention(builder *b, str name, value_id q, value_id k, value_id v, value_id mask, int64_t heads)
{
    node *n;
    value_id out = net_node(b, "Attention", name, (value_id[]){q, k, v, mask}, mask == NO_VALUE ? 3 : 4, 2, &n);
    build_attr_int(b, n, 0, "q_num_heads", heads);
    build_attr_int(b, n, 1, "kv_num_heads", heads);
    return out;
}

value_id net_transpose(builder *b, str name, value_id x, const int64_t *perm, int rank)
{
    node *n;
    value_id out = net_node(b, "Transpose", name, &x, 1, 1, &n);
    build_attr_ints(b, n, 0, "perm", perm, rank);
    return out;
}

value_id net_softmax(builder *b, str name, value_id x)
{
    node *n;
    value_id out = net_node(b, "Softmax", name, &x, 1, 1, &n);
    build_attr_int(b, n, 0, "axis", -1);
    return out;
}

value_id net_cast(builder *b, str name, value_id x, dtype to)
{
    node *n;
    value_id out = net_node(b, "Cast", name, &x, 1, 1, &n);
    build_attr_int(b, n, 0, "to", to);
    return out;
}

value_id net_reshape(builder *b, str name, value_id x, const int64_t *dims, int rank)
{
    return net_binary(b, "Reshape", name, x, net_ints(b, NAME("%s.shape", name.ptr).ptr, 1, dims, rank));
}

value_id net_gather(builder *b, str name, value_id x, value_id indices, int64_t axis)
{
    node *n;
    value_id out = net_node(b, "Gather", name, (value_id[]){x, indices}, 2, 1, &n);
    build_attr_int(b, n, 0, "axis", axis);
    return out;
}
