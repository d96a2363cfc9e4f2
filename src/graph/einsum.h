/* einsum.h: an Einsum equation against the shapes of its operands. Shapes and costs both read it. */
#ifndef SOOTH_GRAPH_EINSUM_H
#define SOOTH_GRAPH_EINSUM_H

#include "graph/graph.h"

typedef struct einsum {
    int rank; /* of the output */
    num dims[MAX_RANK];
    num all_labels; /* product of the sizes of all labels: iterations of the loop nest */
} einsum;

/* False if the equation is malformed, an operand's rank is not known, or they do not fit. */
bool einsum_read(network *net, const node *n, einsum *e);

#endif
