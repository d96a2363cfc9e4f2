/* largest.c: sooth_largest_batch. Doubles the batch until it does not fit, then bisects. Whether a batch fits
 * depends on more than its size: the allocator behaves differently at other sizes and when memory is short, and
 * algorithms change with the batch. A trial computes the memory of a batch exactly, without times. A guess
 * interpolates two trials (predict/trial.h) and is much cheaper. The search runs on guesses, then tries its result
 * and the next batch. If a trial contradicts a guess, the search repeats with that trial added. If guesses are
 * impossible, every step is a trial. */
#include "predict/answer.h"

#include <math.h>
#include <stdlib.h>

static const int64_t MOST = 1 << 20; /* more samples than fit on any GPU */
enum { MAX_TRIALS = 10 };            /* trials kept for guesses */

typedef struct search {
    sooth_model *model;
    sooth_options dims;
    sooth_predict_options where;
    sooth_error *error;
    int64_t end;     /* upper bound of the search, exclusive */
    int64_t bound;   /* batch that the model is bound to; 0: unknown */
    bool is_limited; /* a trial was too large to lower */
    arena arena;     /* memory of the trials */
    memory_trial trials[MAX_TRIALS];
    int trial_count;
} search;

/* ---- trials ------------------------------------------------------------------------------------------------------ */

static bool is_fitting(const search *s, const footprint *f)
{
    return f->fits && !f->limit && (s->where.by_estimate || f->high_mib <= f->capacity_mib);
}

/* Computes whether the batch fits. A batch that is too large to lower does not fit, provided that batch 1 can be
 * lowered. */
static sooth_status try_batch(search *s, int64_t batch, bool *fits)
{
    sooth_options dims = s->dims;
    memory_trial own, *t = s->trial_count < MAX_TRIALS ? &s->trials[s->trial_count] : &own;
    arena_mark mark = arena_marked(&s->arena);
    dims.batch = batch;
    s->bound = 0;
    *fits = false;
    sooth_status status = sooth_bind(s->model, &dims, s->error);
    if (status == SOOTH_OK) {
        s->bound = batch;
        status = predict_trial(s->model, &s->where, t, &s->arena, s->error);
    }
    if (status == SOOTH_ERROR_UNSUPPORTED && batch > 1) {
        s->is_limited = true;
        return SOOTH_OK;
    }
    if (status != SOOTH_OK)
        return status;
    if (isnan(t->footprint.capacity_mib))
        return error_say(s->error, SOOTH_ERROR_UNSUPPORTED, "the GPU's memory size is unknown");
    t->batch = batch;
    *fits = is_fitting(s, &t->footprint);
    if (t == &own)
        arena_rewind(&s->arena, mark);
    else
        s->trial_count++;
    return SOOTH_OK;
}

static const memory_trial *trial_at(const search *s, int64_t batch)
{
    for (int i = 0; i < s->trial_count; i++)
        if (s->trials[i].batch == batch)
            return &s->trials[i];
    return NULL;
}

/* ---- guesses ----------------------------------------------------------------------------------------------------- */

/* Finds the two trials nearest to a batch, nearest first. Skips the first trial if there are others, because small
 * batches may run other kernels. */
static bool find_pair(const search *s, int64_t batch, const memory_trial *pair[2])
{
    pair[0] = pair[1] = NULL;
    for (int i = 0; i < s->trial_count; i++) {
        const memory_trial *t = &s->trials[i];
        if (i == 0 && s->trial_count > 2)
            continue;
        if (!pair[0] || llabs(t->batch - batch) < llabs(pair[0]->batch - batch)) {
            pair[1] = pair[0];
            pair[0] = t;
        } else if (!pair[1] || llabs(t->batch - batch) < llabs(pair[1]->batch - batch)) {
            pair[1] = t;
        }
    }
    return pair[1];
}

