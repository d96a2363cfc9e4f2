#include "invariants.h"

#include "base/csv.h"
#include "base/json_read.h"
#include "base/xml.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t invariants_settings;

/* Tolerance for sums of a hundred thousand rows in another order than the library's. */
static const double SUM_TOLERANCE = 1e-6;

static volatile size_t sink; /* keeps reads of results from being optimized away */

_Noreturn void broken(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    dprintf(STDERR_FILENO, "broken invariant (FUZZ_SETTINGS=%" PRIu64 "): ", invariants_settings);
    vdprintf(STDERR_FILENO, format, arguments);
    dprintf(STDERR_FILENO, "\n");
    va_end(arguments);
    abort();
}

static void use(const char *text)
{
    sink += text ? strlen(text) : 0;
}

void check_error(sooth_status status, const sooth_error *error)
{
    if (status < SOOTH_ANSWER_NO || status > SOOTH_ERROR_SYSTEM || error->code != status)
        broken("status %d, but the error says %d: %s", (int)status, (int)error->code, error->message);
    if (!error->message[0] || !memchr(error->message, '\0', sizeof error->message) || strchr(error->message, '\n'))
        broken("status %d without a message of one line", (int)status);
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static void add(int64_t *sum, int64_t figure, const char *what, const char *layer)
{
    if (figure == SOOTH_UNKNOWN)
        return;
    if (figure < 0)
        broken("layer %s has %" PRId64 " %s", layer, figure, what);
    if (__builtin_add_overflow(*sum, figure, sum))
        *sum = INT64_MAX;
}

static void same(int64_t total, int64_t sum, const char *what)
{
    if (total != sum)
        broken("%s: the total is %" PRId64 ", rows sum to %" PRId64, what, total, sum);
}

static void check_values(const sooth_model *model)
{
    for (size_t i = 0; i < sooth_value_count(model); i++) {
        sooth_value v = sooth_value_at(model, i);
        use(v.name);
        use(v.dtype);
        for (int d = 0; d < v.rank; d++)
            use(v.dims[d] < 0 ? sooth_dim_text(model, v.dims[d]) : "");
    }
}

static void check_reference(const sooth_model *model, size_t value)
{
    if (value != SIZE_MAX && value >= sooth_value_count(model))
        broken("a layer refers to value %zu of %zu", value, sooth_value_count(model));
}

void check_model(const sooth_model *model)
{
    sooth_totals sums = {0}, totals = sooth_totals_of(model);
    check_values(model);
    for (size_t i = 0; i < sooth_layer_count(model); i++) {
        sooth_layer layer = sooth_layer_at(model, i);
        use(layer.name);
        use(layer.op);
        use(layer.kind);
        for (size_t j = 0; j < layer.input_count; j++)
            check_reference(model, sooth_layer_input(model, i, j));
        for (size_t j = 0; j < layer.output_count; j++)
            check_reference(model, sooth_layer_output(model, i, j));
        add(&sums.params, layer.params, "parameters", layer.name);
        add(&sums.macs, layer.macs, "MACs", layer.name);
        add(&sums.flops, layer.flops, "FLOPs", layer.name);
        add(&sums.weight_bytes, layer.weight_bytes, "bytes of weights", layer.name);
        add(&sums.activation_bytes, layer.activation_bytes, "bytes of activations", layer.name);
        sums.unknown_layers += layer.macs == SOOTH_UNKNOWN || layer.flops == SOOTH_UNKNOWN;
    }
    same(totals.macs, sums.macs, "MACs");
    same(totals.flops, sums.flops, "FLOPs");
    if (sooth_layer_count(model)) { /* a file of weights alone has no layers */
        same(totals.params, sums.params, "parameters");
        same(totals.weight_bytes, sums.weight_bytes, "bytes of weights");
    }
    same(totals.activation_bytes, sums.activation_bytes, "bytes of activations");
    same(totals.unknown_layers, sums.unknown_layers, "unknown layers");
    same(totals.nodes, (int64_t)sooth_layer_count(model), "layers");
    for (size_t i = 0; i < sooth_note_count(model); i++)
        use(sooth_note_at(model, i));
    sooth_info info = sooth_info_of(model);
    use(info.file);
    use(info.format);
    use(info.producer);
    use(info.graph_name);
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

static void check_number(double x, const char *what)
{
    if (!isfinite(x) || x < 0)
        broken("%s is %g", what, x);
}

/* A share from 0 to 1; NAN if a GPU figure it needs is unknown. */
static void check_share(double x, const char *what)
{
    if (isinf(x) || x < 0)
        broken("%s is %g", what, x);
}

static void check_interval(sooth_interval x, const char *what)
{
    check_number(x.value, what);
    check_number(x.low, what);
    check_number(x.high, what);
    if (!(x.low <= x.value && x.value <= x.high))
        broken("%s: %.17g is not between %.17g and %.17g", what, x.value, x.low, x.high);
}

/* All three numbers are valid, or none is. */
static void check_interval_or_none(sooth_interval x, const char *what)
{
    if (!(isnan(x.value) && isnan(x.low) && isnan(x.high)))
        check_interval(x, what);
}

static void near(double total, double sum, const char *what)
{
    if (!(fabs(total - sum) <= SUM_TOLERANCE * fabs(total) + 1e-12))
        broken("%s: the total is %.17g, rows sum to %.17g", what, total, sum);
}

static void check_totals(const sooth_prediction_totals *t)
{
    check_interval(t->latency_ms, "latency");
    check_interval_or_none(t->energy_j, "energy");
    check_interval_or_none(t->power_w, "power");
    check_number(t->throughput_per_s, "throughput");
    check_number(t->device_ms, "time on the device");
    check_number(t->host_ms, "time on the host");
    check_share(t->compute_share, "utilization");
    check_share(t->dram_share, "share of the bandwidth");
    check_share(t->occupancy, "occupancy");
    check_share(t->wave_efficiency, "wave efficiency");
    check_share(t->layer_share, "mean utilization of layers");
    check_share(t->ideal_compute_ms, "ideal time of computing");
    check_share(t->ideal_memory_ms, "ideal time of memory");
    check_share(t->ideal_launch_ms, "ideal time of launches");
    check_share(t->peak_flops, "peak");
    check_share(t->bandwidth_bytes_s, "bandwidth");
    check_number(t->unknown_share, "share that is not known");
    check_share(t->power_limit_w, "power limit");
    check_share(t->energy_j_per_1000, "energy of 1,000 samples");
    check_share(t->co2_g, "CO2");
    if (t->flops < 0 || t->bytes < 0 || t->batch < 0)
        broken("%" PRId64 " FLOPs, %" PRId64 " bytes, batch %" PRId64, t->flops, t->bytes, t->batch);
}

static void check_memory(const sooth_prediction *p)
{
    sooth_memory m = sooth_prediction_memory(p);
    if (!m.known)
        return;
    const double parts[] = {m.weights_mib,     m.gradients_mib, m.optimizer_mib, m.inputs_mib,
                            m.activations_mib, m.workspace_mib, m.cache_mib,     m.context_mib};
    double sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        check_number(parts[i], "a part of memory");
        sum += parts[i];
    }
    check_interval(m.total_mib, "memory");
    near(m.total_mib.value, sum, "parts of memory");
    check_share(m.capacity_mib, "capacity");
    if (m.fits_upper && !m.fits)
        broken("the upper end of memory fits, the value does not");
    if (m.peak_kernel != SIZE_MAX && m.peak_kernel >= sooth_predicted_kernel_count(p))
        broken("the peak of memory is at kernel %zu", m.peak_kernel);
    use(m.limit);
}

static void check_tensor(sooth_predicted_tensor t)
{
    use(t.dtype);
    for (int d = 0; d < t.rank; d++)
        if (t.dims[d] < 0)
            broken("a kernel's tensor has dimension %" PRId64, t.dims[d]);
}

typedef struct row_sums {
    double latency_ms, energy_j, device_ms, host_ms;
    int64_t flops, bytes;
    size_t kernels;
} row_sums;

static row_sums check_kernels(const sooth_prediction *p)
{
    row_sums sums = {0};
    size_t layers = sooth_predicted_layer_count(p);
    sums.kernels = sooth_predicted_kernel_count(p);
    for (size_t i = 0; i < sums.kernels; i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        use(k.op);
        use(k.name);
        use(k.phase);
        use(k.bound);
        use(k.algorithm);
        use(k.reason);
        for (size_t j = 0; sooth_predicted_fused(p, i, j); j++)
            use(sooth_predicted_fused(p, i, j));
        if (k.layer >= layers || k.repeat < 0 || k.allocated_bytes < 0 || k.reserved_bytes < 0)
            broken("kernel %s: layer %zu of %zu, %" PRId64 " runs, %" PRId64 " bytes", k.op, k.layer, layers, k.repeat,
                   k.allocated_bytes);
        check_number(k.latency_ms, "latency of a kernel");
        check_share(k.energy_j, "energy of a kernel");
        check_number(k.device_us, "time of a kernel");
        check_number(k.host_us, "launch of a kernel");
        check_share(k.compute_us, "ideal time of a kernel");
        check_share(k.memory_us, "ideal time of a kernel");
        check_share(k.blocks, "blocks");
        check_share(k.waves, "waves");
        check_share(k.wave_efficiency, "wave efficiency of a kernel");
        check_share(k.occupancy, "occupancy of a kernel");
        add(&sums.flops, k.flops, "FLOPs", k.op);
        add(&sums.bytes, k.bytes, "bytes", k.op);
        sums.latency_ms += k.latency_ms;
        sums.energy_j += k.energy_j;
        sums.device_ms += k.device_us / 1000;
        sums.host_ms += k.host_us / 1000;
        for (size_t j = 0; j < k.input_count; j++)
            check_tensor(sooth_predicted_input(p, i, j));
        for (size_t j = 0; j < k.output_count; j++)
            check_tensor(sooth_predicted_output(p, i, j));
    }
    return sums;
}

static row_sums check_layers(const sooth_prediction *p)
{
    row_sums sums = {0};
    for (size_t i = 0; i < sooth_predicted_layer_count(p); i++) {
        sooth_predicted_layer layer = sooth_predicted_layer_at(p, i);
        use(layer.name);
        use(layer.op);
        use(layer.bound);
        check_number(layer.latency_ms, "latency of a layer");
        check_share(layer.ideal_ms, "ideal time of a layer");
        check_share(layer.compute_share, "utilization of a layer");
        check_share(layer.energy_j, "energy of a layer");
        check_number(layer.device_ms, "time of a layer");
        if (layer.peak_bytes < 0)
            broken("layer %s holds %" PRId64 " bytes", layer.name, layer.peak_bytes);
        add(&sums.flops, layer.flops, "FLOPs", layer.name);
        add(&sums.bytes, layer.bytes, "bytes", layer.name);
        sums.latency_ms += layer.latency_ms;
        sums.energy_j += layer.energy_j;
        sums.device_ms += layer.device_ms;
        sums.kernels += layer.kernel_count;
    }
    return sums;
}

void check_prediction(const sooth_prediction *p)
{
    sooth_prediction_totals t = sooth_prediction_totals_of(p);
    check_totals(&t);
    check_memory(p);
    row_sums kernels = check_kernels(p), layers = check_layers(p);
    near(t.latency_ms.value, kernels.latency_ms, "latency of kernels");
    near(t.latency_ms.value, layers.latency_ms, "latency of layers");
    near(t.device_ms, kernels.device_ms, "time of kernels");
    near(t.device_ms, layers.device_ms, "time of layers");
    near(t.host_ms, kernels.host_ms, "launches of kernels");
    if (!isnan(t.energy_j.value)) {
        near(t.energy_j.value, kernels.energy_j, "energy of kernels");
        near(t.energy_j.value, layers.energy_j, "energy of layers");
    }
    same(t.flops, kernels.flops, "FLOPs of kernels");
    same(t.flops, layers.flops, "FLOPs of layers");
    same(t.bytes, kernels.bytes, "bytes of kernels");
    same(t.bytes, layers.bytes, "bytes of layers");
    same((int64_t)sooth_predicted_kernel_count(p), (int64_t)layers.kernels, "kernels of layers");
    for (size_t i = 0; sooth_prediction_note(p, i); i++)
        use(sooth_prediction_note(p, i));
    size_t count;
    for (size_t i = 0; sooth_prediction_unknown(p, i, &count); i++)
        if (count == 0)
            broken("operator %s is not known, but has no kernels", sooth_prediction_unknown(p, i, &count));
    use(sooth_prediction_layers_note(p));
}

/* ---- slices ------------------------------------------------------------------------------------------------------ */

void check_plan(const sooth_mig_plan *plan)
{
    sooth_mig_plan_totals t = sooth_mig_plan_totals_of(plan);
    if (t.is_possible != !t.reason[0] || t.least_gpus > t.gpu_count)
        broken("plan: possible %d, reason '%s', %zu GPUs of at least %zu", t.is_possible, t.reason, t.gpu_count,
               t.least_gpus);
    for (size_t w = 0; w < t.workload_count; w++) {
        sooth_mig_planned planned = sooth_mig_planned_at(plan, w);
        use(planned.profile);
        use(planned.dippm_profile);
        for (size_t i = 0; i < planned.candidate_count; i++) {
            sooth_mig_candidate c = sooth_mig_candidate_at(plan, w, i);
            check_interval_or_none(c.latency_ms, "latency on a slice");
            check_interval_or_none(c.memory_mib, "memory on a slice");
            check_interval_or_none(c.energy_j, "energy on a slice");
            check_number(c.usable_mib, "memory of a slice");
            if ((c.fits && c.meets_target) != !c.reason[0])
                broken("slice %s: fits %d, meets target %d, reason '%s'", c.profile, c.fits, c.meets_target, c.reason);
        }
        for (size_t i = 0; sooth_mig_note(plan, w, i); i++)
            use(sooth_mig_note(plan, w, i));
    }
    for (size_t g = 0; g < t.gpu_count; g++)
        for (size_t i = 0; i < sooth_mig_placed_count(plan, g); i++) {
            sooth_mig_placed placed = sooth_mig_placed_at(plan, g, i);
            if (placed.workload >= t.workload_count || placed.start < 0 || placed.start + placed.slots > t.slots)
                broken("a slice at %d of %d slots for workload %zu", placed.start, placed.slots, placed.workload);
        }
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static void check_utf8(const char *text)
{
    for (const char *at = text; *at;) {
        const char *from = at;
        if (utf8_next(&at) == 0xFFFD && strncmp(from, "\xEF\xBF\xBD", 3) != 0)
            broken("a text is not UTF-8 at byte %zu", (size_t)(from - text));
    }
}

static void check_table(str text, arena *a)
{
    csv c;
    csv_begin(&c, text, a);
    int columns = csv_next(&c) ? c.count : 0;
    while (csv_next(&c))
        if (c.count != columns)
            broken("line %d of a table has %d fields, the header %d", c.line, c.count, columns);
}

static void check_rows(const json_node *root, const char *list)
{
    static const char *const FIGURES[] = {"params", "macs", "flops", "weight_bytes", "activation_bytes"};
    const json_node *totals = json_get(root, "totals");
    int64_t sums[5] = {0};
    if (!json_first(json_get(root, list))) /* weights alone */
        return;
    for (const json_node *row = json_first(json_get(root, list)); row; row = row->next)
        for (int i = 0; i < 5; i++)
            add(&sums[i], json_int(json_get(row, FIGURES[i]), 0), FIGURES[i], list);
    bool is_short = strcmp(list, "operators") == 0; /* has no byte counts */
    for (int i = 0; i < (is_short ? 3 : 5); i++)
        same(json_int(json_get(totals, FIGURES[i]), -1), sums[i], FIGURES[i]);
}

static void check_parses(str text, sooth_format format, bool has_rows, arena *a, fail *f)
{
    if (setjmp(f->jump))
        broken("what was written cannot be read: %s: %.200s", f->error->message, text.ptr);
    switch (format) {
    case SOOTH_FORMAT_JSON:
    case SOOTH_FORMAT_TRACE: {
        const json_node *root = json_read(text, "report", a, f);
        if (has_rows) {
            check_rows(root, "layers");
            check_rows(root, "operators");
        }
        break;
    }
    case SOOTH_FORMAT_CSV:
        check_table(text, a);
        break;
    case SOOTH_FORMAT_SVG:
    case SOOTH_FORMAT_MEMORY_SVG:
        xml_read(text, a, f);
        break;
    default:
        break;
    }
}

static void check_report(const char *bytes, size_t size, sooth_format format, bool has_rows)
{
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    if (strlen(bytes) != size)
        broken("a text of %zu bytes has a NUL at %zu", size, strlen(bytes));
    check_utf8(bytes);
    arena_init(&a, &f, (size_t)1 << 30);
    check_parses((str){bytes, size}, format, has_rows, &a, &f);
    arena_free(&a);
}

void check_text(const char *text, size_t size, sooth_format format)
{
    check_report(text, size, format, false);
}

void check_inspect_json(const char *text, size_t size)
{
    check_report(text, size, SOOTH_FORMAT_JSON, true);
}
