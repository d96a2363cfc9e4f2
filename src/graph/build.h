/* build.h: how a front end (and the zoo) writes a source graph. Names are resolved here, so that nothing after it
 * looks a name up again. */
#ifndef SOOTH_GRAPH_BUILD_H
#define SOOTH_GRAPH_BUILD_H

#include "graph/graph.h"
#include "graph/ops.h"

typedef struct builder_scope builder_scope;

typedef struct builder {
    sooth_model *model;
    source *source;
    arena *arena;
    arena *scratch; /* for what is needed only while the source is built */
    const ops_index *ops;
    builder_scope *scope; /* innermost graph that is being built */
    void *front;          /* of the front end that is running */
    int depth;
    struct {
        int32_t *items; /* value id → node of the graph that is being closed + 1; all 0 in between */
        int32_t count;
    } makers;
} builder;

void build_begin(builder *b, sooth_model *model);

/* Opens a graph: names not found in it are looked up in the graphs around it, unless it is `closed` (a function). */
void build_open(builder *b, graph *g, bool closed);
/* Room for what the front end expects in the graph just opened, so that lists need not grow. The numbers must be no larger
 * than what the file really has room for. */
void build_reserve(builder *b, size_t nodes, size_t values);
/* Sorts the nodes topologically where the file did not, and fails with the names of a cycle. */
void build_close(builder *b);

/* The value of that name in this graph or one around it; created in this graph if there is none. An empty name is NO_VALUE. */
value_id build_value(builder *b, str name);
/* A value of this very graph (inputs, initializers, outputs of nodes): hides one of the same name around it. */
value_id build_local(builder *b, str name);
/* A value of this very graph that is never looked up by its name, which must be unlike all others; it is not copied. */
value_id build_fresh(builder *b, str name);
bool build_is_local(builder *b, value_id id); /* does the innermost graph introduce it? */
value *build_at(builder *b, value_id id);     /* valid until the next value is made */

/* A dimension as files write it: -1 is one that is open; no other may be negative. */
num build_dim(builder *b, int64_t dim);
/* Copies dims. Fails if the known ones are of more bytes than can be counted. */
void build_type(builder *b, value_id id, dtype t, int rank, const num *dims);
void build_constant(builder *b, value_id id, const tensor *t); /* an initializer; t stays where it is */
void build_input(builder *b, value_id id);
void build_output(builder *b, value_id id);
void build_last_output_first(builder *b);

/* A node with room for its inputs, outputs and attributes (zeroed; inputs and outputs NO_VALUE). */
node *build_node(builder *b, str domain, str type, str name, int inputs, int outputs, int attrs);

/* For the zoo and for tests: attributes in code. They copy what they are given. */
void build_attr_int(builder *b, node *n, int i, const char *name, int64_t value);
void build_attr_real(builder *b, node *n, int i, const char *name, double value);
void build_attr_ints(builder *b, node *n, int i, const char *name, const int64_t *values, int count);

#endif
