/* threads.c: runs one loop on several threads. */
#include "base/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct shared_loop {
    atomic_size_t next;
    size_t count;
    thread_work work;
    void *context;
} shared_loop;

typedef struct loop_worker {
    shared_loop *loop;
    size_t index;
    pthread_t thread;
} loop_worker;

size_t threads_available(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 1 ? (size_t)cores : 1;
}

static void *run_worker(void *argument)
{
    const loop_worker *w = argument;
    shared_loop *loop = w->loop;
    for (;;) {
        size_t item = atomic_fetch_add(&loop->next, 1);
        if (item >= loop->count)
            return NULL;
        loop->work(loop->context, item, w->index);
    }
}

void parallel_for(size_t count, size_t workers, thread_work work, void *context)
{
    shared_loop loop = {.count = count, .work = work, .context = context};
    loop_worker own = {.loop = &loop};
    if (workers > count)
        workers = count;
    loop_worker *others = workers > 1 ? calloc(workers - 1, sizeof *others) : NULL;
    size_t started = 0;
    while (others && started < workers - 1) {
        loop_worker *w = &others[started];
        *w = (loop_worker){.loop = &loop, .index = started + 1};
        if (pthread_create(&w->thread, NULL, run_worker, w) != 0)
            break;
        started++;
    }
    run_worker(&own);
    for (size_t i = 0; i < started; i++)
        pthread_join(others[i].thread, NULL);
    free(others);
}
