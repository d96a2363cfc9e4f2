/* gguf.h: shared by the files that read GGUF. */
#ifndef SOOTH_FRONT_HF_GGUF_H
#define SOOTH_FRONT_HF_GGUF_H

#include "base/names.h"
#include "graph/build.h"

#include <stdio.h>

typedef struct gguf_value {
    int type, element_type;
    int64_t count; /* number of elements; 1 unless it is an array */
    const uint8_t *elements;
    str text;
} gguf_value;

typedef struct gguf_tensor {
    str name;
    int rank, type;
    int64_t dims[8]; /* order of the graph: rows first */
    int64_t elements;
    bool is_used; /* true if the graph has a weight for it */
} gguf_tensor;

typedef struct gguf {
    fail *fail;
    gguf_value *values;
    gguf_tensor *tensors;
    int32_t tensor_count;
    names keys, tensor_names;
    str architecture;
} gguf;

/* Looks up "ARCHITECTURE.key" of the metadata, and in an array the entry of the layer. Fails on impossible sizes. */
int64_t gguf_int(const gguf *g, const char *key, int64_t layer, int64_t otherwise);
double gguf_real(const gguf *g, const char *key, double otherwise);
int64_t gguf_array_length(const gguf *g, const char *key); /* 0 if there is none */
gguf_tensor *gguf_find(const gguf *g, str name);

/* gguf_graph.c: builds the graph of a known architecture; false if it is unknown. */
bool gguf_build(builder *b, gguf *g);
/* Byte size of a tensor's data (0 if its type is unknown), and the nearest plain element type. */
int64_t gguf_tensor_bytes(const gguf_tensor *t);
dtype gguf_dtype(int type);

#endif
