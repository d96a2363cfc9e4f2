/* choose.c: sooth_choose. First all GPUs, slices and settings double their batch together, so that the model is
 * bound once per batch and lowered once per setting. Then each combination bisects between its largest successful
 * batch and its smallest failed one. */
#include "plan/choose.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BATCH = 65536, REASON_ROOM = 400 };

/* One GPU or slice in one setting. */
typedef struct cell {
    const sooth_gpu *gpu;
    const char *mig; /* NULL: the whole GPU */
    const char *precision, *layout, *runtime;
    size_t place;       /* index of the GPU or slice; its cells compete */
    double usd_h;       /* NAN if unknown */
    int64_t good, bad;  /* largest batch that meets the target and smallest that misses it; 0: none yet */
    sooth_choice best;  /* prediction at batch `good` */
    sooth_choice first; /* prediction at batch 1, reported if no batch meets the target */
    char *reason;       /* reason of the first failure */
} cell;

typedef struct chooser {
    sooth_choices *answer;
    sooth_model *model;
    const sooth_choose_options *options;
    cell *cells;
    size_t cell_count, place_count;
    int64_t bound; /* batch that the model is bound to */
} chooser;

/* ---- one prediction ---------------------------------------------------------------------------------------------- */

static void bind(chooser *c, int64_t batch)
{
    if (c->bound == batch)
        return;
    sooth_options dims = c->options->dims ? *c->options->dims : (sooth_options){0};
    sooth_error error;
    dims.batch = batch;
    c->bound = 0;
    sooth_status status = sooth_bind(c->model, &dims, &error);
    if (status != SOOTH_OK)
        fail_with(&c->answer->fail, status, "%s", error.message);
    c->bound = batch;
}

/* Keeps only the first reason: the failure at the smallest batch explains most. */
static void say(chooser *c, cell *x, const char *reason)
{
    if (!x->reason)
        x->reason = (char *)arena_str(&c->answer->arena, str_of(reason)).ptr;
}

static double factor(double value, double limit)
{
    return limit > 0 ? value / limit : 1;
}

/* Judges a prediction by the pessimistic ends of its intervals. */
static void judge(chooser *c, cell *x, sooth_choice *choice, const sooth_memory *memory)
{
    const sooth_choose_options *o = c->options;
    char reason[REASON_ROOM];
    choice->meets = true;
    choice->miss = 1;
    if (memory->limit) {
        snprintf(reason, sizeof reason, "batch %" PRId64 " does not run: %s", choice->batch, memory->limit);
        choice->meets = false;
        choice->miss = INFINITY;
    } else if (memory->capacity_mib > 0 && !memory->fits_upper) {
        snprintf(reason, sizeof reason, "batch %" PRId64 " needs up to %.0f MiB of %.0f", choice->batch,
                 memory->total_mib.high, memory->capacity_mib);
        choice->meets = false;
        choice->miss = factor(memory->total_mib.high, memory->capacity_mib);
    } else if (o->latency_ms > 0 && choice->latency_ms.high > o->latency_ms) {
        snprintf(reason, sizeof reason, "batch %" PRId64 " takes up to %.4g ms; the target is %g", choice->batch,
                 choice->latency_ms.high, o->latency_ms);
        choice->meets = false;
        choice->miss = factor(choice->latency_ms.high, o->latency_ms);
    }
    if (!choice->meets)
        say(c, x, reason);
}

