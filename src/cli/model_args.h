/* model_args.h: options for the model and its dimensions, shared by every subcommand that takes a model. */
#ifndef SOOTH_CLI_MODEL_ARGS_H
#define SOOTH_CLI_MODEL_ARGS_H

#include "base/str.h"
#include "cli/options.h"

typedef struct model_args {
    int64_t batch, seq, past; /* 0: not given */
    option_list dims, shapes, skips, fuses;
} model_args;

/* Rows of an array of options: all dimensions except the batch, and all dimensions. */
#define DIMENSION_OPTIONS(args)                                                                                        \
    NUMBER_OPTION("seq", &(args)->seq, "N", 1, INT32_MAX,                                                              \
                  "tokens of a language model in this pass; the same as --dim seq=N"),                                 \
        NUMBER_OPTION("past", &(args)->past, "N", 0, INT32_MAX,                                                        \
                      "tokens already in the KV cache (decoding: --seq 1 --past 512)"),                                \
        LIST_OPTION("dim", &(args)->dims, "NAME=N", "bind a symbolic dimension; may be repeated"),                     \
        LIST_OPTION(                                                                                                   \
            "shape", &(args)->shapes, "INPUT=1,3,224,224",                                                             \
            "set the shape of an input ('?': as in the file); the batch\nreplaces its first dimension; may be "        \
            "repeated")
#define MODEL_OPTIONS(args)                                                                                            \
    NUMBER_OPTION("batch", &(args)->batch, "N", 1, INT32_MAX, "batch size: binds the first dimension of the inputs"),  \
        DIMENSION_OPTIONS(args),                                                                                       \
        LIST_OPTION("skip", &(args)->skips, "PASS,...", "recovery passes to skip (listed below), or 'all'"),           \
        LIST_OPTION("fuse", &(args)->fuses, "PASS,...", "optional passes to run (listed below), or 'all'")

void model_args_free(model_args *args);
/* Prints the formats, and formats with recovery passes, for help texts. */
void model_args_help_models(void);
void model_args_help(void);

/* Reads the dimensions for sooth_bind. On failure prints the error and returns its exit code; there is nothing to
 * free. */
typedef struct model_dims {
    sooth_options options;
    /* Storage of the bindings. */
    sooth_dim_binding *dims;
    sooth_shape_binding *shapes;
    int64_t *shape_dims;
    char *skip, *fuse; /* names separated by commas */
} model_dims;
int model_dims_read(const char *command, const model_args *args, model_dims *dims);
void model_dims_free(model_dims *dims);
/* Parses "NAME=N". A name may contain '=', so the last one separates. */
bool model_read_dim(str argument, str *name, int64_t *value);

/* Loads a model; path "-" is standard input. Returns the exit code after printing the error. On success the caller
 * calls model_close. */
typedef struct model_file {
    sooth_model *model;
    void *bytes; /* contents of standard input */
} model_file;
int model_load(const char *path, model_file *file);
void model_close(model_file *file);

/* Prints the error of the model at that path. Returns the exit code. */
int model_failed(const char *path, const sooth_error *error);

#endif
