/* train_libraries.h: the convolutions of a training step by cuDNN and by cuBLAS. */
#ifndef SOOTH_PLAN_TRAIN_LIBRARIES_H
#define SOOTH_PLAN_TRAIN_LIBRARIES_H

#include "plan/conv_library.h"
#include "plan/train_phase.h"

typedef struct train_library_choice {
    conv_constants constants;
    int version;    /* Version of cuDNN as an index of the constants; -1: as predicted. */
    bool is_cublas; /* True if the step runs im2col + cuBLAS. */
    bool compares;  /* True if the other library is computed too. */
    conv_gpu gpu;
    double element_bytes;
} train_library_choice;

/* Selects the library. Removes the version of cuDNN from the stack in `settings`; GPUs older than any measured one
 * get cuDNN 5.1. `launch_us` is the host's launch time. Fails through `f` for unknown names. */
train_library_choice train_library_chosen(const char *library, sooth_predict_options *settings, const sooth_gpu *gpu,
                                          double launch_us, fail *f);
/* Fills in the layers' libraries, and replaces the times of convolutions if the step does not run as predicted.
 * `first` is train_first_layer(). */
void train_libraries(sooth_train *t, const sooth_model *model, const sooth_prediction *p, size_t first,
                     train_library_choice *choice);
/* True if the predictor's times of convolutions are replaced. */
bool train_library_replaces(const train_library_choice *choice);

#endif
