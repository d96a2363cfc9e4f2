/* pass.h: recovers operators that exporters decompose, and declares the functions for passes. A pass replaces a group
 * of nodes in the inferred network by one equivalent node. Inner values of the group must have no other reader. Only
 * nodes change; values of the file do not. */
#ifndef SOOTH_GRAPH_PASS_PASS_H
#define SOOTH_GRAPH_PASS_PASS_H

#include "graph/graph.h"
#include "graph/ops.h"

typedef struct pass_context {
    sooth_model *model;
    network *net;
    const ops_index *ops;
    /* Readers of each value before the first pass, as ranges of one list. */
    int32_t *reader_start; /* Indexed by value_id; reader_start[v + 1] ends the range. */
    node_id *readers;
    node_id *merged_into; /* Indexed by node_id: the node itself, or the node that pass_replace merged it into. */
    bool *is_made;        /* Indexed by node_id: true if pass_replace created it. */
    uint8_t *marks;       /* Indexed by node_id: pass_mark of its operator, for quick searches. */
    /* Indexed by value_id: true if computed from constants alone, such as weights that the exporter transposed, cast or
     * standardized. */
    bool *is_static;
} pass_context;

typedef struct pass_info {
    const char *name;    /* Name for --skip and --fuse. */
    const char *summary; /* One line for the manual. */
    void (*run)(pass_context *p);
    /* Runs only on request: its result is one kernel in a compiling runtime, but not in eager PyTorch. */
    bool is_optional;
    /* Also runs on literal sources, because its result is the same work under one name. */
    bool is_notation;
} pass_info;

const pass_info *pass_table(size_t *count);
/* Runs the default passes without those in `skip` and with those in `extra` (comma-separated lists, may be NULL).
 * Fails with SOOTH_ERROR_USAGE on an unknown name. */
void pass_run_all(sooth_model *model, const char *skip, const char *extra);

/* The passes, with their files. */
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

/* Fills the context; pass_run_all calls it once for all passes. */
void pass_begin(pass_context *p);

/* ---- tools --------------------------------------------------------------------------------------------------- */

/* True if the node is alive, has that operator, its first output and all required inputs. A file may omit them. */
bool pass_is_whole(const node *n); /* The same for any operator. */
static inline bool pass_is(const node *n, const char *name)
{
    return node_is(n, name) && pass_is_whole(n);
}
/* Small hash of an operator's name; it differs for most different names. */
static inline uint8_t pass_mark(str name)
{
    return name.len ? (uint8_t)(name.len * 59 + (uint8_t)name.ptr[0] * 23u + (uint8_t)name.ptr[name.len / 2] * 7u +
                                (uint8_t)name.ptr[name.len - 1])
                    : 0;
}
/* Index of the next node from `from` on with that mark; the number of nodes if there is none. */
int32_t pass_next(const pass_context *p, int32_t from, uint8_t mark);
#define PASS_FOR_EACH(p, n, name)                                                                                      \
    for (int32_t n##_at = pass_next((p), 0, pass_mark(STR(name))); n##_at < (p)->net->nodes.count;                     \
         n##_at = pass_next((p), n##_at + 1, pass_mark(STR(name))))                                                    \
        for (node *n = &(p)->net->nodes.items[n##_at]; n && pass_is(n, name); n = NULL)
/* Node that makes input i of n, if it is alive and has that operator (NULL: any); else NULL. */
node *pass_producer(pass_context *p, const node *n, int input, const char *name);
/* Node that makes a value; NULL for inputs and constants. */
node *pass_maker(pass_context *p, value_id v);
bool pass_is_read(pass_context *p, value_id v); /* Outputs of the network count as read. */
/* The only reader of v; NULL if there are several, or if v is an output of the network. */
node *pass_only_reader(pass_context *p, value_id v);
bool pass_scalar(pass_context *p, value_id v, double *x); /* Reads a constant of one element. */
bool pass_near(double x, double y);                       /* Equal within the rounding error of binary16. */
const value *pass_value(const pass_context *p, value_id v);
num pass_dim(const pass_context *p, value_id v,
             int axis); /* NUM_UNKNOWN if the axis does not exist; negative axes count from the end. */
bool pass_same_shape(const pass_context *p, value_id a, value_id b);

/* The nodes that a pass is about to merge. The array is small, because a match walks a fixed pattern. */
enum { GROUP_MAX = 48 };
typedef struct pass_group {
    node *nodes[GROUP_MAX];
    int count;
    bool is_full; /* More nodes than fit; pass_replace_group refuses the group. */
} pass_group;
void group_add(pass_group *g, node *n); /* Adding a node twice has no effect. */

/* The value that `v` copies: looks through Identity, Dropout at inference, and Cast between floating-point types. */
value_id pass_origin(pass_context *p, value_id v);
/* Adds the copies between v and its origin. */
void group_add_copies(pass_context *p, pass_group *g, value_id v);
/* Returns the producer of v, or of the value that v copies, if it has that operator. It and the copies then join the
 * group; otherwise the group stays unchanged and the result is NULL. */
node *pass_up(pass_context *p, pass_group *g, value_id v, const char *name);
/* Returns the only reader of v, or of v's only copy, under the same conditions. */
node *pass_down(pass_context *p, pass_group *g, value_id v, const char *name);
/* The operand of a binary node that is not v; NO_VALUE if neither is v or a copy of it. */
value_id pass_other(pass_context *p, const node *n, value_id v);
/* Returns the other operand of a binary node with a scalar constant operand, and sets *x to the scalar; else
 * NO_VALUE. */
value_id pass_beside_scalar(pass_context *p, const node *n, double *x);
/* Undoes a multiplication or division by a scalar: returns the unscaled value and sets *factor. If v is not scaled,
 * returns v and sets 1. */
value_id pass_unscale(pass_context *p, pass_group *g, value_id v, double *factor);
/* Returns the constant that v views (through Reshape, Unsqueeze, Transpose …), or v itself. The views join the group if
 * they have no other reader. *transposed counts the two-dimensional Transposes. */
value_id pass_weight(pass_context *p, pass_group *g, value_id v, int *transposed);
/* Axes of a reduction, ascending and not negative. Returns their number, or -1 if unknown. */
int pass_axes(pass_context *p, const node *n, int64_t axes[MAX_RANK]);

/* Merges the group into one node of operator `name`, at the place of its last member, named after `named_after`.
 * `inputs` (copied) are read by members; `outputs` stay visible. Returns the new node, or NULL without a change if
 * an inner value has a reader outside the group. */
node *pass_replace_group(pass_context *p, const pass_group *g, const node *named_after, const char *name,
                         const value_id *inputs, int input_count, value_id output);
void pass_attr_int(pass_context *p, node *n, const char *name, int64_t value);
void pass_attr_real(pass_context *p, node *n, const char *name, double value);
void pass_attr_string(pass_context *p, node *n, const char *name, const char *value); /* Does not copy `value`. */
void pass_attr_ints(pass_context *p, node *n, const char *name, const int64_t *values, int count);

#endif
