/* lifetime.h: from when to when each piece of memory of a program is needed.
 *
 * A tensor lives from the kernel that makes it to the last that reads it: PyTorch counts references, and lets go of a tensor with the last
 * one. What the way back reads is kept by autograd: its kernels are in the program, so that they are readers like others. Code
 * holds more than kernels read: who calls a module holds its arguments until the module returns. */
#ifndef SOOTH_MEMORY_LIFETIME_H
#define SOOTH_MEMORY_LIFETIME_H

#include "lower/lower.h"

typedef enum memory_part {
    MEMORY_WEIGHTS,
    MEMORY_GRADIENTS,   /* of parameters */
    MEMORY_OPTIMIZER,   /* its state, and what it computes on the way */
    MEMORY_INPUTS,      /* that the caller holds, labels included */
    MEMORY_ACTIVATIONS, /* what kernels of either pass write, casts of weights included */
    MEMORY_WORKSPACE,
    MEMORY_PART_COUNT,
} memory_part;

enum { BEFORE_ALL = -1 };

/* By storage. */
typedef struct lifetime {
    int64_t bytes; /* 0: nothing is allocated (numbers, storages that no kernel touches) */
    int32_t birth; /* the kernel that makes it; BEFORE_ALL: it is there when the pass begins */
    int32_t death; /* the last kernel that needs it; INT32_MAX: it stays */
    int32_t read;  /* the last kernel that reads or writes it */
    memory_part part;
    node_id layer; /* that made it; NO_NODE: none */
} lifetime;

/* Of a tensor whose elements lie side by side, at most 4 TiB. */
int64_t dense_bytes(const placed_tensor *t);

/* What the software does besides what the program tells. */
typedef struct lifetime_rules {
    bool keeps_scores;   /* autograd keeps what a softmax reads, besides what it writes: PyTorch before 1.11 */
    bool norms_in_place; /* batch norms write over what they read; their way back starts from what they wrote */
} lifetime_rules;

/* For a version of PyTorch: torch_version(). */
lifetime_rules lifetime_rules_of(int version, bool norms_in_place);

/* One for each storage of the program, in `a`. `net` gives the modules by the names of its nodes; NULL: nobody holds what no kernel
 * reads. No device goes in. `scratch` gets what is needed on the way. */
lifetime *lifetimes_of(const program *p, const network *net, const lower_options *options, lifetime_rules rules,
                       arena *a, arena *scratch);

#endif
