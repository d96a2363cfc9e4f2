/* inspect.c: `sooth inspect`: layers of a network and their costs, without a GPU. */
#include "cli/model_args.h"
#include "cli/terminal.h"
#include "report/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const FORMATS[] = {"table", "json", "csv", "dot", "svg", NULL}; /* in the order of sooth_format */

static void help(const option *options, size_t count)
{
    puts("usage: sooth inspect MODEL [OPTION]...\n\n"
         "Lists the layers of a network with their shapes, parameters, MACs, FLOPs and bytes.\n"
         "MODEL is a file of a format listed below, '-' for standard input, or zoo:NAME.\n\nOptions:");
    options_help(options, count);
    model_args_help();
}

/* For --strict: lists unknown operators and returns exit code 4 if there are any. */
static int check_operators(const sooth_model *model, const char *path)
{
    enum { MOST_NAMED = 8 };
    const char *named[MOST_NAMED];
    char list[512] = "";
    size_t named_count = 0, layers = 0;
    for (size_t i = 0; i < sooth_layer_count(model); i++) {
        sooth_layer l = sooth_layer_at(model, i);
        if (l.op_known)
            continue;
        layers++;
        bool seen = named_count == MOST_NAMED;
        for (size_t k = 0; k < named_count; k++)
            seen = seen || strcmp(named[k], l.op) == 0;
        if (seen)
            continue;
        named[named_count++] = l.op;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%.40s", used ? ", " : "", l.op);
        if (named_count == MOST_NAMED)
            strncat(list, ", ...", sizeof list - strlen(list) - 1);
    }
    if (!layers)
        return SOOTH_OK;
    return cli_fail(
        SOOTH_ERROR_UNSUPPORTED, path,
        "%zu layer%s with unknown operators (%s): the totals do not include their cost; omit --strict to accept "
        "that",
        layers, layers == 1 ? "" : "s", list);
}

static int report(const char *path, const sooth_model *model, const sooth_report_options *options, bool strict,
                  const char *output)
{
    sooth_error error;
    cli_output o = {.path = output};
    const text_sink sink = {cli_put, &o};
    sooth_status status = report_write(model, options, &sink, &error);
    int code = cli_end(&o, status == SOOTH_OK);
    if (status != SOOTH_OK && code == SOOTH_OK)
        code = status == SOOTH_ERROR_USAGE ? cli_usage("inspect", "%s", error.message) : model_failed(path, &error);
    return code == SOOTH_OK && strict ? check_operators(model, path) : code;
}

static int run(const char *path, const model_args *args, const sooth_report_options *options, bool strict,
               const char *output)
{
    model_dims dims;
    model_file file;
    sooth_error error;
    /* Checked first, so that a mistyped option is reported before a large file is read. */
    int code = model_dims_read("inspect", args, &dims);
    if (code != SOOTH_OK)
        return code;
    code = model_load(path, &file);
    if (code == SOOTH_OK) {
        code = sooth_bind(file.model, &dims.options, &error) == SOOTH_OK
                   ? report(path, file.model, options, strict, output)
                   : model_failed(path, &error);
        model_close(&file);
    }
    model_dims_free(&dims);
    return code;
}

int inspect_main(int argc, char **argv)
{
    model_args args = {0};
    int format = 0;
    int64_t top = 0, depth = 0;
    bool values = false, strict = false;
    const char *output = NULL;
    const option options[] = {
        MODEL_OPTIONS(&args),
        FORMAT_OPTION(&format, "table|json|csv|dot|svg", FORMATS,
                      "output format; dot and svg are pictures of the graph"),
        FLAG_OPTION("values", &values, "also list every tensor of the file (csv: instead of layers)"),
        NUMBER_OPTION("top", &top, "N", 1, INT32_MAX, "list the N layers with most MACs, and one row for the rest"),
        NUMBER_OPTION("depth", &depth, "N", 1, 64,
                      "one row for all layers that share the first N parts of their names"),
        FLAG_OPTION("strict", &strict, "exit code 4 if an operator is unknown"),
        OUTPUT_OPTION(&output),
    };
    size_t count = sizeof options / sizeof *options;
    int code;
    if (options_done("inspect", options, count, &argc, argv, help, &code)) {
        model_args_free(&args);
        return code;
    }
    if (argc == 2) {
        sooth_report_options how = {
            .format = (sooth_format)format, .values = values, .top = (size_t)top, .depth = (size_t)depth};
        if (!output && format == SOOTH_FORMAT_TABLE)
            fit_terminal(&how);
        code = run(argv[1], &args, &how, strict, output);
    } else {
        code = cli_usage("inspect", argc < 2 ? "which MODEL?" : "one MODEL at a time; '%.100s' is one too many",
                         argv[argc - 1]);
    }
    model_args_free(&args);
    return code;
}
