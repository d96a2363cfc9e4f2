/* energy_interval.h: width of the power interval for a source that was not fitted.
 *
 * A user's machine and software are in no table, so the errors that count are those of held-out sources, each with the
 * same weight. One source does not show how much sources differ, so a kind of work in fewer than two sources takes the
 * interval of any kind on unmeasured GPUs; and a measured GPU never has a wider interval than an unmeasured one. */
#ifndef SOOTH_LEARN_ENERGY_INTERVAL_H
#define SOOTH_LEARN_ENERGY_INTERVAL_H

#include "predict/energy.h"

/* A row predicted by a fit without its source. */
typedef struct interval_row {
    double error; /* as a logarithm, without its sign */
    double weight;
    int source; /* 0 to INTERVAL_MAX_SOURCES - 1 */
    power_work_kind kind;
    bool is_new; /* the fit saw no row of its GPU either */
} interval_row;

enum { INTERVAL_MAX_SOURCES = 32 };

/* Half of the 90 % interval from the rows of all sources but `without` (-1: all). `a` is scratch memory. */
double interval_half(const interval_row *rows, size_t count, bool is_new, power_work_kind kind, int without, arena *a);

#endif
