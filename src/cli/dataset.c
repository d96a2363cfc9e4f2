/* dataset.c: `sooth dataset`: sets of graphs with labels, in an SQLite file. */
#include "cli/dataset_args.h"
#include "cli/options.h"

#include <stdio.h>

const char *const DATASET_FORMATS[] = {"table", "json", "csv", "jsonl", "npz", NULL};

static void help(const option *options, size_t count)
{
    puts("usage: sooth dataset make [MODEL|DIRECTORY|LIST.csv]... [OPTION]... -o SET.db\n"
         "       sooth dataset stats|check SET.db [-f table|json]\n"
         "       sooth dataset export SET.db -f csv|jsonl|npz [-o FILE]\n\n"
         "Makes a set of graphs with labels (latency, energy, memory, utilization, MIG profile) for training graph\n"
         "networks. Without networks and without --plan: the ten families of DIPPM, 10,508 graphs. doc/dataset.md has\n"
         "the schema.\n\nOptions:");
    options_help(options, count);
    puts("\nA set that was interrupted goes on when the same command is given again. Rows of --labels ROWS.csv are\n"
         "joined by the column fingerprint, graph (the file's name) or name.\n\n"
         "Examples:\n"
         "  sooth dataset make --gpu a100,t4 -o dippm.db\n"
         "  sooth dataset make models/ --labels rows.csv -o measured.db\n"
         "  sooth dataset export measured.db -f npz -o measured.npz");
}

static int read_set(const dataset_args *args, const char *what, int operand_count, char **operands)
{
    if (operand_count != 1)
        return cli_usage("dataset", "'%s' takes one SET.db", what);
    if (strcmp(what, "stats") == 0)
        return dataset_stats(args, operands[0]);
    if (strcmp(what, "check") == 0)
        return dataset_check(args, operands[0]);
    return dataset_export(args, operands[0]);
}

static int with_weights(dataset_args *args, int operand_count, char **operands)
{
    sooth_error error;
    sooth_predictor *predictor = NULL;
    if (args->weights && sooth_predictor_open(args->weights, &predictor, &error) != SOOTH_OK)
        return cli_fail(error.code, args->weights, "%s", error.message);
    args->settings.predictor = predictor;
    int code = dataset_make(args, operand_count, operands);
    sooth_predictor_free(predictor);
    return code;
}

int dataset_main(int argc, char **argv)
{
    dataset_args args = {.labels = "predicted", .seed = -1};
    const option options[] = {
        {.name = "plan",
         .kind = OPTION_TEXT,
         .target = &args.plan,
         .argument = "FILE",
         .help = "families and how many graphs of each are drawn; 'dippm' is the plan that ships"},
        {.name = "seed",
         .kind = OPTION_NUMBER,
         .target = &args.seed,
         .argument = "N",
         .least = 0,
         .most = INT64_MAX,
         .help = "seed of the drawing, in place of the plan's"},
        {.name = "gpu",
         .kind = OPTION_TEXT,
         .target = &args.gpus,
         .argument = "NAME,...",
         .help = "GPUs of predicted labels; those of the plan, or a100-sxm4-40gb"},
        {.name = "batch",
         .kind = OPTION_TEXT,
         .target = &args.batches,
         .argument = "N,...",
         .help = "batches of given networks; those of the measured rows, or 1"},
        {.name = "labels",
         .kind = OPTION_TEXT,
         .target = &args.labels,
         .argument = "predicted|none|ROWS.csv",
         .help = "where labels come from; predicted by default"},
        {.name = "precision",
         .kind = OPTION_TEXT,
         .target = &args.precisions,
         .argument = "NAME,...",
         .help = "precisions as in `sooth predict`; amp by default"},
        {.name = "layout",
         .kind = OPTION_TEXT,
         .target = &args.layouts,
         .argument = "NAME,...",
         .help = "nchw (default), nhwc"},
        {.name = "runtime",
         .kind = OPTION_TEXT,
         .target = &args.runtimes,
         .argument = "NAME,...",
         .help = "eager (default), inductor, engine"},
        {.name = "mode",
         .kind = OPTION_TEXT,
         .target = &args.settings.mode,
         .argument = "NAME",
         .help = "infer (default), train, train-forward"},
        {.name = "optimizer",
         .kind = OPTION_TEXT,
         .target = &args.settings.optimizer,
         .argument = "NAME",
         .help = "optimizer of training"},
        {.name = "stack",
         .kind = OPTION_TEXT,
         .target = &args.settings.stack,
         .argument = "NAME",
         .help = "software version, such as pt2.4-cu124"},
        {.name = "format",
         .letter = 'f',
         .kind = OPTION_CHOICE,
         .target = &args.format,
         .argument = "table|json|csv|jsonl|npz",
         .choices = DATASET_FORMATS,
         .help = "of stats and check: table, json; of export: csv, jsonl, npz"},
        WEIGHTS_OPTION(&args.weights),
        OUTPUT_OPTION(&args.output),
    };
    int code;
    if (options_done("dataset", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        return code;
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "make") == 0)
        return with_weights(&args, argc - 2, argv + 2);
    if (strcmp(what, "stats") == 0 || strcmp(what, "check") == 0 || strcmp(what, "export") == 0)
        return read_set(&args, what, argc - 2, argv + 2);
    if (argc > 1)
        return cli_usage("dataset", "there is no 'dataset %.60s': make, stats, check and export are", what);
    return cli_usage("dataset", "what is to be done: make, stats, check or export?");
}
