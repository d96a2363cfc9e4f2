/* predict.c: predicts the time of a program: the distinct kernels of each group through its network, then the host,
 * then the interval. */
#include "base/nearest.h"
#include "predict/limits.h"
#include "predict/relatives.h"
#include "predict/slice.h"
#include "predict/weights.h"

#include <math.h>

/* ---- physics alone ----------------------------------------------------------------------------------------------- */

/* Without weights: minimum time of a kernel, and host time of a launch and of a view. */
static const double LEAST_US = 1.5, LAUNCH_US = 5, VIEW_US = 2;

/* Time to launch a captured graph; assumed. */
static const double GRAPH_US = 10;

typedef struct work_time {
    double device_us, compute_us, memory_us, fixed_us; /* The last three sum to the first. */
    double least_us;                                   /* physical floor */
    ideal_time ideal;
    algorithm algorithm; /* `blocks` is 0 until it is computed. */
    double share_ms;     /* Share of one run in the latency. */
} work_time;

static void time_by_physics(work_time *t)
{
    double longest = fmax(t->ideal.compute_us, t->ideal.memory_us);
    t->device_us = fmax(longest, LEAST_US);
    t->fixed_us = t->device_us - longest;
    t->compute_us = t->ideal.compute_us >= t->ideal.memory_us ? longest : 0;
    t->memory_us = longest - t->compute_us;
    t->algorithm.blocks = 0;
}

static void scale_time(work_time *t, double factor)
{
    t->compute_us *= factor;
    t->memory_us *= factor;
    t->fixed_us *= factor;
    t->device_us *= factor;
}

/* ---- what was learned -------------------------------------------------------------------------------------------- */

/* Size of `room` in time_group(). */
static size_t group_floats(work_group g, size_t count)
{
    return net_pass_floats(g, count) + net_group_shape(g).first;
}

/* Indices of the stack and the GPU in the network's embeddings. */
typedef struct runner {
    int stack, unknown_stack, gpu;
    bool is_measured; /* Networks were measured in this setting. */
} runner;

/* New GPUs use parameters of their own, with stacks merged by major version. */
static int stack_on(const weights_view *v, int stack, int gpu)
{
    return gpu == UNKNOWN ? net_stack_major(v->net.stacks, v->net.stack_count, stack) : stack;
}

/* Lists the columns that are nonzero in some row; returns their number. */
static size_t pick_columns(const float *rows, size_t count, uint16_t picks[KERNEL_WIDTH])
{
    uint32_t bits[KERNEL_WIDTH] = {0};
    for (size_t i = 0; i < count; i++, rows += KERNEL_WIDTH)
        for (size_t k = 0; k < KERNEL_WIDTH; k++) {
            uint32_t of_row;
            memcpy(&of_row, rows + k, sizeof of_row);
            bits[k] |= of_row;
        }
    size_t picked = 0;
    for (int k = 0; k < KERNEL_WIDTH; k++) {
        picks[picked] = (uint16_t)k;
        picked += (bits[k] << 1) != 0; /* Ignores the sign, so that -0 counts as zero. */
    }
    return picked;
}

/* Inputs for the prediction of a section: the kernels of one group on one unit. */
typedef struct section {
    const weights_view *v;
    const work_list *list;
    const int32_t *order; /* [count] indices of works */
    size_t count;
    work_group group;
    runner who;
    double pass_bytes;
    int32_t *places;             /* [work]: its position in the section */
    const work_time *algorithms; /* [work] */
    float *room;
} section;

/* Computes times[0 … count) of a section. The weights of `gpu` give the efficiencies, with the features of `like`;
 * the roofline is that of `floors`. */
