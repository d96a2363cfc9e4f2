/* answer.c: the answer of `sooth measure` in the terms of `sooth train-phase`. */
#include "measure/measure.h"
#include "plan/train_phase.h"

#include <math.h>

static const char *kept(struct sooth_train *t, const char *s)
{
    return arena_str(&t->arena, str_of(s)).ptr;
}

/* Bytes that a layer must move at least: forward reads inputs and weights and writes the output; backward reads them
 * again with the gradient, and writes gradients. */
static double bytes_of(const run_net *net, const run_layer *l)
{
    double inputs = 0, weights = 0, output = l->output == NO_RUN ? 0 : (double)net->values[l->output].shape.elements;
    for (int i = 0; i < l->input_count; i++)
        inputs += (double)net->values[l->inputs[i]].shape.elements;
    for (int i = 0; i < RUN_PARAMS; i++)
        if (l->params[i] != NO_RUN && run_param_trains(&net->params[l->params[i]]))
            weights += (double)net->params[l->params[i]].shape.elements;
    return sizeof(float) * (3 * (inputs + weights) + 2 * output);
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
    bool needs_data = l->node != NO_RUN && m->net->values[l->inputs[0]].has_gradient;
    double passes = l->macs > 0 ? 2 + needs_data : 2;
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
    double flops = l->macs > 0 ? 2 * (double)l->macs : known.flops > 0 ? (double)known.flops : 0;
    double seconds = (to->forward_ms + to->backward_ms) / 1e3, bytes = bytes_of(m->net, l);
    to->flops = (int64_t)(flops * passes);
    to->efficiency = seconds > 0 ? 100 * flops * passes / seconds / m->machine.peak_flops_s : NAN;
    to->dram = seconds > 0 ? 100 * bytes / seconds / m->machine.bandwidth_bytes_s : NAN;
    to->bound = flops * passes / m->machine.peak_flops_s > bytes / m->machine.bandwidth_bytes_s ? "compute" : "memory";
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

void measure_answer(struct sooth_train *t, const sooth_model *model, const measured *m, int index)
{
    sooth_train_totals *to = &t->totals;
    to->file = kept(t, sooth_info_of(model).file);
    to->gpu = to->host = to->cpu = kept(t, m->machine.cpu);
    to->data = "none";
    to->precision = "fp32";
    to->optimizer = "sgd-momentum";
    to->runtime = run_library_name(m->runs[index].library);
    to->weights = "none";
    to->origin = "measured";
    to->batch = to->samples = m->net->batch;
    to->workers = 0;
    to->limited_by = "cores";
    t->layer_count = (size_t)m->net->layer_count;
    t->layers = ARENA_ARRAY(&t->arena, sooth_train_layer, t->layer_count);
    for (int i = 0; i < m->net->layer_count; i++)
        fill_layer(t, model, m, index, i);
    fill_stages(t, m, index);
    for (int i = 0; i < SOOTH_TRAIN_STAGES; i++)
        to->step_ms_sum += t->stages[i].latency_ms.value;
    to->step_ms_overlapped = to->step_ms_sum;
    to->throughput_per_s = (double)to->samples / to->step_ms_sum * 1e3;
    fill_memory(t, m, index);
}
