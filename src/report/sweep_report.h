/* sweep_report.h: `sooth sweep`: results of a sweep as a table, JSON, and a page with heat maps and Pareto fronts. */
#ifndef SOOTH_REPORT_SWEEP_REPORT_H
#define SOOTH_REPORT_SWEEP_REPORT_H

#include "sooth.h"

typedef struct sweep_front_point {
    const char *spec;
    int64_t batch, macs;
    double latency_ms, throughput_per_s, energy_j;
} sweep_front_point;

typedef struct sweep_setting_row {
    const char *gpu, *mig, *precision, *layout, *runtime, *mode, *stack;
    int64_t points, failed;
    double latency_ms_least, latency_ms_mean, latency_ms_most; /* `mean` is geometric; NAN without points. */
    double throughput_most, utilization_mean, utilization_most;
    sweep_front_point fastest;      /* The point with the most samples per second. */
    const sweep_front_point *front; /* Pareto front, by latency: no other point has as many MACs in as short a time. */
    size_t front_count;
} sweep_setting_row;

/* A heat map: a mean for each value of a row and of a column. */
typedef struct sweep_map {
    const char *family, *title, *row_title, *column_title;
    const char *const *rows, *const *columns;
    size_t row_count, column_count;
    const double *cells; /* Row by row; NAN: no point. */
    bool is_percent;
} sweep_map;

typedef struct sweep_summary {
    const char *plan, *database, *weights;
    bool is_complete;
    int64_t points, planned, networks, failed_networks, failed_points;
    const char *first_error; /* "": none */
    const sweep_setting_row *settings;
    size_t setting_count;
    const sweep_map *maps;
    size_t map_count;
} sweep_summary;

sooth_status sweep_report(const sweep_summary *summary, const sooth_report_options *options, char **text, size_t *size,
                          sooth_error *error);

#endif
