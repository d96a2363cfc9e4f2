/* dataset.h: training examples from measured rows: the distinct kernels of each row, their features and the measured
 * time. */
#ifndef SOOTH_LEARN_DATASET_H
#define SOOTH_LEARN_DATASET_H

#include "learn/kernels.h"
#include "learn/rows.h"
#include "predict/net.h"

/* A kernel of a program. */
typedef struct sample {
    uint32_t work : KERNEL_BITS; /* index of the work in dataset.kernels */
    uint32_t is_new : 1;         /* unfamiliar: training saw no kernel with this work.kin in networks; set by learn.c */
    uint32_t place;
    float strange; /* share of its runs that end an unfamiliar sequence of kernels; set by learn.c */
} sample;

/* Runs of a kernel after the same kernels (work_list.chains). */
typedef struct sample_chain {
    uint32_t chain;
    int32_t sample;
    float share; /* of all runs of the sample */
} sample_chain;

/* Data shared by examples with the same program. */
typedef struct sample_program {
    sample_chain *chains;
    int32_t chain_count;
    uint64_t graph;  /* work_list.graph */
    sample *samples; /* sorted by group */
    int32_t sample_count;
    int32_t first_of_group[WORK_GROUP_COUNT + 1];
    float host_count[WORK_GROUP_COUNT]; /* launches by group */
    double bytes;                       /* of all kernels */
} sample_program;

typedef struct example {
    const sample_program *program;
    /* Log factor of each sample from the forests (forests.h); NULL while the networks train. */
    float *corrections;
    const measured_row *row;
    const device_view *view; /* the row's device */
    uint64_t architecture;   /* hash of row_architecture() */
    int stack, gpu;          /* indices into dataset.stacks and dataset.gpus */
    int unknown_stack;       /* index of the unknown stack that replaces a hidden one */
    float latency_us;
    float timer_us; /* time that the source's timer adds to the latency */
    float weight;
    bool is_unmeasured; /* belongs to a pair */
} example;

typedef struct dataset {
    kernel_store *kernels;
    example *items; /* measured examples, then pairs */
    int32_t count;
    /* A pair is one network and setting at a batch and, in the next example, at twice that batch. Neither is
     * measured. Training penalizes kernels whose time falls with the batch, because most measured rows have large
     * batches. */
    int32_t pair_count;
    str stacks[MAX_STACKS];
    int stack_count;
    str gpus[MAX_GPUS];
    int gpu_count;
    uint64_t identity;   /* hash of all data; checkpoints compare it */
    float *mean, *scale; /* [group][FEATURE_COUNT], over all samples */
    float *low, *high;   /* feature ranges, over the examples last passed to dataset_seen() */
    uint32_t stack_groups[MAX_STACKS], gpu_groups[MAX_GPUS], *op_seen; /* masks as in net.h */
    uint32_t gpu_units[MAX_GPUS * WORK_UNITS], *gpu_ops;
    float gpu_numbers[MAX_GPUS * VIEW_NUMBERS];
    sample_program **made; /* programs that threads allocated outside the arena */
    size_t made_count;
} dataset;

static inline kernel_head sample_head(const dataset *d, const sample *s)
{
    return kernels_head(d->kernels, s->work);
}
/* Number of runs of the kernel per pass. */
static inline float sample_count(const dataset *d, const sample *s)
{
    return kernels_count(d->kernels, s->place);
}
/* Roofline time of one run at the base clock, and the limits of its time. */
typedef struct sample_time {
    float compute_us, memory_us;
    float least_us, most_us;
} sample_time;
/* Computes the features and the times on the device of `e`. */
sample_time sample_features(const dataset *d, const example *e, const sample *s, float features[FEATURE_COUNT]);

/* Builds examples from every usable row, on all cores. Rows that cannot be lowered get a `reason`. `progress` may be
 * NULL. `d` must be zeroed, so that it can be freed after a failure. */
typedef void (*dataset_progress)(void *context, size_t done, size_t all);
void dataset_build(dataset *d, measured_rows *const *tables, int table_count, arena *a, fail *f,
                   dataset_progress progress, void *context);
/* Extends the hash `h` with these bytes. */
uint64_t dataset_hash(uint64_t h, const void *bytes, size_t size);
/* Indices of the examples of a training. `pairs` has the first example of each pair. */
typedef struct lists {
    int32_t *networks, *operators, *pairs;
    int32_t network_count, operator_count, pair_count;
} lists;

/* Records the stacks, GPUs, operators and feature ranges that a training sees. */
void dataset_seen(dataset *d, const lists *l);

/* True if the row's architecture or operator shape is in the hold-out share. A hash decides, so every training holds
 * out the same rows. */
uint64_t architecture_hash(const measured_row *r, arena *a);
bool row_is_left(const measured_row *r, uint64_t architecture, double share);

/* Frees the data that threads allocated outside the arena. Call it before the arena is freed. */
void dataset_free(dataset *d);

#endif
