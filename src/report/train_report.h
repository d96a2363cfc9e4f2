/* train_report.h: shared by the writers of `sooth train-phase`. */
#ifndef SOOTH_REPORT_TRAIN_REPORT_H
#define SOOTH_REPORT_TRAIN_REPORT_H

#include "base/arena.h"
#include "report/text.h"

typedef struct train_report {
    const sooth_train *train;
    sooth_train_totals totals;
    sooth_report_options options;
    text *out;
    arena *scratch;
} train_report;

/* True if a convolution's time by the library is known. */
bool train_has_library(const sooth_train_library *l);
void train_trace(train_report *r);
void train_html(train_report *r);
/* Writes a section of the page; writes nothing if memory is not known. */
void train_memory_picture(train_report *r);

#endif
