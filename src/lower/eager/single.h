/* single.h: programs of one operator, for tables of measured operators. They use the rules of eager.h, so a single
 * operator has the same kernel as in a network. */
#ifndef SOOTH_LOWER_EAGER_SINGLE_H
#define SOOTH_LOWER_EAGER_SINGLE_H

#include "lower/eager/eager.h"

/* Replaces the network that an `eager` lowers. One instance serves many programs in sequence. */
typedef struct single {
    sooth_model model; /* Only `fail` and a name for messages are set. */
    node node;
    const ops_index *ops;
    eager eager;
} single;

/* Failures while building a program, such as an oversized tensor, are reported to `f`. */
single *single_new(arena *a, fail *f);
/* Begins a program in s->eager.out. The canonical operator `op` determines the FLOPs per element. Allocates in `a`. */
eager *single_begin(single *s, const char *op, const lower_options *options, arena *a);

/* Each adds a contiguous tensor. single_weight() adds a parameter, which exists before the program runs. */
tensor_id single_tensor(eager *e, dtype type, int rank, const int64_t *dims);
tensor_id single_weight(eager *e, dtype type, int rank, const int64_t *dims);
/* Appends the gradient of a convolution's input, its weight, or both in one kernel. `y` has the convolution's output
 * dimensions. */
void single_convolution_backward(eager *e, tensor_id x, tensor_id w, const kernel_window *window, extent y,
                                 bool of_input, bool of_weight);
/* Appends the gradients of a norm of inputs[0] and its weights (at most seven inputs). */
void single_norm_backward(eager *e, const char *op, const tensor_id *inputs, int count);

#endif
