/* choose.h: the result of sooth_choose. */
#ifndef SOOTH_PLAN_CHOOSE_H
#define SOOTH_PLAN_CHOOSE_H

#include "base/arena.h"

struct sooth_choices {
    arena arena;
    fail fail;
    const char *file, *mode, *weights;
    double latency_ms, throughput_per_s; /* targets; 0 if not set */
    int64_t epoch_samples;
    bool has_prices;
    sooth_choice *items; /* ranked */
    size_t count;
};

#endif
