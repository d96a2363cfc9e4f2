/* jobs.h: a fixed number of threads that run jobs in the order of their arrival. */
#ifndef SOOTH_SERVE_JOBS_H
#define SOOTH_SERVE_JOBS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct jobs jobs;
typedef struct job job;
/* Part of what a job is about. */
struct job {
    job *next;
    void (*run)(job *self, void *worker); /* `worker` is the thread's own state */
};

/* Starts `workers` threads; `states` has one pointer for each. NULL if no thread starts. */
jobs *jobs_open(size_t workers, void *const *states, size_t most_waiting);
/* False: too many jobs wait. */
bool jobs_add(jobs *j, job *job);
/* Runs the jobs that wait, then ends the threads. */
void jobs_close(jobs *j);

#endif
