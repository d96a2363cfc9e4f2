/* alternatives.h: what a runtime could run instead. An engine tries kernels and layouts and keeps the fastest, a
 * network in fewer bits could run the wider kernels: so where nothing was measured, neither is slower than these. */
#ifndef SOOTH_PREDICT_ALTERNATIVES_H
#define SOOTH_PREDICT_ALTERNATIVES_H

#include "predict/lowered.h"

/* Lowers and predicts the bound model. An engine takes the faster layout, which `where` receives. If the stack is named
 * or a measured row is scored, measurements stand. `*held` receives a reference to the program. Allocates in `a`. */
prediction *predict_best(sooth_model *model, const predictor *with, setting *where, lowered **held, arena *a);

/* Limits a prediction of the bound model to those of the settings that it could run instead. Does nothing where
 * measurements stand. */
void limit_by_alternatives(prediction *p, sooth_model *model, const predictor *with, const setting *where, arena *a);

#endif
