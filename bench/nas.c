/* nas.c: times all networks of NAS-Bench-201, as an architecture search would use them: each is built, bound and
 * predicted separately, on all cores.
 *
 *     nas GPU BATCH [CLASSES]
 *
 * Prints one line: networks, threads, wall-clock seconds, microseconds of one thread to build, bind and predict a
 * network. */
#include "base/threads.h"
#include "sooth.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EDGES = 6, OPERATIONS = 5, NETWORKS = 5 * 5 * 5 * 5 * 5 * 5, MAX_WORKERS = 256 };

typedef enum stage { BUILDING, BINDING, PREDICTING, STAGE_COUNT } stage;

typedef struct search {
    const sooth_gpu *gpu;
    int64_t batch;
    int classes;
    struct {
        double us[STAGE_COUNT];
        size_t done;
        char room[64]; /* avoids false sharing between cores */
    } workers[MAX_WORKERS];
} search;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void name_of(size_t number, int classes, char *name, size_t room)
{
    static const char *const NAMES[OPERATIONS] = {"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3",
                                                  "avg_pool_3x3"};
    const char *edges[EDGES];
    for (int i = 0; i < EDGES; i++, number /= OPERATIONS)
        edges[i] = NAMES[number % OPERATIONS];
    snprintf(name, room, "zoo:nasbench201/|%s~0|+|%s~0|%s~1|+|%s~0|%s~1|%s~2|?classes=%d", edges[0], edges[1], edges[2],
             edges[3], edges[4], edges[5], classes);
}

static void predict_one(void *context, size_t item, size_t worker)
{
    search *s = context;
    char name[256];
    name_of(item, s->classes, name, sizeof name);
    sooth_model *model = NULL;
    sooth_prediction *prediction = NULL;
    double at[STAGE_COUNT + 1] = {now_us()};
    bool good = sooth_load_file(name, &model, NULL) == SOOTH_OK;
    at[1] = now_us();
    good = good && sooth_bind(model, &(sooth_options){.batch = s->batch}, NULL) == SOOTH_OK;
    at[2] = now_us();
    good = good && sooth_predict(model, &(sooth_predict_options){.device = s->gpu}, &prediction, NULL) == SOOTH_OK &&
           sooth_prediction_totals_of(prediction).latency_ms.value > 0;
    sooth_prediction_free(prediction);
    sooth_free(model);
    at[3] = now_us();
    for (int i = 0; i < STAGE_COUNT; i++)
        s->workers[worker].us[i] += at[i + 1] - at[i];
    s->workers[worker].done += good;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fprintf(stderr, "usage: nas GPU BATCH [CLASSES]\n"), 2;
    static search s;
    sooth_error error = {.message = ""};
    sooth_gpus *gpus = NULL;
    s.batch = atoll(argv[2]);
    s.classes = argc > 3 ? atoi(argv[3]) : 100;
    if (sooth_gpus_open(NULL, &gpus, &error) != SOOTH_OK ||
        sooth_gpus_find(gpus, argv[1], &s.gpu, &error) != SOOTH_OK) {
        fprintf(stderr, "nas: %s\n", error.message);
        sooth_gpus_free(gpus);
        return 1;
    }
    size_t threads = threads_available(), done = 0;
    threads = threads < MAX_WORKERS ? threads : MAX_WORKERS;
    double began = now_us(), sums[STAGE_COUNT] = {0};
    parallel_for(NETWORKS, threads, predict_one, &s);
    double seconds = (now_us() - began) * 1e-6;
    for (size_t w = 0; w < threads; w++) {
        done += s.workers[w].done;
        for (int i = 0; i < STAGE_COUNT; i++)
            sums[i] += s.workers[w].us[i];
    }
    sooth_gpus_free(gpus);
    if (done != NETWORKS)
        return fprintf(stderr, "nas: %zu of %d networks were predicted\n", done, NETWORKS), 1;
    printf("%d %zu %.3f %.1f %.1f %.1f\n", NETWORKS, threads, seconds, sums[BUILDING] / NETWORKS,
           sums[BINDING] / NETWORKS, sums[PREDICTING] / NETWORKS);
    return 0;
}
