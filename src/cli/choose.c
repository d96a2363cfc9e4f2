/* choose.c: `sooth choose`: which GPU, slice, batch and setting meet a target, and at what cost. */
#include "base/csv.h"
#include "cli/inputs.h"
#include "cli/predict_args.h"
#include "cli/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const FORMATS[] = {"table", "json", "csv", NULL};
static const sooth_format FORMAT_OF[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_JSON, SOOTH_FORMAT_CSV};

static void help(const option *options, size_t count)
{
    puts("usage: sooth choose MODEL [OPTION]...\n\n"
         "Finds for each GPU, and each MIG slice of it, the largest batch and the best setting that meet a target by "
         "the\n"
         "worse ends of the intervals; ranks them by cost, or by throughput without prices; says why the others "
         "fail.\n\n"
         "Options:");
    options_help(options, count);
    puts("\nNo prices come with the program. --price takes gpu=USD,... per hour, or a CSV file with the columns gpu "
         "and\n"
         "usd_per_hour. A slice costs its share of the GPU's compute slices.\n\n"
         "Exit code 1: nothing meets the target; the nearest comes first.\n\n"
         "Examples:\n"
         "  sooth choose model.onnx --latency-ms 20\n"
         "  sooth choose zoo:resnet50 --mode train --epoch 1281167 --price a100=3,t4=0.35\n"
         "  sooth choose zoo:resnet50 --throughput 2000 --gpu t4,l4,a100 --precision amp,int8 --runtime eager,engine "
         "\\\n"
         "      --price t4=0.35,l4=0.8,a100=3");
}

typedef struct choose_args {
    const char *gpus, *precisions, *layouts, *runtimes, *latency_ms, *throughput, *price, *output, *weights;
    int64_t most_batch, epoch_samples;
    bool no_slices;
    int format;
    model_args dimensions;
    sooth_predict_options settings;
} choose_args;

/* ---- prices ------------------------------------------------------------------------------------------------------ */

/* Reads prices. Prices of GPUs that are not candidates are ignored; an unknown GPU is an error. */
static int set_price(inputs *in, sooth_gpus *gpus, double *prices, str name, str price, const char *where)
{
    sooth_error error;
    const sooth_gpu *gpu;
    double usd;
    const char *called = arena_str(&in->arena, name).ptr;
    if (!csv_real(price, &usd) || !(usd > 0))
        return cli_fail(SOOTH_ERROR_USAGE, "choose", "%s: the price of '%s' is '%.*s', not a number above 0", where,
                        called, STR_ARG(price));
    if (sooth_gpus_find(gpus, called, &gpu, &error) != SOOTH_OK)
        return cli_fail(error.code, "choose", "%s: %s", where, error.message);
    for (size_t i = 0; i < in->options.gpu_count; i++)
        if (in->options.gpus[i] == gpu)
            prices[i] = usd;
    return SOOTH_OK;
}

static int read_price_list(inputs *in, sooth_gpus *gpus, double *prices, const char *list)
{
    int code = SOOTH_OK;
    while (*list && code == SOOTH_OK) {
        size_t length = strcspn(list, ",");
        const char *equals = memchr(list, '=', length);
        if (!equals)
            return cli_usage("choose", "--price takes gpu=USD,... or the path of a CSV file, not '%.100s'", list);
        code = set_price(in, gpus, prices, (str){list, (size_t)(equals - list)},
                         (str){equals + 1, (size_t)(list + length - equals - 1)}, "--price");
        list += length + (list[length] == ',');
    }
    return code;
}

static int read_price_file(inputs *in, sooth_gpus *gpus, double *prices, const char *path)
{
    csv table;
    file_open(&in->table, path, &in->fail);
    csv_begin(&table, (str){(const char *)in->table.bytes, in->table.size}, &in->arena);
    int gpu = csv_next(&table) ? csv_find(&table, "gpu") : -1, price = csv_find(&table, "usd_per_hour"),
        code = SOOTH_OK;
    if (gpu < 0 || price < 0)
        return cli_fail(SOOTH_ERROR_INPUT, path, "the header needs the columns 'gpu' and 'usd_per_hour'");
    while (code == SOOTH_OK && csv_next(&table)) {
        const char *where = arena_printf(&in->arena, "%s: line %d", path, (int)table.line).ptr;
        code = set_price(in, gpus, prices, csv_at(&table, gpu), csv_at(&table, price), where);
    }
    return code;
}

