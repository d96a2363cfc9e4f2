/* nas_args.h: arguments of `sooth nas`, for one search (nas.c) and for a table of searches (nas_queries.c). */
#ifndef SOOTH_CLI_NAS_ARGS_H
#define SOOTH_CLI_NAS_ARGS_H

#include "cli/nas_evaluate.h"
#include "cli/nas_tables.h"
#include "cli/predict_args.h"

extern const char *const NAS_METHODS[]; /* by sooth_nas_method; NULL after the last */

typedef struct nas_args {
    const char *gpu, *latency_ms, *memory_mib, *energy_j, *accuracy, *measured, *prune, *evaluate, *results, *within;
    const char *output, *weights, *queries;
    int64_t batch, trials, seed, repeat, jobs, top;
    int method, format;
    sooth_predict_options settings;
} nas_args;

typedef struct nas_open_table {
    const char *argument;
    nas_column_table column;
    file_map map;
} nas_open_table;

/* Arguments and tables of a search. */
typedef struct nas_context {
    fail fail;
    sooth_error error;
    arena arena;
    struct {
        nas_open_table *items;
        int32_t count, capacity;
    } tables;
    nas_column_table columns[3]; /* tables of the current search, by sooth_nas_column */
    nas_evaluator *evaluator;
} nas_context;

/* Reads limits, tables and pruning into the options and the context's columns; prints errors. */
int nas_read_options(nas_context *c, const nas_args *args, sooth_nas_options *o);

/* Runs a search for each row of args->queries and writes the table with the answers; returns the exit code. */
int nas_queries_run(nas_context *c, const nas_args *args, const sooth_nas_options *options);

#endif
