/* nas_search.c: random search, regularized evolution and local search over the kept candidates. The budget counts
 * evaluations; evaluating a candidate again is free. */
#include "base/threads.h"
#include "plan/nas.h"

#include <math.h>
#include <stdlib.h>

enum { POPULATION = 20, TOURNAMENT = 5, MOST_TRIES = 1000, IDLE_TRIES = 10, DEFAULT_TRIALS = 100 };

/* ---- random numbers: splitmix64 ---------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t random_below(uint64_t *state, uint64_t most)
{
    return next_random(state) % most; /* the bias is negligible because `most` is far below 2^64 */
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

enum { MOST_JOBS = 256 };

static size_t jobs_of(const sooth_nas *n)
{
    size_t jobs = n->options->jobs ? n->options->jobs : 1;
    return jobs < MOST_JOBS ? jobs : MOST_JOBS;
}

/* Asks the caller for accuracies that no table has. */
static void evaluate(sooth_nas *n, const int32_t *indices, size_t count)
{
    const char *names[MOST_JOBS];
    int32_t asked[MOST_JOBS];
    double values[MOST_JOBS];
    size_t used = 0;
    if (!n->options->evaluate)
        return;
    arena_mark mark = arena_marked(&n->arena);
    for (size_t i = 0; i < count && used < MOST_JOBS; i++) {
        nas_candidate *c = &n->candidates.items[indices[i]];
        if (c->is_looked_up)
            continue;
        char *room = arena_room(&n->arena, SPACE_GRAPH_ROOM, 1);
        space_architecture(n->space, &c->genes, room, &n->fail);
        names[used] = room;
        values[used] = NAN;
        asked[used++] = indices[i];
    }
    if (used && !n->options->evaluate(n->options->context, names, used, values))
        fail_with(&n->fail, SOOTH_ANSWER_NO, "the search was stopped");
    arena_rewind(&n->arena, mark);
    for (size_t i = 0; i < used; i++) {
        n->candidates.items[asked[i]].accuracy = values[i];
        n->candidates.items[asked[i]].is_looked_up = true;
    }
}

/* Returns the accuracy; an unknown one ranks below all others. */
static double accuracy_of(const sooth_nas *n, int32_t index)
{
    double x = n->candidates.items[index].accuracy;
    return isnan(x) ? -INFINITY : x;
}

static bool is_new(const nas_run *run, int32_t index)
{
    if (run->seen)
        return !run->seen[index];
    for (int32_t i = 0; i < run->count; i++)
        if (run->trials[i] == index)
            return false;
    return true;
}

/* Counts an evaluation unless the candidate was evaluated before. Returns false if the budget is spent. */
static bool spend(nas_run *run, int32_t index)
{
    if (!is_new(run, index))
        return true;
    if (run->count == run->most || run->is_done)
        return false;
    run->trials[run->count++] = index;
    if (run->seen)
        run->seen[index] = 1;
    evaluate(run->nas, &index, 1);
    run->is_done = accuracy_of(run->nas, index) >= run->enough;
    return true;
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

/* Returns a random kept candidate; -1 if none was found. */
static int32_t random_kept(nas_run *run, uint64_t *state)
{
    sooth_nas *n = run->nas;
    if (n->is_enumerated)
        return n->kept_count ? n->kept[random_below(state, (uint64_t)n->kept_count)] : -1;
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        genes g = {{0}};
        for (int32_t k = 0; k < n->space->choice_count; k++)
            g.of[k] = (uint8_t)random_below(state, (uint64_t)n->space->choices[k].count);
        int32_t index = nas_candidate_of(n, &g);
        if (n->candidates.items[index].is_kept)
            return index;
    }
    return -1;
}

/* Changes one choice of the parent at random. Returns -1 if no such candidate is kept. */
static int32_t mutated(nas_run *run, int32_t parent, uint64_t *state)
{
    sooth_nas *n = run->nas;
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        genes g = n->candidates.items[parent].genes;
        int32_t choice = (int32_t)random_below(state, (uint64_t)n->space->choice_count);
        uint64_t count = (uint64_t)n->space->choices[choice].count;
        if (count < 2)
            continue;
        g.of[choice] = (uint8_t)((g.of[choice] + 1 + random_below(state, count - 1)) % count);
        int32_t index = nas_candidate_of(n, &g);
        if (n->candidates.items[index].is_kept)
            return index;
    }
    return -1;
}

/* ---- searches ---------------------------------------------------------------------------------------------------- */

