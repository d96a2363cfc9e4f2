/* gguf.h: between the files that read GGUF. */
#ifndef SOOTH_FRONT_HF_GGUF_H
#define SOOTH_FRONT_HF_GGUF_H

#include "base/names.h"
#include "graph/build.h"

#include <stdio.h>

typedef struct gguf_value {
    int type, element_type;
    int64_t count; /* of elements; 1 unless it is an array */
    const uint8_t *elements;
    str text;
} gguf_value;

typedef struct gguf_tensor {
    str name;
    int rank, type;
    int64_t dims[8]; /* as in the graph: rows first */
    int64_t elements;
    bool is_used; /* found in the graph that was built */
} gguf_tensor;

typedef struct gguf {
    fail *fail;
    gguf_value *values;
    gguf_tensor *tensors;
    int32_t tensor_count;
    names keys, tensor_names;
    str architecture;
} gguf;

/* "ARCHITECTURE.key" of the metadata; of an array the entry of the layer. Fails on numbers that no size can be. */
int64_t gguf_int(const gguf *g, const char *key, int64_t layer, int64_t otherwise);
double gguf_real(const gguf *g, const char *key, double otherwise);
int64_t gguf_array_length(const gguf *g, const char *key); /* 0 if there is none */
gguf_tensor *gguf_find(const gguf *g, str name);

/* gguf_graph.c: the graph of an architecture that is known; false if it is not. */
bool gguf_build(builder *b, gguf *g);
/* What the data of a tensor take; 0 if its type is not known. The nearest plain type, for graphs. */
int64_t gguf_tensor_bytes(const gguf_tensor *t);
dtype gguf_dtype(int type);

#endif
