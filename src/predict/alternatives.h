/* alternatives.h: settings that bound a prediction from above. An engine tries kernels and layouts and keeps the
 * fastest, and a network in fewer bits could run the kernels with more bits. Unless measurements say otherwise,
 * neither is predicted to be slower than these alternatives. */
#ifndef SOOTH_PREDICT_ALTERNATIVES_H
#define SOOTH_PREDICT_ALTERNATIVES_H

#include "predict/lowered.h"

/* Lowers and predicts the bound model. An engine takes the faster layout, which `where` receives. Predictions for a
 * named stack or a measured row are not limited, because measurements back them. `*held` receives a reference to the
 * program. Allocates in `a`. */
prediction *predict_best(sooth_model *model, const predictor *with, setting *where, lowered **held, arena *a);

/* Limits a prediction of the bound model to those of the settings that it could run instead. Does nothing if
 * measurements back it. */
void limit_by_alternatives(prediction *p, sooth_model *model, const predictor *with, const setting *where, arena *a);

#endif
