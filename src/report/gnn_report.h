/* gnn_report.h: the answers of `sooth gnn` as a table, JSON or CSV. */
#ifndef SOOTH_REPORT_GNN_REPORT_H
#define SOOTH_REPORT_GNN_REPORT_H

#include "sooth.h"

/* A trained model. */
typedef struct gnn_trained {
    const char *set, *output, *model, *node_features, *split, *schedule;
    int64_t hidden, parameters, graphs, labels[4]; /* labels: train, validation, test, unused */
    int64_t epochs, best_epoch, batch_size, seed, left_out, nodes;
    double rate, validation_error; /* mean error in the logarithm */
    double seconds;                /* duration of the training, without reading the set */
    /* Duration of the steps of an epoch: the median over this run. Processor time is the sum over all threads. */
    double epoch_seconds, epoch_processor_seconds;
} gnn_trained;

/* Errors of a predictor for one output, of all labels or of a group of them. Shares are in percent. */
typedef struct gnn_score {
    const char *predictor, *output, *by, *group; /* `by` is "" for all labels */
    int64_t labels;
    double mape, median, p90, within10, spearman, coverage90;
} gnn_score;

typedef struct gnn_evaluation {
    const char *model_path, *set, *model, *node_features, *split, *part;
    int64_t hidden, epochs, graphs, labels, scored_graphs; /* `labels` and `scored_graphs` are those of the part */
    double seconds, processor_seconds;                     /* of the model's predictions */
    const gnn_score *scores;
    size_t score_count;
} gnn_evaluation;

typedef struct gnn_answer {
    const char *model_path, *network, *gpu, *precision, *layout, *runtime, *mode, *model, *node_features;
    int64_t batch;
    sooth_interval latency_ms, energy_j, memory_mib; /* NAN: not trained */
    const char *dippm_profile;                       /* "" if there is none, or memory was not trained */
} gnn_answer;

/* The slice of a network by DIPPM's rule, with the memory of one predictor, and Sooth's own choice. */
typedef struct gnn_ruled_row {
    const char *network, *predictor, *profile, *choice; /* profiles: "" if there is none */
    int64_t batch;
    sooth_interval memory_mib;
} gnn_ruled_row;

typedef struct gnn_ruled {
    const char *gpu, *weights;
    const gnn_ruled_row *rows;
    size_t count;
} gnn_ruled;

/* The text is the caller's to free. Formats: table, JSON; for scores and slices also CSV. */
sooth_status gnn_trained_report(const gnn_trained *t, const sooth_report_options *options, char **text, size_t *size,
                                sooth_error *error);
sooth_status gnn_evaluation_report(const gnn_evaluation *e, const sooth_report_options *options, char **text,
                                   size_t *size, sooth_error *error);
sooth_status gnn_answer_report(const gnn_answer *a, const sooth_report_options *options, char **text, size_t *size,
                               sooth_error *error);
sooth_status gnn_ruled_report(const gnn_ruled *r, const sooth_report_options *options, char **text, size_t *size,
                              sooth_error *error);

#endif
