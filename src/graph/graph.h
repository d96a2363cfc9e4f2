/* graph.h: the graph that every front end builds and all later stages read.
 *
 * Two stages share these types:
 *   source   what the file says: nodes, values, subgraphs, local functions. A front end builds it once through
 *            build.h; it never changes afterwards. Lives in model->source_arena.
 *   network  the source under given dimensions (infer.h): functions inlined, branches taken, loops counted, shapes
 *            resolved, small integer data folded; then layers recovered by passes (pass.h). Lives in
 *            model->bound_arena; each sooth_bind makes it anew.
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
/* Larger tensors are never folded: they are data, not shape arithmetic. */
enum { MAX_FOLDED = 16384 };

typedef struct op_info op_info; /* ops.h */
typedef struct ops_index ops_index;
typedef struct graph graph;

/* ---- tensors in the file ------------------------------------------------------------------------------------- */

/* Constant data in the file, decoded only when a shape rule needs it (infer.h: const_ints …). */
typedef struct tensor {
    dtype dtype;
    int8_t rank;
    const int64_t *dims;
    enum { TENSOR_RAW, TENSOR_VARINTS, TENSOR_FLOATS, TENSOR_DOUBLES, TENSOR_ELSEWHERE } encoding;
    /* RAW: little-endian elements. VARINTS: a packed protobuf field. FLOATS, DOUBLES: little-endian binary32 or
     * binary64 whatever the dtype. ELSEWHERE: external data, or none. */
    const uint8_t *bytes;
    size_t size;
    int64_t stored_bytes; /* Size of the weights in the file or its external data. */
    /* Stored size where the type does not imply it (blocks of a few bits with a scale); 0 otherwise. */
    int64_t packed_bytes;
} tensor;

/* Reads the first `count` elements; false if they are missing or of another kind. (data.c) */
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
    /* In a local function: refers to the caller's attribute named `string`; `count` is its type in the file. */
    ATTR_REFERENCE,
    ATTR_OTHER, /* types, lists of graphs and tensors: not decoded; `string` holds the attribute's raw bytes */
} attr_kind;

typedef struct attr {
    str name;
    attr_kind kind;
    int32_t count; /* number of ints, floats or strings */
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
    num *dims;            /* NULL only if the rank is unknown; a scalar has an empty array. */
    const tensor *tensor; /* Constant data in the file, or NULL. */
    /* Network stage only: folded data, product(dims) elements in row-major order; at most one of the two is set. An
     * int may be symbolic (num.h). */
    const num *ints;
    const double *reals;
    /* Elements of a sequence of known length. */
    const value_id *elements;
    int32_t element_count; /* -1: unknown; 0 for tensors */
    node_id producer;      /* NO_NODE for inputs and initializers */
    value_id copied_from;  /* Constant of which this is an Identity, or NO_VALUE. */
    value_id reordered_of; /* Constant with the same bytes in other dimensions, or NO_VALUE. */
    /* Bit fields save memory, because large graphs have millions of values. */
    value_kind kind : 8;
    dtype dtype : 8;
    int8_t rank;               /* RANK_UNKNOWN, or 0 … MAX_RANK */
    bool is_initializer : 1;   /* stored in the file: weights and constants */
    bool is_constant_node : 1; /* From a Constant node: computed by the exporter, no parameter. */
    bool of_parameter : 1;     /* computed from stored parameters alone; network stage only */
    bool is_untrained : 1;     /* Placeholder for a missing weight, such as a scale of ones; not learned. */
    bool is_weight : 1;        /* a constant, or computed from constants alone; filled by cost_network */
    bool is_input : 1;         /* input of the network, fed by the user */
    bool is_output : 1;        /* output of the network */
    bool is_declared : 1;      /* The file declares type and shape (source stage). */
} value;

typedef struct node {
    const op_info *op; /* NULL: unknown operator */
    str type;          /* canonical operator name, or the file's name if the operator is unknown; NUL-terminated */
    str domain;        /* "" for ai.onnx */
    str name;          /* may be empty */
    int32_t opset;     /* version of the domain's operator set */
    int32_t input_count, output_count, attr_count;
    /* read-only once built, because the network shares the source's array; NO_VALUE: absent optional input */
    value_id *inputs;
    value_id *outputs; /* NO_VALUE for an unused output */
    attr *attrs;
    /* Network stage only. */
    int64_t repeat;      /* Number of runs: 1, the trip count of its loop, or 0 in a branch not taken. */
    int32_t fused_count; /* Number of file nodes that it represents: 1, or more after a pass. */
    bool is_dead;        /* Absorbed by a pass. */
    bool is_host;        /* Shape arithmetic with folded results; costs nothing on the device. */
} node;

/* Cost of a node, repeats included; filled by cost_network. */
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

/* A source graph: the main graph, the body of an If, Loop or Scan, or a local function. The values of all graphs are
 * in one list (source.values); names are resolved through enclosing graphs. */
struct graph {
    str name;
    node_list nodes; /* In topological order. */
    id_list inputs;  /* value_ids */
    id_list outputs;
    value_id first_value, end_value; /* Range of values that this graph and its subgraphs introduce. */
};

/* A function defined in the file (ModelProto.functions). The graph's inputs and outputs are its formal parameters. */
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

/* Sentences for the user about unknown or suspicious parts. */
typedef struct note_list {
    str *items;
    int32_t count, capacity;
} note_list;

