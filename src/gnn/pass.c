#include "gnn/pass.h"

#include <math.h>
#include <string.h>

typedef struct passing {
    const gnn_network *net;
    const gnn_batch *batch;
    gnn_pool *pool;
    double dropout;
    gnn_block blocks[GNN_BLOCKS];
    float *outputs[GNN_BLOCKS]; /* outputs of the blocks, after ReLU and dropout */
    float *inputs[GNN_DENSE];   /* inputs of the dense layers */
    size_t widths[GNN_DENSE];   /* width of each of these inputs */
    float *last;                /* [rows][GNN_OUTPUTS] */
} passing;

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* ReLU, and dropout with a stream of random numbers for each node, so that a step does not depend on how its graphs
 * are divided among threads. */
static void activate(const passing *p, int block, const float *from, float *to)
{
    enum { BITS = 16, AT_ONCE = 64 / BITS };
    size_t hidden = p->net->layout.hidden;
    uint32_t limit = (uint32_t)(p->dropout * (1 << BITS));
    float scale = (float)(1 / (1 - p->dropout));
    const gnn_batch *b = p->batch;
    if (!limit) {
        for (size_t i = 0; i < (size_t)b->node_count * hidden; i++)
            to[i] = from[i] > 0 ? from[i] : 0;
        return;
    }
    for (int32_t g = 0; g < b->graph_count; g++)
        for (int32_t i = b->graph_first[g]; i < b->graph_first[g + 1]; i++) {
            uint64_t random = b->seeds[g] ^ (((uint64_t)block << 32) + (uint64_t)(i - b->graph_first[g])) << 8;
            const float *row = from + (size_t)i * hidden;
            float *out = to + (size_t)i * hidden;
            for (size_t k = 0; k < hidden; k += AT_ONCE) {
                uint64_t bits = gnn_random(&random);
                for (size_t j = k; j < k + AT_ONCE; j++, bits >>= BITS)
                    out[j] = row[j] > 0 && (uint16_t)bits >= limit ? row[j] * scale : 0;
            }
        }
}

static void run_blocks(passing *p)
{
    const gnn_batch *b = p->batch;
    size_t hidden = p->net->layout.hidden;
    for (int i = 0; i < GNN_BLOCKS; i++) {
        p->blocks[i].input = i ? p->outputs[i - 1] : b->nodes;
        p->blocks[i].width = i ? hidden : GNN_NODE_WIDTH;
        gnn_convolve(p->net, b, i, &p->blocks[i], p->pool);
        p->outputs[i] = gnn_pool_floats(p->pool, (size_t)b->node_count * hidden + 1);
        activate(p, i, p->blocks[i].result, p->outputs[i]);
    }
}

/* Computes the input of the dense layers: for each row, the sum over the nodes of its graph, and the row itself. */
static void pool_nodes(passing *p)
{
    const gnn_batch *b = p->batch;
    size_t hidden = p->net->layout.hidden, width = hidden + GNN_ROW_WIDTH;
    float *sums = gnn_pool_zeros(p->pool, (size_t)b->graph_count * hidden + 1);
    p->inputs[0] = gnn_pool_floats(p->pool, (size_t)b->row_count * width + 1);
    for (int32_t g = 0; g < b->graph_count; g++)
        gnn_add_rows(p->outputs[GNN_BLOCKS - 1] + (size_t)b->graph_first[g] * hidden,
                     (size_t)(b->graph_first[g + 1] - b->graph_first[g]), hidden, sums + (size_t)g * hidden);
    for (int32_t r = 0; r < b->row_count; r++) {
        float *to = p->inputs[0] + (size_t)r * width;
        memcpy(to, sums + (size_t)b->row_graph[r] * hidden, hidden * sizeof *to);
        memcpy(to + hidden, b->rows + (size_t)r * GNN_ROW_WIDTH, GNN_ROW_WIDTH * sizeof *to);
    }
}

static void run_dense(passing *p)
{
    const gnn_layout *l = &p->net->layout;
    size_t rows = (size_t)p->batch->row_count;
    for (int d = 0; d < GNN_DENSE; d++) {
        const gnn_matrix *m = &l->dense[d];
        float *to = gnn_pool_floats(p->pool, rows * m->columns + 1);
        p->widths[d] = m->rows;
        gnn_product(p->inputs[d], rows, m->rows, p->net->params + m->at, m->columns, m->columns,
                    p->net->params + l->dense_bias[d].at, to);
        for (size_t i = 0; i < rows * m->columns && d < GNN_DENSE - 1; i++)
            to[i] = to[i] > 0 ? to[i] : 0;
        if (d < GNN_DENSE - 1)
            p->inputs[d + 1] = to;
        else
            p->last = to;
    }
}

