/* mig_plan.c: public functions that plan MIG slices for models. Predicts every workload on every profile, then
 * mig_search.c places the acceptable profiles. */
#include "plan/mig_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const size_t ARENA_CAP = (size_t)256 << 20;
static const char *const DEFAULT_GPU = "a100-sxm4-40gb";
static const sooth_interval UNKNOWN_INTERVAL = {NAN, NAN, NAN};

/* State of one plan. */
typedef struct planning {
    sooth_mig_plan *plan;
    const sooth_gpu *gpu;
    const sooth_mig_workload *workloads;
    size_t count;
    const sooth_mig_options *options;
} planning;

static const char *keep(sooth_mig_plan *plan, const char *s)
{
    return arena_str(&plan->arena, str_of(s ? s : "")).ptr;
}

/* ---- one profile for one workload -------------------------------------------------------------------------------- */

/* Keeps each note once, because most notes apply to all slices. */
static void keep_notes(sooth_mig_plan *plan, planned_workload *to, const sooth_prediction *prediction)
{
    const char *note;
    for (size_t n = 0; (note = sooth_prediction_note(prediction, n)); n++) {
        int32_t i = 0;
        while (i < to->notes.count && strcmp(to->notes.items[i], note) != 0)
            i++;
        if (i == to->notes.count)
            *(const char **)ARENA_PUSH(&plan->arena, &to->notes) = keep(plan, note);
    }
}

/* Predicts the workload on one profile. With `to` NULL, only tests whether it is acceptable. Fails through the plan
 * if the model cannot be predicted. */
static sooth_mig_candidate candidate_of(planning *p, const sooth_mig_workload *w, const mig_profile *profile,
                                        planned_workload *to)
{
    sooth_predict_options where = w->options;
    where.gpu = NULL;
    where.device = p->gpu;
    where.mig = profile->name.ptr;
    where.memory = true;
    sooth_prediction *prediction;
    sooth_error error;
    if (sooth_predict(w->model, &where, &prediction, &error) != SOOTH_OK)
        fail_with(&p->plan->fail, error.code, "%s: %s", w->name ? w->name : sooth_info_of(w->model).file,
                  error.message);
    sooth_prediction_totals totals = sooth_prediction_totals_of(prediction);
    sooth_memory memory = sooth_prediction_memory(prediction);
    if (to && !to->shown.precision) {
        to->shown.precision = keep(p->plan, totals.precision);
        to->shown.layout = keep(p->plan, totals.layout);
        to->shown.runtime = keep(p->plan, totals.runtime);
        to->shown.mode = keep(p->plan, totals.mode);
        to->shown.batch = totals.batch;
    }
    if (to)
        keep_notes(p->plan, to, prediction);
    if (!*p->plan->totals.weights)
        p->plan->totals.weights = keep(p->plan, totals.weights);
    sooth_mig_candidate c = {.profile = profile->name.ptr,
                             .latency_ms = totals.latency_ms,
                             .memory_mib = memory.known ? memory.total_mib : UNKNOWN_INTERVAL,
                             .energy_j = totals.energy_j,
                             .usable_mib = profile->memory_gib * 1024,
                             .reason = ""};
    sooth_prediction_free(prediction);
    c.fits = !(c.memory_mib.high > c.usable_mib);
    c.meets_target = !(w->latency_ms > 0) || c.latency_ms.high <= w->latency_ms;
    return c;
}

static const char *reason_against(sooth_mig_plan *plan, const sooth_mig_candidate *c, double target_ms)
{
    str memory = {"", 0}, latency = {"", 0};
    if (!c->fits)
        memory = arena_printf(&plan->arena, "needs up to %.0f MiB, has %.0f", c->memory_mib.high, c->usable_mib);
    if (!c->meets_target)
        latency = arena_printf(&plan->arena, "up to %.4g ms, target %.4g ms", c->latency_ms.high, target_ms);
    return arena_printf(&plan->arena, "%s%s%s", memory.ptr, memory.len && latency.len ? "; " : "", latency.ptr).ptr;
}

/* ---- one workload ------------------------------------------------------------------------------------------------ */

/* DIPPM (Panner Selvam and Brorsson, 2023) selects the first of 1g.5gb, 2g.10gb, 3g.20gb, 7g.40gb whose nominal
 * memory exceeds the predicted memory. On other GPUs, the list has each profile with more compute and more memory
 * than the previous one. */
static const char *dippm_profile(const planned_workload *w, const mig_table *table)
{
    int32_t compute = 0;
    double plate = 0;
    for (size_t i = 0; i < w->shown.candidate_count; i++) {
        const mig_profile *p = &table->profiles[w->profiles[i]];
        const char *point = strchr(p->name.ptr, '.');
        double gb = point ? strtod(point + 1, NULL) : 0;
        if (p->compute <= compute || gb <= plate)
            continue;
        compute = p->compute;
        plate = gb;
        if (w->candidates[i].memory_mib.value < gb * 1024)
            return p->name.ptr;
    }
    return "";
}

