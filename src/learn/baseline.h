/* baseline.h: the simple models that a prediction must beat: a regression on countable work, and the scaled times of
 * another GPU. */
#ifndef SOOTH_LEARN_BASELINE_H
#define SOOTH_LEARN_BASELINE_H

#include "base/arena.h"

/* MACs, activations and parameters of the whole batch (FLOPs for an operator without MACs), and the measured time. */
typedef struct regression_row {
    double work[3];
    double measured;
    uint32_t
        fold; /* rows with the same number modulo REGRESSION_FOLDS, those of one architecture, are held out together */
    double predicted;
} regression_row;

enum { REGRESSION_FOLDS = 5 };

/* Fits log(time) by a quadratic in the logarithms of the work, by least squares, and sets `predicted` of each row by a
 * fit without its fold. All rows should have one setting (GPU, precision, runtime ...). With few rows the fit is
 * linear, with very few proportional to the first number; NAN if no rows are left. */
void regress(regression_row *rows, size_t count, arena *scratch);

/* A time and its key: equal keys on two GPUs are equal work. */
typedef struct constant_row {
    uint64_t key;
    uint32_t gpu;     /* any number */
    double measured;  /* per sample: batches differ */
    double predicted; /* from another GPU; NAN if none has the key */
} constant_row;

/* For each GPU takes the one that shares most keys, and multiplies its times by the median ratio: the best constant in
 * hindsight. */
void scale_from_other_gpu(constant_row *rows, size_t count, arena *scratch);

#endif
