/* pool.h: memory of one pass over a batch. A pool keeps its memory from pass to pass, so that a step allocates nothing
 * after the largest batch. */
#ifndef SOOTH_GNN_POOL_H
#define SOOTH_GNN_POOL_H

#include "base/fail.h"

typedef struct gnn_pool {
    char *data; /* free() by gnn_pool_free */
    size_t used, capacity;
    struct gnn_pool_extra *extras; /* blocks beyond the capacity; the next reset joins them */
    size_t extra_bytes;
    fail *fail; /* receives failures to allocate */
} gnn_pool;

/* Uninitialized memory until the next reset. Fails through `fail`. */
void *gnn_pool_take(gnn_pool *p, size_t count, size_t size);
float *gnn_pool_floats(gnn_pool *p, size_t count);
float *gnn_pool_zeros(gnn_pool *p, size_t count);
void gnn_pool_reset(gnn_pool *p);
void gnn_pool_free(gnn_pool *p);

#endif
