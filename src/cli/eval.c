/* eval.c: `sooth eval`: errors of predictions on measured rows. */
#include "base/threads.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "learn/dataset.h"
#include "learn/eval_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const FORMATS[] = {"table", "json", NULL}; /* in the order of sooth_format */
static const size_t ARENA_CAP = ARENA_GIB(16);

static void help(const option *options, size_t count)
{
    puts("usage: sooth eval ROWS.csv... [OPTION]...\n\n"
         "Predicts every row of tables of measured networks or operators, and reports the errors beside those of\n"
         "simpler models. Tables are CSV files, optionally compressed with gzip; the manual page lists their "
         "columns.\n\n"
         "Options:");
    options_help(options, count);
}

typedef struct eval_job {
    fail fail;
    sooth_error error;
    const char *subject; /* subject of an error message */
    arena arena, scratch;
    file_map weights;
    evaluation evaluation;
    text out;
    eval_report report;
    const char *weights_path, *predictions, *output;
    const char *const *paths;
    int path_count;
    bool as_json;
    rows_options rows;
    double left_share; /* Share of rows that `sooth learn` left out; 0: every row. */
} job;

/* ---- the list of --by -------------------------------------------------------------------------------------------- */

static bool add_group(job *j, const char *name, size_t length)
{
    for (int by = 0; by < BY_COUNT; by++)
        if (strlen(eval_by_name((eval_by)by)) == length && memcmp(eval_by_name((eval_by)by), name, length) == 0) {
            for (size_t i = 0; i < j->report.by_count; i++)
                if (j->report.by[i] == (eval_by)by)
                    return true;
            j->report.by[j->report.by_count++] = (eval_by)by;
            return true;
        }
    return false;
}

static int read_by(job *j, const char *list)
{
    while (list && *list) {
        size_t length = strcspn(list, ",");
        if (!add_group(j, list, length))
            return cli_usage(
                "eval", "--by takes gpu, family, precision, source, stack, runtime, mode, layout and mig, not '%.*s'",
                (int)(length < 60 ? length : 60), list);
        list += length + (list[length] == ',');
    }
    return SOOTH_OK;
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

static void show_progress(void *context, size_t done, size_t all)
{
    (void)context;
    fprintf(stderr, "\r%zu of %zu rows", done, all);
    fflush(stderr);
}

static const predictor *open_weights(job *j)
{
    j->subject = j->weights_path ? j->weights_path : "the weights that ship with the program";
    if (!j->weights_path)
        return predictor_shipped(&j->fail);
    file_open(&j->weights, j->weights_path, &j->fail);
    file_inflate(&j->weights, &j->fail);
    return predictor_read((str){(const char *)j->weights.bytes, j->weights.size}, "", &j->arena, &j->fail);
}

/* Keeps only the rows that `sooth learn --leave-share` leaves out. */
static void keep_left(job *j, measured_rows *table)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < table->rows.count; i++) {
        const measured_row *r = &table->rows.items[i];
        if (row_is_left(r, architecture_hash(r, &j->arena), j->left_share))
            table->rows.items[kept++] = *r;
    }
    table->rows.count = kept;
}

static void evaluate_tables(job *j, sooth_gpus *gpus)
{
    const predictor *with = open_weights(j);
    measured_rows **tables = ARENA_ARRAY(&j->arena, measured_rows *, (size_t)j->path_count + 1);
    for (int i = 0; i < j->path_count; i++) {
        j->subject = j->paths[i];
        tables[i] = rows_read(j->paths[i], gpus, &j->rows, &j->arena, &j->fail);
        if (j->left_share > 0)
            keep_left(j, tables[i]);
    }
    j->subject = "eval";
    bool shows = isatty(STDERR_FILENO);
    evaluate(&j->evaluation, tables, j->path_count, with, threads_available(), shows ? show_progress : NULL, NULL,
             &j->arena);
    if (shows)
        fprintf(stderr, "\r\033[K");
    j->report.weights = predictor_identity(with, &j->arena);
}

