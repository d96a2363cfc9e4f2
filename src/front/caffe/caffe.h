/* caffe.h: shared by the parts of the Caffe reader: files (caffe.c), layers (caffe_layers.c). */
#ifndef SOOTH_FRONT_CAFFE_CAFFE_H
#define SOOTH_FRONT_CAFFE_CAFFE_H

#include "front/common/grow.h"
#include "front/common/proto_text.h"

/* A blob as written by one layer. A layer that overwrites its input creates a new blob of the same name. */
typedef struct caffe_blob {
    str name;
    int32_t readers, last_reader; /* number of layers that read it, and the last of them */
    value_id value;               /* inputs: set while reading; other blobs: set in each run */
    bool is_input;
} caffe_blob;

typedef struct caffe_layer {
    str name, type;
    const proto_node *node;
    int32_t *in, *out; /* indices of blobs */
    int in_count, out_count;
    struct caffe_layer *scale; /* BatchNorm: the Scale layer after it, which is merged into it */
    bool is_merged;
} caffe_layer;

typedef struct caffe {
    fail *fail;
    struct {
        caffe_layer *items;
        int32_t count, capacity;
    } layers;
    struct {
        caffe_blob *items;
        int32_t count, capacity;
    } blobs;
} caffe;

enum { CAFFE_MAX_INPUTS = 1024, CAFFE_MAX_SIZE = 1 << 24 };

/* State while a layer is written. */
typedef struct caffe_call {
    grower *g;
    emitter *e;
    const caffe_layer *layer;
    value_id x;   /* its first input, or NO_VALUE */
    value_id out; /* its first output */
    value_id *in, *outs;
    int in_count, out_count;
} caffe_call;

/* Writes the layer; an unknown type becomes an operator of that name. */
void caffe_write(caffe_call *c);

/* Compares type names without case and underscores: INNER_PRODUCT of old files is InnerProduct. */
bool caffe_is_type(str type, const char *name);

_Noreturn void caffe_fail(fail *f, str layer, const char *what);

#endif
