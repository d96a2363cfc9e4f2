/* largest.c: times the search for the largest batch against one prediction with it, through the public interface.
 *
 *     largest MODEL GPU [SECONDS [RUNTIME [MODE]]]
 *
 * Prints one line: runs; the fastest search and the fastest prediction with memory, both including binding, in
 * microseconds; the batch. */
#include "sooth.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int run(sooth_model *model, const sooth_predict_options *options, double limit_us)
{
    double search_us = 1e300, predict_us = 1e300;
    int64_t batch = 0;
    int runs = 0;
    sooth_error error = {.message = ""};
    for (double began = now_us(); runs < 3 || now_us() - began < limit_us; runs++) {
        double start = now_us();
        if (sooth_largest_batch(model, NULL, options, 0, &batch, &error) != SOOTH_OK || batch < 1)
            return fprintf(stderr, "largest: %s\n", batch < 1 ? "no batch fits" : error.message), 1;
        double found = now_us();
        sooth_prediction *prediction = NULL;
        if (sooth_bind(model, &(sooth_options){.batch = batch}, &error) != SOOTH_OK ||
            sooth_predict(model, options, &prediction, &error) != SOOTH_OK)
            return fprintf(stderr, "largest: %s\n", error.message), 1;
        sooth_prediction_free(prediction);
        double end = now_us();
        search_us = found - start < search_us ? found - start : search_us;
        predict_us = end - found < predict_us ? end - found : predict_us;
    }
    printf("%d %.1f %.1f %lld\n", runs, search_us, predict_us, (long long)batch);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fprintf(stderr, "usage: largest MODEL GPU [SECONDS [RUNTIME [MODE]]]\n"), 2;
    sooth_error error = {.message = ""};
    sooth_model *model = NULL;
    sooth_gpus *gpus = NULL;
    sooth_predict_options where = {
        .memory = true, .runtime = argc > 4 ? argv[4] : NULL, .mode = argc > 5 ? argv[5] : NULL};
    int code = 1;
    if (sooth_load_file(argv[1], &model, &error) == SOOTH_OK && sooth_gpus_open(NULL, &gpus, &error) == SOOTH_OK &&
        sooth_gpus_find(gpus, argv[2], &where.device, &error) == SOOTH_OK)
        code = run(model, &where, 1e6 * (argc > 3 ? atof(argv[3]) : 1));
    else
        fprintf(stderr, "largest: %s\n", error.message);
    sooth_gpus_free(gpus);
    sooth_free(model);
    return code;
}
