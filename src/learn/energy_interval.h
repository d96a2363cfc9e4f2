/* energy_interval.h: computes the width of the power interval. A user's machine is in no table, so the width comes
 * from the errors on held-out sources, which all have the same weight. One source does not show how much sources
 * differ, so a kind of work in fewer than two sources takes the interval of all kinds on unmeasured GPUs. A measured
 * GPU never gets a wider interval than an unmeasured one. */
#ifndef SOOTH_LEARN_ENERGY_INTERVAL_H
#define SOOTH_LEARN_ENERGY_INTERVAL_H

#include "predict/energy.h"

/* A row predicted by a fit without its source. */
typedef struct interval_row {
    double error; /* absolute error of the logarithm */
    double weight;
    int source; /* 0 to INTERVAL_MAX_SOURCES - 1 */
    power_work_kind kind;
    bool is_new; /* The fit also held out the row's GPU. */
} interval_row;

enum { INTERVAL_MAX_SOURCES = 32 };

/* Half-width of the 90 % interval from the rows of all sources except `without` (-1: all sources). `a` is scratch
 * memory. */
double interval_half(const interval_row *rows, size_t count, bool is_new, power_work_kind kind, int without, arena *a);

#endif
