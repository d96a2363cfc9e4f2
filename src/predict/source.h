/* source.h: how the scripts ran networks that measured the public tables, where that is not what PyTorch does by itself. */
#ifndef SOOTH_PREDICT_SOURCE_H
#define SOOTH_PREDICT_SOURCE_H

#include "predict/predict.h"

/* The setting as rows of a source were measured; other sources change nothing. `name`: the network's in the source's table. Once device,
 * precision and stack are set. */
void source_follow(setting *s, str source, str name);

#endif
