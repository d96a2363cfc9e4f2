/* predict_json.c: `sooth predict --format json`. Scripts read it: fields may be added, never renamed. A figure that
 * cannot be computed has no field. */
#include "report/json.h"
#include "report/predict_memory.h"

#include <math.h>

enum { SCHEMA = 1 }; /* version of the fields: doc/json.md */

/* Writes null if unknown. */
static void pair_bool_if(json *j, const char *key, bool is_known, bool value)
{
    json_key(j, key);
    if (is_known)
        json_bool(j, value);
    else
        json_null(j);
}

static void header(json *j, const sooth_prediction_totals *t)
{
    json_key(j, "model");
    json_open(j, '{', true);
    json_pair_string(j, "file", t->file);
    json_pair_string(j, "format", t->format);
    json_pair_string(j, "producer", t->producer);
    json_pair_string(j, "graph", t->graph_name);
    json_close(j, '}');
    json_pair_string(j, "gpu", t->gpu);
    json_pair_number(j, "batch", t->batch);
    json_pair_string(j, "precision", t->precision);
    json_pair_string(j, "arithmetic", t->arithmetic);
    json_pair_string(j, "layout", t->layout);
    json_pair_string(j, "runtime", t->runtime);
    json_pair_string(j, "mode", t->mode);
    json_pair_text(j, "optimizer", strcmp(t->mode, "train") == 0 ? t->optimizer : NULL);
    json_pair_text(j, "stack", t->stack);
    json_pair_string(j, "host", t->host);
    json_pair_text(j, "mig", t->mig); /* null: the whole GPU */
}

static void totals(json *j, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    json_pair_interval(j, "latency_ms", t->latency_ms);
    json_pair_number(j, "interval_percent", t->interval_percent);
    json_pair_string(j, "interval_kind", t->interval_kind);
    json_pair_interval(j, "energy_j", t->energy_j);
    json_pair_interval(j, "power_w", t->power_w);
    json_pair_string(j, "energy_interval_kind", t->energy_interval_kind);
    json_pair_real(j, "power_limit_w", t->power_limit_w);
    json_pair_real(j, "energy_j_per_1000", t->energy_j_per_1000);
    if (isfinite(t->co2_g))
        json_pair_real(j, "co2_g", t->co2_g);
    json_pair_real(j, "throughput_per_s", t->throughput_per_s);
    json_key(j, "utilization");
    json_open(j, '{', true);
    json_pair_real(j, "compute", t->compute_share);
    json_pair_real(j, "dram", t->dram_share);
    json_pair_real(j, "occupancy", t->occupancy);
    json_pair_real(j, "wave_efficiency", t->wave_efficiency);
    json_pair_real(j, "layers_mean", t->layer_share);
    json_close(j, '}');
    json_pair_number(j, "flops", t->flops);
    json_pair_number(j, "bytes", t->bytes);
    json_pair_real(j, "device_ms", t->device_ms);
    json_pair_real(j, "host_ms", t->host_ms);
    bound_shares bounds = predict_bounds(p);
    json_key(j, "bound_ms");
    json_open(j, '{', true);
    json_pair_real(j, "compute", bounds.compute_ms);
    json_pair_real(j, "memory", bounds.memory_ms);
    json_pair_real(j, "launch", bounds.launch_ms);
    json_close(j, '}');
    json_key(j, "ideal_ms");
    json_open(j, '{', true);
    json_pair_real(j, "value", t->ideal_compute_ms + t->ideal_memory_ms + t->ideal_launch_ms);
    json_pair_real(j, "compute", t->ideal_compute_ms);
    json_pair_real(j, "memory", t->ideal_memory_ms);
    json_pair_real(j, "launch", t->ideal_launch_ms);
    json_close(j, '}');
}

/* Layers below this share of the peak are omitted. */
static const double LEAST_SHARE = 0.005;

