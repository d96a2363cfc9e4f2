/* trainer.h: trains a graph network on a set: steps, epochs, evaluation. The result depends on the options and the
 * seed, not on the number of threads or processes. */
#ifndef SOOTH_GNN_TRAINER_H
#define SOOTH_GNN_TRAINER_H

#include "base/ordered.h"
#include "gnn/pass.h"
#include "gnn/set.h"

/* A step's graphs are divided into shards, always as many, and gradients are added pairwise in a fixed order. */
enum { GNN_SHARDS = 8, GNN_MOST_GRAPHS = 1024 };

typedef struct gnn_options {
    gnn_kind kind;
    size_t hidden;
    uint64_t seed;
    int epochs;
    int32_t graphs; /* per step */
    double rate;
    bool is_linear; /* the rate falls linearly to 0; otherwise it is constant */
    double dropout, huber;
} gnn_options;

typedef struct gnn_trainer {
    gnn_options options;
    gnn_layout layout;
    gnn_scaling scaling;
    const gnn_set *set;
    float *params, *transposed, *first_moment, *second_moment, *best;
    float *gradients[GNN_SHARDS];
    int64_t step;
    int epoch;
    double best_error; /* mean error in the logarithm on validation labels; INFINITY before the first epoch */
    int best_epoch;
    size_t threads;
    const team *team; /* NULL: this process alone */
    int32_t *order;   /* examples with a training label; shuffled by each epoch */
    int32_t order_count;
    gnn_pool *pools; /* [GNN_SHARDS] */
    fail *fails;     /* [GNN_SHARDS] */
    sooth_error *errors;
    fail *fail;
} gnn_trainer;

/* Allocates in `a` and fails through it. The set must be split. */
void gnn_trainer_init(gnn_trainer *t, const gnn_set *set, const gnn_options *o, size_t threads, const team *team,
                      arena *a);
void gnn_trainer_free(gnn_trainer *t); /* pools; the rest is in the arena */

/* Runs an epoch and returns the mean loss of its labels. A nonzero `stop` ends it early and leaves an unusable state.
 * `progress` is called after each step. Either may be NULL. */
typedef struct gnn_watch {
    const volatile int *stop;
    void (*progress)(void *context, int64_t step, int64_t steps);
    void *context;
} gnn_watch;
double gnn_trainer_epoch(gnn_trainer *t, const gnn_watch *watch);

/* Computes outputs (log) of all labels with one of the roles (bit r: role r): outputs[row][GNN_OUTPUTS]; the others are
 * NAN. All processes get all of them. */
typedef struct gnn_evaluated {
    const gnn_set *set;
    const gnn_scaling *scaling;
    gnn_network net;
    uint32_t roles;
    size_t threads;
    const team *team;
} gnn_evaluated;
void gnn_evaluate(const gnn_evaluated *e, float *outputs, fail *f);

/* Evaluates the validation labels, keeps the parameters if they are the best so far, and returns the mean absolute
 * error in the logarithm. */
double gnn_trainer_validate(gnn_trainer *t, arena *scratch);

/* Gradient of the mean loss over the first `graphs` graphs with a training label, without dropout, as training computes
 * it. `outputs` has their training labels in order. For tests. */
typedef struct gnn_probe {
    gnn_batch batch;
    float *outputs, *gradient;
    double loss;
} gnn_probe;
gnn_probe gnn_trainer_probe(gnn_trainer *t, int32_t graphs);

#endif
