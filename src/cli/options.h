/* options.h: command-line options of all subcommands: `--name value`, `--name=value`, `-o value`; `--` ends them, and
 * options may follow operands. A subcommand describes its options in an array, from which parsing, checks, help and
 * suggestions follow. */
#ifndef SOOTH_CLI_OPTIONS_H
#define SOOTH_CLI_OPTIONS_H

#include "cli/cli.h"

/* Values of a repeatable option; items point into argv. */
typedef struct option_list {
    const char **items; /* room for all arguments; free() */
    size_t count;
} option_list;

typedef enum option_kind {
    OPTION_FLAG,   /* bool * */
    OPTION_TEXT,   /* const char ** */
    OPTION_NUMBER, /* int64_t *, in least … most */
    OPTION_CHOICE, /* int *, index into choices */
    OPTION_LIST,   /* option_list * */
} option_kind;

typedef struct option {
    const char *name; /* without dashes */
    char letter;      /* short form, or 0 */
    option_kind kind;
    void *target;
    const char *argument; /* name of its value in the help; NULL for flags */
    const char *help;
    int64_t least, most;
    const char *const *choices; /* NULL after the last */
} option;

/* Rows of an array of options, by kind. */
#define FLAG_OPTION(called, to, says)                                                                                  \
    {                                                                                                                  \
        .name = (called), .kind = OPTION_FLAG, .target = (to), .help = (says)                                          \
    }
#define TEXT_OPTION(called, to, takes, says)                                                                           \
    {                                                                                                                  \
        .name = (called), .kind = OPTION_TEXT, .target = (to), .argument = (takes), .help = (says)                     \
    }
#define LIST_OPTION(called, to, takes, says)                                                                           \
    {                                                                                                                  \
        .name = (called), .kind = OPTION_LIST, .target = (to), .argument = (takes), .help = (says)                     \
    }
#define NUMBER_OPTION(called, to, takes, from, up_to, says)                                                            \
    {                                                                                                                  \
        .name = (called), .kind = OPTION_NUMBER, .target = (to), .argument = (takes), .least = (from),                 \
        .most = (up_to), .help = (says)                                                                                \
    }
#define CHOICE_OPTION(called, to, takes, from, says)                                                                   \
    {                                                                                                                  \
        .name = (called), .kind = OPTION_CHOICE, .target = (to), .argument = (takes), .choices = (from),               \
        .help = (says)                                                                                                 \
    }
/* Rows shared by several subcommands. */
#define FORMAT_OPTION(to, takes, from, says)                                                                           \
    {                                                                                                                  \
        .name = "format", .letter = 'f', .kind = OPTION_CHOICE, .target = (to), .argument = (takes),                   \
        .choices = (from), .help = (says)                                                                              \
    }
#define OUTPUT_OPTION(to)                                                                                              \
    {                                                                                                                  \
        .name = "output", .letter = 'o', .kind = OPTION_TEXT, .target = (to), .argument = "FILE",                      \
        .help = "write to FILE"                                                                                        \
    }
#define WEIGHTS_OPTION(to)                                                                                             \
    TEXT_OPTION("weights", to, "FILE", "weights written by `sooth learn` (default: those that ship)")

typedef enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_WRONG, OPTIONS_NO_MEMORY } options_result;

/* Sets the targets and leaves the operands in argv[1] … argv[*argc - 1]. After OPTIONS_WRONG and OPTIONS_NO_MEMORY
 * the error is already printed. */
void options_help(const option *options, size_t count);

/* Like options_parse(), but also handles --help and errors. True if the command is done; *code is then the exit
 * code. */
bool options_done(const char *command, const option *options, size_t count, int *argc, char **argv,
                  void (*help)(const option *options, size_t count), int *code);

/* Parses a whole decimal number, without surrounding text. */
bool options_number(const char *s, size_t length, int64_t *number);
/* Parses a decimal number in least … most, without surrounding text. */
bool options_decimal(const char *s, double least, double most, double *number);

#endif