static void memory_peak(predict_report *r, json *j, const sooth_prediction *p, const sooth_memory *m)
{
    size_t count;
    const size_t *order = memory_largest_layers(r, p, &count);
    json_key(j, "memory_peak");
    json_open(j, '{', true);
    json_key(j, "layer");
    if (m->peak_kernel == SIZE_MAX) {
        json_null(j);
    } else {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, m->peak_kernel);
        json_string(j, sooth_predicted_layer_at(p, k.layer).name);
        json_pair_string(j, "op", k.op);
        json_pair_string(j, "phase", k.phase);
    }
    json_key(j, "layers");
    json_open(j, '[', false);
    for (size_t i = 0; i < count; i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(p, order[i]);
        double mib = (double)l.peak_bytes / (1024 * 1024);
        if (mib < LEAST_SHARE * m->activations_mib)
            break;
        json_open(j, '{', true);
        json_pair_string(j, "name", l.name);
        json_pair_string(j, "op", l.op);
        json_pair_real(j, "mib", mib);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void memory_moment(json *j, const sooth_memory_parts *parts)
{
    json_key(j, "parts");
    json_open(j, '{', true);
    json_pair_real(j, "weights", parts->weights_mib);
    json_pair_real(j, "gradients", parts->gradients_mib);
    json_pair_real(j, "optimizer", parts->optimizer_mib);
    json_pair_real(j, "inputs", parts->inputs_mib);
    json_pair_real(j, "activations", parts->activations_mib);
    json_pair_real(j, "workspace", parts->workspace_mib);
    json_close(j, '}');
}

static void memory_course(predict_report *r, json *j, const sooth_prediction *p)
{
    size_t count;
    const memory_point *points = memory_over_time(r, p, 0, &count);
    json_key(j, "memory_over_time");
    json_open(j, '[', false);
    for (size_t i = 0; i < count; i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, points[i].kernel);
        json_open(j, '{', true);
        json_pair_real(j, "ms", points[i].begin_ms);
        json_pair_string(j, "layer", sooth_predicted_layer_at(p, k.layer).name);
        json_pair_string(j, "op", k.op);
        json_pair_string(j, "phase", k.phase);
        json_pair_real(j, "allocated_mib", points[i].allocated_mib);
        json_pair_real(j, "reserved_mib", points[i].reserved_mib);
        memory_moment(j, &points[i].parts);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void memory(predict_report *r, json *j, const sooth_prediction *p)
{
    sooth_memory m = sooth_prediction_memory(p);
    if (!m.known)
        return;
    json_key(j, "memory_mib");
    json_open(j, '{', true);
    json_pair_real(j, "value", m.total_mib.value);
    json_pair_real(j, "low", m.total_mib.low);
    json_pair_real(j, "high", m.total_mib.high);
    json_key(j, "parts");
    json_open(j, '{', true);
    memory_share shares[MEMORY_SHARES];
    memory_shares(&m, shares);
    for (int i = 0; i < MEMORY_SHARES; i++)
        json_pair_real(j, shares[i].name, shares[i].mib);
    json_close(j, '}');
    json_close(j, '}');
    pair_bool_if(j, "fits", m.capacity_mib > 0, m.fits);
    pair_bool_if(j, "fits_upper", m.capacity_mib > 0, m.fits_upper);
    json_pair_real(j, "capacity_mib", m.capacity_mib);
    json_pair_text(j, "limit", m.limit);
    if (!r->options.totals)
        memory_peak(r, j, p, &m);
    if (r->options.memory)
        memory_course(r, j, p);
}

static void layers(json *j, const sooth_prediction *p)
{
    json_key(j, "layers");
    json_open(j, '[', false);
    for (size_t i = 0; i < sooth_predicted_layer_count(p); i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(p, i);
        json_open(j, '{', true);
        json_pair_string(j, "name", l.name);
        json_pair_string(j, "op", l.op);
        json_pair_real(j, "latency_ms", l.latency_ms);
        json_pair_real(j, "energy_j", l.energy_j);
        json_pair_number(j, "flops", l.flops);
        json_pair_number(j, "bytes", l.bytes);
        json_pair_real(j, "utilization", l.compute_share);
        json_pair_string(j, "bound", l.bound);
        json_pair_real(j, "ideal_ms", l.ideal_ms);
        json_pair_real(j, "device_ms", l.device_ms);
        json_pair_number(j, "kernels", (int64_t)l.kernel_count);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void tensors(json *j, const char *key, const sooth_prediction *p, size_t kernel, size_t count,
                    sooth_predicted_tensor (*at)(const sooth_prediction *, size_t, size_t))
{
    json_key(j, key);
    json_open(j, '[', true);
    for (size_t i = 0; i < count; i++) {
        sooth_predicted_tensor t = at(p, kernel, i);
        json_open(j, '{', true);
        json_pair_string(j, "dtype", t.dtype);
        json_key(j, "shape");
        json_open(j, '[', true);
        for (int d = 0; d < t.rank; d++)
            json_number(j, t.dims[d]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void kernel(json *j, const sooth_prediction *p, size_t index)
{
    sooth_predicted_kernel k = sooth_predicted_kernel_at(p, index);
    json_open(j, '{', true);
    json_pair_string(j, "name", k.name);
    json_pair_string(j, "op", k.op);
    json_pair_string(j, "layer", sooth_predicted_layer_at(p, k.layer).name);
    json_pair_real(j, "latency_ms", k.latency_ms);
    json_pair_real(j, "energy_j", k.energy_j);
    json_pair_number(j, "flops", k.flops);
    json_pair_number(j, "bytes", k.bytes);
    json_pair_real(j, "device_us", k.device_us);
    json_pair_real(j, "host_us", k.host_us);
    json_pair_string(j, "bound", k.bound);
    json_pair_string(j, "phase", k.phase);
    if (k.allocated_bytes) {
        json_pair_number(j, "allocated_bytes", k.allocated_bytes);
        json_pair_number(j, "reserved_bytes", k.reserved_bytes);
    }
    if (k.algorithm) {
        json_pair_string(j, "algorithm", k.algorithm);
        json_pair_text(j, "reason", k.reason);
    }
    if (k.gemm[1]) {
        json_key(j, "gemm");
        json_open(j, '[', true);
        for (int i = 0; i < 4; i++)
            json_number(j, k.gemm[i]);
        json_close(j, ']');
    }
    if (k.blocks > 0) {
        json_pair_real(j, "blocks", k.blocks);
        json_pair_real(j, "waves", k.waves);
        json_pair_real(j, "wave_efficiency", k.wave_efficiency);
    }
    if (k.occupancy > 0)
        json_pair_real(j, "occupancy", k.occupancy);
    if (k.repeat != 1)
        json_pair_number(j, "repeat", k.repeat);
    if (k.is_hidden) {
        json_key(j, "hidden");
        json_bool(j, true);
    }
    const char *fused;
    if (sooth_predicted_fused(p, index, 0)) {
        json_key(j, "fused");
        json_open(j, '[', true);
        for (size_t i = 0; (fused = sooth_predicted_fused(p, index, i)); i++)
            json_string(j, fused);
        json_close(j, ']');
    }
    tensors(j, "inputs", p, index, k.input_count, sooth_predicted_input);
    tensors(j, "outputs", p, index, k.output_count, sooth_predicted_output);
    json_close(j, '}');
}

static void one(predict_report *r, json *j, const sooth_prediction *p)
{
    sooth_prediction_totals t = sooth_prediction_totals_of(p);
    json_open(j, '{', false);
    json_identity(j, SCHEMA, t.weights);
    header(j, &t);
    totals(j, p, &t);
    memory(r, j, p);
    if (!r->options.totals)
        layers(j, p);
    if (r->options.kernels) {
        json_key(j, "kernels");
        json_open(j, '[', false);
        for (size_t i = 0; i < sooth_predicted_kernel_count(p); i++)
            kernel(j, p, i);
        json_close(j, ']');
    }
    json_key(j, "notes");
    json_open(j, '[', false);
    const char *note;
    for (size_t i = 0; (note = sooth_prediction_note(p, i)); i++)
        json_string(j, note);
    if ((note = sooth_prediction_layers_note(p)))
        json_string(j, note);
    json_close(j, ']');
    json_key(j, "unknown_operators");
    json_open(j, '[', false);
    const char *op;
    for (size_t i = 0, count; (op = sooth_prediction_unknown(p, i, &count)); i++) {
        json_open(j, '{', true);
        json_pair_string(j, "op", op);
        json_pair_number(j, "count", (int64_t)count);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_pair_real(j, "unknown_share", t.unknown_share);
    json_close(j, '}');
}

static void refused(json *j, const sooth_refusal *no)
{
    json_open(j, '{', true);
    json_identity(j, SCHEMA, NULL);
    json_pair_string(j, "gpu", no->gpu);
    json_pair_number(j, "batch", no->batch > 0 ? no->batch : -1);
    json_pair_text(j, "mig", no->mig);
    json_pair_string(j, "error", no->reason);
    json_close(j, '}');
}

void predict_json(predict_report *r)
{
    json writer = {.out = r->out}, *j = &writer;
    size_t rows = r->count + r->options.refusal_count;
    if (rows > 1)
        json_open(j, '[', false);
    for (size_t i = 0; i < rows; i++) {
        compared row = predict_compared(r, i);
        if (row.refusal)
            refused(j, row.refusal);
        else
            one(r, j, row.prediction);
    }
    if (rows > 1)
        json_close(j, ']');
    text_puts(r->out, "\n");
}
