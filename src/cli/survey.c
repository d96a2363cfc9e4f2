/* survey.c: `sooth survey`: predicts how well many networks use GPUs. Reads networks, GPUs, batches and settings;
 * the library makes the survey. */
#include "plan/survey.h"
#include "cli/cluster.h"
#include "cli/inputs.h"
#include "cli/lock.h"
#include "cli/predict_args.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Default: data-centre and desktop GPUs of three generations. */
static const char DEFAULT_GPUS[] = "t4,rtx-3090,a100-sxm4-40gb,l4,rtx-4090,h100-sxm5-80gb";
static const char DEFAULT_BATCHES[] = "1,8,64";

static const char *const FORMATS[] = {"table", "json", "csv", "html", NULL};
static const sooth_format FORMAT_OF[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_JSON, SOOTH_FORMAT_CSV, SOOTH_FORMAT_HTML};

static void help(const option *options, size_t count)
{
    puts("usage: sooth survey [MODEL|DIRECTORY|LIST.csv]... [OPTION]...\n\n"
         "Predicts how much of each GPU's peak every network uses, and where the rest goes. Without operands: the\n"
         "networks of the zoo. LIST.csv has a column 'graph' (paths relative to the list, or zoo:NAME) and may have\n"
         "'name' and 'accuracy'.\n\nOptions:");
    options_help(options, count);
    puts("\nA network that cannot be predicted has an error in its rows and does not stop the others. With -o FILE,\n"
         "finished networks are kept in FILE.part: started again, the survey continues there.\n\n"
         "Examples:\n"
         "  sooth survey --gpu t4,h100 --batch 1,32\n"
         "  sooth survey models/ --accuracy imagenet.csv --format html -o survey.html");
}

typedef struct survey_args {
    const char *gpus, *batches, *precisions, *layouts, *runtimes, *accuracy, *output, *weights;
    int format;
    sooth_predict_options settings;
} survey_args;

static bool show_progress(void *context, size_t done, size_t count, double seconds)
{
    (void)context;
    double left = done ? seconds * (double)(count - done) / (double)done : 0;
    fprintf(stderr, "\r  %zu of %zu networks, %.0f s, %.0f s left %s", done, count, seconds, left,
            done == count ? "\n" : "");
    return true;
}

static int write_survey(const survey_args *args, const sooth_survey *survey)
{
    sooth_report_options report = {.format = FORMAT_OF[args->format]};
    if (!args->output && report.format == SOOTH_FORMAT_TABLE)
        fit_terminal(&report);
    sooth_error error;
    char *text;
    size_t size;
    sooth_status status = sooth_survey_report(survey, &report, &text, &size, &error);
    return cli_report("survey", args->output, status, &error, text, size);
}

/* Reports rows without a prediction, except in a table, which lists them itself. */
static int tell_failed(const survey_args *args, const sooth_survey *survey)
{
    size_t failed = 0, count = sooth_survey_row_count(survey), first = count;
    for (size_t i = 0; i < count; i++)
        if (*sooth_survey_row_at(survey, i).error)
            first = failed++ ? first : i;
    if (!failed)
        return SOOTH_OK;
    if (FORMAT_OF[args->format] == SOOTH_FORMAT_TABLE)
        return SOOTH_ANSWER_NO;
    sooth_survey_row row = sooth_survey_row_at(survey, first);
    return cli_fail(SOOTH_ANSWER_NO, "survey", "%zu of %zu rows have no prediction; the first is %s on %s: %s: %s",
                    failed, count, row.name, row.gpu, row.graph, row.error);
}

