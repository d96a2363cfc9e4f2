/* tf.h: shared by the parts of the TensorFlow reader: files (tensorflow.c), graphs and functions (tf_graph.c),
 * attributes and constants (tf_attr.c), operators (tf_ops.c, tf_ops_move.c, tf_ops_nn.c), control flow
 * (tf_control.c). */
#ifndef SOOTH_FRONT_TENSORFLOW_TF_H
#define SOOTH_FRONT_TENSORFLOW_TF_H

#include "front/common/emit.h"
#include "front/common/wire.h"

/* A NodeDef in a graph or function. */
typedef struct tf_node {
    str name, op;
    str shown;  /* name of its value if it differs: inputs of a signature */
    wire attrs; /* bytes of the NodeDef */
    const str *input_texts;
    struct tf_edge *inputs; /* data inputs only, no control inputs */
    int32_t input_count;
    value_id *outputs; /* set when the node is written; NO_VALUE for outputs that nothing uses */
    int32_t output_count;
    bool is_needed, is_written, is_open;
    bool is_final; /* true for a Switch whose loop is already written; its first output is then the loop's result */
} tf_node;

typedef struct tf_edge {
    int32_t node;   /* index of the node; -1: an argument of the function, or nothing */
    int32_t output; /* output index of the node, or index of the argument */
} tf_edge;

/* A function in the library. */
typedef struct tf_function {
    str name;
    wire body;
    str *arguments, *results; /* names in the signature */
    int32_t argument_count, result_count;
    bool is_open; /* True while this function is being inlined; calling it then would be recursive. */
} tf_function;

typedef struct tf_file {
    emitter e;
    fail *fail;
    tf_function *functions;
    int32_t function_count;
    int32_t *function_slots; /* hash table of names: function + 1 */
    uint32_t function_mask;
    int32_t written; /* nodes written, including inlined ones */
} tf_file;

/* A graph whose nodes are being written: the main graph or a function. */
typedef struct tf_graph {
    tf_file *file;
    const tf_function *function; /* NULL for the main graph */
    str prefix;                  /* prefix of its value names */
    tf_node *nodes;
    int32_t count;
    int32_t *slots;
    uint32_t mask;
    int32_t *stack;      /* stack of the walk over the graph */
    int32_t *open_nodes; /* nodes in progress, each of which needs the next */
    int32_t open_count;
    const value_id *arguments;
    int32_t argument_count;
    int depth;
} tf_graph;

/* The operator being written. */
typedef struct tf_op {
    tf_graph *g;
    emitter *e;
    const tf_node *node;
    const value_id *in;
    value_id *out;
    int in_count, out_count;
} tf_op;

/* ---- tf_graph.c ------------------------------------------------------------------------------------------------ */
void tf_read_library(tf_file *f, wire library);
/* Reads the NodeDefs in the fields `node_field` of a message. */
void tf_open_graph(tf_graph *g, wire w, uint32_t node_field);
tf_node *tf_find_node(const tf_graph *g, str name);
tf_function *tf_find_function(tf_file *f, str name);
/* Resolves "name" or "name:1"; in functions "name:output:1" or an argument's name */
tf_edge tf_resolve(const tf_graph *g, str text);
/* Marks an edge as needed, which counts the used outputs of each node. Mark all needed edges before writing the
 * first. */
void tf_need(tf_graph *g, tf_edge edge);
/* Writes the edge's node and everything that it needs; returns the edge's value. */
value_id tf_write(tf_graph *g, tf_edge edge);
/* Inlines a function with the given arguments; `results` has room for all of its results. */
void tf_inline(tf_graph *caller, str function, str prefix, const value_id *arguments, int count, value_id *results,
               int result_count);
/* Opens a function's graph with its arguments bound, for loop bodies. */
void tf_open_function(tf_graph *g, tf_graph *caller, tf_function *function, str prefix, const value_id *arguments,
                      int count);
void tf_close_function(tf_graph *g, tf_function *function);
tf_edge tf_result(const tf_graph *g, int i); /* edge of result i of an opened function */

/* ---- tensorflow.c, tf_text.c ----------------------------------------------------------------------------------- */
/* Reads a GraphDef in the wire format. Weights that are already values of the main graph become its constants of the
 * same names. */
void tf_read_graph(tf_file *f, wire graph);
/* Converts protobuf's text format to the wire format. */
str tf_text_to_wire(builder *b, str text, bool *is_saved_model);

/* ---- tf_attr.c ------------------------------------------------------------------------------------------------- */
bool tf_attr(const tf_node *n, const char *name, wire *value); /* finds the AttrValue */
int64_t tf_attr_int(const tf_node *n, const char *name, int64_t otherwise);
double tf_attr_real(const tf_node *n, const char *name, double otherwise);
str tf_attr_text(const tf_node *n, const char *name);
str tf_attr_text_at(const tf_node *n, const char *name, int i); /* element of a list of strings; empty if absent */
dtype tf_attr_type(const tf_node *n, const char *name);
int tf_attr_ints(const tf_node *n, const char *name, int64_t *to, int room); /* -1 if absent or too many */
str tf_attr_function(const tf_node *n, const char *name);
/* Returns the rank or RANK_UNKNOWN; unknown dimensions are NUM_UNKNOWN. */
int tf_attr_shape(const tf_node *n, const char *name, num *dims);
/* Reads shape `i` of a list of shapes. */
int tf_attr_shape_at(const tf_node *n, const char *name, int i, num *dims);
int tf_shape(wire w, num *dims);             /* reads a TensorShapeProto */
const tensor *tf_tensor(tf_file *f, wire w); /* reads a TensorProto */

/* ---- operators ------------------------------------------------------------------------------------------------- */
typedef struct tf_row {
    const char *op;
    void (*map)(tf_op *o, const char *canonical);
    const char *canonical;
} tf_row;
const tf_row *tf_rows(size_t *count);         /* tf_ops.c, sorted by name */
const tf_row *tf_rows_move(size_t *count);    /* tf_ops_move.c */
const tf_row *tf_rows_nn(size_t *count);      /* tf_ops_nn.c */
const tf_row *tf_rows_control(size_t *count); /* tf_control.c */
/* Index of an output that a function refers to by name: "split:output:1", "TopKV2:indices:0". */
int tf_output_place(str op, str output, int index);
int tf_output_count(const tf_node *n, int used); /* number of outputs of the node, at least `used` */

value_id tf_in(const tf_op *o, int i); /* NO_VALUE if absent */
value_id tf_out(const tf_op *o, int i);
void tf_foreign(tf_op *o); /* writes it unchanged under the domain "tensorflow" */

#endif
