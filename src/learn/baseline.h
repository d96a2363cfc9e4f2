/* baseline.h: what a prediction must beat: a regression on what everybody can count, and times of another GPU by one constant. */
#ifndef SOOTH_LEARN_BASELINE_H
#define SOOTH_LEARN_BASELINE_H

#include "base/arena.h"

/* MACs, activations and parameters of the whole batch (of an operator without MACs its FLOPs), and the measured time. */
typedef struct regression_row {
    double work[3];
    double measured;
    uint32_t
        fold; /* rows with the same number (modulo REGRESSION_FOLDS) are left out together: those of one architecture */
    double predicted;
} regression_row;

enum { REGRESSION_FOLDS = 5 };

/* Fits log(time) by a quadratic in the logarithms of the work, by least squares, and sets `predicted` of each row by a fit that has
 * not seen its fold. All rows should be of one setting (GPU, precision, runtime ...). With few rows it is linear, with very few in
 * proportion to the first number; NAN where nothing is left to fit on. */
void regress(regression_row *rows, size_t count, arena *scratch);

/* A time, and what it is the time of: the same key on two GPUs is the same work. */
typedef struct constant_row {
    uint64_t key;
    uint32_t gpu;     /* any number */
    double measured;  /* per sample: batches differ */
    double predicted; /* from another GPU; NAN where none has that key */
} constant_row;

/* For each GPU takes the one that shares most keys with it, and multiplies that one's times by the median of their ratios: the best
 * constant, told after the fact. */
void scale_from_other_gpu(constant_row *rows, size_t count, arena *scratch);

#endif
