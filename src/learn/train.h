/* train.h: one step of training: from a batch of examples to the gradient of the loss, and from that to better parameters. */
#ifndef SOOTH_LEARN_TRAIN_H
#define SOOTH_LEARN_TRAIN_H

#include "learn/dataset.h"

typedef struct trainer {
    net net;                   /* its params are `params` */
    const float *mean, *scale; /* [group][FEATURE_COUNT]: features are (x - mean) * scale before the first layer */
    float *params, *first_moment, *second_moment,
        *average;      /* [net.at.count]; average: of the parameters over the last steps */
    float *best;       /* the average where it did best on rows kept apart */
    float *new_gpu;    /* what was learned for new GPUs, once it is */
    double best_error; /* INFINITY: nobody looked yet */
    int since_best;    /* looks */
    float *gradients;  /* [SHARDS][net.at.count] */
    int64_t step;
    uint64_t random;
    double huber;              /* relative error from which on the loss grows linearly */
    double decay, stack_decay; /* stacks are measured on few GPUs each: what could be either is left to the GPU */
    double unknown_stack, unknown_gpu; /* shares of examples that are shown without their stack and GPU */
    double unknown_op;                 /* share of kernels that are shown without their operator */
    double pair_weight;                /* of a pair beside a measured network */
    fail *fail;                        /* where there is no memory for a step */
} trainer;

/* A batch is cut into so many parts whatever the number of cores, and their gradients are added in order: the result does not depend on
 * the cores. */
enum { SHARDS = 4, MAX_BATCH = 2048, MAX_PAIRS = 64 };

void trainer_init(trainer *t, const dataset *data, uint64_t seed, arena *a);
/* Parameters by chance again, from another seed. */
void trainer_restart(trainer *t, const dataset *data, uint64_t seed);

/* From the averaged parameters, with new moments. */
void trainer_go_on(trainer *t);

/* One step on the examples `order[0 … count)` and the pairs that begin with `pairs[0 … pair_count)`; gives the mean loss of the former. */
typedef struct batch {
    int32_t order[MAX_BATCH];
    int32_t count;
    int32_t pairs[MAX_PAIRS];
    int32_t pair_count;
} batch;
double trainer_step(trainer *t, const dataset *data, const batch *b, double rate);

/* log(predicted / measured) of each of `order[0 … count)`, by the averaged parameters; and what share of it is in kernels that are new
 * (novelty_of(); may be NULL). */
void trainer_errors(const trainer *t, const dataset *data, const int32_t *order, int32_t count, float *errors,
                    float *novelty);

uint64_t trainer_random(trainer *t);

#endif