/* Largest estimate (value_mib) that counts as fitting. */
static double room_mib(const search *s, const footprint *f)
{
    return s->where.by_estimate ? f->capacity_mib : f->capacity_mib * (f->value_mib / f->high_mib);
}

/* Growth of live tensors per sample. */
static double sample_mib(const memory_trial *a, const memory_trial *b)
{
    return (b->footprint.live_mib - a->footprint.live_mib) / (double)(b->batch - a->batch);
}

/* True if the batch exceeds a limit other than memory. Such limits scale with the batch. A trial above them reports
 * them itself. */
static bool is_beyond_limits(const search *s, int64_t batch)
{
    bool is_beyond = false;
    for (int i = 0; i < s->trial_count; i++)
        is_beyond |= s->trials[i].basis.limit.share * (double)batch >= (double)s->trials[i].batch;
    return is_beyond;
}

/* Guesses from the nearest trials whether the batch fits. Sets `is_known` to false if these trials allow no guess. */
static sooth_status guess(const search *s, int64_t batch, bool *fits, bool *is_known)
{
    static const double TAKEN_MOST = 3; /* largest ratio of reserved bytes to live bytes */
    const memory_trial *pair[2], *t = trial_at(s, batch);
    *is_known = t || find_pair(s, batch, pair);
    *fits = t && is_fitting(s, &t->footprint);
    if (t || !*is_known || is_beyond_limits(s, batch))
        return SOOTH_OK;
    double live = pair[0]->footprint.live_mib + sample_mib(pair[0], pair[1]) * (double)(batch - pair[0]->batch);
    double room = room_mib(s, &pair[0]->footprint);
    *fits = live * TAKEN_MOST < room;
    if (*fits || live > room)
        return SOOTH_OK;
    footprint f;
    sooth_status status = predict_between(s->model, pair[0], pair[1], batch, &f, is_known, s->error);
    *fits = status == SOOTH_OK && *is_known && is_fitting(s, &f);
    return status;
}

