/* fusion_groups.h: groups of nodes that become one kernel. fusion.c joins them; fusion_kernels.c writes the kernels. */
#ifndef SOOTH_LOWER_FUSED_FUSION_GROUPS_H
#define SOOTH_LOWER_FUSED_FUSION_GROUPS_H

#include "lower/fused/fusion.h"

enum {
    NO_ITEM = -1,
    MAX_LOADS = 64, /* Largest number of distinct accesses per buffer. */
};

typedef struct group {
    int32_t first, last, node_count; /* Linked list of nodes, in order. */
    int32_t least, most;             /* Smallest and largest index of its nodes. */
    int64_t elements, reduced;
} group;

typedef struct pair {
    int32_t a, b, distance;
    bool alike;
    int64_t shared_bytes;
} pair;

typedef struct joiner {
    fusion *f;
    int32_t *parent;       /* Indexed by node: parent in a union-find tree; the root identifies the group. */
    int32_t *next;         /* Indexed by node: next node of the same group. */
    group *groups;         /* Indexed by root node. */
    int32_t *reader_start; /* Indexed by buffer: start of its readers in `readers`. */
    int32_t *readers;
    int32_t *chain;    /* Indexed by node: its chain. In a chain, each node reads the output of the one before. */
    int32_t *in_chain; /* Indexed by node: position in its chain. */
    struct {
        /* The search that wrote the entry, and the position in the chain at which the searched group begins. */
        int32_t stamp, first;
    } * noted;     /* Indexed by chain. */
    int32_t *seen; /* Indexed by group: stamp of the last visit. */
    int32_t stamp;
    int32_t *collected, *paired; /* Indexed by group: stamps of the last visit while pairs are collected. */
    int32_t collect_stamp;
    bool may_turn; /* True if loops may be reordered to match each other. */
    int32_t *stack;
    struct {
        pair *items;
        int32_t count, capacity;
    } pairs;
} joiner;

static inline int32_t group_of(const joiner *j, int32_t n)
{
    while (j->parent[n] != n) {
        j->parent[n] = j->parent[j->parent[n]];
        n = j->parent[n];
    }
    return n;
}

static inline const fuse_node *node_at(const joiner *j, int32_t n)
{
    return &j->f->nodes.items[n];
}

static inline int64_t touched_bytes(const fusion *f, const fuse_read *r)
{
    const fuse_buffer *b = &f->buffers.items[r->buffer];
    int64_t touched = access_touched(&r->at);
    return touched < b->elements ? touched * (b->bytes / b->elements) : b->bytes;
}

/* Writes the kernels of all groups, each after the kernels that it reads from. */
void fusion_write_kernels(joiner *j);

#endif
