/* nas.h: a search over a space: candidates with their predictions, and the searches over them. */
#ifndef SOOTH_PLAN_NAS_H
#define SOOTH_PLAN_NAS_H

#include "plan/space.h"

#include <pthread.h>
#include <stdatomic.h>

/* A candidate that was predicted. */
typedef struct nas_candidate {
    genes genes;
    float latency_ms, low_ms, high_ms, utilization, dram_utilization, energy_j, memory_mib;
    int64_t macs, params;
    double accuracy; /* NAN: unknown */
    double metric;   /* to prune by, higher is better */
    bool is_feasible, is_kept, is_looked_up;
    char *error; /* NULL: none; malloc */
} nas_candidate;

enum { NAS_MOST_WITHIN = 4, NAS_BEST = 100 };

struct sooth_nas {
    arena arena;
    fail fail;
    const sooth_nas_options *options; /* while the search runs */
    const space *space;
    const sooth_gpu *device;
    sooth_gpus *gpus; /* opened here; NULL: the caller's */
    sooth_nas_totals totals;
    bool is_measured;   /* latencies are not the predicted ones */
    bool is_enumerated; /* all candidates are in the table, in the order of their numbers */
    struct {
        nas_candidate *items;
        int32_t count, capacity;
    } candidates;
    int32_t *hash; /* of candidates by genes, for spaces that are not enumerated; index + 1 */
    size_t hash_size;
    double metric_least; /* candidates below are pruned, where they are not known in advance */
    int32_t *kept;       /* enumerated: those that are feasible and not pruned */
    int32_t kept_count;
    int32_t *trials, trial_count;
    int32_t *best, best_count;
    int32_t *pareto, pareto_count;
    sooth_nas_repeat repeats[NAS_MOST_WITHIN];
    sooth_nas_effect *effects;
    size_t effect_count;
    pthread_mutex_t lock;
    atomic_bool stops;
    sooth_error failure; /* of a thread */
};

/* ---- candidates (nas_candidates.c) ------------------------------------------------------------------------------- */

/* Predicts every candidate of the space, or a sample of it where it is too large, and decides what is kept. */
void nas_predict_space(sooth_nas *n);
/* Candidate with these genes, predicted if it is new; returns its index. Only for one search at a time. */
int32_t nas_candidate_of(sooth_nas *n, const genes *g);
/* Memory of a candidate, if it is not known yet. */
void nas_fill_memory(sooth_nas *n, int32_t index);

/* ---- searches (nas_search.c) ------------------------------------------------------------------------------------- */

/* One search with one seed: fills trials with the candidates in the order of evaluation; returns how many. */
typedef struct nas_run {
    sooth_nas *nas;
    uint64_t seed;
    int32_t *trials;
    int32_t most, count;
    double enough; /* the search ends at this accuracy */
    bool is_done;
    uint8_t *seen; /* enumerated: by candidate */
} nas_run;
void nas_search_once(nas_run *run);
void nas_search_repeated(sooth_nas *n);

/* ---- results (nas_results.c) ------------------------------------------------------------------------------------- */
void nas_conclude(sooth_nas *n);

#endif
