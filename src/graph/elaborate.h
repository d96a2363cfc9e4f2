/* elaborate.h: sources whose nodes depend on the bound dimensions. A TorchScript file stores a program: trip counts,
 * branches and reshapes depend on input sizes. Its front end stores the program in source.elaboration. Each binding
 * runs it again and appends nodes to source and network together, so that the program can query the shape of the last
 * node. */
#ifndef SOOTH_GRAPH_ELABORATE_H
#define SOOTH_GRAPH_ELABORATE_H

#include "graph/build.h"

typedef struct elaboration {
    /* Writes the nodes and outputs of the main graph. Inputs are bound, and all values that existed at the end of
     * reading have the same ids in source and network. */
    void (*run)(sooth_model *model, void *program);
    void *program;
    /* State of the source before a run. */
    arena_mark mark;
    source base;
    /* Value of the last run whose shape in the file differs from the shape given by its operator; empty if there is
     * none. */
    str contradicted;
} elaboration;

/* Call at the end of reading, with inputs and weights in the source and the main graph closed. Keeps the program and
 * runs it once under the file's dimensions, so that the source is complete. */
void elaborate_begin(builder *b, void (*run)(sooth_model *model, void *program), void *program);

void elaborate_undo(sooth_model *model); /* Does nothing without an elaboration. */
void elaborate_run(sooth_model *model);

/* For `run`: adds a value to source and network. The name must be new and is not copied. */
value_id elaborate_value(sooth_model *model, str name);
/* Adds constant data under a new name. Like an operator's literal, it is not a parameter. */
value_id elaborate_constant(sooth_model *model, str name, const tensor *t);
/* Applies a shape declared in the file to the unknown dimensions of a node's output. Copies dims. */
void elaborate_declare(sooth_model *model, value_id id, dtype t, int rank, const num *dims);
/* Appends the node to source and network and infers it; it runs n->repeat times. Inputs, outputs and attributes are
 * in the source's arena. */
void elaborate_node(sooth_model *model, const node *n);
void elaborate_output(sooth_model *model, value_id id);

#endif
