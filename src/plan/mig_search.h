/* mig_search.h: a valid layout of demanded slices on as few GPUs as possible.
 *
 * A demand is a number of instances; each needs its own slice of one of its acceptable profiles. A GPU has memory
 * slots; a profile takes some of them from one of its valid starts, and as many compute slices as its name says. All
 * GPUs are alike. */
#ifndef SOOTH_PLAN_MIG_SEARCH_H
#define SOOTH_PLAN_MIG_SEARCH_H

#include "device/mig.h"

typedef struct mig_demand {
    uint32_t profiles; /* bit i: profile i of the table is acceptable */
    int32_t count;
} mig_demand;

/* A slice assigned to an instance. */
typedef struct mig_slice {
    int32_t demand, profile, start;
} mig_slice;

typedef struct mig_gpu {
    mig_slice slices[MIG_MAX_SLOTS]; /* sorted by start */
    int32_t count;
} mig_gpu;

typedef struct mig_layout {
    mig_gpu *gpus;
    int32_t gpu_count;
    int32_t least; /* proven lower bound; the layout is optimal if gpu_count equals it */
    int64_t nodes; /* states visited by the search */
} mig_layout;

/* Called occasionally during a search that may exceed `exact_gpus`. Return false to stop the search. */
typedef bool (*mig_progress)(void *context, int32_t tried, int32_t best, double seconds);

typedef struct mig_search_options {
    int32_t exact_gpus;    /* a search for at most this many GPUs runs to completion; 0: 8 */
    double time_limit_s;   /* time limit of larger searches; 0: 10 */
    mig_progress progress; /* may be NULL */
    void *context;
} mig_search_options;

enum { MIG_MAX_DEMANDS = 64, MIG_MAX_INSTANCES = 1024 };

/* Finds a layout. Every demand has an acceptable profile; at most MIG_MAX_DEMANDS demands and MIG_MAX_INSTANCES
 * instances. Allocates everything in `a`. */
mig_layout mig_search(const mig_table *table, const mig_demand *demands, int32_t demand_count,
                      const mig_search_options *options, arena *a);

/* True if nvidia-smi would accept this layout. */
bool mig_is_legal(const mig_table *table, const mig_gpu *gpu);

#endif
