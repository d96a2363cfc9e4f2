/* train_layers.h: fills the layers of a training step from a prediction, and checks the study's findings. */
#ifndef SOOTH_PLAN_TRAIN_LAYERS_H
#define SOOTH_PLAN_TRAIN_LAYERS_H

#include "plan/train_phase.h"

/* `l2_bytes_s` is the rate of the L2 cache; NAN: unknown. */
void train_layers(sooth_train *t, const sooth_model *model, const sooth_prediction *p, double l2_bytes_s);
/* Returns the first layer with parameters; it needs no gradient of its input. */
size_t train_first_layer(const sooth_model *model);
/* Call it after layers and memory are filled in. */
void train_findings(sooth_train *t);

#endif
