/* dataset.c: `sooth dataset`: sets of graphs with labels, in an SQLite file. */
#include "cli/dataset_args.h"
#include "cli/options.h"

#include <stdio.h>

static const char *const DATASET_FORMATS[] = {"table", "json", "csv", "jsonl", "npz", NULL};

static void help(const option *options, size_t count)
{
    puts("usage: sooth dataset make [MODEL|DIRECTORY|LIST.csv]... [OPTION]... -o SET.db\n"
         "       sooth dataset stats|check SET.db [-f table|json]\n"
         "       sooth dataset export SET.db -f csv|jsonl|npz [-o FILE]\n\n"
         "Makes a set of graphs with labels (latency, energy, memory, utilization, MIG profile) for training graph\n"
         "networks. Without networks and without --plan: the ten families of DIPPM, 10,508 graphs. doc/dataset.md has\n"
         "the schema.\n\nOptions:");
    options_help(options, count);
    puts("\nThe same command resumes an interrupted set. Rows of --labels ROWS.csv are\n"
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
        TEXT_OPTION("plan", &args.plan, "FILE",
                    "families and the number of graphs to draw of each; 'dippm' is the shipped plan"),
        NUMBER_OPTION("seed", &args.seed, "N", 0, INT64_MAX, "random seed, instead of the plan's"),
        TEXT_OPTION("gpu", &args.gpus, "NAME,...",
                    "GPUs of predicted labels; by default those of the plan, or a100-sxm4-40gb"),
        TEXT_OPTION("batch", &args.batches, "N,...",
                    "batches of given networks; by default those of the measured rows, or 1"),
        TEXT_OPTION("labels", &args.labels, "predicted|none|ROWS.csv", "where labels come from; predicted by default"),
        TEXT_OPTION("precision", &args.precisions, "NAME,...", "precisions as in `sooth predict`; amp by default"),
        TEXT_OPTION("layout", &args.layouts, "NAME,...", "nchw (default), nhwc"),
        TEXT_OPTION("runtime", &args.runtimes, "NAME,...", "eager (default), inductor, engine"),
        TEXT_OPTION("mode", &args.settings.mode, "NAME", "infer (default), train, train-forward"),
        TEXT_OPTION("optimizer", &args.settings.optimizer, "NAME", "optimizer of training"),
        TEXT_OPTION("stack", &args.settings.stack, "NAME", "software version, such as pt2.4-cu124"),
        FORMAT_OPTION(&args.format, "table|json|csv|jsonl|npz", DATASET_FORMATS,
                      "of stats and check: table, json; of export: csv, jsonl, npz"),
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
        return cli_usage("dataset", "there is no 'dataset %.60s'; use make, stats, check or export", what);
    return cli_usage("dataset", "which subcommand: make, stats, check or export?");
}
