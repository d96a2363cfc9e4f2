/* jobs.c: a queue and its threads, see jobs.h. */
#include "serve/jobs.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct worker {
    jobs *jobs;
    void *state;
    pthread_t thread;
} worker;

struct jobs {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *first, **last;
    size_t waiting, most_waiting;
    bool ends;
    worker *workers;
    size_t worker_count;
};

static void *work(void *of)
{
    worker *w = of;
    jobs *j = w->jobs;
    pthread_mutex_lock(&j->lock);
    for (;;) {
        while (!j->first && !j->ends)
            pthread_cond_wait(&j->changed, &j->lock);
        job *next = j->first;
        if (!next)
            break;
        j->first = next->next;
        if (!j->first)
            j->last = &j->first;
        j->waiting--;
        pthread_mutex_unlock(&j->lock);
        next->run(next, w->state);
        pthread_mutex_lock(&j->lock);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

jobs *jobs_open(size_t workers, void *const *states, size_t most_waiting)
{
    jobs *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->last = &j->first;
    j->most_waiting = most_waiting;
    j->workers = calloc(workers, sizeof *j->workers);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    for (size_t i = 0; j->workers && i < workers; i++) {
        j->workers[i] = (worker){.jobs = j, .state = states[i]};
        if (pthread_create(&j->workers[i].thread, NULL, work, &j->workers[i]) != 0)
            break;
        j->worker_count++;
    }
    if (j->worker_count == workers)
        return j;
    jobs_close(j);
    return NULL;
}

bool jobs_add(jobs *j, job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&j->lock);
    bool has_room = j->waiting < j->most_waiting && !j->ends;
    if (has_room) {
        *j->last = job;
        j->last = &job->next;
        j->waiting++;
        pthread_cond_signal(&j->changed);
    }
    pthread_mutex_unlock(&j->lock);
    return has_room;
}

void jobs_close(jobs *j)
{
    pthread_mutex_lock(&j->lock);
    j->ends = true;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    for (size_t i = 0; i < j->worker_count; i++)
        pthread_join(j->workers[i].thread, NULL);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->lock);
    free(j->workers);
    free(j);
}
