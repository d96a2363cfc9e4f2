/* energy.c: computes the power of kernels and the energy of a program. */
#include "predict/energy.h"
#include "predict/net.h"

#include <math.h>

/* ---- one device -------------------------------------------------------------------------------------------------- */

/* Watts per fp32 TFLOP/s of current boards, for GPU files without a limit. */
static const double WATTS_PER_TFLOP = 12;

static double positive(double x, double otherwise)
{
    return x > 0 ? x : otherwise;
}

power_coefficient power_base_of(const device *d)
{
    str memory = d->texts[DEVICE_MEMORY_TYPE];
    if (!str_starts(memory, "HBM"))
        return POWER_BASE_GDDR;
    return memory.len > 3 && memory.ptr[3] >= '3' ? POWER_BASE_HBM3 : POWER_BASE_HBM;
}

power_view power_view_of(const power_model *m, const device *d, double limit_w)
{
    const double *c = m->coefficients, *n = d->numbers;
    double vector = positive(device_vector_flops(d, STR("fp32")), 1e12);
    double own_w = positive(n[DEVICE_TDP_W], WATTS_PER_TFLOP * vector / 1e12);
    bool on_package = str_starts(d->texts[DEVICE_MEMORY_TYPE], "HBM");
    double base = c[power_base_of(d)], scale = 1, cap = c[POWER_CAP];
    power_view v = {.limit_w = limit_w > 0 ? limit_w : own_w,
                    .half_busy = c[POWER_HALF_BUSY],
                    .small_us = c[POWER_SMALL],
                    .clock_exponent = c[POWER_CLOCK],
                    .clock_bound = c[POWER_CLOCK_BOUND],
                    .sms = positive(n[DEVICE_SMS], 1),
                    .tensor_peak = positive(device_peak_flops(d, STR("fp16")), 0),
                    .vector_peak = vector};
    for (int i = 0; i < m->gpu_count && !v.is_known && !d->is_other; i++)
        if (str_eq(m->gpus[i].name, d->texts[DEVICE_NAME])) {
            base = m->gpus[i].base;
            scale = m->gpus[i].scale;
            cap = m->gpus[i].cap;
            v.is_known = true;
        }
    double bytes_s = n[DEVICE_BANDWIDTH_GB_S] * 1e9;
    v.base_w = base * own_w;
    v.busy_w = scale * c[POWER_BUSY] * own_w;
    v.unit_w[UNIT_VECTOR] = scale * c[POWER_VECTOR] * own_w;
    v.unit_w[UNIT_TENSOR] = scale * c[POWER_TENSOR] * own_w;
    v.unit_w[UNIT_TENSOR_8] = scale * c[POWER_TENSOR_8] * own_w;
    v.dram_w = scale * c[on_package ? POWER_HBM : POWER_GDDR] * 1e-12 * bytes_s;
    v.l2_w = scale * c[POWER_L2] * 1e-12 * bytes_s;
    v.default_cap_w = cap * own_w;
    v.cap_w = fmin(cap * v.limit_w, v.default_cap_w);
    return v;
}

power_work power_work_of(const power_view *v, const kernel *k, const kernel_time *t)
{
    const kernel_figures *f = t->figures;
    power_work w = {.device_us = t->device_us, .compute_us = f->compute_us, .memory_us = f->memory_us, .active = 1};
    /* The root of the share of multiprocessors, because schedulers, caches and clocks run even for a few of them. */
    if (f->blocks > 0 && f->blocks < v->sms)
        w.active = sqrt(f->blocks / v->sms);
    if (k->macs > 0 && f->peak_flops > 1.5 * v->vector_peak)
        w.unit = f->peak_flops > 1.5 * v->tensor_peak ? UNIT_TENSOR_8 : UNIT_TENSOR;
    return w;
}