static void time_like(const section *s, int gpu, const device_view *like, const device_view *floors, work_time *times)
{
    const weights_view *v = s->v;
    work_group g = s->group;
    size_t units = net_group_shape(g).first, count = s->count;
    const net *n = gpu == UNKNOWN ? &v->new_gpu : &v->net;
    float *room = s->room;
    net_pass pass = net_pass_at(n, g, count, room + units);
    int stack = stack_on(v, net_stack_in(n, s->who.stack, s->who.unknown_stack, g), gpu);
    const forest *trees = gpu == UNKNOWN ? NULL : forest_find(&v->forests, g, gpu, stack);
    net_bias_of(n, g, stack, gpu, room);
    pass.first_bias = room;
    pass.width = KERNEL_WIDTH;
    for (size_t i = 0; i < count; i++) {
        const work *w = &s->list->items[s->order[i]];
        float *input = pass.input + i * KERNEL_WIDTH;
        s->places[s->order[i]] = (int32_t)i;
        times[i].ideal = ideal_of(w, floors);
        times[i].algorithm = s->algorithms[s->order[i]].algorithm;
        if (w->like != s->order[i]) { /* An earlier work has the same features, except for cache reuse. */
            memcpy(input, pass.input + (size_t)s->places[w->like] * KERNEL_WIDTH, KERNEL_WIDTH * sizeof *input);
            features_set_reuse(w, like, input);
            net_clamp(n, g, input);
            continue;
        }
        ideal_time of_like = like == floors ? times[i].ideal : ideal_of(w, like);
        features_of(w, like, &of_like, input);
        net_clamp(n, g, input);
        int op = net_op(n, w->op);
        memcpy(input + FEATURE_COUNT, n->params + n->at.ops + (size_t)op * OP_WIDTH, OP_WIDTH * sizeof *input);
    }
    uint16_t picks[KERNEL_WIDTH];
    pass.pick_count = pick_columns(pass.input, count, picks);
    pass.picks = picks;
    net_forward(n, g, &pass);
    const head_bounds most = net_bounds(g);
    for (size_t i = 0; i < count; i++) {
        work_time *t = &times[i];
        const work *w = &s->list->items[s->order[i]];
        const float *heads = pass.heads + i * HEADS;
        t->compute_us = t->ideal.steady_us * (double)net_factor(heads[HEAD_COMPUTE], most.compute);
        t->memory_us = t->ideal.memory_us * (double)net_factor(heads[HEAD_MEMORY], most.memory);
        t->fixed_us = net_fixed_us(heads[HEAD_FIXED], most.fixed_us);
        t->device_us = t->compute_us + t->memory_us + t->fixed_us;
        if (trees)
            scale_time(t, exp((double)forest_correction(&v->forests, trees, pass.input + i * KERNEL_WIDTH, stack,
                                                        net_op(n, w->op))));
        double down = limits_most_us(w, &t->ideal, gpu != UNKNOWN) / t->device_us;
        if (down < 1)
            scale_time(t, down);
    }
}

/* Operators of a section; equal ones mostly follow each other. */
static size_t list_ops(const section *s, int16_t *ops)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        int16_t op = s->list->items[s->order[i]].op;
        if (count == 0 || ops[count - 1] != op)
            ops[count++] = op;
    }
    return count;
}

/* Longest chain of relatives of relatives. */
enum { MOST_STEPS = 2 };

/* Predicts a section on a GPU without measurements of its kind. Kin gives the efficiencies, otherwise the parameters
 * for new GPUs do. GPUs that are worse or better in every number bound the time of each kernel. */
static void time_new(const section *s, work_unit unit, const device_view *view, int steps, work_time *times, arena *a)
{
    const net *n = &s->v->net;
    int16_t *ops = arena_room(a, s->count, sizeof *ops);
    relatives r = relatives_of(n, view, s->group, unit, ops, list_ops(s, ops));
    const device_view kin = view_unpack(n->gpu_numbers + (size_t)r.kin * VIEW_NUMBERS, view->allows_tf32);
    time_like(s, r.kin, r.kin == UNKNOWN ? view : &kin, view, times);
    int sides[2 + MOST_BELOW] = {steps > 0 ? UNKNOWN : r.above, r.near};
    memcpy(sides + 2, r.below, sizeof r.below);
    work_time *other = arena_room(a, s->count, sizeof *other);
    for (int side = 0; side < 2 + MOST_BELOW; side++) {
        if (sides[side] == UNKNOWN || sides[side] == r.kin)
            continue;
        const device_view v = view_unpack(n->gpu_numbers + (size_t)sides[side] * VIEW_NUMBERS, view->allows_tf32);
        if (side != 1)
            time_like(s, sides[side], &v, &v, other);
        else if (steps < MOST_STEPS)
            time_new(s, unit, &v, steps + 1, other, a);
        else
            continue;
        for (size_t i = 0; i < s->count; i++) {
            double ratio = other[i].device_us / times[i].device_us;
            if (side == 0 ? ratio > 1 : ratio < 1)
                scale_time(&times[i], ratio);
        }
    }
}

static void time_section(const section *s, work_unit unit, bool is_known, const device_view *view, work_time *times,
                         arena *a)
{
    arena_mark mark = arena_marked(a);
    work_time *own = arena_room(a, s->count, sizeof *own);
    if (is_known)
        time_like(s, s->who.gpu, view, view, own);
    else
        time_new(s, unit, view, 0, own, a);
    for (size_t i = 0; i < s->count; i++) {
        work_time *t = &times[s->order[i]];
        t->device_us = own[i].device_us;
        t->compute_us = own[i].compute_us;
        t->memory_us = own[i].memory_us;
        t->fixed_us = own[i].fixed_us;
    }
    arena_rewind(a, mark);
}

