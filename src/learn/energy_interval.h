/* energy_interval.h: how wide the interval of power must be for a source that was not fitted on.
 *
 * Whoever asks has another machine and other software than the rows: the errors that count are those of sources kept apart, every source
 * weighing alike. One source does not tell how far sources lie apart, so a kind of work that fewer than two have takes the interval of any
 * kind, on GPUs that were not measured; and of a GPU that was not measured no less is allowed for than of one that was. */
#ifndef SOOTH_LEARN_ENERGY_INTERVAL_H
#define SOOTH_LEARN_ENERGY_INTERVAL_H

#include "predict/energy.h"

/* A row that was predicted by a fit without its source. */
typedef struct interval_row {
    double error; /* as a logarithm, without its sign */
    double weight;
    int source; /* 0 to INTERVAL_MAX_SOURCES - 1 */
    power_work_kind kind;
    bool is_new; /* the fit did not see its GPU either */
} interval_row;

enum { INTERVAL_MAX_SOURCES = 32 };

/* Half of the 90 % interval by the rows of all sources but `without` (-1: of all). The scratch room is in `a`. */
double interval_half(const interval_row *rows, size_t count, bool is_new, power_work_kind kind, int without, arena *a);

#endif
