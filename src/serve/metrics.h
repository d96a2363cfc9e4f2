/* metrics.h: counts of `sooth serve` in the text format of Prometheus. Thread-safe. */
#ifndef SOOTH_SERVE_METRICS_H
#define SOOTH_SERVE_METRICS_H

#include "report/text.h"
#include "serve/answers.h"

typedef struct metrics metrics;

metrics *metrics_open(void); /* NULL if out of memory */
void metrics_close(metrics *m);

void metrics_add(metrics *m, route route, unsigned status, double seconds, size_t bytes_in, size_t bytes_out);
/* Writes all counts, the loaded models, and the number of running requests. */
void metrics_write(metrics *m, kept *kept, size_t running, text *out);

#endif