double power_stretch(const power_view *v, const power_work *w, double raw)
{
    /* Lowest share of its clock that a GPU reaches. */
    static const double LEAST_CLOCK = 0.1;
    double own = fmin(raw, v->default_cap_w);
    if (own <= v->cap_w)
        return 1;
    double clock = v->cap_w > v->base_w ? pow((v->cap_w - v->base_w) / (own - v->base_w), 1 / v->clock_exponent) : 0;
    double memory = fmin(w->memory_us / w->device_us, 1), follows = 1 - memory * (1 - v->clock_bound);
    return 1 + follows * (1 / fmax(clock, LEAST_CLOCK) - 1);
}

/* Returns the shortest sustained time of a kernel whose physical floor is at_floor->device_us: at full clocks, products
 * can draw more than the board's limit, and the clock falls. */
static double least_us_of(const power_view *v, const power_work *at_floor)
{
    double raw = power_raw(v, at_floor), us = at_floor->device_us;
    if (!(raw > v->default_cap_w) || v->default_cap_w <= v->base_w)
        return us;
    double clock = pow((v->default_cap_w - v->base_w) / (raw - v->base_w), 1 / v->clock_exponent);
    double compute = fmin(at_floor->compute_us / us, 1);
    return us * (1 + compute * (1 / clock - 1));
}

/* ---- a program --------------------------------------------------------------------------------------------------- */

/* Returns the latency if each kernel takes `more_us` longer. Waiting for the host may absorb the difference. */
static void slow_down(prediction *times, const program *p, const double *more_us)
{
    int32_t count = p->kernels.count;
    double more_ms = 0;
    for (int32_t i = 0; i < count; i++)
        more_ms += more_us[i] / 1e3;
    if (more_ms <= 0)
        return;
    double grown =
        net_smooth_max(times->device_ms + more_ms, times->host_ms) - net_smooth_max(times->device_ms, times->host_ms);
    /* Longer kernels wait less for the host. */
    double waiting_ms = times->latency_ms - times->device_ms;
    double left = waiting_ms > 0 ? fmax(waiting_ms + grown - more_ms, 0) / waiting_ms : 0;
    for (int32_t i = 0; i < count; i++) {
        double before_ms = ((double)p->kernels.items[i].repeat * times->kernels[i].device_us - more_us[i]) / 1e3;
        times->kernels[i].share_ms = before_ms + more_us[i] / 1e3 + left * (times->kernels[i].share_ms - before_ms);
    }
    double factor = 1 + grown / times->latency_ms;
    times->device_ms += more_ms;
    times->latency_ms *= factor;
    times->low_ms *= factor;
    times->high_ms *= factor;
}

power_work_kind energy_kind_of(const kernel *k)
{
    if (k->macs <= 0)
        return POWER_WORK_OTHER;
    return k->window ? POWER_WORK_CONVOLUTION : POWER_WORK_PRODUCT;
}

power_work_kind energy_main_kind(const double us[POWER_WORK_KINDS])
{
    if (us[POWER_WORK_CONVOLUTION] + us[POWER_WORK_PRODUCT] <= 0)
        return POWER_WORK_OTHER;
    return us[POWER_WORK_CONVOLUTION] >= us[POWER_WORK_PRODUCT] ? POWER_WORK_CONVOLUTION : POWER_WORK_PRODUCT;
}

static const char *interval_name(bool is_known, power_work_kind kind)
{
    static const char *const NAMES[2][POWER_WORK_KINDS] = {
        {"known GPUs running convolutions", "known GPUs running matrix products", "known GPUs running other kernels"},
        {"new GPUs running convolutions", "new GPUs running matrix products", "new GPUs running other kernels"}};
    return NAMES[!is_known][kind];
}

/* Power while a kernel runs. */
typedef struct drawn_power {
    bool is_known;
    double above_base_w, follows_time_w; /* Part of above_base_w that is proportional to the kernel's time. */
    double least_us;                     /* Shortest time that the device's own limit allows. */
    double stretch;                      /* Slowdown under a limit below the device's own. */
} drawn_power;

