/* convolve.c: SAGE, GCN, GAT, GIN and MLP, forward and backward, as PyTorch Geometric computes them. */
#include "gnn/convolve.h"
#include "predict/matrix.h"

#include <math.h>
#include <string.h>

/* Rows of a product computed at a time, so that they stay in the L2 cache over all columns. */
enum { ROWS_AT_ONCE = 96, DEPTH_AT_ONCE = 192 };
static const float SHORTEST = 1e-12F, LEAK = 0.2F; /* PyTorch's */

/* ---- products ---------------------------------------------------------------------------------------------------- */

void gnn_product(const float *a, size_t rows, size_t depth, const float *b, size_t b_row, size_t columns,
                 const float *bias, float *c)
{
    for (size_t at = 0; at < rows; at += ROWS_AT_ONCE) {
        const matrix_product m = {.rows = rows - at < ROWS_AT_ONCE ? rows - at : ROWS_AT_ONCE,
                                  .columns = columns,
                                  .depth = depth,
                                  .a = a + at * depth,
                                  .a_row = depth,
                                  .a_step = 1,
                                  .b = b,
                                  .b_row = b_row,
                                  .c = c + at * columns,
                                  .c_row = columns,
                                  .bias = bias};
        matrix_multiply_add(&m);
    }
}

/* Transposes a piece of `a` first, because elements of its columns are far apart and evict each other from the cache.
 * */
void gnn_product_sum(const float *a, size_t a_columns, const float *b, size_t columns, size_t rows, float *c,
                     gnn_pool *pool)
{
    enum { TILE = 16 };
    float *turned = gnn_pool_floats(pool, a_columns * DEPTH_AT_ONCE);
    for (size_t at = 0; at < rows; at += DEPTH_AT_ONCE) {
        size_t depth = rows - at < DEPTH_AT_ONCE ? rows - at : DEPTH_AT_ONCE;
        for (size_t k = 0; k < depth; k += TILE)
            for (size_t i = 0; i < a_columns; i++)
                for (size_t r = k; r < depth && r < k + TILE; r++)
                    turned[i * DEPTH_AT_ONCE + r] = a[(at + r) * a_columns + i];
        const matrix_product m = {.rows = a_columns,
                                  .columns = columns,
                                  .depth = depth,
                                  .a = turned,
                                  .a_row = DEPTH_AT_ONCE,
                                  .a_step = 1,
                                  .b = b + at * columns,
                                  .b_row = columns,
                                  .c = c,
                                  .c_row = columns};
        matrix_multiply_add(&m);
    }
}

void gnn_add_rows(const float *a, size_t rows, size_t columns, float *sums)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < columns; k++)
            sums[k] += a[i * columns + k];
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static inline void add_scaled(float *restrict to, const float *restrict from, float by, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += by * from[i];
}

/* Eight sums, so that the compiler can use vectors. */
static float dot(const float *a, const float *b, size_t count)
{
    float sums[8] = {0}, sum = 0;
    for (size_t i = 0; i < count; i += 8)
        for (size_t k = 0; k < 8; k++)
            sums[k] += a[i + k] * b[i + k];
    for (size_t k = 0; k < 8; k++)
        sum += sums[k];
    return sum;
}

static const float *param(const gnn_network *n, int index, gnn_part part)
{
    return n->params + n->layout.block[index][part].at;
}

static const float *turned(const gnn_network *n, int index, gnn_part part)
{
    return n->transposed + n->layout.block[index][part].at;
}

static float *slot(const gnn_network *n, int index, gnn_part part, float *gradient)
{
    return gradient + n->layout.block[index][part].at;
}

/* input · weight + bias: the first step of all kinds */
static void linear(const gnn_network *n, int index, gnn_part weight, const float *input, size_t nodes,
                   const float *bias, float *result)
{
    const gnn_matrix *m = &n->layout.block[index][weight];
    gnn_product(input, nodes, m->rows, param(n, index, weight), m->columns, m->columns, bias, result);
}

static void linear_back(const gnn_network *n, int index, gnn_part weight, const float *input, size_t nodes,
                        const float *slope, float *gradient, float *input_slope, gnn_pool *pool)
{
    const gnn_matrix *m = &n->layout.block[index][weight];
    gnn_product_sum(input, m->rows, slope, m->columns, nodes, slot(n, index, weight, gradient), pool);
    if (input_slope)
        gnn_product(slope, nodes, m->columns, turned(n, index, weight), m->rows, m->rows, NULL, input_slope);
}

/* ---- sage -------------------------------------------------------------------------------------------------------- */