static void run_forward(passing *p)
{
    run_blocks(p);
    pool_nodes(p);
    run_dense(p);
}

void gnn_pass_forward(const gnn_network *n, const gnn_batch *b, gnn_pool *pool, float *outputs)
{
    passing p = {.net = n, .batch = b, .pool = pool};
    run_forward(&p);
    memcpy(outputs, p.last, (size_t)b->row_count * GNN_OUTPUTS * sizeof *outputs);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Returns the loss and fills its derivatives by the outputs. */
static double lose(const passing *p, const gnn_loss *loss, float *slope)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)p->batch->row_count * GNN_OUTPUTS; i++) {
        double error = (double)p->last[i] - (double)p->batch->targets[i];
        slope[i] = 0;
        if (isnan(error))
            continue;
        bool is_small = fabs(error) <= loss->huber;
        sum += is_small ? error * error / 2 : loss->huber * (fabs(error) - loss->huber / 2);
        slope[i] = (float)((is_small ? error : copysign(loss->huber, error)) * loss->per_label);
    }
    return sum * loss->per_label;
}

/* Returns the derivatives by the input of the dense layers. */
static float *dense_back(passing *p, float *slope, float *gradient)
{
    const gnn_layout *l = &p->net->layout;
    size_t rows = (size_t)p->batch->row_count;
    for (int d = GNN_DENSE - 1; d >= 0; d--) {
        const gnn_matrix *m = &l->dense[d];
        gnn_add_rows(slope, rows, m->columns, gradient + l->dense_bias[d].at);
        gnn_product_sum(p->inputs[d], m->rows, slope, m->columns, rows, gradient + m->at, p->pool);
        /* The first layer also reads rows, which need no gradient. */
        size_t columns = d ? m->rows : l->hidden;
        float *below = gnn_pool_zeros(p->pool, rows * columns + 1);
        gnn_product(slope, rows, m->columns, p->net->transposed + m->at, m->rows, columns, NULL, below);
        for (size_t i = 0; i < rows * columns && d; i++)
            below[i] = p->inputs[d][i] > 0 ? below[i] : 0;
        slope = below;
    }
    return slope;
}

/* Passes the derivatives of the sums on to the nodes. */
static float *nodes_back(const passing *p, const float *row_slope)
{
    const gnn_batch *b = p->batch;
    size_t hidden = p->net->layout.hidden;
    float *sums = gnn_pool_zeros(p->pool, (size_t)b->graph_count * hidden + 1);
    float *slope = gnn_pool_floats(p->pool, (size_t)b->node_count * hidden + 1);
    for (int32_t r = 0; r < b->row_count; r++)
        gnn_add_rows(row_slope + (size_t)r * hidden, 1, hidden, sums + (size_t)b->row_graph[r] * hidden);
    for (int32_t g = 0; g < b->graph_count; g++)
        for (int32_t i = b->graph_first[g]; i < b->graph_first[g + 1]; i++)
            memcpy(slope + (size_t)i * hidden, sums + (size_t)g * hidden, hidden * sizeof *slope);
    return slope;
}

double gnn_pass_gradient(const gnn_network *n, const gnn_batch *b, const gnn_loss *loss, gnn_pool *pool,
                         float *gradient, float *outputs)
{
    passing p = {.net = n, .batch = b, .pool = pool, .dropout = loss->dropout};
    size_t hidden = n->layout.hidden, numbers = (size_t)b->node_count * hidden;
    run_forward(&p);
    if (outputs)
        memcpy(outputs, p.last, (size_t)b->row_count * GNN_OUTPUTS * sizeof *outputs);
    float *slope = gnn_pool_floats(pool, (size_t)b->row_count * GNN_OUTPUTS + 1);
    double sum = lose(&p, loss, slope);
    slope = nodes_back(&p, dense_back(&p, slope, gradient));
    float scale = (float)(1 / (1 - loss->dropout));
    for (int i = GNN_BLOCKS - 1; i >= 0; i--) {
        for (size_t k = 0; k < numbers; k++)
            slope[k] = p.outputs[i][k] > 0 ? slope[k] * scale : 0;
        float *below = i ? gnn_pool_zeros(pool, numbers + 1) : NULL;
        gnn_convolve_back(n, b, i, &p.blocks[i], slope, gradient, below, pool);
        slope = below;
    }
    return sum;
}