static void search_random(nas_run *run, uint64_t *state)
{
    sooth_nas *n = run->nas;
    if (!n->is_enumerated) {
        for (int misses = 0; run->count < run->most && misses < MOST_TRIES;) {
            int32_t before = run->count, index = random_kept(run, state);
            if (index < 0 || !spend(run, index))
                return;
            misses = run->count == before ? misses + 1 : 0;
        }
        return;
    }
    int32_t *order = malloc(((size_t)n->kept_count + 1) * sizeof *order);
    if (!order)
        return;
    memcpy(order, n->kept, (size_t)n->kept_count * sizeof *order);
    int32_t most = n->kept_count < run->most ? n->kept_count : run->most;
    for (int32_t i = 0; i < most; i++) { /* Runs only the first steps of a shuffle. */
        int32_t k = i + (int32_t)random_below(state, (uint64_t)(n->kept_count - i));
        int32_t index = order[k];
        order[k] = order[i];
        order[i] = index;
    }
    int32_t jobs = (int32_t)jobs_of(n);
    for (int32_t i = 0; i < most; i++) {
        if (i % jobs == 0)
            evaluate(n, order + i, (size_t)(most - i < jobs ? most - i : jobs));
        if (!spend(run, order[i]))
            break;
    }
    free(order);
}

/* Real and others, "Regularized Evolution for Image Classifier Architecture Search", arXiv:1802.01548. */
static void search_evolution(nas_run *run, uint64_t *state)
{
    int32_t population[POPULATION];
    int32_t count = 0, oldest = 0;
    while (count < POPULATION && run->count < run->most) {
        int32_t index = random_kept(run, state);
        if (index < 0 || !spend(run, index))
            return;
        population[count++] = index;
    }
    for (int idle = 0; count == POPULATION && run->count < run->most && idle < MOST_TRIES && !run->is_done;) {
        int32_t parent = population[random_below(state, POPULATION)], before = run->count;
        for (int i = 1; i < TOURNAMENT; i++) {
            int32_t other = population[random_below(state, POPULATION)];
            if (accuracy_of(run->nas, other) > accuracy_of(run->nas, parent))
                parent = other;
        }
        /* If many children in a row were evaluated before, no single mutation leaves the explored region; restart
         * from a random candidate. */
        int32_t child = idle % IDLE_TRIES == IDLE_TRIES - 1 ? -1 : mutated(run, parent, state);
        if (child < 0)
            child = random_kept(run, state);
        if (child < 0 || !spend(run, child))
            return;
        idle = run->count == before ? idle + 1 : 0;
        population[oldest] = child;
        oldest = (oldest + 1) % POPULATION;
    }
}

/* Evaluates every change of one choice of `at`. Returns the best, or `at` if none is better; -1: the budget is spent.
 * */
static int32_t best_neighbour(nas_run *run, int32_t at)
{
    sooth_nas *n = run->nas;
    int32_t best = at;
    for (int32_t k = 0; k < n->space->choice_count; k++)
        for (int32_t v = 0; v < n->space->choices[k].count; v++) {
            genes g = n->candidates.items[at].genes;
            if (g.of[k] == v)
                continue;
            g.of[k] = (uint8_t)v;
            int32_t next = nas_candidate_of(n, &g);
            if (!n->candidates.items[next].is_kept)
                continue;
            if (!spend(run, next))
                return -1;
            if (accuracy_of(n, next) > accuracy_of(n, best))
                best = next;
        }
    return best;
}

/* Hill climbing: evaluates every change of one choice and moves to the best. If none is better, restarts at a random
 * candidate. */
static void search_local(nas_run *run, uint64_t *state)
{
    int idle = 0;
    while (run->count < run->most && idle < MOST_TRIES && !run->is_done) {
        int32_t before = run->count, at = random_kept(run, state);
        if (at < 0 || !spend(run, at))
            return;
        for (bool climbs = true; climbs;) {
            int32_t best = best_neighbour(run, at);
            if (best < 0)
                return;
            climbs = best != at;
            at = best;
        }
        idle = run->count == before ? idle + 1 : 0;
    }
}

static void search_all(nas_run *run)
{
    sooth_nas *n = run->nas;
    size_t jobs = jobs_of(n);
    for (int32_t i = 0; i < n->kept_count && run->count < run->most; i += (int32_t)jobs) {
        int32_t left = n->kept_count - i, room = run->most - run->count;
        size_t count = (size_t)(left < room ? left : room);
        count = count < jobs ? count : jobs;
        evaluate(n, n->kept + i, count);
        for (size_t k = 0; k < count; k++)
            run->trials[run->count++] = n->kept[i + (int32_t)k];
    }
}

