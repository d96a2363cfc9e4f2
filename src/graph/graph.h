/* graph.h: the generalized graph that every front end builds and everything else reads.
 *
 * Two stages share these types:
 *   source   what the file says: nodes, values, subgraphs, local functions. Built once by a front end through
 *            build.h, then never changed. Lives in model->source_arena.
 *   network  the source under given dimensions (infer.h): functions inlined, branches taken, loops counted, every shape
 *            resolved, small integer data folded; then layers recovered by passes (pass.h). Lives in
 *            model->bound_arena and is made anew by each sooth_bind.
 *
 * Nodes and values are addressed by index, so that arrays can grow. */
#ifndef SOOTH_GRAPH_GRAPH_H
#define SOOTH_GRAPH_GRAPH_H

#include "base/dtype.h"
#include "graph/num.h"

typedef int32_t value_id;
typedef int32_t node_id;
enum { NO_VALUE = -1, NO_NODE = -1 };
enum { MAX_RANK = 64, RANK_UNKNOWN = -1 };
/* A tensor with more elements is never folded: it is data, not shape arithmetic. */
enum { MAX_FOLDED = 16384 };

typedef struct op_info op_info; /* ops.h */
typedef struct ops_index ops_index;
typedef struct graph graph;

/* ---- tensors in the file ------------------------------------------------------------------------------------- */

/* Constant data where it lies in the file; decoded only when a shape rule asks for it (infer.h: const_ints …). */
typedef struct tensor {
    dtype dtype;
    int8_t rank;
    const int64_t *dims;
    enum { TENSOR_RAW, TENSOR_VARINTS, TENSOR_FLOATS, TENSOR_DOUBLES, TENSOR_ELSEWHERE } encoding;
    /* RAW: little-endian elements. VARINTS: a packed protobuf field. FLOATS, DOUBLES: little-endian binary32/64
     * whatever the dtype. ELSEWHERE: external data, or none. */
    const uint8_t *bytes;
    size_t size;
    int64_t stored_bytes; /* what the weights take in the file or beside it */
    int64_t
        packed_bytes; /* the same where it does not follow from the type (blocks of a few bits with a scale); 0: it does */
} tensor;

/* The first `count` elements of a tensor's data; false if they are not there or of another kind. (data.c) */
bool tensor_ints(const tensor *t, int64_t *to, int64_t count);
bool tensor_reals(const tensor *t, double *to, int64_t count);

/* ---- attributes ---------------------------------------------------------------------------------------------- */

typedef enum attr_kind {
    ATTR_NONE,
    ATTR_INT,
    ATTR_FLOAT,
    ATTR_STRING,
    ATTR_INTS,
    ATTR_FLOATS,
    ATTR_STRINGS,
    ATTR_TENSOR,
    ATTR_GRAPH,
    ATTR_REFERENCE, /* inside a local function: the value of the caller's attribute `string`; `count` is the file's type */
    ATTR_OTHER, /* types, lists of graphs and tensors: not read; `string` is the whole attribute as the file has it */
} attr_kind;

typedef struct attr {
    str name;
    attr_kind kind;
    int32_t count; /* of ints, floats, strings */
    union {
        int64_t integer;
        double real;
        str string;
        const int64_t *ints;
        const double *reals;
        const str *strings;
        const tensor *tensor;
        graph *graph;
    };
} attr;

/* ---- values and nodes ---------------------------------------------------------------------------------------- */

typedef enum value_kind { VALUE_TENSOR, VALUE_SEQUENCE, VALUE_OPTIONAL, VALUE_MAP, VALUE_SPARSE } value_kind;

