/* torch.h: shared by the readers of PyTorch files: values of their programs, and the mapping of ATen operators to
 * canonical ones.
 *
 * torch_emit.c     nodes and constants, written into source and network (graph/elaborate.h)
 * torch_aten.c     the operator table: argument names, and the function that emits nodes for each operator
 * torch_aten_*.c   those functions
 * torch_export.c   torch.export archives (.pt2)
 * torch_script.c   TorchScript archives (.pt, .ptl), with torch_pickle.c, torch_parse.c and torch_interpret.c */
#ifndef SOOTH_FRONT_TORCH_TORCH_H
#define SOOTH_FRONT_TORCH_TORCH_H

#include "graph/elaborate.h"

/* Operator set of the nodes: the first with Attention. Operators without a canonical counterpart have a domain of
 * their own. */
enum { TORCH_OPSET = 23 };
#define TORCH_DOMAIN "org.pytorch"

typedef struct torch_list torch_list;
typedef struct torch_dict torch_dict;
typedef struct torch_object torch_object; /* torch_script.h */

typedef enum torch_kind {
    TORCH_NONE,
    TORCH_BOOL,
    TORCH_INT, /* also element types, layouts and memory formats */
    TORCH_REAL,
    TORCH_TEXT,
    TORCH_LIST,
    TORCH_TUPLE,
    TORCH_DICT,
    TORCH_TENSOR,
    TORCH_OBJECT,
    TORCH_FUNCTION, /* a callable name */
    TORCH_UNKNOWN,  /* a number or bool that depends on data */
} torch_kind;

typedef struct torch_value {
    torch_kind kind;
    /* TORCH_INT, TORCH_REAL, TORCH_BOOL: true if the program has it as a tensor without dimensions */
    bool is_number_tensor;
    union {
        num integer; /* TORCH_BOOL: 0 or 1 */
        double real;
        str text; /* TORCH_FUNCTION: the qualified name */
        torch_list *list;
        torch_dict *dict;
        value_id tensor;
        torch_object *object;
    };
} torch_value;

/* A list or tuple. All holders of a list share it, and the program may change it. */
struct torch_list {
    torch_value *items;
    int32_t count, capacity;
};

typedef struct torch_pair {
    torch_value key, value;
} torch_pair;
/* In insertion order. */
struct torch_dict {
    torch_pair *items;
    int32_t count, capacity;
};

/* What an operator requires of a graph input whose shape is not in the file. */
enum { TORCH_MAX_EXPECTED = 16 };
typedef struct torch_expected {
    value_id input;
    dtype dtype;
    int rank;
    num channels; /* required size of dimension 1; 0: any */
} torch_expected;

/* One run of a program. */
typedef struct torch {
    sooth_model *model;
    network *net;
    num_table *nums;
    arena *kept;                 /* arena of the source: nodes, names, constants */
    arena *arena;                /* arena of the network: everything else */
    str module;                  /* path of the current module, for node names */
    str op;                      /* name of the current operator ("conv2d") */
    int32_t serial;              /* number that makes names unique */
    int64_t repeat;              /* repeat count of new nodes; 0 in a branch not taken */
    bool is_exact;               /* Passes recover nothing: copies and casts without effect in the file become nodes. */
    const struct torch_op **ops; /* hash table of operator names */
    uint32_t ops_mask;
    struct { /* joined weights of recurrent layers, reused when a layer is called again */
        struct torch_joined *items;
        int32_t count, capacity;
    } joined;
    struct { /* indexed by tensor: 1 + the tensor that replaced it after a write in place; 0: not written */
        value_id *items;
        int32_t count, capacity;
    } written;
    torch_expected *expected; /* room for TORCH_MAX_EXPECTED; NULL if not needed */
    int32_t expected_count;
} torch;

/* Prepares a run that writes into the model's network. */
torch torch_start(sooth_model *model);

