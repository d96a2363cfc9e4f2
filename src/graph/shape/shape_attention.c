/* shape_attention.c: shapes of attention, its caches, and related operators. */
#include "graph/attention.h"
#include "graph/shape/shape_nn.h"

static num heads_times(infer *c, num heads, num size)
{
    return num_mul(c->nums, heads, size);
}

/* Sets the scores' shape (B,heads,queries,keys). */
static void set_scores(infer *c, int i, const attention_geometry *g)
{
    num dims[4] = {g->batch, g->heads, g->queries, g->keys};
    set_out(c, i, dtype_in(c, 0, DT_UNKNOWN), 4, dims);
}

static void set_cache(infer *c, int i, dtype t, const attention_geometry *g, num length, num size)
{
    num dims[4] = {g->batch, g->kv_heads, length, size};
    set_out(c, i, t, 4, dims);
}

void shape_attention(infer *c)
{
    const value *q = in(c, 0);
    attention_geometry g;
    attention_read(c->net, c->node, &g);
    if (q && q->rank == 3) {
        num dims[3] = {g.batch, g.queries, heads_times(c, g.heads, g.v_head_size)};
        set_out(c, 0, q->dtype, 3, dims);
    } else {
        num dims[MAX_RANK];
        int rank = q && q->rank >= 4 ? q->rank : -1;
        for (int i = 0; i < rank - 1; i++)
            dims[i] = q->dims[i];
        if (rank > 0)
            dims[rank - 1] = g.v_head_size;
        set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), rank, dims);
    }
    num key_size = q && q->rank == 3 ? num_floordiv(c->nums, dim_of(in(c, 1), 2), g.kv_heads) : dim_of(in(c, 1), 3);
    set_cache(c, 1, dtype_in(c, 1, DT_UNKNOWN), &g, g.keys, key_size);
    set_cache(c, 2, dtype_in(c, 2, DT_UNKNOWN), &g, g.keys, g.v_head_size);
    set_scores(c, 3, &g);
}

/* com.microsoft: the operator includes the projections; keys and values share one cache (2,B,heads,length,size). */
static void projected(infer *c, int past_index, dtype t)
{
    const value *x = in(c, 0), *past = in(c, past_index);
    attention_geometry g;
    attention_read(c->net, c->node, &g);
    num dims[3] = {dim_of(x, 0), dim_of(x, 1), heads_times(c, g.heads, g.v_head_size)};
    set_out(c, 0, t, 3, dims);
    bool shares = attr_int(c, "past_present_share_buffer", 0) || node_is(c->node, "DecoderMaskedSelfAttention");
    if (shares && past) {
        set_like(c, 1, past);
        return;
    }
    num present[5] = {2, g.batch, g.heads, g.keys, g.head_size};
    set_out(c, 1, t, 5, present);
}

void shape_attention_projected(infer *c)
{
    projected(c, 4, dtype_in(c, 0, DT_UNKNOWN));
}

void shape_qattention(infer *c)
{
    projected(c, 8, dtype_in(c, 3, DT_FLOAT32));
}

void shape_packed_attention(infer *c)
{
    attention_geometry g;
    attention_read(c->net, c->node, &g);
    num dims[2] = {dim_of(in(c, 0), 0), heads_times(c, g.heads, g.v_head_size)};
    set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), 2, dims);
}

static void multi_head(infer *c, int past_index, bool shares_cache)
{
    attention_geometry g;
    attention_read(c->net, c->node, &g);
    dtype t = dtype_in(c, 0, DT_UNKNOWN);
    num dims[3] = {g.batch, g.queries, heads_times(c, g.heads, g.v_head_size)};
    set_out(c, 0, t, 3, dims);
    const value *past = in(c, past_index);
    if (past && shares_cache) {
        set_like(c, 1, past);
        set_like(c, 2, in(c, past_index + 1));
    } else {
        set_cache(c, 1, t, &g, g.keys, g.head_size);
        set_cache(c, 2, t, &g, g.keys, g.v_head_size);
    }
    set_scores(c, 3, &g);
}

void shape_multi_head_attention(infer *c)
{
    multi_head(c, 6, in(c, 8) != NULL);
}

void shape_decoder_multi_head_attention(infer *c)
{
    multi_head(c, 5, attr_int(c, "past_present_share_buffer", 0) != 0);
}

/* The cache grows to the total length in input 6, unless its buffer is larger. */
void shape_group_query_attention(infer *c)
{
    attention_geometry g;
    attention_read(c->net, c->node, &g);
    dtype t = dtype_in(c, 0, DT_UNKNOWN);
    num dims[3] = {g.batch, g.queries, heads_times(c, g.heads, g.head_size)};
    set_out(c, 0, t, 3, dims);
    num total = NUM_UNKNOWN;
    num length = scalar_int(c, 6, &total) ? num_max(c->nums, total, g.past_keys) : NUM_UNKNOWN;
    set_cache(c, 1, dtype_in(c, 3, t), &g, length, either(dim_of(in(c, 3), 3), g.head_size));
    set_cache(c, 2, dtype_in(c, 4, t), &g, length, either(dim_of(in(c, 4), 3), g.head_size));
    num scores[4] = {g.batch, g.heads, g.queries, total};
    set_out(c, 3, t, 4, scores);
}

