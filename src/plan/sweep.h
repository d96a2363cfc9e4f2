/* sweep.h: every combination of a plan: networks with their parameters and batches, on every GPU, slice and setting.
 * Combinations are numbered, so that threads and processes can share the work and an interrupted sweep can resume. */
#ifndef SOOTH_PLAN_SWEEP_H
#define SOOTH_PLAN_SWEEP_H

#include "base/ordered.h"
#include "plan/study_plan.h"

typedef struct sweep_setting {
    const sooth_gpu *gpu;
    const char *gpu_name, *mig;                                          /* "": the whole GPU */
    const char *precision, *layout, *runtime, *mode, *optimizer, *stack; /* Names as predictions report them. */
    sooth_predict_options options;
} sweep_setting;

typedef struct sweep_family {
    const char *name, *graph;
    const space *space;  /* Choices that bind dimensions come last, so that consecutive candidates share a graph. */
    uint64_t candidates; /* Combinations of networks and batches. */
    uint64_t first;      /* Number of its first candidate in the sweep. */
    uint64_t chunk;      /* Number of candidates per chunk. */
    size_t first_chunk, chunk_count;
} sweep_family;

typedef struct sweep {
    const sweep_family *families;
    size_t family_count;
    const sweep_setting *settings;
    size_t setting_count;
    uint64_t networks; /* Candidates of all families. */
    uint64_t points;   /* Networks × settings. */
    size_t chunk_count;
    const char *weights;
    uint64_t identity; /* Hash of everything that determines the results. */
    const sooth_predictor *predictor;
    bool memory;
} sweep;

/* Comma-separated names replace the lists of the plan. NULL: the plan's list, or the default. */
typedef struct sweep_options {
    const sooth_gpu *const *gpus;
    size_t gpu_count;
    const char *lists[STUDY_KEYS]; /* lists[STUDY_GPU] is ignored. */
    const sooth_predictor *predictor;
    bool memory;
} sweep_options;

/* Numbers all combinations. Fails for invalid names and for more than a thousand million combinations. Allocates
 * everything in `a`. */
const sweep *sweep_prepare(const study_plan *plan, const sweep_options *options, arena *a, fail *f);

/* Computes one chunk in the form that ordered_run() takes. */
void sweep_compute(const sweep *s, size_t chunk, bytes *result);

/* ---- reading a result: for each network its figures, then its points --------------------------------------------- */

typedef struct sweep_network {
    const char *error; /* "" if the network could be built. */
    int64_t batch, params, macs, flops;
} sweep_network;

typedef struct sweep_point {
    const char *error; /* "" if there is a prediction. */
    sooth_interval latency_ms, energy_j, memory_mib;
    double throughput_per_s, utilization, dram_utilization, occupancy;
} sweep_point;

/* Returns the family of a chunk, and the range of its networks within the family. */
const sweep_family *sweep_chunk(const sweep *s, size_t chunk, uint64_t *from, uint64_t *count);
sweep_network sweep_take_network(str *at);
sweep_point sweep_take_point(str *at);

#endif
