/* energy_fit.h: fits the power coefficients of predict/energy.h on measured rows: `sooth learn --energy`.
 *
 * Least squares on logarithms (Huber loss, Levenberg-Marquardt) over all rows with a measured power, each source with
 * the same weight. The measured time replaces the predicted one, so that power is fitted, not latency. The fit is
 * repeated with networks, operator shapes, GPUs and whole sources held out, which gives the errors. Intervals come from
 * held-out sources, and for unmeasured GPUs from held-out sources and GPUs. */
#ifndef SOOTH_LEARN_ENERGY_FIT_H
#define SOOTH_LEARN_ENERGY_FIT_H

#include "learn/eval.h"
#include "predict/energy.h"

/* What a fit did not see of a row. */
typedef enum energy_kept {
    ENERGY_KEPT_SHAPE,   /* of an operator; a network with its batch */
    ENERGY_KEPT_NETWORK, /* at any batch */
    ENERGY_KEPT_GPU,
    ENERGY_KEPT_SOURCE, /* rows whose GPU is in another source as well */
    ENERGY_KEPT_BOTH,   /* its source and its GPU */
    ENERGY_KEPT_COUNT
} energy_kept;
const char *energy_kept_name(energy_kept kept);

/* Scores on hold-out rows. */
typedef struct energy_score {
    str source;
    energy_kept kept;
    bool is_sound; /* false: the reading is not the kernel's own power, by the source's account (energy_fit.c) */
    score power;   /* with the measured time */
    score energy;  /* with the predicted one */
} energy_score;

typedef struct energy_fit {
    power_model model;
    struct {
        energy_score *items;
        int32_t count, capacity;
    } scores;
    size_t row_count;      /* that were fitted */
    struct fitter *fitter; /* state of the work; NULL: not begun */
} energy_fit;

/* Called for each hold-out row when its fit is done. */
typedef void (*energy_apart)(void *context, const char *why, const measured_row *row, bool is_sound, double power_w,
                             double energy_j);

/* Everything is in `a` except what threads make. `apart` may be NULL. SOOTH_ERROR_INPUT: too few rows have a measured
 * power. */
void energy_fit_rows(energy_fit *fit, measured_rows *const *tables, int table_count, const predictor *with,
                     size_t workers, energy_apart apart, void *context, arena *a);

/* Frees what threads made, also after a failure. Call it before the arena is freed. */
void energy_fit_free(energy_fit *fit);

/* Factor of measured to predicted kernel time in a run of `measured_ms`. In a shorter run the host was faster, and
 * kernels keep their times if they fit. In a longer one the host has its share, as in the predicted time; beyond a
 * limit the device waited. */
double energy_stretch(double measured_ms, double latency_ms, double device_ms);

/* Text of the file that power_model_read reads. */
str energy_fit_text(const energy_fit *fit, arena *a);

#endif