typedef struct value {
    str name;             /* NUL-terminated */
    num *dims;            /* never NULL where the rank is known: a scalar has none of them, somewhere */
    const tensor *tensor; /* constant data in the file, or NULL */
    /* Network stage only. Folded data: at most one of the two is set; product(dims) elements in row-major order.
     * An int may be symbolic (num.h). */
    const num *ints;
    const double *reals;
    /* Elements of a sequence whose length is known. */
    const value_id *elements;
    int32_t element_count; /* -1 if not known; 0 for tensors */
    node_id producer;      /* NO_NODE for inputs and initializers */
    value_id copied_from;  /* Identity of a constant: the constant; else NO_VALUE */
    value_id reordered_of; /* a constant with the bytes of another under other dimensions: that one; else NO_VALUE */
    /* Bits: there are as many values as nodes, and large graphs have millions. */
    value_kind kind : 8;
    dtype dtype : 8;
    int8_t rank;               /* RANK_UNKNOWN, or 0 … MAX_RANK */
    bool is_initializer : 1;   /* comes with the file: weights and constants */
    bool is_constant_node : 1; /* came from a Constant node: computed by the exporter, no parameter */
    bool is_untrained : 1;     /* a weight by its place that the layer does not learn: ones for a scale that it lacks */
    bool is_weight : 1;        /* a constant, or computed from constants alone; filled by cost_network */
    bool is_input : 1;         /* of the network, fed by the user */
    bool is_output : 1;        /* of the network */
    bool is_declared : 1;      /* dtype/rank/dims of the source stage were declared in the file */
} value;

typedef struct node {
    const op_info *op; /* NULL: the operator is not known */
    str type;          /* the operator's canonical name; if it is not known, as in the file; NUL-terminated */
    str domain;        /* "" for ai.onnx */
    str name;          /* may be empty */
    int32_t opset;     /* version of the domain's operator set */
    int32_t input_count, output_count, attr_count;
    value_id *
        inputs; /* not to be written once built: the network shares the source's. NO_VALUE for an absent optional input */
    value_id *outputs; /* NO_VALUE for an unused output */
    attr *attrs;
    /* Network stage only. */
    int64_t repeat;      /* how often it runs: 1, the trip count of its loop, or 0 in a branch that is not taken */
    int32_t fused_count; /* nodes of the file it stands for: 1, or more after a pass */
    bool is_dead;        /* absorbed by a pass */
    bool is_host;        /* shape arithmetic whose results were all folded: costs nothing on the device */
} node;

/* What a node costs, its repeats included; filled by cost.h. */
typedef struct node_cost {
    num macs, flops, params, weight_bytes, activation_bytes;
} node_cost;

/* ---- graphs -------------------------------------------------------------------------------------------------- */

typedef struct node_list {
    node *items;
    int32_t count, capacity;
} node_list;
typedef struct value_list {
    value *items;
    int32_t count, capacity;
} value_list;
typedef struct id_list {
    int32_t *items;
    int32_t count, capacity;
} id_list;

/* A graph of the source: the main one, the body of an If, Loop or Scan, or a local function. Values of all graphs of
 * the model are in one list (source.values); names are resolved through enclosing graphs when built. */
struct graph {
    str name;
    node_list nodes; /* in topological order */
    id_list inputs;  /* value_ids */
    id_list outputs;
    value_id first_value, end_value; /* the values that this graph and the graphs inside it introduce */
};

/* A function defined in the file (ModelProto.functions). Its graph's inputs and outputs are the formal ones. */
typedef struct function {
    str name, domain;
    graph graph;
    attr *defaults; /* attributes with default values */
    int32_t default_count;
} function;

typedef struct opset_import {
    str domain;
    int32_t version;
} opset_import;
typedef struct opset_list {
    opset_import *items;
    int32_t count, capacity;
} opset_list;

/* Sentences for the user: what stayed unknown, what looked wrong. */
typedef struct note_list {
    str *items;
    int32_t count, capacity;
} note_list;

/* What a dimension is where nobody binds it. */
typedef struct dim_default {
    str name;
    int64_t value;
} dim_default;

typedef struct source {
    graph main;
    value_list values;
    struct {
        function *items;
        int32_t count, capacity;
    } functions;
    struct function_index *function_index; /* functions.h; NULL until the network is inferred, or without functions */
    opset_list opsets;
    num_table symbols; /* names of dimensions; the network's table begins with the same ones */
    struct {
        dim_default *items;
        int32_t count, capacity;
    } defaults;
    str format; /* "onnx" … */
    str producer;
    note_list notes;    /* they open the network's */
    bool is_literal;    /* its nodes are the operators that its implementation runs: none is recovered from several */
    int32_t node_count; /* of the main graph, of functions and of the bodies inside them */
    struct elaboration *elaboration; /* elaborate.h; NULL: all nodes are there from the beginning */
} source;

