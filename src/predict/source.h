/* source.h: how the public benchmarks ran their networks, where it differs from PyTorch's defaults. */
#ifndef SOOTH_PREDICT_SOURCE_H
#define SOOTH_PREDICT_SOURCE_H

#include "predict/predict.h"

/* Changes the setting to that of the source's rows; other sources change nothing. `name` is the network's name in the
 * source's table. Call it once device, precision and stack are set. */
void source_follow(setting *s, str source, str name);

#endif
