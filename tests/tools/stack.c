/* stack.c: loads, binds, reports, converts and predicts a file on a thread with a small stack. Prints "read" or the
 * reason for a refusal; a stack overflow is a signal.
 *
 *     stack FILE STACK_KIB */
#include "sooth.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *path;

static sooth_status predict(sooth_model *model, const char *runtime, const char *mode, sooth_error *error)
{
    sooth_prediction *prediction = NULL;
    char *text = NULL;
    size_t size;
    sooth_predict_options options = {.runtime = runtime, .mode = mode, .memory = true};
    sooth_status status = sooth_predict(model, &options, &prediction, error);
    if (status == SOOTH_OK)
        status = sooth_prediction_report((const sooth_prediction *const[]){prediction}, 1,
                                         &(sooth_report_options){.format = SOOTH_FORMAT_JSON}, &text, &size, error);
    free(text);
    sooth_prediction_free(prediction);
    return status;
}

static void *run(void *unused)
{
    static const char *const RUNTIMES[] = {"eager", "inductor", "engine"};
    sooth_model *model;
    sooth_error error = {0};
    char *text = NULL;
    void *bytes = NULL;
    size_t size;
    sooth_status status = sooth_load_file(path, &model, &error);
    if (status == SOOTH_OK && sooth_bind(model, &(sooth_options){.batch = 2}, &error) != SOOTH_OK)
        status = sooth_bind(model, NULL, &error);
    if (status == SOOTH_OK)
        status = sooth_report(model, &(sooth_report_options){.format = SOOTH_FORMAT_JSON}, &text, &size, &error);
    puts(status == SOOTH_OK ? "read" : error.message);
    if (status == SOOTH_OK) { /* the results do not matter: only a signal is a failure */
        sooth_write_onnx(model, &bytes, &size, &error);
        for (size_t i = 0; i < sizeof RUNTIMES / sizeof *RUNTIMES; i++)
            predict(model, RUNTIMES[i], NULL, &error);
        predict(model, NULL, "train", &error);
    }
    free(text);
    free(bytes);
    sooth_free(model);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (argc != 3 || pthread_attr_init(&attributes) != 0)
        return 2;
    path = argv[1];
    if (pthread_attr_setstacksize(&attributes, (size_t)atol(argv[2]) << 10) != 0 ||
        pthread_create(&thread, &attributes, run, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    return 0;
}
