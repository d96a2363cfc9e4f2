/* train_report.c: `sooth train-phase`: stages, pipeline, layers, memory and findings as a table, JSON or CSV. */
#include "report/train_report.h"
#include "report/grid.h"
#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { SCHEMA = 1, MOST_LAYERS = 20 }; /* SCHEMA: version of the fields, doc/json.md */

/* True for a step measured on a processor, which has no columns of a GPU. */
static bool is_measured(const train_report *r)
{
    return strcmp(r->totals.origin, "measured") == 0;
}

static double layer_ms(const sooth_train_layer *l)
{
    return l->forward_ms + l->backward_ms + l->update_ms;
}

/* ---- table ------------------------------------------------------------------------------------------------------- */

static void write_stages(train_report *r)
{
    static const grid_column COLUMNS[] = {{"stage", CELL_LEFT, 0},          {"ms per step", CELL_RIGHT, 0},
                                          {"from", CELL_RIGHT, 2},          {"to", CELL_RIGHT, 2},
                                          {"us per sample", CELL_RIGHT, 1}, {"resource", CELL_LEFT, 0},
                                          {"busy", CELL_RIGHT, 0}};
    char room[NUMBER_ROOM];
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < SOOTH_TRAIN_STAGES; i++) {
        sooth_train_stage s = sooth_train_stage_at(r->train, i);
        grid_add(&g, s.stage);
        grid_add(&g, number_digits(room, s.latency_ms.value));
        grid_add(&g, number_digits(room, s.latency_ms.low));
        grid_add(&g, number_digits(room, s.latency_ms.high));
        grid_add(&g, number_digits(room, s.latency_ms.value * 1e3 / (double)r->totals.samples));
        grid_add(&g, s.resource);
        grid_printf(&g, "%.1f %%", s.resource_share);
    }
    grid_write(&g);
}

static void write_step(train_report *r)
{
    const sooth_train_totals *t = &r->totals;
    char room[NUMBER_ROOM];
    text_printf(r->out, "\n  step without overlap  %s ms\n", number_digits(room, t->step_ms_sum));
    text_printf(r->out, "  step with %d workers   %s ms", t->workers, number_digits(room, t->step_ms_overlapped));
    text_printf(r->out, "  (loader %s ms)\n", number_digits(room, t->loader_ms));
    text_printf(r->out, "  limited by            %s\n", t->limited_by);
    text_printf(r->out, "  throughput            %s /s\n", number_digits(room, t->throughput_per_s));
    if (is_measured(r)) { /* The cores that compute the step also load the images. */
        text_printf(r->out, "  images take           %.1f %% of the step\n", t->gpu_waits_percent);
        return;
    }
    text_printf(r->out, "  GPU waits             %.1f %% of the step\n", t->gpu_waits_percent);
    if (t->workers_needed >= 0)
        text_printf(r->out, "  workers needed        %d\n", t->workers_needed);
    else
        text_puts(r->out, "  workers needed        no number suffices: storage or the hand-over of samples limits\n");
}

static void write_changes(train_report *r)
{
    char room[NUMBER_ROOM];
    if (!sooth_train_change_at(r->train, 0).name)
        return;
    text_puts(r->out, "\n  what would change, with the loader's prefetching\n");
    for (size_t i = 0; sooth_train_change_at(r->train, i).name; i++) {
        sooth_train_change c = sooth_train_change_at(r->train, i);
        text_printf(r->out, "  %-28s step %s ms, ", c.name, number_digits(room, c.step_ms));
        text_printf(r->out, "%s samples/s, GPU waits %.1f %%\n",
                    number_digits(room, (double)c.samples / c.step_ms * 1e3), c.gpu_waits_percent);
    }
}

static void percent_cell(grid *g, double x)
{
    if (isfinite(x))
        grid_printf(g, "%.1f %%", x);
    else
        grid_add(g, "");
}

bool train_has_library(const sooth_train_library *l)
{
    return l->algorithm && isfinite(l->forward_ms);
}

/* Writes the times of a convolution: forward and backward. */
static void library_cell(grid *g, const sooth_train_library *l)
{
    char room[NUMBER_ROOM];
    grid_add(g, train_has_library(l) ? number_digits(room, l->forward_ms + l->backward_ms) : "");
}