/* Winograd's algorithm multiplies less than the counted FLOPs. */
static bool is_winograd(const work *w, const algorithm *chosen)
{
    return w->product_dtype == DT_FLOAT32 && chosen->blocks > 0 && chosen->name &&
           strncmp(chosen->name, "Winograd", strlen("Winograd")) == 0;
}

/* Raises kernels to their physical lower bounds. Where networks were measured, their sums are known better than the
 * parts: the other kernels become shorter by the same total, but not below their own bounds. */
static void keep_floors(const work_list *list, const device_view *view, double pass_bytes, bool is_measured,
                        work_time *times)
{
    double missing_us = 0, spare_us = 0;
    for (int32_t i = 0; i < list->count; i++) {
        times[i].least_us = limits_least_us(&list->items[i], &times[i].ideal, view, pass_bytes,
                                            is_winograd(&list->items[i], &times[i].algorithm));
        double above = times[i].device_us - times[i].least_us;
        *(above < 0 ? &missing_us : &spare_us) += fabs(above) * list->items[i].count;
    }
    if (!(missing_us > 0))
        return;
    double kept = !is_measured ? 1 : spare_us > missing_us ? 1 - missing_us / spare_us : 0;
    for (int32_t i = 0; i < list->count; i++) {
        double least = times[i].least_us;
        scale_time(&times[i], (least + fmax(times[i].device_us - least, 0) * kept) / times[i].device_us);
    }
}

