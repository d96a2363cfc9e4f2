#include "base/ordered.h"

#include <pthread.h>
#include <stdlib.h>

enum { RESULTS_AHEAD = 8 }; /* Per thread: results that wait because an earlier one is not ready. */
/* Process 0 stores results, so it computes LESS_EACH rounds less for each other process. */
enum { ROUNDS = 25, LESS_EACH = 4 };

typedef struct slot {
    bytes result;
    bool is_ready;
} slot;

typedef struct running {
    const ordered_job *job;
    int *owners;                      /* Process that computes each item of a cycle. */
    size_t cycle, *own, own_in_cycle; /* Positions of this process's own items in the cycle. */
    size_t own_count;
    slot *slots;
    size_t slot_count;
    pthread_mutex_t lock;
    pthread_cond_t has_result, has_room;
    size_t taken, done; /* Own items that threads have taken, and that have been handed over. */
    bool stops;
    bool is_alone; /* True if no thread could be started, as in a browser. The caller then computes. */
} running;

typedef struct worker {
    running *run;
    size_t index;
    pthread_t thread;
} worker;

/* ---- who computes what ------------------------------------------------------------------------------------------- */

/* Assigns the items of a cycle to processes. Every process has one item per round, except process 0, which sits out
 * some rounds: storing a result takes about a tenth of computing it, so with eight or more processes it computes
 * nothing. Returns false if out of memory. */
static bool divide(running *r)
{
    const ordered_job *job = r->job;
    int size = job->team ? job->team->size : 1, rank = job->team ? job->team->rank : 0;
    int leading = size == 1 ? ROUNDS : ROUNDS - LESS_EACH * (size - 1), rounds = size == 1 || leading <= 0 ? 1 : ROUNDS;
    r->owners = calloc((size_t)rounds * (size_t)size, sizeof *r->owners);
    r->own = calloc((size_t)rounds, sizeof *r->own);
    if (!r->owners || !r->own)
        return false;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < size; i++) {
            bool computes =
                i || (leading > 0 && (round + 1) * leading / ROUNDS > round * leading / ROUNDS) || size == 1;
            if (computes && i == rank)
                r->own[r->own_in_cycle++] = r->cycle;
            if (computes)
                r->owners[r->cycle++] = i;
        }
    size_t all = job->end > job->first ? job->end - job->first : 0;
    r->own_count = all / r->cycle * r->own_in_cycle;
    for (size_t i = 0; i < r->own_in_cycle; i++)
        r->own_count += r->own[i] < all % r->cycle;
    return true;
}

static int owner_of(const running *r, size_t item)
{
    return r->owners[(item - r->job->first) % r->cycle];
}

static size_t own_item(const running *r, size_t own)
{
    return r->job->first + own / r->own_in_cycle * r->cycle + r->own[own % r->own_in_cycle];
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void compute_own(const running *r, size_t own, size_t worker, slot *s)
{
    s->result.size = 0;
    s->result.failed = false;
    r->job->compute(r->job->context, own_item(r, own), worker, &s->result);
}

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
        compute_own(r, own, w->index, s);
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
    if (r->is_alone) {
        compute_own(r, own, 0, s);
        return s;
    }
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
        int owner = owner_of(r, item);
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
    bool is_divided = divide(&r);
    r.slots = calloc(r.slot_count, sizeof *r.slots);
    worker *workers = calloc(job->threads, sizeof *workers);
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.has_result, NULL);
    pthread_cond_init(&r.has_room, NULL);
    size_t started = 0;
    while (is_divided && r.slots && workers && started < job->threads) {
        workers[started] = (worker){.run = &r, .index = started};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
            break;
        started++;
    }
    r.is_alone = !started && is_divided && r.slots && workers;
    bool good = (started > 0 || r.is_alone) && (job->team && job->team->rank ? send_own(&r) : take_all(&r));
    pthread_mutex_lock(&r.lock);
    r.stops = true;
    pthread_cond_broadcast(&r.has_room);
    pthread_mutex_unlock(&r.lock);
    for (size_t i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; r.slots && i < r.slot_count; i++)
        free(r.slots[i].result.data);
    free(r.slots);
    free(r.owners);
    free(r.own);
    free(workers);
    pthread_cond_destroy(&r.has_result);
    pthread_cond_destroy(&r.has_room);
    pthread_mutex_destroy(&r.lock);
    return good;
}
