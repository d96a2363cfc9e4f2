/* terminal.h: adapts a table to the terminal: colours, characters, width. */
#ifndef SOOTH_CLI_TERMINAL_H
#define SOOTH_CLI_TERMINAL_H

#include "sooth.h"

/* Changes nothing if standard output is not a terminal. */
void fit_terminal(sooth_report_options *options);

#endif
