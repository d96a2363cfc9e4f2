/* main.c: dispatches the subcommands. */
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/cluster.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const command COMMANDS[] = {
    {"inspect", "shapes, parameters, MACs, FLOPs and bytes, layer by layer", inspect_main},
    {"predict", "latency, energy, memory and utilization on a GPU, layer by layer", predict_main},
    {"train-phase", "a training step by stage and layer: read, decode, copy, forward, backward, update",
     train_phase_main},
    {"measure", "a training step on this processor, layer by layer, by oneDNN and OpenBLAS", measure_main},
    {"choose", "GPU, slice, batch and setting that meet a target, ranked", choose_main},
    {"survey", "GPU utilization of many networks, and where the rest of the peak goes", survey_main},
    {"nas", "search over architectures within limits of latency, memory and energy", nas_main},
    {"sweep", "every combination of networks, batches, GPUs and settings of a plan", sweep_main},
    {"dataset", "sets of graphs with labels, for training graph networks", dataset_main},
    {"mig", "smallest MIG slice for a model, or a layout of slices for several", mig_main},
    {"eval", "errors of predictions on measured rows", eval_main},
    {"learn", "train the predictor on measured rows", learn_main},
    {"gnn", "graph networks that predict networks, trained on data sets", gnn_main},
    {"convert", "write the graph without its weights as an ONNX file", convert_main},
    {"serve", "the page and the predictions over HTTP", serve_main},
    {"gpus", "known GPUs, and the origin of each number", gpus_main},
    {"zoo", "networks that come with the program, and their parameters", zoo_main},
};
enum { COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS };

static int help(void)
{
    puts("usage: sooth COMMAND [MODEL] [OPTION]...\n\n"
         "Reads a neural network's file and predicts what it costs on a GPU, without running it.\n\nCommands:");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-11s  %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    puts("\nExamples:\n"
         "  sooth predict zoo:resnet50 --gpu a100,t4 --batch 32\n"
         "  sooth inspect model.onnx --batch 1 --depth 1\n"
         "  sooth predict model.onnx --gpu h100 --mode train --largest-batch");
    puts("\n`sooth COMMAND --help` explains a command; `sooth --version` prints the version.\n\n"
         "Exit codes: 0 done, 1 the answer is no, 2 usage, 3 bad input file, 4 unsupported, 5 system error.");
    return cli_flush();
}

static int no_such_command(const char *name)
{
    nearest near = nearest_to(str_of(name));
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        nearest_try(&near, str_of(COMMANDS[i].name));
    if (near.best.len)
        return cli_usage("", "there is no command '%.60s'; did you mean '%.*s'?", name, STR_ARG(near.best));
    return cli_usage("", "there is no %s '%.60s'", *name == '-' ? "option" : "command", name);
}

/* Handler of SIGBUS. If another program shortens a mapped file, its pages are lost while they are read, and no
 * answer is possible. Output files stay absent, because they appear only when complete. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    static const char MESSAGE[] = "sooth: a file shrank while it was read, or its disk failed: retry when nothing "
                                  "writes it, or pass it on standard input\n";
    (void)context;
    if (info->si_code == BUS_ADRERR) {
        ssize_t written = write(STDERR_FILENO, MESSAGE, sizeof MESSAGE - 1);
        (void)written;
        _exit(SOOTH_ERROR_INPUT);
    }
    signal(number, SIG_DFL); /* another cause: the fault recurs at once and ends the program */
}

/* Commands over many networks may run on several processes. */
static int run_command(const command *c, int argc, char **argv)
{
    bool is_set = c->run == dataset_main && argc > 1 && strcmp(argv[1], "make") == 0;
    bool is_training = c->run == gnn_main && argc > 1 && strcmp(argv[1], "train") == 0;
    int code =
        cluster_begin(is_set || is_training || c->run == learn_main || c->run == survey_main || c->run == sweep_main);
    return cluster_end(code == SOOTH_OK ? c->run(argc, argv) : code);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* write() then reports a closed pipe as an error, see cli_write */
    struct sigaction bus = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &bus, NULL);
    if (argc < 2)
        return cli_usage("", "which command?");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help();
    if (strcmp(argv[1], "--version") == 0) {
        printf("sooth %s\n", sooth_version());
        return cli_flush();
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], COMMANDS[i].name) == 0)
            return run_command(&COMMANDS[i], argc - 1, argv + 1);
    return no_such_command(argv[1]);
}
