#include "gnn/batch.h"

#include <string.h>

static void put_node(const gnn_graph *g, int32_t node, const gnn_scaling *s, float *to)
{
    memset(to, 0, GNN_OPERATORS * sizeof *to);
    to[g->op[node]] = 1;
    for (int i = 0; i < GNN_VALUES; i++)
        to[GNN_OPERATORS + i] = (g->values[node][i] - s->value_mean[i]) * s->value_scale[i];
}

static void put_row(const gnn_graph *g, const float *setting, const gnn_scaling *s, float *to)
{
    memcpy(to, g->statics, sizeof g->statics);
    memcpy(to + GNN_STATICS, setting, GNN_SETTINGS * sizeof *to);
    for (int i = 0; i < GNN_ROW_WIDTH; i++)
        to[i] = (to[i] - s->row_mean[i]) * s->row_scale[i];
}

static void count_all(const gnn_batch_source *source, gnn_batch *b)
{
    for (int32_t i = 0; i < source->graph_count; i++) {
        b->node_count += source->graphs[i]->node_count;
        b->edge_count += source->graphs[i]->edge_count;
        b->row_count += source->row_counts[i];
    }
}

static void put_rows(const gnn_batch_source *source, int32_t *row_graph, float *rows, float *targets)
{
    int32_t at = 0;
    for (int32_t i = 0; i < source->graph_count; i++)
        for (int32_t k = 0; k < source->row_counts[i]; k++, at++) {
            const gnn_row *row = source->row_lists[i][k];
            row_graph[at] = i;
            put_row(source->graphs[i], source->settings[row->setting], source->scaling,
                    rows + (size_t)at * GNN_ROW_WIDTH);
            for (int o = 0; o < GNN_OUTPUTS; o++)
                targets[(size_t)at * GNN_OUTPUTS + (size_t)o] = row->target[o] - source->scaling->centre[o];
        }
}

gnn_batch gnn_batch_of(const gnn_batch_source *source, gnn_pool *pool)
{
    gnn_batch b = {.graph_count = source->graph_count, .seeds = source->seeds};
    count_all(source, &b);
    int32_t *graph_first = gnn_pool_take(pool, (size_t)b.graph_count + 1, sizeof *graph_first);
    int32_t *first = gnn_pool_take(pool, (size_t)b.node_count + 1, sizeof *first);
    int32_t *from = gnn_pool_take(pool, (size_t)b.edge_count + 1, sizeof *from);
    float *nodes = gnn_pool_floats(pool, (size_t)b.node_count * GNN_NODE_WIDTH + 1);
    int32_t *row_graph = gnn_pool_take(pool, (size_t)b.row_count + 1, sizeof *row_graph);
    float *rows = gnn_pool_floats(pool, (size_t)b.row_count * GNN_ROW_WIDTH + 1);
    float *targets = gnn_pool_floats(pool, (size_t)b.row_count * GNN_OUTPUTS + 1);
    int32_t node = 0, edge = 0;
    for (int32_t i = 0; i < b.graph_count; i++) {
        const gnn_graph *g = source->graphs[i];
        graph_first[i] = node;
        for (int32_t k = 0; k < g->node_count; k++) {
            first[node + k] = edge + g->first[k];
            put_node(g, k, source->scaling, nodes + (size_t)(node + k) * GNN_NODE_WIDTH);
        }
        for (int32_t k = 0; k < g->edge_count; k++)
            from[edge + k] = node + g->from[k];
        node += g->node_count;
        edge += g->edge_count;
    }
    graph_first[b.graph_count] = node;
    first[node] = edge;
    put_rows(source, row_graph, rows, targets);
    b.graph_first = graph_first;
    b.first = first;
    b.from = from;
    b.nodes = nodes;
    b.row_graph = row_graph;
    b.rows = rows;
    b.targets = targets;
    return b;
}
