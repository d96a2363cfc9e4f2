/* inputs.h: reads the arguments of commands over many networks: networks (files, directories, lists, the zoo), GPUs,
 * batches, settings, and a table of accuracies. */
#ifndef SOOTH_CLI_INPUTS_H
#define SOOTH_CLI_INPUTS_H

#include "base/arena.h"
#include "base/file.h"
#include "cli/cli.h"

typedef struct inputs {
    const char *command; /* name of the command, for messages */
    fail fail;
    sooth_error error;
    arena arena;
    file_map table; /* table that is currently read */
    struct {
        sooth_survey_network *items;
        int32_t count, capacity;
    } networks;
    sooth_survey_options options; /* receives networks, GPUs and batches; the caller sets the rest */
} inputs;

/* Functions print errors and return the exit code. The caller frees the inputs in any case. */

void inputs_open(inputs *in, const char *command);
/* Reads the networks; without operands, those of the zoo. `accuracy` may be NULL. */
int inputs_read_networks(inputs *in, char **operands, int count, const char *accuracy);
/* Reads comma-separated GPUs and batches. "all" stands for every GPU. */
int inputs_read_gpus(inputs *in, sooth_gpus *gpus, const char *names);
int inputs_read_batches(inputs *in, const char *batches);
/* Splits a list at its commas; an empty list for NULL. The library checks the names. */
int inputs_read_names(inputs *in, const char *list, const char *const **names, size_t *count);
void inputs_free(inputs *in);

#endif
