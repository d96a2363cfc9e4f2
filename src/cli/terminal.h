/* terminal.h: what a table looks like on this terminal: colours, characters, width. */
#ifndef SOOTH_CLI_TERMINAL_H
#define SOOTH_CLI_TERMINAL_H

#include "sooth.h"

/* Changes nothing where standard output is no terminal. */
void fit_terminal(sooth_report_options *options);

#endif
