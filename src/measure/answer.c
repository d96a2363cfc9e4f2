/* answer.c: converts the answer of `sooth measure` to that of `sooth train-phase`. */
#include "measure/measure.h"
#include "plan/train_phase.h"

#include <math.h>

static const char *kept(struct sooth_train *t, const char *s)
{
    return arena_str(&t->arena, str_of(s)).ptr;
}

/* Elements of all tensors and trained parameters that a layer reads or writes. */
typedef struct layer_elements {
    double inputs, weights, output;
} layer_elements;

static layer_elements elements_of(const run_net *net, const run_layer *l)
{
    layer_elements e = {0};
    e.output = l->output == NO_RUN ? 0 : (double)net->values[l->output].shape.elements;
    for (int i = 0; i < l->input_count; i++)
        e.inputs += (double)net->values[l->inputs[i]].shape.elements;
    for (int i = 0; i < RUN_PARAMS; i++)
        if (l->params[i] != NO_RUN && run_param_trains(&net->params[l->params[i]]))
            e.weights += (double)net->params[l->params[i]].shape.elements;
    return e;
}

/* Least number of bytes that a pass moves. Forward: reads inputs and weights, writes the output. Backward by data:
 * reads the gradient and the weights (or inputs), writes the gradients of inputs. Backward by weights: reads the
 * gradient and the inputs, writes the gradients of weights. Update: reads weights, gradients and momentum, writes
 * weights and momentum. */
static double pass_bytes(const run_net *net, const run_layer *l, run_pass pass)
{
    layer_elements e = elements_of(net, l);
    bool is_product = l->macs > 0, needs_data = l->node != NO_RUN && net->values[l->inputs[0]].has_gradient;
    switch (pass) {
    case PASS_FORWARD:
        return sizeof(float) * (e.inputs + e.weights + e.output);
    case PASS_BACKWARD_DATA:
        if (is_product && !needs_data)
            return 0;
        return sizeof(float) * (e.output + e.inputs + (is_product ? e.weights : e.inputs));
    case PASS_BACKWARD_WEIGHTS:
        return is_product ? sizeof(float) * (e.output + e.inputs + e.weights) : 0;
    default:
        return sizeof(float) * 5 * e.weights;
    }
}

double measure_pass_flops(const measured *m, const sooth_model *model, int layer, run_pass pass)
{
    const run_layer *l = &m->net->layers[layer];
    bool needs_data = l->node != NO_RUN && m->net->values[l->inputs[0]].has_gradient;
    if (pass == PASS_UPDATE)
        return 4 * elements_of(m->net, l).weights;
    if (l->macs > 0)
        return pass == PASS_BACKWARD_DATA && !needs_data ? 0 : 2 * (double)l->macs;
    int64_t known = l->node == NO_RUN ? 0 : sooth_layer_at(model, (size_t)l->node).flops;
    return pass == PASS_BACKWARD_WEIGHTS || known < 0 ? 0 : (double)known;
}

double measure_roofline_ms(const measured *m, const sooth_model *model, int layer, run_pass pass)
{
    double compute = measure_pass_flops(m, model, layer, pass) / m->machine.peak_flops_s;
    double memory = pass_bytes(m->net, &m->net->layers[layer], pass) / m->machine.bandwidth_bytes_s;
    return 1e3 * fmax(compute, memory);
}

static double stage_ms(const measured_time ms[RUN_PASSES], run_pass pass)
{
    return ms[pass].median;
}

static void fill_layer(struct sooth_train *t, const sooth_model *model, const measured *m, int index, int i)
{
    const run_layer *l = &m->net->layers[i];
    const measured_layer *of = &m->runs[index].layers[i];
    sooth_layer known = l->node == NO_RUN ? (sooth_layer){.kind = ""} : sooth_layer_at(model, (size_t)l->node);
    sooth_train_layer *to = &t->layers[i];
    double flops = 0, bytes = 0;
    for (int pass = PASS_FORWARD; pass < PASS_UPDATE; pass++) {
        flops += measure_pass_flops(m, model, i, (run_pass)pass);
        bytes += pass_bytes(m->net, l, (run_pass)pass);
    }
    to->name = kept(t, l->name);
    to->op = kept(t, l->op);
    to->kind = kept(t, known.kind);
    to->library = kept(t, of->library);
    to->algorithm = kept(t, of->algorithm);
    to->forward_ms = stage_ms(of->ms, PASS_FORWARD);
    to->backward_data_ms = stage_ms(of->ms, PASS_BACKWARD_DATA);
    to->backward_weights_ms = stage_ms(of->ms, PASS_BACKWARD_WEIGHTS);
    to->backward_ms = to->backward_data_ms + to->backward_weights_ms;
    to->update_ms = stage_ms(of->ms, PASS_UPDATE);
    to->occupancy = to->sm_coverage = to->l2 = NAN;
    to->cudnn = to->cublas = (sooth_train_library){
        .forward_ms = NAN, .backward_ms = NAN, .efficiency = NAN, .algorithm = "", .workspace_bytes = -1};
    double seconds = (to->forward_ms + to->backward_ms) / 1e3;
    to->flops = (int64_t)flops;
    to->efficiency = seconds > 0 ? 100 * flops / seconds / m->machine.peak_flops_s : NAN;
    to->dram = seconds > 0 ? 100 * bytes / seconds / m->machine.bandwidth_bytes_s : NAN;
    to->bound = flops / m->machine.peak_flops_s > bytes / m->machine.bandwidth_bytes_s ? "compute" : "memory";
    to->workspace_bytes = of->workspace_bytes;
    for (int k = 0; k < RUN_PARAMS; k++) {
        const run_param *p = l->params[k] == NO_RUN ? NULL : &m->net->params[l->params[k]];
        if (!p)
            continue;
        int64_t own = p->shape.elements * (int64_t)sizeof(float);
        to->weight_bytes += own;
        to->gradient_bytes += run_param_trains(p) ? own : 0;
        to->optimizer_bytes += run_param_trains(p) ? own : 0;
    }
    const run_value *y = l->output == NO_RUN ? NULL : &m->net->values[l->output];
    to->feature_map_bytes = y && y->shares == NO_RUN ? y->shape.elements * (int64_t)sizeof(float) : 0;
    to->feature_map_peak_bytes = to->feature_map_bytes;
}

