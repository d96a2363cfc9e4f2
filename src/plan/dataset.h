/* dataset.h: the contents of data sets: items, which are drawn by a plan or given as files, their graphs, and their
 * labels. The caller stores them (cli/dataset_file.h). */
#ifndef SOOTH_PLAN_DATASET_H
#define SOOTH_PLAN_DATASET_H

#include "base/ordered.h"
#include "plan/set_graph.h"
#include "plan/study_plan.h"

/* GPU and setting of labels. Unknown texts are "". */
typedef struct set_setting {
    const char *gpu, *mig, *precision, *layout, *runtime, *mode, *optimizer, *stack;
} set_setting;

/* A measured row of the user. Numbers that were not measured are NAN. */
typedef struct set_row {
    set_setting setting;
    int64_t batch;
    double latency_ms, energy_j, memory_mib, utilization;
    const char *source;
    struct set_row *next; /* next row of the same item */
} set_row;

/* A network, and the batches at which it becomes a graph of the set. */
typedef struct set_item {
    const char *name, *family, *spec;
    const int64_t *batches;
    size_t batch_count;
    const sooth_dim_binding *dims;
    size_t dim_count;
    uint64_t fingerprint; /* at the first batch; 0 if not computed */
    const set_row *rows;
} set_item;

typedef struct set_items {
    set_item *items;
    int32_t count, capacity;
} set_items;

/* GPUs and settings of predicted labels; without GPUs there are none. */
typedef struct set_labels {
    const sooth_gpu *const *gpus;
    size_t gpu_count;
    const char *const *precisions, *const *layouts, *const *runtimes;
    size_t precision_count, layout_count, runtime_count; /* 0: the one in `settings` */
    sooth_predict_options settings;
} set_labels;

/* Draws the graphs of a plan: distinct by fingerprint, the same for a seed whatever the number of threads. Allocates
 * everything in `a`. Fails if a family has fewer distinct networks than its count. `progress` may be NULL. */
typedef struct set_drawing {
    size_t threads;
    void (*progress)(void *context, size_t drawn, size_t wanted);
    void *context;
} set_drawing;
void set_draw(const study_plan *plan, const set_drawing *how, set_items *items, arena *a, fail *f);

/* Computes the fingerprints of the items at each of their batches, in parallel: fingerprints[item][batch]; 0 if a
 * network cannot be read or bound. */
void set_fingerprints(const set_items *items, size_t threads, uint64_t **fingerprints, arena *a, fail *f);

/* Writes the graphs of an item and their labels, or the reason why there are none, as a result for ordered_run. */
void set_item_compute(const set_item *item, const set_labels *labels, bytes *result);

/* ---- reading such a result: error first; without one the graphs, each followed by its operators and labels, and at
 * the end why another batch of the network has no graph
 * ------------------------------------------------------------------------ */

typedef struct set_graph_row {
    const char *name, *family, *spec;
    uint64_t fingerprint, architecture;
    set_figures figures;
    int64_t node_count, edge_count;
    str graph; /* set_graph_encode() */
    int64_t operator_count, label_count;
} set_graph_row;

typedef struct set_operator {
    int32_t code;
    const char *name, *kind;
} set_operator;

typedef struct set_label {
    set_setting setting;
    bool is_measured;
    sooth_interval latency_ms, energy_j, memory_mib; /* NAN: unknown */
    double utilization;
    const char *mig_profile, *source; /* "" if there is none */
    const char *error;                /* "" if there is a label */
} set_label;

/* Returns the reason why the item has no graphs, or "". Sets `status` to SOOTH_ERROR_SYSTEM after a system failure. */
const char *set_take_error(str *at, sooth_status *status, int64_t *graph_count);
set_graph_row set_take_graph(str *at);
set_operator set_take_operator(str *at);
set_label set_take_label(str *at);
const char *set_take_missing(str *at); /* Returns why a batch has no graph; "" if every batch has one. */

#endif
