/* functions.h: finds the file's functions by name, and counts the nodes that their calls expand to. */
#ifndef SOOTH_GRAPH_FUNCTIONS_H
#define SOOTH_GRAPH_FUNCTIONS_H

#include "graph/infer.h"

/* Builds the index once. Fails, before inlining, if the main graph would have more than `most_nodes` nodes with its
 * calls inlined. */
void functions_index(sooth_model *model, int64_t most_nodes);
/* The function that a node calls; NULL if it is an operator. */
const function *functions_find(const source *s, const node *n);

#endif
