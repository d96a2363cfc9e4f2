/* energy_fit.h: from measured power to the coefficients of predict/energy.h: `sooth learn --energy`.
 *
 * Least squares on logarithms (Huber's, by Levenberg and Marquardt) over all rows that have a measured power, sources weighing
 * alike. The measured time takes the place of the predicted one: what is fitted is power, not latency. Then the same with parts of the
 * rows kept apart in turn: networks and operator shapes, GPUs, whole sources. Their errors there are what is told. Whoever asks is another
 * source, so intervals rest on sources kept apart, and for GPUs that were not measured on sources and GPUs. */
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
    size_t row_count;      /* that were fitted */
    struct fitter *fitter; /* the work; NULL: none was begun */
} energy_fit;

/* A row that was kept apart, when its fit is done. */
typedef void (*energy_apart)(void *context, const char *why, const measured_row *row, bool is_sound, double power_w,
                             double energy_j);

/* Everything but what threads made is in `a`. `apart` may be NULL. Fails with SOOTH_ERROR_INPUT if too few rows have a measured power. */
void energy_fit_rows(energy_fit *fit, measured_rows *const *tables, int table_count, const predictor *with,
                     size_t workers, energy_apart apart, void *context, arena *a);

/* Gives back what threads made, also after a failure. Before the arena is freed. */
void energy_fit_free(energy_fit *fit);

/* How many times longer kernels took than predicted in a run of `measured_ms`. Where it took less than predicted, they need not: the host
 * was faster, if only they fit in. Where it took more, the host has its part of that as it has of the predicted time; beyond
 * so many times the device waited. */
double energy_stretch(double measured_ms, double latency_ms, double device_ms);

/* The text of a file that power_model_read reads. */
str energy_fit_text(const energy_fit *fit, arena *a);

#endif
