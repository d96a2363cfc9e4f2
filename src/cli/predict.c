/* predict.c: `sooth predict`: latency, energy and memory of a network on a GPU, layer by layer. */
#include "cli/predict_context.h"
#include "cli/terminal.h"
#include "report/predict_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const DEFAULT_GPU = "a100-sxm4-40gb";
enum { MOST_PREDICTIONS = 1000 };

static const char *const FORMATS[] = {"table", "json", "csv", "trace", "html", "memory-svg", NULL};
static const sooth_format FORMAT_OF[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_JSON, SOOTH_FORMAT_CSV,
                                         SOOTH_FORMAT_TRACE, SOOTH_FORMAT_HTML, SOOTH_FORMAT_MEMORY_SVG};

static void help(const option *options, size_t count)
{
    puts("usage: sooth predict MODEL [OPTION]...\n"
         "       sooth predict --queries IN.csv -o OUT.csv [OPTION]...\n\n"
         "Predicts latency, energy, memory and utilization of a network on a GPU, layer by layer.\n"
         "Several GPUs or batches give a comparison.\n"
         "MODEL is a file of a format listed below, '-' for standard input, or zoo:NAME.\n\nOptions:");
    options_help(options, count);
    model_args_help_models();
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

typedef struct question {
    const char *path;
    model_dims dims;
    sooth_predict_options where;
    sooth_report_options report;
    bool asks_fit, asks_batch;
    const char *output, *contexts;
    const sooth_gpu **gpus; /* free() */
    size_t gpu_count;
    int64_t *batches; /* from malloc; a single 0 if no batch was given */
    size_t batch_count;
    sooth_prediction **predictions; /* free() */
    size_t prediction_count;
    sooth_refusal *refusals; /* free() */
    sooth_error *reasons;    /* errors of the refusals; from malloc */
    size_t refusal_count;
} question;

static size_t count_parts(const char *list)
{
    size_t n = 1;
    for (; *list; list++)
        n += *list == ',';
    return n;
}

static int find_gpus(question *q, sooth_gpus *gpus, const char *names)
{
    size_t count = count_parts(names);
    q->gpus = calloc(count, sizeof *q->gpus);
    if (!q->gpus)
        return cli_fail(SOOTH_ERROR_SYSTEM, "predict", "out of memory");
    for (const char *at = names;; at++) {
        size_t length = strcspn(at, ",");
        char name[512];
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), at);
        sooth_error error;
        if (sooth_gpus_find(gpus, name, &q->gpus[q->gpu_count++], &error) != SOOTH_OK)
            return error.code == SOOTH_ERROR_USAGE ? cli_usage("predict", "--gpu: %s", error.message)
                                                   : cli_fail(error.code, name, "%s", error.message);
        at += length;
        if (!*at)
            return SOOTH_OK;
    }
}

