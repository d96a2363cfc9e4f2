/* batch.h: several graphs as one graph, whose parts are not connected: the nodes of one graph follow those of the
 * previous. */
#ifndef SOOTH_GNN_BATCH_H
#define SOOTH_GNN_BATCH_H

#include "gnn/net.h"
#include "gnn/pool.h"

/* Inputs of a network are (x - mean) * scale. Outputs are exp(z + centre). */
typedef struct gnn_scaling {
    float value_mean[GNN_VALUES], value_scale[GNN_VALUES];
    float row_mean[GNN_ROW_WIDTH], row_scale[GNN_ROW_WIDTH];
    float centre[GNN_OUTPUTS];
} gnn_scaling;

/* A label: a graph of a set in a setting. */
typedef struct gnn_row {
    int32_t graph, setting;    /* indices in the set */
    float target[GNN_OUTPUTS]; /* log of the measured or predicted number; NAN: unknown */
} gnn_row;

typedef struct gnn_batch {
    int32_t graph_count, node_count, edge_count, row_count;
    const int32_t *graph_first;  /* [graph_count + 1] first node of each graph */
    const int32_t *first, *from; /* edges by the node that reads, as in gnn_graph */
    const float *nodes;          /* [node_count][GNN_NODE_WIDTH] */
    const int32_t *row_graph;    /* graph of each row */
    const float *rows;           /* [row_count][GNN_ROW_WIDTH] */
    const float *targets;        /* [row_count][GNN_OUTPUTS] log, less the centre; NAN: unknown */
    const uint64_t *seeds;       /* seeds of dropout, by graph */
} gnn_batch;

/* Input for gnn_batch_of: graphs[i] has the rows row_lists[i][0 … row_counts[i]). */
typedef struct gnn_batch_source {
    const gnn_graph *const *graphs;
    const gnn_row *const *const *row_lists;
    const int32_t *row_counts;
    const uint64_t *seeds;
    int32_t graph_count;
    const float (*settings)[GNN_SETTINGS]; /* gnn_row.setting indexes it */
    const gnn_scaling *scaling;
} gnn_batch_source;

gnn_batch gnn_batch_of(const gnn_batch_source *source, gnn_pool *pool);

#endif
