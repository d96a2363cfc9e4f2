/* study_plan.h: a plan for many predictions: families of networks with the values of their parameters, and the GPUs and
 * settings to predict them on. Data sets draw from a plan; sweeps predict every combination. A plan is a text:
 * 1. `#` starts a comment; empty lines are skipped. Every other line is `[NAME]` or `key = value`.
 * 2. Before the first [NAME]: `gpu`, `slice`, `precision`, `layout`, `runtime`, `mode`, `optimizer`, `stack` are
 * comma-separated lists; `seed` is a number.
 * 3. [NAME] starts a family of networks. It contains the lines of a search space (space.h) and, for a data set,
 * `count`, the number of graphs to draw. `family` is the name in the data set; default: NAME.
 * Paths are relative to the plan. */
#ifndef SOOTH_PLAN_STUDY_PLAN_H
#define SOOTH_PLAN_STUDY_PLAN_H

#include "plan/space.h"

typedef enum study_key {
    STUDY_GPU,
    STUDY_SLICE,
    STUDY_PRECISION,
    STUDY_LAYOUT,
    STUDY_RUNTIME,
    STUDY_MODE,
    STUDY_OPTIMIZER,
    STUDY_STACK,
    STUDY_KEYS
} study_key;
extern const char *const STUDY_KEY_NAMES[STUDY_KEYS];

typedef struct study_family {
    str name, family;
    int64_t count; /* 0: not given */
    const space *space;
} study_family;

typedef struct study_plan {
    str text;
    uint64_t seed;
    const char *lists[STUDY_KEYS]; /* as written; NULL: not given */
    struct {
        study_family *items;
        int32_t count, capacity;
    } families;
} study_plan;

/* Reads the plan at this path; "dippm" is the shipped plan (data/plans/dippm.txt). Allocates everything in `a`. */
const study_plan *study_plan_open(const char *path, arena *a, fail *f);
/* Reads a plan from a text; messages call it `name`. */
const study_plan *study_plan_read(const char *name, str text, arena *a, fail *f);

/* Sets the dimensions that the choices `batch` and `dim.NAME` bind. Without a choice `batch`, the argument applies. */
void study_bind(const space *s, const genes *g, int64_t batch, sooth_options *dims,
                sooth_dim_binding bindings[SPACE_MAX_CHOICES]);

#endif