/* What is kept of a value that was inferred at the file's own batch. All of it is in the network's arena: the source
 * takes back what an elaboration added (elaborate.h) before the network is inferred again. */
typedef struct file_shape {
    int8_t rank; /* RANK_UNKNOWN where a dimension is not known either */
    const num *dims;
    const num *ints; /* folded data, or NULL */
} file_shape;

typedef struct network {
    arena *arena;
    num_table nums;
    value_list values; /* the source's values first, under the same ids; then those of inlined functions and passes */
    node_list nodes;   /* in execution order; dead ones stay in place until pass_run_all ends */
    node_cost *costs;  /* by node_id; NULL before cost_network */
    id_list inputs, outputs;
    int64_t batch_from, batch_to; /* a fixed batch is being replaced by another; 0 if not */
    int32_t work;                 /* nodes inferred and graphs entered so far, dropped ones too */
    /* While a fixed batch is being replaced: the values as inferred at the file's own batch. */
    const file_shape *file_shapes;
    int32_t file_shape_count;
    int64_t folded_elements; /* computed so far (fold.h) */
    /* Elements and bytes of the last shape that was asked for: most nodes share their input's. While costs are counted, when dimensions do not change
     * any more; before that nothing is kept. */
    struct {
        bool is_kept;
        int8_t rank;
        int bits; /* of an element, for the bytes; 0: not asked for */
        const num *dims;
        num elements, bytes;
    } sizes;
    const char
        *remedy; /* options that would bind the open dimensions of the inputs ("--dim 'S=8'"); NULL: none is open */
    const char *complaint;    /* the first thing that cannot be right, as a rule told it; NULL if none */
    int32_t file_value_count; /* values before any pass added its own */
    sooth_totals totals;      /* filled by cost_network */
    note_list notes;
} network;

struct sooth_model {
    fail fail;
    arena source_arena;
    arena bound_arena;
    arena scratch_arena; /* what is needed only while the model is loaded or bound */
    source source;
    const ops_index *ops;
    network net;
    str file;                      /* its name for messages */
    struct file_map *map;          /* what must be unmapped at the end; NULL for memory of the caller */
    struct file_map *beside;       /* a second file, of weights, that must be unmapped too; NULL if there is none */
    const struct binding *binding; /* while infer_network runs */
    bool is_bound;
    struct lowered *lowered; /* what the last prediction was made of (predict/lowered.h); NULL: none since binding */
};

/* What the file says of itself; texts are "" where it says nothing. */
sooth_info model_info(const sooth_model *model);

static inline node_cost *node_cost_of(const network *net, const node *n)
{
    return &net->costs[n - net->nodes.items];
}

/* Attribute by name, or NULL. Names are literals nearly always: inline, so that the compiler measures them. */
const attr *node_attr_named(const node *n, str name);
static inline const attr *node_attr(const node *n, const char *name)
{
    return node_attr_named(n, str_of(name));
}
/* With a default where it is absent or of another kind. */
static inline int64_t node_attr_int(const node *n, const char *name, int64_t otherwise)
{
    const attr *a = node_attr(n, name);
    return a && a->kind == ATTR_INT ? a->integer : otherwise;
}
double node_attr_real(const node *n, const char *name, double otherwise);
static inline str node_attr_string(const node *n, const char *name, const char *otherwise)
{
    const attr *a = node_attr(n, name);
    return a && a->kind == ATTR_STRING ? a->string : str_of(otherwise);
}
/* NULL and *count = 0 if absent. */
static inline const int64_t *node_attr_ints(const node *n, const char *name, int32_t *count)
{
    const attr *a = node_attr(n, name);
    bool given = a && a->kind == ATTR_INTS;
    *count = given ? a->count : 0;
    return given ? a->ints : NULL;
}

/* Number of elements; NUM_UNKNOWN if a dimension or the rank is not known. */
num value_elements(network *net, const value *v);
bool value_shape_known(const value *v); /* rank and all dimensions are plain numbers */
num value_bytes(network *net, const value *v);

/* Adds a sentence to the network's notes (at most a hundred are kept). */
void network_note(network *net, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
