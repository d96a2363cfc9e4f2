/* nas.c: the public functions about searches; catches their failures. */
#include "plan/nas.h"

#include <math.h>
#include <stdlib.h>

enum { DEFAULT_TRIALS = 100 };

static const char *const METRICS[] = {"utilization", "macs", "params", "latency", "energy", "table", NULL};

static void check_options(sooth_nas *n)
{
    const sooth_nas_options *o = n->options;
    if (o->prune_share < 0 || o->prune_share > 1)
        fail_with(&n->fail, SOOTH_ERROR_USAGE, "a share to prune to is between 0 and 1, not %g", o->prune_share);
    if (o->within_count > NAS_MOST_WITHIN)
        fail_with(&n->fail, SOOTH_ERROR_USAGE, "at most %d distances at once", NAS_MOST_WITHIN);
    if (o->trials > INT32_MAX || o->repeats > 1000000)
        fail_with(&n->fail, SOOTH_ERROR_USAGE, "too many trials or repeats");
    bool is_known = !o->prune_by;
    for (size_t i = 0; METRICS[i] && !is_known; i++)
        is_known = strcmp(o->prune_by, METRICS[i]) == 0;
    if (!is_known)
        fail_with(&n->fail, SOOTH_ERROR_USAGE,
                  "candidates are pruned by utilization, macs, params, latency, energy or a table, not '%.60s'",
                  o->prune_by);
}

static void find_device(sooth_nas *n)
{
    const sooth_nas_options *o = n->options;
    const char *name = o->settings.gpu && *o->settings.gpu ? o->settings.gpu : "a100-sxm4-40gb";
    sooth_error error;
    n->device = o->device;
    if (!n->device && (sooth_gpus_open(NULL, &n->gpus, &error) != SOOTH_OK ||
                       sooth_gpus_find(n->gpus, name, &n->device, &error) != SOOTH_OK))
        fail_with(&n->fail, error.code, "%s", error.message);
}

/* Takes the names as predictions report them, from the first successful candidate. */
static void name_settings(sooth_nas *n)
{
    static const char *const METHODS[] = {"all", "random", "evolution", "local"};
    sooth_nas_totals *t = &n->totals;
    char graph[SPACE_GRAPH_ROOM];
    t->space = n->space->name.ptr;
    t->gpu = arena_str(&n->arena, str_of(sooth_gpu_text(n->device, "name"))).ptr;
    t->method = METHODS[n->options->method];
    t->precision = t->layout = t->runtime = t->mode = t->weights = "";
    const sooth_nas *like = n->options->like;
    if (like) {
        t->precision = arena_str(&n->arena, str_of(like->totals.precision)).ptr;
        t->layout = arena_str(&n->arena, str_of(like->totals.layout)).ptr;
        t->runtime = arena_str(&n->arena, str_of(like->totals.runtime)).ptr;
        t->mode = arena_str(&n->arena, str_of(like->totals.mode)).ptr;
        t->weights = arena_str(&n->arena, str_of(like->totals.weights)).ptr;
        return;
    }
    for (int32_t i = 0; i < n->candidates.count; i++) {
        if (n->candidates.items[i].error)
            continue;
        sooth_model *model;
        sooth_prediction *p = NULL;
        sooth_predict_options where = n->options->settings;
        where.device = n->device;
        space_graph(n->space, &n->candidates.items[i].genes, graph, &n->fail);
        sooth_error error;
        sooth_status status = sooth_load_file(graph, &model, &error);
        if (status == SOOTH_OK)
            status = sooth_bind(model, &(sooth_options){.batch = n->totals.batch}, &error);
        if (status == SOOTH_OK)
            status = sooth_predict(model, &where, &p, &error);
        if (status == SOOTH_OK) {
            sooth_prediction_totals s = sooth_prediction_totals_of(p);
            t->precision = arena_str(&n->arena, str_of(s.precision)).ptr;
            t->layout = arena_str(&n->arena, str_of(s.layout)).ptr;
            t->runtime = arena_str(&n->arena, str_of(s.runtime)).ptr;
            t->mode = arena_str(&n->arena, str_of(s.mode)).ptr;
            t->weights = arena_str(&n->arena, str_of(s.weights)).ptr;
        }
        sooth_prediction_free(p);
        sooth_free(model);
        if (status == SOOTH_ERROR_SYSTEM)
            fail_with(&n->fail, status, "%s", error.message);
        return;
    }
}

/* Finds the best accuracy that a search could reach; repeats and the report need it. */
static void find_best_accuracy(sooth_nas *n)
{
    n->totals.best_accuracy = NAN;
    for (int32_t i = 0; i < n->candidates.count; i++) {
        const nas_candidate *c = &n->candidates.items[i];
        if (c->is_feasible && !isnan(c->accuracy))
            n->totals.best_accuracy = fmax(n->totals.best_accuracy, c->accuracy);
    }
}

static void run_search(sooth_nas *n)
{
    const sooth_nas_options *o = n->options;
    size_t trials = o->trials ? o->trials : o->method == SOOTH_NAS_ALL ? (size_t)n->kept_count : DEFAULT_TRIALS;
    nas_run run = {.nas = n, .seed = o->seed, .most = (int32_t)trials, .enough = INFINITY};
    run.trials = ARENA_ARRAY(&n->arena, int32_t, trials + 1);
    if (n->is_enumerated)
        run.seen = ARENA_ARRAY(&n->arena, uint8_t, (size_t)n->candidates.count + 1);
    bool has_accuracy = o->has_column[SOOTH_NAS_ACCURACY] || o->evaluate;
    if (has_accuracy)
        nas_search_once(&run);
    n->trials = run.trials;
    n->trial_count = run.count;
}