static drawn_power drawn_power_of(const power_view *v, const kernel *k, const kernel_time *t, bool is_measured,
                                  bool is_lowered)
{
    power_work w = power_work_of(v, k, t), fastest = w;
    fastest.device_us = fmin(t->figures->least_us, w.device_us);
    double least_us = is_measured || !(fastest.device_us > 0) ? 0 : least_us_of(v, &fastest);
    w.device_us = fmax(w.device_us, least_us);
    double raw = power_raw(v, &w), above_w = fmin(raw, v->cap_w) - v->base_w;
    return (drawn_power){.is_known = true,
                         .above_base_w = above_w,
                         .follows_time_w = raw > v->cap_w ? above_w : v->busy_w * w.active,
                         .least_us = least_us,
                         .stretch = is_lowered ? power_stretch(v, &w, raw) : 1};
}

energy energy_of_program(const power_model *m, const program *p, prediction *times, const device *d, double limit_w,
                         bool is_measured, arena *a)
{
    power_view v = power_view_of(m, d, limit_w);
    bool is_lowered = v.cap_w < v.default_cap_w;
    /* Boards exceeded their limit by up to one percent in measurements; predictions do not. */
    v.cap_w = fmin(v.cap_w, v.limit_w);
    v.base_w = fmin(v.base_w, v.cap_w);
    int32_t count = p->kernels.count;
    energy e = {.limit_w = v.limit_w,
                .waiting_w = v.base_w,
                .kernels_j = arena_room(a, (size_t)count + 1, sizeof *e.kernels_j)};
    double *more_us = is_lowered || !is_measured ? ARENA_ARRAY(a, double, (size_t)count + 1) : NULL;
    /* Caches results, because kernels with equal figures draw equal power. */
    drawn_power *known = ARENA_ARRAY(a, drawn_power, (size_t)times->figures_count);
    double by_kind_us[POWER_WORK_KINDS] = {0}, follows_time_j = 0;
    for (int32_t i = 0; i < count; i++) {
        const kernel *k = &p->kernels.items[i];
        kernel_time *t = &times->kernels[i];
        e.kernels_j[i] = 0;
        if (!(t->device_us > 0))
            continue;
        drawn_power *drawn = &known[t->figures - times->figures];
        if (!drawn->is_known)
            *drawn = drawn_power_of(&v, k, t, is_measured, is_lowered);
        double runs = (double)k->repeat, us = t->device_us;
        if (more_us) {
            us = fmax(us, drawn->least_us) * drawn->stretch;
            more_us[i] = runs * (us - t->device_us);
            t->device_us = us;
        }
        e.kernels_j[i] = runs * us * 1e-6 * drawn->above_base_w;
        follows_time_j += runs * us * 1e-6 * drawn->follows_time_w;
        by_kind_us[energy_kind_of(k)] += runs * us;
    }
    if (more_us)
        slow_down(times, p, more_us);
    for (int32_t i = 0; i < count; i++) {
        e.kernels_j[i] += v.base_w * times->kernels[i].share_ms * 1e-3;
        e.energy_j += e.kernels_j[i];
    }
    power_work_kind kind = energy_main_kind(by_kind_us);
    /* FLOPs and bytes cost the same energy at any speed, so only the remaining power scales with the latency. */
    double seconds = times->latency_ms * 1e-3;
    double share = e.energy_j > 0 ? (v.base_w * seconds + follows_time_j) / e.energy_j : 1;
    double latency_half = times->low_ms > 0 ? log(times->high_ms / times->low_ms) / 2 : 0;
    double half_w = m->intervals[!v.is_known][kind], half_j = hypot(share * latency_half, half_w);
    double half_mean_w = hypot((1 - share) * latency_half, half_w);
    e.low_j = e.energy_j * exp(-half_j);
    e.high_j = e.energy_j * exp(half_j);
    e.power_w = seconds > 0 ? fmin(e.energy_j / seconds, v.limit_w) : 0; /* Guards against rounding. */
    e.low_w = e.power_w * exp(-half_mean_w);
    e.high_w = fmin(e.power_w * exp(half_mean_w), v.limit_w);
    e.interval_kind = interval_name(v.is_known, kind);
    return e;
}