static void sage(const gnn_network *n, const gnn_batch *b, int index, gnn_block *x, gnn_pool *pool)
{
    size_t nodes = (size_t)b->node_count, hidden = n->layout.hidden;
    x->read = gnn_pool_zeros(pool, nodes * x->width);
    x->inverse = gnn_pool_floats(pool, nodes);
    for (size_t i = 0; i < nodes; i++) {
        float share = 1 / (float)(b->first[i + 1] - b->first[i]);
        for (int32_t e = b->first[i]; e < b->first[i + 1]; e++)
            add_scaled(x->read + i * x->width, x->input + (size_t)b->from[e] * x->width, share, x->width);
    }
    linear(n, index, GNN_WEIGHT, x->read, nodes, param(n, index, GNN_BIAS), x->result);
    linear(n, index, GNN_OWN, x->input, nodes, NULL, x->result);
    for (size_t i = 0; i < nodes; i++) {
        float *row = x->result + i * hidden, length = sqrtf(dot(row, row, hidden));
        x->inverse[i] = 1 / fmaxf(length, SHORTEST);
        for (size_t k = 0; k < hidden; k++)
            row[k] *= x->inverse[i];
    }
}

static void sage_back(const gnn_network *n, const gnn_batch *b, int index, const gnn_block *x, float *slope,
                      float *gradient, float *input_slope, gnn_pool *pool)
{
    size_t nodes = (size_t)b->node_count, hidden = n->layout.hidden;
    for (size_t i = 0; i < nodes; i++) {
        const float *row = x->result + i * hidden;
        float *own = slope + i * hidden;
        float along = x->inverse[i] < 1 / SHORTEST ? dot(row, own, hidden) : 0;
        for (size_t k = 0; k < hidden; k++)
            own[k] = x->inverse[i] * (own[k] - along * row[k]);
    }
    gnn_add_rows(slope, nodes, hidden, slot(n, index, GNN_BIAS, gradient));
    float *read_slope = input_slope ? gnn_pool_zeros(pool, nodes * x->width) : NULL;
    linear_back(n, index, GNN_WEIGHT, x->read, nodes, slope, gradient, read_slope, pool);
    linear_back(n, index, GNN_OWN, x->input, nodes, slope, gradient, input_slope, pool);
    for (size_t i = 0; i < nodes && input_slope; i++) {
        float share = 1 / (float)(b->first[i + 1] - b->first[i]);
        for (int32_t e = b->first[i]; e < b->first[i + 1]; e++)
            add_scaled(input_slope + (size_t)b->from[e] * x->width, read_slope + i * x->width, share, x->width);
    }
}

/* ---- gcn --------------------------------------------------------------------------------------------------------- */

/* to_i += sum of from_j / sqrt(degree_i degree_j) over the nodes read and the node itself; backward with the roles
 * of i and j exchanged. */
static void spread(const gnn_batch *b, const gnn_block *x, size_t width, const float *from, float *to, bool is_back)
{
    for (size_t i = 0; i < (size_t)b->node_count; i++) {
        add_scaled(to + i * width, from + i * width, x->inverse[i] * x->inverse[i], width);
        for (int32_t e = b->first[i]; e < b->first[i + 1]; e++) {
            size_t j = (size_t)b->from[e];
            size_t target = is_back ? j : i, source = is_back ? i : j;
            add_scaled(to + target * width, from + source * width, x->inverse[i] * x->inverse[j], width);
        }
    }
}

static void gcn(const gnn_network *n, const gnn_batch *b, int index, gnn_block *x, gnn_pool *pool)
{
    size_t nodes = (size_t)b->node_count, hidden = n->layout.hidden;
    x->mixed = gnn_pool_zeros(pool, nodes * hidden);
    x->inverse = gnn_pool_floats(pool, nodes);
    for (size_t i = 0; i < nodes; i++) {
        x->inverse[i] = 1 / sqrtf((float)(b->first[i + 1] - b->first[i] + 1));
        memcpy(x->result + i * hidden, param(n, index, GNN_BIAS), hidden * sizeof *x->result);
    }
    linear(n, index, GNN_WEIGHT, x->input, nodes, NULL, x->mixed);
    spread(b, x, hidden, x->mixed, x->result, false);
}

static void gcn_back(const gnn_network *n, const gnn_batch *b, int index, const gnn_block *x, float *slope,
                     float *gradient, float *input_slope, gnn_pool *pool)
{
    size_t nodes = (size_t)b->node_count, hidden = n->layout.hidden;
    float *mixed_slope = gnn_pool_zeros(pool, nodes * hidden);
    gnn_add_rows(slope, nodes, hidden, slot(n, index, GNN_BIAS, gradient));
    spread(b, x, hidden, slope, mixed_slope, true);
    linear_back(n, index, GNN_WEIGHT, x->input, nodes, mixed_slope, gradient, input_slope, pool);
}

/* ---- gat --------------------------------------------------------------------------------------------------------- */

static float leaky(float x)
{
    return x > 0 ? x : LEAK * x;
}

