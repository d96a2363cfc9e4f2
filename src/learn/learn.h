/* learn.h: from measured rows to weights: five trainings of the same networks.
 *
 * The first keeps GPUs apart; the second is the same with every row, and its weights are those for new GPUs. The third keeps whole families apart, the fourth architectures
 * and shapes; the fifth goes on where the fourth ended, with every row, and its weights are those for known GPUs. Errors on what is kept apart say how wide intervals
 * must be. After a kill, the work goes on from its last checkpoint. */
#ifndef SOOTH_LEARN_LEARN_H
#define SOOTH_LEARN_LEARN_H

#include "learn/train.h"
#include "predict/weights.h"

typedef enum learn_stage {
    STAGE_GPUS,     /* GPUs kept apart */
    STAGE_NEW_GPU,  /* every row, for GPUs that none of them is of */
    STAGE_FAMILIES, /* families of architectures */
    STAGE_NETWORKS, /* architectures and operator shapes */
    STAGE_ALL,
    STAGE_COUNT,
} learn_stage;

typedef struct learn_report {
    learn_stage stage;
    int epoch, epochs;
    double loss;
    double seconds, seconds_left; /* of the whole, as far as it can be told */
    /* Of the rows kept apart, where they were looked at; NAN otherwise. */
    double mean_error, median_error;
    double bounded_error; /* mean, no row counting as more than 30 %: what chooses the best parameters */
    size_t kept_apart;
} learn_report;

typedef struct learn_options {
    uint64_t seed;
    int epochs;
    int patience; /* looks at the rows kept apart without an improvement before a training ends */
    double rate;
    int32_t networks, operators; /* rows of a step */
    const char *checkpoint;      /* path; NULL: none */
    const char *leave_gpus;      /* comma-separated: rows that no training sees, for evaluations; NULL: none */
    const char *leave_families;
    double leave_share; /* of architectures and of operator shapes that no training sees: those of row_is_left */
    void (*progress)(void *context, const learn_report *report); /* NULL: none */
    void (*growing)(void *context, int done, int all);           /* of trees, after a training; NULL: none */
    /* A row that a training kept apart, and why, when that training is done; kind as in weights.h. NULL: none. */
    void (*apart)(void *context, const char *why, const example *e, int kind, double error);
    void *context;
    const volatile int *stop; /* set from outside: write a checkpoint and return NULL; may be NULL */
} learn_options;

/* The bytes of a weights file, in `a`; NULL if it was stopped. */
const void *learn(dataset *data, const learn_options *options, size_t *size, arena *a, fail *f);

#endif
