/* shape_contrib.c: remaining contrib operators (com.microsoft): fused activations, generation loops, transforms,
 * text, and gradients of training exports. */
#include "graph/shape/shape_nn.h"

/* Operators that passes create: the output value already has its shape. */
void shape_keep(infer *c)
{
    (void)c;
}

/* ---- fused pointwise ------------------------------------------------------------------------------------------- */

/* One half of the channels gates the other half. */
void shape_bias_split_gelu(infer *c)
{
    const value *x = ranked_input(c, 1);
    if (!x)
        return;
    num dims[MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank - 1] = num_floordiv(c->nums, dims[x->rank - 1], 2);
    set_shape(c, 0, x->rank, dims);
}

void shape_bias_dropout(infer *c)
{
    const value *x = in(c, 0);
    set_like(c, 0, x);
    if (x)
        set_out(c, 1, DT_BOOL, x->rank, x->dims);
}

/* The mask has one bit per element, packed into 32-bit words. */
void shape_bitmask_dropout(infer *c)
{
    const value *x = in(c, 0);
    set_like(c, 0, x);
    num words = x ? num_ceildiv(c->nums, value_elements(c->net, x), 32) : NUM_UNKNOWN;
    set_out(c, 1, DT_UINT32, 1, &words);
}

/* ---- generation loops ------------------------------------------------------------------------------------------ */

/* Sequences are padded to max_length (input 1). */
void shape_beam_search(infer *c)
{
    num batch = dim_of(in(c, 0), 0), longest = NUM_UNKNOWN, beams = NUM_UNKNOWN, kept = NUM_UNKNOWN;
    scalar_int(c, 1, &longest);
    scalar_int(c, 3, &beams);
    scalar_int(c, 4, &kept);
    num sequences[3] = {batch, kept, longest}, scores[4] = {NUM_UNKNOWN, batch, beams, NUM_UNKNOWN};
    set_out(c, 0, DT_INT32, 3, sequences);
    set_out(c, 1, DT_UNKNOWN, 2, sequences);
    set_out(c, 2, DT_UNKNOWN, 4, scores);
}

void shape_greedy_search(infer *c)
{
    num dims[2] = {dim_of(in(c, 0), 0), NUM_UNKNOWN};
    scalar_int(c, 1, &dims[1]);
    set_out(c, 0, DT_INT32, 2, dims);
}

/* The output has the shape of the scores, input 1. */
void shape_like_second(infer *c)
{
    set_like(c, 0, in(c, 1));
}

/* ---- transforms ------------------------------------------------------------------------------------------------ */

void shape_rfft(infer *c)
{
    const value *x = in(c, 0);
    if (!x)
        return;
    set_dtype(c, 0, x->dtype);
    if (x->rank < 1 || x->rank >= MAX_RANK)
        return;
    num dims[MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    if (attr_int(c, "onesided", 1))
        dims[x->rank - 1] = num_add(c->nums, num_floordiv(c->nums, dims[x->rank - 1], 2), 1);
    dims[x->rank] = 2;
    set_shape(c, 0, x->rank + 1, dims);
}

void shape_irfft(infer *c)
{
    const value *x = ranked_input(c, 2);
    if (!x)
        return;
    num dims[MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    if (attr_int(c, "onesided", 1))
        dims[x->rank - 2] = num_mul(c->nums, num_sub(c->nums, dims[x->rank - 2], 1), 2);
    set_shape(c, 0, x->rank - 1, dims);
}

/* Windows of `size` elements along an axis become a new last dimension. */
void shape_unfold(infer *c)
{
    const value *x = in(c, 0);
    if (!x)
        return;
    set_dtype(c, 0, x->dtype);
    int64_t size = attr_int(c, "size", 1), step = attr_int(c, "step", 1);
    if (x->rank < 1 || x->rank >= MAX_RANK || step < 1)
        return;
    int axis = axis_of(c, attr_int(c, "dim", -1), x->rank);
    if (axis < 0)
        return;
    num dims[MAX_RANK];
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[axis] = num_add(c->nums, num_floordiv(c->nums, num_sub(c->nums, dims[axis], size), step), 1);
    dims[x->rank] = size;
    set_shape(c, 0, x->rank + 1, dims);
}

void shape_expand_dims(infer *c)
{
    const value *x = in(c, 0);
    if (!x)
        return;
    set_dtype(c, 0, x->dtype);
    num position;
    if (x->rank < 0 || x->rank >= MAX_RANK || !scalar_int(c, 1, &position))
        return;
    int axis = axis_of(c, position, x->rank + 1);
    if (axis < 0)
        return;
    num dims[MAX_RANK];
    for (int i = 0; i <= x->rank; i++)
        dims[i] = i == axis ? 1 : x->dims[i < axis ? i : i - 1];
    set_shape(c, 0, x->rank + 1, dims);
}

/* A (M,K), B (N,K) → distances (M,N). */
void shape_cdist(infer *c)
{
    num dims[2] = {dim_of(in(c, 0), 0), dim_of(in(c, 1), 0)};
    set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), 2, dims);
}

