/* mig_report.h: shared by the writers of `sooth mig`, which see a plan only through sooth.h. */
#ifndef SOOTH_REPORT_MIG_REPORT_H
#define SOOTH_REPORT_MIG_REPORT_H

#include "base/arena.h"
#include "report/text.h"

typedef struct mig_report {
    const sooth_mig_plan *plan;
    sooth_mig_plan_totals totals;
    sooth_report_options options;
    text *out;
    arena *scratch;
} mig_report;

/* "A", "B" … "Z", "27": label of a workload in pictures. */
const char *mig_letter(mig_report *r, size_t workload);

/* Writers in files of their own. */
void mig_write_table(mig_report *r);
void mig_write_svg(mig_report *r);

#endif
