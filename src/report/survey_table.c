/* survey_table.c: `sooth survey` for people at a terminal: the distribution of the utilization and where the peak goes,
 * by GPU and batch; single rows if they are few. */
#include "report/grid.h"
#include "report/survey_report.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_ROWS = 60, MOST_ERRORS = 8 };

static void add_percent(grid *g, double x)
{
    if (isfinite(x))
        grid_printf(g, "%.1f", x);
    else
        grid_add(g, "?");
}

static bool differs(const survey_report *r, const char *(*part)(const sooth_survey_row *))
{
    for (size_t i = 1; i < r->column_count; i++)
        if (strcmp(part(&r->columns[i].like), part(&r->columns[0].like)) != 0)
            return true;
    return false;
}

static const char *precision_of(const sooth_survey_row *row)
{
    return row->precision;
}

static const char *layout_of(const sooth_survey_row *row)
{
    return row->layout;
}

static const char *runtime_of(const sooth_survey_row *row)
{
    return row->runtime;
}

/* True if columns differ in more than GPU and batch; their names then include the setting. */
static bool has_settings(const survey_report *r)
{
    return differs(r, precision_of) || differs(r, layout_of) || differs(r, runtime_of);
}

static void add_setting(grid *g, const survey_report *r, const sooth_survey_row *row)
{
    if (has_settings(r))
        grid_printf(g, "%s %s %s", row->precision, row->layout, row->runtime);
}

/* Begins a grid; omits the column "setting" if all rows have the same setting. */
static void begin_grid(grid *g, survey_report *r, const grid_column *columns, size_t count)
{
    grid_column *shown = ARENA_ARRAY(r->scratch, grid_column, count);
    size_t shown_count = 0;
    for (size_t i = 0; i < count; i++)
        if (has_settings(r) || strcmp(columns[i].title, "setting") != 0)
            shown[shown_count++] = columns[i];
    grid_begin(g, r->out, r->scratch, &r->options, shown, shown_count);
}

static void write_heading(survey_report *r)
{
    const sooth_survey_row *like = &r->columns[0].like;
    text_printf(r->out, "%zu network%s on %zu GPU%s: %zu predictions", r->network_count,
                r->network_count == 1 ? "" : "s", r->gpu_count, r->gpu_count == 1 ? "" : "s",
                sooth_survey_row_count(r->survey));
    if (!has_settings(r))
        text_printf(r->out, ", %s, %s, %s", like->precision, like->layout, like->runtime);
    text_printf(r->out, ", %s\n\n", sooth_survey_mode(r->survey));
}

static void write_columns(survey_report *r)
{
    static const grid_column COLUMNS[] = {
        {"GPU", CELL_LEFT, 0},    {"batch", CELL_RIGHT, 0}, {"setting", CELL_LEFT, 0}, {"n", CELL_RIGHT, 9},
        {"p10", CELL_RIGHT, 2},   {"p25", CELL_RIGHT, 4},   {"median", CELL_RIGHT, 0}, {"p75", CELL_RIGHT, 4},
        {"p90", CELL_RIGHT, 2},   {"max", CELL_RIGHT, 5},   {"launch", CELL_RIGHT, 0}, {"memory", CELL_RIGHT, 0},
        {"units", CELL_RIGHT, 0}, {"waves", CELL_RIGHT, 0}, {"align.", CELL_RIGHT, 0}, {"other", CELL_RIGHT, 0}};
    text_puts(r->out, "  GPU utilization of the networks in percent of the peak, and mean losses: where the rest of "
                      "the peak goes\n\n");
    grid g;
    begin_grid(&g, r, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < r->column_count; i++) {
        const survey_column *c = &r->columns[i];
        grid_add(&g, c->like.gpu);
        grid_printf(&g, "%" PRId64, c->like.batch);
        add_setting(&g, r, &c->like);
        grid_printf(&g, "%zu", c->count);
        const double shown[] = {c->p10, c->p25, c->median, c->p75, c->p90, c->most};
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
            add_percent(&g, shown[k]);
        for (size_t k = 0; k < SURVEY_LOSSES; k++)
            add_percent(&g, c->losses[k]);
    }
    grid_write(&g);
}