static int read_batches(question *q, const char *list)
{
    size_t count = list ? count_parts(list) : 1;
    q->batches = calloc(count, sizeof *q->batches);
    if (!q->batches)
        return cli_fail(SOOTH_ERROR_SYSTEM, "predict", "out of memory");
    q->batch_count = count;
    for (size_t i = 0; list && i < count; i++) {
        size_t length = strcspn(list, ",");
        if (!options_number(list, length, &q->batches[i]) || q->batches[i] < 1 || q->batches[i] > INT32_MAX)
            return cli_usage("predict", "--batch takes whole numbers from 1 to %d separated by commas, not '%.60s'",
                             INT32_MAX, list);
        list += length + 1;
    }
    return SOOTH_OK;
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

/* Lists a combination that cannot run as a refusal. A system error ends the command. */
static int refuse(question *q, const sooth_gpu *gpu, int64_t batch, const sooth_error *why)
{
    if (why->code != SOOTH_ANSWER_NO && why->code != SOOTH_ERROR_USAGE && why->code != SOOTH_ERROR_UNSUPPORTED)
        return model_failed(q->path, why);
    q->reasons[q->refusal_count] = *why;
    q->refusals[q->refusal_count] = (sooth_refusal){.gpu = sooth_gpu_text(gpu, "name"),
                                                    .mig = q->where.mig ? q->where.mig : "",
                                                    .batch = batch,
                                                    .reason = q->reasons[q->refusal_count].message,
                                                    .before = q->prediction_count};
    q->refusal_count++;
    return SOOTH_OK;
}

/* Prints the distinct reasons if no combination has an answer. */
static int refuse_all(const question *q)
{
    for (size_t i = 0; i < q->refusal_count; i++) {
        const sooth_error *why = &q->reasons[i];
        bool is_told = false;
        for (size_t k = 0; k < i && !is_told; k++)
            is_told = strcmp(q->reasons[k].message, why->message) == 0;
        if (is_told)
            continue;
        if (why->code == SOOTH_ERROR_USAGE)
            cli_usage("predict", "%s", why->message);
        else
            model_failed(q->path, why);
    }
    return q->reasons[0].code;
}

static int predict_on(question *q, model_file *file, const sooth_gpu *gpu, int64_t batch)
{
    sooth_error error;
    q->where.device = gpu;
    if (sooth_predict(file->model, &q->where, &q->predictions[q->prediction_count], &error) != SOOTH_OK)
        return refuse(q, gpu, batch, &error);
    if (q->asks_fit && !(sooth_prediction_memory(q->predictions[q->prediction_count]).capacity_mib > 0)) {
        sooth_prediction_free(q->predictions[q->prediction_count]);
        error.code = SOOTH_ERROR_UNSUPPORTED;
        snprintf(error.message, sizeof error.message, "the memory size of %s is unknown: add it to its GPU file",
                 sooth_gpu_text(gpu, "name"));
        return refuse(q, gpu, batch, &error);
    }
    q->prediction_count++;
    return SOOTH_OK;
}

/* Predicts each GPU with the largest batch that fits its memory. */
static int predict_largest(question *q, model_file *file)
{
    int code = SOOTH_OK;
    for (size_t g = 0; g < q->gpu_count && code == SOOTH_OK; g++) {
        int64_t batch;
        sooth_error error;
        q->where.device = q->gpus[g];
        sooth_status status = sooth_largest_batch(file->model, &q->dims.options, &q->where, 0, &batch, &error);
        if (status == SOOTH_OK && batch == 0) {
            error.code = status = SOOTH_ANSWER_NO;
            snprintf(error.message, sizeof error.message, "not even one sample fits into the memory of %s",
                     sooth_gpu_text(q->gpus[g], "name"));
        }
        code = status == SOOTH_OK ? predict_on(q, file, q->gpus[g], batch) : refuse(q, q->gpus[g], 0, &error);
    }
    return code;
}

static int predict_all(question *q, model_file *file)
{
    if (q->asks_batch)
        return predict_largest(q, file);
    for (size_t b = 0; b < q->batch_count; b++) {
        sooth_error error;
        sooth_options dims = q->dims.options;
        dims.batch = q->batches[b];
        int code = sooth_bind_open(file->model, &dims, &error) == SOOTH_OK ? SOOTH_OK : model_failed(q->path, &error);
        for (size_t g = 0; g < q->gpu_count && code == SOOTH_OK; g++)
            code = predict_on(q, file, q->gpus[g], dims.batch);
        if (code != SOOTH_OK)
            return code;
    }
    return SOOTH_OK;
}

static int write_answer(const question *q)
{
    sooth_error error;
    char *text;
    size_t size;
    sooth_report_options report = q->report;
    report.refusals = q->refusals;
    report.refusal_count = q->refusal_count;
    sooth_status status = sooth_prediction_report((const sooth_prediction *const *)q->predictions, q->prediction_count,
                                                  &report, &text, &size, &error);
    int code = status == SOOTH_OK            ? cli_write(q->output, text, size)
               : status == SOOTH_ERROR_USAGE ? cli_usage("predict", "%s", error.message)
                                             : model_failed(q->path, &error);
    free(text);
    if (code != SOOTH_OK || !q->refusal_count)
        return code;
    for (size_t i = 0; i < q->refusal_count && report.format != SOOTH_FORMAT_TABLE; i++)
        model_failed(q->path,
                     &q->reasons[i]); /* Tables show the reasons; with other formats, they also go to standard error. */
    return SOOTH_ANSWER_NO;
}

/* Writes the --fits line of one prediction; false if it does not fit. */
static bool write_fit(FILE *out, const question *q, const sooth_prediction *p)
{
    sooth_prediction_totals t = sooth_prediction_totals_of(p);
    sooth_memory m = sooth_prediction_memory(p);
    fprintf(out, "%s%s%s, batch %" PRId64 ": %.0f MiB (%.0f to %.0f) of %.0f: %s%s%s\n", t.gpu, *t.mig ? " " : "",
            t.mig, t.batch, m.total_mib.value, m.total_mib.low, m.total_mib.high, m.capacity_mib, memory_verdict(&m),
            m.limit ? "; the run would fail: " : "", m.limit ? m.limit : "");
    return (q->where.by_estimate ? m.fits : m.fits_upper) && !m.limit;
}

/* For --fits: writes one line per prediction; the exit code is the answer. */
static int write_fits(const question *q)
{
    char *lines = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&lines, &size);
    if (!out)
        return cli_fail(SOOTH_ERROR_SYSTEM, "predict", "out of memory");
    bool fits = !q->refusal_count;
    for (size_t i = 0, r = 0; i < q->prediction_count + q->refusal_count; i++) {
        const sooth_refusal *no = r < q->refusal_count && q->refusals[r].before == i - r ? &q->refusals[r++] : NULL;
        if (no)
            fprintf(out, "%s%s%s, batch %" PRId64 ": no answer: %s\n", no->gpu, *no->mig ? " " : "", no->mig, no->batch,
                    no->reason);
        else if (!write_fit(out, q, q->predictions[i - r]))
            fits = false;
    }
    int written = fclose(out) == 0 ? SOOTH_OK : cli_fail(SOOTH_ERROR_SYSTEM, "predict", "out of memory");
    if (written == SOOTH_OK)
        written = q->report.format == SOOTH_FORMAT_TABLE ? cli_write(q->output, lines, size) : write_answer(q);
    free(lines);
    return written != SOOTH_OK ? written : fits ? SOOTH_OK : SOOTH_ANSWER_NO;
}

