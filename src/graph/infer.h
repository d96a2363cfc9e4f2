/* infer.h: builds the network from the source: binds dimensions, inlines functions, resolves shapes, folds integer
 * data. Also declares the functions for shape and fold rules. */
#ifndef SOOTH_GRAPH_INFER_H
#define SOOTH_GRAPH_INFER_H

#include "graph/graph.h"
#include "graph/ops.h"

/* A rule's view of one node. */
struct infer {
    sooth_model *model;
    network *net;
    node *node; /* May move when the network grows, so rules that run subgraphs reload it. */
    num_table *nums;
    arena *arena;
};

/* Builds model->net from model->source, without passes. Fails through model->fail. */
void infer_network(sooth_model *model, const sooth_options *options);

/* Infers shapes while a source is being built, for formats whose weight shapes follow from the layers' inputs. Each
 * call infers the nodes added to the main graph since the last one, under the running elaboration's binding
 * (elaborate.h) or the file's. infer_forget empties model->net again. */
typedef struct infer_progress {
    int32_t values, nodes, inputs;
} infer_progress;
void infer_built(sooth_model *model, infer_progress *p);
void infer_forget(sooth_model *model);

/* ---- vocabulary of the rules --------------------------------------------------------------------------------- */

/* Input or output i of the node; NULL if absent. */
static inline const value *in(const infer *c, int i)
{
    const node *n = c->node;
    return i < n->input_count && n->inputs[i] != NO_VALUE ? &c->net->values.items[n->inputs[i]] : NULL;
}
static inline value *out(const infer *c, int i)
{
    const node *n = c->node;
    return i < n->output_count && n->outputs[i] != NO_VALUE ? &c->net->values.items[n->outputs[i]] : NULL;
}

/* Sets output 0's dtype to that of input 0. Returns input 0 if its rank is known and at least min_rank, else NULL. */
const value *ranked_input(infer *c, int min_rank);

static inline int64_t attr_int(const infer *c, const char *name, int64_t otherwise)
{
    return node_attr_int(c->node, name, otherwise);
}
double attr_real(const infer *c, const char *name, double otherwise);
static inline str attr_string(const infer *c, const char *name, const char *otherwise)
{
    return node_attr_string(c->node, name, otherwise);
}
static inline const int64_t *attr_ints(const infer *c, const char *name, int32_t *count)
{
    return node_attr_ints(c->node, name, count);
}

/* Constant data of input i, decoded on first use; *count elements. Integers may be symbolic or NUM_UNKNOWN. NULL if
 * unknown, of another kind, or larger than MAX_FOLDED. */
const num *const_ints(infer *c, int i, int32_t *count);
const double *const_reals(infer *c, int i, int32_t *count);
bool scalar_int(infer *c, int i, num *result);     /* One element of integer or bool type. */
bool scalar_real(infer *c, int i, double *result); /* One element of any numeric type, not symbolic. */
/* The same for any value of the network; used by passes. */
const num *value_ints(network *net, value *v, int32_t *count);
const double *value_reals(network *net, value *v, int32_t *count);

/* Integers that older operator sets have as an attribute and newer ones as input i. False if given but unknown; true
 * with *count = -1 if not given. */
bool ints_argument(infer *c, const char *name, int i, const num **ints, int32_t *count);

/* Set output i; they do nothing if it is absent. set_shape copies dims. */
void set_dtype(infer *c, int i, dtype t);
void set_shape(infer *c, int i, int rank, const num *dims);
void set_out(infer *c, int i, dtype t, int rank, const num *dims);
void set_like(infer *c, int i, const value *v);         /* Copies dtype, kind and shape of `v`. */
void set_rank_only(infer *c, int i, dtype t, int rank); /* Sets the rank and leaves all dimensions unknown. */

/* NumPy broadcasting of two shapes into dims (room for MAX_RANK). Returns the rank, or -1 with a note if they do not
 * match. */
int broadcast(infer *c, const num *a, int a_rank, const num *b, int b_rank, num *dims);
/* Negative axes count from the end; -1 with a note if out of range. */
int axis_of(infer *c, num axis, int rank);

/* Sets folded data of output i; the arrays are in c->arena and have product(dims) elements. */
void set_ints(infer *c, int i, const num *ints);
void set_reals(infer *c, int i, const double *reals);
/* Elements of output i if the shape is known and small enough to fold; else -1. */
int32_t foldable_count(infer *c, int i);

/* Adds "node NAME (Conv): …" to the network's notes; called when a rule finds a contradiction. */
void complain(infer *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- for control flow (control.c) ---------------------------------------------------------------------------- */

/* Maps the ids of a source graph to the network while its nodes are appended. */
typedef struct scope {
    const struct scope *outer;
    /* Source ids first … end-1 are map[id - first] in the network. Others are looked up in `outer`; outermost, they
     * map to themselves. NULL: every id maps to itself. */
    const value_id *map;
    value_id first, end;
    const node *call; /* The function call whose attributes resolve ATTR_REFERENCE. */
    const function *function;
    int64_t repeat;
    int depth;
} scope;

/* Appends the nodes of a graph to the network and infers them. Fails if inlining and unrolling exceed a limit far above
 * real networks, so that a small file cannot cause endless work. */
void infer_nodes(sooth_model *model, const graph *g, const scope *s);
value_id scope_value(const scope *s, value_id id);
/* Creates fresh values for everything that g introduces. The result is a scope's map for another run of the same
 * graph. */
value_id *scope_fresh_values(sooth_model *model, const graph *g, str prefix);
/* Fills dimensions and types that inference left unknown from the file's declaration. */
void infer_merge_declared(sooth_model *model, value_id id);
/* Expands If, Loop, Scan and SequenceMap; n is a node of the source under scope s. */
void control_expand(sooth_model *model, const node *n, const scope *s);
/* Appends a node (remapped, attributes resolved), runs its rules, and drops it if it is a constant. */
void infer_append(sooth_model *model, const node *source_node, const scope *s);

#endif