void shape_sparse_attention(infer *c)
{
    attention_geometry g;
    attention_read(c->net, c->node, &g);
    num dims[3] = {g.batch, g.queries, heads_times(c, g.heads, g.head_size)};
    set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), 3, dims);
    set_like(c, 1, in(c, 3));
    set_like(c, 2, in(c, 4));
}

/* The tokens of all sequences are concatenated: (T, heads*E). The block caches are updated in place. */
void shape_paged_attention(infer *c)
{
    const value *q = in(c, 0);
    num heads = attr_int(c, "num_heads", NUM_UNKNOWN), kv_heads = attr_int(c, "kv_num_heads", NUM_UNKNOWN);
    num hidden = dim_of(q, 1);
    if (!in(c, 1)) { /* packed queries: heads + 2 * kv_heads in one tensor */
        num all = num_add(c->nums, heads, num_mul(c->nums, kv_heads, 2));
        hidden = num_mul(c->nums, num_floordiv(c->nums, hidden, all), heads);
    }
    num dims[2] = {dim_of(q, 0), hidden};
    set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), 2, dims);
    set_like(c, 1, in(c, 3));
    set_like(c, 2, in(c, 4));
}

void shape_decoder_attention(infer *c)
{
    attention_geometry g;
    attention_read(c->net, c->node, &g);
    set_like(c, 0, in(c, 0));
    set_cache(c, 1, dtype_in(c, 0, DT_UNKNOWN), &g, g.keys, g.head_size);
    set_cache(c, 2, dtype_in(c, 0, DT_UNKNOWN), &g, g.keys, g.head_size);
}

/* Input (B, T, heads*d_k), state (B, kv_heads, d_k, d_v). */
void shape_linear_attention(infer *c)
{
    num heads = attr_int(c, "q_num_heads", NUM_UNKNOWN), kv_heads = attr_int(c, "kv_num_heads", NUM_UNKNOWN);
    const value *q = in(c, 0), *k = in(c, 1), *v = in(c, 2), *past = in(c, 3);
    num size = either(dim_of(past, 2), num_floordiv(c->nums, dim_of(k, 2), kv_heads));
    num v_size = either(dim_of(past, 3), num_floordiv(c->nums, dim_of(v, 2), kv_heads));
    dtype t = dtype_in(c, 0, DT_UNKNOWN);
    num dims[3] = {dim_of(q, 0), dim_of(q, 1), num_mul(c->nums, heads, v_size)};
    num state[4] = {dim_of(q, 0), kv_heads, size, v_size};
    set_out(c, 0, t, 3, dims);
    set_out(c, 1, past ? past->dtype : t, 4, state);
}

/* ---- position biases and padding ------------------------------------------------------------------------------- */

/* Table (buckets, heads) and two lengths → (1, heads, queries, keys). */
void shape_relative_position_bias(infer *c)
{
    num queries = NUM_UNKNOWN, keys = NUM_UNKNOWN;
    scalar_int(c, 1, &queries);
    scalar_int(c, 2, &keys);
    num dims[4] = {1, dim_of(in(c, 0), 1), queries, keys};
    set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), 4, dims);
}

/* Query (B,S,heads*E) → (B,heads,S,S). For packed tokens, token_offset has shape (B,S) with the padded length. */
void shape_gated_position_bias(infer *c)
{
    const value *lengths = in(c, 6) ? in(c, 6) : in(c, 0);
    num dims[4] = {dim_of(lengths, 0), attr_int(c, "num_heads", NUM_UNKNOWN), dim_of(lengths, 1), dim_of(lengths, 1)};
    set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), 4, dims);
}

/* (B,S,H) → the tokens without padding, concatenated; their number depends on data. */
void shape_remove_padding(infer *c)
{
    const value *x = in(c, 0);
    num tokens[2] = {NUM_UNKNOWN, dim_of(x, 2)}, offsets[2] = {dim_of(x, 0), dim_of(x, 1)};
    num ends[1] = {num_add(c->nums, dim_of(x, 0), 1)}, longest[1] = {1};
    set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), 2, tokens);
    set_out(c, 1, DT_INT32, 2, offsets);
    set_out(c, 2, DT_INT32, 1, ends);
    set_out(c, 3, DT_INT32, 1, longest);
}

void shape_restore_padding(infer *c)
{
    const value *offsets = in(c, 1);
    num dims[3] = {dim_of(offsets, 0), dim_of(offsets, 1), dim_of(in(c, 0), 1)};
    set_out(c, 0, dtype_in(c, 0, DT_UNKNOWN), 3, dims);
}

/* Gemma rotates q and k by one embedding. */
void shape_gemma_rotary(infer *c)
{
    set_like(c, 0, in(c, 1));
    set_like(c, 1, in(c, 3));
}
