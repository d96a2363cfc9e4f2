/* input_pipeline.c: loading samples from storage to the device: the time of each stage, and the steady state of a
 * data loader whose workers prefetch while the GPU computes. */
#include "base/lines.h"
#include "plan/train_phase.h"

#include <math.h>

/* Mean size of ImageNet's JPEG files. The benchmark that measured data/hosts decodes these images. */
static const double IMAGENET_BYTES = 110e3, IMAGENET_MPIXELS = 0.1875;
static const double CIFAR_BYTES = 3073; /* 32 × 32 × 3 and the label */
enum { MOST_WORKERS = 4096 };
/* Exponent of the smooth maximum of two times: decoding by the workers, and handing samples over to the main
 * process. */
static const double BEND = 4;

static double read_value(str *rest, const char *key, const char *text, fail *f)
{
    double number;
    str item = line_taken(rest, ',');
    str name = line_trimmed(line_taken(&item, '='));
    if (!str_is(name, key) || !line_number(line_trimmed(item), &number) || !(number > 0) || number > 1e12)
        fail_with(f, SOOTH_ERROR_USAGE,
                  "the data '%.60s' are not known; name imagenet, cifar, none, jpeg:width=W,height=H,bytes=N or "
                  "raw:bytes=N",
                  text);
    return number;
}

train_data train_data_of(const char *text, double sample_bytes, bool is_image, arena *a, fail *f)
{
    train_data d = {.sample_bytes = sample_bytes};
    const char *name = text ? text : is_image ? "imagenet" : "raw";
    str rest = str_of(name), kind = line_taken(&rest, ':');
    d.name = arena_str(a, str_of(name)).ptr;
    if (strcmp(name, "imagenet") == 0) {
        d.bytes = IMAGENET_BYTES;
        d.mpixels = IMAGENET_MPIXELS;
    } else if (strcmp(name, "cifar") == 0) {
        d.bytes = CIFAR_BYTES;
    } else if (strcmp(name, "none") == 0) {
        d.sample_bytes = 0;
    } else if (!text) {
        d.bytes = sample_bytes;
    } else if (str_is(kind, "jpeg")) {
        double width = read_value(&rest, "width", text, f), height = read_value(&rest, "height", text, f);
        d.mpixels = width * height / 1e6;
        d.bytes = read_value(&rest, "bytes", text, f);
    } else {
        d.bytes = read_value(str_is(kind, "raw") ? &rest : &kind, "bytes", text, f);
    }
    return d;
}

pipeline pipeline_of(const sooth_host *host, const train_data *data, double samples, double copies, double gpu_ms,
                     bool pinned)
{
    double gb_s = sooth_host_number(host, pinned ? "pinned_gb_s" : "pageable_gb_s");
    double transfer_ms = samples * data->bytes / sooth_host_number(host, "storage_gb_s") / 1e6;
    pipeline p = {.gpu_ms = gpu_ms,
                  .pinned = pinned,
                  .cores = (int)sooth_host_number(host, "cores"),
                  .efficiency = sooth_host_number(host, "worker_efficiency"),
                  .storage_ms = transfer_ms};
    if (data->bytes > 0)
        p.read_ms = transfer_ms + samples * sooth_host_number(host, "storage_us") / 1e3;
    if (data->mpixels > 0)
        p.decode_ms =
            samples * data->mpixels * 1e3 *
            (1 / sooth_host_number(host, "decode_mpixel_s") + 1 / sooth_host_number(host, "augment_mpixel_s"));
    if (data->sample_bytes > 0) {
        p.copy_ms = samples * data->sample_bytes / gb_s / 1e6 + copies * sooth_host_number(host, "copy_us") / 1e3;
        p.hand_ms = samples * data->sample_bytes / sooth_host_number(host, "loader_gb_s") / 1e6;
    }
    p.core_ms = p.read_ms + p.decode_ms;
    return p;
}

/* Workers in excess of the cores add nothing. */
double pipeline_loader_ms(const pipeline *p, int workers)
{
    int busy = workers < p->cores ? workers : p->cores;
    double work_ms = p->core_ms / (busy * p->efficiency);
    double together = pow(pow(work_ms, BEND) + pow(p->hand_ms, BEND), 1 / BEND);
    return fmax(together, p->storage_ms);
}

/* A copy from pageable memory blocks the process that also launches kernels. */
static double device_ms(const pipeline *p)
{
    return p->pinned ? fmax(p->gpu_ms, p->copy_ms) : p->gpu_ms + p->copy_ms;
}

double pipeline_step_ms(const pipeline *p, int workers)
{
    return fmax(pipeline_loader_ms(p, workers), device_ms(p));
}

int pipeline_workers_needed(const pipeline *p)
{
    if (fmax(p->hand_ms, p->storage_ms) > device_ms(p))
        return -1;
    pipeline unlimited = *p; /* the answer may exceed the host's number of cores */
    unlimited.cores = MOST_WORKERS;
    for (int workers = 1; workers <= MOST_WORKERS; workers++)
        if (pipeline_loader_ms(&unlimited, workers) <= device_ms(p))
            return workers;
    return -1;
}

double pipeline_waits(const pipeline *p, double step_ms)
{
    return step_ms > 0 ? 100 * fmax(0, 1 - p->gpu_ms / step_ms) : 0;
}

const char *pipeline_limit(const pipeline *p, int workers)
{
    double loader = pipeline_loader_ms(p, workers);
    if (loader <= device_ms(p))
        return p->pinned && p->copy_ms > p->gpu_ms ? "copy" : "gpu";
    if (p->storage_ms >= loader)
        return "read";
    int busy = workers < p->cores ? workers : p->cores;
    if (p->hand_ms > p->core_ms / (busy * p->efficiency))
        return "loader";
    return p->decode_ms >= p->read_ms ? "decode" : "read";
}
