/* predict.c: the public functions for predictions. Their failures are caught here. */
#include "base/nearest.h"
#include "device/host.h"
#include "device/mig.h"
#include "predict/answer.h"
#include "predict/losses.h"
#include "predict/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const size_t WEIGHTS_CAP = (size_t)1 << 30;
static const char *const DEFAULT_GPU = "a100-sxm4-40gb";

/* ---- weights ----------------------------------------------------------------------------------------------------- */

struct sooth_predictor {
    fail fail;
    arena arena;
    file_map map;
    const predictor *weights;
};

static sooth_status read_weights(sooth_predictor *p, const char *path)
{
    if (setjmp(p->fail.jump))
        return p->fail.error->code;
    file_open(&p->map, path, &p->fail);
    file_inflate(&p->map, &p->fail);
    p->weights = predictor_read((str){(const char *)p->map.bytes, p->map.size}, "", &p->arena, &p->fail);
    return SOOTH_OK;
}

sooth_status sooth_predictor_open(const char *path, sooth_predictor **result, sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *result = NULL;
    if (!path)
        return error_say(e, SOOTH_ERROR_USAGE, "no path is given; name a file of weights");
    sooth_predictor *p = calloc(1, sizeof *p);
    if (!p)
        return error_say(e, SOOTH_ERROR_SYSTEM, "out of memory");
    p->fail.error = e;
    p->map.descriptor = -1;
    arena_init(&p->arena, &p->fail, WEIGHTS_CAP);
    sooth_status status = read_weights(p, path);
    p->fail.error = NULL;
    if (status == SOOTH_OK)
        *result = p;
    else
        sooth_predictor_free(p);
    return status;
}