static int read_prices(inputs *in, sooth_gpus *gpus, const char *text, const double **prices)
{
    *prices = NULL;
    if (!text)
        return SOOTH_OK;
    if (setjmp(in->fail.jump))
        return cli_fail(in->error.code, "choose", "%s", in->error.message);
    double *found = ARENA_ARRAY(&in->arena, double, in->options.gpu_count);
    *prices = found;
    int code = file_is_there(text) ? read_price_file(in, gpus, found, text) : read_price_list(in, gpus, found, text);
    for (size_t i = 0; i < in->options.gpu_count && code == SOOTH_OK; i++)
        if (found[i] > 0)
            return SOOTH_OK;
    return code != SOOTH_OK ? code : cli_usage("choose", "--price has no price for any GPU of --gpu");
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static int write_choices(const choose_args *args, const sooth_choices *choices)
{
    sooth_report_options report = {.format = FORMAT_OF[args->format]};
    if (!args->output && report.format == SOOTH_FORMAT_TABLE)
        fit_terminal(&report);
    sooth_error error;
    char *text;
    size_t size;
    sooth_status status = sooth_choose_report(choices, &report, &text, &size, &error);
    return cli_report("choose", args->output, status, &error, text, size);
}

static int choose(const choose_args *args, const char *path, sooth_choose_options *o)
{
    model_dims dims;
    model_file file;
    int code = model_dims_read("choose", &args->dimensions, &dims);
    if (code != SOOTH_OK)
        return code;
    code = model_load(path, &file);
    if (code == SOOTH_OK) {
        sooth_error error;
        sooth_choices *choices;
        o->dims = &dims.options;
        sooth_status status = sooth_choose(file.model, o, &choices, &error);
        if (choices) {
            code = write_choices(args, choices);
            code = code == SOOTH_OK ? (int)status : code;
        } else {
            code = status == SOOTH_ERROR_USAGE ? cli_usage("choose", "%s", error.message) : model_failed(path, &error);
        }
        sooth_choices_free(choices);
        model_close(&file);
    }
    model_dims_free(&dims);
    return code;
}

static int read_target(const char *name, const char *text, double *target)
{
    if (!text || options_decimal(text, 1e-6, 1e12, target))
        return SOOTH_OK;
    return cli_usage("choose", "--%s takes a number above 0, not '%.60s'", name, text);
}

static int run(const choose_args *args, const char *path, sooth_gpus *gpus, const sooth_predictor *predictor)
{
    inputs in;
    sooth_choose_options o = {.settings = args->settings,
                              .most_batch = args->most_batch,
                              .with_slices = !args->no_slices,
                              .epoch_samples = args->epoch_samples};
    o.settings.predictor = predictor;
    inputs_open(&in, "choose");
    int code = inputs_read_gpus(&in, gpus, args->gpus ? args->gpus : "all");
    if (code == SOOTH_OK)
        code = read_prices(&in, gpus, args->price, &o.prices_usd_h);
    if (code == SOOTH_OK)
        code = inputs_read_names(&in, args->precisions, &o.precisions, &o.precision_count);
    if (code == SOOTH_OK)
        code = inputs_read_names(&in, args->layouts, &o.layouts, &o.layout_count);
    if (code == SOOTH_OK)
        code = inputs_read_names(&in, args->runtimes, &o.runtimes, &o.runtime_count);
    if (code == SOOTH_OK)
        code = read_target("latency-ms", args->latency_ms, &o.latency_ms);
    if (code == SOOTH_OK)
        code = read_target("throughput", args->throughput, &o.throughput_per_s);
    o.gpus = in.options.gpus;
    o.gpu_count = in.options.gpu_count;
    if (code == SOOTH_OK)
        code = choose(args, path, &o);
    inputs_free(&in);
    return code;
}

static int with_resources(const choose_args *args, const char *path)
{
    sooth_error error;
    sooth_predictor *predictor = NULL;
    sooth_gpus *gpus;
    if (args->weights && sooth_predictor_open(args->weights, &predictor, &error) != SOOTH_OK)
        return cli_fail(error.code, args->weights, "%s", error.message);
    int code = cli_open_gpus(&gpus);
    if (code == SOOTH_OK) {
        code = run(args, path, gpus, predictor);
        sooth_gpus_free(gpus);
    }
    sooth_predictor_free(predictor);
    return code;
}

int choose_main(int argc, char **argv)
{
    choose_args args = {0};
    const option options[] = {
        TEXT_OPTION("latency-ms", &args.latency_ms, "MS", "target for the upper end of the latency; none by default"),
        TEXT_OPTION("throughput", &args.throughput, "N",
                    "target in samples per second, at the upper end of the latency"),
        TEXT_OPTION("gpu", &args.gpus, "NAME,...", "GPUs, or paths of GPU files; all that are known by default"),
        FLAG_OPTION("no-slices", &args.no_slices, "whole GPUs only, no MIG slices"),
        NUMBER_OPTION("most-batch", &args.most_batch, "N", 1, 1 << 20, "largest batch to consider; 65536 by default"),
        NUMBER_OPTION("epoch", &args.epoch_samples, "SAMPLES", 1, INT64_C(1) << 50,
                      "samples of an epoch: show its hours, and with prices its cost"),
        DIMENSION_OPTIONS(&args.dimensions),
        TEXT_OPTION("precision", &args.precisions, "NAME,...", "precisions as in `sooth predict`; amp by default"),
        TEXT_OPTION("layout", &args.layouts, "NAME,...", "nchw (default), nhwc"),
        TEXT_OPTION("runtime", &args.runtimes, "NAME,...", "eager (default), inductor, engine"),
        TEXT_OPTION("mode", &args.settings.mode, "NAME", "infer (default), train, train-forward"),
        TEXT_OPTION("optimizer", &args.settings.optimizer, "NAME", "optimizer of training"),
        TEXT_OPTION("stack", &args.settings.stack, "NAME", "software version, such as pt2.4-cu124"),
        TEXT_OPTION("price", &args.price, "GPU=USD,...|FILE.csv", "prices per hour"),
        FORMAT_OPTION(&args.format, "table|json|csv", FORMATS, "output format"),
        WEIGHTS_OPTION(&args.weights),
        OUTPUT_OPTION(&args.output),
    };
    int code;
    if (!options_done("choose", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        code = argc == 2
                   ? with_resources(&args, argv[1])
                   : cli_usage("choose", argc < 2 ? "which MODEL?" : "one MODEL at a time; '%.100s' is one too many",
                               argv[argc - 1]);
    model_args_free(&args.dimensions);
    return code;
}
