/* nas_candidates.c: predicts candidates: all at once if the space is small enough, otherwise on demand. */
#include "base/threads.h"
#include "plan/nas.h"
#include "plan/study_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const double MOST_ENUMERATED = 2e6;
enum { SAMPLE = 2000 }; /* SAMPLE: candidates drawn from a space that is not enumerated */

/* ---- one prediction ---------------------------------------------------------------------------------------------- */

static void stop_with(sooth_nas *n, const sooth_error *error)
{
    pthread_mutex_lock(&n->lock);
    if (n->failure.code == SOOTH_OK)
        n->failure = *error;
    pthread_mutex_unlock(&n->lock);
    atomic_store(&n->stops, true);
}

static void fill(nas_candidate *c, const sooth_model *model, const sooth_prediction *p)
{
    sooth_prediction_totals t = sooth_prediction_totals_of(p);
    sooth_totals network = sooth_totals_of(model);
    sooth_memory memory = sooth_prediction_memory(p);
    c->latency_ms = (float)t.latency_ms.value;
    c->low_ms = (float)t.latency_ms.low;
    c->high_ms = (float)t.latency_ms.high;
    c->utilization = (float)t.compute_share;
    c->dram_utilization = (float)t.dram_share;
    c->energy_j = (float)t.energy_j.value;
    c->memory_mib = memory.known ? (float)memory.total_mib.value : NAN;
    c->macs = network.macs;
    c->params = network.params;
}

/* Copies the prediction of an earlier search of the same space. */
static sooth_status copy_prediction(nas_candidate *c, const nas_candidate *known, sooth_error *error)
{
    if (known->error)
        return error_say(error, SOOTH_ERROR_INPUT, known->error);
    *c = *known;
    c->is_feasible = c->is_kept = c->is_looked_up = false;
    c->accuracy = c->metric = NAN;
    return SOOTH_OK;
}

/* Returns SOOTH_OK, or the status of the failure; the reason goes to the candidate. */
static sooth_status predict(const sooth_nas *n, nas_candidate *c, bool with_memory, sooth_error *error)
{
    const sooth_nas *like = n->options->like;
    if (like && !with_memory)
        return copy_prediction(c, &like->candidates.items[c - n->candidates.items], error);
    char graph[SPACE_GRAPH_ROOM];
    fail f = {.error = error};
    sooth_model *model = NULL;
    sooth_prediction *prediction = NULL;
    if (setjmp(f.jump))
        return error->code;
    space_graph(n->space, &c->genes, graph, &f);
    sooth_dim_binding bindings[SPACE_MAX_CHOICES];
    sooth_options dims = {0};
    study_bind(n->space, &c->genes, n->totals.batch, &dims, bindings);
    sooth_predict_options where = n->options->settings;
    where.device = n->device;
    where.memory = with_memory;
    sooth_status status = sooth_load_file(graph, &model, error);
    if (status == SOOTH_OK)
        status = sooth_bind(model, &dims, error);
    if (status == SOOTH_OK)
        status = sooth_predict(model, &where, &prediction, error);
    if (status == SOOTH_OK)
        fill(c, model, prediction);
    sooth_prediction_free(prediction);
    sooth_free(model);
    return status;
}

static double looked_up(const sooth_nas *n, sooth_nas_column column, const char *architecture)
{
    double value;
    return n->options->lookup && n->options->has_column[column] &&
                   n->options->lookup(n->options->context, column, architecture, &value)
               ? value
               : NAN;
}

/* The metric to prune by; higher is better. */
static double metric_of(const sooth_nas *n, const nas_candidate *c, const char *architecture)
{
    const char *by = n->options->prune_by;
    if (!by || strcmp(by, "utilization") == 0)
        return c->utilization;
    if (strcmp(by, "macs") == 0)
        return (double)c->macs;
    if (strcmp(by, "params") == 0)
        return (double)c->params;
    if (strcmp(by, "latency") == 0)
        return c->latency_ms;
    if (strcmp(by, "energy") == 0)
        return -(double)c->energy_j;
    return looked_up(n, SOOTH_NAS_METRIC, architecture);
}

static bool within_limits(const sooth_nas_options *o, const nas_candidate *c)
{
    return (!(o->latency_ms > 0) || c->latency_ms <= o->latency_ms) &&
           (!(o->memory_mib > 0) || c->memory_mib <= o->memory_mib) &&
           (!(o->energy_j > 0) || c->energy_j <= o->energy_j);
}