static int answer(question *q, const model_args *dimensions)
{
    if (q->gpu_count * q->batch_count > MOST_PREDICTIONS)
        return cli_usage("predict", "at most %d predictions at a time; --queries answers any number", MOST_PREDICTIONS);
    size_t most = q->gpu_count * q->batch_count + 1;
    q->predictions = calloc(most, sizeof *q->predictions);
    q->refusals = calloc(most, sizeof *q->refusals);
    q->reasons = calloc(most, sizeof *q->reasons);
    if (!q->predictions || !q->refusals || !q->reasons)
        return cli_fail(SOOTH_ERROR_SYSTEM, "predict", "out of memory");
    model_file file;
    /* Checked first, so that errors appear before a large file is read. */
    int code = model_dims_read("predict", dimensions, &q->dims);
    if (code == SOOTH_OK)
        code = model_load(q->path, &file);
    if (code == SOOTH_OK) {
        code = predict_all(q, &file);
        for (size_t i = 0; i < q->refusal_count && q->prediction_count && !q->asks_batch; i++)
            if (!q->refusals[i].batch) /* the batch of the file, as in other rows */
                q->refusals[i].batch = sooth_prediction_totals_of(q->predictions[0]).batch;
        if (code == SOOTH_OK && !q->prediction_count)
            code = refuse_all(q);
        else if (code == SOOTH_OK)
            code = q->asks_fit ? write_fits(q) : write_answer(q);
        model_close(&file);
    }
    for (size_t i = 0; i < q->prediction_count; i++)
        sooth_prediction_free(q->predictions[i]);
    model_dims_free(&q->dims);
    return code;
}

