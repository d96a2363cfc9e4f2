/* source.h: how the public benchmarks ran their networks, where that is not what PyTorch does by itself (data/benchmarks.txt). */
#ifndef SOOTH_PREDICT_SOURCE_H
#define SOOTH_PREDICT_SOURCE_H

#include "base/fail.h"
#include "predict/predict.h"

/* The setting as rows of a source were measured; other sources change nothing. Call it once device, precision and stack are set. */
void source_follow(setting *s, str source, fail *f);

#endif