static int by_time(const void *a, const void *b)
{
    const sooth_train_layer *x = a, *y = b;
    return (layer_ms(x) < layer_ms(y)) - (layer_ms(x) > layer_ms(y));
}

static void write_layers(train_report *r)
{
    static const grid_column MEASURED[] = {
        {"layer", CELL_LEFT, 0},         {"operator", CELL_LEFT, 3},    {"forward ms", CELL_RIGHT, 0},
        {"data ms", CELL_RIGHT, 1},      {"weights ms", CELL_RIGHT, 1}, {"update ms", CELL_RIGHT, 0},
        {"library", CELL_LEFT, 4},       {"algorithm", CELL_LEFT, 5},   {"efficiency", CELL_RIGHT, 0},
        {"DRAM", CELL_RIGHT, 6},         {"bound by", CELL_LEFT, 2},    {"weights", CELL_RIGHT, 7},
        {"feature maps", CELL_RIGHT, 7}, {"workspace", CELL_RIGHT, 7}};
    static const grid_column COLUMNS[] = {
        {"layer", CELL_LEFT, 0},      {"operator", CELL_LEFT, 3},    {"forward ms", CELL_RIGHT, 0},
        {"data ms", CELL_RIGHT, 1},   {"weights ms", CELL_RIGHT, 1}, {"update ms", CELL_RIGHT, 0},
        {"library", CELL_LEFT, 4},    {"algorithm", CELL_LEFT, 5},   {"efficiency", CELL_RIGHT, 0},
        {"occupancy", CELL_RIGHT, 6}, {"SMs", CELL_RIGHT, 6},        {"DRAM", CELL_RIGHT, 6},
        {"L2", CELL_RIGHT, 6},        {"bound by", CELL_LEFT, 2},    {"cuDNN ms", CELL_RIGHT, 2},
        {"cuBLAS ms", CELL_RIGHT, 2}, {"weights", CELL_RIGHT, 7},    {"feature maps", CELL_RIGHT, 7},
        {"workspace", CELL_RIGHT, 7}};
    size_t count = sooth_train_layer_count(r->train),
           shown = r->options.layers || count < MOST_LAYERS ? count : MOST_LAYERS;
    sooth_train_layer *layers = ARENA_ARRAY(r->scratch, sooth_train_layer, count);
    char room[NUMBER_ROOM];
    grid g;
    for (size_t i = 0; i < count; i++)
        layers[i] = sooth_train_layer_at(r->train, i);
    if (count && shown < count)
        qsort(layers, count, sizeof *layers, by_time);
    text_printf(r->out, "\n  %slayers\n", shown < count ? "slowest " : "");
    bool on_gpu = !is_measured(r);
    grid_begin(&g, r->out, r->scratch, &r->options, on_gpu ? COLUMNS : MEASURED,
               (on_gpu ? sizeof COLUMNS : sizeof MEASURED) / sizeof *COLUMNS);
    for (size_t i = 0; i < shown; i++) {
        const sooth_train_layer *l = &layers[i];
        grid_add(&g, l->name);
        grid_add(&g, l->op);
        grid_add(&g, number_digits(room, l->forward_ms));
        grid_add(&g, number_digits(room, l->backward_data_ms));
        grid_add(&g, number_digits(room, l->backward_weights_ms));
        grid_add(&g, number_digits(room, l->update_ms));
        grid_add(&g, l->library);
        grid_add(&g, l->algorithm);
        percent_cell(&g, l->efficiency);
        if (on_gpu) {
            percent_cell(&g, l->occupancy);
            percent_cell(&g, l->sm_coverage);
        }
        percent_cell(&g, l->dram);
        if (on_gpu)
            percent_cell(&g, l->l2);
        grid_add(&g, l->bound);
        if (on_gpu) {
            library_cell(&g, &l->cudnn);
            library_cell(&g, &l->cublas);
        }
        grid_add(&g, number_bytes(room, l->weight_bytes));
        grid_add(&g, number_bytes(room, l->feature_map_bytes));
        grid_add(&g, l->workspace_bytes >= 0 ? number_bytes(room, l->workspace_bytes) : "");
    }
    grid_write(&g);
    if (shown < count)
        text_printf(r->out, "  %zu more layers: --layers lists them\n", count - shown);
}

