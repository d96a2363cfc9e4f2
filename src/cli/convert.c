/* convert.c: `sooth convert`: writes the graph of any readable file as ONNX without weights. */
#include "cli/model_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void help(const option *options, size_t count)
{
    puts("usage: sooth convert MODEL -o FILE.onnx\n\n"
         "Writes the graph of MODEL as a small ONNX file without weights; Sooth's answers for it are the same.\n"
         "MODEL is a file that `sooth inspect` reads, '-' for standard input, or zoo:NAME.\n\nOptions:");
    options_help(options, count);
}

static int run(const char *path, const char *output)
{
    model_file file;
    int code = model_load(path, &file);
    if (code != SOOTH_OK)
        return code;
    sooth_error error;
    void *bytes = NULL;
    size_t size;
    /* Binding infers output types that the file does not declare. A graph that cannot be bound is written without
     * them. */
    sooth_status status = sooth_bind(file.model, NULL, &error);
    if (status != SOOTH_ERROR_SYSTEM)
        status = sooth_write_onnx(file.model, &bytes, &size, &error);
    code = status == SOOTH_OK ? cli_write(output, bytes, size) : cli_fail(status, path, "%s", error.message);
    free(bytes);
    model_close(&file);
    return code;
}

int convert_main(int argc, char **argv)
{
    const char *output = NULL;
    const option options[] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .target = &output,
         .argument = "FILE",
         .help = "write to FILE ('-' for standard output)"},
    };
    size_t count = sizeof options / sizeof *options;
    int code;
    if (options_done("convert", options, count, &argc, argv, help, &code))
        return code;
    if (argc != 2)
        return cli_usage("convert", argc < 2 ? "which MODEL?" : "one MODEL at a time; '%.100s' is one too many",
                         argv[argc - 1]);
    if (!output && isatty(STDOUT_FILENO))
        return cli_usage("convert", "ONNX is a binary format: name a file with -o FILE");
    return run(argv[1], output);
}