void nas_search_once(nas_run *run)
{
    uint64_t state = run->seed;
    switch (run->nas->options->method) {
    case SOOTH_NAS_ALL:
        search_all(run);
        break;
    case SOOTH_NAS_RANDOM:
        search_random(run, &state);
        break;
    case SOOTH_NAS_EVOLUTION:
        search_evolution(run, &state);
        break;
    case SOOTH_NAS_LOCAL:
        search_local(run, &state);
        break;
    }
}

/* ---- repeated searches ------------------------------------------------------------------------------------------- */

typedef struct repeating {
    sooth_nas *nas;
    int32_t most;
    double enough; /* Accuracy that reaches every distance to be counted. */
    float *needed; /* evaluations until a distance was reached, [repeat][distance]; NAN: not reached */
    atomic_bool failed;
} repeating;

static void repeat_once(void *context, size_t item, size_t worker)
{
    repeating *r = context;
    sooth_nas *n = r->nas;
    size_t distances = n->options->within_count;
    (void)worker;
    nas_run run = {.nas = n, .seed = n->options->seed + item, .most = r->most, .enough = r->enough};
    run.trials = malloc(((size_t)r->most + 1) * sizeof *run.trials);
    run.seen = calloc((size_t)n->candidates.count + 1, 1);
    if (run.trials && run.seen)
        nas_search_once(&run);
    else
        atomic_store(&r->failed, true);
    for (size_t d = 0; d < distances; d++) {
        float *needed = &r->needed[item * distances + d];
        *needed = NAN;
        for (int32_t i = 0; i < run.count && isnan(*needed); i++)
            if (accuracy_of(n, run.trials[i]) >= n->totals.best_accuracy - n->options->within[d])
                *needed = (float)(i + 1);
    }
    free(run.trials);
    free(run.seen);
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* A search that never came this close counts with its whole budget. */
static sooth_nas_repeat statistics(const repeating *r, size_t distance, float *room)
{
    const sooth_nas_options *o = r->nas->options;
    sooth_nas_repeat s = {.within = o->within[distance], .repeats = o->repeats};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < o->repeats; i++) {
        float x = r->needed[i * o->within_count + distance];
        s.reached += !isnan(x);
        room[i] = isnan(x) ? (float)r->most : x;
        sum += (double)room[i];
        squares += (double)room[i] * (double)room[i];
    }
    double count = (double)o->repeats;
    s.mean = sum / count;
    double variance = count > 1 ? fmax(squares - count * s.mean * s.mean, 0) / (count - 1) : 0;
    double half = 1.96 * sqrt(variance / count); /* normal approximation: there are hundreds of repeats */
    s.low = s.mean - half;
    s.high = s.mean + half;
    qsort(room, o->repeats, sizeof *room, ascending);
    s.median = (double)room[o->repeats / 2];
    return s;
}

/* Returns the accuracy that reaches the smallest distance, or that of the best kept candidate if it is lower. */
static double enough_for(const sooth_nas *n)
{
    double best_kept = -INFINITY, least_within = INFINITY;
    for (int32_t i = 0; i < n->kept_count; i++)
        best_kept = fmax(best_kept, accuracy_of(n, n->kept[i]));
    for (size_t d = 0; d < n->options->within_count; d++)
        least_within = fmin(least_within, n->options->within[d]);
    return fmin(best_kept, n->totals.best_accuracy - least_within);
}

void nas_search_repeated(sooth_nas *n)
{
    const sooth_nas_options *o = n->options;
    if (!n->is_enumerated)
        fail_with(&n->fail, SOOTH_ERROR_USAGE, "repeated searches need a space of at most two million candidates");
    if (!o->has_column[SOOTH_NAS_ACCURACY])
        fail_with(&n->fail, SOOTH_ERROR_USAGE, "repeated searches need a table of accuracies");
    repeating r = {.nas = n, .most = (int32_t)(o->trials ? o->trials : DEFAULT_TRIALS)};
    r.needed = ARENA_ARRAY(&n->arena, float, o->repeats *(o->within_count + 1));
    r.enough = enough_for(n);
    parallel_for(o->repeats, o->threads ? o->threads : threads_available(), repeat_once, &r);
    if (atomic_load(&r.failed))
        fail_with(&n->fail, SOOTH_ERROR_SYSTEM, "out of memory");
    float *room = ARENA_ARRAY(&n->arena, float, o->repeats);
    for (size_t d = 0; d < o->within_count; d++)
        n->repeats[d] = statistics(&r, d, room);
}
