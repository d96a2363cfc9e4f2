/* inputs.h: the networks, GPUs, batches and settings that commands over many networks are given: files,
 * directories, lists, the zoo; accuracies from a table. */
#ifndef SOOTH_CLI_INPUTS_H
#define SOOTH_CLI_INPUTS_H

#include "base/arena.h"
#include "base/file.h"
#include "cli/cli.h"

typedef struct inputs {
    const char *command; /* for messages */
    fail fail;
    sooth_error error;
    arena arena;
    file_map table; /* the table that is being read */
    struct {
        sooth_survey_network *items;
        int32_t count, capacity;
    } networks;
    sooth_survey_options options; /* networks, GPUs and batches; the rest is the caller's */
} inputs;

/* Functions return the exit code; the error has been printed. The caller frees the inputs in any case. */

void inputs_open(inputs *in, const char *command);
/* The networks: without operands those of the zoo. `accuracy` may be NULL. */
int inputs_read_networks(inputs *in, char **operands, int count, const char *accuracy);
/* GPUs and batches, with commas between them. "all" stands for every GPU. */
int inputs_read_gpus(inputs *in, sooth_gpus *gpus, const char *names);
int inputs_read_batches(inputs *in, const char *batches);
/* Splits a list at its commas; nothing for NULL. The library checks the names. */
int inputs_read_names(inputs *in, const char *list, const char *const **names, size_t *count);
void inputs_free(inputs *in);

#endif
