/* shape_basic.c: shapes of pointwise operators, reductions and casts. */
#include "graph/shape.h"

void shape_same(infer *c)
{
    set_like(c, 0, in(c, 0));
}

void shape_broadcast(infer *c)
{
    const value *first = in(c, 0);
    if (!first)
        return;
    set_dtype(c, 0, first->dtype);
    num dims[MAX_RANK];
    int rank = first->rank;
    if (rank > 0)
        memcpy(dims, first->dims, (size_t)rank * sizeof *dims);
    for (int i = 1; i < c->node->input_count && rank >= 0; i++) {
        const value *v = in(c, i);
        num wider[MAX_RANK];
        rank = v ? broadcast(c, dims, rank, v->dims, v->rank, wider) : -1;
        if (rank > 0)
            memcpy(dims, wider, (size_t)rank * sizeof *dims);
    }
    set_shape(c, 0, rank, dims);
}