static void predict_candidate(sooth_nas *n, nas_candidate *c)
{
    sooth_error error;
    char architecture[SPACE_GRAPH_ROOM];
    c->accuracy = c->metric = NAN;
    sooth_status status = predict(n, c, n->options->memory_mib > 0, &error);
    if (status != SOOTH_OK && status != SOOTH_ERROR_SYSTEM) {
        c->error = strdup(error.message);
        if (c->error)
            return;
        status = error_say(&error, SOOTH_ERROR_SYSTEM, "out of memory");
    }
    if (status != SOOTH_OK) {
        stop_with(n, &error);
        return;
    }
    fail f = {.error = &error};
    if (setjmp(f.jump)) {
        stop_with(n, &error);
        return;
    }
    space_architecture(n->space, &c->genes, architecture, &f);
    double measured_ms = looked_up(n, SOOTH_NAS_LATENCY_MS, architecture);
    /* With measured latencies, a candidate without one is infeasible. */
    if (n->options->has_column[SOOTH_NAS_LATENCY_MS])
        c->latency_ms = c->low_ms = c->high_ms = (float)measured_ms;
    c->accuracy = looked_up(n, SOOTH_NAS_ACCURACY, architecture);
    c->is_looked_up = !isnan(c->accuracy);
    c->metric = metric_of(n, c, architecture);
    c->is_feasible = !isnan(c->latency_ms) && within_limits(n->options, c);
}

/* ---- the whole space --------------------------------------------------------------------------------------------- */

typedef struct pass {
    sooth_nas *nas;
    atomic_size_t done;
    double began_s, shown_s;
} pass;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum { CHUNK = 64 }; /* candidates per task of a thread; a single prediction takes only about 100 µs */

static void predict_chunk(void *context, size_t item, size_t worker)
{
    pass *p = context;
    sooth_nas *n = p->nas;
    size_t end = (item + 1) * CHUNK < (size_t)n->candidates.count ? (item + 1) * CHUNK : (size_t)n->candidates.count;
    for (size_t i = item * CHUNK; i < end && !atomic_load(&n->stops); i++)
        predict_candidate(n, &n->candidates.items[i]);
    size_t done = atomic_fetch_add(&p->done, end - item * CHUNK) + end - item * CHUNK;
    double now = now_s();
    if (!n->options->progress || worker != 0 || now - p->shown_s < 0.1)
        return;
    p->shown_s = now;
    if (!n->options->progress(n->options->context, done, (size_t)n->candidates.count, now - p->began_s))
        stop_with(n, &(sooth_error){SOOTH_ANSWER_NO, "the search was stopped"});
}

static void predict_table(sooth_nas *n)
{
    pass p = {.nas = n, .began_s = now_s()};
    size_t count = (size_t)n->candidates.count, threads = n->options->threads;
    parallel_for((count + CHUNK - 1) / CHUNK, threads ? threads : threads_available(), predict_chunk, &p);
    if (n->failure.code != SOOTH_OK)
        fail_with(&n->fail, n->failure.code, "%s", n->failure.message);
    if (n->options->progress)
        n->options->progress(n->options->context, count, count, now_s() - p.began_s);
}

typedef struct ranked {
    double metric;
    uint64_t lot; /* Pseudo-random order among equal metrics, independent of the order of candidates. */
    int32_t index;
} ranked;

static int best_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->metric != y->metric)
        return x->metric > y->metric ? -1 : 1;
    return x->lot < y->lot ? -1 : x->lot > y->lot;
}

/* Finds the smallest metric that is kept; candidates without a metric are pruned. In an enumerated space exactly the
 * requested share is kept, although many candidates may have equal metrics such as MACs. */
