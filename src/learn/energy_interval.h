/* energy_interval.h: width of the power interval. A user's machine is in no table, so the interval comes from the
 * errors of held-out sources, with equal weight per source. A kind of work in fewer than two sources takes the interval
 * of all kinds on unmeasured GPUs, because one source does not show how much sources differ. A measured GPU never gets
 * a wider interval than an unmeasured one. */
#ifndef SOOTH_LEARN_ENERGY_INTERVAL_H
#define SOOTH_LEARN_ENERGY_INTERVAL_H

#include "predict/energy.h"

/* A row predicted by a fit without its source. */
typedef struct interval_row {
    double error; /* absolute error of the logarithm */
    double weight;
    int source; /* 0 to INTERVAL_MAX_SOURCES - 1 */
    power_work_kind kind;
    bool is_new; /* the fit saw no row of its GPU either */
} interval_row;

enum { INTERVAL_MAX_SOURCES = 32 };

/* Half of the 90 % interval from the rows of all sources except `without` (-1: none excluded). `a` is scratch
 * memory. */
double interval_half(const interval_row *rows, size_t count, bool is_new, power_work_kind kind, int without, arena *a);

#endif