static void plan_workload(planning *p, size_t index)
{
    sooth_mig_plan *plan = p->plan;
    const sooth_mig_workload *w = &p->workloads[index];
    planned_workload *to = &plan->workloads[index];
    to->shown = (sooth_mig_planned){.name = keep(plan, w->name ? w->name : sooth_info_of(w->model).file),
                                    .latency_ms = w->latency_ms > 0 ? w->latency_ms : 0,
                                    .count = w->count ? w->count : 1,
                                    .profile = "",
                                    .dippm_profile = ""};
    for (int32_t i = 0; i < plan->table.profile_count; i++) {
        const mig_profile *profile = &plan->table.profiles[i];
        if (profile->has_media)
            continue;
        size_t at = to->shown.candidate_count++;
        sooth_mig_candidate *c = &to->candidates[at];
        to->profiles[at] = i;
        *c = candidate_of(p, w, profile, to);
        if (c->fits && c->meets_target) {
            to->acceptable |= 1U << i;
            to->shown.profile = *to->shown.profile ? to->shown.profile : c->profile;
        } else {
            c->reason = reason_against(plan, c, w->latency_ms);
        }
    }
    to->shown.dippm_profile = dippm_profile(to, &plan->table);
}

/* ---- what would be possible -------------------------------------------------------------------------------------- */

/* Returns the first profile that is acceptable with a smaller batch of the workload; NULL if there is none. */
static const char *profile_at_batch(planning *p, const sooth_mig_workload *w, int64_t batch)
{
    sooth_options dims = *w->dims;
    dims.batch = batch;
    if (sooth_bind(w->model, &dims, NULL) != SOOTH_OK)
        return NULL;
    const char *found = NULL;
    for (int32_t i = 0; i < p->plan->table.profile_count && !found; i++) {
        const mig_profile *profile = &p->plan->table.profiles[i];
        if (profile->has_media)
            continue;
        sooth_mig_candidate c = candidate_of(p, w, profile, NULL);
        found = c.fits && c.meets_target ? c.profile : NULL;
    }
    return found;
}

/* Halves the batch until some profile is acceptable. Rebinds the model to the original batch at the end. */
static const char *smaller_batch(planning *p, const sooth_mig_workload *w, int64_t batch, int64_t *found)
{
    const char *profile = NULL;
    *found = 0;
    if (!w->dims)
        return NULL;
    for (int64_t b = batch / 2; b >= 1 && !profile; b /= 2) {
        profile = profile_at_batch(p, w, b);
        *found = b;
    }
    sooth_bind(w->model, w->dims, NULL);
    return profile;
}

static void explain_workload(planning *p, size_t index)
{
    sooth_mig_plan *plan = p->plan;
    const planned_workload *w = &plan->workloads[index];
    const sooth_mig_candidate *fastest = NULL, *largest = &w->candidates[0];
    for (size_t i = 0; i < w->shown.candidate_count; i++) {
        const sooth_mig_candidate *c = &w->candidates[i];
        largest = c->usable_mib > largest->usable_mib ? c : largest;
        if (c->fits && (!fastest || c->latency_ms.high < fastest->latency_ms.high))
            fastest = c;
    }
    plan->totals.reason =
        fastest ? arena_printf(
                      &plan->arena, "%s: no slice of %s is fast enough: %s, the nearest, takes up to %.4g ms, not %.4g",
                      w->shown.name, plan->totals.gpu, fastest->profile, fastest->latency_ms.high, w->shown.latency_ms)
                      .ptr
                : arena_printf(&plan->arena, "%s: no slice of %s is large enough: it needs up to %.0f MiB, %s has %.0f",
                               w->shown.name, plan->totals.gpu, largest->memory_mib.high, largest->profile,
                               largest->usable_mib)
                      .ptr;
    int64_t batch;
    const char *profile = smaller_batch(p, &p->workloads[index], w->shown.batch, &batch);
    char target[96] = "";
    if (fastest)
        snprintf(target, sizeof target, "a target of %.4g ms on %s", ceil(fastest->latency_ms.high * 100) / 100,
                 fastest->profile);
    if (profile)
        plan->totals.nearest = arena_printf(&plan->arena, "batch %lld on %s%s%s", (long long)batch, profile,
                                            *target ? ", or " : "", target)
                                   .ptr;
    else
        plan->totals.nearest = keep(plan, target);
}

/* ---- the layout -------------------------------------------------------------------------------------------------- */

static bool pass_progress(void *context, int32_t tried, int32_t best, double seconds)
{
    const planning *p = context;
    return p->options->progress(p->options->context, (size_t)tried, (size_t)best, seconds);
}

