/* joint.h: the joint graph of a training step, as a compiler sees it: operators are split into the steps that it fuses
 * separately, and partition.c decides which results the forward part keeps for the backward part. */
#ifndef SOOTH_LOWER_FUSED_JOINT_H
#define SOOTH_LOWER_FUSED_JOINT_H

#include "lower/layout.h"

/* Windows with more elements are library calls, as in max_pool2d of torch/_inductor/lowering.py. */
enum { MAX_TAPS = 25 };

typedef enum joint_place {
    JOINT_FORWARD,
    JOINT_EITHER,   /* Derivatives that depend only on the forward pass: either part may compute them. */
    JOINT_BACKWARD, /* Depends on the gradient of the outputs. */
    JOINT_LOSS,     /* Loss and its gradient: run between the parts, not compiled. */
    JOINT_UPDATE,   /* Optimizer: not compiled. */
} joint_place;

typedef struct joint {
    arena *arena;
    program *p; /* The eager program; only its tensors are used. */
    struct {
        kernel *items;
        int32_t count, capacity;
    } kernels;
    joint_place *place; /* Indexed by kernel. */
    int32_t *writer;    /* Indexed by storage: the kernel that writes it last; NO_WRITER for inputs and weights. */
    int64_t *bytes;     /* Indexed by storage. */
} joint;

enum { NO_WRITER = -1 };

/* Splits the operators of an eager training program and assigns each kernel to a place. */
joint *joint_of(program *p, const network *net, arena *a);

static inline int32_t joint_storage(const joint *j, tensor_id t)
{
    return j->p->tensors.items[t].storage;
}

/* Returns an array indexed by storage: true for what the forward part keeps for the backward part (partition.c). */
bool *partition_kept(const joint *j);

/* ---- minimum cut (min_cut.c) ------------------------------------------------------------------------------------- */

typedef struct cut_edge {
    int32_t to, back; /* Target node, and index of the reverse edge. */
    int32_t next;     /* Next edge of the same node; -1 at the end. */
    int64_t capacity;
} cut_edge;

typedef struct cut_graph {
    arena *arena;
    int32_t node_count;
    int32_t *first; /* Indexed by node: its first edge. */
    struct {
        cut_edge *items;
        int32_t count, capacity;
    } edges;
} cut_graph;

#define CUT_UNLIMITED (INT64_MAX / 4)

cut_graph cut_graph_new(arena *a, int32_t node_count);
void cut_add_edge(cut_graph *g, int32_t from, int32_t to, int64_t capacity);
/* Returns an array indexed by node: true for nodes on the source's side of the minimum cut that is nearest to the
 * source. */
bool *cut_source_side(cut_graph *g, int32_t source, int32_t sink);

#endif
