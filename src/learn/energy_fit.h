/* energy_fit.h: fits the power coefficients of predict/energy.h on measured rows, for `sooth learn --energy`. The fit
 * is least squares on logarithms (Huber loss, Levenberg-Marquardt) with equal weight per source. It uses measured
 * times, so that latency errors do not enter the power. Repeated fits hold out networks, shapes, GPUs and sources to
 * measure the errors and to calibrate the intervals. */
#ifndef SOOTH_LEARN_ENERGY_FIT_H
#define SOOTH_LEARN_ENERGY_FIT_H

#include "learn/eval.h"
#include "predict/energy.h"

/* What the fit held out when it predicted a row. */
typedef enum energy_kept {
    ENERGY_KEPT_SHAPE,   /* shape of an operator, or a network at one batch */
    ENERGY_KEPT_NETWORK, /* the network at any batch */
    ENERGY_KEPT_GPU,
    ENERGY_KEPT_SOURCE, /* the source, where another source has the GPU */
    ENERGY_KEPT_BOTH,   /* the source and the GPU */
    ENERGY_KEPT_COUNT
} energy_kept;
const char *energy_kept_name(energy_kept kept);

/* Scores on hold-out rows. */
typedef struct energy_score {
    str source;
    energy_kept kept;
    bool is_sound; /* false: the source says that the reading mixes in other power */
    score power;   /* Power, from measured times. */
    score energy;  /* Energy, from predicted times. */
} energy_score;

typedef struct energy_fit {
    power_model model;
    struct {
        energy_score *items;
        int32_t count, capacity;
    } scores;
    size_t row_count;      /* rows that were fitted */
    struct fitter *fitter; /* internal state; NULL before the fit */
} energy_fit;

/* Called for each hold-out row after its fit. */
typedef void (*energy_apart)(void *context, const char *why, const measured_row *row, bool is_sound, double power_w,
                             double energy_j);

/* Allocates everything in `a` except the data of threads. `apart` may be NULL. Fails with SOOTH_ERROR_INPUT if too few
 * rows have a measured power. */
void energy_fit_rows(energy_fit *fit, measured_rows *const *tables, int table_count, const predictor *with,
                     size_t workers, energy_apart apart, void *context, arena *a);

/* Frees the data of threads, also after a failure. Call it before the arena is freed. */
void energy_fit_free(energy_fit *fit);

/* Ratio of measured to predicted kernel time in a run of `measured_ms`. If the run was shorter than predicted, the
 * host was faster; kernels that fit into the run keep their times. If it was longer, the host takes its predicted
 * share, and beyond a limit the device waits. */
double energy_stretch(double measured_ms, double latency_ms, double device_ms);

/* Returns the coefficients in the file format of power_model_read(). */
str energy_fit_text(const energy_fit *fit, arena *a);

#endif
