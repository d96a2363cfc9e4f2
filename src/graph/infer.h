/* infer.h: from the source to the network: binds dimensions, inlines, resolves shapes, folds integer data.
 * Also the small vocabulary in which shape and fold rules are written. */
#ifndef SOOTH_GRAPH_INFER_H
#define SOOTH_GRAPH_INFER_H

#include "graph/graph.h"
#include "graph/ops.h"

/* One rule at work on one node. */
struct infer {
    sooth_model *model;
    network *net;
    node *node; /* may move when the network grows: rules that run subgraphs read it anew */
    num_table *nums;
    arena *arena;
};

/* Builds model->net from model->source (without passes). Fails through model->fail. */
void infer_network(sooth_model *model, const sooth_options *options);

/* Shapes while a source is being built, for formats that do not tell those of their weights: they follow from the inputs of the
 * layers. Infers what was added to the main graph since the last call, into model->net, under the binding of the elaboration that
 * runs (elaborate.h) or else as in the file; infer_forget empties it again. */
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

/* Output 0 gets the dtype of input 0; returns that input if it is there and its rank is known and at least min_rank. */
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

/* Data of input i if it is known, decoded from the file when first asked for; *count elements. Elements of const_ints may
 * be symbolic or NUM_UNKNOWN. NULL if not known, not of that kind, or larger than MAX_FOLDED. */
const num *const_ints(infer *c, int i, int32_t *count);
const double *const_reals(infer *c, int i, int32_t *count);
bool scalar_int(infer *c, int i, num *result);     /* one element of integer or bool type */
bool scalar_real(infer *c, int i, double *result); /* one element of any numeric type, not symbolic */
/* The same for any value of the network; passes use them. */
const num *value_ints(network *net, value *v, int32_t *count);
const double *value_reals(network *net, value *v, int32_t *count);

/* The ints of an argument that was an attribute in old operator sets and is input i in newer ones. Returns false if it is
 * given but its data are not known; true with *count = -1 if it is not given at all. */
bool ints_argument(infer *c, const char *name, int i, const num **ints, int32_t *count);

/* Sets output i. set_shape copies dims. Output i may be absent: then nothing happens. */
void set_dtype(infer *c, int i, dtype t);
void set_shape(infer *c, int i, int rank, const num *dims);
void set_out(infer *c, int i, dtype t, int rank, const num *dims);
void set_like(infer *c, int i, const value *v);         /* dtype, kind and shape of v */
void set_rank_only(infer *c, int i, dtype t, int rank); /* rank known, dimensions not */

/* Numpy broadcasting of two shapes into dims (room for MAX_RANK). Returns the rank, or -1 with a note if they do not fit. */
int broadcast(infer *c, const num *a, int a_rank, const num *b, int b_rank, num *dims);
/* Negative axes count from the end; -1 with a note if out of range. */
int axis_of(infer *c, num axis, int rank);

/* Folded data of output i; the arrays must be in c->arena and have product(dims) elements. */
void set_ints(infer *c, int i, const num *ints);
void set_reals(infer *c, int i, const double *reals);
/* Elements of output i if the shape is known and small enough to fold; else -1. */
int32_t foldable_count(infer *c, int i);

/* "node NAME (Conv): …" into the network's notes: a rule met something that cannot be right. */
void complain(infer *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- for control flow (control.c) ---------------------------------------------------------------------------- */

/* How the ids of a source graph are found in the network while its nodes are appended. */
typedef struct scope {
    const struct scope *outer;
    /* Ids first … end-1 of the source are map[id - first] in the network; others are looked up in `outer` and at last stand
     * for themselves. NULL: every id stands for itself. */
    const value_id *map;
    value_id first, end;
    const node *call; /* of a function: where ATTR_REFERENCE is resolved */
    const function *function;
    int64_t repeat;
    int depth;
} scope;

/* Appends the nodes of a graph to the network and infers them. Fails when all that inlining and unrolling add up to more than
 * any real network needs, so that a small file cannot ask for endless work. */
void infer_nodes(sooth_model *model, const graph *g, const scope *s);
value_id scope_value(const scope *s, value_id id);
/* Fresh values for all that g introduces: the map of a scope for another run of the same graph. */
value_id *scope_fresh_values(sooth_model *model, const graph *g, str prefix);
/* What the file declares about a value fills what the rules could not know. */
void infer_merge_declared(sooth_model *model, value_id id);
/* If, Loop, Scan, SequenceMap: n is a node of the source under scope s. */
void control_expand(sooth_model *model, const node *n, const scope *s);
/* Appends a node to the network (remapped, attributes resolved), runs its rules, and drops it if it is a constant. */
void infer_append(sooth_model *model, const node *source_node, const scope *s);

#endif
