/* bind.h: what the user says about dimensions, applied to the inputs and to what the file declares. */
#ifndef SOOTH_GRAPH_BIND_H
#define SOOTH_GRAPH_BIND_H

#include "graph/graph.h"

typedef struct binding {
    sooth_model *model;
    const sooth_options *options; /* NULL: as the file says */
    num batch_symbol;             /* the symbol that the batch binds, or NUM_UNKNOWN */
    bool overrides;               /* a fixed number of the file was replaced: inner declarations are no longer true */
} binding;

/* Fails with SOOTH_ERROR_USAGE on a name that is nothing in the model and on numbers that cannot be. */
void bind_check(sooth_model *model, const sooth_options *options);
/* Gives the network its inputs; finds out whether a fixed batch is replaced (net->batch_from, batch_to). */
void bind_inputs(binding *b);
/* A dimension of the source under the binding: a number, or an expression of what is not bound. */
num bind_dim(const binding *b, num dim);
/* Notes which dimensions of the inputs are not bound, and how to bind them. */
void bind_note_unbound(const binding *b);

#endif
