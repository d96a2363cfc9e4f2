/* intervals.h: fits the numbers of interval.h to the errors of hold-out rows. */
#ifndef SOOTH_LEARN_INTERVALS_H
#define SOOTH_LEARN_INTERVALS_H

#include "predict/interval.h"

/* Why rows are held out. */
enum { SET_GPU, SET_FAMILY, SET_ARCHITECTURE, SET_SETTING, SET_SHAPE };

/* Prediction error of a hold-out row, and what its interval may depend on. */
typedef struct residual {
    int32_t example;
    int16_t stack, gpu; /* As in the prediction. */
    uint8_t model, graph;
    uint8_t stage;     /* the training that held it out (learn_stage) */
    uint8_t set;       /* One of SET_…: the reason why it is held out. */
    uint8_t is_hidden; /* A second copy of the row with a hidden stack, because most users name none. */
    uint32_t cluster;  /* rows with related errors: those of a family, or of an operator's shape */
    float error;       /* log(predicted / measured) */
    float traits[INTERVAL_TRAITS];
} residual;

/* Fits a table of interval_floats() numbers. `halves` receives the half widths of each row, from a table fitted
 * without the clusters of its part. */
void intervals_fit(const residual *rows, int32_t count, int stack_count, int gpu_count, float *table,
                   float (*halves)[INTERVAL_LEVELS], arena *a);

#endif