static int make_survey(const survey_args *args, sooth_survey_options *options)
{
    char journal[4096];
    bool keeps = args->output && strcmp(args->output, "-") != 0;
    output_lock lock = {.file = -1};
    if (keeps && cluster_leads()) {
        if (snprintf(journal, sizeof journal, "%s.part", args->output) >= (int)sizeof journal)
            return cli_usage("survey", "the path of -o is too long");
        int code = lock_take(&lock, "survey", args->output);
        if (code != SOOTH_OK)
            return code;
        options->journal = journal;
    }
    options->threads = cluster_threads();
    if (cluster_leads() && isatty(STDERR_FILENO))
        options->progress = show_progress;
    sooth_error error;
    sooth_survey *survey;
    sooth_status status = survey_make_together(options, cluster_team(), cluster_agree, &survey, &error);
    int code = status == SOOTH_OK            ? (cluster_leads() ? write_survey(args, survey) : SOOTH_OK)
               : status == SOOTH_ERROR_USAGE ? cli_usage("survey", "%s", error.message)
                                             : cli_fail(status, "survey", "%s", error.message);
    if (code == SOOTH_OK && keeps && cluster_leads())
        unlink(journal);
    if (code == SOOTH_OK && cluster_leads())
        code = tell_failed(args, survey);
    sooth_survey_free(survey);
    lock_release(&lock);
    return code;
}

static int run(const survey_args *args, int operand_count, char **operands, sooth_gpus *gpus,
               const sooth_predictor *predictor)
{
    inputs in;
    inputs_open(&in, "survey");
    int code = inputs_read_networks(&in, operands, operand_count, args->accuracy);
    if (code == SOOTH_OK)
        code = inputs_read_gpus(&in, gpus, args->gpus ? args->gpus : DEFAULT_GPUS);
    if (code == SOOTH_OK)
        code = inputs_read_batches(&in, args->batches ? args->batches : DEFAULT_BATCHES);
    if (code == SOOTH_OK) {
        sooth_survey_options options = in.options;
        options.settings = args->settings;
        options.settings.predictor = predictor;
        code = inputs_read_names(&in, args->precisions, &options.precisions, &options.precision_count);
        if (code == SOOTH_OK)
            code = inputs_read_names(&in, args->layouts, &options.layouts, &options.layout_count);
        if (code == SOOTH_OK)
            code = inputs_read_names(&in, args->runtimes, &options.runtimes, &options.runtime_count);
        if (code == SOOTH_OK)
            code = make_survey(args, &options);
    }
    inputs_free(&in);
    return code;
}

static int with_resources(const survey_args *args, int operand_count, char **operands)
{
    sooth_error error;
    sooth_predictor *predictor = NULL;
    sooth_gpus *gpus;
    if (args->weights && sooth_predictor_open(args->weights, &predictor, &error) != SOOTH_OK)
        return cli_fail(error.code, args->weights, "%s", error.message);
    int code = cli_open_gpus(&gpus);
    if (code == SOOTH_OK) {
        code = run(args, operand_count, operands, gpus, predictor);
        sooth_gpus_free(gpus);
    }
    sooth_predictor_free(predictor);
    return code;
}

int survey_main(int argc, char **argv)
{
    survey_args args = {0};
    bool memory = false;
    const option options[] = {
        TEXT_OPTION("gpu", &args.gpus, "NAME,...",
                    "GPUs, or paths of GPU files; six GPUs of three generations by default"),
        TEXT_OPTION("batch", &args.batches, "N,...", "batch sizes; 1,8,64 by default"),
        TEXT_OPTION("precision", &args.precisions, "NAME,...", "precisions as in `sooth predict`; amp by default"),
        TEXT_OPTION("layout", &args.layouts, "NAME,...", "nchw (default), nhwc"),
        TEXT_OPTION("runtime", &args.runtimes, "NAME,...", "eager (default), inductor, engine"),
        TEXT_OPTION("mode", &args.settings.mode, "NAME", "infer (default), train, train-forward"),
        TEXT_OPTION("optimizer", &args.settings.optimizer, "NAME", "optimizer of training"),
        TEXT_OPTION("stack", &args.settings.stack, "NAME", "software version, such as pt2.4-cu124"),
        FLAG_OPTION("memory", &memory, "also predict memory (columns of CSV and JSON)"),
        TEXT_OPTION("accuracy", &args.accuracy, "FILE.csv",
                    "table with the columns name (or graph) and accuracy, joined to the networks"),
        FORMAT_OPTION(&args.format, "table|json|csv|html", FORMATS, "output format; html is a page with charts"),
        WEIGHTS_OPTION(&args.weights),
        OUTPUT_OPTION(&args.output),
    };
    int code;
    if (options_done("survey", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        return code;
    args.settings.memory = memory;
    return with_resources(&args, argc - 1, argv + 1);
}
