/* suggest.h: suggests sizes for dimensions that a file leaves open. */
#ifndef SOOTH_GRAPH_SUGGEST_H
#define SOOTH_GRAPH_SUGGEST_H

#include "graph/graph.h"

/* Usual size of an input dimension: by its name (may be empty), else by axis, rank and the known dimensions.
 * `is_channels_last`: default layout of the file's framework. */
int64_t suggest_dim(const value *input, int axis, str name, bool is_channels_last);
/* Suggested shape of an input of unknown rank ("1,3,224,224"). */
const char *suggest_shape(const value *input, bool is_channels_last);

#endif
