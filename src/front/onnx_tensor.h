/* onnx_tensor.h: constants and attributes of an ONNX file. */
#ifndef SOOTH_FRONT_ONNX_TENSOR_H
#define SOOTH_FRONT_ONNX_TENSOR_H

#include "front/wire.h"
#include "graph/build.h"

/* A TensorProto; its data stay where they are. *name is its name in the file's bytes. */
const tensor *onnx_tensor(builder *b, wire w, str *name);
/* A SparseTensorProto as a tensor without data. */
const tensor *onnx_sparse_tensor(builder *b, wire w, str *name);

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
} onnx_reader;

/* The `count` attributes that lie one behind the other in w, as fields of a node. */
attr *onnx_attrs(builder *b, wire w, int count);

/* A GraphProto (onnx.c); attributes contain them. */
void onnx_graph(builder *b, wire w, graph *g);

#endif
