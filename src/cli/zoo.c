/* zoo.c: `sooth zoo`: the networks that come with the program. */
#include "cli/options.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const FORMATS[] = {"table", "json", NULL}; /* in the order of sooth_format */

static void help(const option *options, size_t count)
{
    puts("usage: sooth zoo [NAME] [OPTION]...\n\n"
         "Lists the networks that come with the program, or the parameters of one.\n"
         "Other commands take them as models: zoo:NAME[/VALUE][?KEY=VALUE[&KEY=VALUE...]].\n\nOptions:");
    options_help(options, count);
}

int zoo_main(int argc, char **argv)
{
    int format = 0;
    const char *output = NULL;
    const option options[] = {
        FORMAT_OPTION(&format, "table|json", FORMATS, "output format"),
        OUTPUT_OPTION(&output),
    };
    int code;
    if (options_done("zoo", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        return code;
    if (argc > 2)
        return cli_usage("zoo", "one NAME at a time; '%.100s' is one too many", argv[2]);
    sooth_report_options report = {.format = (sooth_format)format};
    if (!output && format == SOOTH_FORMAT_TABLE)
        fit_terminal(&report);
    const char *name = argc == 2 ? argv[1] : NULL;
    if (name && strncmp(name, "zoo:", strlen("zoo:")) == 0)
        name += strlen("zoo:");
    char *text;
    size_t size;
    sooth_error error;
    if (sooth_zoo_report(name, &report, &text, &size, &error) != SOOTH_OK)
        return error.code == SOOTH_ERROR_USAGE ? cli_usage("zoo", "%s", error.message)
                                               : cli_fail(error.code, "zoo", "%s", error.message);
    code = cli_write(output, text, size);
    free(text);
    return code;
}