/* Default size of a dimension that the user does not bind. */
typedef struct dim_default {
    str name;
    int64_t value;
} dim_default;

/* Types in which the network is stored and run, as stated in the file; zero if not stated. */
typedef struct own_types {
    dtype type;            /* of weights and activations */
    dtype quantized;       /* of the weights of products: DT_FLOAT8E4M3FN, DT_INT8 or DT_INT4 */
    double weight_bits;    /* bits per such weight with its scales */
    bool has_narrow_cache; /* the KV cache has 8 bits an element */
} own_types;

typedef struct source {
    graph main;
    value_list values;
    struct {
        function *items;
        int32_t count, capacity;
    } functions;
    struct function_index *function_index; /* functions.h; NULL before inference, or without functions */
    opset_list opsets;
    num_table symbols; /* names of dimensions; the network's symbol table starts with the same entries */
    struct {
        dim_default *items;
        int32_t count, capacity;
    } defaults;
    str format; /* "onnx" … */
    str producer;
    own_types own_types;
    note_list notes;                 /* Copied to the start of the network's notes. */
    bool is_literal;                 /* Nodes are the operators that the implementation runs; passes recover nothing. */
    bool is_list;                    /* weights without a network; each is an output */
    bool states_in_place;            /* Nodes have attributes that begin with eager_, such as eager_in_place. */
    int32_t node_count;              /* nodes of the main graph, functions and their bodies */
    struct elaboration *elaboration; /* elaborate.h; NULL: the nodes do not depend on dimensions */
} source;

/* A value as inferred at the file's batch. It lives in the network's arena, because the source drops the values of
 * an elaboration (elaborate.h) before the network is inferred again. */
typedef struct file_shape {
    int8_t rank; /* also RANK_UNKNOWN if any dimension is unknown */
    const num *dims;
    const num *ints; /* folded data, or NULL */
} file_shape;

typedef struct network {
    arena *arena;
    num_table nums;
    value_list values; /* The source's values with the same ids, then those of inlined functions and passes. */
    node_list nodes;   /* In execution order; dead nodes stay in place until pass_run_all ends. */
    node_cost *costs;  /* indexed by node_id; NULL before cost_network */
    id_list inputs, outputs;
    int64_t batch_from, batch_to; /* Replaced batch and its replacement; 0 if there is none. */
    int32_t work;                 /* Nodes inferred and graphs entered so far, including dropped ones. */
    /* Values as inferred at the file's batch, while a fixed batch is being replaced. */
    const file_shape *file_shapes;
    int32_t file_shape_count;
    int64_t folded_elements; /* elements folded so far (fold.h) */
    /* The exporter stores the weight (out, in) of a linear layer transposed, as PyTorch's ONNX exporter does. */
    bool has_turned_weights;
    /* Cached size of the last shape, because most nodes share their input's. Used only while costs are computed, when
     * dimensions no longer change. */
    struct {
        bool is_kept;
        int8_t rank;
        int bits; /* bits of an element; 0: bytes not computed */
        const num *dims;
        num elements, bytes;
    } sizes;
    const char *remedy;       /* Options that bind the open input dimensions ("--dim 'S=8'"); NULL if none is open. */
    const char *complaint;    /* First error of a shape rule; NULL if there is none. */
    int32_t file_value_count; /* Number of values before the passes. */
    sooth_totals totals;      /* filled by cost_network */
    note_list notes;
} network;

/* Activation checkpointing: regions of the network that the backward pass computes again. */
typedef struct recomputed_regions {
    const int32_t *region_of; /* Indexed by node: its region, or -1. */
    int32_t node_count;       /* The regions are ignored if the network has another number of nodes. */
    int32_t count;
} recomputed_regions;

struct sooth_model {
    fail fail;
    arena source_arena;
    arena bound_arena;
    arena scratch_arena; /* Memory needed only while the model is loaded or bound. */
    source source;
    const ops_index *ops;
    network net;
    str file;                      /* file name, for messages */
    struct file_map *map;          /* mapping of the file; NULL if the caller owns the memory */
    struct file_map *beside;       /* Mapping of a second file with weights; NULL if there is none. */
    const struct binding *binding; /* set while infer_network runs */
    bool is_bound;
    struct power_shipped *power;       /* Coefficients of energy (predict/energy.h); NULL until read. */
    struct lowered *lowered;           /* Inputs of the last prediction (predict/lowered.h); NULL after binding. */
    struct lowered_hold *holds;        /* Programs that the running prediction holds; NULL between predictions. */
    const recomputed_regions *regions; /* NULL: none. A change also calls lowered_forget(). */
};

/* Metadata of the file; missing texts are "". */
sooth_info model_info(const sooth_model *model);

static inline node_cost *node_cost_of(const network *net, const node *n)
{
    return &net->costs[n - net->nodes.items];
}

/* Attribute by name, or NULL. Inline, because names are usually literals whose length the compiler computes. */
const attr *node_attr_named(const node *n, str name);
static inline const attr *node_attr(const node *n, const char *name)
{
    return node_attr_named(n, str_of(name));
}
/* `otherwise` if the attribute is absent or of another kind. */
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

/* Number of elements; NUM_UNKNOWN if the rank or a dimension is unknown. */
num value_elements(network *net, const value *v);
bool value_shape_known(const value *v); /* True if the rank and all dimensions are plain numbers. */
num value_bytes(network *net, const value *v);

/* Adds a sentence to the network's notes; at most a hundred are kept. */
void network_note(network *net, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
