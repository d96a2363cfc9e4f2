/* mig.c: `sooth mig`: the MIG slice that a model needs, and a layout of slices for several models. */
#include "base/nearest.h"
#include "cli/mig_rule.h"
#include "cli/predict_args.h"
#include "cli/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const DEFAULT_GPU = "a100-sxm4-40gb";
enum { MOST_WORKLOADS = 64, MOST_INSTANCES = 1024 };

static const char *const FORMATS[] = {"table", "json", "csv", "svg", "mig-parted", NULL};
static const char *const RULES[] = {"sooth", "dippm", NULL};
enum { RULE_SOOTH, RULE_DIPPM };
static const sooth_format FORMAT_OF[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_JSON, SOOTH_FORMAT_CSV, SOOTH_FORMAT_SVG,
                                         SOOTH_FORMAT_MIG_PARTED};

static void help(const option *options, size_t count)
{
    puts("usage: sooth mig MODEL [OPTION]...\n"
         "       sooth mig MODEL[@SPEC]... [OPTION]...\n\n"
         "Finds the smallest slice (MIG profile) that fits a model and meets its latency target, and says why each\n"
         "smaller one fails. For several models or instances, finds a valid layout on as few GPUs as possible.\n"
         "The upper ends of the 90 % intervals of memory and latency count.\n\n"
         "SPEC is a number of instances, settings of this model alone, or both, separated by commas:\n"
         "  sooth mig zoo:resnet50@3,batch=8,latency-ms=10 bert.onnx@2,precision=fp16\n"
         "Settings are batch, seq, past, latency-ms, precision, layout, runtime, mode, optimizer and "
         "stack.\n\nOptions:");
    options_help(options, count);
    model_args_help_models();
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

typedef struct workload_args {
    char *text; /* copy of the operand that is cut into its parts; from malloc */
    const char *path;
    model_args dimensions;
    model_dims dims; /* the same dimensions for the library */
    sooth_predict_options options;
    double latency_ms;
    int64_t count;
    model_file file;
} workload_args;

typedef struct mig_job {
    workload_args *workloads; /* free() */
    size_t count;
    sooth_mig_options options;
    sooth_report_options report;
    const char *output, *gnn; /* gnn: files of graph networks, for DIPPM's rule */
    int rule;
    bool shows_progress, has_shown;
} mig_job;

/* Settings of one model: first numbers, then the latency, then texts. */
static const char *const SETTINGS[] = {"batch",  "seq",     "past", "latency-ms", "precision",
                                       "layout", "runtime", "mode", "optimizer",  "stack"};
enum { LATENCY = 3, SETTING_COUNT = sizeof SETTINGS / sizeof *SETTINGS };

static bool is_number(const char *s)
{
    int64_t n;
    return options_number(s, strlen(s), &n);
}

/* True for "3", "3,batch=8" or "batch=8". Any word with '=' counts as a setting, so that mistyped ones are reported. */
static bool is_spec(const char *s)
{
    size_t length = strcspn(s, ",=");
    if (s[length] == '=')
        return !memchr(s, '/', length) && !memchr(s, '.', length);
    int64_t n;
    return options_number(s, length, &n);
}

/* Finds where the settings begin. "a@224.onnx", and any existing path, is a file. */
static char *spec_of(char *operand)
{
    char *at = strrchr(operand, '@');
    return at && is_spec(at + 1) && access(operand, F_OK) != 0 ? at : NULL;
}

static int set_latency(const char *s, double *ms)
{
    return options_decimal(s, 1e-6, 1e9, ms)
               ? SOOTH_OK
               : cli_usage("mig", "latency-ms takes milliseconds as in 12.5, not '%.60s'", s);
}

static int set_setting(workload_args *w, const char *key, const char *value)
{
    int64_t *const numbers[] = {&w->dimensions.batch, &w->dimensions.seq, &w->dimensions.past};
    const char **const texts[] = {&w->options.precision, &w->options.layout,    &w->options.runtime,
                                  &w->options.mode,      &w->options.optimizer, &w->options.stack};
    size_t i = 0;
    while (i < SETTING_COUNT && strcmp(key, SETTINGS[i]) != 0)
        i++;
    if (i < LATENCY) {
        int least = numbers[i] == &w->dimensions.past ? 0 : 1;
        return options_number(value, strlen(value), numbers[i]) && *numbers[i] >= least && *numbers[i] <= INT32_MAX
                   ? SOOTH_OK
                   : cli_usage("mig", "%.100s: %s takes a whole number from %d to %d, not '%.60s'", w->path, key, least,
                               INT32_MAX, value);
    }
    if (i == LATENCY)
        return set_latency(value, &w->latency_ms);
    if (i < SETTING_COUNT) {
        *texts[i - LATENCY - 1] = value;
        return SOOTH_OK;
    }
    nearest near = nearest_to(str_of(key));
    for (i = 0; i < SETTING_COUNT; i++)
        nearest_try(&near, str_of(SETTINGS[i]));
    if (near.best.len)
        return cli_usage("mig", "%.100s: there is no setting '%.60s'; did you mean '%.*s'?", w->path, key,
                         STR_ARG(near.best));
    return cli_usage("mig", "%.100s: there is no setting '%.60s'", w->path, key);
}

static int set_count(workload_args *w, const char *s)
{
    if (w->count)
        return cli_usage("mig", "%.100s: two numbers of instances: '%.60s' is one too many", w->path, s);
    if (!is_number(s) || !options_number(s, strlen(s), &w->count) || w->count < 1 || w->count > MOST_INSTANCES)
        return cli_usage("mig", "%.100s: 1 to %d instances, or a setting such as batch=8, not '%.60s'", w->path,
                         MOST_INSTANCES, s);
    return SOOTH_OK;
}

/* Splits the operand at '@' and at commas. */
static int read_workload(workload_args *w, const char *operand)
{
    w->text = strdup(operand);
    if (!w->text)
        return cli_fail(SOOTH_ERROR_SYSTEM, "mig", "out of memory");
    char *spec = spec_of(w->text);
    w->path = w->text;
    if (spec)
        *spec++ = '\0';
    int code = SOOTH_OK;
    while (spec && code == SOOTH_OK) {
        char *item = spec, *comma = strchr(spec, ',');
        spec = comma ? comma + 1 : NULL;
        if (comma)
            *comma = '\0';
        char *value = strchr(item, '=');
        if (value)
            *value++ = '\0';
        code = value ? set_setting(w, item, value) : set_count(w, item);
    }
    w->count = w->count ? w->count : 1;
    return code;
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

static int open_model(workload_args *w)
{
    sooth_error error;
    int code = model_dims_read("mig", &w->dimensions, &w->dims);
    if (code == SOOTH_OK)
        code = model_load(w->path, &w->file);
    if (code == SOOTH_OK && sooth_bind_open(w->file.model, &w->dims.options, &error) != SOOTH_OK)
        code = model_failed(w->path, &error);
    return code;
}

static bool show_progress(void *context, size_t tried, size_t enough, double seconds)
{
    mig_job *j = context;
    if (j->shows_progress) {
        fprintf(stderr, "\r  %zu GPUs suffice; searching for a layout on %zu, %.0f s ", enough, tried, seconds);
        fflush(stderr);
        j->has_shown = true;
    }
    return true;
}

static int write_plan(const mig_job *j, const sooth_mig_plan *plan)
{
    sooth_error error;
    char *text;
    size_t size;
    sooth_status status = sooth_mig_plan_report(plan, &j->report, &text, &size, &error);
    return cli_report("mig", j->output, status, &error, text, size);
}

static int answer(mig_job *j)
{
    sooth_mig_workload *workloads = calloc(j->count + 1, sizeof *workloads);
    if (!workloads)
        return cli_fail(SOOTH_ERROR_SYSTEM, "mig", "out of memory");
    for (size_t i = 0; i < j->count; i++) {
        workload_args *w = &j->workloads[i];
        workloads[i] = (sooth_mig_workload){.model = w->file.model,
                                            .dims = &w->dims.options,
                                            .options = w->options,
                                            .latency_ms = w->latency_ms,
                                            .count = (size_t)w->count,
                                            .name = w->path};
    }
    sooth_mig_plan *plan;
    sooth_error error;
    sooth_status status = sooth_mig_plan_make(workloads, j->count, &j->options, &plan, &error);
    if (j->has_shown)
        fprintf(stderr, "\r\033[K");
    if (plan && j->rule == RULE_DIPPM) {
        int code = mig_rule(&(mig_rule_args){.models = j->gnn,
                                             .gpu = j->options.device,
                                             .plan = plan,
                                             .workloads = workloads,
                                             .report = &j->report,
                                             .output = j->output});
        free(workloads);
        sooth_mig_plan_free(plan);
        return code;
    }
    free(workloads);
    if (!plan)
        return status == SOOTH_ERROR_USAGE ? cli_usage("mig", "%s", error.message)
                                           : cli_fail(status, "mig", "%s", error.message);
    bool needs_layout = j->report.format == SOOTH_FORMAT_SVG || j->report.format == SOOTH_FORMAT_MIG_PARTED;
    int code = SOOTH_OK;
    if (status == SOOTH_OK || !needs_layout)
        code = write_plan(j, plan);
    if (status == SOOTH_ANSWER_NO && (needs_layout || j->output)) {
        const char *nearest = sooth_mig_plan_totals_of(plan).nearest;
        cli_fail(status, "mig", "%s%s%s", error.message, *nearest ? "; nearest possible request: " : "", nearest);
    }
    sooth_mig_plan_free(plan);
    return code == SOOTH_OK ? (int)status : code;
}

static int with_models(mig_job *j, const char *gpu, const char *weights)
{
    sooth_error error;
    sooth_predictor *predictor = NULL;
    sooth_gpus *gpus;
    if (weights && sooth_predictor_open(weights, &predictor, &error) != SOOTH_OK)
        return cli_fail(error.code, weights, "%s", error.message);
    int code = cli_open_gpus(&gpus);
    if (code == SOOTH_OK) {
        if (sooth_gpus_find(gpus, gpu ? gpu : DEFAULT_GPU, &j->options.device, &error) != SOOTH_OK)
            code = error.code == SOOTH_ERROR_USAGE ? cli_usage("mig", "--gpu: %s", error.message)
                                                   : cli_fail(error.code, gpu, "%s", error.message);
        for (size_t i = 0; i < j->count && code == SOOTH_OK; i++) {
            j->workloads[i].options.predictor = predictor;
            code = open_model(&j->workloads[i]);
        }
        if (code == SOOTH_OK)
            code = answer(j);
        for (size_t i = 0; i < j->count; i++) {
            model_close(&j->workloads[i].file);
            model_dims_free(&j->workloads[i].dims);
        }
        sooth_gpus_free(gpus);
    }
    sooth_predictor_free(predictor);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(mig_job *j, const workload_args *defaults, int count, char **operands, const char *gpu,
               const char *weights)
{
    if (count < 1)
        return cli_usage("mig", "which MODEL?");
    if (count > MOST_WORKLOADS)
        return cli_usage("mig", "at most %d models at a time", MOST_WORKLOADS);
    j->workloads = calloc((size_t)count, sizeof *j->workloads);
    if (!j->workloads)
        return cli_fail(SOOTH_ERROR_SYSTEM, "mig", "out of memory");
    int code = SOOTH_OK;
    for (int i = 0; i < count && code == SOOTH_OK; i++) {
        j->workloads[j->count] = *defaults;
        code = read_workload(&j->workloads[j->count++], operands[i]);
    }
    if (code == SOOTH_OK)
        code = with_models(j, gpu, weights);
    for (size_t i = 0; i < j->count; i++)
        free(j->workloads[i].text);
    free(j->workloads);
    return code;
}

int mig_main(int argc, char **argv)
{
    workload_args defaults = {.text = NULL};
    mig_job j = {.shows_progress = isatty(STDERR_FILENO)};
    sooth_predict_options *where = &defaults.options;
    const char *gpu = NULL, *latency = NULL, *limit = "10", *weights = NULL;
    int64_t most_gpus = 0;
    int format = 0;
    const option options[] = {
        TEXT_OPTION("gpu", &gpu, "NAME", "GPU, or path of a GPU file (default a100-sxm4-40gb)"),
        TEXT_OPTION("latency-ms", &latency, "MS", "latency target for the upper end of the interval"),
        NUMBER_OPTION("batch", &defaults.dimensions.batch, "N", 1, INT32_MAX,
                      "batch size (default: as in the file, or 1)"),
        DIMENSION_OPTIONS(&defaults.dimensions),
        SETTING_OPTIONS(where),
        CHOICE_OPTION("rule", &j.rule, "sooth|dippm", RULES,
                      "sooth (default): the smallest slice that fits and meets the target; dippm: by\nmemory alone, "
                      "with that of Sooth and of --gnn"),
        TEXT_OPTION("gnn", &j.gnn, "MODEL.bin,...", "graph networks of `sooth gnn train`, for --rule dippm"),
        NUMBER_OPTION("gpus", &most_gpus, "N", 1, MOST_INSTANCES, "use at most N GPUs"),
        TEXT_OPTION("time-limit", &limit, "S", "seconds for a search beyond 8 GPUs (default 10)"),
        FORMAT_OPTION(&format, "table|json|csv|svg|mig-parted", FORMATS,
                      "output format; svg is a picture of the layout, mig-parted a configuration\nfor NVIDIA's tool of "
                      "that name"),
        WEIGHTS_OPTION(&weights),
        OUTPUT_OPTION(&j.output),
    };
    int code;
    if (!options_done("mig", options, sizeof options / sizeof *options, &argc, argv, help, &code)) {
        code = latency ? set_latency(latency, &defaults.latency_ms) : SOOTH_OK;
        if (code == SOOTH_OK && !options_decimal(limit, 0.001, 1e6, &j.options.time_limit_s))
            code = cli_usage("mig", "--time-limit takes seconds as in 2.5, not '%.60s'", limit);
        j.options.most_gpus = (size_t)most_gpus;
        j.options.progress = show_progress;
        j.options.context = &j;
        j.report.format = FORMAT_OF[format];
        if (!j.output && j.report.format == SOOTH_FORMAT_TABLE)
            fit_terminal(&j.report);
        bool needs_layout = j.report.format == SOOTH_FORMAT_SVG || j.report.format == SOOTH_FORMAT_MIG_PARTED;
        if (code == SOOTH_OK && j.rule == RULE_DIPPM && needs_layout)
            code = cli_usage("mig", "--rule dippm chooses slices without a layout: -f is table, json or csv");
        if (code == SOOTH_OK && j.gnn && j.rule != RULE_DIPPM)
            code = cli_usage("mig", "--gnn is for --rule dippm");
        if (code == SOOTH_OK)
            code = run(&j, &defaults, argc - 1, argv + 1, gpu, weights);
    }
    model_args_free(&defaults.dimensions);
    return code;
}
