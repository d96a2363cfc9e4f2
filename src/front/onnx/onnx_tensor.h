/* onnx_tensor.h: reads constants and attributes of an ONNX file. */
#ifndef SOOTH_FRONT_ONNX_ONNX_TENSOR_H
#define SOOTH_FRONT_ONNX_ONNX_TENSOR_H

#include "front/common/wire.h"
#include "graph/build.h"

/* Name and documentation of a tensor, as slices of the file. */
typedef struct onnx_label {
    str name, doc;
} onnx_label;

/* Documentation texts that onnx_write.c writes and onnx.c reads: for inputs that stand for constants (the size of their
 * data may follow), for constants that are not parameters, and for nodes of a branch that is not taken. */
#define ONNX_WEIGHT_LEFT_OUT "a weight without its data"
#define ONNX_CONSTANT_LEFT_OUT "a constant without its data, no parameter"
#define ONNX_PACKED ", packed bytes: "
#define ONNX_CONSTANT "a constant, no parameter"
#define ONNX_NOT_TAKEN "in a branch that is not taken"

/* Keys of the model's metadata, also written and read by Sooth: ONNX_LITERAL says that passes recover nothing; the
 * other gives the default size of a dimension (its name follows the key). */
#define ONNX_LITERAL "sooth.literal"
#define ONNX_DIMENSION "sooth.dimension."

/* Reads a TensorProto; its data stay in place. */
const tensor *onnx_tensor(builder *b, wire w, onnx_label *label);
/* Reads a SparseTensorProto as a tensor without data. */
const tensor *onnx_sparse_tensor(builder *b, wire w, onnx_label *label);
/* A tensor whose data are not in the file; w is for errors. packed_bytes is 0 if the type implies the size. */
const tensor *onnx_left_out(builder *b, wire w, const value *type, int64_t packed_bytes);

/* Reads an AttributeProto. */
void onnx_attr(builder *b, wire w, attr *a);

/* Cache of recently read attributes by their bytes: layers repeat, so many nodes share identical attributes. */
typedef struct known_attrs {
    str bytes; /* bytes of all attributes of a node, including keys and lengths */
    attr *attrs;
} known_attrs;
enum { KNOWN_ATTRS = 64 };

/* State of the ONNX reader, in builder.front. */
typedef struct onnx_reader {
    struct open_graph *open;        /* innermost graph that is being read; NULL outside of graphs */
    known_attrs known[KNOWN_ATTRS]; /* by hash of the bytes */
    str location;                   /* last checked location of external data, because most tensors have the same */
} onnx_reader;

/* Reads the `count` adjacent attribute fields of a node in w. */
attr *onnx_attrs(builder *b, wire w, int count);

/* Reads a GraphProto (onnx.c); attributes may contain graphs. */
void onnx_graph(builder *b, wire w, graph *g);

#endif
