/* cluster.h: the processes of one job under mpirun, if the program was built with MPI=1; otherwise this process alone.
 * Process 0 alone writes files and prints. */
#ifndef SOOTH_CLI_CLUSTER_H
#define SOOTH_CLI_CLUSTER_H

#include "base/ordered.h"

/* Joins the job, if this is one. `shares_work`: the command divides its work; others are refused under mpirun.
 * Returns the exit code. */
int cluster_begin(bool shares_work);
/* NULL: this process alone. */
const team *cluster_team(void);
static inline bool cluster_leads(void)
{
    const team *all = cluster_team();
    return !all || all->rank == 0;
}
/* Cores for the threads of this process: those of the machine, divided among its processes. */
size_t cluster_threads(void);
/* All processes call this once, when they are ready to begin or cannot. Returns SOOTH_OK if all are ready, else the
 * code of the first that is not, whose message is printed. */
int cluster_agree(int code);
/* Leaves the job. A failure in the middle of the work ends the other processes too. Returns the exit code. */
int cluster_end(int code);

#endif
