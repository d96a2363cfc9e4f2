/* baseline.h: simple baselines for the predictor: a regression on counted work, and the scaled times of another GPU. */
#ifndef SOOTH_LEARN_BASELINE_H
#define SOOTH_LEARN_BASELINE_H

#include "base/arena.h"

/* MACs, activations and parameters of the whole batch, and the measured time. An operator without MACs has its FLOPs
 * instead. */
typedef struct regression_row {
    double work[3];
    double measured;
    uint32_t fold; /* equal for rows of one architecture; fold = this modulo REGRESSION_FOLDS */
    double predicted;
} regression_row;

enum { REGRESSION_FOLDS = 5 };

/* Fits log(time) by least squares as a quadratic in the logarithms of the work. `predicted` of each row comes from a
 * fit without its fold. All rows should share GPU, precision and runtime. With few rows the fit is linear; with very
 * few it is proportional to the first number; without rows `predicted` is NAN. */
void regress(regression_row *rows, size_t count, arena *scratch);

/* A time and its key. Rows on two GPUs with equal keys did the same work. */
typedef struct constant_row {
    uint64_t key;
    uint32_t gpu;     /* identifier of the GPU */
    double measured;  /* per sample, because batches differ */
    double predicted; /* from another GPU's time; NAN if no other GPU has the key */
} constant_row;

/* Predicts each GPU from the GPU with which it shares most keys, by the median ratio of their times. The ratio is
 * fitted on the evaluated rows, which favours the baseline. */
void scale_from_other_gpu(constant_row *rows, size_t count, arena *scratch);

#endif
