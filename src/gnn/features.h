/* features.h: inputs of graph networks for one network: 32 numbers for each node, edges, and five numbers for the whole
 * graph, in two forms. `dippm` is the form of DIPPM (Panner Selvam and Brorsson, 2023): operators with weights in a
 * chain. `full` has every operator and the true edges. */
#ifndef SOOTH_GNN_FEATURES_H
#define SOOTH_GNN_FEATURES_H

#include "plan/set_graph.h"

enum {
    GNN_OPERATORS = 16, /* one-hot */
    GNN_VALUES = 16,    /* twelve attributes and four dimensions */
    GNN_NODE_WIDTH = GNN_OPERATORS + GNN_VALUES,
    GNN_STATICS = 5,   /* batch, MACs, numbers of conv, dense and relu */
    GNN_SETTINGS = 17, /* GPU and how it runs */
    GNN_ROW_WIDTH = GNN_STATICS + GNN_SETTINGS
};

typedef enum gnn_features { GNN_DIPPM, GNN_FULL } gnn_features;

/* A graph as networks read it. Values are log(1 + x). Edges are sorted by the node that reads: those into node i are
 * from[first[i]] to from[first[i + 1] - 1]. */
typedef struct gnn_graph {
    int32_t node_count, edge_count;
    const uint8_t *op; /* class of the operator, below GNN_OPERATORS */
    const float (*values)[GNN_VALUES];
    const int32_t *first, *from;
    float statics[GNN_STATICS];
} gnn_graph;

/* Converts a stored graph. Allocates in `a`, and fails through it. */
gnn_graph gnn_features_of(const set_graph *g, gnn_features which, arena *a);

/* Describes a GPU and a setting, such as "amp-fp16", "nchw", "eager", "infer", "pt2.4-cu124": peak rates, bandwidth,
 * sizes, version, and switches. Unknown numbers are 0. */
void gnn_features_of_setting(const sooth_gpu *gpu, const char *precision, const char *layout, const char *runtime,
                             const char *mode, const char *stack, float inputs[GNN_SETTINGS]);

#endif
