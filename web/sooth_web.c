/* sooth_web.c: the program inside the page. The page passes the arguments of a command and reads the file that -o
 * names. Its numbers are therefore the program's, and the command line that it shows is the one that ran. */
#include "cli/cli.h"
#include "cli/mig_rule.h"

#include <string.h>

/* Commands that need no other program and no database. */
static const command COMMANDS[] = {
    {"predict", "", predict_main}, {"inspect", "", inspect_main}, {"mig", "", mig_main},
    {"survey", "", survey_main},   {"choose", "", choose_main},   {"train-phase", "", train_phase_main},
    {"convert", "", convert_main}, {"gpus", "", gpus_main},       {"zoo", "", zoo_main},
};

/* The page has no graph networks. */
int mig_rule(const mig_rule_args *args)
{
    (void)args;
    return cli_usage("mig", "--rule dippm is not part of the page");
}

/* Runs the command argv[0]; returns its exit code. Errors go to standard error. */
__attribute__((export_name("sooth_run"))) int sooth_run(int argc, char **argv)
{
    for (size_t i = 0; argc > 0 && i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        if (strcmp(argv[0], COMMANDS[i].name) == 0)
            return COMMANDS[i].run(argc, argv);
    return cli_usage("", "there is no command '%.60s' in the page", argc > 0 ? argv[0] : "");
}
