/* nas_evaluate.h: gets accuracies from a program of the user, run for several architectures at once. An SQLite file
 * keeps the results, so that a restarted search trains nothing twice. */
#ifndef SOOTH_CLI_NAS_EVALUATE_H
#define SOOTH_CLI_NAS_EVALUATE_H

#include "sooth.h"

typedef struct nas_evaluator nas_evaluator;

/* `command` runs in a shell with the architecture as its last argument and prints one number. `results` is the path
 * of the SQLite file. Prints errors and returns the exit code. */
int nas_evaluator_open(nas_evaluator **e, const char *command, const char *results);
/* Fills the values. Returns false after printing the error of a command. Results computed before stay in the file. */
bool nas_evaluator_run(nas_evaluator *e, const char *const *architectures, size_t count, double *values);
/* Exit code of the last failure; 0 if there was none. */
int nas_evaluator_failure(const nas_evaluator *e);
void nas_evaluator_close(nas_evaluator *e); /* `e` may be NULL. */

#endif