static void write_correlations(survey_report *r)
{
    const survey_correlation *least = NULL, *most = NULL;
    for (size_t i = 0; i < r->correlation_count; i++) {
        const survey_correlation *c = &r->correlations[i];
        if (isnan(c->rho))
            continue;
        least = !least || c->rho < least->rho ? c : least;
        most = !most || c->rho > most->rho ? c : most;
    }
    if (!least)
        return;
    const sooth_survey_row *a = &r->columns[least->a].like, *b = &r->columns[least->b].like;
    text_printf(r->out,
                "\n  Rank correlation of the utilization between two GPUs: %.2f to %.2f (lowest: %s and %s, batch "
                "%" PRId64 ").\n",
                least->rho, most->rho, a->gpu, b->gpu, a->batch);
}

static void write_rows(survey_report *r)
{
    static const grid_column COLUMNS[] = {
        {"network", CELL_LEFT, 0}, {"GPU", CELL_LEFT, 0},         {"batch", CELL_RIGHT, 0},
        {"setting", CELL_LEFT, 3}, {"latency ms", CELL_RIGHT, 0}, {"low", CELL_RIGHT, 5},
        {"high", CELL_RIGHT, 5},   {"samples/s", CELL_RIGHT, 0},  {"GPU", CELL_RIGHT, 0},
        {"DRAM", CELL_RIGHT, 2},   {"occupancy", CELL_RIGHT, 4},  {"largest loss", CELL_LEFT, 1}};
    text_puts(r->out, "\n");
    grid g;
    begin_grid(&g, r, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < sooth_survey_row_count(r->survey); i++) {
        sooth_survey_row row = sooth_survey_row_at(r->survey, i);
        if (*row.error)
            continue;
        char room[NUMBER_ROOM];
        double losses[SURVEY_LOSSES];
        survey_losses(&row.lost, losses);
        size_t largest = survey_largest_loss(&row.lost);
        grid_add(&g, row.name);
        grid_add(&g, row.gpu);
        grid_printf(&g, "%" PRId64, row.batch);
        add_setting(&g, r, &row);
        grid_add(&g, number_digits(room, row.latency_ms.value));
        grid_add(&g, number_digits(room, row.latency_ms.low));
        grid_add(&g, number_digits(room, row.latency_ms.high));
        grid_add(&g, number_digits(room, row.throughput_per_s));
        grid_printf(&g, "%.1f %%", row.utilization);
        grid_printf(&g, "%.1f %%", row.dram_utilization);
        grid_printf(&g, "%.1f %%", row.occupancy);
        grid_printf(&g, "%s %.1f %%", SURVEY_LOSS_NAMES[largest], losses[largest]);
    }
    grid_write(&g);
}

/* Prints one line per reason, because a file that cannot be read fails on every GPU. */
static void write_errors(survey_report *r)
{
    size_t shown = 0, rows = sooth_survey_row_count(r->survey);
    const char *last_graph = NULL, *last_error = "";
    text_printf(r->out, "\n  %zu of %zu rows have no prediction:\n", r->failed, rows);
    for (size_t i = 0; i < rows; i++) {
        sooth_survey_row row = sooth_survey_row_at(r->survey, i);
        if (!*row.error || (row.graph == last_graph && strcmp(row.error, last_error) == 0))
            continue;
        last_graph = row.graph;
        last_error = row.error;
        if (shown++ == MOST_ERRORS) {
            text_puts(r->out, "  … the column 'error' of --format csv has all of them\n");
            return;
        }
        text_puts(r->out, "  ");
        text_name(r->out, row.name, SIZE_MAX, r->options.ascii);
        text_puts(r->out, ": ");
        text_name(r->out, row.error, SIZE_MAX, r->options.ascii);
        text_puts(r->out, "\n");
    }
}

void survey_table(survey_report *r)
{
    size_t rows = sooth_survey_row_count(r->survey);
    write_heading(r);
    write_columns(r);
    write_correlations(r);
    if (rows <= MOST_ROWS)
        write_rows(r);
    else
        text_puts(r->out, "\n  Single networks: --format csv or json; pictures: --format html -o FILE.\n");
    if (r->failed)
        write_errors(r);
}
