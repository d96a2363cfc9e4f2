/* predict_memory.h: memory of a prediction: its parts, its course over time, and the layers at the peak. */
#ifndef SOOTH_REPORT_PREDICT_MEMORY_H
#define SOOTH_REPORT_PREDICT_MEMORY_H

#include "report/predict_report.h"

/* Parts in display order; NULL after the last. */
typedef struct memory_share {
    const char *name; /* as in JSON */
    double mib;
    const char *note; /* note for people */
} memory_share;
enum { MEMORY_SHARES = 8 };
void memory_shares(const sooth_memory *m, memory_share shares[MEMORY_SHARES]);

/* "fits", "does not fit", or a text for an estimate that fits with an upper end that does not; NULL if the GPU's
 * memory is unknown. */
const char *memory_verdict(const sooth_memory *m);

/* Indices of the layers whose tensors are alive at the peak, the largest first. */
size_t *memory_largest_layers(predict_report *r, const sooth_prediction *p, size_t *count);

/* A point in time. There are at most `most` points; if there are more kernels, a point shows the kernel with the
 * most memory of a group. */
typedef struct memory_point {
    double begin_ms, end_ms;
    double allocated_mib, reserved_mib; /* without the context */
    sooth_memory_parts parts;           /* of allocated_mib */
    size_t kernel;
} memory_point;
memory_point *memory_over_time(predict_report *r, const sooth_prediction *p, size_t most, size_t *count);

#endif
