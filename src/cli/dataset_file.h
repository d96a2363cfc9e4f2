/* dataset_file.h: data sets as SQLite files (doc/dataset.md has the schema). Functions print their errors and return
 * the exit code, unless they say otherwise. */
#ifndef SOOTH_CLI_DATASET_FILE_H
#define SOOTH_CLI_DATASET_FILE_H

#include "plan/dataset.h"

typedef struct dataset_file dataset_file;

/* Opens a data set to read; checks that it is one. */
int dataset_file_read(dataset_file **file, const char *path);
/* Opens or creates a data set for writing. `identity` hashes everything that determines its contents; a file with
 * another identity is refused. *next_item is the first item that the file lacks. */
typedef struct dataset_begun {
    uint64_t identity;
    const char *weights, *plan; /* Text of the plan; NULL without a plan. */
    int64_t graph_count;        /* planned */
    size_t next_item;           /* filled */
    int64_t skipped;            /* output: number of items without a graph so far */
} dataset_begun;
int dataset_file_write(dataset_file **file, const char *path, dataset_begun *begun);
void dataset_file_close(dataset_file *file); /* `file` may be NULL; keeps what was written. */

/* Adds the result of one item (set_item_compute). Some hundred items share a transaction. *why is the reason if the
 * item has no graph, otherwise "". */
int dataset_file_add(dataset_file *file, size_t item, str result, const char **why);
/* Ends the last transaction. `is_complete` marks that all items are in the file. */
int dataset_file_end(dataset_file *file, bool is_complete);

int64_t dataset_file_graphs(dataset_file *file); /* Returns the number of graphs. */
/* Returns a value of `meta`, valid until the next call; NULL if there is none. */
const char *dataset_file_fact(dataset_file *file, const char *key);

/* Calls `take_graph` for each graph in order, and after it `take_label` for each of its labels; returning false ends
 * the walk. A graph has name, family, spec, fingerprint, architecture, figures, counts and the stored graph; `id` is
 * its row. Either function may be NULL. Texts live until the function returns. */
typedef struct dataset_walk {
    bool (*take_graph)(void *context, int64_t id, const set_graph_row *graph);
    bool (*take_label)(void *context, int64_t id, const set_label *label);
    void *context;
} dataset_walk;
int dataset_file_walk(dataset_file *file, const dataset_walk *walk);
/* Calls `take` for each operator, by name. */
int dataset_file_operators(dataset_file *file, void (*take)(void *context, const set_operator *o), void *context);
/* Runs SQLite's own check of the whole file, and checks that all labels have a graph and a setting. *what is the
 * error, or "", and is valid until the next call. */
int dataset_file_verify(dataset_file *file, const char **what);

#endif
