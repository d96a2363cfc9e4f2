/* train_regions.h: chooses the regions that activation checkpointing computes again. */
#ifndef SOOTH_PLAN_TRAIN_REGIONS_H
#define SOOTH_PLAN_TRAIN_REGIONS_H

#include "graph/graph.h"
#include "plan/train_phase.h"

/* Modules whose paths match one of the patterns. The outermost match is one region. Fails with SOOTH_ERROR_USAGE if
 * nothing matches. */
const recomputed_regions *train_regions_named(sooth_train *t, const sooth_model *model, const char *patterns);
/* Segments of consecutive layers for which outputs of all segments plus the largest segment need the least memory. A
 * segment ends where a single tensor connects it to the rest of the network; the last one is not computed again.
 * `p` predicts the step without checkpoints, with memory. */
const recomputed_regions *train_regions_of_least_memory(sooth_train *t, const sooth_model *model,
                                                        const sooth_prediction *p);

#endif
