/* nas.h: a search over a space: the candidates with their predictions, and the search algorithms. */
#ifndef SOOTH_PLAN_NAS_H
#define SOOTH_PLAN_NAS_H

#include "plan/space.h"

#include <pthread.h>
#include <stdatomic.h>

/* A predicted candidate. */
typedef struct nas_candidate {
    genes genes;
    float latency_ms, low_ms, high_ms, utilization, dram_utilization, energy_j, memory_mib;
    int64_t macs, params;
    double accuracy; /* NAN: unknown */
    double metric;   /* the metric to prune by; higher is better */
    bool is_feasible, is_kept, is_looked_up;
    char *error; /* NULL if the prediction succeeded; from malloc */
} nas_candidate;

enum { NAS_MOST_WITHIN = 4, NAS_BEST = 100 };

struct sooth_nas {
    arena arena;
    fail fail;
    const sooth_nas_options *options; /* valid while the search runs */
    const space *space;
    const sooth_gpu *device;
    sooth_gpus *gpus; /* GPUs opened by the search; NULL if the caller gave the GPU */
    sooth_nas_totals totals;
    bool is_measured;   /* latencies were measured, not predicted */
    bool is_enumerated; /* `candidates` has the whole space, in order of enumeration */
    struct {
        nas_candidate *items;
        int32_t count, capacity;
    } candidates;
    int32_t *hash; /* only if not enumerated: hash table by genes of index + 1; 0: free */
    size_t hash_size;
    double metric_least; /* candidates with a smaller metric are pruned */
    int32_t *kept;       /* only if enumerated: the feasible candidates that are not pruned */
    int32_t kept_count;
    int32_t *trials, trial_count;
    int32_t *best, best_count;
    int32_t *pareto, pareto_count;
    sooth_nas_repeat repeats[NAS_MOST_WITHIN];
    sooth_nas_effect *effects;
    size_t effect_count;
    pthread_mutex_t lock;
    atomic_bool stops;
    sooth_error failure; /* failure of a worker thread */
};

/* ---- candidates (nas_candidates.c) ------------------------------------------------------------------------------- */

/* Predicts every candidate of the space, or a sample if the space is too large, and marks the candidates to keep. */
void nas_predict_space(sooth_nas *n);
/* Returns the index of the candidate with these genes and predicts it if it is new. Not thread-safe. */
int32_t nas_candidate_of(sooth_nas *n, const genes *g);
/* Computes the memory of a candidate unless it is known. */
void nas_fill_memory(sooth_nas *n, int32_t index);

/* ---- searches (nas_search.c) ------------------------------------------------------------------------------------- */

/* Runs one search with one seed. Writes the evaluated candidates to `trials` in order and returns their number. */
typedef struct nas_run {
    sooth_nas *nas;
    uint64_t seed;
    int32_t *trials;
    int32_t most, count;
    double enough; /* accuracy at which the search ends */
    bool is_done;
    uint8_t *seen; /* only if enumerated: candidates already evaluated */
} nas_run;
void nas_search_once(nas_run *run);
void nas_search_repeated(sooth_nas *n);

/* ---- results (nas_results.c) ------------------------------------------------------------------------------------- */
void nas_conclude(sooth_nas *n);

#endif