static inline torch_value torch_none(void)
{
    return (torch_value){.kind = TORCH_NONE};
}
static inline torch_value torch_bool(bool b)
{
    return (torch_value){.kind = TORCH_BOOL, .integer = b};
}
static inline torch_value torch_int(num n)
{
    return (torch_value){.kind = TORCH_INT, .integer = n};
}
static inline torch_value torch_real(double x)
{
    return (torch_value){.kind = TORCH_REAL, .real = x};
}
static inline torch_value torch_text(str s)
{
    return (torch_value){.kind = TORCH_TEXT, .text = s};
}
static inline torch_value torch_tensor(value_id id)
{
    return (torch_value){.kind = id == NO_VALUE ? TORCH_NONE : TORCH_TENSOR, .tensor = id};
}
static inline torch_value torch_unknown(void)
{
    return (torch_value){.kind = TORCH_UNKNOWN};
}
/* of kind TORCH_LIST or TORCH_TUPLE; all elements are None */
torch_value torch_new_list(torch *t, torch_kind kind, int32_t count);
void torch_append(torch *t, torch_list *list, torch_value v);
static inline bool torch_is_list(torch_value v)
{
    return v.kind == TORCH_LIST || v.kind == TORCH_TUPLE;
}

/* Returns the tensor that now stands for x: a write in place makes a new tensor. Constants of the file stay
 * unchanged. */
void torch_write(torch *t, value_id before, value_id since);
value_id torch_current(const torch *t, value_id id);
/* Records that an in-place operator computed `result` from `target`, which may be a view. If the view is a part of
 * another tensor, only the view changes, because no kernel writes the whole tensor. */
void torch_write_view(torch *t, value_id target, value_id result);

/* ---- asking (torch_emit.c) -------------------------------------------------------------------------------------- */

/* Returns the value; for NO_VALUE an unknown value. Valid until the next value is made. */
static inline const value *torch_at(const torch *t, value_id id)
{
    static const value nothing = {
        .rank = RANK_UNKNOWN, .producer = NO_NODE, .copied_from = NO_VALUE, .reordered_of = NO_VALUE};
    return id == NO_VALUE ? &nothing : &t->net->values.items[id];
}
int torch_rank(const torch *t, value_id id); /* RANK_UNKNOWN if unknown */
num torch_dim(const torch *t, value_id id, int axis);
int torch_axis(num axis, int rank); /* negative axes count from the end; -1 if there is none */
/* The element of a one-element integer constant, or NUM_UNKNOWN. */
num torch_item(torch *t, value_id id);
torch_value torch_number(torch *t, value_id id); /* The same for any type; TORCH_UNKNOWN if it is not known. */

/* Records what an operator expects of x: sets an input's element type and keeps the rest for later. */
void torch_expect(torch *t, value_id x, dtype type, int rank, num channels);

/* ---- constants and nodes (torch_emit.c) ------------------------------------------------------------------------- */

value_id torch_const_ints(torch *t, const num *ints, int count); /* one-dimensional */
value_id torch_const_int(torch *t, num n, dtype type);           /* a scalar */
value_id torch_const_real(torch *t, double x, dtype type);
/* A tensor, or a number as a tensor of type `type`. NO_VALUE for None. */
value_id torch_operand(torch *t, torch_value v, dtype type);

/* A node under construction. */
typedef struct torch_node {
    torch *torch;
    const char *type;
    const char *domain;
    value_id *inputs;
    int32_t input_count, input_room;
    attr attrs[12];
    int32_t attr_count;
} torch_node;

torch_node torch_begin(torch *t, const char *type);
void torch_in(torch_node *n, value_id id);
void torch_attr_int(torch_node *n, const char *name, int64_t value);
void torch_attr_real(torch_node *n, const char *name, double value);
void torch_attr_ints(torch_node *n, const char *name, const int64_t *values, int count);
void torch_attr_text(torch_node *n, const char *name, str text);
value_id torch_end(torch_node *n);
/* Sets the attribute to 1 on the node that computes `result`. */
void torch_mark(torch *t, value_id result, const char *name);
/* The same for all nodes from node `first` on. */
void torch_mark_since(torch *t, int32_t first, const char *name);
void torch_end_many(torch_node *n, value_id *outputs, int count);

