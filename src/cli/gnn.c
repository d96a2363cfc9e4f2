/* gnn.c: `sooth gnn`: graph networks that predict whole networks, trained on data sets. */
#include "cli/gnn_args.h"

#include <stdio.h>

static const char *const FORMATS[] = {"table", "json", "csv", NULL};
static const char *const SCHEDULES[] = {"constant", "linear", NULL};
static const char *const PARTS[] = {"test", "validation", "train", NULL};

static void help(const option *options, size_t count)
{
    puts("usage: sooth gnn train SET.db [OPTION]... -o MODEL.bin\n"
         "       sooth gnn eval MODEL.bin SET.db [OPTION]...\n"
         "       sooth gnn predict MODEL.bin NETWORK [--gpu NAME] [OPTION]...\n"
         "       sooth gnn gradient SET.db [OPTION]... -o OUT.npz\n\n"
         "Trains graph networks on a set of `sooth dataset`, as DIPPM does, to compare them with Sooth's own "
         "predictor:\n"
         "latency, energy and memory from a network's graph. `gradient` writes a batch, the outputs and the gradient "
         "of\n"
         "the first step, to check them against another implementation (doc/dippm.md).\n\nOptions:");
    options_help(options, count);
    puts("\nThe same command resumes an interrupted training.\n\n"
         "Examples:\n"
         "  sooth dataset make --gpu a100 -o set.db\n"
         "  sooth gnn train set.db --epochs 10 -o pmgns.bin\n"
         "  sooth gnn eval pmgns.bin set.db\n"
         "  sooth gnn predict pmgns.bin zoo:resnet50 --gpu a100 --batch 8");
}

static int run(const gnn_args *args, int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "train") == 0)
        return argc == 3 ? gnn_train(args, argv[2]) : cli_usage("gnn", "'train' takes one SET.db");
    if (strcmp(what, "eval") == 0)
        return argc == 4 ? gnn_eval(args, argv[2], argv[3]) : cli_usage("gnn", "'eval' takes MODEL.bin and SET.db");
    if (strcmp(what, "predict") == 0)
        return argc == 4 ? gnn_predict(args, argv[2], argv[3])
                         : cli_usage("gnn", "'predict' takes MODEL.bin and a network");
    if (strcmp(what, "gradient") == 0)
        return argc == 3 ? gnn_gradient(args, argv[2]) : cli_usage("gnn", "'gradient' takes one SET.db");
    if (argc > 1)
        return cli_usage("gnn", "there is no 'gnn %.60s'; use train, eval, predict or gradient", what);
    return cli_usage("gnn", "which subcommand: train, eval, predict or gradient?");
}

int gnn_main(int argc, char **argv)
{
    gnn_args args = {.hidden = 512, .epochs = 10, .graphs = 16, .seed = -1, .split = -1, .probed = 4};
    const option options[] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .target = &args.output,
         .argument = "FILE",
         .help = "model to write, or report; FILE.checkpoint holds unfinished work"},
        CHOICE_OPTION("model", &args.kind, "sage|gcn|gat|gin|mlp", GNN_KIND_NAMES,
                      "graph network; sage (the default) is DIPPM's PMGNS"),
        CHOICE_OPTION("node-features", &args.features, "dippm|full", GNN_FEATURE_NAMES,
                      "dippm (default): operators with weights, in a chain; full: all operators and\nthe true edges"),
        NUMBER_OPTION("hidden", &args.hidden, "N", 32, GNN_WIDEST, "hidden units, a multiple of 32 (default 512)"),
        NUMBER_OPTION("epochs", &args.epochs, "N", 1, 100000, "epochs (default 10)"),
        NUMBER_OPTION("batch-size", &args.graphs, "N", 1, GNN_MOST_GRAPHS, "graphs per step (default 16)"),
        TEXT_OPTION("rate", &args.rate, "X", "learning rate (default 2.754e-5, DIPPM's)"),
        CHOICE_OPTION("schedule", &args.schedule, "constant|linear", SCHEDULES,
                      "learning rate over the training: constant (default), or falling to 0"),
        TEXT_OPTION("dropout", &args.dropout, "X", "share of the numbers between layers to drop (default 0.05)"),
        TEXT_OPTION("huber", &args.huber, "X", "error in the logarithm above which the loss is linear (default 1)"),
        NUMBER_OPTION("seed", &args.seed, "N", 0, INT32_MAX, "seed of the split and the training (default 1)"),
        CHOICE_OPTION("split", &args.split, "random|architecture|family|gpu", GNN_SPLIT_NAMES,
                      "what stays together when 70 % of the labels train, 15 % validate and 15 % test:\na graph "
                      "(random, the default), an architecture, a family, a GPU"),
        TEXT_OPTION("apart", &args.apart, "NAME,...", "families or GPUs to test, instead of random ones"),
        TEXT_OPTION("test", &args.test, "ROWS.csv", "labels to test, by name, batch, gpu and setting"),
        TEXT_OPTION("gpu", &args.gpus, "NAME,...",
                    "train and eval: only the labels of these GPUs; predict: the GPU (default\na100-sxm4-40gb)"),
        CHOICE_OPTION("part", &args.part, "test|validation|train", PARTS, "eval: labels to score (default test)"),
        NUMBER_OPTION("graphs", &args.probed, "N", 1, 256, "gradient: graphs of the batch (default 4)"),
        NUMBER_OPTION("batch", &args.dimensions.batch, "N", 1, INT32_MAX, "predict: batch size"),
        DIMENSION_OPTIONS(&args.dimensions),
        TEXT_OPTION("precision", &args.settings.precision, "NAME", "predict: precision (default amp-fp16)"),
        TEXT_OPTION("layout", &args.settings.layout, "nchw|nhwc", "predict: memory layout (default nchw)"),
        TEXT_OPTION("runtime", &args.settings.runtime, "NAME", "predict: eager (default), inductor, engine"),
        TEXT_OPTION("mode", &args.settings.mode, "NAME", "predict: infer (default), train, train-forward"),
        TEXT_OPTION("stack", &args.settings.stack, "NAME", "predict: software version, such as pt2.4-cu124"),
        FORMAT_OPTION(&args.format, "table|json|csv", FORMATS, "format of the answer; csv only for eval"),
        {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .target = &args.quiet, .help = "show no progress"},
    };
    int code;
    if (options_done("gnn", options, sizeof options / sizeof *options, &argc, argv, help, &code))
        return code;
    args.has_split = args.split >= 0;
    args.split = args.has_split ? args.split : GNN_RANDOM;
    args.has_seed = args.seed >= 0;
    args.seed = args.has_seed ? args.seed : 1;
    code = run(&args, argc, argv);
    model_args_free(&args.dimensions);
    return code;
}
