/* threads.h: runs one loop on several threads. Threads live for one call only. */
#ifndef SOOTH_BASE_THREADS_H
#define SOOTH_BASE_THREADS_H

#include <stddef.h>

/* Processes one item of the loop. `worker` is 0 to workers - 1, and a worker runs one item at a time, so arenas and
 * models can be one per worker. Results must not depend on the worker. Failures (fail.h) must be caught inside. */
typedef void (*thread_work)(void *context, size_t item, size_t worker);

/* Cores that this process may use, at least 1. */
size_t threads_available(void);

/* Calls work() for items 0 to count - 1 on up to `workers` threads, including the caller's; returns when all are
 * done. Items start in order. If no thread can be started, the caller does all the work. */
void parallel_for(size_t count, size_t workers, thread_work work, void *context);

#endif
