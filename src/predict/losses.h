/* losses.h: where the GPU's peak goes. The utilization and the losses of a pass sum to 100 % of its latency. */
#ifndef SOOTH_PREDICT_LOSSES_H
#define SOOTH_PREDICT_LOSSES_H

#include "predict/answer.h"

/* In percent of the latency; all NAN if the peak is unknown. doc/survey.md has the formulas. */
sooth_losses losses_of(const sooth_prediction *answer);

#endif