static void time_by_weights(const weights_view *v, const work_list *list, runner who, const device_view *view,
                            work_time *times, arena *a)
{
    enum { SECTIONS = WORK_GROUP_COUNT * WORK_UNITS * 2 }; /* [group][unit][known GPU] */
    int32_t first[SECTIONS + 1] = {0}, next[SECTIONS];
    uint8_t *sections = arena_room(a, (size_t)list->count + 1, 1);
    for (int32_t i = 0; i < list->count; i++) {
        const work *w = &list->items[i];
        work_unit unit = unit_of(w, view);
        sections[i] = (uint8_t)(((int)w->group * WORK_UNITS + (int)unit) * 2 +
                                (int)net_gpu_ran(&v->net, who.gpu, w->group, unit, w->op));
        first[sections[i] + 1]++;
    }
    for (int k = 0; k < SECTIONS; k++) {
        next[k] = first[k];
        first[k + 1] += first[k];
    }
    int32_t *order = arena_room(a, (size_t)list->count + 1, sizeof *order);
    int32_t *places = arena_room(a, (size_t)list->count + 1, sizeof *places);
    for (int32_t i = 0; i < list->count; i++)
        order[next[sections[i]]++] = i;
    size_t most = 0; /* All sections share one buffer, which stays in the cache. */
    for (int k = 0; k < SECTIONS; k++) {
        size_t floats = group_floats((work_group)(k / 2 / WORK_UNITS), (size_t)(first[k + 1] - first[k]));
        most = floats > most ? floats : most;
    }
    float *room = arena_room(a, most, sizeof *room);
    double pass_bytes = 0;
    for (int32_t i = 0; i < list->count; i++)
        pass_bytes += list->items[i].bytes * list->items[i].count;
    for (int k = 0; k < SECTIONS; k++) {
        section s = {.v = v,
                     .list = list,
                     .order = order + first[k],
                     .count = (size_t)(first[k + 1] - first[k]),
                     .group = (work_group)(k / 2 / WORK_UNITS),
                     .who = who,
                     .pass_bytes = pass_bytes,
                     .places = places,
                     .algorithms = times,
                     .room = room};
        if (s.count > 0)
            time_section(&s, (work_unit)(k / 2 % WORK_UNITS), k % 2, view, times, a);
    }
    keep_floors(list, view, pass_bytes, who.is_measured, times);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

/* Time of a program from kernels and launches. */
typedef struct joint_time {
    double device_ms, host_ms, fixed_ms;
    double waiting_ms; /* Time in which the GPU waits for the host. */
    double latency_ms;
} joint_time;

static void join(joint_time *j)
{
    double joint = net_smooth_max(j->device_ms, j->host_ms);
    j->latency_ms = joint + j->fixed_ms;
    j->waiting_ms = joint - j->device_ms;
}

/* Shortens kernels in proportion to their time above the physical floors. */
void prediction_limit(prediction *p, const prediction *other)
{
    double least_ms = p->least_ms, device = fmin(p->device_ms, fmax(other->device_ms, least_ms));
    double host = fmin(p->host_ms, other->host_ms);
    double fixed = fmin(p->fixed_ms, other->fixed_ms);
    joint_time j = {.device_ms = device, .host_ms = host, .fixed_ms = fixed};
    join(&j);
    if (!(j.latency_ms < p->latency_ms))
        return;
    double waited = p->latency_ms - p->device_ms, waits = j.latency_ms - device;
    double above_ms = p->device_ms - least_ms;
    double kept = above_ms > 0 ? (device - least_ms) / above_ms : 1, of_wait = waited > 0 ? waits / waited : 1;
    for (int32_t i = 0; i < p->kernel_count; i++) {
        kernel_time *t = &p->kernels[i];
        double least_us = fmin(t->figures->least_us, t->device_us);
        double wait_ms = t->share_ms - t->device_us * t->runs / 1e3;
        t->device_us = least_us + (t->device_us - least_us) * kept;
        t->share_ms = t->device_us * t->runs / 1e3 + wait_ms * of_wait;
    }
    for (int32_t i = 0; i < p->figures_count && p->host_ms > 0; i++)
        p->figures[i].host_us *= host / p->host_ms;
    double shrinks = j.latency_ms / p->latency_ms;
    p->latency_ms = j.latency_ms;
    p->low_ms = fmax(p->low_ms * shrinks, fmin(least_ms, j.latency_ms));
    p->high_ms *= shrinks;
    p->device_ms = device;
    p->host_ms = host;
    p->fixed_ms = fixed;
}

double predict_joint_ms(double device_ms, double host_ms)
{
    joint_time j = {.device_ms = device_ms, .host_ms = host_ms};
    join(&j);
    return j.latency_ms;
}

/* Launch-bound: mostly fixed time. Otherwise the longer side of the roofline decides. Near the ridge, where FLOPs
 * take at most eight times as long as bytes and bytes at most twice as long as FLOPs, the longer predicted part
 * decides. */
static kernel_bound bound_of(const work *w, const work_time *t)
{
    if (t->fixed_us > t->compute_us + t->memory_us)
        return BOUND_LAUNCH;
    double flops_us = w->flops / t->ideal.peak_flops * 1e6, bytes_us = t->ideal.memory_us;
    bool is_clear = flops_us > 8 * bytes_us || bytes_us > 2 * flops_us;
    return (is_clear ? flops_us > bytes_us : t->compute_us > t->memory_us) ? BOUND_COMPUTE : BOUND_MEMORY;
}

/* Host time of one run. A library launches its kernels one after another, without the framework in between; DeepBench's
 * shortest recurrent steps need about 2.5 us for each of their kernels. */
static double host_us_of(const work *w, const double *host_us)
{
    const double library_us = 2.5, own_us = host_us[w->group];
    double share = w->count > 0 ? w->library_count / w->count : 0;
    return own_us + share * (fmin(library_us, own_us) - own_us);
}

static kernel_figures figures_of_work(const work *w, const work_time *from, const device_view *view, double host_us)
{
    const algorithm *chosen = &from->algorithm;
    kernel_figures f = {
        .host_us = host_us,
        .compute_us = from->ideal.compute_us,
        .memory_us = from->ideal.memory_us,
        .peak_flops = from->ideal.peak_flops,
        .least_us = from->least_us,
        .traffic_bytes = limits_traffic(w, view),
        .algorithm = chosen->name,
        .reason = chosen->reason,
        .tile_m = chosen->tile_m,
        .tile_n = chosen->tile_n,
        .uses_tensor_cores = chosen->uses_tensor_cores,
        .blocks = chosen->blocks,
        .waves = chosen->waves,
        .wave_efficiency = chosen->wave_efficiency,
        .occupancy = chosen->occupancy,
        .bound = bound_of(w, from),
    };
    for (int i = 0; i < 4; i++)
        f.gemm[i] = w->gemm[i] < 9e18 ? (int64_t)w->gemm[i] : (int64_t)9e18;
    return f;
}

/* Kernels that differ only in cache reuse have the same launch, which is computed for the first of them. */
static void choose_algorithms(const program *p, const work_list *list, const device_view *view, work_time *times)
{
    for (int32_t i = 0; i < p->kernels.count; i++) {
        int32_t of = list->of_kernel[i];
        if (of < 0 || times[of].algorithm.blocks > 0)
            continue;
        const algorithm *alike = &times[list->items[of].like].algorithm;
        times[of].algorithm = alike->blocks > 0 ? *alike : algorithm_of(&list->items[of], &p->kernels.items[i], view);
    }
}

/* ---- slices ------------------------------------------------------------------------------------------------------ */

/* Computes figures indexed by distinct kernel; selects algorithms. */
static slice_term *slice_terms(const program *p, const work_list *list, const device_view *view, const work_time *times,
                               arena *a)
{
    slice_term *terms = arena_room(a, (size_t)list->count + 1, sizeof *terms);
    bool *is_backward = ARENA_ARRAY(a, bool, (size_t)list->count + 1);
    /* The first kernel of a work counts, so the loop runs backwards. */
    for (int32_t i = p->kernels.count - 1; i >= 0; i--)
        if (list->of_kernel[i] >= 0)
            is_backward[list->of_kernel[i]] = p->kernels.items[i].phase == PHASE_BACKWARD;
    for (int32_t i = 0; i < list->count; i++) {
        const work *w = &list->items[i];
        bool is_plain = w->product_dtype == DT_FLOAT32 && !(view->allows_tf32 && view->peak_tf32 > view->peak_fp32);
        terms[i] = slice_term_of(w, &times[i].ideal, times[i].algorithm.waves, is_backward[i], !is_plain);
    }
    return terms;
}

slice_program slice_program_of(const program *p, const setting *where, arena *a)
{
    work_list list = work_of_program(p, a);
    device_view view = view_device(where);
    work_time *times = ARENA_ARRAY(a, work_time, (size_t)list.count + 1);
    for (int32_t i = 0; i < list.count; i++)
        times[i].ideal = ideal_of(&list.items[i], &view);
    choose_algorithms(p, &list, &view, times);
    return (slice_program){slice_terms(p, &list, &view, times, a), list.count, slice_launches_of(p, &list)};
}

/* Scales the networks' time for the whole GPU to a slice: for long kernels by the ratio that the constants give, for
 * short ones by the difference in microseconds. */
static double carried_us(double whole_us, double expected_whole_us, double expected_us)
{
    static const double SHORT_US = 20;
    double level = (whole_us + SHORT_US) / (expected_whole_us + SHORT_US);
    return fmax(whole_us + (expected_us - expected_whole_us) * level, whole_us);
}

typedef struct slice_setting {
    const setting *where;
    slice_constants constants;
    bool is_measured;
    double launch_us; /* Host time of a launch on this stack; NAN if not measured. */
} slice_setting;

static void time_slice(const slice_setting *slice, const weights_view *v, const program *p, const work_list *list,
                       runner who, const device_view *view, work_time *times, arena *a)
{
    setting whole_setting = *slice->where;
    whole_setting.device = slice->where->device->whole;
    device_view whole_view = view_device(&whole_setting);
    work_time *whole = ARENA_ARRAY(a, work_time, (size_t)list->count + 1);
    for (int32_t i = 0; i < list->count; i++)
        whole[i].ideal = ideal_of(&list->items[i], &whole_view);
    choose_algorithms(p, list, &whole_view, whole);
    time_by_weights(v, list, who, &whole_view, whole, a);
    choose_algorithms(p, list, view, times);
    slice_term *terms = slice_terms(p, list, view, times, a);
    slice_term *whole_terms = slice_terms(p, list, &whole_view, whole, a);
    for (int32_t i = 0; i < list->count; i++) {
        work_time *t = &times[i];
        slice_time expected = slice_time_of(&terms[i], &slice->constants);
        double expected_us = slice_total(expected);
        t->device_us = slice->is_measured
                           ? expected_us
                           : carried_us(whole[i].device_us,
                                        slice_total(slice_time_of(&whole_terms[i], &slice->constants)), expected_us);
        t->compute_us = expected.compute_us / expected_us * t->device_us;
        t->memory_us = expected.memory_us / expected_us * t->device_us;
        t->fixed_us = expected.fixed_us / expected_us * t->device_us;
    }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Lists the three stacks of the runtime with names nearest to `asked`. */
static str nearest_stacks(const net *n, str asked, int runtime, arena *a)
{
    enum { MOST = 3 };
    struct {
        int stack;
        unsigned steps;
    } near[MOST + 1]; /* Sorted by distance; the extra place is for the candidate that drops out. */
    int count = 0;
    for (int i = UNKNOWN_STACKS; i < n->stack_count; i++) {
        if (net_stack_find(n, n->stacks[i], UNKNOWN, runtime) != i)
            continue;
        str name = n->stacks[i], version = {name.ptr, 0}; /* Returns "pt2.4" for "pt2.4-cu124". */
        while (version.len < name.len && name.ptr[version.len] != '-')
            version.len++;
        unsigned steps = nearest_distance(asked, name), version_steps = nearest_distance(asked, version);
        steps = steps < version_steps ? steps : version_steps;
        int at = count < MOST ? count++ : MOST;
        for (; at > 0 && steps < near[at - 1].steps; at--)
            near[at] = near[at - 1];
        near[at].stack = i;
        near[at].steps = steps;
    }
    str list = {"", 0};
    for (int i = 0; i < count; i++)
        list = arena_printf(a, "%s%s%.*s", list.ptr, i ? i + 1 == count ? " or " : ", " : "",
                            STR_ARG(n->stacks[near[i].stack]));
    return list;
}

/* Returns a note if the software version was not measured, else NULL. */
static const char *stack_note(const net *n, str asked, int used, int runtime, arena *a)
{
    if (!asked.len || str_is(asked, "unknown") || str_eq(n->stacks[used], asked))
        return NULL;
    str shown = {asked.ptr, asked.len < 60 ? asked.len : 60};
    if (used >= UNKNOWN_STACKS)
        return arena_printf(a,
                            "The stack '%.*s' was not measured in this runtime; the nearest version, %.*s, is used "
                            "instead.",
                            STR_ARG(shown), STR_ARG(n->stacks[used]))
            .ptr;
    return arena_printf(a, "The stack '%.*s' is unknown in this runtime and ignored. The nearest known names are %s.",
                        STR_ARG(shown), nearest_stacks(n, asked, runtime, a).ptr)
        .ptr;
}

/* True if the host of the GPU's measurements launches the kernels. Otherwise the reference host does, so that GPUs
 * are compared on one host. A named stack keeps the host of its measurements. */
static bool launches_on_own_host(const setting *where, int stack)
{
    return where->on_own_host || where->on_measured_host || (stack >= UNKNOWN_STACKS && !(where->launch_share > 0));
}

/* A program whose kernels get their times. */
typedef struct timing {
    const program *program;
    const work_list *list;
    const setting *where;
    arena *arena;
    device_view view;
    bool has_weights; /* `weights` is open; otherwise physics alone predicts. */
    weights_view weights;
    runner who;
    slice_setting slice; /* `where` is NULL for a whole GPU. */
    work_time *times;    /* One per distinct kernel. */
    double host_us[WORK_GROUP_COUNT];
    joint_time joint;
    double launches;
    /* Sums over the kernels, in microseconds of predicted and of ideal time. */
    double unknown_us;
    interval_sums sums;
    uint32_t groups; /* bit per group that has kernels */
} timing;

static void begin_by_physics(timing *t)
{
    t->view = view_device(t->where);
    t->times = arena_room(t->arena, (size_t)t->list->count + 1, sizeof *t->times);
    for (int32_t i = 0; i < t->list->count; i++) {
        t->times[i].ideal = ideal_of(&t->list->items[i], &t->view);
        t->times[i].least_us = 0;
        time_by_physics(&t->times[i]);
    }
    for (int g = 0; g < WORK_GROUP_COUNT; g++)
        t->host_us[g] = LAUNCH_US;
}

/* Finds the stack and the GPU in the weights, and sets the launch times of their host. */
static void find_runner(timing *t)
{
    const setting *where = t->where;
    const net *known = &t->weights.net;
    t->who.stack = net_stack_find(known, where->stack, t->who.unknown_stack,
                                  where->is_operator ? ANY_RUNTIME : (int)where->lower.runtime);
    t->who.is_measured = where->on_own_host || t->who.stack >= UNKNOWN_STACKS;
    t->who.gpu = where->device->is_other ? UNKNOWN : net_gpu_find(known, where->device->texts[DEVICE_NAME]);
    /* The unknown GPU's host is the mean of all measured ones, the reference host. */
    int host_gpu = launches_on_own_host(where, t->who.stack) ? net_host_gpu(known, t->who.gpu) : UNKNOWN;
    const net *host = host_gpu == UNKNOWN ? &t->weights.new_gpu : known;
    const float *w = host->params;
    int host_stack = stack_on(&t->weights, t->who.stack, host_gpu);
    double each =
        where->is_operator || !net_has_host(host, t->who.stack) ? 0 : net_launch_us(host, host_stack, host_gpu);
    t->joint.fixed_ms = exp((double)w[host->at.stack_fixed + (size_t)host_stack]) / 1e3;
    for (int g = 0; g < WORK_GROUP_COUNT; g++)
        t->host_us[g] = each * exp((double)w[host->at.group_host + (size_t)g]);
}

/* FlashAttention's backward pass has 2.5 times the FLOPs of its forward pass, at no less than 5/8 of its rate (Dao,
 * "FlashAttention-2", arXiv:2307.08691, figures 4 to 6). This bounds it on GPUs where it was not measured. */
static void limit_flash_backward(timing *t)
{
    const kernel *kernels = t->program->kernels.items;
    const double flops = 2.5, most = 4;
    int32_t last = -1; /* Work of the last backward pass, because layers repeat. */
    for (int32_t i = 0; i < t->program->kernels.count && !t->who.is_measured; i++) {
        int32_t of = t->list->of_kernel[i];
        bool is_new = of >= 0 && of != last && kernel_is(&kernels[i], "_scaled_dot_product_flash_attention_backward");
        last = is_new ? of : last;
        for (int32_t j = 0; j < i && is_new; j++) {
            int32_t forward = t->list->of_kernel[j];
            is_new = forward < 0 || !kernel_is(&kernels[j], "_scaled_dot_product_flash_attention") ||
                     fabs(t->list->items[of].macs / t->list->items[forward].macs - flops) > 0.01;
            if (!is_new && t->times[of].device_us > most * t->times[forward].device_us)
                scale_time(&t->times[of], most * t->times[forward].device_us / t->times[of].device_us);
        }
    }
}

static void time_by_learning(timing *t)
{
    if (!t->where->device->whole) {
        choose_algorithms(t->program, t->list, &t->view, t->times);
        time_by_weights(&t->weights, t->list, t->who, &t->view, t->times, t->arena);
        limit_flash_backward(t);
        return;
    }
    t->slice = (slice_setting){.where = t->where, .is_measured = slice_is_measured(t->where)};
    slice_read_shipped(&t->slice.constants, t->arena->fail);
    t->slice.launch_us = slice_launch_us(&t->slice.constants, t->where->stack);
    time_slice(&t->slice, &t->weights, t->program, t->list, t->who, &t->view, t->times, t->arena);
}

/* Applies CUDA graphs and the share of launches that the host of the setting takes. */
static void shorten_launches(timing *t)
{
    const setting *where = t->where;
    double share = where->has_graph ? 0 : where->launch_share > 0 ? where->launch_share : 1;
    for (int g = 0; g < WORK_GROUP_COUNT; g++)
        t->host_us[g] *= share;
    if (where->has_graph)
        t->joint.fixed_ms = fmin(t->joint.fixed_ms, GRAPH_US / 1e3);
}

static void sum_kernels(timing *t)
{
    for (int32_t i = 0; i < t->list->count; i++) {
        const work *w = &t->list->items[i];
        double all_us = t->times[i].device_us * w->count;
        t->joint.device_ms += all_us / 1e3;
        t->joint.host_ms += host_us_of(w, t->host_us) * w->count / 1e3;
        t->launches += w->count;
        t->groups |= 1u << w->group;
        t->unknown_us += w->is_unknown ? all_us : 0;
        double ideal_us = ideal_total(&t->times[i].ideal) * w->count;
        t->sums.ideal_us += ideal_us;
        t->sums.us[w->group] += all_us;
        if (t->has_weights && (w->is_unknown || !number_list_has(&t->weights.seen, w->kin))) {
            t->sums.new_us += all_us;
            t->sums.new_ideal_us += ideal_us;
        }
    }
    if (t->launches == 0) /* Nothing is launched, so there is no pass. */
        t->joint.fixed_ms = 0;
}

/* Host time as measured beside slices: all launches take the same time, because only their sum was measured. */
static void launch_as_measured(timing *t)
{
    slice_launches launched = slice_launches_of(t->program, t->list);
    joint_time *j = &t->joint;
    double host_ms = slice_host_ms(&launched, &t->slice.constants, t->slice.launch_us);
    for (int g = 0; g < WORK_GROUP_COUNT; g++)
        t->host_us[g] = j->host_ms > 0 ? t->host_us[g] * host_ms / j->host_ms : host_ms * 1e3 / t->launches;
    j->host_ms = host_ms;
    j->fixed_ms = 0;
}

/* Divides the latency among the kernels. */
static void write_kernels(timing *t, prediction *r)
{
    const work_list *list = t->list;
    const program *p = t->program;
    const joint_time *j = &t->joint;
    r->kernels = arena_room(t->arena, (size_t)p->kernels.count + 1, sizeof *r->kernels);
    choose_algorithms(t->program, list, &t->view, t->times);
    kernel_figures *figures = arena_room(t->arena, (size_t)list->count + 1, sizeof *figures);
    for (int32_t i = 0; i < list->count; i++) {
        work_time *time = &t->times[i];
        figures[i] = figures_of_work(&list->items[i], time, &t->view, host_us_of(&list->items[i], t->host_us));
        /* Latency of a kernel: its run time plus its share of the waiting, in proportion to launch time. Kernels of
         * a loop that never runs take no time. */
        time->share_ms = time->device_us / 1e3 +
                         (j->host_ms > 0 ? j->waiting_ms * figures[i].host_us / (j->host_ms * 1e3) : 0) +
                         (t->launches > 0 ? j->fixed_ms / t->launches : 0);
    }
    /* Views launch nothing; learned launch times already include preceding views. */
    figures[list->count] = (kernel_figures){.host_us = t->has_weights ? 0 : VIEW_US, .bound = BOUND_NOTHING};
    r->figures = figures;
    r->figures_count = list->count + 1;
    for (int32_t i = 0; i < p->kernels.count; i++) {
        int32_t of = list->of_kernel[i];
        double runs = (double)p->kernels.items[i].repeat;
        r->kernels[i] = of < 0 ? (kernel_time){.figures = &figures[list->count]}
                               : (kernel_time){.device_us = t->times[of].device_us,
                                               .runs = runs,
                                               .share_ms = t->times[of].share_ms * runs,
                                               .figures = &figures[of]};
    }
    r->kernel_count = p->kernels.count;
    for (int32_t i = 0; i < r->kernel_count; i++) {
        const kernel_time *k = &r->kernels[i];
        r->least_ms += fmin(k->figures->least_us, k->device_us) * k->runs / 1e3;
    }
}

/* Sums the time of kernels at the end of sequences that training did not see. */
static void sum_strange(timing *t)
{
    const program *p = t->program;
    const number_list *seen = &t->weights.chains;
    for (int32_t i = 0; i < p->kernels.count; i++) {
        int32_t of = t->list->of_kernel[i];
        if (of >= 0 && !number_list_has(seen, t->list->chains[i]))
            t->sums.strange_us += t->times[of].device_us * (double)p->kernels.items[i].repeat;
    }
}

/* Sets half the widths of the intervals of all levels, from what the weights know of the program. */
static void halves_by_weights(timing *t, prediction *r, double halves[INTERVAL_LEVELS])
{
    const weights_view *v = &t->weights;
    if (!t->where->is_operator)
        sum_strange(t);
    t->sums.host_us = t->joint.host_ms * 1e3;
    t->sums.latency_us = r->latency_ms * 1e3;
    float traits[INTERVAL_TRAITS];
    interval_traits(&t->sums, t->where, traits);
    bool gpu_known = net_gpu_known(&v->net, t->who.gpu, t->groups);
    interval_class class = interval_class_of(t->where, t->groups);
    bool graph_known = t->list->graph && number_list_has(&v->graphs, interval_print(t->list->graph, class));
    interval_graph graph = interval_graph_of(graph_known, traits);
    interval_halves(&v->intervals, class, gpu_known, graph, stack_on(v, t->who.stack, gpu_known ? t->who.gpu : UNKNOWN),
                    gpu_known ? t->who.gpu : UNKNOWN, traits, halves);
    r->interval_kind = interval_kind_name(class, gpu_known, graph);
}

static void write_interval(timing *t, prediction *r)
{
    /* Of physics alone: a factor of two at 90 %. */
    double halves[INTERVAL_LEVELS] = {0.3, 0.5, 0.69, 0.9, 1.5};
    r->interval_kind = "physics alone";
    if (t->has_weights) {
        halves_by_weights(t, r, halves);
        double whole = halves[INTERVAL_90], half = whole;
        if (t->slice.where && t->slice.is_measured) {
            half = t->slice.constants.values[SLICE_INTERVAL];
            r->interval_kind = "slices of the same chip, networks not seen";
        } else if (t->slice.where) {
            half = hypot(half, t->slice.constants.values[SLICE_INTERVAL]);
            r->interval_kind = "the whole GPU, scaled by ratios measured on A100 slices";
        }
        half += r->unknown_share;
        for (int i = 0; i < INTERVAL_LEVELS; i++)
            halves[i] *= whole > 0 ? half / whole : 0;
    }
    for (int i = 0; i < INTERVAL_LEVELS; i++)
        r->widths[i] = halves[INTERVAL_90] > 0 ? halves[i] / halves[INTERVAL_90] : 1;
    r->low_ms = fmax(r->latency_ms * exp(-halves[INTERVAL_90]), fmin(r->least_ms, r->latency_ms));
    r->high_ms = r->latency_ms * exp(halves[INTERVAL_90]);
}

prediction *predict_program(const predictor *with, const program *p, const work_list *works, const setting *where,
                            arena *a)
{
    prediction *r = ARENA_NEW(a, prediction);
    timing t = {.program = p, .list = works, .where = where, .arena = a, .has_weights = with != NULL};
    t.slice.launch_us = NAN;
    t.who = (runner){UNKNOWN, net_unknown_stack(where->lower.runtime), UNKNOWN, where->on_own_host};
    begin_by_physics(&t);
    if (with) {
        weights_open(with, &t.weights);
        find_runner(&t);
        time_by_learning(&t);
        if (isnan(t.slice.launch_us))
            r->stack_note = stack_note(&t.weights.net, where->stack, t.who.stack, (int)where->lower.runtime, a);
    }
    shorten_launches(&t);
    sum_kernels(&t);
    if (!isnan(t.slice.launch_us) && t.launches > 0)
        launch_as_measured(&t);
    join(&t.joint);
    write_kernels(&t, r);
    r->latency_ms = t.joint.latency_ms;
    r->device_ms = t.joint.device_ms;
    r->host_ms = t.joint.host_ms;
    r->fixed_ms = t.joint.fixed_ms;
    r->stack_is_measured = with && t.who.stack >= UNKNOWN_STACKS;
    r->unknown_share = r->device_ms > 0 ? t.unknown_us / (r->device_ms * 1e3) : 0;
    write_interval(&t, r);
    return r;
}
