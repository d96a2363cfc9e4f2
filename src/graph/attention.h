/* attention.h: the geometry of every attention operator, however its inputs are packed. Shapes and costs both read it. */
#ifndef SOOTH_GRAPH_ATTENTION_H
#define SOOTH_GRAPH_ATTENTION_H

#include "graph/graph.h"

/* Anything may be NUM_UNKNOWN. */
typedef struct attention_geometry {
    num batch;
    num heads, kv_heads;
    num queries;                /* length of the query sequence */
    num new_keys;               /* keys that this call brings */
    num past_keys;              /* keys in the cache before it; 0 without a cache */
    num keys;                   /* all that are attended */
    num head_size, v_head_size; /* of queries and keys, of values */
    num projection_macs;        /* of weights inside the operator; 0 without */
} attention_geometry;

void attention_read(network *net, const node *n, attention_geometry *g);

#endif
