/* survey_summary.c: distribution of the utilization by column, and how alike GPUs rank networks. */
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

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Between the two nearest values, as NumPy's default. */
static double quantile(const double *sorted, size_t count, double share)
{
    if (!count)
        return NAN;
    double at = share * (double)(count - 1);
    size_t below = (size_t)at;
    double above = below + 1 < count ? sorted[below + 1] : sorted[below];
    return sorted[below] + (at - (double)below) * (above - sorted[below]);
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
    qsort(c->sorted, c->count, sizeof *c->sorted, ascending);
    c->p10 = quantile(c->sorted, c->count, 0.1);
    c->p25 = quantile(c->sorted, c->count, 0.25);
    c->median = quantile(c->sorted, c->count, 0.5);
    c->p75 = quantile(c->sorted, c->count, 0.75);
    c->p90 = quantile(c->sorted, c->count, 0.9);
    c->most = quantile(c->sorted, c->count, 1);
    c->mean /= (double)c->count;
    for (size_t i = 0; i < SURVEY_LOSSES; i++)
        c->losses[i] /= (double)c->count;
}

/* ---- rank correlation -------------------------------------------------------------------------------------------- */

typedef struct ranked {
    double value;
    size_t index;
} ranked;

static int by_value(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Ties share the mean of their ranks. */
static void rank_values(const double *values, size_t count, ranked *room, double *ranks)
{
    for (size_t i = 0; i < count; i++)
        room[i] = (ranked){values[i], i};
    qsort(room, count, sizeof *room, by_value);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && room[end].value == room[i].value)
            end++;
        for (size_t k = i; k < end; k++)
            ranks[room[k].index] = (double)(i + end - 1) / 2;
        i = end;
    }
}

static double correlation(const double *x, const double *y, size_t count)
{
    double mean = (double)(count - 1) / 2, xy = 0, xx = 0, yy = 0;
    for (size_t i = 0; i < count; i++) {
        xy += (x[i] - mean) * (y[i] - mean);
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
    }
    return count >= 3 && xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

static survey_correlation correlate(survey_report *r, size_t a, size_t b, double *room, ranked *sorting)
{
    size_t n = r->network_count, count = 0;
    double *x = room, *y = room + n, *x_ranks = room + 2 * n, *y_ranks = room + 3 * n;
    for (size_t i = 0; i < n; i++) {
        sooth_survey_row left = survey_row(r, i, a), right = survey_row(r, i, b);
        if (!has_figures(&left) || !has_figures(&right))
            continue;
        x[count] = left.utilization;
        y[count++] = right.utilization;
    }
    rank_values(x, count, sorting, x_ranks);
    rank_values(y, count, sorting, y_ranks);
    return (survey_correlation){a, b, count, correlation(x_ranks, y_ranks, count)};
}

static void correlate_gpus(survey_report *r)
{
    size_t groups = r->column_count / r->gpu_count, pairs = r->gpu_count * (r->gpu_count - 1) / 2;
    r->correlations = ARENA_ARRAY(r->scratch, survey_correlation, groups * pairs + 1);
    double *room = ARENA_ARRAY(r->scratch, double, 4 * r->network_count);
    ranked *sorting = ARENA_ARRAY(r->scratch, ranked, r->network_count);
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
        r->column_count++; /* rows of a network share its strings */
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
