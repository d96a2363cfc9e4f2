/* energy_sensor.h: the readings of a slow power sensor. AIConfigurator's collector reads the board's power every 100 ms
 * while an operator repeats for one second, but at most 3000 calls.
 * 1. A run of one second measures the operator's own power. Readings of shorter runs include the preceding power.
 * 2. Two kinds are mixtures at any length: block-scaled fp8, which compiles first, and attention with a cache.
 * 3. The collector never initializes bf16 weights. At the end of each sweep they are zeros, which draw less power. */
#ifndef SOOTH_LEARN_ENERGY_SENSOR_H
#define SOOTH_LEARN_ENERGY_SENSOR_H

#include "learn/rows.h"

/* Conditions under which an operator's power was read. */
typedef struct sensor_run {
    double run_s;   /* duration of the run */
    bool is_own;    /* the reading is the operator's own power */
    bool has_zeros; /* its weights were zeros */
} sensor_run;

/* Returns the conditions of a row whose longest kernel is `main`. In all other sources, readings are the operator's
 * own power. */
sensor_run sensor_run_of(const measured_row *row, const kernel_time *main);

/* Fitted constants of a sensor. */
typedef struct sensor {
    double window_s; /* averaging time of a reading */
    double idle;     /* mean power before a run ÷ the device's base power */
} sensor;

/* Mean reading over a run of an operator that draws `own_w`. */
double sensor_reading(const sensor *s, const sensor_run *run, double own_w, double base_w);

typedef struct sensor_row {
    double run_s, own_w, base_w, measured_w;
} sensor_row;
/* Searches for the sensor constants with the smallest mean absolute error of logarithms. */
sensor sensor_fit(const sensor_row *rows, size_t count);

#endif
