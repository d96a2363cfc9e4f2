/* coreml.h: shared by the parts of the CoreML reader.
 *
 *   coreml.c          the model: its kind, inputs and outputs
 *   coreml_program.c  ML programs (mlProgram): functions, blocks, values
 *   coreml_ops.c      operators of programs → canonical ones
 *   coreml_net.c      neural networks (neuralNetwork, also as classifier and regressor): layers that contain their
 *   weights */
#ifndef SOOTH_FRONT_COREML_COREML_H
#define SOOTH_FRONT_COREML_COREML_H

#include "front/common/named.h"
#include "front/common/wire.h"

/* A feature of the model's description. */
typedef struct coreml_feature {
    str name;
    dtype type;
    int rank; /* RANK_UNKNOWN if it is not an array */
    num dims[MAX_RANK];
    bool is_image; /* (channels, height, width) */
} coreml_feature;

typedef struct coreml_features {
    coreml_feature *items;
    int32_t count, capacity;
} coreml_features;

void coreml_read_program(emitter *e, wire program);
void coreml_read_net(emitter *e, wire net, const coreml_features *inputs, const coreml_features *outputs);

/* Writes one operator of a program into the open graph. */
void coreml_map(emitter *e, const named_op *o);

#endif
