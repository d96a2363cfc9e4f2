/* net.h: a bound network in a form that can run: layers with decoded attributes, tensors, parameters.
 *
 * Images are (N,C,H,W) in float32. The last layer is the loss: cross entropy of the network's output with labels. */
#ifndef SOOTH_MEASURE_NET_H
#define SOOTH_MEASURE_NET_H

#include "graph/graph.h"

enum { RUN_RANK = 5, RUN_PARAMS = 4, NO_RUN = -1 };

typedef enum run_kind {
    RUN_CONV,
    RUN_LINEAR,
    RUN_BATCH_NORM,
    RUN_UNARY,
    RUN_MAX_POOL,
    RUN_AVERAGE_POOL,
    RUN_SUM,     /* of two tensors, with broadcasting */
    RUN_PRODUCT, /* of two tensors, with broadcasting */
    RUN_CONCAT,
    RUN_RESHAPE, /* the same elements in the same order */
    RUN_LRN,
    RUN_SOFTMAX,
    RUN_LOSS,
} run_kind;

typedef enum run_unary {
    UNARY_RELU,
    UNARY_CLIP,  /* a: minimum, b: maximum */
    UNARY_LEAKY, /* a: slope below zero */
    UNARY_ELU,   /* a: scale below zero */
    UNARY_SIGMOID,
    UNARY_TANH,
    UNARY_SWISH,
    UNARY_HARD_SIGMOID, /* a: slope, b: offset */
    UNARY_HARD_SWISH,
    UNARY_GELU,
} run_unary;

typedef struct run_shape {
    int rank;
    int64_t dims[RUN_RANK];
    int64_t elements;
} run_shape;

/* A tensor between layers. */
typedef struct run_value {
    const char *name;
    run_shape shape;
    int producer; /* layer that computes it; NO_RUN for the input */
    int readers;
    int shares; /* for a layer that works in place: the value whose memory it overwrites; otherwise NO_RUN */
    bool has_gradient;
} run_value;

typedef enum run_role { ROLE_WEIGHT, ROLE_BIAS, ROLE_SCALE, ROLE_MEAN, ROLE_VARIANCE } run_role;
/* A parameter, or a buffer (mean or variance of a batch norm). */
typedef struct run_param {
    const char *name;
    run_shape shape;
    run_role role;
    int layer;
    int64_t fan_in;
} run_param;

typedef struct run_window {
    int64_t size[2], stride[2], before[2], after[2], dilation[2];
    int64_t groups;
    bool counts_padding;
} run_window;

typedef struct run_layer {
    run_kind kind;
    const char *name, *op;
    int node; /* index of the model's layer; NO_RUN for the loss */
    int input_count;
    const int *inputs;
    int output;             /* value of the result; NO_RUN for the loss */
    int params[RUN_PARAMS]; /* weight, bias; for batch norms also mean, variance. NO_RUN if absent */
    run_window window;
    run_unary unary;
    double a, b; /* parameters of a unary function. Batch norm: a is epsilon, b is the momentum. LRN: alpha and beta. */
    double bias;
    int64_t size; /* size of LRN's window */
    int axis;
    bool is_turned; /* the weight of a linear layer is (out, in) */
    int64_t macs;
} run_layer;

typedef struct run_net {
    run_value *values;
    int value_count, input;
    run_param *params;
    int param_count;
    run_layer *layers;
    int layer_count;
    int64_t batch, classes;
} run_net;

/* Fails with SOOTH_ERROR_UNSUPPORTED and the layer's name if the network has an operator that cannot run. */
run_net *run_net_of(sooth_model *model, arena *a, fail *f);

static inline bool run_param_trains(const run_param *p)
{
    return p->role <= ROLE_SCALE;
}

#endif
