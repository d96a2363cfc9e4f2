/* nas_evaluate.h: accuracies from a program of the user, run for several architectures at once. Results are kept in an
 * SQLite file, so that a search that was killed does not train anything twice. */
#ifndef SOOTH_CLI_NAS_EVALUATE_H
#define SOOTH_CLI_NAS_EVALUATE_H

#include "sooth.h"

typedef struct nas_evaluator nas_evaluator;

/* `command` runs in a shell with the architecture as its last argument and prints one number. `results` is the path of
 * the SQLite file. Returns the exit code; the error has been printed. */
int nas_evaluator_open(nas_evaluator **e, const char *command, const char *results);
/* Fills the values. False: a command failed; the error has been printed. What was computed is kept. */
bool nas_evaluator_run(nas_evaluator *e, const char *const *architectures, size_t count, double *values);
/* Exit code of the last failure; 0: none. */
int nas_evaluator_failure(const nas_evaluator *e);
void nas_evaluator_close(nas_evaluator *e); /* NULL is allowed */

#endif
