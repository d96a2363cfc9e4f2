/* sweep_sums.h: summarizes a finished sweep for its report: figures by setting, Pareto fronts, heat maps. */
#ifndef SOOTH_CLI_SWEEP_SUMS_H
#define SOOTH_CLI_SWEEP_SUMS_H

#include "cli/sweep_file.h"
#include "report/sweep_report.h"

/* Fills everything except the names of plan and data base. Allocates everything in `a`. Returns the exit code. */
int sweep_sum_up(sweep_file *file, const sweep *s, sweep_summary *summary, arena *a, fail *f);

#endif