void sooth_predictor_free(sooth_predictor *predictor)
{
    if (!predictor)
        return;
    file_close(&predictor->map);
    arena_free(&predictor->arena);
    free(predictor);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static bool set_part(setting *where, setting_part part, const char *name, fail *f)
{
    bool is_choice = !name || strcmp(name, SETTING_NOT_NOTED) != 0;
    if (!name || (is_choice && setting_set(where, part, str_of(name))))
        return true;
    nearest near = nearest_to(str_of(name));
    const char *choice;
    for (size_t i = 0; (choice = setting_choice(part, i)); i++)
        nearest_try(&near, str_of(choice));
    if (near.best.len)
        fail_with(f, SOOTH_ERROR_USAGE, "there is no %s '%.60s'; did you mean '%.*s'?", setting_part_name(part), name,
                  STR_ARG(near.best));
    char names[256] = "";
    for (size_t i = 0, used = 0; (choice = setting_choice(part, i)) && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", choice);
    fail_with(f, SOOTH_ERROR_USAGE, "there is no %s '%.60s'; choose one of %s", setting_part_name(part), name, names);
}

/* Returns the requested slice of the GPU, in the arena; the GPU itself if `name` is NULL. */
static const device *slice_of(const device *whole, const char *name, arena *a, fail *f)
{
    if (!name || !*name)
        return whole;
    if (whole->profile)
        fail_with(f, SOOTH_ERROR_USAGE, "a slice cannot be divided into slices: give the whole GPU");
    if (!whole->slices)
        fail_with(f, SOOTH_ERROR_USAGE, "%.*s has no slices (MIG): omit '%.60s'", STR_ARG(whole->texts[DEVICE_NAME]),
                  name);
    const mig_profile *profile = mig_find(whole->slices, str_of(name));
    if (!profile)
        fail_with(f, SOOTH_ERROR_USAGE, "%.*s has no slice '%.60s'; it has %s", STR_ARG(whole->texts[DEVICE_NAME]),
                  name, mig_names(whole->slices, a).ptr);
    device *slice = ARENA_NEW(a, device);
    device_slice(slice, whole, profile);
    return slice;
}

/* Returns a note about the precision, or NULL. */
static const char *read_options(setting *where, const sooth_predict_options *o, const source *file, fail *f)
{
    const char *note = NULL;
    set_part(where, SETTING_LAYOUT, o->layout, f);
    set_part(where, SETTING_RUNTIME, o->runtime, f);
    set_part(where, SETTING_MODE, o->mode, f);
    set_part(where, SETTING_OPTIMIZER, o->optimizer, f);
    if (o->precision && *o->precision)
        set_part(where, SETTING_PRECISION, o->precision, f);
    else
        note = setting_follow_file(where, &file->own_types);
    if (o->kv_cache_bits && o->kv_cache_bits != 8 && o->kv_cache_bits != 16)
        fail_with(f, SOOTH_ERROR_USAGE, "a KV cache of %d bits is not possible: choose 8 or 16", o->kv_cache_bits);
    if (o->kv_cache_bits)
        where->lower.narrow_cache = o->kv_cache_bits == 8;
    if (o->stack)
        setting_set_stack(where, str_of(o->stack));
    setting_settle(where);
    where->on_own_host = o->source && *o->source;
    if (o->source)
        source_follow(where, str_of(o->source), f);
    return note;
}

/* Launch time of the reference host, as files of hosts state it. */
static const double REFERENCE_LAUNCH_US = 5;

static void find_host(setting *where, str *shown, const char *name, arena *a, fail *f)
{
    *shown = STR("reference");
    if (!name || !*name || strcmp(name, "reference") == 0)
        return;
    if (strcmp(name, "measured") == 0) {
        where->on_measured_host = true;
        *shown = STR("measured");
        return;
    }
    sooth_hosts *hosts;
    const sooth_host *found;
    sooth_error error;
    sooth_status status = sooth_hosts_open(&hosts, &error);
    if (status == SOOTH_OK)
        status = sooth_hosts_find(hosts, name, &found, &error);
    if (status == SOOTH_OK) {
        double launch_us = found->numbers[HOST_LAUNCH_US];
        where->launch_share = launch_us > 0 ? launch_us / REFERENCE_LAUNCH_US : 1;
        *shown = arena_str(a, found->texts[HOST_NAME]);
    }
    sooth_hosts_free(hosts);
    if (status != SOOTH_OK)
        fail_with(f, status, "%s", error.message);
}

const char *sooth_predict_choice(const char *part, size_t index)
{
    for (setting_part p = SETTING_PRECISION; p <= SETTING_OPTIMIZER; p++)
        if (strcmp(setting_part_name(p), part) == 0)
            return setting_choice(p, index);
    return NULL;
}

/* ---- predicting -------------------------------------------------------------------------------------------------- */

/* Lowest power limit that drivers accept, as a share of the board's power. */
static const double LEAST_POWER_SHARE = 0.2;

/* A separate function, because longjmp may lose local changes in the caller of setjmp. `is_settled` is true once only
 * the model can cause a failure. */
static sooth_status make(sooth_prediction *answer, sooth_model *model, const sooth_predict_options *options,
                         memory_trial *trial, arena *trial_arena, bool *is_settled)
{
    if (setjmp(model->fail.jump))
        return model->fail.error->code;
    setting where = setting_default();
    where.device = slice_of(options->device, options->mig, &answer->arena, &model->fail);
    const char *type_note = read_options(&where, options, &model->source, &model->fail);
    str host_name;
    find_host(&where, &host_name, options->host, &answer->arena, &model->fail);
    where.has_graph = options->cuda_graphs;
    bool keeps_last = where.lower.layout == LAYOUT_NCHW && lower_keeps_channels_last(&model->net);
    if (keeps_last)
        where.lower.layout = LAYOUT_NHWC;
    const predictor *with = options->predictor ? options->predictor->weights : predictor_shipped(&model->fail);
    double tdp = options->device->numbers[DEVICE_TDP_W];
    double limit = options->power_limit_w;
    if (limit != 0 && !(limit >= LEAST_POWER_SHARE * tdp && limit <= tdp)) /* 0 means the board's default. */
        fail_with(&model->fail, SOOTH_ERROR_USAGE,
                  "a power limit of %g W is not possible: boards of %.*s accept %.0f to %.0f W", limit,
                  STR_ARG(options->device->texts[DEVICE_NAME]), LEAST_POWER_SHARE * tdp, tdp);
    const char *refusal = setting_refusal(&where);
    if (refusal)
        fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED, "%.*s: %s", STR_ARG(where.device->texts[DEVICE_NAME]),
                  refusal);
    if (options->co2_g_per_kwh < 0 || !isfinite(options->co2_g_per_kwh))
        fail_with(&model->fail, SOOTH_ERROR_USAGE, "%g g of CO2 per kWh is not possible", options->co2_g_per_kwh);
    int percent = options->interval_percent ? options->interval_percent : 90;
    if (interval_level(percent) < 0)
        fail_with(&model->fail, SOOTH_ERROR_USAGE, "the level of intervals is 50, 80, 90, 95 or 99 %%, not %d",
                  percent);
    *is_settled = true;
    if (trial) {
        answer_make_trial(answer, model, &where, trial, trial_arena);
        return SOOTH_OK;
    }
    bool engine_layout = where.lower.runtime == RUNTIME_ENGINE && !(options->stack && *options->stack) &&
                         !where.on_own_host && !keeps_last;
    if (engine_layout) /* An engine chooses the layout itself. */
        where.lower.layout = LAYOUT_NCHW;
    answer_make(answer, model, with, &where, options->power_limit_w, options->co2_g_per_kwh, options->memory);
    answer_set_level(answer, percent);
    bool on_measured = where.on_own_host || answer->times->stack_is_measured;
    answer->totals.host = where.has_graph                                                       ? "CUDA graph"
                          : on_measured && !(where.launch_share > 0) && !where.on_measured_host ? "measured"
                                                                                                : host_name.ptr;
    if (options->optimizer && *options->optimizer && where.lower.mode != MODE_TRAIN)
        *(const char **)ARENA_PUSH(&answer->arena, &answer->notes) =
            "An optimizer applies to training only: add --mode train.";
    if (type_note)
        *(const char **)ARENA_PUSH(&answer->arena, &answer->notes) = type_note;
    if (keeps_last && options->layout)
        *(const char **)ARENA_PUSH(&answer->arena, &answer->notes) =
            "The file is channels-last and runs in that layout: nhwc.";
    return SOOTH_OK;
}

/* Adds notes of the file, because a dimension that it leaves open may be why lowering fails. */
static void add_file_notes(sooth_error *e, const sooth_model *model)
{
    for (int32_t i = 0; i < model->source.notes.count; i++)
        error_add(e, "; from the file: %.*s", STR_ARG(model->source.notes.items[i]));
}

static sooth_status predict_on(sooth_model *model, const sooth_predict_options *options, memory_trial *trial,
                               arena *trial_arena, sooth_prediction **result, sooth_error *e)
{
    sooth_prediction *answer = calloc(1, sizeof *answer);
    if (!answer)
        return error_say(e, SOOTH_ERROR_SYSTEM, "out of memory");
    model->fail.error = e;
    arena_init(&answer->arena, &model->fail, lowered_memory_cap(model));
    /* Larger than most answers, so that malloc keeps this much memory for the next one. */
    answer->arena.block_bytes = (size_t)512 * 1024;
    bool is_settled = false;
    sooth_status status = make(answer, model, options, trial, trial_arena, &is_settled);
    if (status == SOOTH_ERROR_UNSUPPORTED && is_settled)
        add_file_notes(e, model);
    model->fail.error = NULL;
    lowered_end_holds(model);
    answer->arena.fail = NULL; /* The model may be freed before the prediction, which allocates no more. */
    if (status == SOOTH_OK)
        *result = answer;
    else
        sooth_prediction_free(answer);
    return status;
}

sooth_status predict_device(const sooth_predict_options *options, sooth_gpus **opened, const sooth_gpu **device,
                            sooth_error *error)
{
    *opened = NULL;
    *device = options->device;
    if (*device)
        return SOOTH_OK;
    sooth_status status = sooth_gpus_open(NULL, opened, error);
    if (status == SOOTH_OK)
        status = sooth_gpus_find(*opened, options->gpu && *options->gpu ? options->gpu : DEFAULT_GPU, device, error);
    return status;
}

sooth_status predict_trial(sooth_model *model, const sooth_predict_options *options, memory_trial *trial, arena *a,
                           sooth_error *error)
{
    sooth_prediction *prediction = NULL;
    a->fail = &model->fail;
    sooth_status status = predict_on(model, options, trial, a, &prediction, error);
    a->fail = NULL;
    sooth_prediction_free(prediction);
    return status;
}

/* A separate function, because it calls setjmp, as make() does. */
static sooth_status interpolate(fail *f, const memory_trial *one, const memory_trial *other, int64_t batch,
                                footprint *result, bool *is_known, arena *scratch)
{
    if (setjmp(f->jump))
        return f->error->code;
    *is_known = memory_trial_between(one, other, batch, result, scratch);
    return SOOTH_OK;
}

sooth_status predict_between(sooth_model *model, const memory_trial *one, const memory_trial *other, int64_t batch,
                             footprint *f, bool *is_known, sooth_error *error)
{
    arena scratch;
    model->fail.error = error;
    arena_init(&scratch, &model->fail, lowered_memory_cap(model));
    scratch.block_bytes = (size_t)512 * 1024; /* Size of an answer's arena. */
    sooth_status status = interpolate(&model->fail, one, other, batch, f, is_known, &scratch);
    arena_free(&scratch);
    model->fail.error = NULL;
    return status;
}

sooth_status sooth_predict(sooth_model *model, const sooth_predict_options *options, sooth_prediction **result,
                           sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *result = NULL;
    if (!model->is_bound)
        return error_say(e, SOOTH_ERROR_USAGE, "the model has no dimensions yet: call sooth_bind before sooth_predict");
    sooth_predict_options chosen = options ? *options : (sooth_predict_options){0};
    sooth_gpus *gpus;
    sooth_status status = predict_device(&chosen, &gpus, &chosen.device, e);
    if (status == SOOTH_OK)
        status = predict_on(model, &chosen, NULL, NULL, result, e);
    sooth_gpus_free(gpus);
    return status;
}

void sooth_prediction_free(sooth_prediction *prediction)
{
    if (!prediction)
        return;
    lowered_release(prediction->lowered);
    arena_free(&prediction->arena);
    free(prediction);
}

sooth_prediction_totals sooth_prediction_totals_of(const sooth_prediction *prediction)
{
    return prediction->totals;
}

sooth_losses sooth_prediction_losses(const sooth_prediction *prediction)
{
    return losses_of(prediction);
}

/* Returns the launched kernel with this index in the program, or the next one, because views launch nothing; the number
 * of launched kernels if there is none. */
static size_t launched_from(const sooth_prediction *prediction, int32_t index)
{
    size_t low = 0, high = (size_t)prediction->kernel_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (prediction->kernels[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

sooth_memory sooth_prediction_memory(const sooth_prediction *prediction)
{
    const footprint *f = prediction->memory;
    if (!f)
        return (sooth_memory){.known = false};
    size_t peak = launched_from(prediction, f->use->peak_kernel);
    return (sooth_memory){
        .known = true,
        .total_mib = answer_at_level(prediction, (sooth_interval){f->value_mib, f->low_mib, f->high_mib}),
        .weights_mib = f->parts_mib[MEMORY_WEIGHTS],
        .gradients_mib = f->parts_mib[MEMORY_GRADIENTS],
        .optimizer_mib = f->parts_mib[MEMORY_OPTIMIZER],
        .inputs_mib = f->parts_mib[MEMORY_INPUTS],
        .activations_mib = f->parts_mib[MEMORY_ACTIVATIONS],
        .workspace_mib = f->parts_mib[MEMORY_WORKSPACE],
        .cache_mib = f->cache_mib,
        .context_mib = f->context_mib,
        .capacity_mib = f->capacity_mib,
        .fits = f->fits,
        .fits_upper = f->fits && f->high_mib <= f->capacity_mib,
        .limit = f->limit,
        .peak_kernel = peak < (size_t)prediction->kernel_count ? peak : SIZE_MAX,
    };
}

static double *part_of(sooth_memory_parts *parts, memory_part part)
{
    double *const all[MEMORY_PART_COUNT] = {
        [MEMORY_WEIGHTS] = &parts->weights_mib,         [MEMORY_GRADIENTS] = &parts->gradients_mib,
        [MEMORY_OPTIMIZER] = &parts->optimizer_mib,     [MEMORY_INPUTS] = &parts->inputs_mib,
        [MEMORY_ACTIVATIONS] = &parts->activations_mib, [MEMORY_WORKSPACE] = &parts->workspace_mib};
    return all[part];
}

/* Each tensor is added at its first kernel and subtracted after its last; sums from the first kernel on then are the
 * bytes alive. */
void sooth_prediction_memory_parts(const sooth_prediction *prediction, sooth_memory_parts *parts)
{
    const footprint *f = prediction->memory;
    size_t count = (size_t)prediction->kernel_count;
    const double mib = 1024 * 1024;
    memset(parts, 0, count * sizeof *parts);
    if (!f || !count)
        return;
    const memory_requests *of = f->use->requests;
    for (int i = 0; i < MEMORY_PART_COUNT; i++)
        *part_of(&parts[0], i) = (double)of->parts_before[i] / mib;
    for (int32_t i = 0; i < of->made.count; i++) {
        const held_storage *s = &of->made.items[i];
        size_t first = launched_from(prediction, s->birth),
               after = s->death == INT32_MAX ? count : launched_from(prediction, s->death + 1);
        if (first < count)
            *part_of(&parts[first], s->part) += (double)s->bytes / mib;
        if (after < count)
            *part_of(&parts[after], s->part) -= (double)s->bytes / mib;
    }
    for (size_t k = 0; k < count; k++) {
        double sum = 0;
        for (int i = 0; i < MEMORY_WORKSPACE; i++) {
            *part_of(&parts[k], i) += k ? *part_of(&parts[k - 1], i) : 0;
            sum += *part_of(&parts[k], i);
        }
        double rest = (double)f->use->of_kernel[prediction->kernels[k].index] / mib - sum;
        parts[k].workspace_mib = rest > 0 ? rest : 0;
    }
}

size_t sooth_predicted_layer_count(const sooth_prediction *prediction)
{
    return (size_t)prediction->layer_count;
}

sooth_predicted_layer sooth_predicted_layer_at(const sooth_prediction *prediction, size_t index)
{
    return index < (size_t)prediction->layer_count ? prediction->layers[index]
                                                   : (sooth_predicted_layer){.name = "", .op = "", .bound = "none"};
}

size_t sooth_predicted_kernel_count(const sooth_prediction *prediction)
{
    return (size_t)prediction->kernel_count;
}

static int64_t all_runs(const kernel *k, int64_t one)
{
    int64_t all;
    return __builtin_mul_overflow(one, k->repeat, &all) ? INT64_MAX : all;
}

sooth_predicted_kernel sooth_predicted_kernel_at(const sooth_prediction *prediction, size_t index)
{
    static const char *const PHASES[] = {
        [PHASE_FORWARD] = "forward", [PHASE_BACKWARD] = "backward", [PHASE_UPDATE] = "update"};
    if (index >= (size_t)prediction->kernel_count)
        return (sooth_predicted_kernel){.op = "", .name = "", .phase = "", .bound = "none", .layer = SIZE_MAX};
    const launched_kernel *l = &prediction->kernels[index];
    const kernel *k = &prediction->program->kernels.items[l->index];
    const kernel_time *t = &prediction->times->kernels[l->index];
    const kernel_figures *f = t->figures;
    double runs = (double)k->repeat;
    return (sooth_predicted_kernel){
        .op = kernel_name(k),
        .name = l->name,
        .layer = (size_t)l->layer,
        .phase = PHASES[k->phase],
        .algorithm = f->algorithm,
        .reason = f->reason,
        .bound = bound_name(f->bound),
        .is_hidden = k->flags & KERNEL_HIDDEN,
        .op_known = !(k->flags & KERNEL_UNKNOWN),
        .repeat = k->repeat,
        .latency_ms = l->latency_ms,
        .energy_j = l->energy_j,
        .device_us = t->device_us * runs,
        .host_us = f->host_us * runs,
        .compute_us = f->compute_us * runs,
        .memory_us = f->memory_us * runs,
        .flops = all_runs(k, k->flops),
        .bytes = all_runs(k, k->bytes_read + k->bytes_written),
        .gemm = {f->gemm[0], f->gemm[1], f->gemm[2], f->gemm[3]},
        .blocks = f->blocks,
        .waves = f->waves,
        .wave_efficiency = 100 * f->wave_efficiency,
        .occupancy = 100 * f->occupancy,
        .input_count = (size_t)prediction->lowered->tensors[l->index].input_count,
        .output_count = (size_t)prediction->lowered->tensors[l->index].output_count,
        .allocated_bytes = prediction->memory ? prediction->memory->use->of_kernel[l->index] : 0,
        .reserved_bytes = prediction->memory ? prediction->memory->use->reserved_of_kernel[l->index] : 0,
        .is_again = k->flags & KERNEL_AGAIN,
    };
}

static sooth_predicted_tensor tensor_at(const program *p, const tensor_id *tensors, int32_t count, size_t index)
{
    if (index >= (size_t)count)
        return (sooth_predicted_tensor){.dtype = ""};
    const placed_tensor *t = &p->tensors.items[tensors[index]];
    return (sooth_predicted_tensor){
        .dtype = dtype_name(t->dtype), .rank = t->rank, .dims = t->dims, .is_weight = t->is_weight};
}

/* Returns the tensors of a kernel; none if `kernel` is after the last one. */
static device_tensors tensors_of(const sooth_prediction *prediction, size_t index)
{
    return index < (size_t)prediction->kernel_count ? prediction->lowered->tensors[prediction->kernels[index].index]
                                                    : (device_tensors){0};
}

sooth_predicted_tensor sooth_predicted_input(const sooth_prediction *prediction, size_t kernel_index, size_t index)
{
    device_tensors held = tensors_of(prediction, kernel_index);
    return tensor_at(prediction->program, held.inputs, held.input_count, index);
}

sooth_predicted_tensor sooth_predicted_output(const sooth_prediction *prediction, size_t kernel_index, size_t index)
{
    device_tensors held = tensors_of(prediction, kernel_index);
    return tensor_at(prediction->program, held.outputs, held.output_count, index);
}

/* The kernel at `index` among those launched; NULL after the last. */
static const kernel *launched(const sooth_prediction *prediction, size_t index)
{
    return index < (size_t)prediction->kernel_count
               ? &prediction->program->kernels.items[prediction->kernels[index].index]
               : NULL;
}

const char *sooth_predicted_fused(const sooth_prediction *prediction, size_t kernel_index, size_t index)
{
    const kernel *k = launched(prediction, kernel_index);
    return k && index < (size_t)k->fused_count ? k->fused[index] : NULL;
}

const char *sooth_prediction_note(const sooth_prediction *prediction, size_t index)
{
    return index < (size_t)prediction->notes.count ? prediction->notes.items[index] : NULL;
}

const char *sooth_prediction_layers_note(const sooth_prediction *prediction)
{
    return prediction->layers_note;
}

const char *sooth_prediction_unknown(const sooth_prediction *prediction, size_t index, size_t *count)
{
    if (index >= (size_t)prediction->unknown.count)
        return NULL;
    *count = prediction->unknown.items[index].count;
    return prediction->unknown.items[index].op;
}
