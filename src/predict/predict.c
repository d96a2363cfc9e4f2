/* predict.c: from a program to its time. */
#include "predict/predict.h"

#include <math.h>

static const char *kernel_precision(const program *p, const kernel *k, const setting *where)
{
    dtype type = k->input_count ? p->tensors.items[k->inputs[0]].dtype : DT_FLOAT32;
    if (type == DT_FLOAT16)
        return "fp16";
    if (type == DT_BFLOAT16)
        return "bf16";
    return where->lower.precision == PRECISION_TF32 && k->macs ? "tf32" : "fp32";
}

static kernel_time time_kernel(const program *p, const kernel *k, const setting *where)
{
    kernel_time t = {.bound = BOUND_NOTHING, .host_us = 2};
    if (k->flags & KERNEL_VIEW)
        return t;
    str precision = str_of(kernel_precision(p, k, where));
    t.peak_flops =
        k->macs ? device_peak_flops(where->device, precision) : device_vector_flops(where->device, precision);
    t.compute_us = t.peak_flops > 0 ? (double)k->flops / t.peak_flops * 1e6 : 0;
    t.memory_us =
        (double)(k->bytes_read + k->bytes_written) / (where->device->numbers[DEVICE_BANDWIDTH_GB_S] * 1e9) * 1e6;
    t.device_us = fmax(fmax(t.compute_us, t.memory_us), 1.5);
    t.bound = t.device_us <= 1.5 ? BOUND_LAUNCH : t.compute_us > t.memory_us ? BOUND_COMPUTE : BOUND_MEMORY;
    t.host_us = 5;
    return t;
}

const predictor *predictor_shipped(fail *f)
{
    (void)f;
    return NULL;
}

const predictor *predictor_read(str bytes, const char *prefix, arena *a, fail *f)
{
    (void)a;
    fail_with(f, SOOTH_ERROR_INPUT, "%s%zu bytes that are no weights of this version", prefix, bytes.len);
}

prediction *predict_program(const predictor *with, const program *p, const setting *where, arena *a)
{
    (void)with;
    prediction *r = ARENA_NEW(a, prediction);
    r->kernels = ARENA_ARRAY(a, kernel_time, (size_t)p->kernels.count + 1);
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        r->kernels[i] = time_kernel(p, k, where);
        r->device_ms += r->kernels[i].device_us * (double)k->repeat / 1e3;
        r->host_ms += r->kernels[i].host_us * (double)k->repeat / 1e3;
    }
    r->latency_ms = fmax(r->device_ms, r->host_ms);
    r->low_ms = r->latency_ms / 2;
    r->high_ms = r->latency_ms * 2;
    r->interval_kind = "physics alone";
    for (int32_t i = 0; i < p->kernels.count; i++) {
        kernel_time *t = &r->kernels[i];
        double repeat = (double)p->kernels.items[i].repeat;
        t->share_ms = r->device_ms >= r->host_ms ? t->device_us * repeat / 1e3 : t->host_us * repeat / 1e3;
    }
    return r;
}
