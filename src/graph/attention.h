/* attention.h: geometry of every attention operator, whatever the packing of its inputs. Shape and cost rules use
 * it. */
#ifndef SOOTH_GRAPH_ATTENTION_H
#define SOOTH_GRAPH_ATTENTION_H

#include "graph/graph.h"

/* Every field may be NUM_UNKNOWN. */
typedef struct attention_geometry {
    num batch;
    num heads, kv_heads;
    num queries;                /* Length of the query sequence. */
    num new_keys;               /* Keys computed by this call. */
    num past_keys;              /* Keys already in the cache; 0 without a cache. */
    num keys;                   /* Keys attended to: new and cached. */
    num head_size, v_head_size; /* Size per head of queries and keys, and of values. */
    num projection_macs;        /* MACs of projection weights inside the operator; 0 without them. */
} attention_geometry;

void attention_read(network *net, const node *n, attention_geometry *g);

#endif
