/* train_phase.c: sooth_train_phase: a training step in six stages, from a prediction of the GPU's work and the host's
 * rates. */
#include "plan/train_phase.h"
#include "plan/train_layers.h"
#include "plan/train_libraries.h"
#include "plan/train_memory.h"
#include "plan/train_regions.h"
#include "predict/lowered.h"

#include <math.h>
#include <stdlib.h>

static const char DEFAULT_HOST[] = "epyc-9b14", DEFAULT_GPU[] = "a100-sxm4-40gb";
enum { DEFAULT_WORKERS = 8, IMAGE_LEAST = 64 };
/* Half-width of the interval of stages on the host; the target accuracy for hosts that were not fitted. */
static const double HOST_ERROR = 0.2;

typedef struct planner {
    sooth_train *t;
    sooth_model *model;
    const sooth_train_options *options;
    const sooth_host *host;
    const sooth_gpu *gpu;
    sooth_predict_options settings; /* Settings, with cuDNN's version removed from the stack. */
    train_library_choice library;
    double accumulate;
    train_data data;
    sooth_prediction *twice; /* Prediction of twice the batch; NULL until it is computed. */
    sooth_train *other;      /* Layers of `twice`. */
} planner;

/* ---- answers ----------------------------------------------------------------------------------------------------- */

