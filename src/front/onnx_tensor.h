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

/* A GraphProto (onnx.c); attributes contain them. */
void onnx_graph(builder *b, wire w, graph *g);

#endif
