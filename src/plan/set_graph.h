/* set_graph.h: the graph of a bound network in numbers, as data sets store it: nodes with operators, attributes, shapes
 * and costs, and the true edges.
 *
 * A stored graph is little-endian:
 *
 *   1. Four uint32: the version of the format (1), nodes N, edges E, and the bytes that follow when decompressed.
 *   2. A zlib stream of these columns, one after the other: int64 macs[N], params[N], flops[N]; int32 op[N], rank[N],
 *      dims[N][6], attributes[N][12], edges[E][2].
 *
 * Nodes are in topological order and begin with the network's inputs, whose operator is "Input". An edge leads from the
 * node that makes a tensor to the node that reads it, once for each input that reads it. `dims` is the shape of the
 * first output, filled with 0; of a tensor of higher rank, the last element is the product of the rest. What is not
 * known is -1. Costs are those of a pass, with all runs of a loop's body. */
#ifndef SOOTH_PLAN_SET_GRAPH_H
#define SOOTH_PLAN_SET_GRAPH_H

#include "base/arena.h"

enum { SET_GRAPH_VERSION = 1, SET_DIMS = 6, SET_ATTRIBUTES = 12 };

/* Attributes of convolutions, pools and dense layers; 0 where an operator has none. Windows of one dimension have their
 * size as width and a height of 1. */
typedef enum set_attribute {
    SET_KERNEL_HEIGHT,
    SET_KERNEL_WIDTH,
    SET_STRIDE_HEIGHT,
    SET_STRIDE_WIDTH,
    SET_PAD_TOP,
    SET_PAD_LEFT,
    SET_PAD_BOTTOM,
    SET_PAD_RIGHT,
    SET_DILATION_HEIGHT,
    SET_DILATION_WIDTH,
    SET_GROUPS,
    SET_CHANNELS /* channels or units of the layer's output */
} set_attribute;

typedef struct set_graph {
    int32_t node_count, edge_count;
    const int64_t *macs, *params, *flops; /* indexed by node */
    const int32_t *op;                    /* set_op_code() of the operator's name. */
    const int32_t *rank;
    const int32_t (*dims)[SET_DIMS];
    const int32_t (*attributes)[SET_ATTRIBUTES];
    const int32_t (*edges)[2]; /* pairs (from, to) */
} set_graph;

/* Static features of a graph: sums over its nodes. */
typedef struct set_figures {
    int64_t batch; /* first dimension of the first input */
    int64_t params, macs, flops;
    int32_t conv_count, dense_count, relu_count;
} set_figures;

/* Code of an operator in stored graphs: the FNV-1a hash of its name, so that files need no common list. A data set
 * has a table of names (`operators`). */
int32_t set_op_code(const char *name);

/* The graph of a bound model. Allocates in `a`, and fails through it. */
set_graph set_graph_of(const sooth_model *model, arena *a);
set_figures set_figures_of(const set_graph *g);
/* Hash of everything in the graph: equal graphs have equal fingerprints, whatever their names. */
uint64_t set_fingerprint(const set_graph *g);
/* The same, but independent of batch and image size: operators, attributes, parameters, edges. */
uint64_t set_architecture(const set_graph *g);

/* Returns the stored form, in `a`. */
str set_graph_encode(const set_graph *g, arena *a);
/* Decodes into memory of `a`. Returns NULL, or what is wrong with the bytes. */
const char *set_graph_decode(str stored, arena *a, set_graph *g);

#endif
