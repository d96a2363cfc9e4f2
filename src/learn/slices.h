/* slices.h: fits the constants of slices (predict/slice.h) on measured rows, for `sooth learn --slices`. */
#ifndef SOOTH_LEARN_SLICES_H
#define SOOTH_LEARN_SLICES_H

#include "learn/rows.h"
#include "predict/slice.h"

typedef struct slices_fit {
    slice_constants constants;
    size_t fitted, apart;                           /* rows fitted and held out */
    str sources;                                    /* sources of the rows, comma-separated */
    double fitted_error, apart_error, apart_median; /* mean and median relative error */
} slices_fit;

/* Skips rows of unmeasured kinds of slices (slice_is_measured) and rows that cannot be lowered. Holds out every second
 * workload (graph and batch, with all its slices) of each network, source and mode. Fails without rows. Allocates in
 * `a`. */
void slices_learn(slices_fit *fit, measured_rows *const *tables, int table_count, arena *a, fail *f);

#endif
