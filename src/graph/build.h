/* build.h: interface with which front ends and the zoo build a source graph. It resolves names; later stages use ids
 * only. */
#ifndef SOOTH_GRAPH_BUILD_H
#define SOOTH_GRAPH_BUILD_H

#include "graph/graph.h"
#include "graph/ops.h"

typedef struct builder_scope builder_scope;

typedef struct builder {
    sooth_model *model;
    source *source;
    arena *arena;
    arena *scratch; /* Memory needed only while the source is built. */
    const ops_index *ops;
    builder_scope *scope; /* Innermost open graph. */
    void *front;          /* State of the running front end. */
    int depth;
    struct {
        int32_t *items; /* Indexed by value: 1 + the node that writes it, for the graph being closed; otherwise 0. */
        int32_t count;
    } makers;
} builder;

void build_begin(builder *b, sooth_model *model);

/* Opens a graph. Names not found in it are looked up in the enclosing graphs, unless it is `closed` (a function). */
void build_open(builder *b, graph *g, bool closed);
/* Reserves room in the graph just opened, so that its lists need not grow. The counts must be bounded by the file's
 * size. */
void build_reserve(builder *b, size_t nodes, size_t values);
/* Sorts the nodes topologically if the file did not. Fails on a cycle and names its nodes. */
void build_close(builder *b);

/* Returns the value of that name in this graph or an enclosing one, or creates it here. An empty name gives
 * NO_VALUE. */
value_id build_value(builder *b, str name);
/* Returns a value of this graph only (input, initializer, node output). It hides an outer value of the same name. */
value_id build_local(builder *b, str name);
/* The same in two steps, so that the slots of a node's names are fetched into the cache side by side. The hash stays
 * valid when names are added. */
uint32_t build_look_ahead(const builder *b, str name);
value_id build_value_hashed(builder *b, str name, uint32_t hash);
value_id build_local_hashed(builder *b, str name, uint32_t hash);
/* Adds a value that is never looked up by name. The name must be unique; it is not copied. */
value_id build_fresh(builder *b, str name);
bool build_is_local(builder *b, value_id id); /* True if the innermost graph introduces the value. */
value *build_at(builder *b, value_id id);     /* Valid until the next value is added. */

/* Converts a dimension from a file: -1 means open; other negative numbers fail. */
num build_dim(builder *b, int64_t dim);
/* Copies dims. Fails if the byte count of the known dimensions overflows. */
void build_type(builder *b, value_id id, dtype t, int rank, const num *dims);
/* Makes the value an initializer; keeps the pointer `t`. */
void build_constant(builder *b, value_id id, const tensor *t);
void build_input(builder *b, value_id id);
void build_output(builder *b, value_id id);
void build_last_output_first(builder *b);

/* Adds a node with zeroed attributes; all inputs and outputs are NO_VALUE. */
node *build_node(builder *b, str domain, str type, str name, int inputs, int outputs, int attrs);

/* Attributes for networks built in code (the zoo, tests). They copy their arguments. */
void build_attr_int(builder *b, node *n, int i, const char *name, int64_t value);
void build_attr_real(builder *b, node *n, int i, const char *name, double value);
void build_attr_ints(builder *b, node *n, int i, const char *name, const int64_t *values, int count);

#endif
