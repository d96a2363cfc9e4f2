/* shape.h: all shape and fold rules that the operator table names. One section per file. */
#ifndef SOOTH_GRAPH_SHAPE_H
#define SOOTH_GRAPH_SHAPE_H

#include "graph/infer.h"

/* ---- shape_basic.c: pointwise, reductions, types --------------------------------------------------------------- */
void shape_same(infer *c);      /* output 0 is like input 0 */
void shape_broadcast(infer *c); /* all inputs broadcast; dtype of input 0 */

/* ---- shape_move.c: data movement ------------------------------------------------------------------------------- */

/* ---- shape_conv.c: convolution, pooling, resizing -------------------------------------------------------------- */

/* ---- shape_matmul.c: matrix products --------------------------------------------------------------------------- */

/* ---- shape_norm.c: normalization ------------------------------------------------------------------------------- */

/* ---- shape_attention.c ----------------------------------------------------------------------------------------- */

/* ---- shape_recurrent.c ----------------------------------------------------------------------------------------- */

/* ---- shape_other.c: everything else ---------------------------------------------------------------------------- */
void shape_constant(infer *c);

/* ---- fold.c: data of outputs from data of inputs --------------------------------------------------------------- */

#endif
