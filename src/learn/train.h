/* train.h: one training step: the gradient of a batch of examples, and the update. */
#ifndef SOOTH_LEARN_TRAIN_H
#define SOOTH_LEARN_TRAIN_H

#include "base/team.h"
#include "learn/dataset.h"
#include "predict/interval.h"

typedef struct trainer {
    net net;                   /* uses `params` below */
    const float *mean, *scale; /* [group][FEATURE_COUNT]; the first layer reads (x - mean) * scale */
    /* [net.at.count]; `average` is the mean of the parameters over the last steps. */
    float *params, *first_moment, *second_moment, *average;
    float *best;       /* the average with the smallest hold-out error */
    float *new_gpu;    /* parameters for new GPUs, after their training */
    double best_error; /* INFINITY before the first evaluation */
    int since_best;    /* looks */
    float *gradients;  /* [SHARDS][net.at.count] */
    int64_t step;
    uint64_t random;
    double huber; /* relative error above which the loss is linear (Huber) */
    /* Weight decay; `stack_decay` is that of stack embeddings. Stacks are measured on few GPUs, so an effect that
     * either could explain should go to the GPU. */
    double decay, stack_decay;
    double unknown_stack, unknown_gpu; /* shares of examples that hide their stack or GPU */
    double unknown_op;                 /* share of kernels that hide their operator */
    double pair_weight;                /* weight of a pair relative to a measured network */
    size_t threads;                    /* of this process */
    const team *team;                  /* processes that share the work; NULL: only this one */
    fail *fail;                        /* receives failures to allocate memory for a step */
} trainer;

/* Number of shards of a batch. It is fixed and gradients are added in order, so that results do not depend on the
 * number of cores or processes. */
enum { SHARDS = 4, MAX_BATCH = 2048, MAX_PAIRS = 64 };

/* The trainer has all cores and no team until its members say otherwise. */
void trainer_init(trainer *t, const dataset *data, uint64_t seed, arena *a);
/* Restarts with random parameters from another seed. */
void trainer_restart(trainer *t, const dataset *data, uint64_t seed);

/* Continues from the averaged parameters, with new moments. */
void trainer_go_on(trainer *t);

/* One step on the examples `order[0 … count)` and the pairs that start at `pairs[0 … pair_count)`. Returns the mean
 * loss of the examples. */
typedef struct batch {
    int32_t order[MAX_BATCH];
    int32_t count;
    int32_t pairs[MAX_PAIRS];
    int32_t pair_count;
} batch;
double trainer_step(trainer *t, const dataset *data, const batch *b, double rate);

/* Evaluates the averaged parameters on `order[0 … count)`: log(predicted / measured), and in `sums` (may be NULL) what
 * intervals depend on. */
void trainer_errors(const trainer *t, const dataset *data, const int32_t *order, int32_t count, float *errors,
                    interval_sums *sums);

uint64_t trainer_random(trainer *t);
float trainer_between(trainer *t, float low, float high);

#endif
