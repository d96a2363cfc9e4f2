/* measure.c: `sooth measure`: a training step on this processor, layer by layer, by real libraries. */
#include "measure/measure.h"
#include "base/file.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/model_args.h"
#include "cli/terminal.h"
#include "measure/host_file.h"
#include "plan/train_phase.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const FORMATS[] = {"table", "json", "csv", NULL}; /* in the order of sooth_format */
enum { DEFAULT_IMAGES = 64, SIDE = 224 }; /* Number of images, and their side in pixels for ImageNet's networks. */
static const double RATE = 0.001, MOMENTUM = 0.9;

static void help(const option *options, size_t count)
{
    puts("usage: sooth measure MODEL [OPTION]...\n"
         "       sooth measure --host [-o FILE]\n\n"
         "Trains the network on this processor for some steps, with generated images, and measures forward, backward\n"
         "and update of each layer, by oneDNN and by OpenBLAS (im2col and products of matrices).\n\nOptions:");
    options_help(options, count);
    puts("\nExamples:\n"
         "  sooth measure zoo:resnet50 --batch 16\n"
         "  sooth measure model.onnx --batch 8 --library onednn --repeat 20 --format json");
}

typedef struct measure_args {
    const char *output, *save, *load;
    file_map map; /* File of --load. */
    cli_output saved;
    int64_t threads, warmup, repeat, images, workers;
    bool layers, compares, host, is_loading;
    int format;
    model_args dimensions;
    measure_options measure;
} measure_args;

static int write_answer(const measure_args *args, const sooth_model *model, const measured *m)
{
    sooth_report_options report = {.format = (sooth_format)args->format, .layers = args->layers};
    sooth_error error = {0};
    char *text = NULL;
    size_t size;
    if (!args->output && report.format == SOOTH_FORMAT_TABLE)
        fit_terminal(&report);
    sooth_train *t = train_new(&error);
    if (!t)
        return cli_fail(error.code, "measure", "%s", error.message);
    if (!setjmp(t->fail.jump))
        measure_answer(t, model, m, 0);
    if (error.code == SOOTH_OK)
        measure_report(t, model, m, args->compares, &report, &text, &size, &error);
    sooth_train_free(t);
    int code = error.code == SOOTH_OK ? cli_write(args->output, text, size)
                                      : cli_fail(error.code, "measure", "%s", error.message);
    free(text);
    return code;
}

/* Measures in an arena of its own; failures of the library are caught here. */
static int measure_model(measure_args *args, const char *path, sooth_model *model)
{
    sooth_error error = {0};
    fail f = {.error = &error};
    arena a;
    measured *volatile m = NULL;
    arena_init(&a, &f, ARENA_GIB(1));
    if (args->save) {
        args->measure.save = cli_put;
        args->measure.save_context = &args->saved;
        args->saved.path = args->save;
    }
    if (!setjmp(f.jump)) {
        if (args->load) {
            args->is_loading = true;
            file_open(&args->map, args->load, &f);
            args->is_loading = false;
            args->measure.load = (str){(const char *)args->map.bytes, args->map.size};
            args->measure.load_path = args->load;
        }
        m = measure(model, &args->measure, &a, &f);
    }
    int code = SOOTH_OK;
    if (!m)
        code = error.code == SOOTH_ERROR_USAGE ? cli_usage("measure", "%s", error.message)
                                               : model_failed(args->is_loading ? args->load : path, &error);
    if (args->save) {
        int written = cli_end(&args->saved, m != NULL);
        code = code == SOOTH_OK ? written : code;
    }
    if (code == SOOTH_OK)
        code = write_answer(args, model, m);
    if (args->measure.load.ptr)
        file_close(&args->map);
    arena_free(&a);
    return code;
}

static const char *directory_for_files(void)
{
    const char *directory = getenv("TMPDIR");
    return directory && *directory ? directory : "/tmp";
}