static sooth_status guess_end(const search *s, int64_t *fitting, bool *is_known)
{
    sooth_status status = SOOTH_OK;
    int64_t failing = s->end;
    bool fits = true;
    *fitting = 1;
    *is_known = true;
    for (int64_t next = 2; status == SOOTH_OK && *is_known && fits && next < failing; next *= 2) {
        status = guess(s, next, &fits, is_known);
        *(fits ? fitting : &failing) = next;
    }
    while (status == SOOTH_OK && *is_known && failing - *fitting > 1) {
        int64_t middle = *fitting + (failing - *fitting) / 2;
        status = guess(s, middle, &fits, is_known);
        *(fits ? fitting : &failing) = middle;
    }
    return status;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

/* Largest batch that could fit if each further sample took `mib`; at least 2. */
static int64_t full_batch(const search *s, const memory_trial *from, double mib)
{
    double open = room_mib(s, &from->footprint) - from->footprint.live_mib;
    double full = mib > 0 ? (double)from->batch + open / mib : (double)s->end;
    return full >= (double)s->end ? s->end - 1 : full > 2 ? (int64_t)full : 2;
}

/* Runs a second trial, so that batches between the two trials can be guessed. */
static sooth_status try_second(search *s)
{
    const memory_trial *first = &s->trials[0];
    double growing_mib =
        /* An overestimate, because it includes casts of weights. */
        first->footprint.live_mib - first->footprint.context_mib;
    bool fits;
    for (memory_part part = MEMORY_WEIGHTS; part <= MEMORY_OPTIMIZER; part++)
        growing_mib -= first->footprint.parts_mib[part];
    int64_t batch = full_batch(s, first, growing_mib / (double)first->batch);
    return try_batch(s, batch == first->batch ? batch + 1 : batch, &fits);
}

/* Runs a third trial if the programs of the first two differ. */
static sooth_status try_third(search *s)
{
    int64_t batch = full_batch(s, &s->trials[1], sample_mib(&s->trials[0], &s->trials[1]));
    bool fits;
    return try_batch(s, trial_at(s, batch) ? s->trials[1].batch + 1 : batch, &fits);
}

/* Continues with trials only, starting from the known results. */
static sooth_status try_all(search *s, int64_t *fitting)
{
    int64_t failing = s->end;
    sooth_status status = SOOTH_OK;
    bool fits = true;
    *fitting = 1;
    for (int64_t next = 2; status == SOOTH_OK && fits && next < failing; next *= 2) {
        const memory_trial *t = trial_at(s, next);
        fits = t && is_fitting(s, &t->footprint);
        if (!t)
            status = try_batch(s, next, &fits);
        *(fits ? fitting : &failing) = next;
    }
    while (status == SOOTH_OK && failing - *fitting > 1) {
        int64_t middle = *fitting + (failing - *fitting) / 2;
        const memory_trial *t = trial_at(s, middle);
        fits = t && is_fitting(s, &t->footprint);
        if (!t)
            status = try_batch(s, middle, &fits);
        *(fits ? fitting : &failing) = middle;
    }
    return status;
}

static sooth_status find_end(search *s, int64_t *fitting)
{
    const int64_t first = 2; /* A batch of 1 often runs other kernels. */
    bool fits = false, is_known = true;
    *fitting = 0;
    sooth_status status = first < s->end ? try_batch(s, first, &fits) : SOOTH_OK;
    if (status == SOOTH_OK && !fits) {
        status = try_batch(s, 1, &fits);
        *fitting = fits;
        return status;
    }
    if (status == SOOTH_OK)
        status = try_second(s);
    while (status == SOOTH_OK && is_known && !s->is_limited && s->trial_count + 1 < MAX_TRIALS) {
        bool fits_next = false;
        status = guess_end(s, fitting, &is_known);
        if (status == SOOTH_OK && !is_known && s->trial_count == 2) {
            status = try_third(s);
            is_known = true;
            continue;
        }
        if (status != SOOTH_OK || !is_known)
            break;
        const memory_trial *next = trial_at(s, *fitting + 1), *own = trial_at(s, *fitting);
        if (!next && *fitting + 1 < s->end)
            status = try_batch(s, *fitting + 1, &fits_next);
        fits = own && is_fitting(s, &own->footprint);
        /* Tried last, so that the model stays bound to it. */
        if (!own && status == SOOTH_OK && !fits_next && !s->is_limited)
            status = try_batch(s, *fitting, &fits);
        if (status == SOOTH_OK && fits && !fits_next && !s->is_limited)
            return SOOTH_OK;
    }
    return status == SOOTH_OK ? try_all(s, fitting) : status;
}

sooth_status sooth_largest_batch(sooth_model *model, const sooth_options *dims, const sooth_predict_options *options,
                                 int64_t most, int64_t *batch, sooth_error *error)
{
    sooth_error own;
    search s = {.model = model, .error = error_or(error, &own)};
    s.dims = dims ? *dims : (sooth_options){0};
    s.where = options ? *options : (sooth_predict_options){0};
    s.where.memory = true;
    s.end = (most > 0 ? most : MOST) + 1;
    sooth_gpus *gpus;
    int64_t fitting = 0;
    arena_init(&s.arena, NULL, lowered_memory_cap(model));
    sooth_status status = predict_device(&s.where, &gpus, &s.where.device, s.error);
    if (status == SOOTH_OK)
        status = find_end(&s, &fitting);
    arena_free(&s.arena);
    sooth_gpus_free(gpus);
    *batch = status == SOOTH_OK ? fitting : 0;
    s.dims.batch = fitting > 0 ? fitting : 1;
    if (status == SOOTH_OK && s.bound != s.dims.batch) /* The model stays bound to this batch. */
        status = sooth_bind(model, &s.dims, s.error);
    return status;
}