static void fill_stages(struct sooth_train *t, const measured *m, int index)
{
    static const char *const NAMES[] = {"read", "decode", "copy", "forward", "backward", "update"};
    for (int i = 0; i < SOOTH_TRAIN_STAGES; i++)
        t->stages[i] = (sooth_train_stage){.stage = NAMES[i], .resource = "cores", .resource_share = 0};
    t->stages[TRAIN_READ].resource = "storage";
    t->stages[TRAIN_COPY].resource = "link";
    for (int i = 0; i < m->net->layer_count; i++)
        for (int pass = 0; pass < RUN_PASSES; pass++) {
            int stage = pass == PASS_FORWARD ? TRAIN_FORWARD : pass == PASS_UPDATE ? TRAIN_UPDATE : TRAIN_BACKWARD;
            const measured_time *ms = &m->runs[index].layers[i].ms[pass];
            sooth_interval *to = &t->stages[stage].latency_ms;
            *to = (sooth_interval){
                .value = to->value + ms->median, .low = to->low + ms->low, .high = to->high + ms->high};
        }
}

static double mib(int64_t bytes)
{
    return (double)bytes / 1048576;
}

static void fill_memory(struct sooth_train *t, const measured *m, int index)
{
    const int64_t *bytes = m->runs[index].bytes;
    int64_t sum = 0;
    sooth_memory *to = &t->totals.memory;
    for (int i = 0; i < RUN_PARTS; i++)
        sum += bytes[i];
    to->known = true;
    to->weights_mib = mib(bytes[PART_WEIGHTS]);
    to->gradients_mib = mib(bytes[PART_GRADIENTS]);
    to->optimizer_mib = mib(bytes[PART_OPTIMIZER]);
    to->activations_mib = mib(bytes[PART_FEATURE_MAPS] + bytes[PART_MAP_GRADIENTS]);
    to->workspace_mib = mib(bytes[PART_WORKSPACE]);
    to->total_mib = (sooth_interval){.value = mib(sum), .low = mib(sum), .high = mib(sum)};
    to->capacity_mib = m->machine.memory_mib;
}

/* One core reads, decodes and augments a batch. Loading takes cores from the training step, so the two never overlap
 * for free. */
static void fill_pipeline(struct sooth_train *t, const measured *m)
{
    const image_times *of = &m->images;
    double batch = (double)m->net->batch;
    sooth_train_totals *to = &t->totals;
    if (!of->images) {
        to->data = "none";
        if (m->images_missing)
            train_note(t, m->images_missing);
        return;
    }
    t->stages[TRAIN_READ].latency_ms = (sooth_interval){
        .value = batch * of->read_cold.median, .low = batch * of->read_cold.low, .high = batch * of->read_cold.high};
    t->stages[TRAIN_DECODE].latency_ms = (sooth_interval){.value = batch * (of->decode.median + of->augment.median),
                                                          .low = batch * (of->decode.low + of->augment.low),
                                                          .high = batch * (of->decode.high + of->augment.high)};
    to->data =
        arena_printf(&t->arena, "%d JPEG files of %d x %d, %.0f kB", of->images, of->wide, of->high, of->bytes / 1e3)
            .ptr;
    to->workers = of->workers;
    to->loader_ms = batch * of->loader_ms;
    train_note(t, arena_printf(&t->arena,
                               "per image: read %.3f ms cold, %.3f warm, decode %.3f, crop, resize and normalize %.3f; "
                               "%.3f by %d workers together",
                               of->read_cold.median, of->read_warm.median, of->decode.median, of->augment.median,
                               of->loader_ms, of->workers)
                      .ptr);
}

