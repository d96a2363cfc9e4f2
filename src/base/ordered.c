#include "base/ordered.h"

#include <pthread.h>
#include <stdlib.h>

enum { RESULTS_AHEAD = 8 };  /* by thread: results that wait because an earlier one is not ready */
enum { MOST_COMPUTING = 8 }; /* processes; in larger teams process 0 only takes results */

typedef struct slot {
    bytes result;
    bool is_ready;
} slot;

typedef struct running {
    const ordered_job *job;
    size_t stride, offset; /* own items are first + offset + i x stride, i < own_count */
    size_t own_count;
    slot *slots;
    size_t slot_count;
    pthread_mutex_t lock;
    pthread_cond_t has_result, has_room;
    size_t taken, done; /* own items that threads took, and that were handed over */
    bool stops;
} running;

typedef struct worker {
    running *run;
    size_t index;
    pthread_t thread;
} worker;

/* ---- who computes what ------------------------------------------------------------------------------------------- */

static int computing(const team *t)
{
    return !t ? 1 : t->size > MOST_COMPUTING ? t->size - 1 : t->size;
}

static int owner_of(const ordered_job *job, size_t item)
{
    int count = computing(job->team);
    return (int)((item - job->first) % (size_t)count) + (job->team ? job->team->size - count : 0);
}

static void divide(running *r)
{
    const ordered_job *job = r->job;
    size_t all = job->end > job->first ? job->end - job->first : 0;
    int count = computing(job->team), own = job->team ? job->team->rank - (job->team->size - count) : 0;
    r->stride = (size_t)count;
    r->offset = own < 0 ? all : (size_t)own;
    r->own_count = r->offset < all ? (all - r->offset + r->stride - 1) / r->stride : 0;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void *work(void *argument)
{
    const worker *w = argument;
    running *r = w->run;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        while (!r->stops && r->taken < r->own_count && r->taken >= r->done + r->slot_count)
            pthread_cond_wait(&r->has_room, &r->lock);
        if (r->stops || r->taken >= r->own_count)
            break;
        size_t own = r->taken++;
        slot *s = &r->slots[own % r->slot_count];
        pthread_mutex_unlock(&r->lock);
        s->result.size = 0;
        s->result.failed = false;
        r->job->compute(r->job->context, r->job->first + r->offset + own * r->stride, w->index, &s->result);
        pthread_mutex_lock(&r->lock);
        s->is_ready = true;
        pthread_cond_signal(&r->has_result);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static const slot *wait_for(running *r, size_t own)
{
    slot *s = &r->slots[own % r->slot_count];
    pthread_mutex_lock(&r->lock);
    while (!s->is_ready)
        pthread_cond_wait(&r->has_result, &r->lock);
    pthread_mutex_unlock(&r->lock);
    return s;
}

static void release(running *r, size_t own)
{
    pthread_mutex_lock(&r->lock);
    r->slots[own % r->slot_count].is_ready = false;
    r->done = own + 1;
    pthread_cond_broadcast(&r->has_room);
    pthread_mutex_unlock(&r->lock);
}

/* ---- results in order -------------------------------------------------------------------------------------------- */

static bool send_own(running *r)
{
    const team *t = r->job->team;
    for (size_t own = 0; own < r->own_count; own++) {
        const slot *s = wait_for(r, own);
        if (s->result.failed)
            return false;
        t->send(t->context, s->result.data, s->result.size);
        release(r, own);
    }
    return true;
}

static bool take_all(running *r)
{
    const ordered_job *job = r->job;
    const team *t = job->team;
    bytes received = {0};
    bool goes_on = true;
    size_t own = 0;
    for (size_t item = job->first; item < job->end && goes_on; item++) {
        int owner = owner_of(job, item);
        if (!t || owner == t->rank) {
            const slot *s = wait_for(r, own);
            goes_on = !s->result.failed && job->consume(job->context, item, (str){s->result.data, s->result.size});
            release(r, own++);
        } else {
            goes_on = t->receive(t->context, owner, &received) &&
                      job->consume(job->context, item, (str){received.data, received.size});
        }
    }
    free(received.data);
    return goes_on;
}

bool ordered_run(const ordered_job *job)
{
    running r = {.job = job, .slot_count = job->threads * RESULTS_AHEAD};
    divide(&r);
    r.slots = calloc(r.slot_count, sizeof *r.slots);
    worker *workers = calloc(job->threads, sizeof *workers);
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.has_result, NULL);
    pthread_cond_init(&r.has_room, NULL);
    size_t started = 0;
    while (r.slots && workers && started < job->threads) {
        workers[started] = (worker){.run = &r, .index = started};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
            break;
        started++;
    }
    bool good = started > 0 && (job->team && job->team->rank ? send_own(&r) : take_all(&r));
    pthread_mutex_lock(&r.lock);
    r.stops = true;
    pthread_cond_broadcast(&r.has_room);
    pthread_mutex_unlock(&r.lock);
    for (size_t i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; r.slots && i < r.slot_count; i++)
        free(r.slots[i].result.data);
    free(r.slots);
    free(workers);
    pthread_cond_destroy(&r.has_result);
    pthread_cond_destroy(&r.has_room);
    pthread_mutex_destroy(&r.lock);
    return good;
}
