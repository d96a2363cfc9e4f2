/* fusion.h: loops and library calls, and how a compiler fuses loops into kernels.
 *
 * A buffer is memory that one node writes and others read. A node is a loop nest (pointwise, or with a reduction) or a
 * library call. Fusion follows TorchInductor's scheduler: producer and consumer if the loop that makes an element reads
 * it, siblings if they read the same elements. */
#ifndef SOOTH_LOWER_FUSED_FUSION_H
#define SOOTH_LOWER_FUSED_FUSION_H

#include "lower/fused/access.h"

enum { NO_FUSE_NODE = -1, MAX_NODE_WRITES = 3 };

typedef struct fuse_buffer {
    tensor_id tensor; /* shape, type, strides as of the eager program */
    tensor_id placed; /* the same with the strides of its memory, plus one; 0: not made yet */
    int64_t elements;
    int64_t bytes;
    access layout;  /* memory, over the elements in the order of the tensor's strides */
    bool is_fixed;  /* a library call or the caller has fixed the layout */
    bool is_output; /* of the network */
    int32_t writer; /* node that writes it; NO_FUSE_NODE: exists before the pass */
} fuse_buffer;

typedef struct fuse_read {
    int32_t buffer;
    int32_t times;    /* loads per element: taps of a window */
    tensor_id tensor; /* what a library call sees of it */
    access at;
    bool is_in_order;    /* one element of memory after the other */
    uint64_t order_hash; /* equal for reads of the same memory in the same order */
} fuse_read;

typedef enum fuse_kind {
    FUSE_LOOP,
    FUSE_CALL, /* a library's kernel */
    FUSE_JOIN, /* a concatenation of buffers: no kernel */
} fuse_kind;

typedef struct fuse_node {
    fuse_kind kind;
    bool is_apart;    /* a reduction that cannot fuse with its readers */
    int64_t elements; /* of the loops outside of the reduction */
    int64_t reduced;  /* of those inside; 1 if it is pointwise */
    int32_t read_count, write_count, op_count;
    fuse_read *reads;
    int32_t writes[MAX_NODE_WRITES];
    const char **ops;
    const kernel *call; /* the eager kernel of a library call */
    node_id layer;
    int64_t flops, repeat;
} fuse_node;

typedef struct fusion {
    arena *arena;
    program *out; /* gets the kernels; has all tensors of the eager program */
    struct {
        fuse_buffer *items;
        int32_t count, capacity;
    } buffers;
    struct {
        fuse_node *items;
        int32_t count, capacity;
    } nodes;
} fusion;

/* Fuses the nodes and appends the kernels. */
void fusion_emit(fusion *f);

#endif
