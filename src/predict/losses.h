/* losses.h: splits the latency of a pass into utilization and losses, which sum to 100 %. */
#ifndef SOOTH_PREDICT_LOSSES_H
#define SOOTH_PREDICT_LOSSES_H

#include "predict/answer.h"

/* In percent of the latency; all NAN if the peak is unknown. doc/survey.md has the formulas. */
sooth_losses losses_of(const sooth_prediction *answer);

#endif
