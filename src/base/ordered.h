/* ordered.h: computes the items of a long job on several threads and processes, and hands over their results in
 * order. Results therefore do not depend on the number of threads or processes, and an interrupted job resumes after
 * the last result that was stored. A window of results bounds the memory. */
#ifndef SOOTH_BASE_ORDERED_H
#define SOOTH_BASE_ORDERED_H

#include "base/team.h"

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
