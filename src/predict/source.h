/* source.h: how the public benchmarks ran their networks, as far as it differs from PyTorch's defaults
 * (data/benchmarks.txt). */
#ifndef SOOTH_PREDICT_SOURCE_H
#define SOOTH_PREDICT_SOURCE_H

#include "base/fail.h"
#include "predict/predict.h"

/* Changes the setting to that of the rows of `source`; an unlisted source changes nothing. Call it after device,
 * precision and stack are set. */
void source_follow(setting *s, str source, fail *f);

#endif
