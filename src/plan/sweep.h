/* sweep.h: every combination of a plan: networks with their parameters and batches, on every GPU, slice and setting. A
 * combination has a number, so that threads and processes share the work, and an interrupted sweep goes on. */
#ifndef SOOTH_PLAN_SWEEP_H
#define SOOTH_PLAN_SWEEP_H

#include "base/ordered.h"
#include "plan/study_plan.h"

typedef struct sweep_setting {
    const sooth_gpu *gpu;
    const char *gpu_name, *mig;                                          /* "": the whole GPU */
    const char *precision, *layout, *runtime, *mode, *optimizer, *stack; /* as predictions report them */
    sooth_predict_options options;
} sweep_setting;

typedef struct sweep_family {
    const char *name, *graph;
    const space *space;  /* choices that bind dimensions are last, so that neighbours share a graph */
    uint64_t candidates; /* networks with a batch */
    uint64_t first;      /* number of the first one in the sweep */
    uint64_t chunk;      /* candidates computed together */
    size_t first_chunk, chunk_count;
} sweep_family;

typedef struct sweep {
    const sweep_family *families;
    size_t family_count;
    const sweep_setting *settings;
    size_t setting_count;
    uint64_t networks; /* candidates of all families */
    uint64_t points;   /* networks × settings */
    size_t chunk_count;
    const char *weights;
    uint64_t identity; /* of everything that the results depend on */
    const sooth_predictor *predictor;
    bool memory;
} sweep;

/* Lists of names, with commas; NULL: those of the plan, or the default. */
typedef struct sweep_options {
    const sooth_gpu *const *gpus;
    size_t gpu_count;
    const char *lists[STUDY_KEYS]; /* STUDY_GPU is not read */
    const sooth_predictor *predictor;
    bool memory;
} sweep_options;

/* Numbers everything, and refuses wrong names and more than a thousand million combinations. Everything is in `a`. */
const sweep *sweep_prepare(const study_plan *plan, const sweep_options *options, arena *a, fail *f);

/* Computes one chunk, as a result of ordered_run. */
void sweep_compute(const sweep *s, size_t chunk, bytes *result);

/* ---- reading a result: for each network its figures, then its points --------------------------------------------- */

typedef struct sweep_network {
    const char *error; /* "": it could be built */
    int64_t batch, params, macs, flops;
} sweep_network;

typedef struct sweep_point {
    const char *error; /* "": there is a prediction */
    sooth_interval latency_ms, energy_j, memory_mib;
    double throughput_per_s, utilization, dram_utilization, occupancy;
} sweep_point;

/* The family of a chunk, and the numbers of its networks within the family: from *from, *count of them. */
const sweep_family *sweep_chunk(const sweep *s, size_t chunk, uint64_t *from, uint64_t *count);
sweep_network sweep_take_network(str *at);
sweep_point sweep_take_point(str *at);

#endif
