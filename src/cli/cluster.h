/* cluster.h: the processes of one job under mpirun, if the program was built with MPI=1; otherwise only this
 * process. Only process 0 writes files and prints. */
#ifndef SOOTH_CLI_CLUSTER_H
#define SOOTH_CLI_CLUSTER_H

#include "base/ordered.h"

/* Joins the job if the program runs under mpirun. Commands that do not divide their work (`shares_work` is false)
 * are refused there. Returns the exit code. */
int cluster_begin(bool shares_work);
/* Returns NULL if this is the only process. */
const team *cluster_team(void);
static inline bool cluster_leads(void)
{
    const team *all = cluster_team();
    return !all || all->rank == 0;
}
/* Cores for the threads of this process: those of the machine, divided among its processes. */
size_t cluster_threads(void);
/* All processes call this once, when they are ready to begin or have failed. Returns SOOTH_OK if all are ready;
 * otherwise the code of the first that failed, whose message is printed. */
int cluster_agree(int code);
/* Leaves the job. After a failure during the work, it ends the other processes too. Returns the exit code. */
int cluster_end(int code);

#endif