static void write_findings(train_report *r)
{
    text_puts(r->out, "\n  findings of the study of 2018\n");
    for (size_t i = 0; sooth_train_finding_at(r->train, i).name; i++) {
        sooth_train_finding f = sooth_train_finding_at(r->train, i);
        char room[NUMBER_ROOM];
        text_printf(r->out, "  %-24s %s (study: %g), %s: ", f.name,
                    isfinite(f.value) ? number_digits(room, f.value) : "?", f.study,
                    f.holds ? "as in the study" : "not here");
        text_name(r->out, f.why, SIZE_MAX, r->options.ascii);
        text_puts(r->out, "\n");
    }
}

static void as_table(train_report *r)
{
    const sooth_train_totals *t = &r->totals;
    text_name(r->out, t->file, SIZE_MAX, r->options.ascii);
    text_printf(r->out, " on %s  batch %" PRId64 ", %s, %s, %s; host %s, data %s, %s memory; %s\n\n", t->gpu, t->batch,
                t->precision, t->runtime, t->optimizer, t->host, t->data, t->pinned ? "pinned" : "pageable", t->origin);
    write_stages(r);
    write_step(r);
    write_changes(r);
    write_layers(r);
    if (t->memory.known)
        text_printf(r->out,
                    "\n  memory: %.0f MiB of %.0f (%.1f %%): weights %.0f, gradients %.0f, optimizer %.0f, inputs "
                    "%.0f, feature maps "
                    "%.0f, workspace %.0f, cache %.0f, context %.0f\n",
                    t->memory.total_mib.value, t->memory.capacity_mib,
                    100 * t->memory.total_mib.value / t->memory.capacity_mib, t->memory.weights_mib,
                    t->memory.gradients_mib, t->memory.optimizer_mib, t->memory.inputs_mib, t->memory.activations_mib,
                    t->memory.workspace_mib, t->memory.cache_mib, t->memory.context_mib);
    write_findings(r);
    for (size_t i = 0; sooth_train_note(r->train, i); i++) {
        text_puts(r->out, "\n  ");
        text_name(r->out, sooth_train_note(r->train, i), SIZE_MAX, r->options.ascii);
    }
    text_puts(r->out, sooth_train_note(r->train, 0) ? "\n" : "");
}

/* ---- CSV and JSON ------------------------------------------------------------------------------------------------ */

static void as_csv(train_report *r)
{
    text_puts(r->out,
              "name,op,kind,forward_ms,backward_ms,backward_data_ms,backward_weights_ms,update_ms,library,algorithm,"
              "efficiency,occupancy,sm_coverage,dram,l2,bound,weight_bytes,gradient_bytes,optimizer_bytes,"
              "feature_map_bytes,feature_map_peak_bytes,workspace_bytes,cudnn_forward_ms,cudnn_backward_ms,"
              "cudnn_efficiency,cublas_forward_ms,cublas_backward_ms,cublas_efficiency,cublas_workspace_bytes\n");
    for (size_t i = 0; i < sooth_train_layer_count(r->train); i++) {
        sooth_train_layer l = sooth_train_layer_at(r->train, i);
        const double times[] = {l.forward_ms, l.backward_ms, l.backward_data_ms, l.backward_weights_ms, l.update_ms};
        const double shares[] = {l.efficiency, l.occupancy, l.sm_coverage, l.dram, l.l2};
        const int64_t bytes[] = {l.weight_bytes,      l.gradient_bytes,         l.optimizer_bytes,
                                 l.feature_map_bytes, l.feature_map_peak_bytes, l.workspace_bytes};
        const double libraries[] = {l.cudnn.forward_ms,  l.cudnn.backward_ms,  l.cudnn.efficiency,
                                    l.cublas.forward_ms, l.cublas.backward_ms, l.cublas.efficiency};
        bool has[] = {train_has_library(&l.cudnn), train_has_library(&l.cublas)};
        text_csv(r->out, l.name);
        text_csv_text(r->out, l.op);
        text_csv_text(r->out, l.kind);
        for (size_t k = 0; k < sizeof times / sizeof *times; k++)
            text_csv_real(r->out, times[k]);
        text_csv_text(r->out, l.library);
        text_csv_text(r->out, l.algorithm);
        for (size_t k = 0; k < sizeof shares / sizeof *shares; k++)
            text_csv_real(r->out, shares[k]);
        text_csv_text(r->out, l.bound);
        for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++)
            text_csv_number(r->out, bytes[k]);
        for (size_t k = 0; k < sizeof libraries / sizeof *libraries; k++)
            text_csv_real(r->out, has[k / 3] ? libraries[k] : NAN);
        text_csv_number(r->out, has[1] ? l.cublas.workspace_bytes : SOOTH_UNKNOWN);
        text_puts(r->out, "\n");
    }
}

