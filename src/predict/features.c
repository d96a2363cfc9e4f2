/* features.c: computes the features of a kernel that depend on the device. */
#include "predict/features.h"

#include <math.h>
#include <stdlib.h>

static double known(double x, double otherwise)
{
    return isnan(x) || x <= 0 ? otherwise : x;
}

/* NVIDIA's generations in order, followed by AMD's. */
static float generation_of(const device *d)
{
    str cc = d->texts[DEVICE_COMPUTE_CAPABILITY];
    char text[16] = "";
    if (cc.len > 0 && cc.len < sizeof text)
        memcpy(text, cc.ptr, cc.len);
    double number = strtod(text, NULL);
    return number > 0 && number < 20 ? (float)number : 7;
}

/* The vendor field identifies AMD. */
static double capability_of(const device *d)
{
    str cc = d->texts[DEVICE_COMPUTE_CAPABILITY];
    double number = 0, unit = 1;
    bool after_point = false;
    for (size_t i = 0; i < cc.len && i < 8; i++) {
        if (cc.ptr[i] == '.') {
            after_point = true;
        } else if (cc.ptr[i] >= '0' && cc.ptr[i] <= '9') {
            number = after_point ? number + (unit /= 10) * (cc.ptr[i] - '0') : number * 10 + (cc.ptr[i] - '0');
        }
    }
    return number > 0 ? number : 8;
}

/* 24 bits of FNV-1a, which a float holds. */
static float chip_of(const device *d)
{
    str chip = d->texts[DEVICE_CHIP];
    uint32_t h = 0x811c9dc5u;
    for (size_t i = 0; i < chip.len; i++)
        h = (h ^ (unsigned char)chip.ptr[i]) * 0x01000193u;
    return chip.len ? (float)((h >> 8) | 1) : 0;
}

device_view view_device(const setting *where)
{
    const device *d = where->device;
    const double *n = d->numbers;
    device_view v = {.device = d,
                     .sms = n[DEVICE_SMS],
                     .bandwidth_b_s = n[DEVICE_BANDWIDTH_GB_S] * 1e9,
                     .l2_bytes = n[DEVICE_L2_MIB] * 1048576,
                     .threads_per_sm = n[DEVICE_THREADS],
                     .capability = capability_of(d),
                     .allows_tf32 = where->lower.precision != PRECISION_FP32};
    v.vector_flops = known(device_vector_flops(d, STR("fp32")), 1e12);
    v.peak_fp32 = known(device_peak_flops(d, STR("fp32")), v.vector_flops);
    v.peak_tf32 = known(device_peak_flops(d, STR("tf32")), v.peak_fp32);
    /* Libraries compute in fp32 on GPUs whose fp16 units are slower (GeForce of the Pascal generation). */
    v.peak_fp16 = fmax(known(device_peak_flops(d, STR("fp16")), v.peak_fp32), v.peak_fp32);
    v.peak_bf16 = fmax(known(device_peak_flops(d, STR("bf16")), v.peak_fp32), v.peak_fp32);
    v.peak_fp8 = known(device_peak_flops(d, STR("fp8")), v.peak_fp16);
    v.peak_int8 = known(device_peak_flops(d, STR("int8")), v.peak_fp16);
    /* Only a few numbers of the device are features. With more, the networks memorize GPUs and predict new GPUs
     * worse. The embedding of a known GPU holds its other properties. */
    v.generation = generation_of(d);
    /* Base clock ÷ boost clock, which is small on power-limited GPUs. */
    v.clocks = log2f((float)(known(n[DEVICE_BASE_MHZ], n[DEVICE_BOOST_MHZ]) / known(n[DEVICE_BOOST_MHZ], 1)));
    v.l2_log2 = log2f((float)v.l2_bytes);
    v.chip = chip_of(d);
    return v;
}

void view_pack(const device_view *d, float numbers[VIEW_NUMBERS])
{
    const double all[VIEW_NUMBERS] = {d->sms,
                                      d->bandwidth_b_s,
                                      d->l2_bytes,
                                      d->vector_flops,
                                      d->peak_fp32,
                                      d->peak_tf32,
                                      d->peak_fp16,
                                      d->peak_bf16,
                                      d->peak_fp8,
                                      d->peak_int8,
                                      d->chip,
                                      d->capability,
                                      d->clocks,
                                      (double)d->threads_per_sm,
                                      (double)d->generation};
    for (int i = 0; i < VIEW_NUMBERS; i++)
        numbers[i] = (float)all[i];
}

device_view view_unpack(const float n[VIEW_NUMBERS], bool allows_tf32)
{
    device_view v = {.sms = (double)n[0],
                     .bandwidth_b_s = (double)n[1],
                     .l2_bytes = (double)n[2],
                     .vector_flops = (double)n[3],
                     .peak_fp32 = (double)n[4],
                     .peak_tf32 = (double)n[5],
                     .peak_fp16 = (double)n[6],
                     .peak_bf16 = (double)n[7],
                     .peak_fp8 = (double)n[8],
                     .peak_int8 = (double)n[9],
                     .chip = n[10],
                     .capability = (double)n[11],
                     .clocks = n[12],
                     .threads_per_sm = (double)n[13],
                     .generation = n[14],
                     .allows_tf32 = allows_tf32};
    v.l2_log2 = log2f((float)v.l2_bytes);
    return v;
}

