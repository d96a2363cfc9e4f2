/* nas_report.h: shared by the writers of `sooth nas`. */
#ifndef SOOTH_REPORT_NAS_REPORT_H
#define SOOTH_REPORT_NAS_REPORT_H

#include "base/arena.h"
#include "report/text.h"

typedef struct nas_report {
    const sooth_nas *nas;
    sooth_nas_totals totals;
    sooth_report_options options;
    text *out;
    arena *scratch;
    size_t top; /* number of best candidates to list */
    bool has_accuracy, has_trials;
    char architecture[SOOTH_NAS_NAME_ROOM], graph[SOOTH_NAS_NAME_ROOM];
} nas_report;

/* Writes the names of a candidate to the report's buffers. */
void nas_names(nas_report *r, size_t candidate);

void nas_table(nas_report *r);
void nas_html(nas_report *r);

#endif
