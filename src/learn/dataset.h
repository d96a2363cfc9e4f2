/* dataset.h: measured rows as the trainer sees them: for each row its distinct kernels with their features, and the measured time. */
#ifndef SOOTH_LEARN_DATASET_H
#define SOOTH_LEARN_DATASET_H

#include "learn/kernels.h"
#include "learn/rows.h"
#include "predict/net.h"

/* A kernel of a program. */
typedef struct sample {
    uint32_t work : KERNEL_BITS; /* this and the next: its number in dataset.kernels */
    uint32_t is_new : 1;         /* training has not seen its like (kin) in networks; see dataset_seen() */
    uint32_t place;
} sample;

/* What examples of the same program share. */
typedef struct sample_program {
    sample *samples; /* sorted by group */
    int32_t sample_count;
    int32_t first_of_group[WORK_GROUP_COUNT + 1];
    float host_count[WORK_GROUP_COUNT]; /* launches by group */
} sample_program;

typedef struct example {
    const sample_program *program;
    float *
        corrections; /* of each sample, by the trees of forests.h, a logarithm; NULL: none, as while the networks are trained */
    const measured_row *row;
    const device_view *view; /* of the row's device */
    uint64_t architecture;   /* hash of row_architecture() */
    int stack, gpu;          /* in dataset.stacks and dataset.gpus */
    int unknown_stack;       /* the one that stands for its own where that is not told */
    float latency_us;
    float timer_us; /* of it, what the row's timer adds by its source's account */
    float weight;
    bool is_unmeasured; /* one of a pair */
} example;

typedef struct dataset {
    kernel_store *kernels;
    example *items; /* measured ones, then pairs */
    int32_t count;
    /* The same network in the same setting with a batch and, the example after it, with twice that. Nobody measured them, but the larger one takes no less time: training
     * holds every kernel to that, for most rows are of large batches. */
    int32_t pair_count;
    str stacks[MAX_STACKS];
    int stack_count;
    str gpus[MAX_GPUS];
    int gpu_count;
    uint64_t identity;   /* hash of all of it: a training on other data has another one */
    float *mean, *scale; /* [group][FEATURE_COUNT], over all samples */
    float *low, *high;   /* the same, of those last given to dataset_seen() */
    uint32_t stack_groups[MAX_STACKS], gpu_groups[MAX_GPUS], *op_seen; /* of net.h, of those too */
    sample_program **made; /* what threads made, which is not in the arena */
    size_t made_count;
} dataset;

static inline kernel_head sample_head(const dataset *d, const sample *s)
{
    return kernels_head(d->kernels, s->work);
}
/* How often it runs. */
static inline float sample_count(const dataset *d, const sample *s)
{
    return kernels_count(d->kernels, s->place);
}
/* What it takes on the ideal machine at its base clock, one run. */
typedef struct sample_time {
    float compute_us, memory_us;
} sample_time;
/* That, and what the networks see of it, on the device of `e`. */
sample_time sample_features(const dataset *d, const example *e, const sample *s, float features[FEATURE_COUNT]);

/* Builds examples of every usable row of the tables, on all cores. Rows that cannot be lowered get their `reason`. `progress` may be NULL. `d` is
 * the caller's and all zero before, so that it can be freed after a failure too. */
typedef void (*dataset_progress)(void *context, size_t done, size_t all);
void dataset_build(dataset *d, measured_rows *const *tables, int table_count, arena *a, fail *f,
                   dataset_progress progress, void *context);
/* The hash of bytes after those that gave `h`. */
uint64_t dataset_hash(uint64_t h, const void *bytes, size_t size);
/* Lists of examples that a training is of; of pairs, the first of each. */
typedef struct lists {
    int32_t *networks, *operators, *pairs;
    int32_t network_count, operator_count, pair_count;
} lists;

/* Sets what a training sees: ranges of features, stacks, GPUs and operators. */
void dataset_seen(dataset *d, const lists *l);

/* By hash, so that it is always the same ones: is the row in this share of the architectures, or of the operator shapes? */
uint64_t architecture_hash(const measured_row *r, arena *a);
bool row_is_left(const measured_row *r, uint64_t architecture, double share);

/* Gives back what is not in the arena: threads made it. Before the arena is freed. */
void dataset_free(dataset *d);

#endif
