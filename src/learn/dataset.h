/* dataset.h: measured rows for the trainer: the distinct kernels of each row with their features, and the measured
 * time. */
#ifndef SOOTH_LEARN_DATASET_H
#define SOOTH_LEARN_DATASET_H

#include "learn/kernels.h"
#include "learn/rows.h"
#include "predict/net.h"

/* A kernel of a program. */
typedef struct sample {
    uint32_t work : KERNEL_BITS; /* index in dataset.kernels, with the next field */
    uint32_t is_new : 1;         /* unfamiliar: training saw no kernel of its kin in networks; see dataset_seen() */
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
    int unknown_stack;       /* the unknown stack that replaces a hidden one */
    float latency_us;
    float timer_us; /* part of it that the row's timer adds, by its source */
    float weight;
    bool is_unmeasured; /* member of a pair */
} example;

typedef struct dataset {
    kernel_store *kernels;
    example *items; /* measured ones, then pairs */
    int32_t count;
    /* The same network and setting at one batch and, in the next example, at twice that batch. Unmeasured; but the
     * larger one cannot take less time, and training enforces this for every kernel, because most rows have large
     * batches. */
    int32_t pair_count;
    str stacks[MAX_STACKS];
    int stack_count;
    str gpus[MAX_GPUS];
    int gpu_count;
    uint64_t identity;   /* hash of everything: other data have another one */
    float *mean, *scale; /* [group][FEATURE_COUNT], over all samples */
    float *low, *high;   /* the same for the examples last given to dataset_seen() */
    uint32_t stack_groups[MAX_STACKS], gpu_groups[MAX_GPUS], *op_seen; /* of net.h, for the same examples */
    sample_program **made; /* what threads made, which is not in the arena */
    size_t made_count;
} dataset;

static inline kernel_head sample_head(const dataset *d, const sample *s)
{
    return kernels_head(d->kernels, s->work);
}
/* Runs per pass. */
static inline float sample_count(const dataset *d, const sample *s)
{
    return kernels_count(d->kernels, s->place);
}
/* Roofline time of one run at the base clock. */
typedef struct sample_time {
    float compute_us, memory_us;
} sample_time;
/* That, and the features, on the device of `e`. */
sample_time sample_features(const dataset *d, const example *e, const sample *s, float features[FEATURE_COUNT]);

/* Builds examples of every usable row, on all cores. Rows that cannot be lowered get a `reason`. `progress` may be
 * NULL. `d` must be zeroed, so that it can be freed after a failure. */
typedef void (*dataset_progress)(void *context, size_t done, size_t all);
void dataset_build(dataset *d, measured_rows *const *tables, int table_count, arena *a, fail *f,
                   dataset_progress progress, void *context);
/* Extends the hash `h` by these bytes. */
uint64_t dataset_hash(uint64_t h, const void *bytes, size_t size);
/* Example lists of a training; of pairs, the first of each. */
typedef struct lists {
    int32_t *networks, *operators, *pairs;
    int32_t network_count, operator_count, pair_count;
} lists;

/* Sets what a training sees: ranges of features, stacks, GPUs and operators. */
void dataset_seen(dataset *d, const lists *l);

/* True if the row is in this share of the architectures or operator shapes; by hash, so always the same rows. */
uint64_t architecture_hash(const measured_row *r, arena *a);
bool row_is_left(const measured_row *r, uint64_t architecture, double share);

/* Frees what threads made outside the arena. Call it before the arena is freed. */
void dataset_free(dataset *d);

#endif
