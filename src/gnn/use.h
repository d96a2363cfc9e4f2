/* use.h: predictions of a trained graph network for a bound model. */
#ifndef SOOTH_GNN_USE_H
#define SOOTH_GNN_USE_H

#include "gnn/file.h"

/* Latency in ms, energy in J, memory in MiB. NAN: not trained. Intervals hold 90 % of the validation labels. */
typedef struct gnn_prediction {
    sooth_interval outputs[GNN_OUTPUTS];
} gnn_prediction;

/* Fails through the arena. */
gnn_prediction gnn_use(const gnn_model *m, const sooth_model *model, const float setting[GNN_SETTINGS], arena *a);

/* The GPU's MIG profile by DIPPM's rule. Of the profiles that each have more compute and memory than the previous one,
 * it is the first whose nominal memory exceeds the prediction. "" if there is none. */
const char *gnn_use_profile(const sooth_gpu *gpu, double memory_mib);

#endif