static void json_library(json *j, const char *name, const sooth_train_library *l)
{
    if (!train_has_library(l))
        return;
    json_key(j, name);
    json_open(j, '{', true);
    json_pair_real(j, "forward_ms", l->forward_ms);
    json_pair_real(j, "backward_ms", l->backward_ms);
    json_pair_real(j, "efficiency", l->efficiency);
    json_pair_text(j, "algorithm", l->algorithm);
    json_pair_number(j, "workspace_bytes", l->workspace_bytes);
    json_close(j, '}');
}

static void json_layer(json *j, const sooth_train_layer *l)
{
    json_open(j, '{', true);
    json_pair_string(j, "name", l->name);
    json_pair_string(j, "op", l->op);
    json_pair_real(j, "forward_ms", l->forward_ms);
    json_pair_real(j, "backward_ms", l->backward_ms);
    json_pair_real(j, "backward_data_ms", l->backward_data_ms);
    json_pair_real(j, "backward_weights_ms", l->backward_weights_ms);
    json_pair_real(j, "update_ms", l->update_ms);
    json_pair_string(j, "library", l->library);
    json_pair_text(j, "algorithm", l->algorithm);
    json_pair_real(j, "efficiency", l->efficiency);
    json_pair_real(j, "occupancy", l->occupancy);
    json_pair_real(j, "sm_coverage", l->sm_coverage);
    json_pair_real(j, "dram", l->dram);
    json_pair_real(j, "l2", l->l2);
    json_pair_string(j, "bound", l->bound);
    json_pair_number(j, "weight_bytes", l->weight_bytes);
    json_pair_number(j, "gradient_bytes", l->gradient_bytes);
    json_pair_number(j, "optimizer_bytes", l->optimizer_bytes);
    json_pair_number(j, "feature_map_bytes", l->feature_map_bytes);
    json_pair_number(j, "feature_map_peak_bytes", l->feature_map_peak_bytes);
    json_pair_number(j, "workspace_bytes", l->workspace_bytes);
    json_library(j, "library_cudnn", &l->cudnn);
    json_library(j, "library_cublas", &l->cublas);
    json_close(j, '}');
}