/* Gather from a block-quantized table; a byte holds 8/bits elements. */
void shape_gather_block_quantized(infer *c)
{
    const value *table = in(c, 0), *ids = in(c, 1);
    set_dtype(c, 0, dtype_in(c, 2, DT_UNKNOWN));
    if (!table || !ids || table->rank < 1 || ids->rank < 0 || table->rank + ids->rank - 1 > MAX_RANK)
        return;
    int axis = axis_of(c, attr_int(c, "gather_axis", 0), table->rank);
    if (axis < 0)
        return;
    int64_t bits = attr_int(c, "bits", 4);
    num packed = table->dtype == DT_UINT8 && (bits == 2 || bits == 4) ? 8 / bits : 1;
    num dims[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < table->rank; i++) {
        if (i == axis)
            for (int k = 0; k < ids->rank; k++)
                dims[rank++] = ids->dims[k];
        else
            dims[rank++] = i == table->rank - 1 ? num_mul(c->nums, table->dims[i], packed) : table->dims[i];
    }
    set_shape(c, 0, rank, dims);
}

/* In nchwc layout, channels are stored in blocks, and only ReorderOutput knows their number. */
void shape_reorder_output(infer *c)
{
    const value *x = in(c, 0);
    if (!x || x->rank < 3)
        return;
    num channels = attr_int(c, "channels", NUM_UNKNOWN), dims[MAX_RANK];
    bool channels_last = attr_int(c, "channels_last", 0) != 0;
    dims[0] = x->dims[0];
    dims[channels_last ? x->rank - 1 : 1] = channels;
    for (int i = 2; i < x->rank; i++)
        dims[channels_last ? i - 1 : i] = x->dims[i];
    set_out(c, 0, x->dtype, x->rank, dims);
}

void shape_reorder_input(infer *c)
{
    enum { LARGEST_BLOCK = 16 };
    const value *x = in(c, 0);
    if (!x || x->rank < 3)
        return;
    bool channels_last = attr_int(c, "channels_last", 0) != 0;
    num dims[MAX_RANK], channels = x->dims[channels_last ? x->rank - 1 : 1];
    dims[0] = x->dims[0];
    /* Pads the size to the machine's block size; the result is unknown unless every block size divides it. */
    dims[1] = dim_known(channels) && channels % LARGEST_BLOCK == 0 ? channels : NUM_UNKNOWN;
    for (int i = 2; i < x->rank; i++)
        dims[i] = x->dims[channels_last ? i - 1 : i];
    set_out(c, 0, x->dtype, x->rank, dims);
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

/* (…) → (…, tokens); the number of tokens depends on data. */
void shape_tokenizer(infer *c)
{
    const value *x = in(c, 0);
    set_dtype(c, 0, DT_STRING);
    if (!x || x->rank < 0 || x->rank >= MAX_RANK)
        return;
    num dims[MAX_RANK];
    if (x->rank)
        memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank] = NUM_UNKNOWN;
    set_shape(c, 0, x->rank + 1, dims);
}

/* Words (S, characters), kernels (M, …) → (S, M). */
void shape_word_conv_embedding(infer *c)
{
    num dims[2] = {dim_of(in(c, 0), 0), dim_of(in(c, 1), 0)};
    set_out(c, 0, dtype_in(c, 1, DT_FLOAT32), 2, dims);
}

void shape_murmur_hash(infer *c)
{
    set_like(c, 0, in(c, 0));
    set_dtype(c, 0, attr_int(c, "positive", 1) ? DT_UINT32 : DT_INT32);
}

/* Values, indices and counts of a vector; only the length of the indices is known. */
void shape_unique_contrib(infer *c)
{
    const value *x = in(c, 0);
    set_rank_only(c, 0, dtype_in(c, 0, DT_UNKNOWN), 1);
    if (x)
        set_out(c, 1, DT_INT64, x->rank, x->dims);
    set_rank_only(c, 2, DT_INT64, 1);
}

/* A path through a cost matrix; its length depends on data. */
void shape_time_warping(infer *c)
{
    num dims[2] = {2, NUM_UNKNOWN};
    set_out(c, 0, DT_INT32, 2, dims);
}

/* Outputs a number of tokens that depends on data, and one index. */
void shape_bifurcation(infer *c)
{
    const num one = 1;
    set_rank_only(c, 0, DT_INT64, 1);
    set_out(c, 1, DT_INT64, 1, &one);
}

/* ---- training -------------------------------------------------------------------------------------------------- */

/* Concat that also outputs the length of each part. */
void shape_concat_training(infer *c)
{
    num parts = c->node->input_count;
    shape_concat(c);
    set_out(c, 1, DT_INT64, 1, &parts);
}

/* Gradients of the input, the scale and the bias, from (dY, X, scale, mean, deviation). */
void shape_layer_norm_grad(infer *c)
{
    set_like(c, 0, in(c, 1));
    set_like(c, 1, in(c, 2));
    set_like(c, 2, in(c, 2));
}

/* Input 1 holds the shape. */
void shape_from_second(infer *c)
{
    int32_t count;
    const num *shape = const_ints(c, 1, &count);
    set_dtype(c, 0, dtype_in(c, 0, DT_UNKNOWN));
    if (shape && count <= MAX_RANK)
        set_shape(c, 0, count, shape);
}

/* Scores and labels → the loss and the log-probabilities. */
void shape_loss_internal(infer *c)
{
    const value *scores = in(c, 0), *labels = in(c, 1);
    bool is_reduced = !str_is(attr_string(c, "reduction", "mean"), "none");
    if (is_reduced)
        set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), 0, NULL);
    else if (labels)
        set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), labels->rank, labels->dims);
    set_like(c, 1, scores);
}

/* Outputs the updated buffer or a flag. */
void shape_accumulator(infer *c)
{
    num one = 1;
    set_out(c, 0, DT_BOOL, 1, &one);
    set_like(c, 1, in(c, 0));
}
