/* gpus.c: `sooth gpus`: known GPUs, and the origin of each number. */
#include "cli/options.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const FORMATS[] = {"table", "json", "csv", NULL}; /* in the order of sooth_format */

static void help(const option *options, size_t count)
{
    puts("usage: sooth gpus [NAME] [OPTION]...\n\n"
         "Lists the known GPUs, or all numbers of one with their origins.\n"
         "NAME is a name or alias, or the path of a GPU file (with a '/' in it, or ending in .txt).\n"
         "SOOTH_GPUS names a directory of further GPU files (*.txt).\n\nOptions:");
    options_help(options, count);
}

static int print(sooth_gpus *gpus, const char *name, const sooth_report_options *options, const char *output)
{
    sooth_error error;
    const sooth_gpu *gpu = NULL;
    if (name && sooth_gpus_find(gpus, name, &gpu, &error) != SOOTH_OK)
        return error.code == SOOTH_ERROR_USAGE ? cli_usage("gpus", "%s", error.message)
                                               : cli_fail(error.code, name, "%s", error.message);
    char *text;
    size_t size;
    sooth_status status = sooth_gpus_report(gpus, gpu, options, &text, &size, &error);
    int code = status == SOOTH_OK ? cli_write(output, text, size)
                                  : cli_fail(status, name ? name : "gpus", "%s", error.message);
    free(text);
    return code;
}

static int run(const char *name, const sooth_report_options *options, const char *output)
{
    sooth_gpus *gpus;
    int code = cli_open_gpus(&gpus);
    if (code != SOOTH_OK)
        return code;
    code = print(gpus, name, options, output);
    sooth_gpus_free(gpus);
    return code;
}

int gpus_main(int argc, char **argv)
{
    int format = 0;
    const char *output = NULL;
    const option options[] = {
        FORMAT_OPTION(&format, "table|json|csv", FORMATS, "output format"),
        OUTPUT_OPTION(&output),
    };
    size_t count = sizeof options / sizeof *options;
    int code;
    if (options_done("gpus", options, count, &argc, argv, help, &code))
        return code;
    if (argc > 2)
        return cli_usage("gpus", "one NAME at a time; '%.100s' is one too many", argv[2]);
    sooth_report_options report = {.format = (sooth_format)format};
    if (!output && format == SOOTH_FORMAT_TABLE)
        fit_terminal(&report);
    return run(argc == 2 ? argv[1] : NULL, &report, output);
}