static void json_stages(train_report *r, json *j)
{
    json_key(j, "stages");
    json_open(j, '[', false);
    for (size_t i = 0; i < SOOTH_TRAIN_STAGES; i++) {
        sooth_train_stage s = sooth_train_stage_at(r->train, i);
        json_open(j, '{', true);
        json_pair_string(j, "stage", s.stage);
        json_pair_interval(j, "latency_ms", s.latency_ms);
        json_pair_string(j, "resource", s.resource);
        json_pair_real(j, "resource_share", s.resource_share);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_key(j, "step_ms");
    json_open(j, '{', true);
    json_pair_real(j, "sum", r->totals.step_ms_sum);
    json_pair_real(j, "overlapped", r->totals.step_ms_overlapped);
    json_pair_real(j, "loader", r->totals.loader_ms);
    json_close(j, '}');
}

static void json_outcome(train_report *r, json *j)
{
    json_pair_string(j, "limited_by", r->totals.limited_by);
    json_pair_real(j, "gpu_waits_percent", r->totals.gpu_waits_percent);
    json_pair_number(j, "workers_needed", r->totals.workers_needed);
    json_pair_real(j, "throughput_per_s", r->totals.throughput_per_s);
    json_key(j, "changes");
    json_open(j, '[', false);
    for (size_t i = 0; sooth_train_change_at(r->train, i).name; i++) {
        sooth_train_change c = sooth_train_change_at(r->train, i);
        json_open(j, '{', true);
        json_pair_string(j, "change", c.name);
        json_pair_real(j, "step_ms", c.step_ms);
        json_pair_number(j, "samples", c.samples);
        json_pair_real(j, "gpu_waits_percent", c.gpu_waits_percent);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_lists(train_report *r, json *j)
{
    json_key(j, "layers");
    json_open(j, '[', false);
    for (size_t i = 0; i < sooth_train_layer_count(r->train); i++) {
        sooth_train_layer l = sooth_train_layer_at(r->train, i);
        json_layer(j, &l);
    }
    json_close(j, ']');
    json_key(j, "findings");
    json_open(j, '[', false);
    for (size_t i = 0; sooth_train_finding_at(r->train, i).name; i++) {
        sooth_train_finding f = sooth_train_finding_at(r->train, i);
        json_open(j, '{', true);
        json_pair_string(j, "name", f.name);
        json_pair_real(j, "value", f.value);
        json_pair_real(j, "study", f.study);
        json_pair_bool(j, "holds", f.holds);
        json_pair_string(j, "why", f.why);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_key(j, "notes");
    json_open(j, '[', false);
    for (size_t i = 0; sooth_train_note(r->train, i); i++)
        json_string(j, sooth_train_note(r->train, i));
    json_close(j, ']');
}

/* Writes the parts of memory at the peak. */
static void json_memory(json *j, const sooth_memory *m)
{
    json_key(j, "memory");
    json_open(j, '{', false);
    json_pair_real(j, "weights", m->weights_mib);
    json_pair_real(j, "gradients", m->gradients_mib);
    json_pair_real(j, "optimizer", m->optimizer_mib);
    json_pair_real(j, "inputs", m->inputs_mib);
    json_pair_real(j, "feature_maps", m->activations_mib);
    json_pair_real(j, "workspace", m->workspace_mib);
    json_pair_real(j, "cache", m->cache_mib);
    json_pair_real(j, "context", m->context_mib);
    json_close(j, '}');
}

static void as_json(train_report *r)
{
    const sooth_train_totals *t = &r->totals;
    json writer = {.out = r->out}, *j = &writer;
    json_open(j, '{', false);
    json_identity(j, SCHEMA, t->weights);
    json_pair_string(j, "model", t->file);
    json_pair_string(j, "origin", t->origin);
    json_pair_string(j, "gpu", t->gpu);
    json_pair_string(j, "host", t->host);
    json_pair_string(j, "data", t->data);
    json_pair_number(j, "batch", t->batch);
    json_pair_number(j, "samples", t->samples);
    json_pair_string(j, "precision", t->precision);
    json_pair_string(j, "runtime", t->runtime);
    json_pair_string(j, "optimizer", t->optimizer);
    if (t->library)
        json_pair_string(j, "library", t->library);
    json_pair_text(j, "cudnn", t->cudnn ? t->cudnn : "");
    json_pair_number(j, "workers", t->workers);
    json_pair_bool(j, "pinned", t->pinned);
    json_pair_bool(j, "overlaps", t->overlaps);
    json_stages(r, j);
    json_outcome(r, j);
    if (t->memory.known) {
        json_pair_interval(j, "memory_mib", t->memory.total_mib);
        json_pair_real(j, "capacity_mib", t->memory.capacity_mib);
        json_pair_real(j, "memory_share", 100 * t->memory.total_mib.value / t->memory.capacity_mib);
        json_memory(j, &t->memory);
    }
    json_lists(r, j);
    json_close(j, '}');
    text_puts(r->out, "\n");
}

static void write_report(void *report, text *out, arena *scratch)
{
    train_report *r = report;
    r->out = out;
    r->scratch = scratch;
    if (r->options.format == SOOTH_FORMAT_TABLE)
        as_table(r);
    else if (r->options.format == SOOTH_FORMAT_CSV)
        as_csv(r);
    else if (r->options.format == SOOTH_FORMAT_JSON)
        as_json(r);
    else if (r->options.format == SOOTH_FORMAT_TRACE)
        train_trace(r);
    else if (r->options.format == SOOTH_FORMAT_HTML)
        train_html(r);
    else
        fail_with(out->fail, SOOTH_ERROR_USAGE, "a training step is written as a table, CSV, JSON, trace or HTML");
}

sooth_status sooth_train_report(const sooth_train *train, const sooth_report_options *options, char **bytes,
                                size_t *size, sooth_error *error)
{
    train_report r = {.train = train,
                      .totals = sooth_train_totals_of(train),
                      .options = options ? *options : (sooth_report_options){0}};
    return text_report(write_report, &r, bytes, size, error);
}
