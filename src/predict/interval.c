#include "predict/interval.h"
#include "lower/hash.h"

#include <math.h>

const int INTERVAL_PERCENT[INTERVAL_LEVELS] = {50, 80, 90, 95, 99};

int interval_level(int percent)
{
    for (int i = 0; i < INTERVAL_LEVELS; i++)
        if (INTERVAL_PERCENT[i] == percent)
            return i;
    return -1;
}

interval_class interval_class_of(const setting *where, uint32_t groups)
{
    const uint32_t convolutions = 1u << WORK_CONV | 1u << WORK_DEPTHWISE | 1u << WORK_GROUPED;
    if (where->is_operator)
        return groups & convolutions ? INTERVAL_CONVOLUTION : INTERVAL_OPERATOR;
    return where->lower.mode != MODE_INFER ? INTERVAL_TRAINING
                                           : (interval_class)(INTERVAL_EAGER + (int)where->lower.runtime);
}

static double share_of(double part, double all)
{
    return all > 0 ? fmin(part / all, 1) : 0;
}

static double device_us(const interval_sums *s)
{
    double sum = 0;
    for (int g = 0; g < WORK_GROUP_COUNT; g++)
        sum += s->us[g];
    return sum;
}

/* Share of time in unfamiliar kernels: the larger of its shares of roofline time and of predicted time. Predicted
 * times of unfamiliar kernels may be far off, and the roofline misses slow kernels. */
static double novelty_of(const interval_sums *s)
{
    return fmax(share_of(s->new_ideal_us, s->ideal_us), share_of(s->new_us, device_us(s)));
}

void interval_traits(const interval_sums *s, const setting *where, float traits[INTERVAL_TRAITS])
{
    double all_us = device_us(s), novelty = novelty_of(s), strange = share_of(s->strange_us, all_us);
    for (int g = 0; g < WORK_GROUP_COUNT; g++)
        traits[g] = (float)share_of(s->us[g], all_us);
    traits[TRAIT_NEW] = (float)novelty;
    traits[TRAIT_NEW_ROOT] = (float)sqrt(novelty);
    traits[TRAIT_STRANGE] = (float)strange;
    traits[TRAIT_STRANGE_ROOT] = (float)sqrt(strange);
    traits[TRAIT_BOTH] = (float)(novelty * strange);
    traits[TRAIT_HOST] = (float)share_of(s->host_us, s->host_us + all_us);
    traits[TRAIT_SIZE] = (float)log10(fmin(fmax(s->latency_us / 1e3, 1e-4), 1e6));
    traits[TRAIT_NHWC] = where->lower.layout == LAYOUT_NHWC;
    traits[TRAIT_FULL] = where->lower.precision == PRECISION_FP32 || where->lower.precision == PRECISION_TF32;
}

interval_graph interval_graph_of(bool is_known, const float traits[INTERVAL_TRAITS])
{
    static const float MOST_ALIKE = 0.1F;
    return is_known ? GRAPH_KNOWN : traits[TRAIT_STRANGE] < MOST_ALIKE ? GRAPH_ALIKE : GRAPH_STRANGE;
}

uint32_t interval_print(uint64_t of, interval_class c)
{
    return (uint32_t)(hash_mix(of, (uint64_t)c) >> 32);
}

size_t interval_floats(int stack_count, int gpu_count)
{
    return (size_t)INTERVAL_MODELS *
           ((size_t)INTERVAL_ROW + (size_t)stack_count + (size_t)gpu_count + GRAPH_KINDS * INTERVAL_LEVELS);
}

interval_table interval_table_at(const float *floats, int stack_count, int gpu_count)
{
    interval_table t = {.slopes = floats, .stack_count = stack_count, .gpu_count = gpu_count};
    t.stacks = t.slopes + (size_t)INTERVAL_MODELS * INTERVAL_ROW;
    t.gpus = t.stacks + (size_t)INTERVAL_MODELS * (size_t)stack_count;
    t.multiples = t.gpus + (size_t)INTERVAL_MODELS * (size_t)gpu_count;
    return t;
}

