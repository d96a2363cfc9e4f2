/* learn.h: trains the weights on measured rows, in eight trainings of the same network architecture. The first holds
 * out GPUs; the second sees every row and gives the weights for new GPUs. The next four hold out each family once, the
 * seventh architectures and shapes; the last continues it with every row and gives the weights for known GPUs.
 * Hold-out errors calibrate the intervals. A killed training resumes from its checkpoint. */
#ifndef SOOTH_LEARN_LEARN_H
#define SOOTH_LEARN_LEARN_H

#include "learn/intervals.h"
#include "learn/train.h"
#include "predict/weights.h"

typedef enum learn_stage {
    STAGE_GPUS,     /* GPUs held out */
    STAGE_NEW_GPU,  /* trains on all rows, for predictions on new GPUs */
    STAGE_FAMILIES, /* a quarter of the families held out, then the next */
    STAGE_FAMILIES_2,
    STAGE_FAMILIES_3,
    STAGE_FAMILIES_4,
    STAGE_NETWORKS, /* architectures, settings of known networks, and operator shapes held out */
    STAGE_ALL,
    STAGE_COUNT,
} learn_stage;

typedef struct learn_report {
    learn_stage stage;
    int epoch, epochs;
    double loss;
    double seconds, seconds_left; /* estimated time of the remaining trainings */
    /* Errors on the hold-out rows; NAN if they were not evaluated. */
    double mean_error, median_error;
    double bounded_error; /* mean of errors clipped at a limit; selects the best parameters */
    size_t kept_apart;
} learn_report;

typedef struct learn_options {
    uint64_t seed;
    int epochs;
    int patience; /* evaluations without improvement before a training ends */
    double rate;
    int32_t networks, operators; /* rows per step */
    const char *checkpoint;      /* path of the checkpoint; NULL: none */
    const char *leave_gpus;      /* comma-separated GPUs that no training sees; NULL: none */
    const char *leave_families;
    double leave_share; /* share of architectures and operator shapes that no training sees (row_is_left) */
    void (*progress)(void *context, const learn_report *report); /* may be NULL */
    void (*growing)(void *context, int done, int all); /* Progress of the forests after a training; may be NULL. */
    /* Called for each hold-out row at the end; `halves` are the half widths of its intervals. May be NULL. */
    void (*apart)(void *context, const char *why, const example *e, const residual *r,
                  const float halves[INTERVAL_LEVELS]);
    void *context;
    const volatile int *stop; /* set to stop: learn() then writes a checkpoint and returns NULL; may be NULL */
    size_t threads;           /* of this process, at least 1 */
    const team *team;         /* processes that share the work; NULL: only this one. Process 0 writes the checkpoint. */
    /* Called once before the work begins; false if another process cannot begin. May be NULL. */
    bool (*ready)(void *context);
} learn_options;

/* Returns the bytes of a weights file, in `a`; NULL if it was stopped or cannot begin. */
const void *learn(dataset *data, const learn_options *options, size_t *size, arena *a, fail *f);

#endif
