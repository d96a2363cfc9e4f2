/* bind.h: what the user says about dimensions, applied to the inputs and to what the file declares. */
#ifndef SOOTH_GRAPH_BIND_H
#define SOOTH_GRAPH_BIND_H

#include "graph/graph.h"

typedef struct binding {
    sooth_model *model;
    const sooth_options *options; /* NULL: as the file says */
    int64_t batch;                /* that the inputs are to have; 0: as the file or a shape of the options says */
    num batch_symbol;             /* the symbol that the batch binds, or NUM_UNKNOWN */
    int64_t given_batch; /* first dimension of the shapes of the options that the batch replaces; NO_DIM: of none */
    bool at_file_batch;  /* all as the options say but for the batch, which is the file's */
    bool overrides;      /* a fixed number of the file was replaced: inner declarations are no longer true */
} binding;

enum { NO_DIM = -2 };

/* Fails with SOOTH_ERROR_USAGE on a name that is nothing in the model and on numbers that cannot be. */
void bind_check(sooth_model *model, const sooth_options *options);
/* Gives the network its inputs; finds out whether a fixed batch is replaced (net->batch_from, batch_to). */
void bind_inputs(binding *b);
/* The batch that the shapes of the options give the first input instead of one that the file fixes; 0: none. */
int64_t bind_batch_of_shapes(const sooth_model *model, const sooth_options *options);
/* A dimension of the source under the binding: a number, or an expression of what is not bound. */
num bind_dim(const binding *b, num dim);
/* Notes which dimensions of the inputs are not bound, and how to bind them. */
void bind_note_unbound(const binding *b);

#endif