static sooth_status search(sooth_nas *n)
{
    if (setjmp(n->fail.jump))
        return n->fail.error->code;
    check_options(n);
    n->space = space_open(n->options->space, &n->arena, &n->fail);
    find_device(n);
    n->totals.batch = n->options->batch ? n->options->batch : 1;
    n->totals.candidates = n->space->candidates;
    nas_predict_space(n);
    name_settings(n);
    find_best_accuracy(n);
    if (n->options->repeats)
        nas_search_repeated(n);
    else
        run_search(n);
    nas_conclude(n);
    if (n->totals.predicted == n->totals.failed && n->candidates.count)
        fail_with(&n->fail, SOOTH_ERROR_INPUT, "no candidate of %.*s can be predicted; the first: %s",
                  STR_ARG(n->space->name), n->candidates.items[0].error);
    return SOOTH_OK;
}

sooth_status sooth_nas_search(const sooth_nas_options *options, sooth_nas **nas, sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *nas = NULL;
    sooth_nas *n = calloc(1, sizeof *n);
    if (!n)
        return error_say(e, SOOTH_ERROR_SYSTEM, "out of memory");
    n->fail.error = e;
    n->options = options;
    pthread_mutex_init(&n->lock, NULL);
    arena_init(&n->arena, &n->fail, ARENA_GIB(16));
    sooth_status status = search(n);
    n->options = NULL;
    n->fail.error = NULL;
    if (status != SOOTH_OK) {
        sooth_nas_free(n);
        return status;
    }
    *nas = n;
    if (n->totals.feasible)
        return SOOTH_OK;
    return error_say(e, SOOTH_ANSWER_NO, "no candidate is within the limits");
}

void sooth_nas_free(sooth_nas *nas)
{
    if (!nas)
        return;
    for (int32_t i = 0; i < nas->candidates.count; i++)
        free(nas->candidates.items[i].error);
    sooth_gpus_free(nas->gpus);
    pthread_mutex_destroy(&nas->lock);
    arena_free(&nas->arena);
    free(nas);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

sooth_nas_totals sooth_nas_totals_of(const sooth_nas *nas)
{
    return nas->totals;
}

size_t sooth_nas_candidate_count(const sooth_nas *nas)
{
    return (size_t)nas->candidates.count;
}

sooth_nas_candidate sooth_nas_candidate_at(const sooth_nas *nas, size_t index)
{
    if (index >= (size_t)nas->candidates.count)
        return (sooth_nas_candidate){.error = "no such candidate"};
    const nas_candidate *c = &nas->candidates.items[index];
    return (sooth_nas_candidate){.latency_ms = {(double)c->latency_ms, (double)c->low_ms, (double)c->high_ms},
                                 .utilization = (double)c->utilization,
                                 .dram_utilization = (double)c->dram_utilization,
                                 .macs = c->macs,
                                 .params = c->params,
                                 .memory_mib = c->memory_mib > 0 ? (double)c->memory_mib : NAN,
                                 .energy_j = (double)c->energy_j,
                                 .accuracy = c->accuracy,
                                 .is_feasible = c->is_feasible,
                                 .is_kept = c->is_kept,
                                 .error = c->error ? c->error : ""};
}

sooth_status sooth_nas_name(const sooth_nas *nas, size_t index, char *architecture, char *graph, size_t room)
{
    sooth_error error;
    fail f = {.error = &error};
    char text[SPACE_GRAPH_ROOM];
    if (index >= (size_t)nas->candidates.count || room < SPACE_GRAPH_ROOM)
        return SOOTH_ERROR_USAGE;
    if (setjmp(f.jump))
        return error.code;
    space_architecture(nas->space, &nas->candidates.items[index].genes, text, &f);
    if (architecture)
        strcpy(architecture, text);
    space_graph(nas->space, &nas->candidates.items[index].genes, text, &f);
    if (graph)
        strcpy(graph, text);
    return SOOTH_OK;
}

size_t sooth_nas_best(const sooth_nas *nas, size_t rank)
{
    return rank < (size_t)nas->best_count ? (size_t)nas->best[rank] : SIZE_MAX;
}

size_t sooth_nas_pareto(const sooth_nas *nas, size_t index)
{
    return index < (size_t)nas->pareto_count ? (size_t)nas->pareto[index] : SIZE_MAX;
}

size_t sooth_nas_trial(const sooth_nas *nas, size_t trial)
{
    return trial < (size_t)nas->trial_count ? (size_t)nas->trials[trial] : SIZE_MAX;
}

sooth_nas_repeat sooth_nas_repeat_at(const sooth_nas *nas, size_t index)
{
    return index < NAS_MOST_WITHIN ? nas->repeats[index] : (sooth_nas_repeat){0};
}

sooth_nas_effect sooth_nas_effect_at(const sooth_nas *nas, size_t index)
{
    return index < nas->effect_count ? nas->effects[index] : (sooth_nas_effect){0};
}

const char *sooth_nas_space_name(size_t index)
{
    return space_name(index);
}

const char *sooth_nas_space_summary(size_t index)
{
    return space_summary(index);
}
