/* slices.h: fits the constants of slices (predict/slice.h) on measured rows: what `sooth learn --slices` does. */
#ifndef SOOTH_LEARN_SLICES_H
#define SOOTH_LEARN_SLICES_H

#include "learn/rows.h"
#include "predict/slice.h"

typedef struct slices_fit {
    slice_constants constants;
    size_t fitted, apart;                           /* rows: that constants were fitted to, and kept apart */
    str sources;                                    /* of the rows, with commas */
    double fitted_error, apart_error, apart_median; /* mean and median of the relative errors */
} slices_fit;

/* Rows that are not of measured kinds of slices (slice_is_measured) are left out, as are those that cannot be lowered. Of each network of a source,
 * in each mode, every second workload (graph and batch, with all its slices) is kept apart, in order of appearance. Fails if there is no
 * row. Everything is in `a`. */
void slices_learn(slices_fit *fit, measured_rows *const *tables, int table_count, arena *a, fail *f);

#endif
