/* ordered.h: computes the items of a long job on several threads and processes, and hands over their results in
 * order. Results therefore do not depend on the number of threads or processes, and an interrupted job resumes after
 * the last result that was stored. A window of results bounds the memory. */
#ifndef SOOTH_BASE_ORDERED_H
#define SOOTH_BASE_ORDERED_H

#include "base/bytes.h"

/* The processes of a job, such as the ranks of an MPI program. Process 0 receives the results of all. Only the
 * thread that called ordered_run() calls these functions. */
typedef struct team {
    int rank, size;
    void (*send)(void *context, const void *data, size_t size); /* Sends to process 0. */
    /* Replaces the content of `to`; returns false if out of memory. */
    bool (*receive)(void *context, int from, bytes *to);
    void (*share)(void *context, void *data, size_t size); /* Copies the data of process 0 to all processes. */
    void *context;
} team;

typedef struct ordered_job {
    size_t first, end; /* Items first … end-1. */
    size_t threads;    /* at least 1 */
    const team *team;  /* NULL if this is the only process. */
    void *context;
    /* Computes an item into an empty buffer, on any thread of any process. Errors are part of the result. */
    void (*compute)(void *context, size_t item, size_t worker, bytes *result);
    /* Receives the results of all items in order; called in process 0 only. Returning false ends the job. */
    bool (*consume)(void *context, size_t item, str result);
} ordered_job;

/* Returns false if `consume` ended the job or memory ran out. Without threads, the caller computes. Other processes
 * return true once their results are sent. */
bool ordered_run(const ordered_job *job);

#endif