/* Fails with the reasons if no row has a prediction. */
static int check_answers(job *j)
{
    enum { MOST_TOLD = 10 };
    const evaluation *e = &j->evaluation;
    for (size_t i = 0; i < e->count; i++)
        if (!e->rows[i].reason)
            return SOOTH_OK;
    if (!e->count)
        return cli_fail(SOOTH_ERROR_INPUT, j->paths[0], "has no rows");
    size_t count;
    const eval_reason *reasons = eval_reasons(&j->report, &count);
    cli_fail(SOOTH_ERROR_INPUT, "eval", "%s",
             e->count == 1 ? "the row cannot be predicted" : "none of the rows can be predicted");
    for (size_t i = 0; i < count && i < MOST_TOLD; i++)
        cli_fail(SOOTH_ERROR_INPUT, j->paths[reasons[i].first->table], "%zu row%s, first in line %d: %s",
                 reasons[i].rows, reasons[i].rows == 1 ? "" : "s", (int)reasons[i].first->row->line, reasons[i].text);
    if (count > MOST_TOLD)
        cli_fail(SOOTH_ERROR_INPUT, "eval", "%zu more reasons", count - MOST_TOLD);
    return SOOTH_ERROR_INPUT;
}

static int run_job(job *j, sooth_gpus *gpus)
{
    if (setjmp(j->fail.jump))
        return cli_fail(j->error.code, j->subject, "%s", j->error.message);
    evaluate_tables(j, gpus);
    eval_report *r = &j->report;
    r->evaluation = &j->evaluation;
    r->tables = j->paths;
    r->out = &j->out;
    r->scratch = &j->scratch;
    int code = check_answers(j);
    if (code != SOOTH_OK)
        return code;
    (j->as_json ? eval_json : eval_table)(r);
    code = cli_write(j->output, j->out.bytes, j->out.size);
    if (code == SOOTH_OK && j->predictions) {
        j->out.size = 0;
        eval_predictions(&j->report);
        code = cli_write(j->predictions, j->out.bytes, j->out.size);
    }
    return code;
}

static int run(job *j)
{
    sooth_gpus *gpus;
    int code = cli_open_gpus(&gpus);
    if (code != SOOTH_OK)
        return code;
    j->fail.error = &j->error;
    j->out.fail = &j->fail;
    j->weights.descriptor = -1;
    arena_init(&j->arena, &j->fail, ARENA_CAP);
    arena_init(&j->scratch, &j->fail, ARENA_CAP);
    code = run_job(j, gpus);
    evaluation_free(&j->evaluation);
    file_close(&j->weights);
    free(j->out.bytes);
    arena_free(&j->scratch);
    arena_free(&j->arena);
    sooth_gpus_free(gpus);
    return code;
}

int eval_main(int argc, char **argv)
{
    static job j; /* static, because it is too large for a small stack */
    const char *by = NULL, *left = "0";
    int format = 0;
    int64_t sample = 100;
    const option options[] = {
        TEXT_OPTION("by", &by, "GROUP,...",
                    "also report each group: gpu, family, precision, source, stack,\nruntime, mode, layout, mig"),
        FORMAT_OPTION(&format, "table|json", FORMATS, "output format"),
        TEXT_OPTION("predictions", &j.predictions, "OUT.csv", "write every row with its prediction to OUT.csv"),
        NUMBER_OPTION("sample", &sample, "PERCENT", 1, 100,
                      "use this share of the operator shapes, always the same ones"),
        TEXT_OPTION("left-share", &left, "X", "use only the rows of the share X that `sooth learn` left out"),
        WEIGHTS_OPTION(&j.weights_path),
        OUTPUT_OPTION(&j.output),
    };
    int code;
    if (options_done("eval", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        return code;
    if (argc < 2)
        return cli_usage("eval", "which table of measured rows?");
    if (!options_decimal(left, 0, 0.9, &j.left_share))
        return cli_usage("eval", "--left-share takes a number from 0 to 0.9, not '%.60s'", left);
    code = read_by(&j, by);
    if (code != SOOTH_OK)
        return code;
    j.paths = (const char *const *)argv + 1;
    j.path_count = argc - 1;
    j.as_json = format == SOOTH_FORMAT_JSON;
    j.rows.keep = sample < 100 ? (double)sample / 100 : 0;
    if (!j.output && !j.as_json)
        fit_terminal(&j.report.options);
    return run(&j);
}
