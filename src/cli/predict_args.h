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

/* Rows of an array of options that set sooth_predict_options. */
#define SETTING_OPTIONS(where)                                                                                         \
    TEXT_OPTION("precision", &(where)->precision, "NAME",                                                              \
                "fp32, tf32, fp16, bf16, amp (autocast to fp16, the default), amp-bf16,\nint8, fp8, int4"),            \
        TEXT_OPTION("layout", &(where)->layout, "nchw|nhwc",                                                           \
                    "memory layout of images (default nchw; channels-last files use nhwc)"),                           \
        TEXT_OPTION("runtime", &(where)->runtime, "NAME",                                                              \
                    "eager (PyTorch, the default), inductor (torch.compile),\nengine (fused inference)"),              \
        TEXT_OPTION("mode", &(where)->mode, "infer|train|train-forward",                                               \
                    "inference (the default), a training step, or its forward pass alone"),                            \
        TEXT_OPTION("optimizer", &(where)->optimizer, "NAME",                                                          \
                    "in training: sgd-momentum (the default), sgd, sgd-nesterov, adam, adamw,\nadam-l2, none"),        \
        TEXT_OPTION("stack", &(where)->stack, "NAME", "software version, such as pt2.4-cu124 (default: unknown)")

/* `sooth predict --queries`: predicts the rows of a table. Options apply to empty columns. */
int queries_run(const char *input, const char *output, const predict_args *args, sooth_gpus *gpus);

#endif
