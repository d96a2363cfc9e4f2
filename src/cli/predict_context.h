/* predict_context.h: a language model's prefill and decode by GPU, batch and context. */
#ifndef SOOTH_CLI_PREDICT_CONTEXT_H
#define SOOTH_CLI_PREDICT_CONTEXT_H

#include "cli/predict_args.h"

typedef struct context_question {
    const char *path, *output;
    const model_dims *dims;
    const sooth_predict_options *where;
    sooth_report_options report;
    const sooth_gpu *const *gpus;
    size_t gpu_count;
    const int64_t *batches;
    size_t batch_count;
    const int64_t *contexts; /* set by context_run */
    size_t context_count;
} context_question;

/* Answers for every context of the list "512,2048". Returns the exit code after printing. */
int context_run(context_question *question, const char *list);

#endif
