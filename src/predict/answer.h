/* answer.h: a prediction as returned by the public interface: the program and its times, summed by layer and in total.
 * It owns its data and outlives the model. */
#ifndef SOOTH_PREDICT_ANSWER_H
#define SOOTH_PREDICT_ANSWER_H

#include "predict/energy.h"
#include "predict/footprint.h"
#include "predict/lowered.h"
#include "predict/setting.h"

/* A launched kernel with its share of the latency, including preceding views. */
typedef struct launched_kernel {
    int32_t index;
    int32_t layer;
    const char *name;
    double latency_ms;
    double energy_j;
} launched_kernel;

typedef struct unknown_operator {
    const char *op;
    size_t count;
} unknown_operator;

struct sooth_prediction {
    arena arena;
    lowered *lowered;       /* Shared; NULL until it is computed. */
    const program *program; /* Program of `lowered`. */
    const prediction *times;
    const footprint *memory; /* NULL if not requested. */
    sooth_prediction_totals totals;
    sooth_predicted_layer *layers;
    int32_t layer_count;
    launched_kernel *kernels;
    int32_t kernel_count;
    struct {
        unknown_operator *items;
        int32_t count, capacity;
    } unknown;
    struct {
        const char **items;
        int32_t count, capacity;
    } notes;
    const char *layers_note; /* Note about the figures of single layers; NULL if there is none. */
};

/* Lowers, predicts and fills everything. The arena must exist. Fails through the model. */
void answer_make(sooth_prediction *answer, sooth_model *model, const predictor *with, setting *where,
                 double power_limit_w, double co2_g_per_kwh, bool with_memory);

/* Scales the intervals of the totals, which answer_make() leaves at 90 %, to another of INTERVAL_PERCENT. */
void answer_set_level(sooth_prediction *answer, int percent);
/* Returns the 90 % interval `x` of memory at the level of the prediction. */
sooth_interval answer_at_level(const sooth_prediction *answer, sooth_interval x);

/* Computes only the memory. Allocates the trial in `a` and nothing in the prediction. */
void answer_make_trial(sooth_prediction *answer, sooth_model *model, const setting *where, memory_trial *trial,
                       arena *a);

/* Computes only the memory, on the given device (api/predict.c). Otherwise like sooth_predict. Allocates the trial
 * in `a` and leaves its batch unset. */
sooth_status predict_trial(sooth_model *model, const sooth_predict_options *options, memory_trial *trial, arena *a,
                           sooth_error *error);
/* Calls memory_trial_between() for the model's trials and sets `is_known` to its result. */
sooth_status predict_between(sooth_model *model, const memory_trial *one, const memory_trial *other, int64_t batch,
                             footprint *f, bool *is_known, sooth_error *error);
/* Returns the device of the options: the given, named or default one. Sets `opened` to the GPUs that the caller must
 * close; NULL if the device was given. */
sooth_status predict_device(const sooth_predict_options *options, sooth_gpus **opened, const sooth_gpu **device,
                            sooth_error *error);

const char *bound_name(kernel_bound bound);

#endif
