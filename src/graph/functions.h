/* functions.h: the functions that a file defines, by name, and how many nodes their calls become. */
#ifndef SOOTH_GRAPH_FUNCTIONS_H
#define SOOTH_GRAPH_FUNCTIONS_H

#include "graph/infer.h"

/* Makes the index, once. Fails if the main graph has more than `most_nodes` nodes once its calls are inlined: before they are. */
void functions_index(sooth_model *model, int64_t most_nodes);
/* The function that a node calls; NULL if it is an operator. */
const function *functions_find(const source *s, const node *n);

#endif
