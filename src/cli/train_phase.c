/* train_phase.c: `sooth train-phase`: a training step in six stages, layer by layer. */
#include "cli/cli.h"
#include "cli/model_args.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const FORMATS[] = {"table", "json", "csv", "trace", "html", NULL};
static const sooth_format FORMAT_OF[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_JSON, SOOTH_FORMAT_CSV, SOOTH_FORMAT_TRACE,
                                         SOOTH_FORMAT_HTML};

static void help(const option *options, size_t count)
{
    puts("usage: sooth train-phase MODEL [OPTION]...\n"
         "       sooth train-phase --hosts\n\n"
         "Predicts a training step along the flow of the data: read, decode, copy, forward, backward, update; what "
         "limits\n"
         "it, how long the GPU waits for samples, and time, efficiency and memory of each layer.\n\nOptions:");
    options_help(options, count);
    puts("\nData: imagenet (JPEG), cifar (raw), none (samples are on the device), jpeg:width=W,height=H,bytes=N,\n"
         "raw:bytes=N.\n\n"
         "Examples:\n"
         "  sooth train-phase zoo:resnet50 --gpu v100 --batch 64 --precision fp32\n"
         "  sooth train-phase model.onnx --gpu a100 --batch 256 --workers 16 --pin --format json");
}

typedef struct train_args {
    const char *gpu, *host, *output, *weights;
    int64_t workers, accumulate;
    bool lists_hosts, layers;
    int format;
    model_args dimensions;
    sooth_train_options train;
} train_args;

static int list_hosts(void)
{
    sooth_error error;
    sooth_hosts *hosts;
    if (sooth_hosts_open(&hosts, &error) != SOOTH_OK)
        return cli_fail(error.code, "train-phase", "%s", error.message);
    for (size_t i = 0; i < sooth_hosts_count(hosts); i++) {
        const sooth_host *h = sooth_hosts_at(hosts, i);
        printf("%s\n", sooth_host_text(h, "name"));
        for (size_t k = 0; sooth_host_field(k); k++) {
            const char *field = sooth_host_field(k), *text = sooth_host_text(h, field);
            double number = sooth_host_number(h, field);
            if (text)
                printf("  %-18s %s\n", field, text);
            else if (number == number)
                printf("  %-18s %-8g %s\n", field, number, sooth_host_origin(h, field));
        }
    }
    sooth_hosts_free(hosts);
    return cli_flush();
}

static int write_train(const train_args *args, const sooth_train *train)
{
    sooth_report_options report = {.format = FORMAT_OF[args->format], .layers = args->layers};
    if (!args->output && report.format == SOOTH_FORMAT_TABLE)
        fit_terminal(&report);
    sooth_error error;
    char *text;
    size_t size;
    sooth_status status = sooth_train_report(train, &report, &text, &size, &error);
    return cli_report("train-phase", args->output, status, &error, text, size);
}

static int train(const train_args *args, const char *path, sooth_train_options *o)
{
    model_dims dims;
    model_file file;
    int code = model_dims_read("train-phase", &args->dimensions, &dims);
    if (code != SOOTH_OK)
        return code;
    code = model_load(path, &file);
    if (code == SOOTH_OK) {
        sooth_error error;
        sooth_train *answer = NULL;
        sooth_status status = sooth_bind_open(file.model, &dims.options, &error);
        o->dims = &dims.options;
        if (status == SOOTH_OK)
            status = sooth_train_phase(file.model, o, &answer, &error);
        if (status == SOOTH_OK)
            code = write_train(args, answer);
        else
            code = status == SOOTH_ERROR_USAGE ? cli_usage("train-phase", "%s", error.message)
                                               : model_failed(path, &error);
        sooth_train_free(answer);
        model_close(&file);
    }
    model_dims_free(&dims);
    return code;
}

static int with_host(const train_args *args, const char *path, sooth_train_options *o)
{
    sooth_error error;
    sooth_hosts *hosts;
    if (sooth_hosts_open(&hosts, &error) != SOOTH_OK)
        return cli_fail(error.code, "train-phase", "%s", error.message);
    int code = SOOTH_OK;
    if (args->host && sooth_hosts_find(hosts, args->host, &o->host, &error) != SOOTH_OK)
        code = error.code == SOOTH_ERROR_USAGE ? cli_usage("train-phase", "%s", error.message)
                                               : cli_fail(error.code, args->host, "%s", error.message);
    if (code == SOOTH_OK)
        code = train(args, path, o);
    sooth_hosts_free(hosts);
    return code;
}