work_unit unit_of(const work *w, const device_view *d)
{
    if (w->macs <= 0)
        return UNIT_NONE;
    switch ((dtype)w->product_dtype) {
    case DT_FLOAT16:
    case DT_BFLOAT16:
        return UNIT_HALF;
    case DT_INT8:
    case DT_UINT8:
    case DT_FLOAT8E4M3FN:
    case DT_FLOAT8E5M2:
        return UNIT_BYTE;
    default:
        return d->allows_tf32 && d->peak_tf32 > d->peak_fp32 ? UNIT_TF32 : UNIT_FP32;
    }
}

double unit_peak(work_unit u, const device_view *d)
{
    const double peaks[WORK_UNITS] = {d->vector_flops, d->peak_fp32, d->peak_tf32, d->peak_fp16, d->peak_int8};
    return peaks[u];
}

/* Instructions per element read or written; the networks learn the deviation. */
static const double OPERATIONS_PER_OPERAND = 16;

/* Threads per multiprocessor that run at once. */
static const double LANES_PER_SM = 128;

static double product_peak(const work *w, const device_view *d)
{
    switch ((dtype)w->product_dtype) {
    case DT_FLOAT16:
        return d->peak_fp16;
    case DT_BFLOAT16:
        return d->peak_bf16;
    case DT_INT8:
    case DT_UINT8:
        return d->peak_int8;
    case DT_FLOAT8E4M3FN:
    case DT_FLOAT8E5M2:
        return d->peak_fp8;
    default:
        return d->allows_tf32 ? d->peak_tf32 : d->peak_fp32;
    }
}

ideal_time ideal_of(const work *w, const device_view *d)
{
    ideal_time t;
    t.peak_flops = w->macs > 0 ? product_peak(w, d) : d->vector_flops;
    t.compute_us = w->flops / t.peak_flops * 1e6;
    /* In kernels without products, address, load and store instructions limit the multiprocessors, not FLOPs. */
    if (w->macs <= 0)
        t.compute_us += w->operands * OPERATIONS_PER_OPERAND / t.peak_flops * 1e6;
    if (w->threads > 0)
        t.compute_us *= fmax(1, d->sms * LANES_PER_SM / w->threads);
    t.memory_us = w->bytes / d->bandwidth_b_s * 1e6;
    /* Base clocks are nearer to the clock under load: RTX 2080 Ti and TITAN RTX differ in boost clock but not in kernel
     * times. With peaks at the boost clock, errors on new GPUs were twice as large. */
    t.steady_us = t.compute_us / exp2((double)d->clocks);
    return t;
}

static float clamp_log2(double x)
{
    return x > 1e-4 ? log2f((float)x) : -13.3F;
}

static float clamp_to(float x, float limit)
{
    return x > limit ? limit : x < -limit ? -limit : x;
}

/* Writes the number of waves, and how full the last one is. */
static float *put_waves(float *f, double blocks, double slots)
{
    double waves = blocks / slots;
    *f++ = clamp_log2(waves);
    *f++ = waves > 0 ? (float)(waves / round_up(waves)) : 1;
    return f;
}

/* Common tiles of products. The last wave is filled to a different extent by each, which explains slow products.
 * Convolutions use only the first tiles, because with more the networks recognized GPUs instead of convolutions. */
static const struct tile {
    double m, n;
} TILES[] = {{256, 128}, {128, 128}, {128, 64}, {64, 64}, {128, 32}, {128, 256}, {64, 128}, {32, 64}};
enum { TILE_COUNT = sizeof TILES / sizeof *TILES, CONVOLUTION_TILES = 5 };

static double tiles(const work *w, struct tile t)
{
    return w->gemm[0] * round_up(w->gemm[1] / t.m) * round_up(w->gemm[2] / t.n);
}

enum { REUSE_OF_CACHE = WORK_FEATURES + 2 };

void features_forget_reuse(float features[FEATURE_COUNT])
{
    for (int i = 0; i < 2; i++)
        features[WORK_REUSE + i] = features[REUSE_OF_CACHE + i] = 0;
}

void features_set_reuse(const work *w, const device_view *d, float features[FEATURE_COUNT])
{
    for (int i = 0; i < 2; i++) {
        features[WORK_REUSE + i] = w->features[WORK_REUSE + i];
        features[REUSE_OF_CACHE + i] = clamp_to(w->reuse[i] - d->l2_log2, 8);
    }
}

void features_of(const work *w, const device_view *d, const ideal_time *ideal, float features[FEATURE_COUNT])
{
    memcpy(features, w->features, sizeof w->features);
    float *f = features + WORK_FEATURES;
    *f++ = clamp_log2(ideal->steady_us) - clamp_log2(ideal->memory_us);
    float l2 = d->l2_log2;
    *f++ = clamp_to(clamp_log2(w->bytes) - l2, 8);
    *f++ = clamp_to(w->reuse[0] - l2, 8);
    *f++ = clamp_to(w->reuse[1] - l2, 8);
    float *after_waves = f + 2 * (size_t)TILE_COUNT;
    if (w->gemm[0] > 0)
        for (int i = 0; i < (w->group == WORK_PRODUCT ? TILE_COUNT : CONVOLUTION_TILES); i++)
            f = put_waves(f, tiles(w, TILES[i]), d->sms);
    else
        f = put_waves(f, w->elements / 512, d->sms * d->threads_per_sm / 128);
    while (f < after_waves)
        *f++ = 0;
    bool uses_tf32 = w->product_dtype == DT_FLOAT32 && d->allows_tf32 && d->peak_tf32 > d->peak_fp32;
    *f++ = uses_tf32 ? 1.0F : 0.0F;
    *f++ = d->generation;
    *f = d->clocks;
}
