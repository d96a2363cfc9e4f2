/* net.h: the graph networks: three convolutions over the graph, the sum over its nodes, three dense layers, and three
 * outputs. This is the frame of PMGNS (DIPPM, 2023); `sage` in it is PMGNS itself.
 *
 * A convolution is followed by ReLU and dropout. The convolutions, with the names of PyTorch Geometric:
 *
 *   sage  SAGEConv(normalize=True), mean over the nodes read
 *   gcn   GCNConv, with self-loops and symmetric normalization
 *   gat   GATConv, one head, with self-loops
 *   gin   GINConv, eps 0, of a network of two layers
 *   mlp   Linear: sees no edges */
#ifndef SOOTH_GNN_NET_H
#define SOOTH_GNN_NET_H

#include "gnn/features.h"

typedef enum gnn_kind { GNN_SAGE, GNN_GCN, GNN_GAT, GNN_GIN, GNN_MLP, GNN_KINDS } gnn_kind;
enum { GNN_BLOCKS = 3, GNN_DENSE = 3, GNN_OUTPUTS = 3, GNN_WIDEST = 2048 };

extern const char *const GNN_KIND_NAMES[GNN_KINDS + 1]; /* NULL after the last */
extern const char *const GNN_FEATURE_NAMES[3];          /* NULL after the last */
extern const char *const GNN_OUTPUT_NAMES[GNN_OUTPUTS]; /* latency_ms, energy_j, memory_mib */

/* A weight matrix is stored [inputs][outputs]. */
typedef struct gnn_matrix {
    size_t at, rows, columns;
} gnn_matrix;

typedef enum gnn_part {
    GNN_WEIGHT,   /* of the node; sage: of what it reads */
    GNN_BIAS,     /* one row */
    GNN_OWN,      /* sage: weight of the node itself; gin: second layer */
    GNN_OWN_BIAS, /* gin */
    GNN_FROM,     /* gat: attention of the node that is read, one row */
    GNN_TO,       /* gat: attention of the reading node, one row */
    GNN_PARTS
} gnn_part;

/* Places of the parameters. Parts that a kind lacks have no rows. */
typedef struct gnn_layout {
    gnn_kind kind;
    size_t hidden; /* a multiple of 32 */
    gnn_matrix block[GNN_BLOCKS][GNN_PARTS];
    gnn_matrix dense[GNN_DENSE], dense_bias[GNN_DENSE];
    size_t count;
} gnn_layout;

gnn_layout gnn_layout_of(gnn_kind kind, size_t hidden);
/* The i-th matrix in the order of storage, with a name as "block1.weight"; false after the last. */
bool gnn_layout_matrix(const gnn_layout *l, size_t index, gnn_matrix *m, char name[32]);

/* Random numbers (splitmix64). */
uint64_t gnn_random(uint64_t *state);
/* Fills the parameters as PyTorch Geometric does by default. */
void gnn_layout_fill(const gnn_layout *l, uint64_t seed, float *params);
/* Stores each matrix transposed at its own place. Input gradients need them so. */
void gnn_layout_transpose(const gnn_layout *l, size_t index, const float *params, float *transposed);

#endif
