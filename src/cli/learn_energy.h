/* learn_energy.h: `sooth learn --energy`, separate from the training of weights. */
#ifndef SOOTH_CLI_LEARN_ENERGY_H
#define SOOTH_CLI_LEARN_ENERGY_H

#include "cli/cli.h"

typedef struct learn_energy_args {
    const char *output; /* file for the coefficients */
    const char *apart;  /* CSV of the hold-out rows; NULL: none */
    bool quiet;
} learn_energy_args;

int learn_energy(const learn_energy_args *args, int count, char **operands);

#endif
