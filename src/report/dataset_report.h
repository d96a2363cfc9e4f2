/* dataset_report.h: `sooth dataset stats` and `check`: contents of a set, as a table or JSON. */
#ifndef SOOTH_REPORT_DATASET_REPORT_H
#define SOOTH_REPORT_DATASET_REPORT_H

#include "sooth.h"

typedef struct dataset_family {
    const char *name;
    int64_t graphs, architectures, operators; /* `operators`: nodes of all graphs */
    int64_t nodes_low, nodes_high, batch_low, batch_high;
    double macs_low, macs_median, macs_high;
} dataset_family;

typedef struct dataset_setting {
    const char *gpu, *mig, *precision, *layout, *runtime, *mode, *stack, *kind;
    int64_t labels;
    double latency_ms[3], energy_j[3], memory_mib[3], utilization[3]; /* quantiles of 10, 50, 90 %; NAN: none */
} dataset_setting;

typedef struct dataset_summary {
    const char *path, *version, *weights;
    bool is_complete;
    int64_t graphs, planned, distinct, architectures, labels, operators;
    const dataset_family *families;
    size_t family_count;
    const dataset_setting *settings;
    size_t setting_count;
    bool was_checked;
    const char *const *findings; /* Findings of a check, one line each. */
    size_t finding_count;
    int64_t more_findings; /* number of findings that are not listed */
} dataset_summary;

/* The caller frees the text, as for sooth_survey_report(). */
sooth_status dataset_report(const dataset_summary *summary, const sooth_report_options *options, char **text,
                            size_t *size, sooth_error *error);

#endif
