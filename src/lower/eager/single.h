/* single.h: programs of one operator, for tables of measured operators. They use the vocabulary of eager.h, so that a
 * single operator and the same one in a network are the same kernel. */
#ifndef SOOTH_LOWER_EAGER_SINGLE_H
#define SOOTH_LOWER_EAGER_SINGLE_H

#include "lower/eager/eager.h"

/* What an `eager` otherwise gets from a network. One serves many programs in turn. */
typedef struct single {
    sooth_model model; /* nothing but its `fail` and a name for messages */
    node node;
    const ops_index *ops;
    eager eager;
} single;

/* Failures while a program is made (a tensor that is too large) go to `f`. */
single *single_new(arena *a, fail *f);
/* Begins a program in s->eager.out, of the canonical operator `op` (for its FLOPs per element). Everything is in
 * `a`. */
eager *single_begin(single *s, const char *op, const lower_options *options, arena *a);

/* A contiguous tensor, and one that exists before: a parameter. */
tensor_id single_tensor(eager *e, dtype type, int rank, const int64_t *dims);
tensor_id single_weight(eager *e, dtype type, int rank, const int64_t *dims);
/* Gradients of a convolution: of its input, of its weight, or both in one kernel. y has the dimensions of its
 * result. */
void single_convolution_backward(eager *e, tensor_id x, tensor_id w, const kernel_window *window, extent y,
                                 bool of_input, bool of_weight);
/* The gradients of a norm of inputs[0] with its weights (at most seven inputs). */
void single_norm_backward(eager *e, const char *op, const tensor_id *inputs, int count);

#endif
