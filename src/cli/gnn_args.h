/* gnn_args.h: shared by the subcommands of `sooth gnn`. */
#ifndef SOOTH_CLI_GNN_ARGS_H
#define SOOTH_CLI_GNN_ARGS_H

#include "base/file.h"
#include "cli/inputs.h"
#include "cli/model_args.h"
#include "gnn/file.h"

typedef struct gnn_args {
    const char *output, *gpus, *apart, *test;
    int kind, features, split, part, format, schedule;
    int64_t hidden, epochs, graphs, seed, probed;
    const char *rate, *dropout, *huber;
    bool quiet, has_split, has_seed;
    model_args dimensions;
    sooth_predict_options settings;
} gnn_args;

enum { GNN_TABLE, GNN_JSON, GNN_CSV };

/* A command's memory: the set, a model and their arena. */
typedef struct gnn_job {
    const gnn_args *args;
    inputs in; /* its arena holds everything */
    sooth_gpus *gpus;
    gnn_set set;
    gnn_model model;
    file_map file, test; /* bytes of the model file, and of --test */
    bool failed;         /* while reading the set */
} gnn_job;

/* Functions return the exit code; errors have been printed. */
int gnn_job_open(gnn_job *j, const gnn_args *args);
void gnn_job_close(gnn_job *j);
int gnn_job_read_model(gnn_job *j, const char *path);
/* Reads a set of `sooth dataset` and splits it: as for the training of `model`, unless options request another split.
 * */
int gnn_job_read_set(gnn_job *j, const char *path, gnn_features which, const gnn_model *model);

int gnn_train(const gnn_args *args, const char *set);
int gnn_eval(const gnn_args *args, const char *model, const char *set);
int gnn_predict(const gnn_args *args, const char *model, const char *network);
int gnn_gradient(const gnn_args *args, const char *set);

#endif
