/* shape_norm.c: shapes of normalizations, including fused ones. The normalized tensor keeps its shape; statistics
 * and sums are additional outputs. */
#include "graph/shape/shape_nn.h"

/* Running statistics have the shape of their inputs: (C), or more dimensions in old non-spatial networks. */
void shape_batch_norm(infer *c)
{
    set_like(c, 0, in(c, 0));
    const value *mean = in(c, 3), *variance = in(c, 4);
    set_like(c, 1, mean);
    set_like(c, 2, variance);
    set_like(c, 3, mean);
    set_like(c, 4, variance);
}

/* Statistics over the axes from `axis` on, which become 1. */
static void set_statistics(infer *c, int i, int64_t axis, dtype t)
{
    const value *x = in(c, 0);
    if (!x)
        return;
    set_dtype(c, i, t);
    if (x->rank < 1 || !out(c, i))
        return;
    int first = axis_of(c, axis, x->rank);
    if (first < 0)
        return;
    num dims[MAX_RANK];
    for (int k = 0; k < x->rank; k++)
        dims[k] = k < first ? x->dims[k] : 1;
    set_shape(c, i, x->rank, dims);
}

/* Runtimes allow half-precision data with a float32 scale: the output has the scale's type. */
void shape_layer_norm(infer *c)
{
    set_like(c, 0, in(c, 0));
    set_dtype(c, 0, dtype_in(c, 1, DT_UNKNOWN));
    int64_t axis = attr_int(c, "axis", -1);
    set_statistics(c, 1, axis, DT_FLOAT32);
    set_statistics(c, 2, axis, DT_FLOAT32);
}

/* RMSNormalization and its older name SimplifiedLayerNormalization: the output has the scale's type. */
void shape_rms_norm(infer *c)
{
    set_like(c, 0, in(c, 0));
    set_dtype(c, 0, dtype_in(c, 1, DT_UNKNOWN));
    set_statistics(c, 1, attr_int(c, "axis", -1), DT_FLOAT32);
}

/* Outputs: normalized, mean, inverse deviation, and the sum of input, skip and bias. */
void shape_skip_norm(infer *c)
{
    set_like(c, 0, in(c, 0));
    set_statistics(c, 1, -1, DT_FLOAT32);
    set_statistics(c, 2, -1, DT_FLOAT32);
    set_like(c, 3, in(c, 0));
}

/* Outputs: normalized, and the sum. */
void shape_skip_group_norm(infer *c)
{
    set_like(c, 0, in(c, 0));
    set_like(c, 1, in(c, 0));
}

static void embed(infer *c, int word_table, dtype t)
{
    const value *ids = in(c, 0);
    num dims[3] = {dim_of(ids, 0), dim_of(ids, 1), dim_of(in(c, word_table), 1)};
    set_out(c, 0, t, 3, dims);
    set_out(c, 1, DT_INT32, 1, dims);
    set_out(c, 2, t, 3, dims);
}

/* Ids (B,S) and a table (V,H) → (B,S,H), the mask's lengths (B), and the sum before the norm. */
void shape_embed_norm(infer *c)
{
    embed(c, 2, dtype_in(c, 2, DT_UNKNOWN));
}

void shape_qembed_norm(infer *c)
{
    embed(c, 2, DT_FLOAT32);
}
