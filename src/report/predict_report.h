/* predict_report.h: shared by the writers of `sooth predict`, which see predictions only through sooth.h. */
#ifndef SOOTH_REPORT_PREDICT_REPORT_H
#define SOOTH_REPORT_PREDICT_REPORT_H

#include "base/arena.h"
#include "report/text.h"

typedef struct predict_report {
    const sooth_prediction *const *predictions;
    size_t count;
    sooth_report_options options;
    text *out;
    arena *scratch;
} predict_report;

/* Row `index` of a comparison: a prediction or a refusal; the other is NULL. Both are NULL after the last. */
typedef struct compared {
    const sooth_prediction *prediction;
    const sooth_refusal *refusal;
} compared;
compared predict_compared(const predict_report *r, size_t index);

/* Latency by limiting resource. */
typedef struct bound_shares {
    double compute_ms, memory_ms, launch_ms;
} bound_shares;
bound_shares predict_bounds(const sooth_prediction *p);

/* Indices of the layers with a positive figure, the largest first. */
size_t *predict_rank(predict_report *r, const sooth_prediction *p, double (*figure)(sooth_predicted_layer),
                     size_t *count);
/* Layers that take time, the slowest first. */
size_t *predict_costliest(predict_report *r, const sooth_prediction *p, size_t *count);

/* "128x64x56x56"; "scalar" without dimensions. */
const char *predict_shape(predict_report *r, sooth_predicted_tensor t, const char *separator);

/* One writer per format. */
void predict_table(predict_report *r);
void predict_json(predict_report *r);
void predict_csv(predict_report *r);
void predict_trace(predict_report *r);
void predict_html(predict_report *r);
void predict_memory_svg(predict_report *r);

#endif
