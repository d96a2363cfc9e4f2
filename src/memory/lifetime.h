/* lifetime.h: the lifetime of each storage of a program.
 *
 * A tensor lives from the kernel that writes it to the last that reads it, because PyTorch frees a tensor with its last
 * reference. Autograd keeps what the backward pass reads; its kernels are readers like others. Code holds more than
 * kernels read: the caller of a module holds its arguments until the module returns. */
#ifndef SOOTH_MEMORY_LIFETIME_H
#define SOOTH_MEMORY_LIFETIME_H

#include "lower/lower.h"

typedef enum memory_part {
    MEMORY_WEIGHTS,
    MEMORY_GRADIENTS,   /* of parameters */
    MEMORY_OPTIMIZER,   /* state of the optimizer, and its temporaries */
    MEMORY_INPUTS,      /* held by the caller, labels included */
    MEMORY_ACTIVATIONS, /* written by kernels of either pass, casts of weights included */
    MEMORY_WORKSPACE,
    MEMORY_PART_COUNT,
} memory_part;

enum { BEFORE_ALL = -1 };

/* By storage. */
typedef struct lifetime {
    int64_t bytes; /* 0: not allocated (scalars, storages that no kernel touches) */
    int32_t birth; /* the kernel that makes it; BEFORE_ALL: exists before the pass */
    int32_t death; /* the last kernel that needs it; INT32_MAX: never freed */
    int32_t read;  /* the last kernel that reads or writes it */
    memory_part part;
    node_id layer; /* layer that made it; NO_NODE: none */
} lifetime;

/* Bytes of a dense tensor, at most 4 TiB. */
int64_t dense_bytes(const placed_tensor *t);

/* Behaviour of the software that the program does not show. */
typedef struct lifetime_rules {
    bool keeps_scores;   /* autograd keeps the input of a softmax besides its output: PyTorch before 1.11 */
    bool norms_in_place; /* batch norms work in place; their backward pass starts from their output */
} lifetime_rules;

/* For a version of PyTorch: torch_version(). */
/* Are batch norms followed by the rectifiers that InPlace-ABN comes with, leaky by 0.001? Where that is installed they work in place. */
bool lifetime_has_abn(const network *net);
lifetime_rules lifetime_rules_of(int version, bool norms_in_place);

/* One per storage of the program, in `a`. Names of the nodes of `net` give the modules; NULL: nothing is held beyond
 * its last reader. Independent of the device. `scratch` holds temporary data. */
lifetime *lifetimes_of(const program *p, const network *net, const lower_options *options, lifetime_rules rules,
                       arena *a, arena *scratch);

#endif
