/* learn.h: trains weights on measured rows: five trainings of the same networks.
 *
 * The first holds out GPUs; the second is the same with every row and gives the weights for new GPUs. The third holds
 * out whole families, the fourth architectures and shapes; the fifth continues the fourth with every row and gives the
 * weights for known GPUs. Errors on hold-out rows calibrate the intervals. After a kill, training resumes from its last
 * checkpoint. */
#ifndef SOOTH_LEARN_LEARN_H
#define SOOTH_LEARN_LEARN_H

#include "learn/train.h"
#include "predict/weights.h"

typedef enum learn_stage {
    STAGE_GPUS,     /* GPUs held out */
    STAGE_NEW_GPU,  /* trains on all rows, for predictions on new GPUs */
    STAGE_FAMILIES, /* families held out */
    STAGE_NETWORKS, /* architectures and operator shapes held out */
    STAGE_ALL,
    STAGE_COUNT,
} learn_stage;

typedef struct learn_report {
    learn_stage stage;
    int epoch, epochs;
    double loss;
    double seconds, seconds_left; /* of the whole; an estimate */
    /* Of the hold-out rows, if they were evaluated; else NAN. */
    double mean_error, median_error;
    double bounded_error; /* mean with rows clipped at 30 %: it chooses the best parameters */
    size_t kept_apart;
} learn_report;

typedef struct learn_options {
    uint64_t seed;
    int epochs;
    int patience; /* evaluations without improvement that end a training */
    double rate;
    int32_t networks, operators; /* rows per step */
    const char *checkpoint;      /* path; NULL: none */
    const char *leave_gpus;      /* comma-separated: rows that no training sees; NULL: none */
    const char *leave_families;
    double leave_share; /* share of architectures and operator shapes that no training sees: see row_is_left */
    void (*progress)(void *context, const learn_report *report); /* NULL: none */
    void (*growing)(void *context, int done, int all);           /* of trees, after a training; NULL: none */
    /* Called for each hold-out row when its training is done; kind as in weights.h. NULL: none. */
    void (*apart)(void *context, const char *why, const example *e, int kind, double error);
    void *context;
    const volatile int *stop; /* set from outside: write a checkpoint and return NULL; may be NULL */
} learn_options;

/* The bytes of a weights file, in `a`; NULL if it was stopped. */
const void *learn(dataset *data, const learn_options *options, size_t *size, arena *a, fail *f);

#endif
