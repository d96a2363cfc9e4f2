/* measure.h: `sooth measure`: a training step on this processor, layer by layer, by each library. */
#ifndef SOOTH_MEASURE_MEASURE_H
#define SOOTH_MEASURE_MEASURE_H

#include "measure/images.h"
#include "measure/machine.h"
#include "measure/run.h"
#include "measure/state.h"

typedef struct measure_options {
    const char *libraries; /* names separated by commas; NULL: all installed ones */
    int threads;           /* 0: all cores */
    int warmup, repeat;
    double rate, momentum; /* settings of SGD */
    bool renews_data;      /* gives each step another batch */
    str load;              /* bytes of a safetensors file with parameters; empty if there is none */
    const char *load_path; /* path of that file, for messages */
    int images;            /* number of files for the input pipeline; 0: does not measure it */
    int workers;           /* workers that load images; 0: as many as threads */
    const char *directory; /* directory for those files */
    state_put save;        /* receives the state after the first step of the first library; NULL: nothing is saved */
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
    measured_layer *layers; /* indexed by layer of the net */
    measured_time step_ms;  /* time of forward, backward and update together */
    double *losses;         /* loss of each step, including the warm-up */
    int64_t bytes[RUN_PARTS];
} measured_run;

typedef struct measured {
    const run_net *net;
    machine machine;
    int run_count, steps, threads;
    measured_run runs[RUN_LIBRARIES];
    image_times images;         /* `images` is 0 if it was not measured */
    const char *images_missing; /* reason why it was not measured; NULL otherwise */
} measured;

/* Roofline time of a pass: the longer of its operations at the peak and its bytes at the bandwidth. */
double measure_roofline_ms(const measured *m, const sooth_model *model, int layer, run_pass pass);
double measure_pass_flops(const measured *m, const sooth_model *model, int layer, run_pass pass);

/* Measures the bound model. Allocates everything in the arena; fails through `f`. */
measured *measure(sooth_model *model, const measure_options *options, arena *a, fail *f);

/* Makes the answer for the writers of src/report from run `index` of the measurement. */
struct sooth_train;
void measure_answer(struct sooth_train *t, const sooth_model *model, const measured *m, int index);

/* Writes the report: that of `sooth train-phase` for the first library, with `measured` fields, then all libraries
 * side by side and, with `compares`, the roofline of this processor. The caller frees *bytes. */
sooth_status measure_report(struct sooth_train *t, const sooth_model *model, const measured *m, bool compares,
                            const sooth_report_options *options, char **bytes, size_t *size, sooth_error *error);

#endif
