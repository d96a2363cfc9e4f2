/* bind.h: applies the user's dimensions to the inputs and to the shapes declared in the file. */
#ifndef SOOTH_GRAPH_BIND_H
#define SOOTH_GRAPH_BIND_H

#include "graph/graph.h"

typedef struct binding {
    sooth_model *model;
    const sooth_options *options; /* NULL: the file's dimensions. */
    int64_t batch;                /* Batch of the inputs; 0 keeps that of the options' shapes or the file. */
    num batch_symbol;             /* Symbol bound by the batch, or NUM_UNKNOWN. */
    /* First dimension of the options' shapes, which the batch replaces; NO_DIM if there is none. */
    int64_t given_batch;
    bool at_file_batch; /* Apply the options, but keep the batch of the file. */
    bool overrides;     /* A fixed dimension of the file was replaced, which makes declared inner shapes invalid. */
} binding;

enum { NO_DIM = -2 };

/* Returns the name of symbol `index` of the source; NULL after the last. */
const char *bind_symbol_name(const sooth_model *model, int32_t index);
/* Fails with SOOTH_ERROR_USAGE on names that the model does not have and on impossible sizes. */
void bind_check(sooth_model *model, const sooth_options *options);
/* Sets the shapes of the network's inputs, and net->batch_from and batch_to if a fixed batch is replaced. */
void bind_inputs(binding *b);
/* Returns the batch that the options' shapes set for the first input instead of the file's fixed one; 0 if there is
 * none. */
int64_t bind_batch_of_shapes(const sooth_model *model, const sooth_options *options);
/* Returns a source dimension under this binding: a number, or an expression of unbound symbols. */
num bind_dim(const binding *b, num dim);
/* Adds notes that list unbound input dimensions and how to bind them. */
void bind_note_unbound(const binding *b);

#endif
