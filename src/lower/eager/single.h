/* single.h: programs of one operator, for tables of measured operators. They use the vocabulary of eager.h, so that a
 * single operator and the same one in a network are the same kernel. */
#ifndef SOOTH_LOWER_EAGER_SINGLE_H
#define SOOTH_LOWER_EAGER_SINGLE_H

#include "lower/eager/eager.h"

/* Stands in for the network that an `eager` lowers. One instance serves many programs, one after another. */
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

/* Add a contiguous tensor; single_weight adds a parameter, which exists before the program runs. */
tensor_id single_tensor(eager *e, dtype type, int rank, const int64_t *dims);
tensor_id single_weight(eager *e, dtype type, int rank, const int64_t *dims);
/* Gradients of a convolution with respect to its input, its weight, or both in one kernel. y has the dimensions of the
 * convolution's output. */
void single_convolution_backward(eager *e, tensor_id x, tensor_id w, const kernel_window *window, extent y,
                                 bool of_input, bool of_weight);
/* The gradients of a norm of inputs[0] with its weights (at most seven inputs). */
void single_norm_backward(eager *e, const char *op, const tensor_id *inputs, int count);

#endif
