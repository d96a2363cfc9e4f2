/* predict.c: times a prediction of a loaded network, through the public interface.
 *
 *     predict MODEL GPU[,GPU] BATCH [SECONDS [PRECISION [LAYOUT [RUNTIME [MODE [memory]]]]]]
 *
 * Prints one line: runs; the fastest and the median time in microseconds of the first prediction after binding,
 * which includes lowering; the same for a further prediction, on the second GPU if given; kernels. Every prediction
 * includes energy; memory only on request. */
#include "sooth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_RUNS = 100000 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One prediction; returns its time, or a negative number on failure. */
static double predict_once(sooth_model *model, const sooth_predict_options *options, size_t *kernels)
{
    sooth_error error;
    sooth_prediction *prediction;
    double start = now_us();
    if (sooth_predict(model, options, &prediction, &error) != SOOTH_OK)
        return fprintf(stderr, "predict: %s\n", error.message), -1;
    *kernels = sooth_predicted_kernel_count(prediction);
    sooth_prediction_free(prediction);
    return now_us() - start;
}

static int run(sooth_model *model, int64_t batch, const sooth_predict_options *options,
               const sooth_predict_options *elsewhere, double limit_us)
{
    static double first[MAX_RUNS], further[MAX_RUNS];
    int runs = 0;
    size_t kernels = 0;
    for (double began = now_us(); runs < MAX_RUNS && (runs < 3 || now_us() - began < limit_us); runs++) {
        if (sooth_bind(model, &(sooth_options){.batch = batch}, NULL) != SOOTH_OK)
            return fprintf(stderr, "predict: the model cannot be bound\n"), 1;
        first[runs] = predict_once(model, options, &kernels);
        further[runs] = predict_once(model, elsewhere, &kernels);
        if (first[runs] < 0 || further[runs] < 0)
            return 1;
    }
    qsort(first, (size_t)runs, sizeof *first, ascending);
    qsort(further, (size_t)runs, sizeof *further, ascending);
    printf("%d %.1f %.1f %.1f %.1f %zu\n", runs, first[0], first[runs / 2], further[0], further[runs / 2], kernels);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return fprintf(
                   stderr,
                   "usage: predict MODEL GPU[,GPU] BATCH [SECONDS [PRECISION [LAYOUT [RUNTIME [MODE [memory]]]]]]\n"),
               2;
    sooth_error error = {.message = ""};
    sooth_model *model = NULL;
    sooth_gpus *gpus = NULL;
    sooth_predict_options where = {.memory = argc > 9 && strcmp(argv[9], "memory") == 0,
                                   .precision = argc > 5 ? argv[5] : NULL,
                                   .layout = argc > 6 ? argv[6] : NULL,
                                   .runtime = argc > 7 ? argv[7] : NULL,
                                   .mode = argc > 8 ? argv[8] : NULL};
    sooth_predict_options elsewhere = where;
    char names[200];
    snprintf(names, sizeof names, "%s", argv[2]);
    char *second = strchr(names, ',');
    if (second)
        *second++ = '\0';
    int code = 1;
    if (sooth_load_file(argv[1], &model, &error) == SOOTH_OK && sooth_gpus_open(NULL, &gpus, &error) == SOOTH_OK &&
        sooth_gpus_find(gpus, names, &where.device, &error) == SOOTH_OK &&
        sooth_gpus_find(gpus, second ? second : names, &elsewhere.device, &error) == SOOTH_OK)
        code = run(model, atoll(argv[3]), &where, &elsewhere, 1e6 * (argc > 4 ? atof(argv[4]) : 1));
    else
        fprintf(stderr, "predict: %s\n", error.message);
    sooth_gpus_free(gpus);
    sooth_free(model);
    return code;
}
