/* train_phase.h: a training step by stage and layer. `sooth train-phase` predicts it; other callers may fill it with
 * measured times for the writers of src/report. */
#ifndef SOOTH_PLAN_TRAIN_PHASE_H
#define SOOTH_PLAN_TRAIN_PHASE_H

#include "base/arena.h"

enum { TRAIN_READ, TRAIN_DECODE, TRAIN_COPY, TRAIN_FORWARD, TRAIN_BACKWARD, TRAIN_UPDATE };
/* Parts of the time of convolutions by cuBLAS. */
typedef struct train_parts {
    double products_ms, copies_ms, launches_ms, launches;
} train_parts;

enum { TRAIN_FINDINGS = 4, TRAIN_CHANGES = 8, TRAIN_NOTES = 16 };

struct sooth_train {
    arena arena;
    fail fail;
    sooth_train_totals totals;
    sooth_train_stage stages[SOOTH_TRAIN_STAGES];
    sooth_train_layer *layers;
    size_t layer_count;
    sooth_train_moment *moments;
    size_t moment_count;
    train_parts cublas_parts; /* 0: not computed */
    sooth_train_finding findings[TRAIN_FINDINGS];
    size_t finding_count;
    sooth_train_change changes[TRAIN_CHANGES];
    size_t change_count;
    const char *notes[TRAIN_NOTES];
    size_t note_count;
};

/* Creates an empty answer; NULL if out of memory. Free with sooth_train_free. */
sooth_train *train_new(sooth_error *error);
void train_note(sooth_train *t, const char *note);

/* ---- the input pipeline (input_pipeline.c) ---------------------------------------------------------------------- */

typedef struct train_data {
    const char *name;
    double bytes;        /* size of a stored sample */
    double mpixels;      /* decoded megapixels; 0: no decoding */
    double sample_bytes; /* size of a sample on the device */
} train_data;
/* Reads a description; fails through `f`. `sample_bytes` and `is_image` describe the network's inputs. */
train_data train_data_of(const char *text, double sample_bytes, bool is_image, arena *a, fail *f);

typedef struct pipeline {
    double read_ms, decode_ms, copy_ms; /* Time of one step on one core. */
    double storage_ms;                  /* time at the storage's full rate, with many concurrent reads */
    double gpu_ms;
    double core_ms;    /* Time of reading and decoding on one core. */
    double hand_ms;    /* Time to hand the samples over from the workers to the main process. */
    double efficiency; /* efficiency of a worker, 0 to 1 */
    int cores;
    bool pinned;
} pipeline;
pipeline pipeline_of(const sooth_host *host, const train_data *data, double samples, double copies, double gpu_ms,
                     bool pinned);
double pipeline_loader_ms(const pipeline *p, int workers);
double pipeline_step_ms(const pipeline *p, int workers);
/* Smallest number of workers at which the GPU never waits; -1 if there is none. */
int pipeline_workers_needed(const pipeline *p);
/* The GPU's waiting time in percent of the step. */
double pipeline_waits(const pipeline *p, double step_ms);
const char *pipeline_limit(const pipeline *p, int workers);

#endif
