/* dataset_fuzz.c: libFuzzer target for the files of `sooth dataset`: statistics, the check, all exports, and graph
 * networks that are trained and evaluated on them. */
#include "cli/cli.h"
#include "invariants.h"
#include "program.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST_WORDS = 12 };

typedef int (*command_main)(int argc, char **argv);

/* A damaged file must not be reported as a system error. */
static int run(command_main command, char *words[MOST_WORDS])
{
    int count = 0;
    while (words[count])
        count++;
    int code = command(count, words);
    if (code < SOOTH_OK || code >= SOOTH_ERROR_SYSTEM)
        broken("%s %s ends with %d", words[0], words[1], code);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    program_begin();
    program_write("set.db", bytes, size);
    if (run(dataset_main, (char *[MOST_WORDS]){"dataset", "stats", "set.db", "-f", "json"}) > SOOTH_ANSWER_NO)
        return 0;
    run(dataset_main, (char *[MOST_WORDS]){"dataset", "check", "set.db"});
    run(dataset_main, (char *[MOST_WORDS]){"dataset", "export", "set.db", "-f", "csv"});
    run(dataset_main, (char *[MOST_WORDS]){"dataset", "export", "set.db", "-f", "jsonl"});
    run(dataset_main, (char *[MOST_WORDS]){"dataset", "export", "set.db", "-f", "npz", "-o", "out.npz"});
    run(gnn_main, (char *[MOST_WORDS]){"gnn", "gradient", "set.db", "--hidden", "32", "-o", "out.npz"});
    if (run(gnn_main, (char *[MOST_WORDS]){"gnn", "train", "set.db", "--hidden", "32", "--epochs", "1", "-q", "-o",
                                           "model.bin"}) == SOOTH_OK)
        run(gnn_main, (char *[MOST_WORDS]){"gnn", "eval", "model.bin", "set.db", "-f", "json"});
    return 0;
}
