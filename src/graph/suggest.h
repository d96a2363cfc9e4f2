/* suggest.h: sizes to propose for dimensions that a file leaves open. */
#ifndef SOOTH_GRAPH_SUGGEST_H
#define SOOTH_GRAPH_SUGGEST_H

#include "graph/graph.h"

/* A usual size of a dimension of an input: by its name (may be empty), else by its place, the rank and what is known beside it.
 * `is_channels_last` is for files whose framework has channels last where the dimensions do not tell. */
int64_t suggest_dim(const value *input, int axis, str name, bool is_channels_last);
/* The dimensions of an input of which not even the rank is known ("1,3,224,224"). */
const char *suggest_shape(const value *input, bool is_channels_last);

#endif
