/* elaborate.h: sources whose nodes depend on dimensions.
 *
 * Most formats store a graph. A TorchScript file stores a program: how often a loop runs, which branch is taken, what a view is
 * reshaped to follows from sizes that are known only when the inputs are bound. Such a front end leaves its program in
 * source.elaboration; for each binding it is gone through anew and writes nodes one after the other, into the source (as
 * for every format) and into the network at once, so that it can ask for the shape of what it has just written. */
#ifndef SOOTH_GRAPH_ELABORATE_H
#define SOOTH_GRAPH_ELABORATE_H

#include "graph/build.h"

typedef struct elaboration {
    /* Writes the nodes and the outputs of the main graph. The inputs are bound; all values that were there at the end of
     * reading are in source and network under the same ids. */
    void (*run)(sooth_model *model, void *program);
    void *program;
    /* The source without what a run has added. */
    arena_mark mark;
    source base;
    /* Of the last run: a value whose shape in the file is not the one that its operator gives. Empty: none. */
    str contradicted;
} elaboration;

/* At the end of reading, when inputs and weights are in the source and the main graph is closed: keeps the program, and runs it
 * once under the dimensions of the file, so that the source is whole. */
void elaborate_begin(builder *b, void (*run)(sooth_model *model, void *program), void *program);

void elaborate_undo(sooth_model *model); /* nothing if there is no elaboration */
void elaborate_run(sooth_model *model);

/* For `run`. A value that is new in source and network; the name must be new and stay where it is. */
value_id elaborate_value(sooth_model *model, str name);
/* Constant data under a new name; like an operator's literal, it is no parameter. */
value_id elaborate_constant(sooth_model *model, str name, const tensor *t);
/* What the file says of a value that a node has written: fills what the rules could not know. Copies dims. */
void elaborate_declare(sooth_model *model, value_id id, dtype t, int rank, const num *dims);
/* Appends the node to both and infers it; it runs n->repeat times. Inputs, outputs and attributes are in the source's arena. */
void elaborate_node(sooth_model *model, const node *n);
void elaborate_output(sooth_model *model, value_id id);

#endif
