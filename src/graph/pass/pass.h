/* pass.h: recovery of what exporters take apart, and the tools that the passes are written with.
 *
 * A pass looks at the network after inference and replaces groups of nodes by one node that says what the group
 * means. The group's inner values must have no other reader. The file's values stay as they are: only nodes change. */
#ifndef SOOTH_GRAPH_PASS_PASS_H
#define SOOTH_GRAPH_PASS_PASS_H

#include "graph/graph.h"
#include "graph/ops.h"

typedef struct pass_context {
    sooth_model *model;
    network *net;
    const ops_index *ops;
    /* Readers of each value when the passes began, as ranges of one list. */
    int32_t *reader_start; /* by value_id; reader_start[v + 1] ends the range */
    node_id *readers;
    node_id *merged_into; /* by node_id: itself, or the node that pass_replace made of it */
    bool *is_made;        /* by node_id: did pass_replace make it? */
    uint8_t *marks; /* by node_id: pass_mark of its operator; a pass finds its nodes without looking at the others */
    /* By value_id: is it computed from constants alone? Weights that an exporter transposed, cast or standardised are. */
    bool *is_static;
} pass_context;

typedef struct pass_info {
    const char *name;    /* for --skip and --fuse */
    const char *summary; /* one line for the manual */
    void (*run)(pass_context *p);
    /* Runs only when asked for: what it makes is one kernel in a compiling runtime, but not in eager PyTorch. */
    bool is_optional;
    /* Runs on literal sources too: what it makes is the same work under one name. */
    bool is_notation;
} pass_info;

const pass_info *pass_table(size_t *count);
/* Runs all passes except the optional ones and those in `skip`, and those in `extra` (lists with commas, may be NULL); fails with
 * SOOTH_ERROR_USAGE on a name that does not exist. */
void pass_run_all(sooth_model *model, const char *skip, const char *extra);

/* The passes, by the file that they are in. */
void pass_layer_norm(pass_context *p); /* pass_norm.c */
void pass_group_norm(pass_context *p);
void pass_l2_normalize(pass_context *p);
void pass_weight_standardization(pass_context *p);
void pass_batch_norm(pass_context *p); /* pass_batch_norm.c */
void pass_softmax(pass_context *p);
void pass_gelu(pass_context *p); /* pass_activation.c */
void pass_silu(pass_context *p);
void pass_hard_swish(pass_context *p);
void pass_mish(pass_context *p);
void pass_attention(pass_context *p); /* pass_attention.c */
void pass_explicit_attention(pass_context *p);
void pass_linear(pass_context *p); /* pass_linear.c */
void pass_conv_bias(pass_context *p);
void pass_conv_batch_norm(pass_context *p);
void pass_pixel_shuffle(pass_context *p); /* pass_layout.c */
void pass_windows(pass_context *p);
void pass_roll(pass_context *p);
void pass_global_pool(pass_context *p);

/* Fills in the context; pass_run_all does so once for all passes. */
void pass_begin(pass_context *p);

/* ---- tools --------------------------------------------------------------------------------------------------- */

