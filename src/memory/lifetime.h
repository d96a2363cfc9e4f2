/* lifetime.h: computes the lifetime of each storage. A tensor lives from the kernel that writes it to the last that
 * reads it, because PyTorch frees it with its last reference. Autograd keeps the tensors that backward kernels read.
 * Python code keeps more: the caller of a module holds its arguments until the module returns. */
#ifndef SOOTH_MEMORY_LIFETIME_H
#define SOOTH_MEMORY_LIFETIME_H

#include "lower/lower.h"

typedef enum memory_part {
    MEMORY_WEIGHTS,
    MEMORY_GRADIENTS,   /* Gradients of parameters. */
    MEMORY_OPTIMIZER,   /* State and temporaries of the optimizer. */
    MEMORY_INPUTS,      /* Held by the caller, including labels. */
    MEMORY_ACTIVATIONS, /* Written by kernels of either pass, including casts of weights. */
    MEMORY_WORKSPACE,
    MEMORY_PART_COUNT,
} memory_part;

enum { BEFORE_ALL = -1 };

/* Indexed by storage. */
typedef struct lifetime {
    int64_t bytes; /* 0 if it is not allocated (scalars, unused storages). */
    int32_t birth; /* Kernel that writes it; BEFORE_ALL if it exists before the pass. */
    int32_t death; /* Last kernel that needs it; INT32_MAX if it is never freed. */
    int32_t read;  /* Last kernel that reads or writes it. */
    memory_part part;
    node_id layer; /* Layer that writes it; NO_NODE if there is none. */
} lifetime;

/* Returns the bytes of a dense tensor, at most 4 TiB. */
int64_t dense_bytes(const placed_tensor *t);

/* Behaviour of the software that the program does not show. */
typedef struct lifetime_rules {
    bool keeps_scores;   /* Autograd also keeps the input of a softmax (PyTorch before 1.11). */
    bool norms_in_place; /* Batch norms work in place; their backward pass starts from the output. */
} lifetime_rules;

/* Returns the behaviour of a PyTorch version (torch_version()). */
/* True if batch norms are followed by leaky ReLUs with slope 0.001, as in InPlace-ABN. They then work in place. */
bool lifetime_has_abn(const network *net);
lifetime_rules lifetime_rules_of(int version, bool norms_in_place);

/* Returns one lifetime per storage, allocated in `a`. The modules come from the node names of `net`; with NULL,
 * nothing outlives its last reader. Independent of the device. `scratch` holds temporary data. */
lifetime *lifetimes_of(const program *p, const network *net, const lower_options *options, lifetime_rules rules,
                       arena *a, arena *scratch);

#endif
