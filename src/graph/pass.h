/* pass.h: recovery of what exporters take apart, and the tools that the passes are written with.
 *
 * A pass looks at the network after inference and replaces groups of nodes by one node that says what the group
 * means. The group's inner values must have no other reader. The file's values stay as they are: only nodes change. */
#ifndef SOOTH_GRAPH_PASS_H
#define SOOTH_GRAPH_PASS_H

#include "graph/graph.h"
#include "graph/ops.h"

typedef struct pass_context {
    sooth_model *model;
    network *net;
    const ops_index *ops;
    /* Readers of each value, as ranges of one list (rebuilt before every pass; updated by pass_replace). */
    int32_t *reader_start; /* by value_id; reader_start[v + 1] ends the range */
    node_id *readers;
} pass_context;

typedef struct pass_info {
    const char *name;    /* for --skip */
    const char *summary; /* one line for the manual */
    void (*run)(pass_context *p);
} pass_info;

const pass_info *pass_table(size_t *count);
/* Runs all passes except those listed; fails with SOOTH_ERROR_USAGE on a name that does not exist. */
void pass_run_all(sooth_model *model, const char *skip);

/* ---- tools --------------------------------------------------------------------------------------------------- */

/* The node that makes input i of n, if it is alive and of that operator (any if name is NULL); else NULL. */
node *pass_producer(pass_context *p, const node *n, int input, const char *name);
/* The node that makes a value; NULL for inputs and constants. */
node *pass_maker(pass_context *p, value_id v);
int pass_reader_count(pass_context *p, value_id v); /* a network output counts as one more reader */
/* The only reader of output 0 of n if there is exactly one and it is of that operator (any if NULL); else NULL. */
node *pass_only_reader(pass_context *p, const node *n, const char *name);
bool pass_constant(pass_context *p, value_id v);          /* initializer or folded */
bool pass_scalar(pass_context *p, value_id v, double *x); /* constant of one element */

/* Turns the group into one node of operator `name` in the place of its last member. inputs are copied. outputs: those of the
 * group that stay visible. Returns the new node (attributes: pass_attr_*), or NULL and changes nothing if an inner
 * value has a reader outside the group. The new node takes the name of `named_after`. */
node *pass_replace(pass_context *p, node *const *group, int group_count, const node *named_after, const char *name,
                   const value_id *inputs, int input_count, const value_id *outputs, int output_count);
void pass_attr_int(pass_context *p, node *n, const char *name, int64_t value);
void pass_attr_real(pass_context *p, node *n, const char *name, double value);
void pass_attr_ints(pass_context *p, node *n, const char *name, const int64_t *values, int count);

#endif