static void prune(sooth_nas *n)
{
    n->metric_least = -INFINITY;
    if (!(n->options->prune_share > 0) || n->options->prune_share >= 1)
        return;
    ranked *list = ARENA_ARRAY(&n->arena, ranked, (size_t)n->candidates.count + 1);
    size_t count = 0;
    for (int32_t i = 0; i < n->candidates.count; i++)
        if (n->candidates.items[i].is_feasible && !isnan(n->candidates.items[i].metric))
            list[count++] = (ranked){n->candidates.items[i].metric, (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u, i};
    if (!count)
        return;
    qsort(list, count, sizeof *list, best_first);
    size_t keep = (size_t)ceil(n->options->prune_share * (double)count);
    n->metric_least = list[keep - 1].metric;
    for (size_t i = keep; i < count && n->is_enumerated; i++)
        n->candidates.items[list[i].index].metric = NAN;
}

static void decide(const sooth_nas *n, nas_candidate *c)
{
    c->is_kept = c->is_feasible && (n->metric_least == -INFINITY || c->metric >= n->metric_least);
}

static void check_like(sooth_nas *n)
{
    const sooth_nas *like = n->options->like;
    n->is_measured = n->options->has_column[SOOTH_NAS_LATENCY_MS];
    if (like && (!like->is_enumerated || like->is_measured || like->candidates.count != n->candidates.count ||
                 strcmp(like->totals.space, n->space->name.ptr) != 0))
        fail_with(&n->fail, SOOTH_ERROR_USAGE,
                  "predictions can be reused only for the same space, of at most two million candidates, "
                  "without measured latencies");
}

void nas_predict_space(sooth_nas *n)
{
    const space *s = n->space;
    n->is_enumerated = s->candidates <= MOST_ENUMERATED;
    if (!n->is_enumerated && n->options->method == SOOTH_NAS_ALL)
        fail_with(&n->fail, SOOTH_ERROR_USAGE,
                  "%.*s has %.3g candidates: too many for all of them; choose --search random, evolution or local",
                  STR_ARG(s->name), s->candidates);
    size_t count = n->is_enumerated ? (size_t)s->candidates : SAMPLE;
    ARENA_RESERVE(&n->arena, &n->candidates, count);
    if (n->is_enumerated) {
        for (size_t i = 0; i < count; i++)
            ((nas_candidate *)ARENA_PUSH(&n->arena, &n->candidates))->genes = space_candidate(s, i);
    } else {
        n->hash_size = 1 << 16;
        n->hash = ARENA_ARRAY(&n->arena, int32_t, n->hash_size);
        uint64_t state = n->options->seed * 0x9e3779b97f4a7c15u + 1;
        for (size_t i = 0; i < count; i++) {
            nas_candidate *c = ARENA_PUSH(&n->arena, &n->candidates);
            for (int32_t k = 0; k < s->choice_count; k++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                c->genes.of[k] = (uint8_t)((state >> 33) % (uint64_t)s->choices[k].count);
            }
        }
    }
    check_like(n);
    predict_table(n);
    prune(n);
    n->kept = ARENA_ARRAY(&n->arena, int32_t, (size_t)n->candidates.count + 1);
    for (int32_t i = 0; i < n->candidates.count; i++) {
        decide(n, &n->candidates.items[i]);
        if (n->candidates.items[i].is_kept)
            n->kept[n->kept_count++] = i;
    }
    if (!n->is_enumerated) { /* Indexes the sampled candidates by their genes, so that searches find them. */
        int32_t sampled = n->candidates.count;
        n->candidates.count = 0;
        for (int32_t i = 0; i < sampled; i++) {
            nas_candidate c = n->candidates.items[i];
            int32_t before = n->candidates.count;
            int32_t at = nas_candidate_of(n, &c.genes);
            if (at == before)
                n->candidates.items[at] = c;
        }
    }
}

/* ---- candidates that are met ------------------------------------------------------------------------------------- */

static uint64_t number_of(const space *s, const genes *g)
{
    uint64_t number = 0;
    for (int32_t i = 0; i < s->choice_count; i++)
        number = number * (uint64_t)s->choices[i].count + g->of[i];
    return number;
}

static size_t slot_of(const sooth_nas *n, const genes *g)
{
    size_t length = (size_t)n->space->choice_count;
    size_t slot = str_hash((str){(const char *)g->of, length}) & (n->hash_size - 1);
    while (n->hash[slot] && memcmp(n->candidates.items[n->hash[slot] - 1].genes.of, g->of, length) != 0)
        slot = (slot + 1) & (n->hash_size - 1);
    return slot;
}

static void grow_hash(sooth_nas *n)
{
    n->hash_size *= 2;
    n->hash = ARENA_ARRAY(&n->arena, int32_t, n->hash_size);
    for (int32_t i = 0; i < n->candidates.count; i++)
        n->hash[slot_of(n, &n->candidates.items[i].genes)] = i + 1;
}

int32_t nas_candidate_of(sooth_nas *n, const genes *g)
{
    if (n->is_enumerated)
        return (int32_t)number_of(n->space, g);
    size_t slot = slot_of(n, g);
    if (n->hash[slot])
        return n->hash[slot] - 1;
    /* The candidate moves in from the sample, which is already predicted. */
    bool is_moving = n->candidates.count < SAMPLE && n->kept;
    nas_candidate *c = ARENA_PUSH(&n->arena, &n->candidates);
    c->genes = *g;
    n->hash[slot] = n->candidates.count;
    if (!is_moving) {
        predict_candidate(n, c);
        if (n->failure.code != SOOTH_OK)
            fail_with(&n->fail, n->failure.code, "%s", n->failure.message);
        decide(n, c);
    }
    if ((size_t)n->candidates.count * 2 > n->hash_size)
        grow_hash(n);
    return n->candidates.count - 1;
}

void nas_fill_memory(sooth_nas *n, int32_t index)
{
    nas_candidate *c = &n->candidates.items[index];
    sooth_error error;
    nas_candidate again = *c;
    if (c->error || c->memory_mib > 0)
        return;
    sooth_status status = predict(n, &again, true, &error);
    if (status == SOOTH_OK)
        c->memory_mib = again.memory_mib;
    else if (status == SOOTH_ERROR_SYSTEM)
        stop_with(n, &error);
}
