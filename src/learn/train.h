/* train.h: one training step: the gradient of a batch of examples, and the update. */
#ifndef SOOTH_LEARN_TRAIN_H
#define SOOTH_LEARN_TRAIN_H

#include "learn/dataset.h"

typedef struct trainer {
    net net;                   /* its params are `params` */
    const float *mean, *scale; /* [group][FEATURE_COUNT]: features are (x - mean) * scale before the first layer */
    float *params, *first_moment, *second_moment,
        *average;      /* [net.at.count]; average: of the parameters over the last steps */
    float *best;       /* the average that did best on hold-out rows */
    float *new_gpu;    /* parameters for new GPUs, once trained */
    double best_error; /* INFINITY: not evaluated yet */
    int since_best;    /* looks */
    float *gradients;  /* [SHARDS][net.at.count] */
    int64_t step;
    uint64_t random;
    double huber; /* relative error from which on the loss grows linearly */
    double decay,
        stack_decay; /* of stack embeddings: stacks are measured on few GPUs, so ambiguous effects go to the GPU */
    double unknown_stack, unknown_gpu; /* shares of examples that hide their stack and GPU */
    double unknown_op;                 /* share of kernels that hide their operator */
    double pair_weight;                /* weight of a pair relative to a measured network */
    fail *fail;                        /* where there is no memory for a step */
} trainer;

/* A batch has this many parts whatever the number of cores, and gradients are added in order, so the result does not
 * depend on the cores. */
enum { SHARDS = 4, MAX_BATCH = 2048, MAX_PAIRS = 64 };

void trainer_init(trainer *t, const dataset *data, uint64_t seed, arena *a);
/* Random parameters again, from another seed. */
void trainer_restart(trainer *t, const dataset *data, uint64_t seed);

/* Continues from the averaged parameters, with new moments. */
void trainer_go_on(trainer *t);

/* One step on the examples `order[0 … count)` and the pairs starting at `pairs[0 … pair_count)`; returns the mean loss
 * of the former. */
typedef struct batch {
    int32_t order[MAX_BATCH];
    int32_t count;
    int32_t pairs[MAX_PAIRS];
    int32_t pair_count;
} batch;
double trainer_step(trainer *t, const dataset *data, const batch *b, double rate);

/* log(predicted / measured) of `order[0 … count)` by the averaged parameters; and the share in unfamiliar kernels
 * (novelty_of(); may be NULL). */
void trainer_errors(const trainer *t, const dataset *data, const int32_t *order, int32_t count, float *errors,
                    float *novelty);

uint64_t trainer_random(trainer *t);

#endif
