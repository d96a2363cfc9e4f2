/* energy_fit.h: from measured power to the coefficients of predict/energy.h: `sooth learn --energy`.
 *
 * Least squares on logarithms (Huber's, by Levenberg and Marquardt) over all rows that have a measured power, sources weighing
 * alike. The measured time takes the place of the predicted one: what is fitted is power, not latency. Then the same with parts of the
 * rows kept apart, networks and operator shapes in turn, GPUs in turn: their errors there are what is told, and the intervals. */
#ifndef SOOTH_LEARN_ENERGY_FIT_H
#define SOOTH_LEARN_ENERGY_FIT_H

#include "learn/eval.h"
#include "predict/energy.h"

/* What a fit did not see of a row: its shape (of an operator; a network with its batch), its network at any batch, its GPU. */
typedef enum energy_kept { ENERGY_KEPT_SHAPE, ENERGY_KEPT_NETWORK, ENERGY_KEPT_GPU, ENERGY_KEPT_COUNT } energy_kept;
const char *energy_kept_name(energy_kept kept);

/* Of rows that fits did not see. */
typedef struct energy_score {
    str source;
    energy_kept kept;
    bool is_sound; /* false: what was measured is not the kernel's own power, by the source's account (energy_fit.c) */
    score power;   /* with the measured time */
    score energy;  /* with the predicted one */
} energy_score;

typedef struct energy_fit {
    power_model model;
    struct {
        energy_score *items;
        int32_t count, capacity;
    } scores;
    size_t row_count; /* that were fitted */
} energy_fit;

/* A row that was kept apart, when its fit is done. */
typedef void (*energy_apart)(void *context, const char *why, const measured_row *row, bool is_sound, double power_w,
                             double energy_j);

/* Everything is in `a`. `apart` may be NULL. Fails with SOOTH_ERROR_INPUT if too few rows have a measured power. */
void energy_fit_rows(energy_fit *fit, measured_rows *const *tables, int table_count, const predictor *with,
                     size_t workers, energy_apart apart, void *context, arena *a);

/* The text of a file that power_model_read reads. */
str energy_fit_text(const energy_fit *fit, arena *a);

#endif
