#include "predict/answer.h"
#include "device/mig.h"
#include "predict/alternatives.h"

#include "base/names.h"
#include "graph/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *bound_name(kernel_bound bound)
{
    static const char *const NAMES[] = {
        [BOUND_COMPUTE] = "compute", [BOUND_MEMORY] = "memory", [BOUND_LAUNCH] = "launch", [BOUND_NOTHING] = "none"};
    return NAMES[bound];
}

/* ---- what would go with the model -------------------------------------------------------------------------------- */

static const char *keep(arena *a, str s)
{
    return s.len ? arena_str(a, s).ptr : "";
}

/* `places` maps an operator to its index in the list, because searching is slow in files with thousands of
 * operators. */
static void count_unknown(sooth_prediction *answer, names *places, const char *op)
{
    if (!places->arena)
        names_init(places, &answer->arena);
    int32_t place = names_get(places, str_of(op), -1);
    if (place >= 0) {
        answer->unknown.items[place].count++;
        return;
    }
    names_put(places, str_of(op), answer->unknown.count);
    unknown_operator *u = ARENA_PUSH(&answer->arena, &answer->unknown);
    *u = (unknown_operator){.op = op, .count = 1};
}

/* Returns "triton_poi_fused_add_relu". A single operator keeps its name. */
static const char *name_of(arena *a, const kernel *k)
{
    if (!k->fused_count)
        return kernel_name(k);
    size_t room = strlen(kernel_name(k)) + sizeof "_fused";
    for (int32_t i = 0; i < k->fused_count; i++)
        room += strlen(k->fused[i]) + 1;
    char *name = arena_room(a, room, 1);
    char *at = stpcpy(stpcpy(name, kernel_name(k)), "_fused");
    for (int32_t i = 0; i < k->fused_count; i++)
        at = stpcpy(stpcpy(at, "_"), k->fused[i]);
    return name;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static void name_layers(sooth_prediction *answer, sooth_model *model)
{
    const layer_names *names = lowered_names(answer->lowered, model, &answer->layer_count);
    answer->layers = arena_room(&answer->arena, (size_t)answer->layer_count, sizeof *answer->layers);
    for (int32_t i = 0; i < answer->layer_count; i++)
        answer->layers[i] = (sooth_predicted_layer){.name = names[i].name, .op = names[i].op};
}

static int64_t add(int64_t sum, int64_t each, int64_t times)
{
    int64_t more;
    if (__builtin_mul_overflow(each, times, &more) || __builtin_add_overflow(sum, more, &sum))
        return INT64_MAX;
    return sum;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : whole == 0 ? 0 : NAN;
}

/* Sums weighted by kernel time. */
typedef struct busy_means {
    double occupancy, occupancy_us, waves, waves_us, compute_us, device_us, traffic_bytes, bandwidth_b_s;
} busy_means;

static void add_kernel(sooth_prediction *answer, const kernel *k, const kernel_time *t, sooth_predicted_layer *layer,
                       busy_means *busy)
{
    sooth_prediction_totals *totals = &answer->totals;
    const kernel_figures *f = t->figures;
    double runs = (double)k->repeat, us = t->device_us * runs;
    double ideal_ms = (f->compute_us > f->memory_us ? f->compute_us : f->memory_us) * runs / 1e3;
    layer->flops = add(layer->flops, k->flops, k->repeat);
    layer->bytes = add(layer->bytes, k->bytes_read, k->repeat);
    layer->bytes = add(layer->bytes, k->bytes_written, k->repeat);
    layer->ideal_ms += ideal_ms;
    layer->device_ms += us / 1e3;
    layer->kernel_count++;
    *(f->compute_us > f->memory_us ? &totals->ideal_compute_ms : &totals->ideal_memory_ms) += ideal_ms;
    busy->occupancy += f->occupancy * us;
    busy->occupancy_us += f->occupancy > 0 ? us : 0;
    busy->waves += f->wave_efficiency * us;
    busy->waves_us += f->wave_efficiency > 0 ? us : 0;
    busy->compute_us += f->compute_us * runs;
    busy->device_us += us;
    busy->traffic_bytes += fmin(f->traffic_bytes * runs, us / 1e6 * busy->bandwidth_b_s);
}

/* Sums kernels into layers. Host time of views counts for the next kernel. */
static void sum_kernels(sooth_prediction *answer, const program *p, const prediction *times, const energy *power,
                        busy_means *busy)
{
    int32_t outside = answer->layer_count - OUTSIDE_COUNT;
    answer->kernels = arena_room(&answer->arena, (size_t)p->kernels.count, sizeof *answer->kernels);
    double(*by_bound)[BOUND_NOTHING + 1] = arena_alloc(&answer->arena, (size_t)answer->layer_count, sizeof *by_bound);
    double waiting_ms = 0;
    names unknown_places = {0};
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        const kernel_time *t = &times->kernels[i];
        if (k->flags & KERNEL_VIEW) {
            waiting_ms += t->share_ms;
            continue;
        }
        if (k->flags & KERNEL_UNKNOWN)
            count_unknown(answer, &unknown_places, kernel_name(k));
        int32_t layer = k->layer >= 0 && k->layer < outside ? k->layer : outside + k->phase;
        answer->kernels[answer->kernel_count++] =
            (launched_kernel){i, layer, name_of(&answer->arena, k), waiting_ms + t->share_ms, power->kernels_j[i]};
        add_kernel(answer, k, t, &answer->layers[layer], busy);
        double busy_ms = t->device_us * (double)k->repeat / 1e3;
        by_bound[layer][t->figures->bound] += busy_ms;
        by_bound[layer][BOUND_LAUNCH] += waiting_ms + t->share_ms - busy_ms;
        answer->layers[layer].latency_ms += waiting_ms + t->share_ms;
        answer->layers[layer].energy_j += power->kernels_j[i];
        waiting_ms = 0;
    }
    if (waiting_ms > 0 && answer->kernel_count) { /* Views after the last kernel. */
        launched_kernel *last = &answer->kernels[answer->kernel_count - 1];
        last->latency_ms += waiting_ms;
        answer->layers[last->layer].latency_ms += waiting_ms;
    }
    for (int32_t i = 0; i < answer->layer_count; i++) {
        int most = BOUND_NOTHING;
        for (int b = 0; b < BOUND_NOTHING; b++)
            if (by_bound[i][b] > by_bound[i][most])
                most = b;
        answer->layers[i].bound = bound_name((kernel_bound)most);
    }
    while (answer->layer_count > outside && !answer->layers[answer->layer_count - 1].kernel_count)
        answer->layer_count--;
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

static void add_note(sooth_prediction *answer, const char *note)
{
    *(const char **)ARENA_PUSH(&answer->arena, &answer->notes) = note;
}

/* Lists the operators without a rule and warns that their time is a guess. */
static void note_unknown(sooth_prediction *answer)
{
    enum { MOST_NAMED = 8 };
    int32_t count = answer->unknown.count;
    str names = {"", 0};
    for (int32_t i = 0; i < count && i < MOST_NAMED; i++) {
        const unknown_operator *u = &answer->unknown.items[i];
        names = arena_printf(&answer->arena, "%s%s%.60s (%zu time%s)", names.ptr, i ? ", " : "", u->op, u->count,
                             u->count == 1 ? "" : "s");
    }
    if (count > MOST_NAMED)
        names = arena_printf(&answer->arena, "%s and %d others", names.ptr, (int)(count - MOST_NAMED));
    bool one = count == 1;
    add_note(answer,
             arena_printf(&answer->arena,
                          "%d operator%s unknown: %s. %s time is a guess from the bytes read and written, and may be "
                          "far too small.",
                          (int)count, one ? " is" : "s are", names.ptr, one ? "Its" : "Their")
                 .ptr);
}

/* ---- totals ------------------------------------------------------------------------------------------------------ */

/* 16-bit networks take at most the time of fp32, because frameworks convert to fp32 on GPUs where fp16 is slower. */
static double peak_of(const device *d, lower_precision precision)
{
    static const char *const UNITS[] = {
        [PRECISION_FP32] = "fp32", [PRECISION_TF32] = "tf32",     [PRECISION_FP16] = "fp16",
        [PRECISION_BF16] = "bf16", [PRECISION_AMP_FP16] = "fp16", [PRECISION_AMP_BF16] = "bf16",
        [PRECISION_INT8] = "int8", [PRECISION_FP8] = "fp8",       [PRECISION_INT4] = "fp16",
    };
    return fmax(device_peak_flops(d, str_of(UNITS[precision])), device_peak_flops(d, STR("fp32")));
}

/* Returns the first dimension of the first input with a shape. */
static int64_t batch_of(const network *net)
{
    for (int32_t i = 0; i < net->inputs.count; i++) {
        const value *v = &net->values.items[net->inputs.items[i]];
        if (v->rank > 0)
            return num_known(v->dims[0]) && v->dims[0] > 0 ? v->dims[0] : 1;
    }
    return 1;
}

static void fill_totals(sooth_prediction *answer, const prediction *times, const setting *where, const busy_means *busy)
{
    sooth_prediction_totals *t = &answer->totals;
    t->latency_ms = (sooth_interval){times->latency_ms, times->low_ms, times->high_ms};
    t->interval_kind = keep(&answer->arena, str_of(times->interval_kind ? times->interval_kind : ""));
    t->throughput_per_s = times->latency_ms > 0 ? (double)t->batch * 1e3 / times->latency_ms : 0;
    t->device_ms = times->device_ms;
    t->host_ms = times->host_ms;
    t->unknown_share = 100 * times->unknown_share;
    t->peak_flops = peak_of(where->device, where->lower.precision);
    t->bandwidth_bytes_s = where->device->numbers[DEVICE_BANDWIDTH_GB_S] * 1e9;
    for (int32_t i = 0; i < answer->layer_count; i++) {
        sooth_predicted_layer *l = &answer->layers[i];
        l->compute_share = percent((double)l->flops, l->latency_ms / 1e3 * t->peak_flops);
        t->flops = add(t->flops, l->flops, 1);
        t->bytes = add(t->bytes, l->bytes, 1);
    }
    double seconds = times->latency_ms / 1e3;
    t->compute_share = percent((double)t->flops, seconds * t->peak_flops);
    t->dram_share = percent(busy->traffic_bytes, seconds * t->bandwidth_bytes_s);
    t->occupancy = busy->occupancy_us > 0 ? percent(busy->occupancy, busy->occupancy_us) : NAN;
    t->wave_efficiency = busy->waves_us > 0 ? percent(busy->waves, busy->waves_us) : NAN;
    t->layer_share = percent(busy->compute_us, busy->device_us);
    t->ideal_launch_ms = fmax(0, times->host_ms - t->ideal_compute_ms - t->ideal_memory_ms);
}

static void fill_names(sooth_prediction *answer, const sooth_model *model, const setting *where)
{
    sooth_info info = model_info(model);
    arena *a = &answer->arena;
    answer->totals = (sooth_prediction_totals){
        .file = keep(a, str_of(info.file)),
        .format = keep(a, str_of(info.format)),
        .producer = keep(a, str_of(info.producer)),
        .graph_name = keep(a, str_of(info.graph_name)),
        .gpu = keep(a, where->device->texts[DEVICE_NAME]),
        .precision = setting_name(where, SETTING_PRECISION),
        .layout = setting_name(where, SETTING_LAYOUT),
        .runtime = setting_name(where, SETTING_RUNTIME),
        .mode = setting_name(where, SETTING_MODE),
        .optimizer = setting_name(where, SETTING_OPTIMIZER),
        .stack = keep(a, where->stack),
        .mig = keep(a, where->device->profile ? where->device->profile->name : (str){"", 0}),
        .batch = batch_of(&model->net),
    };
}

static void fill_energy(sooth_prediction_totals *t, const energy *power, double co2_g_per_kwh)
{
    static const double J_PER_KWH = 3.6e6;
    t->energy_j = (sooth_interval){power->energy_j, power->low_j, power->high_j};
    t->power_w = (sooth_interval){power->power_w, power->low_w, power->high_w};
    t->energy_interval_kind = power->interval_kind;
    t->power_limit_w = power->limit_w;
    t->energy_j_per_1000 = 1e3 * power->energy_j / (double)t->batch;
    t->co2_g = co2_g_per_kwh > 0 ? power->energy_j / J_PER_KWH * co2_g_per_kwh : NAN;
}

/* ---- level of the intervals -------------------------------------------------------------------------------------- */

static sooth_interval widened(sooth_interval x, double width)
{
    if (width != 1 && x.value > 0 && x.low > 0) {
        x.low = x.value * pow(x.low / x.value, width);
        x.high = x.value * pow(x.high / x.value, width);
    }
    return x;
}

/* Widths for energy and memory, of which only the 90 % interval is calibrated: ratios of quantiles of errors, medians
 * over four tables of operators of which training left most rows out (`tools/reliability.py --ratios`). */
static double other_width(int percent)
{
    static const double WIDTHS[INTERVAL_LEVELS] = {0.22, 0.6, 1, 1.66, 5.2};
    return WIDTHS[interval_level(percent)];
}

sooth_interval answer_at_level(const sooth_prediction *answer, sooth_interval x)
{
    return widened(x, other_width(answer->totals.interval_percent));
}

void answer_set_level(sooth_prediction *answer, int percent)
{
    sooth_prediction_totals *t = &answer->totals;
    t->interval_percent = percent;
    t->latency_ms = widened(t->latency_ms, answer->times->widths[interval_level(percent)]);
    t->latency_ms.low = fmax(t->latency_ms.low, fmin(answer->times->least_ms, t->latency_ms.value));
    t->energy_j = answer_at_level(answer, t->energy_j);
    t->power_w = answer_at_level(answer, t->power_w);
    t->power_w.high = fmax(t->power_w.value, fmin(t->power_w.high, t->power_limit_w));
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool is_kept(const program *p, const lifetime *l)
{
    return l->part == MEMORY_ACTIVATIONS && l->birth >= 0 && p->kernels.items[l->birth].phase == PHASE_FORWARD &&
           l->death < p->kernels.count && p->kernels.items[l->death].phase == PHASE_BACKWARD;
}

static void fill_workspaces(sooth_prediction *answer, const kernel_workspace *workspaces)
{
    for (int32_t i = 0; workspaces && i < answer->kernel_count; i++) {
        const launched_kernel *k = &answer->kernels[i];
        int64_t first = workspaces[k->index].first, second = workspaces[k->index].second;
        int64_t *most = &answer->layers[k->layer].workspace_bytes;
        *most = first > *most ? first : *most;
        *most = second > *most ? second : *most;
    }
}

static void fill_memory(sooth_prediction *answer, sooth_model *model, const setting *where)
{
    const program *p = answer->program;
    const network *net = &model->net;
    footprint *f = ARENA_NEW(&answer->arena, footprint);
    *f = lowered_footprint(answer->lowered, model, where, &answer->arena, NULL, NULL);
    answer->memory = f;
    for (int32_t i = 0; i < p->storage_count; i++) {
        const lifetime *l = &f->use->requests->lifetimes[i];
        bool is_made = l->part == MEMORY_ACTIVATIONS || l->part == MEMORY_OPTIMIZER;
        if (is_kept(p, l) && l->layer >= 0 && l->layer < net->nodes.count)
            answer->layers[l->layer].kept_bytes += l->bytes;
        if (!is_made || l->birth < 0 || l->birth > f->use->peak_kernel || l->death < f->use->peak_kernel)
            continue;
        int32_t outside = net->nodes.count + p->kernels.items[l->birth].phase;
        int32_t layer = l->layer >= 0 && l->layer < net->nodes.count ? l->layer : outside;
        if (layer < answer->layer_count)
            answer->layers[layer].peak_bytes += l->bytes;
    }
    fill_workspaces(answer, f->workspaces);
}

void answer_make_trial(sooth_prediction *answer, sooth_model *model, const setting *where, memory_trial *trial,
                       arena *a)
{
    answer->lowered = lowered_get(model, &where->lower);
    lowered_footprint(answer->lowered, model, where, &answer->arena, trial, a);
}

/* Explains utilization above 100 %: the counted FLOPs may exceed the executed ones. */
static void note_utilization(sooth_prediction *answer)
{
    bool is_winograd = false, is_other_unit = false, is_clock = false;
    for (int32_t i = 0; i < answer->kernel_count; i++) {
        const launched_kernel *l = &answer->kernels[i];
        const kernel_figures *f = answer->times->kernels[l->index].figures;
        if (!(answer->layers[l->layer].compute_share > 100) || !answer->program->kernels.items[l->index].macs)
            continue;
        if (f->algorithm && strncmp(f->algorithm, "Winograd", strlen("Winograd")) == 0)
            is_winograd = true;
        else if (f->peak_flops > answer->totals.peak_flops)
            is_other_unit = true;
        else
            is_clock = true;
    }
    if (!is_winograd && !is_other_unit && !is_clock)
        return;
    const char *counted = "FLOPs are counted for the direct convolution, and Winograd's algorithm needs fewer";
    const char *unit = "convolutions run in tf32, whose peak is above that of fp32";
    const char *clock = "the clock may exceed that of the data sheet";
    answer->layers_note =
        arena_printf(&answer->arena, "Layer utilization above 100 %% is correct: %s%s%s%s%s.",
                     is_winograd ? counted : "", is_winograd && (is_other_unit || is_clock) ? "; " : "",
                     is_other_unit ? unit : "", is_other_unit && is_clock ? "; " : "", is_clock ? clock : "")
            .ptr;
}

void answer_make(sooth_prediction *answer, sooth_model *model, const predictor *with, setting *where,
                 double power_limit_w, double co2_g_per_kwh, bool with_memory)
{
    prediction *times = predict_best(model, with, where, &answer->lowered, &answer->arena);
    const program *p = answer->lowered->program;
    if (!model->power && !(model->power = calloc(1, sizeof *model->power)))
        fail_with(&model->fail, SOOTH_ERROR_SYSTEM, "out of memory");
    const power_model *power = power_shipped_for(model->power, where->device->texts[DEVICE_NAME], &model->fail);
    bool is_measured = where->on_own_host || times->stack_is_measured;
    energy drawn = energy_of_program(power, p, times, where->device, power_limit_w, is_measured, &answer->arena);
    answer->program = p;
    answer->times = times;
    fill_names(answer, model, where);
    answer->totals.weights = predictor_identity(with, &answer->arena);
    name_layers(answer, model);
    busy_means busy = {.bandwidth_b_s = where->device->numbers[DEVICE_BANDWIDTH_GB_S] * 1e9};
    sum_kernels(answer, p, times, &drawn, &busy);
    fill_totals(answer, times, where, &busy);
    fill_energy(&answer->totals, &drawn, co2_g_per_kwh);
    if (with_memory)
        fill_memory(answer, model, where);
    for (int32_t i = 0; i < model->source.notes.count; i++) /* Notes from the front end about its assumptions. */
        add_note(answer,
                 arena_printf(&answer->arena, "From the file: %.*s.", STR_ARG(model->source.notes.items[i])).ptr);
    arithmetic runs = setting_arithmetic(where);
    answer->totals.arithmetic = runs.products;
    if (runs.note)
        add_note(answer, runs.note);
    note_utilization(answer);
    if (times->stack_note)
        add_note(answer, times->stack_note);
    if (where->lower.runtime != RUNTIME_ENGINE && p->has_packed_weights)
        add_note(answer, "The file's weights are packed; PyTorch unpacks them to the precision. --runtime engine keeps "
                         "them as they are.");
    if (answer->unknown.count)
        note_unknown(answer);
    if (answer->memory && answer->memory->limit)
        add_note(answer, arena_printf(&answer->arena, "The run would fail: %s.", answer->memory->limit).ptr);
}
