/* metrics.c: requests by route and status, their duration, bytes. */
#include "serve/metrics.h"

#include <pthread.h>
#include <stdlib.h>

/* Upper bounds of the histogram's buckets in seconds; one more bucket counts the rest. */
static const double BUCKETS[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
enum { BUCKET_COUNT = sizeof BUCKETS / sizeof *BUCKETS, MOST_STATUS = 16 };

struct metrics {
    pthread_mutex_t lock;
    struct {
        unsigned status;
        uint64_t count;
    } by_status[ROUTE_COUNT][MOST_STATUS];
    uint64_t by_duration[ROUTE_COUNT][BUCKET_COUNT + 1];
    double seconds[ROUTE_COUNT];
    uint64_t bytes_in, bytes_out;
};

metrics *metrics_open(void)
{
    metrics *m = calloc(1, sizeof *m);
    if (m && pthread_mutex_init(&m->lock, NULL) != 0) {
        free(m);
        return NULL;
    }
    return m;
}

void metrics_close(metrics *m)
{
    if (m)
        pthread_mutex_destroy(&m->lock);
    free(m);
}

static const char *route_name(route route)
{
    static const char *const NAMES[ROUTE_COUNT] = {
        [ROUTE_PREDICT] = "predict", [ROUTE_INSPECT] = "inspect", [ROUTE_MIG] = "mig",   [ROUTE_CONVERT] = "convert",
        [ROUTE_BATCH] = "batch",     [ROUTE_GPUS] = "gpus",       [ROUTE_ZOO] = "zoo",   [ROUTE_HEALTH] = "health",
        [ROUTE_METRICS] = "metrics", [ROUTE_OPENAPI] = "openapi", [ROUTE_PAGE] = "page", [ROUTE_NONE] = "none"};
    return NAMES[route];
}

void metrics_add(metrics *m, route route, unsigned status, double seconds, size_t bytes_in, size_t bytes_out)
{
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < MOST_STATUS; i++) {
        if (m->by_status[route][i].count && m->by_status[route][i].status != status)
            continue;
        m->by_status[route][i].status = status;
        m->by_status[route][i].count++;
        break;
    }
    int bucket = 0;
    while (bucket < BUCKET_COUNT && seconds > BUCKETS[bucket])
        bucket++;
    m->by_duration[route][bucket]++;
    m->seconds[route] += seconds;
    m->bytes_in += bytes_in;
    m->bytes_out += bytes_out;
    pthread_mutex_unlock(&m->lock);
}

static void write_head(text *out, const char *name, const char *type, const char *help)
{
    text_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_durations(const metrics *m, text *out)
{
    write_head(out, "sooth_request_seconds", "histogram", "Time from the first byte of a request to its answer.");
    for (int r = 0; r < ROUTE_COUNT; r++) {
        uint64_t all = 0;
        for (int b = 0; b <= BUCKET_COUNT; b++)
            all += m->by_duration[r][b];
        uint64_t below = 0;
        for (int b = 0; all && b < BUCKET_COUNT; b++)
            text_printf(out, "sooth_request_seconds_bucket{route=\"%s\",le=\"%g\"} %llu\n", route_name((route)r),
                        BUCKETS[b], (unsigned long long)(below += m->by_duration[r][b]));
        if (all)
            text_printf(
                out,
                "sooth_request_seconds_bucket{route=\"%s\",le=\"+Inf\"} %llu\n"
                "sooth_request_seconds_sum{route=\"%s\"} %.6f\nsooth_request_seconds_count{route=\"%s\"} %llu\n",
                route_name((route)r), (unsigned long long)all, route_name((route)r), m->seconds[r],
                route_name((route)r), (unsigned long long)all);
    }
}

void metrics_write(metrics *m, kept *kept, size_t running, text *out)
{
    size_t models, bytes;
    kept_figures(kept, &models, &bytes);
    metrics *copy = malloc(sizeof *copy); /* A copy, because writing the text may fail and must not hold the lock. */
    if (!copy)
        fail_with(out->fail, SOOTH_ERROR_SYSTEM, "out of memory");
    pthread_mutex_lock(&m->lock);
    *copy = *m;
    pthread_mutex_unlock(&m->lock);
    write_head(out, "sooth_requests_total", "counter", "Requests by route and status.");
    for (int r = 0; r < ROUTE_COUNT; r++)
        for (int i = 0; i < MOST_STATUS && copy->by_status[r][i].count; i++)
            text_printf(out, "sooth_requests_total{route=\"%s\",status=\"%u\"} %llu\n", route_name((route)r),
                        copy->by_status[r][i].status, (unsigned long long)copy->by_status[r][i].count);
    write_durations(copy, out);
    write_head(out, "sooth_request_bytes_total", "counter", "Bytes of bodies received.");
    text_printf(out, "sooth_request_bytes_total %llu\n", (unsigned long long)copy->bytes_in);
    write_head(out, "sooth_response_bytes_total", "counter", "Bytes of bodies sent.");
    text_printf(out, "sooth_response_bytes_total %llu\n", (unsigned long long)copy->bytes_out);
    write_head(out, "sooth_requests_running", "gauge", "Requests that are being read or answered.");
    text_printf(out, "sooth_requests_running %zu\n", running);
    write_head(out, "sooth_models_kept", "gauge", "Models that stay loaded.");
    text_printf(out, "sooth_models_kept %zu\n", models);
    write_head(out, "sooth_models_kept_bytes", "gauge", "Their files and graphs.");
    text_printf(out, "sooth_models_kept_bytes %zu\n", bytes);
    free(copy);
}
