/* energy_sensor.h: what a slow sensor showed of operators that were run for it.
 *
 * AIConfigurator's collector reads the board's power every 100 ms, the first time just before the operator runs. It means to run for a
 * second: as many calls as fit into it by a first, timed one, 3000 at most. A call is one operator, or six equal ones for products in
 * bf16. So the run takes min(1 s, 3000 calls), and what is shorter has few readings, which still tell of what ran before: the sensor
 * shows the mean over a window. None of what follows looks at what was measured:
 *   1. A run of a second tells the operator's own power, a shorter one a mixture of it and of what was before.
 *   2. So do, whatever their length, block-scaled fp8, which the collector runs eagerly and compiles for its shape, and attention on a cache:
 *      two entries for the same operator differ by 12 to 60 %.
 *   3. Weights in bf16 are never written. Those for which the process needs more memory than it had before, the last of each sweep, are
 *      zeros; reading and multiplying zeros takes less. */
#ifndef SOOTH_LEARN_ENERGY_SENSOR_H
#define SOOTH_LEARN_ENERGY_SENSOR_H

#include "learn/rows.h"

/* How an operator was run while its power was read. */
typedef struct sensor_run {
    double run_s;   /* how long */
    bool is_own;    /* the reading is the operator's own power */
    bool has_zeros; /* its weights were zeros */
} sensor_run;

/* `main` is the operator's longest kernel. Rows of other sources tell their own power. */
sensor_run sensor_run_of(const measured_row *row, const kernel_time *main);

/* What is fitted of it. */
typedef struct sensor {
    double window_s; /* that a reading is the mean over */
    double idle;     /* of the device's base: what it draws before a run, on average */
} sensor;

/* Mean reading over a run of an operator that draws `own_w`. */
double sensor_reading(const sensor *s, const sensor_run *run, double own_w, double base_w);

typedef struct sensor_row {
    double run_s, own_w, base_w, measured_w;
} sensor_row;
/* The sensor that comes nearest to what was measured, by a search: mean absolute error of logarithms. */
sensor sensor_fit(const sensor_row *rows, size_t count);

#endif