static bool predict_cell(chooser *c, cell *x, int64_t batch)
{
    sooth_predict_options where = c->options->settings;
    where.device = x->gpu;
    where.mig = x->mig;
    where.precision = x->precision;
    where.layout = x->layout;
    where.runtime = x->runtime;
    where.memory = true;
    bind(c, batch);
    sooth_error error;
    sooth_prediction *prediction;
    sooth_status status = sooth_predict(c->model, &where, &prediction, &error);
    if (status == SOOTH_ERROR_SYSTEM || status == SOOTH_ERROR_USAGE)
        fail_with(&c->answer->fail, status, "%s", error.message);
    if (status != SOOTH_OK) { /* for example fp8 on a GPU without fp8 units, or a batch too large to lower */
        say(c, x, error.message);
        return false;
    }
    sooth_prediction_totals t = sooth_prediction_totals_of(prediction);
    sooth_memory memory = sooth_prediction_memory(prediction);
    arena *a = &c->answer->arena;
    if (!c->answer->file) {
        c->answer->file = arena_str(a, str_of(t.file)).ptr;
        c->answer->mode = arena_str(a, str_of(t.mode)).ptr;
        c->answer->weights = arena_str(a, str_of(t.weights)).ptr;
    }
    sooth_choice choice = {.gpu = sooth_gpu_text(x->gpu, "name"),
                           .mig = x->mig ? x->mig : "",
                           .batch = batch,
                           .latency_ms = t.latency_ms,
                           .memory_mib = memory.total_mib,
                           .energy_j = t.energy_j,
                           .capacity_mib = memory.capacity_mib,
                           .throughput_per_s = t.throughput_per_s,
                           .throughput_per_s_low = (double)batch * 1e3 / t.latency_ms.high,
                           .utilization = t.compute_share,
                           .usd_h = x->usd_h,
                           .usd_per_million = x->usd_h / 3600 * 1e6 / t.throughput_per_s};
    int64_t samples = c->options->epoch_samples;
    choice.epoch_h = samples ? (double)samples / t.throughput_per_s / 3600 : NAN;
    choice.usd_per_epoch = x->usd_h * choice.epoch_h;
    if (!x->best.precision) { /* names as in predictions; copied once per cell */
        x->best.precision = x->first.precision = arena_str(a, str_of(t.precision)).ptr;
        x->best.layout = x->first.layout = arena_str(a, str_of(t.layout)).ptr;
        x->best.runtime = x->first.runtime = arena_str(a, str_of(t.runtime)).ptr;
    }
    choice.precision = x->best.precision;
    choice.layout = x->best.layout;
    choice.runtime = x->best.runtime;
    sooth_prediction_free(prediction);
    judge(c, x, &choice, &memory);
    if (batch == 1)
        x->first = choice;
    if (choice.meets)
        x->best = choice;
    return choice.meets;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static void note(cell *x, int64_t batch, bool meets)
{
    *(meets ? &x->good : &x->bad) = batch;
}

/* A batch above the limit counts as a failure, so that bisection finds the largest batch below the limit. */
static void double_batches(chooser *c)
{
    int64_t most = c->options->most_batch ? c->options->most_batch : MOST_BATCH;
    if (c->options->epoch_samples && c->options->epoch_samples < most)
        most = c->options->epoch_samples;
    size_t open = c->cell_count;
    for (int64_t batch = 1; batch <= most && open; batch *= 2) {
        open = 0;
        for (size_t i = 0; i < c->cell_count; i++) {
            cell *x = &c->cells[i];
            if (x->bad)
                continue;
            note(x, batch, predict_cell(c, x, batch));
            open += !x->bad;
        }
    }
    for (size_t i = 0; i < c->cell_count; i++)
        if (!c->cells[i].bad)
            c->cells[i].bad = most + 1;
}

static void halve(chooser *c, cell *x)
{
    while (x->good && x->bad - x->good > 1) {
        int64_t middle = x->good + (x->bad - x->good) / 2;
        note(x, middle, predict_cell(c, x, middle));
    }
}

/* Throughput is highest at the largest batch, so only a failure there rules out the cell. */
static void judge_throughput(chooser *c, cell *x)
{
    double target = c->options->throughput_per_s;
    if (!x->good || !(target > 0) || x->best.throughput_per_s_low >= target)
        return;
    char reason[REASON_ROOM];
    snprintf(reason, sizeof reason,
             "reaches at least %.4g samples/s at batch %" PRId64 ", the largest possible; the target "
             "is %g",
             x->best.throughput_per_s_low, x->best.batch, target);
    x->best.meets = false;
    x->best.miss = factor(target, x->best.throughput_per_s_low);
    x->reason = (char *)arena_str(&c->answer->arena, str_of(reason)).ptr;
}

/* ---- ranking ----------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const sooth_choice *x = a, *y = b;
    if (x->meets != y->meets)
        return x->meets ? -1 : 1;
    if (!x->meets && x->miss != y->miss)
        return x->miss < y->miss ? -1 : 1;
    bool priced = isfinite(x->usd_per_million) && isfinite(y->usd_per_million);
    if (priced && x->usd_per_million != y->usd_per_million)
        return x->usd_per_million < y->usd_per_million ? -1 : 1;
    if (isfinite(x->usd_per_million) != isfinite(y->usd_per_million))
        return isfinite(x->usd_per_million) ? -1 : 1;
    if (x->throughput_per_s != y->throughput_per_s)
        return x->throughput_per_s > y->throughput_per_s ? -1 : 1;
    return strcmp(x->gpu, y->gpu);
}

/* Selects the best setting of each GPU and slice. */
static void collect(chooser *c)
{
    sooth_choices *answer = c->answer;
    answer->items = ARENA_ARRAY(&answer->arena, sooth_choice, c->place_count + 1);
    for (size_t place = 0; place < c->place_count; place++) {
        sooth_choice best = {.gpu = NULL};
        for (size_t i = 0; i < c->cell_count; i++) {
            cell *x = &c->cells[i];
            if (x->place != place)
                continue;
            sooth_choice choice = x->good ? x->best : x->first;
            choice.gpu = sooth_gpu_text(x->gpu, "name");
            choice.mig = x->mig ? x->mig : "";
            choice.reason = choice.meets ? "" : x->reason ? x->reason : "";
            if (!choice.batch) { /* no prediction succeeded */
                choice.precision = x->precision ? x->precision : "";
                choice.layout = x->layout ? x->layout : "";
                choice.runtime = x->runtime ? x->runtime : "";
                choice.miss = INFINITY;
                choice.usd_per_million = choice.usd_h = choice.epoch_h = choice.usd_per_epoch = NAN;
            }
            if (!best.gpu || compare(&choice, &best) < 0)
                best = choice;
        }
        best.gpu = arena_str(&answer->arena, str_of(best.gpu)).ptr; /* the answer outlives the caller's GPUs */
        best.mig = arena_str(&answer->arena, str_of(best.mig)).ptr;
        answer->items[answer->count++] = best;
    }
    qsort(answer->items, answer->count, sizeof *answer->items, compare);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void add_place(chooser *c, const sooth_gpu *gpu, const char *mig, double usd_h)
{
    const sooth_choose_options *o = c->options;
    const char *const *precisions = o->precision_count ? o->precisions : &o->settings.precision;
    const char *const *layouts = o->layout_count ? o->layouts : &o->settings.layout;
    const char *const *runtimes = o->runtime_count ? o->runtimes : &o->settings.runtime;
    for (size_t p = 0; p < (o->precision_count ? o->precision_count : 1); p++)
        for (size_t l = 0; l < (o->layout_count ? o->layout_count : 1); l++)
            for (size_t r = 0; r < (o->runtime_count ? o->runtime_count : 1); r++)
                c->cells[c->cell_count++] = (cell){.gpu = gpu,
                                                   .mig = mig,
                                                   .precision = precisions[p],
                                                   .layout = layouts[l],
                                                   .runtime = runtimes[r],
                                                   .place = c->place_count,
                                                   .usd_h = usd_h};
    c->place_count++;
}

static void add_places(chooser *c)
{
    const sooth_choose_options *o = c->options;
    size_t settings = (o->precision_count ? o->precision_count : 1) * (o->layout_count ? o->layout_count : 1) *
                      (o->runtime_count ? o->runtime_count : 1);
    size_t places = o->gpu_count;
    for (size_t g = 0; g < o->gpu_count && o->with_slices; g++)
        places += sooth_mig_count(o->gpus[g]);
    c->cells = ARENA_ARRAY(&c->answer->arena, cell, places * settings + 1);
    for (size_t g = 0; g < o->gpu_count; g++) {
        double price = o->prices_usd_h && o->prices_usd_h[g] > 0 ? o->prices_usd_h[g] : NAN;
        c->answer->has_prices |= !isnan(price);
        add_place(c, o->gpus[g], NULL, price);
        size_t slices = o->with_slices ? sooth_mig_count(o->gpus[g]) : 0;
        int whole = slices ? sooth_mig_at(o->gpus[g], slices - 1).compute_slices : 0;
        for (size_t i = 0; i < slices; i++) {
            sooth_mig_profile p = sooth_mig_at(o->gpus[g], i);
            /* Profiles with media engines (+me) compute like those without. */
            if (!strstr(p.name, "+me") && p.compute_slices < whole)
                add_place(c, o->gpus[g], p.name, price * p.compute_slices / whole);
        }
    }
}

static sooth_status choose(chooser *c)
{
    fail *f = &c->answer->fail;
    if (setjmp(f->jump))
        return f->error->code;
    if (!c->options->gpu_count)
        fail_with(f, SOOTH_ERROR_USAGE, "at least one GPU is needed");
    c->answer->latency_ms = c->options->latency_ms;
    c->answer->throughput_per_s = c->options->throughput_per_s;
    c->answer->epoch_samples = c->options->epoch_samples;
    add_places(c);
    double_batches(c);
    for (size_t i = 0; i < c->cell_count; i++) {
        halve(c, &c->cells[i]);
        judge_throughput(c, &c->cells[i]);
    }
    collect(c);
    return SOOTH_OK;
}

sooth_status sooth_choose(sooth_model *model, const sooth_choose_options *options, sooth_choices **choices,
                          sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *choices = NULL;
    sooth_choices *answer = calloc(1, sizeof *answer);
    if (!answer)
        return error_say(e, SOOTH_ERROR_SYSTEM, "out of memory");
    answer->fail.error = e;
    arena_init(&answer->arena, &answer->fail, ARENA_GIB(1));
    chooser c = {.answer = answer, .model = model, .options = options};
    sooth_status status = choose(&c);
    answer->fail.error = NULL;
    if (status != SOOTH_OK) {
        sooth_choices_free(answer);
        return status;
    }
    *choices = answer;
    if (answer->items[0].meets)
        return SOOTH_OK;
    return error_say(e, SOOTH_ANSWER_NO, "nothing meets the target");
}

void sooth_choices_free(sooth_choices *choices)
{
    if (!choices)
        return;
    arena_free(&choices->arena);
    free(choices);
}

size_t sooth_choice_count(const sooth_choices *choices)
{
    return choices->count;
}

sooth_choice sooth_choice_at(const sooth_choices *choices, size_t rank)
{
    return rank < choices->count ? choices->items[rank]
                                 : (sooth_choice){.gpu = "", .mig = "", .reason = "no such choice"};
}

sooth_choose_totals sooth_choose_totals_of(const sooth_choices *choices)
{
    return (sooth_choose_totals){.file = choices->file ? choices->file : "",
                                 .mode = choices->mode ? choices->mode : "",
                                 .weights = choices->weights ? choices->weights : "",
                                 .latency_ms = choices->latency_ms,
                                 .throughput_per_s = choices->throughput_per_s,
                                 .epoch_samples = choices->epoch_samples,
                                 .has_prices = choices->has_prices};
}
