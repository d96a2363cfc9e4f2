/* caffe.h: what the parts of the Caffe reader share: files (caffe.c), layers (caffe_layers.c). */
#ifndef SOOTH_FRONT_CAFFE_CAFFE_H
#define SOOTH_FRONT_CAFFE_CAFFE_H

#include "front/common/grow.h"
#include "front/common/proto_text.h"

/* A blob as one layer wrote it: layers may write over what they read, which makes another one of the same name. */
typedef struct caffe_blob {
    str name;
    int32_t readers, last_reader; /* how many layers, and which one was the last */
    value_id value;               /* of inputs when the file is read, of all others in each run */
    bool is_input;
} caffe_blob;

typedef struct caffe_layer {
    str name, type;
    const proto_node *node;
    int32_t *in, *out; /* blobs */
    int in_count, out_count;
    struct caffe_layer *scale; /* of a BatchNorm: the Scale behind it, which are one operator together */
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

/* One layer at work. */
typedef struct caffe_call {
    grower *g;
    emitter *e;
    const caffe_layer *layer;
    value_id x;   /* its first input; NO_VALUE if there is none */
    value_id out; /* its first output */
    value_id *in, *outs;
    int in_count, out_count;
} caffe_call;

/* Writes the layer; what is not known becomes an operator of that name. */
void caffe_write(caffe_call *c);

/* Names of types are compared without their case and underscores: INNER_PRODUCT of old files is InnerProduct. */
bool caffe_is_type(str type, const char *name);

_Noreturn void caffe_fail(fail *f, str layer, const char *what);

#endif
