/* fusion.h: fuses loops into kernels, as TorchInductor's scheduler does. A node is a loop nest (pointwise or with a
 * reduction) or a library call. A buffer is memory that one node writes and others read. Producer and consumer fuse if
 * the loop that writes an element also reads it; siblings fuse if they read the same elements. */
#ifndef SOOTH_LOWER_FUSED_FUSION_H
#define SOOTH_LOWER_FUSED_FUSION_H

#include "lower/fused/access.h"

enum { NO_FUSE_NODE = -1, MAX_NODE_WRITES = 4 };

typedef struct fuse_buffer {
    tensor_id tensor; /* Shape, type and strides in the eager program. */
    tensor_id placed; /* 1 + the tensor with the strides of its memory; 0 until that tensor exists. */
    int64_t elements;
    int64_t bytes;
    access layout;  /* Memory layout: position of each element, in the order of the tensor's strides. */
    bool is_fixed;  /* True if a library call or the caller determines the layout. */
    bool is_output; /* Output of the network. */
    int32_t writer; /* Node that writes it; NO_FUSE_NODE for inputs and weights. */
} fuse_buffer;

typedef struct fuse_read {
    int32_t buffer;
    int32_t times;    /* Loads per element, such as the taps of a window. */
    tensor_id tensor; /* View that a library call reads. */
    access at;
    bool is_in_order;    /* True if consecutive elements of memory are read. */
    uint64_t order_hash; /* Equal for reads of the same memory in the same order. */
} fuse_read;

typedef enum fuse_kind {
    FUSE_LOOP,
    FUSE_CALL, /* Kernel of a library. */
    FUSE_JOIN, /* Concatenation of buffers; launches no kernel. */
} fuse_kind;

typedef struct fuse_node {
    fuse_kind kind;
    bool is_apart;    /* A reduction that cannot fuse with its readers. */
    int64_t elements; /* Iterations of the loops outside the reduction. */
    int64_t reduced;  /* Iterations of the loops inside the reduction; 1 for a pointwise node. */
    int32_t read_count, write_count, op_count;
    fuse_read *reads;
    int32_t writes[MAX_NODE_WRITES];
    const char **ops;
    const kernel *call; /* The eager kernel of a library call. */
    node_id layer;
    int64_t flops, repeat;
} fuse_node;

typedef struct fusion {
    arena *arena;
    program *out; /* Receives the kernels; already contains all tensors of the eager program. */
    struct {
        fuse_buffer *items;
        int32_t count, capacity;
    } buffers;
    struct {
        fuse_node *items;
        int32_t count, capacity;
    } nodes;
} fusion;

/* Fuses the nodes and appends their kernels to `out`. */
void fusion_emit(fusion *f);
/* Returns the tensor of a buffer, with the strides of its memory. */
tensor_id fusion_tensor_of(fusion *f, int32_t buffer);

#endif