static int answer_contexts(question *q, const model_args *dimensions)
{
    int code = model_dims_read("predict", dimensions, &q->dims);
    if (code != SOOTH_OK)
        return code;
    context_question of = {.path = q->path,
                           .output = q->output,
                           .dims = &q->dims,
                           .where = &q->where,
                           .report = q->report,
                           .gpus = q->gpus,
                           .gpu_count = q->gpu_count,
                           .batches = q->batches,
                           .batch_count = q->batch_count};
    code = context_run(&of, q->contexts);
    model_dims_free(&q->dims);
    return code;
}

static int ask(question *q, const predict_args *args, sooth_gpus *gpus)
{
    int code = read_batches(q, args->batches);
    if (code == SOOTH_OK)
        code = find_gpus(q, gpus, args->gpus ? args->gpus : DEFAULT_GPU);
    if (code == SOOTH_OK)
        code = q->contexts ? answer_contexts(q, &args->dimensions) : answer(q, &args->dimensions);
    free(q->reasons);
    free(q->refusals);
    free(q->predictions);
    free(q->batches);
    free(q->gpus);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int with_resources(question *q, predict_args *args, const char *queries)
{
    sooth_error error;
    sooth_predictor *predictor = NULL;
    sooth_gpus *gpus;
    if (args->weights && sooth_predictor_open(args->weights, &predictor, &error) != SOOTH_OK)
        return cli_fail(error.code, args->weights, "%s", error.message);
    args->options.predictor = q->where.predictor = predictor;
    int code = cli_open_gpus(&gpus);
    if (code == SOOTH_OK) {
        code = queries ? queries_run(queries, q->output, args, gpus) : ask(q, args, gpus);
        sooth_gpus_free(gpus);
    }
    sooth_predictor_free(predictor);
    return code;
}

/* Returns how operands and options contradict each other; NULL if they do not. */
static const char *misuse(int operands, bool has_queries, bool has_shapes, const question *q)
{
    if (q->where.by_estimate && !q->asks_fit && !q->asks_batch)
        return "--by-estimate needs --fits or --largest-batch";
    if (q->contexts && (has_queries || has_shapes || q->asks_fit || q->asks_batch || q->report.layers ||
                        q->report.kernels || q->report.memory))
        return "--context writes one table: omit --queries, --shape, --fits, --largest-batch, --layers, --kernels and "
               "--memory";
    if (q->asks_batch && q->batch_count)
        return "--largest-batch chooses the batch: omit --batch";
    if (!has_queries)
        return operands < 1 ? "which MODEL?" : operands > 1 ? "one MODEL at a time; '%.100s' is one too many" : NULL;
    if (operands)
        return "--queries takes its models from the table: omit '%.100s'";
    if (q->report.format != SOOTH_FORMAT_TABLE || q->report.layers || q->report.kernels || q->report.memory ||
        q->asks_fit || q->asks_batch || has_shapes)
        return "--queries writes one CSV row per query: omit --format, --layers, --kernels, --memory, --fits, "
               "--largest-batch and --shape";
    return NULL;
}

int predict_main(int argc, char **argv)
{
    predict_args args = {0};
    int format = 0;
    int64_t kv_cache_bits = 0, interval_percent = 0;
    bool layers = false, kernels = false, memory = false, asks_fit = false, asks_batch = false;
    const char *output = NULL, *queries = NULL, *power_limit = NULL, *co2 = NULL, *contexts = NULL;
    sooth_predict_options *where = &args.options;
    const option options[] = {
        TEXT_OPTION("gpu", &args.gpus, "NAME,...", "GPUs, or paths of GPU files (default a100-sxm4-40gb)"),
        TEXT_OPTION("batch", &args.batches, "N,...", "batch sizes (default: as in the file, or 1)"),
        DIMENSION_OPTIONS(&args.dimensions),
        SETTING_OPTIONS(where),
        TEXT_OPTION("mig", &where->mig, "PROFILE", "MIG profile, such as 2g.10gb (default: the whole GPU)"),
        TEXT_OPTION("host", &where->host, "NAME|FILE",
                    "host that launches kernels: reference (the mean of the measured ones, the\ndefault), measured "
                    "(that of the GPU's measurements), or one of data/hosts"),
        FLAG_OPTION("cuda-graphs", &where->cuda_graphs, "a captured CUDA graph launches the pass at once"),
        TEXT_OPTION("power-limit", &power_limit, "WATTS", "power limit (nvidia-smi -pl; default: the board's own)"),
        TEXT_OPTION("co2", &co2, "G_PER_KWH", "CO2 of your electricity in g/kWh; also report CO2"),
        TEXT_OPTION("context", &contexts, "N,...",
                    "language models: time to the first token, decode step, tokens/s, KV cache and\nlargest batch for "
                    "contexts of these lengths"),
        NUMBER_OPTION("kv-cache", &kv_cache_bits, "8|16", 8, 16,
                      "bits per element of the KV cache; engines only (default: as in the file,\nor 16)"),
        NUMBER_OPTION("interval", &interval_percent, "50|80|90|95|99", 50, 99,
                      "level of the intervals in percent (default 90); what fits is decided at 90"),
        FLAG_OPTION("layers", &layers, "list every layer, not only the slowest"),
        FLAG_OPTION("kernels", &kernels, "also list the kernels, in launch order"),
        FLAG_OPTION("memory", &memory, "also report memory over time"),
        FLAG_OPTION("fits", &asks_fit,
                    "only report whether the upper end of the memory interval fits the GPU:\nexit code 0 yes, 1 no"),
        FLAG_OPTION("largest-batch", &asks_batch,
                    "use the largest batch for which the upper end of the memory interval fits"),
        FLAG_OPTION("by-estimate", &where->by_estimate,
                    "--fits and --largest-batch use the estimate, not the upper end"),
        FORMAT_OPTION(&format, "table|json|csv|trace|html|memory-svg", FORMATS,
                      "output format; trace is a timeline for Perfetto, memory-svg a picture of\nmemory over time"),
        TEXT_OPTION("queries", &queries, "IN.csv", "predict every row of a table; options apply to empty fields"),
        WEIGHTS_OPTION(&args.weights),
        OUTPUT_OPTION(&output),
    };
    int code;
    if (!options_done("predict", options, sizeof options / sizeof *options, &argc, argv, help, &code)) {
        question q = {.path = argc > 1 ? argv[1] : NULL,
                      .where = args.options,
                      .report = {.format = FORMAT_OF[format], .layers = layers, .kernels = kernels, .memory = memory},
                      .asks_fit = asks_fit,
                      .asks_batch = asks_batch,
                      .batch_count = args.batches ? 1 : 0,
                      .contexts = contexts,
                      .output = output};
        args.options.kv_cache_bits = (int)kv_cache_bits;
        args.options.interval_percent = (int)interval_percent;
        q.where.memory = args.options.memory = true;
        const char *wrong = misuse(argc - 1, queries != NULL, args.dimensions.shapes.count > 0, &q);
        code = wrong ? cli_usage("predict", wrong, argv[argc - 1]) : SOOTH_OK;
        if (code == SOOTH_OK && power_limit && !options_decimal(power_limit, 1, 2000, &where->power_limit_w))
            code = cli_usage("predict", "--power-limit takes watts from 1 to 2000, not '%.60s'", power_limit);
        if (code == SOOTH_OK && co2 && !options_decimal(co2, 0.001, 10000, &where->co2_g_per_kwh))
            code = cli_usage("predict", "--co2 takes g/kWh from 0.001 to 10000, not '%.60s'", co2);
        q.where = args.options;
        if (!output && format == SOOTH_FORMAT_TABLE)
            fit_terminal(&q.report);
        if (code == SOOTH_OK)
            code = with_resources(&q, &args, queries);
    }
    model_args_free(&args.dimensions);
    return code;
}