/* Writes a host file of this machine, as in data/hosts. */
static int write_host(const measure_args *args)
{
    sooth_error error = {0};
    sooth_hosts *hosts;
    const sooth_host *like;
    fail f = {.error = &error};
    arena a;
    str volatile text = {0};
    if (sooth_hosts_open(&hosts, &error) != SOOTH_OK)
        return cli_fail(error.code, "measure", "%s", error.message);
    arena_init(&a, &f, ARENA_GIB(1));
    sooth_status found = sooth_hosts_find(hosts, "epyc-9b14", &like, &error);
    if (found == SOOTH_OK && !setjmp(f.jump)) {
        size_t threads = args->threads ? (size_t)args->threads : threads_available();
        int workers = args->workers ? (int)args->workers : (int)threads;
        machine m = machine_of(threads);
        image_times images =
            images_measure(directory_for_files(), args->images ? (int)args->images : DEFAULT_IMAGES, SIDE, workers, &f);
        text = host_file_text(&m, &images, host_copy_rate(&f), like, &a);
    }
    int code = error.code == SOOTH_OK ? cli_write(args->output, text.ptr, text.len)
                                      : cli_fail(error.code, "measure", "%s", error.message);
    arena_free(&a);
    sooth_hosts_free(hosts);
    return code;
}

static int with_model(measure_args *args, const char *path)
{
    model_dims dims;
    model_file file;
    sooth_error error;
    int code = model_dims_read("measure", &args->dimensions, &dims);
    if (code != SOOTH_OK)
        return code;
    code = model_load(path, &file);
    if (code == SOOTH_OK) {
        args->measure.threads = (int)args->threads;
        args->measure.warmup = (int)args->warmup;
        args->measure.repeat = (int)args->repeat;
        args->measure.images = (int)args->images;
        args->measure.workers = (int)args->workers;
        args->measure.directory = directory_for_files();
        if (sooth_bind_open(file.model, &dims.options, &error) == SOOTH_OK)
            code = measure_model(args, path, file.model);
        else
            code = model_failed(path, &error);
        model_close(&file);
    }
    model_dims_free(&dims);
    return code;
}

int measure_main(int argc, char **argv)
{
    measure_args args = {
        .warmup = 2, .repeat = 5, .images = DEFAULT_IMAGES, .measure = {.rate = RATE, .momentum = MOMENTUM}};
    const option options[] = {
        MODEL_OPTIONS(&args.dimensions),
        TEXT_OPTION("library", &args.measure.libraries, "NAME,...",
                    "onednn, openblas, plain (reference in plain C); by default both libraries, if installed"),
        NUMBER_OPTION("threads", &args.threads, "N", 1, 1024, "computing threads; all cores by default"),
        NUMBER_OPTION("warmup", &args.warmup, "N", 0, 1000000, "steps before those that are measured; 2 by default"),
        NUMBER_OPTION("repeat", &args.repeat, "N", 1, 1000000, "steps that are measured; 5 by default"),
        NUMBER_OPTION("images", &args.images, "N", 0, 100000,
                      "JPEG files of the input pipeline, in TMPDIR; 64 by default, 0: not measured"),
        NUMBER_OPTION("workers", &args.workers, "N", 1, 1024,
                      "threads that load images; by default as many as computing threads"),
        FLAG_OPTION("compare", &args.compares, "compare with the roofline of this processor, from measured peaks"),
        FLAG_OPTION("host", &args.host, "write a file for `sooth train-phase --host` about this machine"),
        FLAG_OPTION("new-data", &args.measure.renews_data, "use a new batch in each step"),
        TEXT_OPTION("load", &args.load, "FILE", "initial parameters (safetensors), found by their names"),
        TEXT_OPTION("save", &args.save, "FILE",
                    "write loss, gradients and parameters after the first step (safetensors)"),
        FLAG_OPTION("layers", &args.layers, "every layer in the table"),
        FORMAT_OPTION(&args.format, "table|json|csv", FORMATS, "output format; csv has the layers"),
        OUTPUT_OPTION(&args.output),
    };
    int code;
    if (!options_done("measure", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        code = args.host && argc == 1 ? write_host(&args)
               : argc == 2
                   ? with_model(&args, argv[1])
                   : cli_usage("measure", argc < 2 ? "which MODEL?" : "one MODEL at a time; '%.100s' is one too many",
                               argv[argc - 1]);
    model_args_free(&args.dimensions);
    return code;
}
