/* predict_context.c: `sooth predict --context`: prefill and decode of a language model by GPU, batch and context. */
#include "cli/predict_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 1000 };

/* Reads numbers separated by commas into an array that the caller frees. */
static int read_contexts(const char *list, int64_t **contexts, size_t *count)
{
    *count = 1;
    for (const char *c = list; *c; c++)
        *count += *c == ',';
    *contexts = calloc(*count, sizeof **contexts);
    if (!*contexts)
        return cli_fail(SOOTH_ERROR_SYSTEM, "predict", "out of memory");
    for (size_t i = 0; i < *count; i++) {
        size_t length = strcspn(list, ",");
        int64_t *n = &(*contexts)[i];
        if (!options_number(list, length, n) || *n < 1 || *n > INT32_MAX)
            return cli_usage("predict", "--context takes tokens from 1 to %d separated by commas, not '%.60s'",
                             INT32_MAX, list);
        list += length + 1;
    }
    return SOOTH_OK;
}

static int write_cells(const context_question *q, const sooth_serving *cells, size_t count)
{
    sooth_error error;
    char *text = NULL;
    size_t size;
    sooth_status status = sooth_serving_report(q->path, cells, count, &q->report, &text, &size, &error);
    int code = status == SOOTH_OK            ? cli_write(q->output, text, size)
               : status == SOOTH_ERROR_USAGE ? cli_usage("predict", "%s", error.message)
                                             : model_failed(q->path, &error);
    free(text);
    return code;
}

/* A combination that cannot run is reported on standard error; the others are answered. */
static int fill(const context_question *q, sooth_model *model, sooth_serving *cells, size_t *count, bool *is_whole)
{
    sooth_predict_options where = *q->where;
    for (size_t g = 0; g < q->gpu_count; g++)
        for (size_t c = 0; c < q->context_count; c++)
            for (size_t b = 0; b < q->batch_count; b++) {
                sooth_error error;
                sooth_options dims = q->dims->options;
                dims.batch = q->batches[b];
                where.device = q->gpus[g];
                sooth_status status = sooth_serving_of(model, &dims, &where, q->contexts[c], &cells[*count], &error);
                if (status == SOOTH_OK) {
                    ++*count;
                    continue;
                }
                if (status != SOOTH_ANSWER_NO && status != SOOTH_ERROR_UNSUPPORTED)
                    return status == SOOTH_ERROR_USAGE ? cli_usage("predict", "%s", error.message)
                                                       : model_failed(q->path, &error);
                model_failed(q->path, &error);
                *is_whole = false;
            }
    return SOOTH_OK;
}

int context_run(context_question *q, const char *list)
{
    int64_t *contexts = NULL;
    sooth_serving *cells = NULL;
    model_file file = {0};
    int code = read_contexts(list, &contexts, &q->context_count);
    q->contexts = contexts;
    if (code == SOOTH_OK && q->gpu_count * q->context_count * q->batch_count > MOST_CELLS)
        code = cli_usage("predict", "at most %d combinations of GPU, context and batch at a time", MOST_CELLS);
    if (code == SOOTH_OK) {
        cells = calloc(q->gpu_count * q->context_count * q->batch_count, sizeof *cells);
        code = cells ? model_load(q->path, &file) : cli_fail(SOOTH_ERROR_SYSTEM, "predict", "out of memory");
    }
    if (code == SOOTH_OK) {
        size_t count = 0;
        bool is_whole = true;
        code = fill(q, file.model, cells, &count, &is_whole);
        if (code == SOOTH_OK && count)
            code = write_cells(q, cells, count);
        if (code == SOOTH_OK && !is_whole)
            code = SOOTH_ANSWER_NO;
        model_close(&file);
    }
    free(cells);
    free(contexts);
    return code;
}
