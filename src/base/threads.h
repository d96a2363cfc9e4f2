/* threads.h: one loop shared by several threads. The threads live for one call: nothing is kept between calls. */
#ifndef SOOTH_BASE_THREADS_H
#define SOOTH_BASE_THREADS_H

#include <stddef.h>

/* Does item `item` of the loop. `worker` is 0 to workers - 1; two items with the same worker never run at once, so that
 * arenas, models and the like can be one per worker. Which worker gets an item depends on chance: what is computed for an
 * item must not. A failure (fail.h) must be caught inside: jumping out of the loop is not possible. */
typedef void (*thread_work)(void *context, size_t item, size_t worker);

/* Cores that this process may use, at least 1. */
size_t threads_available(void);

/* Calls work() once for each item from 0 to count - 1 on up to `workers` threads, the caller's among them, and returns when all
 * are done. Items are handed out in order, one at a time. Where no thread can be started, the caller does it all. */
void parallel_for(size_t count, size_t workers, thread_work work, void *context);

#endif