/* Is it alive, of that operator, and has all inputs that the operator needs and its first output? A file may leave them out. */
bool pass_is_whole(const node *n); /* all of that but the operator */
static inline bool pass_is(const node *n, const char *name)
{
    return node_is(n, name) && pass_is_whole(n);
}
/* Equal for equal names, different for most others. */
static inline uint8_t pass_mark(str name)
{
    return name.len ? (uint8_t)(name.len * 59 + (uint8_t)name.ptr[0] * 23u + (uint8_t)name.ptr[name.len / 2] * 7u +
                                (uint8_t)name.ptr[name.len - 1])
                    : 0;
}
/* The first node from `from` on with that mark; the number of nodes if there is none. */
int32_t pass_next(const pass_context *p, int32_t from, uint8_t mark);
#define PASS_FOR_EACH(p, n, name)                                                                                      \
    for (int32_t n##_at = pass_next((p), 0, pass_mark(STR(name))); n##_at < (p)->net->nodes.count;                     \
         n##_at = pass_next((p), n##_at + 1, pass_mark(STR(name))))                                                    \
        for (node *n = &(p)->net->nodes.items[n##_at]; n && pass_is(n, name); n = NULL)
/* The node that makes input i of n, if it is alive and of that operator (any if name is NULL); else NULL. */
node *pass_producer(pass_context *p, const node *n, int input, const char *name);
/* The node that makes a value; NULL for inputs and constants. */
node *pass_maker(pass_context *p, value_id v);
bool pass_is_read(pass_context *p, value_id v); /* an output of the network is read by the user */
/* The only reader of v; NULL if there are more, or if v is an output of the network. */
node *pass_only_reader(pass_context *p, value_id v);
bool pass_scalar(pass_context *p, value_id v, double *x); /* constant of one element */
bool pass_near(double x, double y);                       /* equal but for the rounding of binary16 */
const value *pass_value(const pass_context *p, value_id v);
num pass_dim(const pass_context *p, value_id v,
             int axis); /* NUM_UNKNOWN if there is none; negative axes from the end */
bool pass_same_shape(const pass_context *p, value_id a, value_id b);

/* The nodes that a pass is about to make one of. Small: a match walks a fixed pattern. */
enum { GROUP_MAX = 48 };
typedef struct pass_group {
    node *nodes[GROUP_MAX];
    int count;
    bool is_full; /* more were added than fit: pass_replace_group refuses it */
} pass_group;
void group_add(pass_group *g, node *n); /* once, however often it is added */

/* What `v` is a copy of: looks through Identity, Dropout at inference, and Cast between floating-point types. */
value_id pass_origin(pass_context *p, value_id v);
/* Adds the copies that lie between v and its origin. */
void group_add_copies(pass_context *p, pass_group *g, value_id v);
/* The node of that operator that makes v, or makes what v is a copy of; it and the copies join the group. NULL, and the group as it
 * was, if another operator makes it. */
node *pass_up(pass_context *p, pass_group *g, value_id v, const char *name);
/* The same downwards: the only reader of v, or of its only copy. */
node *pass_down(pass_context *p, pass_group *g, value_id v, const char *name);
/* Of a node with two operands: the one that is not v; NO_VALUE if neither is v (or a copy). */
value_id pass_other(pass_context *p, const node *n, value_id v);
/* Of a node with two operands in any order: one is a scalar constant *x; returns the other, or NO_VALUE. */
value_id pass_beside_scalar(pass_context *p, const node *n, double *x);
/* v divided or multiplied by a scalar: goes up through it, *factor is what v was multiplied with, and returns what it was before; v
 * itself and 1 if it is not scaled. */
value_id pass_unscale(pass_context *p, pass_group *g, value_id v, double *factor);
/* The constant that v is a view of (Reshape, Unsqueeze, Transpose …, of a constant; they join the group if nobody else reads
 * them), or v. *transposed counts the Transposes of two dimensions on the way. */
value_id pass_weight(pass_context *p, pass_group *g, value_id v, int *transposed);
/* Axes of a reduction, ascending and not negative; returns how many, or -1 if they are not known. */
int pass_axes(pass_context *p, const node *n, int64_t axes[MAX_RANK]);

/* Turns the group into one node of operator `name` in the place of its last member. inputs are copied; members of the group read
 * them all. outputs: those of the group that stay visible. Returns the new node (attributes: pass_attr_*), or NULL and changes nothing if an inner
 * value has a reader outside the group. The new node takes the name of `named_after`. */
node *pass_replace(pass_context *p, node *const *group, int group_count, const node *named_after, const char *name,
                   const value_id *inputs, int input_count, const value_id *outputs, int output_count);
node *pass_replace_group(pass_context *p, const pass_group *g, const node *named_after, const char *name,
                         const value_id *inputs, int input_count, value_id output);
void pass_attr_int(pass_context *p, node *n, const char *name, int64_t value);
void pass_attr_real(pass_context *p, node *n, const char *name, double value);
void pass_attr_string(pass_context *p, node *n, const char *name, const char *value); /* value is not copied */
void pass_attr_ints(pass_context *p, node *n, const char *name, const int64_t *values, int count);

#endif