static int with_resources(const train_args *args, const char *path)
{
    sooth_error error;
    sooth_predictor *predictor = NULL;
    sooth_gpus *gpus;
    sooth_train_options o = args->train;
    if (args->weights && sooth_predictor_open(args->weights, &predictor, &error) != SOOTH_OK)
        return cli_fail(error.code, args->weights, "%s", error.message);
    int code = cli_open_gpus(&gpus);
    if (code == SOOTH_OK) {
        o.settings.predictor = predictor;
        o.workers = (int)args->workers;
        o.accumulate = (int)args->accumulate;
        if (args->gpu && sooth_gpus_find(gpus, args->gpu, &o.settings.device, &error) != SOOTH_OK)
            code = error.code == SOOTH_ERROR_USAGE ? cli_usage("train-phase", "%s", error.message)
                                                   : cli_fail(error.code, args->gpu, "%s", error.message);
        if (code == SOOTH_OK)
            code = with_host(args, path, &o);
        sooth_gpus_free(gpus);
    }
    sooth_predictor_free(predictor);
    return code;
}

int train_phase_main(int argc, char **argv)
{
    train_args args = {0};
    sooth_train_options *t = &args.train;
    const option options[] = {
        TEXT_OPTION("gpu", &args.gpu, "NAME", "GPU, or a GPU file"),
        NUMBER_OPTION("batch", &args.dimensions.batch, "N", 1, INT32_MAX,
                      "batch size: binds the first dimension of the inputs"),
        DIMENSION_OPTIONS(&args.dimensions),
        TEXT_OPTION("precision", &t->settings.precision, "NAME", "as in `sooth predict`; amp by default"),
        TEXT_OPTION("layout", &t->settings.layout, "nchw|nhwc", "memory layout of images"),
        TEXT_OPTION("runtime", &t->settings.runtime, "NAME", "eager (default) or inductor: torch.compile"),
        TEXT_OPTION("optimizer", &t->settings.optimizer, "NAME",
                    "sgd-momentum (default), sgd, sgd-nesterov, adam, adamw, adam-l2, none"),
        TEXT_OPTION("stack", &t->settings.stack, "NAME",
                    "software version, such as pt2.4-cu124, or cuDNN's: cudnn-r2 to cudnn-6"),
        TEXT_OPTION("library", &t->library, "cudnn|cublas",
                    "of convolutions; cublas is im2col + GEMM; both are compared by default"),
        TEXT_OPTION("host", &args.host, "NAME|FILE", "computer around the GPU; epyc-9b14 by default"),
        FLAG_OPTION("hosts", &args.lists_hosts, "list the known hosts, with the origin of each number"),
        TEXT_OPTION("data", &t->data, "NAME", "data set to read, see below (default for images: imagenet)"),
        NUMBER_OPTION("workers", &args.workers, "N", 1, 4096,
                      "processes of the loader; 8 by default, at most the host's cores"),
        FLAG_OPTION("pin", &t->pinned, "samples are in pinned memory, so copies overlap with the GPU's work"),
        FLAG_OPTION("no-overlap", &t->no_overlap, "one stage after another"),
        NUMBER_OPTION("accumulate", &args.accumulate, "N", 1, 65536,
                      "batches whose gradients are added before an update"),
        FLAG_OPTION("checkpoint", &t->checkpoint, "compute segments again in the backward pass; least memory"),
        TEXT_OPTION("checkpoint-modules", &t->checkpoint_modules, "PATTERN,...",
                    "compute these modules again, such as 'blocks.*' or '*.mlp,*norm'"),
        FLAG_OPTION("layers", &args.layers, "every layer in the table"),
        FORMAT_OPTION(&args.format, "table|json|csv|trace|html", FORMATS,
                      "output format; csv has the layers, html is a page, trace is for Perfetto"),
        WEIGHTS_OPTION(&args.weights),
        OUTPUT_OPTION(&args.output),
    };
    int code;
    if (!options_done("train-phase", options, sizeof options / sizeof *options, &argc, argv, help, &code)) {
        if (args.lists_hosts && argc == 1)
            code = list_hosts();
        else
            code = argc == 2 ? with_resources(&args, argv[1])
                             : cli_usage("train-phase",
                                         argc < 2 ? "which MODEL?" : "one MODEL at a time; '%.100s' is one too many",
                                         argv[argc - 1]);
    }
    model_args_free(&args.dimensions);
    return code;
}
