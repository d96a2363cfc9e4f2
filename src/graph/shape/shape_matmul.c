/* shape_matmul.c: shapes of matrix products: plain, fused and quantized. */
#include "graph/einsum.h"
#include "graph/shape/shape_nn.h"

/* An operand as a stack of matrices: leading dimensions, then rows and columns. */
typedef struct operand {
    bool is_known;
    bool is_vector; /* a vector (rank 1): the added dimension is removed from the result */
    int rank;       /* at least 2 */
    num dims[MAX_RANK];
} operand;

/* `rotated`: the first dimension comes directly before the rows (FusedMatMul's transBatchA). `transposed`: columns
 * come before rows. */
static operand read_operand(const value *v, bool is_left, bool rotated, bool transposed)
{
    operand o = {.is_known = v && v->rank > 0};
    if (!o.is_known)
        return o;
    o.is_vector = v->rank == 1;
    if (o.is_vector) {
        o.rank = 2;
        o.dims[0] = is_left ? 1 : v->dims[0];
        o.dims[1] = is_left ? v->dims[0] : 1;
        return o;
    }
    o.rank = v->rank;
    memcpy(o.dims, v->dims, (size_t)v->rank * sizeof(num));
    if (rotated && o.rank > 2) {
        memmove(o.dims, o.dims + 1, (size_t)(o.rank - 2) * sizeof(num));
        o.dims[o.rank - 2] = v->dims[0];
    }
    if (transposed) {
        num rows = o.dims[o.rank - 2];
        o.dims[o.rank - 2] = o.dims[o.rank - 1];
        o.dims[o.rank - 1] = rows;
    }
    return o;
}

static void multiply(infer *c, operand a, operand b)
{
    if (!a.is_known || !b.is_known)
        return;
    num dims[MAX_RANK], k_a = a.dims[a.rank - 1], k_b = b.dims[b.rank - 2];
    if (dim_known(k_a) && dim_known(k_b) && k_a != k_b) {
        complain(c, "%lld columns times %lld rows", (long long)k_a, (long long)k_b);
        return;
    }
    int rank = broadcast(c, a.dims, a.rank - 2, b.dims, b.rank - 2, dims);
    if (rank < 0)
        return;
    if (!a.is_vector)
        dims[rank++] = a.dims[a.rank - 2];
    if (!b.is_vector)
        dims[rank++] = b.dims[b.rank - 1];
    set_shape(c, 0, rank, dims);
}

static void matmul_of(infer *c, int a, int b)
{
    multiply(c, read_operand(in(c, a), true, false, false), read_operand(in(c, b), false, false, false));
}

void shape_matmul(infer *c)
{
    set_dtype(c, 0, dtype_in(c, 0, dtype_in(c, 1, DT_UNKNOWN)));
    matmul_of(c, 0, 1);
}

void shape_matmul_integer(infer *c)
{
    set_dtype(c, 0, DT_INT32);
    matmul_of(c, 0, 1);
}

void shape_qlinear_matmul(infer *c)
{
    set_dtype(c, 0, dtype_in(c, 7, dtype_in(c, 0, DT_UNKNOWN)));
    matmul_of(c, 0, 3);
}

/* Product of integer inputs, whose result has the type of the scale (input 2). */
void shape_matmul_to_float(infer *c)
{
    set_dtype(c, 0, dtype_in(c, 2, DT_FLOAT32));
    matmul_of(c, 0, 1);
}

void shape_fused_matmul(infer *c)
{
    set_dtype(c, 0, dtype_in(c, 0, DT_UNKNOWN));
    multiply(c, read_operand(in(c, 0), true, attr_int(c, "transBatchA", 0) != 0, attr_int(c, "transA", 0) != 0),
             read_operand(in(c, 1), false, attr_int(c, "transBatchB", 0) != 0, attr_int(c, "transB", 0) != 0));
}

static void gemm_of(infer *c, int a, int b)
{
    const value *left = in(c, a), *right = in(c, b);
    num rows = dim_of(left, attr_int(c, "transA", 0) ? 1 : 0), k_a = dim_of(left, attr_int(c, "transA", 0) ? 0 : 1);
    num columns = dim_of(right, attr_int(c, "transB", 0) ? 0 : 1),
        k_b = dim_of(right, attr_int(c, "transB", 0) ? 1 : 0);
    if (left && right && left->rank == 2 && right->rank == 2 && dim_known(k_a) && dim_known(k_b) && k_a != k_b)
        complain(c, "%lld columns times %lld rows", (long long)k_a, (long long)k_b);
    num dims[2] = {rows, columns};
    set_shape(c, 0, 2, dims);
}

void shape_gemm(infer *c)
{
    set_dtype(c, 0, dtype_in(c, 0, dtype_in(c, 1, DT_UNKNOWN)));
    gemm_of(c, 0, 1);
}

/* The output is quantized if there is a zero point (input 8); otherwise float. */
void shape_qgemm(infer *c)
{
    set_dtype(c, 0, dtype_in(c, 8, dtype_in(c, 1, DT_FLOAT32)));
    gemm_of(c, 0, 3);
}

void shape_gemm_float8(infer *c)
{
    set_dtype(c, 0, dtype_of_onnx(attr_int(c, "dtype", DT_FLOAT32)));
    gemm_of(c, 0, 1);
}

/* Sets the output to x's leading dimensions and the given number of columns. */
static void set_columns(infer *c, num columns)
{
    const value *x = ranked_input(c, 1);
    if (!x)
        return;
    num dims[MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank - 1] = columns;
    set_shape(c, 0, x->rank, dims);
}

/* Weights are packed in blocks, so only the attribute gives the number of columns. */
void shape_matmul_packed(infer *c)
{
    set_columns(c, attr_int(c, "N", NUM_UNKNOWN));
}

/* Input 2 holds the weights' shape (K, N). */
void shape_matmul_fp_q4(infer *c)
{
    int32_t count;
    const num *shape = const_ints(c, 2, &count);
    set_columns(c, shape && count == 2 ? shape[1] : NUM_UNKNOWN);
}

/* Linear: x (…,K) times W (K,N). */
void shape_linear(infer *c)
{
    set_columns(c, dim_of(in(c, 1), 1));
}

void shape_einsum(infer *c)
{
    set_dtype(c, 0, dtype_in(c, 0, DT_UNKNOWN));
    einsum e;
    if (einsum_read(c->net, c->node, &e))
        set_shape(c, 0, e.rank, e.dims);
}

void shape_det(infer *c)
{
    const value *x = in(c, 0);
    if (x && x->rank >= 2)
        set_out(c, 0, x->dtype, x->rank - 2, x->dims);
    else if (x)
        set_dtype(c, 0, x->dtype);
}

/* The left operand is sparse; the product is dense. */
void shape_sparse_matmul(infer *c)
{
    set_dtype(c, 0, dtype_in(c, 1, DT_UNKNOWN));
    multiply(c, read_operand(in(c, 0), true, false, attr_int(c, "transA", 0) != 0),
             read_operand(in(c, 1), false, false, attr_int(c, "transB", 0) != 0));
}