static mig_layout lay_out(planning *p, const mig_demand *demands, double time_limit_s)
{
    mig_search_options options = {
        .time_limit_s = time_limit_s, .progress = p->options->progress ? pass_progress : NULL, .context = p};
    return mig_search(&p->plan->table, demands, (int32_t)p->count, &options, &p->plan->arena);
}

/* Suggests instances to drop so that the others fit. Each step drops an instance whose removal suffices; if there is
 * none, one with the largest slice. */
static void explain_gpus(planning *p, mig_demand *demands)
{
    sooth_mig_plan *plan = p->plan;
    enum { MOST_SEARCHES = 200 }; /* Bounds the time spent on a hint. */
    static const double QUICK_S = 0.02;
    size_t needed = (size_t)plan->layout.gpu_count, most = p->options->most_gpus;
    plan->totals.reason = arena_printf(&plan->arena, "%zu GPUs are needed%s, %zu are there", needed,
                                       plan->layout.least < plan->layout.gpu_count ? " at most" : "", most)
                              .ptr;
    plan->totals.nearest = arena_printf(&plan->arena, "%zu GPUs", needed).ptr;
    size_t *dropped = ARENA_ARRAY(&plan->arena, size_t, p->count + 1);
    int searches = 0;
    for (bool fits = false; !fits;) {
        size_t victim = 0;
        int32_t largest = -1;
        for (size_t i = 0; i < p->count && !fits; i++) {
            if (!demands[i].count)
                continue;
            demands[i].count--;
            arena_mark mark = arena_marked(&plan->arena);
            if (++searches > MOST_SEARCHES)
                return;
            fits = (size_t)lay_out(p, demands, QUICK_S).gpu_count <= most;
            arena_rewind(&plan->arena, mark);
            demands[i].count++;
            int32_t size = plan->table.profiles[__builtin_ctz(demands[i].profiles)].size;
            if (fits || size > largest) {
                largest = size;
                victim = i;
            }
        }
        demands[victim].count--;
        dropped[victim]++;
    }
    str list = {"", 0};
    for (size_t i = 0; i < p->count; i++)
        if (dropped[i])
            list = arena_printf(&plan->arena, "%s%s%zu of %s", list.ptr, list.len ? ", " : "", dropped[i],
                                plan->workloads[i].shown.name);
    plan->totals.nearest = arena_printf(&plan->arena, "%zu GPUs, or without %s", needed, list.ptr).ptr;
}

static void plan_layout(planning *p)
{
    sooth_mig_plan *plan = p->plan;
    mig_demand *demands = ARENA_ARRAY(&plan->arena, mig_demand, p->count + 1);
    for (size_t i = 0; i < p->count; i++)
        demands[i] = (mig_demand){plan->workloads[i].acceptable, (int32_t)plan->workloads[i].shown.count};
    plan->layout = lay_out(p, demands, p->options->time_limit_s);
    plan->totals.gpu_count = (size_t)plan->layout.gpu_count;
    plan->totals.least_gpus = (size_t)plan->layout.least;
    plan->totals.is_possible = true;
    if (p->options->most_gpus && plan->totals.gpu_count > p->options->most_gpus) {
        plan->totals.is_possible = false;
        explain_gpus(p, demands);
    }
}

/* ---- a plan ------------------------------------------------------------------------------------------------------ */

static void check(const planning *p)
{
    fail *f = &p->plan->fail;
    size_t instances = 0;
    if (!p->count || p->count > MIG_MAX_DEMANDS)
        fail_with(f, SOOTH_ERROR_USAGE, "a plan takes 1 to %d workloads, not %zu", MIG_MAX_DEMANDS, p->count);
    if (!p->gpu->slices)
        fail_with(f, SOOTH_ERROR_USAGE, "%.*s has no slices (MIG)", STR_ARG(p->gpu->texts[DEVICE_NAME]));
    for (size_t i = 0; i < p->count; i++) {
        size_t count = p->workloads[i].count ? p->workloads[i].count : 1;
        instances = count > MIG_MAX_INSTANCES ? SIZE_MAX / 2 : instances + count;
        if (instances > MIG_MAX_INSTANCES)
            fail_with(f, SOOTH_ERROR_USAGE, "a plan takes at most %d instances", MIG_MAX_INSTANCES);
    }
}

static void copy_table(sooth_mig_plan *plan, const mig_table *from)
{
    plan->table = *from;
    for (int32_t i = 0; i < from->profile_count; i++) {
        plan->table.profiles[i].name = arena_str(&plan->arena, from->profiles[i].name);
        plan->table.profiles[i].origin = arena_str(&plan->arena, from->profiles[i].origin);
    }
}

