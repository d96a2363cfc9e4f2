/* onnx_tensor.h: constants and attributes of an ONNX file. */
#ifndef SOOTH_FRONT_ONNX_ONNX_TENSOR_H
#define SOOTH_FRONT_ONNX_ONNX_TENSOR_H

#include "front/common/wire.h"
#include "graph/build.h"

/* What a tensor is called and said to be, in the file's bytes. */
typedef struct onnx_label {
    str name, doc;
} onnx_label;

/* Documentations that onnx_write.c writes and onnx.c understands: of inputs that are constants (how many bytes their data take may follow), of
 * constants that are no parameters, and of nodes that do not count because another branch is taken. */
#define ONNX_WEIGHT_LEFT_OUT "a weight without its data"
#define ONNX_CONSTANT_LEFT_OUT "a constant without its data, no parameter"
#define ONNX_PACKED ", packed bytes: "
#define ONNX_CONSTANT "a constant, no parameter"
#define ONNX_NOT_TAKEN "in a branch that is not taken"

/* Keys of the model's metadata, of the same kind: the operators are those that run, none is recovered from several; what a dimension is where nobody
 * binds it (the dimension's name follows, the value is the number). */
#define ONNX_LITERAL "sooth.literal"
#define ONNX_DIMENSION "sooth.dimension."

/* A TensorProto; its data stay where they are. */
const tensor *onnx_tensor(builder *b, wire w, onnx_label *label);
/* A SparseTensorProto as a tensor without data. */
const tensor *onnx_sparse_tensor(builder *b, wire w, onnx_label *label);
/* A tensor of that type whose data are not in the file; w is for errors. packed_bytes is 0 if they follow from the type. */
const tensor *onnx_left_out(builder *b, wire w, const value *type, int64_t packed_bytes);

/* An AttributeProto. */
void onnx_attr(builder *b, wire w, attr *a);

/* Layers repeat, and so do the attributes of their nodes, byte for byte: those that were read last are kept with their bytes,
 * and shared by the nodes that have the same. */
typedef struct known_attrs {
    str bytes; /* of all attributes of a node, keys and lengths included */
    attr *attrs;
} known_attrs;
enum { KNOWN_ATTRS = 64 };

/* What the reader of a file keeps in builder.front. */
typedef struct onnx_reader {
    struct open_graph *open;        /* the innermost graph that is being read, or NULL */
    known_attrs known[KNOWN_ATTRS]; /* by hash of the bytes */
    str location;                   /* of external data that was checked last: most tensors have the same */
} onnx_reader;

/* The `count` attributes that lie one behind the other in w, as fields of a node. */
attr *onnx_attrs(builder *b, wire w, int count);

/* A GraphProto (onnx.c); attributes contain them. */
void onnx_graph(builder *b, wire w, graph *g);

#endif