/* Attention of node i to its inputs and itself: a softmax over leaky(ends[j][0] + ends[i][1]). */
static void attend(const gnn_batch *b, const gnn_block *x, size_t i)
{
    float *own = x->scores + b->edge_count + i, to = x->ends[2 * i + 1], sum = 0;
    *own = leaky(x->ends[2 * i] + to);
    float largest = *own;
    for (int32_t e = b->first[i]; e < b->first[i + 1]; e++) {
        x->scores[e] = leaky(x->ends[2 * (size_t)b->from[e]] + to);
        largest = fmaxf(largest, x->scores[e]);
    }
    for (int32_t e = b->first[i]; e < b->first[i + 1]; e++)
        sum += x->scores[e] = expf(x->scores[e] - largest);
    sum += *own = expf(*own - largest);
    for (int32_t e = b->first[i]; e < b->first[i + 1]; e++)
        x->scores[e] /= sum;
    *own /= sum;
}

static void gat(const gnn_network *n, const gnn_batch *b, int index, gnn_block *x, gnn_pool *pool)
{
    size_t nodes = (size_t)b->node_count, hidden = n->layout.hidden;
    x->mixed = gnn_pool_zeros(pool, nodes * hidden);
    x->scores = gnn_pool_floats(pool, (size_t)b->edge_count + nodes);
    x->ends = gnn_pool_floats(pool, 2 * nodes);
    linear(n, index, GNN_WEIGHT, x->input, nodes, NULL, x->mixed);
    for (size_t i = 0; i < nodes; i++) {
        x->ends[2 * i] = dot(x->mixed + i * hidden, param(n, index, GNN_FROM), hidden);
        x->ends[2 * i + 1] = dot(x->mixed + i * hidden, param(n, index, GNN_TO), hidden);
    }
    for (size_t i = 0; i < nodes; i++) {
        float *row = x->result + i * hidden;
        attend(b, x, i);
        memcpy(row, param(n, index, GNN_BIAS), hidden * sizeof *row);
        add_scaled(row, x->mixed + i * hidden, x->scores[(size_t)b->edge_count + i], hidden);
        for (int32_t e = b->first[i]; e < b->first[i + 1]; e++)
            add_scaled(row, x->mixed + (size_t)b->from[e] * hidden, x->scores[e], hidden);
    }
}

/* Computes gradients of the scores of node i from that of its result; adds to the gradients of `mixed` and `ends`.
 * `room` has a number for each edge of the node. */
static void attend_back(const gnn_batch *b, const gnn_block *x, size_t i, size_t hidden, const float *slope,
                        float *mixed_slope, float *ends_slope, float *room)
{
    int32_t first = b->first[i], end = b->first[i + 1];
    float score = x->scores[(size_t)b->edge_count + i], own = dot(slope, x->mixed + i * hidden, hidden);
    float mean = score * own;
    add_scaled(mixed_slope + i * hidden, slope, score, hidden);
    for (int32_t e = first; e < end; e++) {
        size_t j = (size_t)b->from[e];
        room[e - first] = dot(slope, x->mixed + j * hidden, hidden);
        mean += x->scores[e] * room[e - first];
        add_scaled(mixed_slope + j * hidden, slope, x->scores[e], hidden);
    }
    for (int32_t e = first; e <= end; e++) {
        bool is_own = e == end;
        size_t j = is_own ? i : (size_t)b->from[e];
        float by = is_own ? score * (own - mean) : x->scores[e] * (room[e - first] - mean);
        by *= x->ends[2 * j] + x->ends[2 * i + 1] > 0 ? 1 : LEAK;
        ends_slope[2 * j] += by;
        ends_slope[2 * i + 1] += by;
    }
}

static void gat_back(const gnn_network *n, const gnn_batch *b, int index, const gnn_block *x, const float *slope,
                     float *gradient, float *input_slope, gnn_pool *pool)
{
    size_t nodes = (size_t)b->node_count, hidden = n->layout.hidden;
    float *mixed_slope = gnn_pool_zeros(pool, nodes * hidden), *ends_slope = gnn_pool_zeros(pool, 2 * nodes);
    float *room = gnn_pool_floats(pool, (size_t)b->edge_count + 1);
    gnn_add_rows(slope, nodes, hidden, slot(n, index, GNN_BIAS, gradient));
    for (size_t i = 0; i < nodes; i++)
        attend_back(b, x, i, hidden, slope + i * hidden, mixed_slope, ends_slope, room);
    for (size_t i = 0; i < nodes; i++) {
        const float *row = x->mixed + i * hidden;
        add_scaled(mixed_slope + i * hidden, param(n, index, GNN_FROM), ends_slope[2 * i], hidden);
        add_scaled(mixed_slope + i * hidden, param(n, index, GNN_TO), ends_slope[2 * i + 1], hidden);
        add_scaled(slot(n, index, GNN_FROM, gradient), row, ends_slope[2 * i], hidden);
        add_scaled(slot(n, index, GNN_TO, gradient), row, ends_slope[2 * i + 1], hidden);
    }
    linear_back(n, index, GNN_WEIGHT, x->input, nodes, mixed_slope, gradient, input_slope, pool);
}

