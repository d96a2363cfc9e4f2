/* einsum.h: matches an Einsum equation against the shapes of its operands. Shape and cost rules use it. */
#ifndef SOOTH_GRAPH_EINSUM_H
#define SOOTH_GRAPH_EINSUM_H

#include "graph/graph.h"

typedef struct einsum {
    int rank; /* rank of the output */
    num dims[MAX_RANK];
    num all_labels; /* product of the sizes of all labels: iterations of the loop nest */
} einsum;

/* False if the equation is malformed, a rank is unknown, or the shapes do not match. */
bool einsum_read(network *net, const node *n, einsum *e);

#endif