/* Finds the stage that takes most of the step. Loading and layers share the cores, so their times add up. */
static void fill_step(struct sooth_train *t)
{
    sooth_train_totals *to = &t->totals;
    double most = 0, layers_ms = 0;
    for (int i = 0; i < SOOTH_TRAIN_STAGES; i++) {
        double ms = t->stages[i].latency_ms.value;
        to->step_ms_sum += ms;
        layers_ms += i >= TRAIN_FORWARD ? ms : 0;
        if (ms > most) {
            most = ms;
            to->limited_by = t->stages[i].stage;
        }
    }
    to->step_ms_overlapped = layers_ms + to->loader_ms;
    for (int i = 0; i < SOOTH_TRAIN_STAGES; i++)
        t->stages[i].resource_share = to->step_ms_sum > 0 ? 100 * t->stages[i].latency_ms.value / to->step_ms_sum : 0;
    to->gpu_waits_percent = 100 * to->loader_ms / to->step_ms_overlapped;
    to->workers_needed = to->workers;
    to->throughput_per_s = (double)to->samples / to->step_ms_overlapped * 1e3;
}

/* ---- the study's findings ---------------------------------------------------------------------------------------- */

static const double STUDY_LIBRARIES = 2, STUDY_CONVOLUTION = 1.5, STUDY_MEMORY_PERCENT = 20;

/* Time of forward and backward, and FLOP/s as a share of the peak, over one kind of layer by one library. */
static double kind_ms(const measured *m, const sooth_model *model, int index, run_kind kind, double *efficiency)
{
    double ms = 0, flops = 0;
    for (int i = 0; i < m->net->layer_count; i++)
        for (int pass = PASS_FORWARD; m->net->layers[i].kind == kind && pass < PASS_UPDATE; pass++) {
            ms += m->runs[index].layers[i].ms[pass].median;
            flops += measure_pass_flops(m, model, i, (run_pass)pass);
        }
    *efficiency = ms > 0 ? 100 * flops / (ms / 1e3) / m->machine.peak_flops_s : NAN;
    return ms;
}

static int run_by(const measured *m, run_library library)
{
    for (int i = 0; i < m->run_count; i++)
        if (m->runs[i].library == library)
            return i;
    return NO_RUN;
}

static void add_finding(struct sooth_train *t, const char *name, double value, double study, bool holds,
                        const char *why)
{
    t->findings[t->finding_count++] =
        (sooth_train_finding){.name = name, .value = value, .study = study, .holds = holds, .why = why};
}

static void fill_findings(struct sooth_train *t, const sooth_model *model, const measured *m, int index)
{
    int one = run_by(m, LIBRARY_ONEDNN), blas = run_by(m, LIBRARY_OPENBLAS);
    double conv, linear, own, other;
    const sooth_memory *memory = &t->totals.memory;
    if (one != NO_RUN && blas != NO_RUN) {
        double ratio = kind_ms(m, model, blas, RUN_CONV, &other) / kind_ms(m, model, one, RUN_CONV, &own);
        add_finding(t, "onednn_over_openblas", ratio, STUDY_LIBRARIES, ratio >= STUDY_LIBRARIES,
                    isfinite(ratio) ? arena_printf(&t->arena,
                                                   "convolutions reach %.1f %% of the peak by oneDNN, %.1f %% by "
                                                   "im2col and OpenBLAS",
                                                   own, other)
                                          .ptr
                                    : "the network has no convolution");
    }
    kind_ms(m, model, index, RUN_CONV, &conv);
    kind_ms(m, model, index, RUN_LINEAR, &linear);
    add_finding(t, "convolution_over_linear", conv / linear, STUDY_CONVOLUTION, conv / linear >= STUDY_CONVOLUTION,
                isfinite(conv / linear)
                    ? arena_printf(&t->arena, "convolutions reach %.1f %% of the peak, fully connected layers %.1f %%",
                                   conv, linear)
                          .ptr
                    : "the network has no convolution, or no fully connected layer");
    double share = 100 * memory->total_mib.value / memory->capacity_mib;
    add_finding(t, "memory_share", share, STUDY_MEMORY_PERCENT, share <= STUDY_MEMORY_PERCENT,
                arena_printf(&t->arena, "%.0f of %.0f MiB at batch %d, %.0f of them feature maps and their gradients",
                             memory->total_mib.value, memory->capacity_mib, (int)m->net->batch, memory->activations_mib)
                    .ptr);
}

void measure_answer(struct sooth_train *t, const sooth_model *model, const measured *m, int index)
{
    sooth_train_totals *to = &t->totals;
    to->file = kept(t, sooth_info_of(model).file);
    to->gpu = to->host = to->cpu = kept(t, m->machine.cpu);
    to->precision = "fp32";
    to->optimizer = "sgd-momentum";
    to->runtime = run_library_name(m->runs[index].library);
    to->weights = "";
    to->library = to->runtime;
    to->cudnn = "";
    to->origin = "measured";
    to->batch = to->samples = m->net->batch;
    to->limited_by = "none";
    t->layer_count = (size_t)m->net->layer_count;
    t->layers = ARENA_ARRAY(&t->arena, sooth_train_layer, t->layer_count);
    for (int i = 0; i < m->net->layer_count; i++)
        fill_layer(t, model, m, index, i);
    fill_stages(t, m, index);
    fill_pipeline(t, m);
    fill_step(t);
    fill_memory(t, m, index);
    fill_findings(t, model, m, index);
}