/* A separate function, because after longjmp() local variables of the function that called setjmp() are undefined. */
static sooth_status make(planning *p)
{
    sooth_mig_plan *plan = p->plan;
    if (setjmp(plan->fail.jump))
        return plan->fail.error->code;
    check(p);
    copy_table(plan, p->gpu->slices);
    plan->workloads = ARENA_ARRAY(&plan->arena, planned_workload, p->count);
    plan->totals = (sooth_mig_plan_totals){.gpu = arena_str(&plan->arena, p->gpu->texts[DEVICE_NAME]).ptr,
                                           .workload_count = p->count,
                                           .slots = plan->table.slots,
                                           .reason = "",
                                           .nearest = "",
                                           .weights = ""};
    for (size_t i = 0; i < p->count; i++)
        plan_workload(p, i);
    for (size_t i = 0; i < p->count; i++)
        if (!plan->workloads[i].acceptable) {
            explain_workload(p, i);
            return SOOTH_ANSWER_NO;
        }
    plan_layout(p);
    return plan->totals.is_possible ? SOOTH_OK : SOOTH_ANSWER_NO;
}

static sooth_status make_plan(planning *p, sooth_mig_plan **result, sooth_error *e)
{
    sooth_mig_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        error_say(e, SOOTH_ERROR_SYSTEM, "out of memory");
        return e->code;
    }
    p->plan = plan;
    plan->fail.error = e;
    arena_init(&plan->arena, &plan->fail, ARENA_CAP);
    sooth_status status = make(p);
    plan->fail.error = NULL;
    if (status != SOOTH_OK && status != SOOTH_ANSWER_NO) {
        sooth_mig_plan_free(plan);
        return status;
    }
    if (status == SOOTH_ANSWER_NO) {
        error_say(e, status, plan->totals.reason);
    }
    *result = plan;
    return status;
}

sooth_status sooth_mig_plan_make(const sooth_mig_workload *workloads, size_t count, const sooth_mig_options *options,
                                 sooth_mig_plan **plan, sooth_error *error)
{
    static const sooth_mig_options NO_OPTIONS = {0};
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *plan = NULL;
    planning p = {.workloads = workloads, .count = count, .options = options ? options : &NO_OPTIONS};
    p.gpu = p.options->device;
    if (p.gpu)
        return make_plan(&p, plan, e);
    sooth_gpus *gpus;
    if (sooth_gpus_open(NULL, &gpus, e) != SOOTH_OK)
        return e->code;
    const char *name = p.options->gpu && *p.options->gpu ? p.options->gpu : DEFAULT_GPU;
    sooth_status status = sooth_gpus_find(gpus, name, &p.gpu, e);
    if (status == SOOTH_OK)
        status = make_plan(&p, plan, e);
    sooth_gpus_free(gpus);
    return status;
}

void sooth_mig_plan_free(sooth_mig_plan *plan)
{
    if (!plan)
        return;
    arena_free(&plan->arena);
    free(plan);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

sooth_mig_plan_totals sooth_mig_plan_totals_of(const sooth_mig_plan *plan)
{
    return plan->totals;
}

sooth_mig_planned sooth_mig_planned_at(const sooth_mig_plan *plan, size_t workload)
{
    return workload < plan->totals.workload_count ? plan->workloads[workload].shown
                                                  : (sooth_mig_planned){.name = "",
                                                                        .precision = "",
                                                                        .layout = "",
                                                                        .runtime = "",
                                                                        .mode = "",
                                                                        .profile = "",
                                                                        .dippm_profile = ""};
}

sooth_mig_candidate sooth_mig_candidate_at(const sooth_mig_plan *plan, size_t workload, size_t index)
{
    return index < sooth_mig_planned_at(plan, workload).candidate_count
               ? plan->workloads[workload].candidates[index]
               : (sooth_mig_candidate){.profile = "", .reason = ""};
}

const char *sooth_mig_note(const sooth_mig_plan *plan, size_t workload, size_t index)
{
    if (workload >= plan->totals.workload_count || index >= (size_t)plan->workloads[workload].notes.count)
        return NULL;
    return plan->workloads[workload].notes.items[index];
}

size_t sooth_mig_placed_count(const sooth_mig_plan *plan, size_t gpu)
{
    return gpu < plan->totals.gpu_count ? (size_t)plan->layout.gpus[gpu].count : 0;
}

sooth_mig_placed sooth_mig_placed_at(const sooth_mig_plan *plan, size_t gpu, size_t index)
{
    if (index >= sooth_mig_placed_count(plan, gpu))
        return (sooth_mig_placed){.workload = SIZE_MAX, .profile = ""};
    const mig_slice *s = &plan->layout.gpus[gpu].slices[index];
    const mig_profile *p = &plan->table.profiles[s->profile];
    return (sooth_mig_placed){(size_t)s->demand, p->name.ptr, s->start, p->size};
}
