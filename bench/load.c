/* load.c: times loading and binding inside one process, through the public interface.
 *
 *     load FILE [SECONDS [SKIPPED_PASSES]]
 *
 * Reads the file once, then loads and binds it from memory repeatedly; "all" skips every pass. Prints one line:
 * runs, the fastest and the median time in microseconds, the share of loading in the median run, layers. */
#include "sooth.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_RUNS = 20000 };

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

static void *read_whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return NULL;
    long length = ftell(f);
    rewind(f);
    void *bytes = length > 0 ? malloc((size_t)length) : NULL;
    if (bytes && fread(bytes, 1, (size_t)length, f) != (size_t)length)
        return NULL;
    fclose(f);
    *size = (size_t)length;
    return bytes;
}

int main(int argc, char **argv)
{
    static double whole[MAX_RUNS], loading[MAX_RUNS];
    size_t size = 0;
    void *bytes = argc > 1 ? read_whole(argv[1], &size) : NULL;
    if (!bytes)
        return fprintf(stderr, "usage: load FILE [SECONDS [SKIPPED_PASSES]]\n"), 2;
    const sooth_options options = {.skip_passes = argc > 3 ? argv[3] : NULL};
    double limit_us = 1e6 * (argc > 2 ? atof(argv[2]) : 1.0), began = now_us();
    int runs = 0;
    size_t layers = 0;
    while (runs < MAX_RUNS && (runs < 3 || now_us() - began < limit_us)) {
        sooth_error error;
        sooth_model *model;
        double start = now_us();
        sooth_status status = sooth_load_memory(bytes, size, argv[1], &model, &error);
        double loaded = now_us();
        if (status == SOOTH_OK)
            status = sooth_bind(model, &options, &error);
        double end = now_us();
        if (status != SOOTH_OK)
            return fprintf(stderr, "%s: %s\n", argv[1], error.message), 1;
        layers = sooth_layer_count(model);
        sooth_free(model);
        loading[runs] = loaded - start;
        whole[runs++] = end - start;
    }
    qsort(whole, (size_t)runs, sizeof *whole, ascending);
    qsort(loading, (size_t)runs, sizeof *loading, ascending);
    printf("%d %.1f %.1f %.3f %zu\n", runs, whole[0], whole[runs / 2], loading[runs / 2] / whole[runs / 2], layers);
    free(bytes);
    return 0;
}
