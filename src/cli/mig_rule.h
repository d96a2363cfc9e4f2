/* mig_rule.h: `sooth mig --rule dippm`: the slice by DIPPM's rule, with the memory that each predictor gives. */
#ifndef SOOTH_CLI_MIG_RULE_H
#define SOOTH_CLI_MIG_RULE_H

#include "cli/cli.h"

typedef struct mig_rule_args {
    const char *models; /* files of `sooth gnn`, comma-separated; NULL: none */
    const sooth_gpu *gpu;
    const sooth_mig_plan *plan;
    const sooth_mig_workload *workloads; /* as in the plan, bound */
    const sooth_report_options *report;  /* table, JSON or CSV */
    const char *output;
} mig_rule_args;

/* Writes the answer. Returns the exit code; errors have been printed. */
int mig_rule(const mig_rule_args *args);

#endif