/* ---- gin --------------------------------------------------------------------------------------------------------- */

static void gin(const gnn_network *n, const gnn_batch *b, int index, gnn_block *x, gnn_pool *pool)
{
    size_t nodes = (size_t)b->node_count, hidden = n->layout.hidden;
    x->read = gnn_pool_floats(pool, nodes * x->width);
    x->mixed = gnn_pool_floats(pool, nodes * hidden);
    memcpy(x->read, x->input, nodes * x->width * sizeof *x->read);
    for (size_t i = 0; i < nodes; i++)
        for (int32_t e = b->first[i]; e < b->first[i + 1]; e++)
            add_scaled(x->read + i * x->width, x->input + (size_t)b->from[e] * x->width, 1, x->width);
    linear(n, index, GNN_WEIGHT, x->read, nodes, param(n, index, GNN_BIAS), x->mixed);
    for (size_t i = 0; i < nodes * hidden; i++)
        x->mixed[i] = x->mixed[i] > 0 ? x->mixed[i] : 0;
    linear(n, index, GNN_OWN, x->mixed, nodes, param(n, index, GNN_OWN_BIAS), x->result);
}

static void gin_back(const gnn_network *n, const gnn_batch *b, int index, const gnn_block *x, const float *slope,
                     float *gradient, float *input_slope, gnn_pool *pool)
{
    size_t nodes = (size_t)b->node_count, hidden = n->layout.hidden;
    float *mixed_slope = gnn_pool_zeros(pool, nodes * hidden);
    gnn_add_rows(slope, nodes, hidden, slot(n, index, GNN_OWN_BIAS, gradient));
    linear_back(n, index, GNN_OWN, x->mixed, nodes, slope, gradient, mixed_slope, pool);
    for (size_t i = 0; i < nodes * hidden; i++)
        mixed_slope[i] = x->mixed[i] > 0 ? mixed_slope[i] : 0;
    gnn_add_rows(mixed_slope, nodes, hidden, slot(n, index, GNN_BIAS, gradient));
    float *read_slope = input_slope ? gnn_pool_zeros(pool, nodes * x->width) : NULL;
    linear_back(n, index, GNN_WEIGHT, x->read, nodes, mixed_slope, gradient, read_slope, pool);
    for (size_t i = 0; i < nodes && input_slope; i++) {
        add_scaled(input_slope + i * x->width, read_slope + i * x->width, 1, x->width);
        for (int32_t e = b->first[i]; e < b->first[i + 1]; e++)
            add_scaled(input_slope + (size_t)b->from[e] * x->width, read_slope + i * x->width, 1, x->width);
    }
}

/* ---- all kinds --------------------------------------------------------------------------------------------------- */

void gnn_convolve(const gnn_network *n, const gnn_batch *b, int index, gnn_block *x, gnn_pool *pool)
{
    size_t nodes = (size_t)b->node_count;
    x->result = gnn_pool_floats(pool, nodes * n->layout.hidden);
    switch (n->layout.kind) {
    case GNN_SAGE:
        sage(n, b, index, x, pool);
        break;
    case GNN_GCN:
        gcn(n, b, index, x, pool);
        break;
    case GNN_GAT:
        gat(n, b, index, x, pool);
        break;
    case GNN_GIN:
        gin(n, b, index, x, pool);
        break;
    default:
        linear(n, index, GNN_WEIGHT, x->input, nodes, param(n, index, GNN_BIAS), x->result);
    }
}

void gnn_convolve_back(const gnn_network *n, const gnn_batch *b, int index, const gnn_block *x, float *slope,
                       float *gradient, float *input_slope, gnn_pool *pool)
{
    size_t nodes = (size_t)b->node_count;
    switch (n->layout.kind) {
    case GNN_SAGE:
        sage_back(n, b, index, x, slope, gradient, input_slope, pool);
        break;
    case GNN_GCN:
        gcn_back(n, b, index, x, slope, gradient, input_slope, pool);
        break;
    case GNN_GAT:
        gat_back(n, b, index, x, slope, gradient, input_slope, pool);
        break;
    case GNN_GIN:
        gin_back(n, b, index, x, slope, gradient, input_slope, pool);
        break;
    default:
        gnn_add_rows(slope, nodes, n->layout.hidden, slot(n, index, GNN_BIAS, gradient));
        linear_back(n, index, GNN_WEIGHT, x->input, nodes, slope, gradient, input_slope, pool);
    }
}
