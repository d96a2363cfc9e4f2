/* jobs.h: a fixed number of threads that run jobs in the order of their arrival. */
#ifndef SOOTH_SERVE_JOBS_H
#define SOOTH_SERVE_JOBS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct jobs jobs;
typedef struct job job;
/* Base of a job. */
struct job {
    job *next;
    void (*run)(job *self, void *worker); /* `worker` is the state of the thread */
};

/* Starts `workers` threads with one pointer each from `states`. Returns NULL if no thread starts. */
jobs *jobs_open(size_t workers, void *const *states, size_t most_waiting);
/* Returns false if too many jobs are waiting. */
bool jobs_add(jobs *j, job *job);
/* Runs all waiting jobs, then ends the threads. */
void jobs_close(jobs *j);

#endif
