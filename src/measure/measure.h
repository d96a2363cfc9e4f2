/* measure.h: `sooth measure`: a training step on this processor, layer by layer, by each library. */
#ifndef SOOTH_MEASURE_MEASURE_H
#define SOOTH_MEASURE_MEASURE_H

#include "measure/images.h"
#include "measure/machine.h"
#include "measure/run.h"
#include "measure/state.h"

typedef struct measure_options {
    const char *libraries; /* names, separated by commas; NULL: those that are there, else an error */
    int threads;           /* 0: all cores */
    int warmup, repeat;
    double rate, momentum; /* of SGD */
    bool renews_data;      /* each step gets another batch */
    str load;              /* bytes of a safetensors file with parameters; empty: none */
    const char *load_path; /* for messages */
    int images;            /* files of the input pipeline; 0: it is not measured */
    int workers;           /* that load images; 0: as many as threads */
    const char *directory; /* for those files */
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
    image_times images;         /* images is 0 if they were not measured */
    const char *images_missing; /* why they were not; NULL */
} measured;

/* What a roofline predicts for a pass: the longer of its operations at the peak and its bytes at the bandwidth. */
double measure_roofline_ms(const measured *m, const sooth_model *model, int layer, run_pass pass);
double measure_pass_flops(const measured *m, const sooth_model *model, int layer, run_pass pass);

/* Measures the bound model. Everything is in the arena; fails through `f`. */
measured *measure(sooth_model *model, const measure_options *options, arena *a, fail *f);

/* The answer for the writers of src/report; run `index` of the measurement. */
struct sooth_train;
void measure_answer(struct sooth_train *t, const sooth_model *model, const measured *m, int index);

/* The report: that of `sooth train-phase` for the first library, with `measured` fields; then libraries side by side and,
 * with `compares`, the roofline of this processor. The caller frees *bytes. */
sooth_status measure_report(struct sooth_train *t, const sooth_model *model, const measured *m, bool compares,
                            const sooth_report_options *options, char **bytes, size_t *size, sooth_error *error);

#endif
