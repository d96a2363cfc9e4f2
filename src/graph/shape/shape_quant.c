/* shape_quant.c: types and shapes of quantization and of pointwise operators on quantized tensors. Quantized
 * convolutions and products are in shape_conv.c and shape_matmul.c. */
#include "graph/shape/shape_nn.h"

void shape_quantize(infer *c)
{
    dtype named = dtype_of_onnx(attr_int(c, "output_dtype", 0));
    set_like(c, 0, in(c, 0));
    set_dtype(c, 0, dtype_in(c, 2, named != DT_UNKNOWN ? named : DT_UINT8));
}

/* Before operator set 19 the output is float32; contrib's version has the scale's type. */
void shape_dequantize(infer *c)
{
    bool follows_scale = c->node->domain.len > 0 || c->node->opset >= 19;
    dtype named = dtype_of_onnx(attr_int(c, "output_dtype", 0));
    set_like(c, 0, in(c, 0));
    set_dtype(c, 0, named != DT_UNKNOWN ? named : follows_scale ? dtype_in(c, 1, DT_FLOAT32) : DT_FLOAT32);
}

void shape_dynamic_quantize(infer *c)
{
    set_like(c, 0, in(c, 0));
    set_dtype(c, 0, DT_UINT8);
    set_out(c, 1, DT_FLOAT32, 0, NULL);
    set_out(c, 2, DT_UINT8, 0, NULL);
}

static void broadcast_some(infer *c, const int *which, int count, int like)
{
    const value *first = in(c, which[0]);
    num dims[MAX_RANK];
    int rank = first ? first->rank : -1;
    if (rank > 0)
        memcpy(dims, first->dims, (size_t)rank * sizeof *dims);
    for (int i = 1; i < count && rank >= 0; i++) {
        const value *v = in(c, which[i]);
        num wider[MAX_RANK];
        rank = v ? broadcast(c, dims, rank, v->dims, v->rank, wider) : -1;
        if (rank > 0)
            memcpy(dims, wider, (size_t)rank * sizeof *dims);
    }
    set_out(c, 0, dtype_in(c, like, DT_UNKNOWN), rank, dims);
}

/* Inputs: A, its scale and zero point, B, its scale and zero point … */
void shape_qlinear_binary(infer *c)
{
    static const int operands[] = {0, 3};
    broadcast_some(c, operands, 2, 0);
}

void shape_qlinear_where(infer *c)
{
    static const int operands[] = {0, 1, 4};
    broadcast_some(c, operands, 3, 1);
}

/* Inputs: scale and zero point of the output, then three inputs for each part. */
void shape_qlinear_concat(infer *c)
{
    const value *first = in(c, 2);
    set_dtype(c, 0, dtype_in(c, 1, dtype_in(c, 2, DT_UNKNOWN)));
    if (!first || first->rank < 1)
        return;
    int axis = axis_of(c, attr_int(c, "axis", 1), first->rank);
    if (axis < 0)
        return;
    num dims[MAX_RANK];
    memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
    for (int i = 5; i < c->node->input_count; i += 3) {
        const value *part = in(c, i);
        bool fits = part && part->rank == first->rank;
        dims[axis] = fits ? num_add(c->nums, dims[axis], part->dims[axis]) : NUM_UNKNOWN;
        for (int k = 0; k < first->rank; k++)
            if (k != axis && fits && !dim_known(dims[k]))
                dims[k] = part->dims[k];
    }
    set_shape(c, 0, first->rank, dims);
}

void shape_qlinear_reduce(infer *c)
{
    const value *x = ranked_input(c, 0);
    if (!x)
        return;
    int32_t count;
    const int64_t *axes = attr_ints(c, "axes", &count);
    bool keeps = attr_int(c, "keepdims", 1) != 0, reduced[MAX_RANK] = {false};
    for (int32_t i = 0; i < count; i++) {
        int axis = axis_of(c, axes[i], x->rank);
        if (axis >= 0)
            reduced[axis] = true;
    }
    num dims[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (!axes || reduced[i]) {
            if (keeps)
                dims[rank++] = 1;
        } else {
            dims[rank++] = x->dims[i];
        }
    }
    set_shape(c, 0, rank, dims);
}