value_id torch_emit1(torch *t, const char *type, value_id a);
value_id torch_emit2(torch *t, const char *type, value_id a, value_id b);
value_id torch_emit3(torch *t, const char *type, value_id a, value_id b, value_id c);
/* Common compositions of nodes. `dims` may contain unknown sizes. */
value_id torch_reshape(torch *t, value_id x, const num *dims, int rank);
value_id torch_gather(torch *t, value_id table, value_id indices, int64_t axis);
value_id torch_transpose(torch *t, value_id x, const int64_t *order, int rank);
value_id torch_unsqueeze(torch *t, value_id x, int64_t axis);
value_id torch_squeeze(torch *t, value_id x, int64_t axis);
value_id torch_cast(torch *t, value_id x, dtype type); /* x itself if it has that type */
value_id torch_slice(torch *t, value_id x, int64_t axis, num from, num to, num step);
value_id torch_concat(torch *t, const value_id *parts, int count, int64_t axis);
value_id torch_expand(torch *t, value_id x, const num *dims, int rank);
value_id torch_filled(torch *t, const num *dims, int rank, double x, dtype type); /* computed, so not a parameter */
/* Writes an operator without a canonical counterpart: keeps its name, lists it as unknown, and sets its shape if
 * that is known. */
value_id torch_foreign(torch *t, const value_id *inputs, int count, dtype type, int rank, const num *dims);

/* ScalarType of PyTorch's C++ code (not of the export schema): 6 is float32. */
dtype torch_dtype(int64_t scalar_type);
int64_t torch_scalar_type(dtype type); /* -1 if it has no counterpart */

/* ---- operators (torch_aten.c) ----------------------------------------------------------------------------------- */

enum { TORCH_MAX_ARGS = 24 };

/* The arguments of a call in the order of the operator's declaration; TORCH_NONE where none is given. */
typedef struct torch_call {
    torch *torch;
    const struct torch_op *op;
    torch_value args[TORCH_MAX_ARGS];
    bool given[TORCH_MAX_ARGS];
    bool in_place; /* the first argument is overwritten */
    int result_count;
    torch_value results[8];
} torch_call;

typedef struct torch_argument {
    str name; /* name of a keyword argument; empty for a positional one */
    torch_value value;
} torch_argument;

/* Calls aten::`name` ("conv2d"; a trailing "_" means in-place). Returns one result, or a tuple of several. An
 * unknown operator becomes a foreign node over all tensors among its arguments. */
torch_value torch_aten(torch *t, str name, const torch_argument *arguments, int count);

typedef void (*torch_rule)(torch_call *c);
typedef struct torch_op {
    const char *name;
    const char *arguments; /* space-separated names */
    torch_rule rule;
    const char *canonical; /* canonical operator, for rules that serve several */
} torch_op;

/* Arguments of a rule. */
value_id torch_arg_tensor(torch_call *c, int i); /* NO_VALUE if it is not a tensor; a number becomes a constant */
num torch_arg_int(torch_call *c, int i, num otherwise);
double torch_arg_real(torch_call *c, int i, double otherwise);
bool torch_arg_bool(torch_call *c, int i, bool otherwise);
/* Returns the numbers of a list, or one number for all, and their count, at most MAX_RANK; -1 if not given. */
int torch_arg_ints(torch_call *c, int i, num *ints);
/* Reads exactly `want` numbers, of which a single one applies to all. False if they are absent or unknown. */
bool torch_arg_sizes(torch_call *c, int i, int64_t *sizes, int want, int64_t otherwise);
dtype torch_arg_dtype(torch_call *c, int i, dtype otherwise);
static inline void torch_return(torch_call *c, value_id id)
{
    c->results[c->result_count++] = torch_tensor(id);
}
/* Returns the first argument itself. */
static inline void torch_return_same(torch_call *c)
{
    c->results[c->result_count++] = c->args[0];
}
/* Writes a foreign node instead, whose result has this type and shape (RANK_UNKNOWN if unknown). */
void torch_return_foreign(torch_call *c, dtype type, int rank, const num *dims);
/* Result type of an operator over both, by PyTorch's promotion rules. */
dtype torch_promoted(const torch *t, torch_value a, torch_value b);

/* torch_aten_*.c: the tables of their operators. */
const torch_op *torch_ops_nn(size_t *count);
const torch_op *torch_ops_math(size_t *count);
const torch_op *torch_ops_shape(size_t *count);
const torch_op *torch_ops_copy(size_t *count);
const torch_op *torch_ops_create(size_t *count);
const torch_op *torch_ops_index(size_t *count);
const torch_op *torch_ops_window(size_t *count);
const torch_op *torch_ops_recurrent(size_t *count);
const torch_op *torch_ops_fused(size_t *count);
const torch_op *torch_ops_special(size_t *count);
const torch_op *torch_ops_composed(size_t *count);
const torch_op *torch_ops_reduced(size_t *count);

#endif
