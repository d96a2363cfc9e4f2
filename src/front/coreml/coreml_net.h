/* coreml_net.h: shared by both halves of the CoreML neural network reader: the network and layers with weights
 * (coreml_net.c), layers without weights (coreml_layers.c). */
#ifndef SOOTH_FRONT_COREML_COREML_NET_H
#define SOOTH_FRONT_COREML_COREML_NET_H

#include "front/coreml/coreml.h"

/* One layer of the file. */
typedef struct coreml_layer {
    str name;
    uint32_t kind; /* field number of its parameters in NeuralNetworkLayer */
    wire params;
    const value_id *in, *out;
    int32_t in_count, out_count;
    bool is_exact; /* true: tensors have their declared ranks; false: all are (N, C, H, W) */
} coreml_layer;

static inline value_id layer_in(const coreml_layer *l, int i)
{
    return i < l->in_count ? l->in[i] : NO_VALUE;
}
static inline value_id layer_out(const coreml_layer *l, int i)
{
    return i < l->out_count ? l->out[i] : NO_VALUE;
}

/* Fields of the layer's parameters. */
int64_t layer_int(wire params, uint32_t number, int64_t otherwise);
double layer_real(wire params, uint32_t number, double otherwise);
bool layer_has(wire params, uint32_t number);
wire layer_inner(wire params, uint32_t number); /* empty if absent */
/* Reads a repeated integer, at most `room`; -1 if there are more. */
int layer_ints(wire params, uint32_t number, int64_t *to, int room);

void layer_foreign(emitter *e, const coreml_layer *l);
/* False if the layer has weights or is unknown. */
bool coreml_write_layer(emitter *e, const coreml_layer *l);

#endif
