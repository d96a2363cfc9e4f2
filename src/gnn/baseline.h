/* baseline.h: predictions without a graph network, for comparison: roofline and regression. */
#ifndef SOOTH_GNN_BASELINE_H
#define SOOTH_GNN_BASELINE_H

#include "gnn/set.h"

typedef enum gnn_baseline { GNN_ROOFLINE, GNN_REGRESSION, GNN_BASELINES } gnn_baseline;
extern const char *const GNN_BASELINE_NAMES[GNN_BASELINES];

/* Predicts the labels of a role: outputs[row][GNN_OUTPUTS] in their units; NAN if a baseline has no answer.
 *
 * The roofline is the larger of FLOPs ÷ peak rate and bytes ÷ bandwidth; every node reads its input and writes its
 * result. Its memory is those bytes; it has no energy. The regression is that of `sooth eval` (quadratic in the
 * logarithms of MACs, traffic and parameters), fitted to the training labels of the same setting; it has no answer for
 * a setting without training labels. */
void gnn_baseline_predict(const gnn_set *s, gnn_baseline which, gnn_role role, double *outputs, arena *scratch);

#endif
