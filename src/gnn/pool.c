#include "gnn/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

struct gnn_pool_extra {
    struct gnn_pool_extra *next;
    char room[];
};

static char *aligned(char *p)
{
    return p + (LINE - (uintptr_t)p % LINE) % LINE;
}

void *gnn_pool_take(gnn_pool *p, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
        fail_with(p->fail, SOOTH_ERROR_SYSTEM, "out of memory: a batch of graphs is too large; use a smaller batch");
    bytes = (bytes + LINE - 1) / LINE * LINE;
    if (bytes <= p->capacity - p->used) {
        char *at = aligned(p->data) + p->used;
        p->used += bytes;
        return at;
    }
    struct gnn_pool_extra *extra = malloc(sizeof *extra + bytes + LINE);
    if (!extra)
        fail_with(p->fail, SOOTH_ERROR_SYSTEM, "out of memory for a batch of graphs; use a smaller --batch-size");
    extra->next = p->extras;
    p->extras = extra;
    p->extra_bytes += bytes;
    return aligned(extra->room);
}

float *gnn_pool_floats(gnn_pool *p, size_t count)
{
    return gnn_pool_take(p, count, sizeof(float));
}

float *gnn_pool_zeros(gnn_pool *p, size_t count)
{
    float *zeros = gnn_pool_floats(p, count);
    memset(zeros, 0, count * sizeof *zeros);
    return zeros;
}

static void free_extras(gnn_pool *p)
{
    for (struct gnn_pool_extra *extra = p->extras, *next; extra; extra = next) {
        next = extra->next;
        free(extra);
    }
    p->extras = NULL;
    p->extra_bytes = 0;
}

void gnn_pool_reset(gnn_pool *p)
{
    size_t wanted = p->used + p->extra_bytes;
    p->used = 0;
    if (!p->extras)
        return;
    free_extras(p);
    free(p->data);
    wanted += wanted / 8;
    p->data = malloc(wanted + LINE);
    p->capacity = p->data ? wanted : 0; /* on failure, the next pass allocates extra blocks and reports the error */
}

void gnn_pool_free(gnn_pool *p)
{
    free_extras(p);
    free(p->data);
    p->data = NULL;
    p->used = p->capacity = 0;
}
