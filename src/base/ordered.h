/* ordered.h: computes the items of a long job on several threads, and on several processes, and hands their results
 * over in order. So results do not depend on the number of threads or processes, and a job that was interrupted goes
 * on after the last result that was kept. Memory is bounded by a window of results. */
#ifndef SOOTH_BASE_ORDERED_H
#define SOOTH_BASE_ORDERED_H

#include "base/bytes.h"

/* The processes of a job, such as the ranks of an MPI program. Process 0 takes the results of all. Only the thread that
 * called ordered_run calls these functions. */
typedef struct team {
    int rank, size;
    void (*send)(void *context, const void *data, size_t size); /* to process 0 */
    bool (*receive)(void *context, int from, bytes *to);        /* replaces the content; false: out of memory */
    void (*share)(void *context, void *data, size_t size);      /* gives all processes what process 0 has */
    void *context;
} team;

typedef struct ordered_job {
    size_t first, end; /* items first to end - 1 */
    size_t threads;    /* at least 1 */
    const team *team;  /* NULL: this process alone */
    void *context;
    /* Computes an item into an empty buffer, on any thread and any process. Errors are part of the result. */
    void (*compute)(void *context, size_t item, size_t worker, bytes *result);
    /* Takes the results of all items in order, in process 0 alone. False ends the job. */
    bool (*consume)(void *context, size_t item, str result);
} ordered_job;

/* False: consume ended the job, or there was no memory for it. Without threads, the caller computes. Other processes
 * return true when their results
 * were sent. */
bool ordered_run(const ordered_job *job);

#endif
