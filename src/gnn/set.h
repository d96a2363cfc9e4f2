/* set.h: a data set in memory: graphs, labels, settings, and how labels are split for training. */
#ifndef SOOTH_GNN_SET_H
#define SOOTH_GNN_SET_H

#include "gnn/batch.h"
#include "plan/dataset.h"

typedef enum gnn_role { GNN_TRAIN, GNN_VALIDATE, GNN_TEST, GNN_UNUSED, GNN_ROLES } gnn_role;

/* Labels that a split keeps together: those of a graph, an architecture (any batch and image), a family, or a GPU. */
typedef enum gnn_split { GNN_RANDOM, GNN_ARCHITECTURE, GNN_FAMILY, GNN_GPU, GNN_SPLITS } gnn_split;

typedef struct gnn_example {
    const char *name, *family; /* taken from the name if the set does not store it */
    uint64_t fingerprint, architecture;
    gnn_graph graph;
    set_figures figures;
    double traffic;               /* numbers of elements that nodes write, and of parameters */
    int32_t first_row, row_count; /* in gnn_set.rows */
} gnn_example;

typedef struct gnn_setting {
    set_setting is; /* texts in the arena */
    const sooth_gpu *gpu;
} gnn_setting;

typedef struct gnn_set {
    arena *arena;
    sooth_gpus *gpus;
    const char *const *only_gpus; /* names of the GPUs whose labels are read; NULL: all */
    size_t only_count;
    gnn_features which;
    struct {
        gnn_example *items;
        int32_t count, capacity;
    } examples;
    struct {
        gnn_row *items;
        int32_t count, capacity;
    } rows;
    struct {
        gnn_setting *items;
        int32_t count, capacity;
    } settings;
    float (*setting_inputs)[GNN_SETTINGS]; /* by setting, after gnn_set_end */
    uint8_t *roles;                        /* gnn_role by row, after gnn_set_split */
    arena scratch;
    /* Number of labels left out, and the first GPU without a file. */
    size_t unknown_gpu, no_number;
    const char *first_unknown;
} gnn_set;

extern const char *const GNN_SPLIT_NAMES[GNN_SPLITS + 1]; /* NULL after the last */
extern const char *const GNN_ROLE_NAMES[GNN_ROLES];

/* Graphs and labels are added in the order of the file: a graph, then its labels. Both fail through the arena. */
void gnn_set_begin(gnn_set *s, gnn_features which, sooth_gpus *gpus, arena *a);
void gnn_set_add_graph(gnn_set *s, const set_graph_row *g);
void gnn_set_add_label(gnn_set *s, const set_label *l);
void gnn_set_end(gnn_set *s);
void gnn_set_free(gnn_set *s); /* its scratch memory; the rest is in the arena */

/* Labels to test. Without a list, a random choice of groups with 15 % of the labels. Validation takes another 15 %:
 * groups, or graphs if there are fewer than ten groups. */
typedef struct gnn_split_options {
    gnn_split by;
    uint64_t seed;
    const char *const *apart; /* names of families or GPUs */
    size_t apart_count;
    str rows; /* CSV of the labels to test: name, batch, gpu, precision, layout, runtime, mode, stack */
} gnn_split_options;
/* Sets the roles. If a list names some labels of a group, the others of that group are unused. Fails if a role has no
 * label, or if a name or row matches nothing. */
void gnn_set_split(gnn_set *s, const gnn_split_options *o);
size_t gnn_set_role_count(const gnn_set *s, gnn_role role);
/* Hash of the graphs, labels and roles. */
uint64_t gnn_set_identity(const gnn_set *s);

/* Means and scales of the inputs over the training labels. */
void gnn_set_scaling(const gnn_set *s, gnn_scaling *to);
/* Bit o: a training label has output o. */
uint32_t gnn_set_outputs(const gnn_set *s);

#endif
