/* survey_summary.c: computes the distribution of the utilization by column, and how similarly GPUs rank networks. */
#include "base/statistics.h"
#include "report/survey_report.h"

#include <math.h>
#include <stdlib.h>

const char *const SURVEY_LOSS_NAMES[SURVEY_LOSSES] = {"launch", "memory", "units", "waves", "alignment", "other"};

void survey_losses(const sooth_losses *lost, double values[SURVEY_LOSSES])
{
    const double all[SURVEY_LOSSES] = {lost->launch, lost->memory,    lost->units,
                                       lost->waves,  lost->alignment, lost->other};
    memcpy(values, all, sizeof all);
}

size_t survey_largest_loss(const sooth_losses *lost)
{
    double values[SURVEY_LOSSES];
    survey_losses(lost, values);
    size_t largest = 0;
    for (size_t i = 1; i < SURVEY_LOSSES; i++)
        if (values[i] > values[largest])
            largest = i;
    return largest;
}

static bool has_figures(const sooth_survey_row *row)
{
    return !*row->error && isfinite(row->utilization);
}

static void summarize_column(survey_report *r, size_t column)
{
    survey_column *c = &r->columns[column];
    c->like = survey_row(r, 0, column);
    c->sorted = ARENA_ARRAY(r->scratch, double, r->network_count);
    for (size_t n = 0; n < r->network_count; n++) {
        sooth_survey_row row = survey_row(r, n, column);
        r->failed += *row.error != '\0';
        r->has_accuracy |= isfinite(row.accuracy);
        if (!has_figures(&row))
            continue;
        double losses[SURVEY_LOSSES];
        survey_losses(&row.lost, losses);
        c->sorted[c->count++] = row.utilization;
        c->mean += row.utilization;
        for (size_t i = 0; i < SURVEY_LOSSES; i++)
            c->losses[i] += losses[i];
    }
    qsort(c->sorted, c->count, sizeof *c->sorted, statistics_ascending);
    c->p10 = statistics_quantile(c->sorted, c->count, 0.1);
    c->p25 = statistics_quantile(c->sorted, c->count, 0.25);
    c->median = statistics_quantile(c->sorted, c->count, 0.5);
    c->p75 = statistics_quantile(c->sorted, c->count, 0.75);
    c->p90 = statistics_quantile(c->sorted, c->count, 0.9);
    c->most = statistics_quantile(c->sorted, c->count, 1);
    c->mean /= (double)c->count;
    for (size_t i = 0; i < SURVEY_LOSSES; i++)
        c->losses[i] /= (double)c->count;
}

/* ---- rank correlation -------------------------------------------------------------------------------------------- */

static survey_correlation correlate(survey_report *r, size_t a, size_t b, double *room, statistics_rank *sorting)
{
    size_t n = r->network_count, count = 0;
    double *x = room, *y = room + n;
    for (size_t i = 0; i < n; i++) {
        sooth_survey_row left = survey_row(r, i, a), right = survey_row(r, i, b);
        if (!has_figures(&left) || !has_figures(&right))
            continue;
        x[count] = left.utilization;
        y[count++] = right.utilization;
    }
    return (survey_correlation){a, b, count, statistics_spearman(x, y, count, sorting)};
}

static void correlate_gpus(survey_report *r)
{
    size_t groups = r->column_count / r->gpu_count, pairs = r->gpu_count * (r->gpu_count - 1) / 2;
    r->correlations = ARENA_ARRAY(r->scratch, survey_correlation, groups * pairs + 1);
    double *room = ARENA_ARRAY(r->scratch, double, 2 * r->network_count);
    statistics_rank *sorting = ARENA_ARRAY(r->scratch, statistics_rank, r->network_count);
    for (size_t g = 0; g < groups; g++)
        for (size_t a = 0; a < r->gpu_count; a++)
            for (size_t b = a + 1; b < r->gpu_count; b++)
                r->correlations[r->correlation_count++] =
                    correlate(r, g * r->gpu_count + a, g * r->gpu_count + b, room, sorting);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool same_setting(const sooth_survey_row *a, const sooth_survey_row *b)
{
    return a->batch == b->batch && a->precision == b->precision && a->layout == b->layout && a->runtime == b->runtime;
}

void survey_summarize(survey_report *r)
{
    size_t rows = sooth_survey_row_count(r->survey);
    sooth_survey_row first = sooth_survey_row_at(r->survey, 0);
    while (r->column_count < rows && sooth_survey_row_at(r->survey, r->column_count).graph == first.graph)
        r->column_count++; /* columns point to the row's strings */
    r->network_count = rows / r->column_count;
    for (r->gpu_count = 1; r->gpu_count < r->column_count; r->gpu_count++) {
        sooth_survey_row next = sooth_survey_row_at(r->survey, r->gpu_count);
        if (!same_setting(&first, &next))
            break;
    }
    r->columns = ARENA_ARRAY(r->scratch, survey_column, r->column_count);
    for (size_t c = 0; c < r->column_count; c++)
        summarize_column(r, c);
    correlate_gpus(r);
}
