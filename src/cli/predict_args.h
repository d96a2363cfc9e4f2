/* predict_args.h: options of `sooth predict` for the setting of a network, shared with `--queries`. */
#ifndef SOOTH_CLI_PREDICT_ARGS_H
#define SOOTH_CLI_PREDICT_ARGS_H

#include "cli/model_args.h"

typedef struct predict_args {
    const char *gpus;    /* names separated by commas; NULL: the default */
    const char *batches; /* comma-separated numbers; NULL if not given */
    const char *weights; /* weights file; NULL: the shipped weights */
    model_args dimensions;
    sooth_predict_options options;
} predict_args;

/* Rows for the array of options: those that set sooth_predict_options. */
#define SETTING_OPTIONS(where)                                                                                         \
    {.name = "precision",                                                                                              \
     .kind = OPTION_TEXT,                                                                                              \
     .target = &(where)->precision,                                                                                    \
     .argument = "NAME",                                                                                               \
     .help = "fp32, tf32, fp16, bf16, amp (autocast to fp16, the default), amp-bf16,\nint8, fp8, int4"},               \
        {.name = "layout",                                                                                             \
         .kind = OPTION_TEXT,                                                                                          \
         .target = &(where)->layout,                                                                                   \
         .argument = "nchw|nhwc",                                                                                      \
         .help = "memory layout of images (default nchw; channels-last files use nhwc)"},                              \
        {.name = "runtime",                                                                                            \
         .kind = OPTION_TEXT,                                                                                          \
         .target = &(where)->runtime,                                                                                  \
         .argument = "NAME",                                                                                           \
         .help = "eager (PyTorch, the default), inductor (torch.compile),\nengine (fused inference)"},                 \
        {.name = "mode",                                                                                               \
         .kind = OPTION_TEXT,                                                                                          \
         .target = &(where)->mode,                                                                                     \
         .argument = "infer|train|train-forward",                                                                      \
         .help = "inference (the default), a training step, or its forward pass alone"},                               \
        {.name = "optimizer",                                                                                          \
         .kind = OPTION_TEXT,                                                                                          \
         .target = &(where)->optimizer,                                                                                \
         .argument = "NAME",                                                                                           \
         .help = "in training: sgd-momentum (the default), sgd, sgd-nesterov, adam, adamw,\nnone"},                    \
    {                                                                                                                  \
        .name = "stack", .kind = OPTION_TEXT, .target = &(where)->stack, .argument = "NAME",                           \
        .help = "software version, such as pt2.4-cu124 (default: unknown)"                                             \
    }

/* `sooth predict --queries`: predicts the rows of a table. Options apply to empty columns. */
int queries_run(const char *input, const char *output, const predict_args *args, sooth_gpus *gpus);

#endif
