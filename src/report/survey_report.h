/* survey_report.h: shared by the writers of `sooth survey`: rows by network and column, and the summary. */
#ifndef SOOTH_REPORT_SURVEY_REPORT_H
#define SOOTH_REPORT_SURVEY_REPORT_H

#include "base/arena.h"
#include "report/text.h"

enum { SURVEY_LOSSES = 6 };

/* Utilization of all networks at one GPU, batch and setting: a column of the survey. */
typedef struct survey_column {
    sooth_survey_row like; /* GPU, batch and setting; the other fields are those of the first network */
    size_t count;          /* networks with a prediction */
    double p10, p25, median, p75, p90, most;
    double mean, losses[SURVEY_LOSSES]; /* means over the networks, in percent; they sum to 100 */
    double *sorted;                     /* utilization, ascending */
} survey_column;

/* Spearman's rank correlation of utilization between two columns that differ only in the GPU. */
typedef struct survey_correlation {
    size_t a, b;  /* columns */
    size_t count; /* number of networks predicted on both */
    double rho;   /* NAN if all are equal or there are fewer than two networks */
} survey_correlation;

typedef struct survey_report {
    const sooth_survey *survey;
    sooth_report_options options;
    text *out;
    arena *scratch;
    size_t network_count, column_count, gpu_count;
    survey_column *columns; /* in the order of each network's rows */
    survey_correlation *correlations;
    size_t correlation_count;
    size_t failed; /* number of rows without a prediction */
    bool has_accuracy;
} survey_report;

extern const char *const SURVEY_LOSS_NAMES[SURVEY_LOSSES]; /* "launch", "memory" … */
void survey_losses(const sooth_losses *lost, double values[SURVEY_LOSSES]);
/* Index of the largest loss. */
size_t survey_largest_loss(const sooth_losses *lost);

static inline sooth_survey_row survey_row(const survey_report *r, size_t network, size_t column)
{
    return sooth_survey_row_at(r->survey, network * r->column_count + column);
}

void survey_summarize(survey_report *r);

void survey_table(survey_report *r);
void survey_html(survey_report *r);

#endif
