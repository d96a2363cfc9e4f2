/* dataset_args.h: shared by the subcommands of `sooth dataset`. */
#ifndef SOOTH_CLI_DATASET_ARGS_H
#define SOOTH_CLI_DATASET_ARGS_H

#include "cli/dataset_file.h"
#include "cli/inputs.h"

typedef struct dataset_args {
    const char *plan, *gpus, *batches, *precisions, *layouts, *runtimes, *labels, *output, *weights;
    int64_t seed; /* -1 keeps the plan's seed */
    int format;   /* table, json, csv, jsonl, npz */
    sooth_predict_options settings;
} dataset_args;

enum { DATASET_TABLE, DATASET_JSON, DATASET_CSV, DATASET_JSONL, DATASET_NPZ };

/* Return the exit code; errors have been printed. */
int dataset_make(const dataset_args *args, int operand_count, char **operands);
int dataset_stats(const dataset_args *args, const char *path);
int dataset_check(const dataset_args *args, const char *path);
int dataset_export(const dataset_args *args, const char *path);

/* Reads measured rows and joins them to their items (dataset_rows.c): by the column `fingerprint` if the table has
 * it, otherwise by the file's name in `graph`, otherwise by `name`. Items take the batches of their rows unless
 * `keeps_batches` is set. Fails if no row joins; *joined and *unjoined count rows. */
typedef struct dataset_joined {
    size_t rows, unjoined;
    uint64_t hash; /* hash of the table's bytes */
} dataset_joined;
dataset_joined dataset_rows_join(inputs *in, const char *path, set_items *items, bool keeps_batches, size_t threads);

#endif