sooth_train *train_new(sooth_error *error)
{
    sooth_train *t = calloc(1, sizeof *t);
    if (!t) {
        error_say(error, SOOTH_ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    t->fail.error = error;
    arena_init(&t->arena, &t->fail, ARENA_GIB(1));
    return t;
}

void sooth_train_free(sooth_train *train)
{
    if (!train)
        return;
    arena_free(&train->arena);
    free(train);
}

void train_note(sooth_train *t, const char *note)
{
    if (t->note_count < TRAIN_NOTES)
        t->notes[t->note_count++] = arena_str(&t->arena, str_of(note)).ptr;
}

sooth_train_totals sooth_train_totals_of(const sooth_train *train)
{
    return train->totals;
}

sooth_train_stage sooth_train_stage_at(const sooth_train *train, size_t index)
{
    return index < SOOTH_TRAIN_STAGES ? train->stages[index] : (sooth_train_stage){.stage = "", .resource = ""};
}

size_t sooth_train_layer_count(const sooth_train *train)
{
    return train->layer_count;
}

sooth_train_layer sooth_train_layer_at(const sooth_train *train, size_t index)
{
    return index < train->layer_count ? train->layers[index] : (sooth_train_layer){.name = "", .op = "", .kind = ""};
}

size_t sooth_train_moment_count(const sooth_train *train)
{
    return train->moment_count;
}

sooth_train_moment sooth_train_moment_at(const sooth_train *train, size_t index)
{
    return index < train->moment_count ? train->moments[index] : (sooth_train_moment){.phase = ""};
}

sooth_train_finding sooth_train_finding_at(const sooth_train *train, size_t index)
{
    return index < train->finding_count ? train->findings[index] : (sooth_train_finding){0};
}

sooth_train_change sooth_train_change_at(const sooth_train *train, size_t index)
{
    return index < train->change_count ? train->changes[index] : (sooth_train_change){0};
}

const char *sooth_train_note(const sooth_train *train, size_t index)
{
    return index < train->note_count ? train->notes[index] : NULL;
}

/* ---- the prediction ---------------------------------------------------------------------------------------------- */

typedef struct gpu_times {
    double forward_ms, backward_ms, update_ms;
} gpu_times;

static double gpu_ms(gpu_times g)
{
    return g.forward_ms + g.backward_ms + g.update_ms;
}

/* Layers are computed for one micro-batch; a step repeats it. */
static void scale_layers(const planner *p, sooth_train *t)
{
    for (size_t i = 0; i < t->layer_count; i++) {
        sooth_train_layer *l = &t->layers[i];
        l->forward_ms *= p->accumulate;
        l->backward_ms *= p->accumulate;
        l->backward_data_ms *= p->accumulate;
        l->backward_weights_ms *= p->accumulate;
    }
}

/* Bytes per second of the L2 cache: 64 per clock and multiprocessor since Volta, 32 before; NAN for GPUs of other
 * vendors. */
static double l2_bytes_s(const sooth_gpu *gpu)
{
    double wide = sooth_gpu_number(gpu, "tensor_fp16_per_clock") > 0 ? 64 : 32;
    const char *vendor = sooth_gpu_text(gpu, "vendor");
    bool is_nvidia = vendor && strcmp(vendor, "NVIDIA") == 0;
    return is_nvidia ? wide * sooth_gpu_number(gpu, "sms") * sooth_gpu_number(gpu, "boost_mhz") * 1e6 : NAN;
}

/* Fills the layers of `t`: the planner's answer, or that of another batch. */
static gpu_times fill_layers(planner *p, const sooth_prediction *prediction, sooth_train *t)
{
    const char *arithmetic = sooth_prediction_totals_of(prediction).arithmetic;
    bool is_wide = strcmp(arithmetic, "fp32") == 0 || strcmp(arithmetic, "tf32") == 0;
    gpu_times g = {0};
    p->library.gpu.flops_s = sooth_gpu_peak_flops(p->gpu, arithmetic);
    p->library.element_bytes = is_wide ? 4 : 2;
    train_layers(t, p->model, prediction, l2_bytes_s(p->gpu));
    train_libraries(t, p->model, prediction, train_first_layer(p->model), &p->library);
    scale_layers(p, t);
    for (size_t i = 0; i < t->layer_count; i++) {
        g.forward_ms += t->layers[i].forward_ms;
        g.backward_ms += t->layers[i].backward_ms;
        g.update_ms += t->layers[i].update_ms;
    }
    return g;
}

static sooth_prediction *predict(planner *p, bool with_memory)
{
    sooth_predict_options settings = p->settings;
    sooth_prediction *prediction;
    sooth_error error;
    settings.mode = "train";
    settings.memory = with_memory;
    sooth_status status = sooth_predict(p->model, &settings, &prediction, &error);
    if (status != SOOTH_OK)
        fail_with(&p->t->fail, status, "%s", error.message);
    return prediction;
}

/* Returns the bytes of a sample on the device, and whether it is an image with three channels. */
static double sample_bytes_of(const sooth_model *model, int64_t batch, bool *is_image)
{
    double bytes = 0;
    *is_image = false;
    for (size_t i = 0; i < sooth_input_count(model); i++) {
        sooth_value v = sooth_value_at(model, sooth_input(model, i));
        double elements = 1;
        for (int d = 0; d < v.rank; d++)
            elements *= v.dims[d] > 0 ? (double)v.dims[d] : 1;
        bytes += elements * (strcmp(v.dtype, "int64") == 0 ? 8 : 4);
        *is_image = *is_image || (v.rank == 4 && (v.dims[1] == 3 || v.dims[3] == 3) && v.dims[2] >= IMAGE_LEAST);
    }
    return bytes / (double)(batch > 0 ? batch : 1);
}

static const char *kept(planner *p, const char *s)
{
    return arena_str(&p->t->arena, str_of(s ? s : "")).ptr;
}

static void set_totals(planner *p, const sooth_prediction *prediction)
{
    sooth_prediction_totals of = sooth_prediction_totals_of(prediction);
    sooth_train_totals *t = &p->t->totals;
    t->file = kept(p, of.file);
    t->gpu = kept(p, of.gpu);
    t->precision = kept(p, of.precision);
    t->optimizer = kept(p, of.optimizer);
    t->runtime = kept(p, of.runtime);
    t->weights = kept(p, of.weights);
    t->host = kept(p, sooth_host_text(p->host, "name"));
    t->cpu = kept(p, sooth_host_text(p->host, "cpu"));
    t->data = p->data.name;
    t->origin = "predicted";
    t->batch = of.batch;
    t->samples = (int64_t)((double)of.batch * p->accumulate);
    t->pinned = p->options->pinned;
    t->overlaps = !p->options->no_overlap;
    t->library = p->library.is_cublas ? "cublas" : "cudnn";
    t->cudnn = p->library.version >= 0 ? kept(p, p->library.constants.versions[p->library.version].name) : "";
    t->memory = sooth_prediction_memory(prediction);
    t->memory.limit = t->memory.limit ? kept(p, t->memory.limit) : NULL;
    for (size_t i = 0; sooth_prediction_note(prediction, i); i++)
        train_note(p->t, sooth_prediction_note(prediction, i));
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static void set_stage(planner *p, int index, const char *name, const char *resource, double ms, sooth_interval error,
                      double busy_ms)
{
    const sooth_train_totals *t = &p->t->totals;
    double step = t->overlaps ? t->step_ms_overlapped : t->step_ms_sum;
    p->t->stages[index] = (sooth_train_stage){.stage = name,
                                              .latency_ms = {ms, ms * error.low, ms * error.high},
                                              .resource = resource,
                                              .resource_share = step > 0 ? 100 * busy_ms / step : 0};
}

static void set_stages(planner *p, const pipeline *line, gpu_times g, sooth_interval latency)
{
    sooth_interval host = {1, 1 / (1 + HOST_ERROR), 1 + HOST_ERROR};
    sooth_interval gpu = {1, latency.low / latency.value, latency.high / latency.value};
    if (train_library_replaces(&p->library)) {
        double error = p->library.constants.error_percent / 100;
        gpu.low = fmin(gpu.low, 1 / (1 + error));
        gpu.high = fmax(gpu.high, 1 + error);
    }
    set_stage(p, TRAIN_READ, "read", "storage", line->read_ms, host, line->storage_ms);
    set_stage(p, TRAIN_DECODE, "decode", "host cores", line->decode_ms, host,
              line->decode_ms / (p->t->totals.overlaps ? line->efficiency * line->cores : line->cores));
    set_stage(p, TRAIN_COPY, "copy", "link", line->copy_ms, host, line->copy_ms);
    set_stage(p, TRAIN_FORWARD, "forward", "GPU", g.forward_ms, gpu, g.forward_ms);
    set_stage(p, TRAIN_BACKWARD, "backward", "GPU", g.backward_ms, gpu, g.backward_ms);
    set_stage(p, TRAIN_UPDATE, "update", "GPU", g.update_ms, gpu, g.update_ms);
}

static const char *largest_stage(const pipeline *line, gpu_times g)
{
    const char *names[] = {"read", "decode", "copy", "forward", "backward", "update"};
    double ms[] = {line->read_ms, line->decode_ms, line->copy_ms, g.forward_ms, g.backward_ms, g.update_ms};
    size_t most = 0;
    for (size_t i = 1; i < SOOTH_TRAIN_STAGES; i++)
        if (ms[i] > ms[most])
            most = i;
    return names[most];
}

static void set_step(planner *p, const pipeline *line, gpu_times g)
{
    sooth_train_totals *t = &p->t->totals;
    t->step_ms_sum = line->read_ms + line->decode_ms + line->copy_ms + line->gpu_ms;
    t->loader_ms = pipeline_loader_ms(line, t->workers);
    t->step_ms_overlapped = pipeline_step_ms(line, t->workers);
    const char *limit = pipeline_limit(line, t->workers);
    pipeline gpu_only = {.gpu_ms = line->gpu_ms};
    t->limited_by = !t->overlaps                ? largest_stage(line, g)
                    : strcmp(limit, "gpu") == 0 ? largest_stage(&gpu_only, g)
                                                : limit;
    double step = t->overlaps ? t->step_ms_overlapped : t->step_ms_sum;
    t->gpu_waits_percent = pipeline_waits(line, step);
    t->workers_needed = pipeline_workers_needed(line);
    t->throughput_per_s = step > 0 ? (double)t->samples / step * 1e3 : NAN;
}

/* ---- what would change ------------------------------------------------------------------------------------------- */

static void add_change(planner *p, const char *name, const pipeline *line, int workers, int64_t samples)
{
    double step = pipeline_step_ms(line, workers);
    p->t->changes[p->t->change_count++] = (sooth_train_change){
        .name = name, .step_ms = step, .gpu_waits_percent = pipeline_waits(line, step), .samples = samples};
}

static void change_host(planner *p, const pipeline *line)
{
    const sooth_train_totals *t = &p->t->totals;
    pipeline disk = *line, cores = *line;
    disk.storage_ms /= 2;
    disk.read_ms -= disk.storage_ms;
    disk.core_ms -= disk.storage_ms;
    add_change(p, "storage twice as fast", &disk, t->workers, t->samples);
    cores.cores *= 2;
    add_change(p, "twice the workers and cores", &cores, 2 * t->workers, t->samples);
    if (!t->pinned) {
        pipeline pinned = pipeline_of(p->host, &p->data, (double)t->samples, p->accumulate, line->gpu_ms, true);
        add_change(p, "pinned memory", &pinned, t->workers, t->samples);
    }
}

/* Uses only the times of the layers of another batch. */
static void add_batch(planner *p, const sooth_prediction *twice)
{
    const sooth_train_totals *t = &p->t->totals;
    p->other = train_new(p->t->fail.error);
    if (!p->other)
        fail_with(&p->t->fail, SOOTH_ERROR_SYSTEM, "out of memory");
    p->other->arena.fail = &p->t->fail;
    p->other->totals = *t;
    gpu_times g = fill_layers(p, twice, p->other);
    pipeline line = pipeline_of(p->host, &p->data, 2 * (double)t->samples, p->accumulate, gpu_ms(g), t->pinned);
    add_change(p, "twice the batch", &line, t->workers, 2 * t->samples);
}

/* Binds the model to a larger batch for the prediction, then back. */
static void change_batch(planner *p)
{
    const sooth_train_totals *t = &p->t->totals;
    sooth_options dims = p->options->dims ? *p->options->dims : (sooth_options){0}, own = dims;
    sooth_error error;
    dims.batch = 2 * t->batch;
    own.batch = t->batch;
    sooth_predict_options settings = p->settings;
    settings.mode = "train";
    sooth_status status = sooth_bind(p->model, &dims, &error);
    if (status == SOOTH_OK)
        status = sooth_predict(p->model, &settings, &p->twice, &error);
    if (status == SOOTH_OK)
        add_batch(p, p->twice);
    if (status != SOOTH_ERROR_SYSTEM) /* After any other failure, no advice about that batch is given. */
        status = sooth_bind(p->model, &own, &error);
    if (status != SOOTH_OK)
        fail_with(&p->t->fail, status, "%s", error.message);
}

/* ---- together ---------------------------------------------------------------------------------------------------- */

/* Chooses the regions that the backward pass computes again, and predicts the step with them. */
static void checkpoint(planner *p, sooth_prediction **prediction)
{
    sooth_train *t = p->t;
    const char *modules = p->options->checkpoint_modules;
    double before_mib = sooth_prediction_memory(*prediction).total_mib.value;
    p->model->regions =
        modules ? train_regions_named(t, p->model, modules) : train_regions_of_least_memory(t, p->model, *prediction);
    lowered_forget(p->model);
    sooth_prediction_free(*prediction);
    *prediction = NULL;
    *prediction = predict(p, true);
    double after_mib = sooth_prediction_memory(*prediction).total_mib.value;
    train_note(t, arena_printf(&t->arena,
                               "Checkpoints: the backward pass computes %d %s again; the step needs %.0f MiB %s than "
                               "without.",
                               p->model->regions->count, modules ? "modules" : "segments", fabs(before_mib - after_mib),
                               after_mib > before_mib ? "more" : "less")
                      .ptr);
}

static void fill(planner *p, const sooth_prediction *prediction)
{
    sooth_train_totals *t = &p->t->totals;
    bool is_image;
    int64_t batch = sooth_prediction_totals_of(prediction).batch;
    double bytes = sample_bytes_of(p->model, batch, &is_image);
    p->data = train_data_of(p->options->data, bytes, is_image, &p->t->arena, &p->t->fail);
    set_totals(p, prediction);
    gpu_times g = fill_layers(p, prediction, p->t);
    if (t->memory.known)
        train_moments(p->t, prediction);
    train_findings(p->t);
    pipeline line = pipeline_of(p->host, &p->data, (double)t->samples, p->accumulate, gpu_ms(g), t->pinned);
    t->workers = p->options->workers            ? p->options->workers
                 : line.cores < DEFAULT_WORKERS ? line.cores
                                                : DEFAULT_WORKERS;
    set_step(p, &line, g);
    set_stages(p, &line, g, sooth_prediction_totals_of(prediction).latency_ms);
    change_host(p, &line);
}

/* Runs `fill` so that a failure still frees the prediction. */
static sooth_status fill_guarded(planner *p, const sooth_prediction *prediction)
{
    if (setjmp(p->t->fail.jump))
        return p->t->fail.error->code;
    fill(p, prediction);
    return SOOTH_OK;
}

static sooth_status make(planner *p, sooth_prediction **prediction)
{
    if (setjmp(p->t->fail.jump))
        return p->t->fail.error->code;
    p->library = train_library_chosen(p->options->library, &p->settings, p->gpu,
                                      sooth_host_number(p->host, "launch_us"), &p->t->fail);
    *prediction = predict(p, true);
    if (p->options->checkpoint || p->options->checkpoint_modules)
        checkpoint(p, prediction);
    return SOOTH_OK;
}

static sooth_status make_changes(planner *p)
{
    if (setjmp(p->t->fail.jump))
        return p->t->fail.error->code;
    change_batch(p);
    return SOOTH_OK;
}

sooth_status sooth_train_phase(sooth_model *model, const sooth_train_options *options, sooth_train **train,
                               sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    sooth_hosts *hosts = NULL;
    sooth_prediction *prediction = NULL;
    *train = NULL;
    sooth_train *t = train_new(e);
    if (!t)
        return e->code;
    sooth_gpus *gpus = NULL;
    planner p = {.t = t,
                 .model = model,
                 .options = options,
                 .settings = options->settings,
                 .gpu = options->settings.device,
                 .host = options->host,
                 .accumulate = options->accumulate > 0 ? options->accumulate : 1};
    sooth_status status = p.host ? SOOTH_OK : sooth_hosts_open(&hosts, e);
    if (status == SOOTH_OK && !p.host)
        status = sooth_hosts_find(hosts, DEFAULT_HOST, &p.host, e);
    if (status == SOOTH_OK && !p.gpu)
        status = sooth_gpus_open(NULL, &gpus, e);
    if (status == SOOTH_OK && !p.gpu)
        status = sooth_gpus_find(gpus, options->settings.gpu ? options->settings.gpu : DEFAULT_GPU, &p.gpu, e);
    if (status == SOOTH_OK)
        status = make(&p, &prediction);
    if (status == SOOTH_OK)
        status = fill_guarded(&p, prediction);
    sooth_prediction_free(prediction);
    if (status == SOOTH_OK)
        status = make_changes(&p);
    sooth_prediction_free(p.twice);
    if (model->regions) {
        model->regions = NULL;
        lowered_forget(model);
    }
    sooth_train_free(p.other);
    sooth_gpus_free(gpus);
    sooth_hosts_free(hosts);
    t->fail.error = NULL;
    if (status == SOOTH_OK)
        *train = t;
    else
        sooth_train_free(t);
    return status;
}
