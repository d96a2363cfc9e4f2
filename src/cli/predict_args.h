/* predict_args.h: the options of `sooth predict` that say where a network runs, and what `--queries` shares with it. */
#ifndef SOOTH_CLI_PREDICT_ARGS_H
#define SOOTH_CLI_PREDICT_ARGS_H

#include "cli/model_args.h"

typedef struct predict_args {
    const char *gpus;    /* names with commas; NULL: the default */
    const char *batches; /* numbers with commas; NULL: none was given */
    const char *weights; /* a file; NULL: those that ship */
    sooth_predict_options options;
} predict_args;

/* `sooth predict --queries`: answers the rows of a table. The options hold where a row leaves a column empty. */
int queries_run(const char *input, const char *output, const predict_args *args, sooth_gpus *gpus);

#endif
