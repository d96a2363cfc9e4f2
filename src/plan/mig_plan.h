/* mig_plan.h: a plan for slices: the prediction of each workload on each profile, the layout, and reasons. */
#ifndef SOOTH_PLAN_MIG_PLAN_H
#define SOOTH_PLAN_MIG_PLAN_H

#include "plan/mig_search.h"

typedef struct planned_workload {
    sooth_mig_planned shown;
    sooth_mig_candidate candidates[MIG_MAX_PROFILES];
    int32_t profiles[MIG_MAX_PROFILES]; /* Maps a candidate's index to that of its profile in `table`. */
    uint32_t acceptable;                /* bit i: profile i of `table` is acceptable */
    struct {
        const char **items;
        int32_t count, capacity;
    } notes; /* notes of the predictions, without duplicates */
} planned_workload;

struct sooth_mig_plan {
    arena arena;
    fail fail;
    mig_table table; /* its strings are in the arena */
    planned_workload *workloads;
    mig_layout layout;
    sooth_mig_plan_totals totals;
};

#endif
