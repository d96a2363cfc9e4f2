/* energy_sensor.h: the readings of a slow power sensor.
 *
 * AIConfigurator's collector reads the board's power every 100 ms, first just before the operator runs. It runs for a
 * second, but at most 3000 calls; a call is one operator, or six equal ones for products in bf16. So a run takes
 * min(1 s, 3000 calls), and a short one has few readings, which average over the time before it. Known in advance:
 *   1. A run of a second measures the operator's own power, a shorter one a mixture with the power before it.
 *   2. So do, at any length, block-scaled fp8, which runs eagerly and compiles first, and attention on a cache, where
 *      two entries for the same operator differ by 12 to 60 %.
 *   3. Weights in bf16 are never written. Where the process needs more memory than before, at the end of each sweep,
 *      they are zeros, and multiplying zeros draws less. */
#ifndef SOOTH_LEARN_ENERGY_SENSOR_H
#define SOOTH_LEARN_ENERGY_SENSOR_H

#include "learn/rows.h"

/* How an operator ran while its power was read. */
typedef struct sensor_run {
    double run_s;   /* how long */
    bool is_own;    /* the reading is the operator's own power */
    bool has_zeros; /* its weights were zeros */
} sensor_run;

/* `main` is the operator's longest kernel. Rows of other sources have their own power. */
sensor_run sensor_run_of(const measured_row *row, const kernel_time *main);

/* Fitted constants of a sensor. */
typedef struct sensor {
    double window_s; /* averaging time of a reading */
    double idle;     /* mean power before a run ÷ the device's base */
} sensor;

/* Mean reading over a run of an operator that draws `own_w`. */
double sensor_reading(const sensor *s, const sensor_run *run, double own_w, double base_w);

typedef struct sensor_row {
    double run_s, own_w, base_w, measured_w;
} sensor_row;
/* The sensor nearest to the measurements, by a search: mean absolute error of logarithms. */
sensor sensor_fit(const sensor_row *rows, size_t count);

#endif