/* Limits far above fitted values: of a slope, and of a multiple of the scale. */
static const float MOST_SLOPE = 30, MOST_MULTIPLE = 1000;
/* Largest half width. */
static const double MOST_HALF = 30;

bool interval_is_sound(const interval_table *t)
{
    for (const float *x = t->slopes; x < t->multiples; x++)
        if (!(*x >= -MOST_SLOPE && *x <= MOST_SLOPE))
            return false;
    for (int i = 0; i < INTERVAL_MODELS * GRAPH_KINDS * INTERVAL_LEVELS; i++)
        if (!(t->multiples[i] >= (i % INTERVAL_LEVELS ? t->multiples[i - 1] : 0) && t->multiples[i] <= MOST_MULTIPLE))
            return false;
    return true;
}

static double scale_log(const interval_table *t, int model, int stack, int gpu, const float *traits)
{
    const float *slopes = t->slopes + (size_t)model * INTERVAL_ROW;
    double sum = (double)slopes[0];
    for (int i = 0; i < INTERVAL_TRAITS; i++)
        sum += (double)(slopes[1 + i] * traits[i]);
    sum += (double)t->stacks[(size_t)model * (size_t)t->stack_count + (size_t)stack];
    sum += (double)t->gpus[(size_t)model * (size_t)t->gpu_count + (size_t)gpu];
    return fmin(fmax(sum, INTERVAL_LEAST_LOG), (double)slopes[INTERVAL_ROW - 1]);
}

static void halves_of(const interval_table *t, int model, interval_graph graph, int stack, int gpu, const float *traits,
                      double halves[INTERVAL_LEVELS])
{
    /* A class without hold-out rows: a factor of e at 90 %. */
    static const double UNKNOWN_HALVES[INTERVAL_LEVELS] = {0.3, 0.7, 1, 1.5, 2.5};
    const float *multiples = t->multiples + ((size_t)model * GRAPH_KINDS + (size_t)graph) * INTERVAL_LEVELS;
    double scale = exp(scale_log(t, model, stack, gpu, traits));
    for (int i = 0; i < INTERVAL_LEVELS; i++)
        halves[i] = multiples[INTERVAL_90] > 0 ? fmin((double)multiples[i] * scale, MOST_HALF) : UNKNOWN_HALVES[i];
}

void interval_halves(const interval_table *t, interval_class c, bool gpu_known, interval_graph graph, int stack,
                     int gpu, const float *traits, double halves[INTERVAL_LEVELS])
{
    if (gpu_known || graph == GRAPH_KNOWN || c >= INTERVAL_OPERATOR) {
        halves_of(t, interval_model(c, gpu_known), graph, stack, gpu, traits, halves);
        return;
    }
    /* Networks on held-out GPUs were known, so the uncertainty about a new network is added. */
    double of_graph[INTERVAL_LEVELS];
    halves_of(t, interval_model(c, false), GRAPH_KNOWN, stack, gpu, traits, halves);
    halves_of(t, interval_model(c, true), graph, stack, gpu, traits, of_graph);
    for (int i = 0; i < INTERVAL_LEVELS; i++)
        halves[i] = fmin(hypot(halves[i], of_graph[i]), MOST_HALF);
}

const char *interval_kind_name(interval_class c, bool gpu_known, interval_graph graph)
{
    static const char *const NAMES[2][GRAPH_KINDS] = {
        {"measured networks, on new GPUs", "networks like measured ones, on new GPUs",
         "networks unlike measured ones, on new GPUs"},
        {"measured networks in other settings, on known GPUs", "networks like measured ones, on known GPUs",
         "networks unlike measured ones, on known GPUs"},
    };
    if (c >= INTERVAL_OPERATOR)
        return gpu_known ? "single operators, on known GPUs" : "single operators, on new GPUs";
    return NAMES[gpu_known][graph];
}
