/* shape_nn.h: small helpers shared by the rules of layers (shape_conv.c … shape_contrib.c). */
#ifndef SOOTH_GRAPH_SHAPE_SHAPE_NN_H
#define SOOTH_GRAPH_SHAPE_SHAPE_NN_H

#include "graph/shape/shape.h"

/* Type of input i, or `otherwise` if it is absent or unknown. */
static inline dtype dtype_in(const infer *c, int i, dtype otherwise)
{
    const value *v = in(c, i);
    return v && v->dtype != DT_UNKNOWN ? v->dtype : otherwise;
}

/* Dimension of v, counted from the end if negative; NUM_UNKNOWN if it does not exist. */
static inline num dim_of(const value *v, int axis)
{
    if (!v || v->rank < 0)
        return NUM_UNKNOWN;
    if (axis < 0)
        axis += v->rank;
    return axis >= 0 && axis < v->rank ? v->dims[axis] : NUM_UNKNOWN;
}

/* Returns the first of the two that is known. */
static inline num either(num a, num b)
{
    return a != NUM_UNKNOWN ? a : b;
}

#endif
