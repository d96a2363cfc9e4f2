/* measure.h: `sooth measure`: a training step on this processor, layer by layer, by each library. */
#ifndef SOOTH_MEASURE_MEASURE_H
#define SOOTH_MEASURE_MEASURE_H

#include "measure/machine.h"
#include "measure/run.h"
#include "measure/state.h"

typedef struct measure_options {
    const char *libraries; /* names, separated by commas; NULL: those that are there, else an error */
    int threads;           /* 0: all cores */
    int warmup, repeat;
    double rate, momentum; /* of SGD */
    bool renews_data;      /* each step gets another batch */
    state_put save;        /* NULL: nothing is saved; gets the state after the first step of the first library */
    void *save_context;
} measure_options;

/* Quartiles over the repetitions. */
typedef struct measured_time {
    double low, median, high;
} measured_time;

typedef struct measured_layer {
    const char *library, *algorithm;
    measured_time ms[RUN_PASSES];
    int64_t workspace_bytes;
} measured_layer;

typedef struct measured_run {
    run_library library;
    measured_layer *layers; /* of the net */
    measured_time step_ms;  /* forward, backward and update by the clock, once */
    double *losses;         /* of each step, warm-up included */
    int64_t bytes[RUN_PARTS];
} measured_run;

typedef struct measured {
    const run_net *net;
    machine machine;
    int run_count, steps, threads;
    measured_run runs[RUN_LIBRARIES];
} measured;

/* Measures the bound model. Everything is in the arena; fails through `f`. */
measured *measure(sooth_model *model, const measure_options *options, arena *a, fail *f);

/* The answer for the writers of src/report; run `index` of the measurement. */
struct sooth_train;
void measure_answer(struct sooth_train *t, const sooth_model *model, const measured *m, int index);

#endif
