/* dataset.c: computes the graphs and labels of one item, in a serialized form for other threads and processes. */
#include "plan/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_text(bytes *b, const char *s)
{
    bytes_str(b, str_of(s ? s : ""));
}

static void put_interval(bytes *b, sooth_interval x)
{
    bytes_real(b, x.value);
    bytes_real(b, x.low);
    bytes_real(b, x.high);
}

static void put_setting(bytes *b, const set_setting *s)
{
    const char *const texts[] = {s->gpu, s->mig, s->precision, s->layout, s->runtime, s->mode, s->optimizer, s->stack};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_text(b, texts[i]);
}

static void put_label(bytes *b, const set_label *l)
{
    put_setting(b, &l->setting);
    bytes_whole(b, l->is_measured);
    put_interval(b, l->latency_ms);
    put_interval(b, l->energy_j);
    put_interval(b, l->memory_mib);
    bytes_real(b, l->utilization);
    put_text(b, l->mig_profile);
    put_text(b, l->source);
    put_text(b, l->error);
}

static void put_error(bytes *b, sooth_status status, const char *message)
{
    b->size = 0;
    put_text(b, message);
    bytes_whole(b, status);
    bytes_whole(b, 0);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static const sooth_interval UNKNOWN = {NAN, NAN, NAN};

/* Returns the smallest slice whose memory is enough for the upper end of the interval; "" without slices. */
static const char *slice_for(const sooth_gpu *gpu, const sooth_memory *memory)
{
    const char *best = "";
    double least = INFINITY;
    for (size_t i = 0; i < sooth_mig_count(gpu); i++) {
        sooth_mig_profile p = sooth_mig_at(gpu, i);
        if (memory->known && memory->total_mib.high <= p.memory_gib * 1024 && p.memory_gib < least) {
            best = p.name;
            least = p.memory_gib;
        }
    }
    return best;
}

static void predict_label(sooth_model *model, const sooth_predict_options *where, bytes *b)
{
    sooth_error error;
    sooth_prediction *prediction;
    if (sooth_predict(model, where, &prediction, &error) != SOOTH_OK) {
        set_setting asked = {.gpu = sooth_gpu_text(where->device, "name"), .precision = where->precision};
        set_label none = {.setting = asked,
                          .latency_ms = UNKNOWN,
                          .energy_j = UNKNOWN,
                          .memory_mib = UNKNOWN,
                          .utilization = NAN,
                          .error = error.message};
        put_label(b, &none);
        return;
    }
    sooth_prediction_totals t = sooth_prediction_totals_of(prediction);
    sooth_memory memory = sooth_prediction_memory(prediction);
    bool is_training = strcmp(t.mode, "train") == 0;
    set_label l = {
        .setting = {t.gpu, t.mig, t.precision, t.layout, t.runtime, t.mode, is_training ? t.optimizer : "", t.stack},
        .latency_ms = t.latency_ms,
        .energy_j = t.energy_j,
        .memory_mib = memory.known ? memory.total_mib : UNKNOWN,
        .utilization = t.compute_share,
        .mig_profile = slice_for(where->device, &memory),
    };
    put_label(b, &l);
    sooth_prediction_free(prediction);
}

static int64_t predict_labels(sooth_model *model, const set_labels *labels, bytes *b)
{
    sooth_predict_options where = labels->settings;
    size_t precisions = labels->precision_count ? labels->precision_count : 1;
    size_t layouts = labels->layout_count ? labels->layout_count : 1;
    size_t runtimes = labels->runtime_count ? labels->runtime_count : 1;
    where.memory = true;
    for (size_t i = 0; i < precisions * layouts * runtimes; i++) {
        if (labels->precision_count)
            where.precision = labels->precisions[i / runtimes / layouts];
        if (labels->layout_count)
            where.layout = labels->layouts[i / runtimes % layouts];
        if (labels->runtime_count)
            where.runtime = labels->runtimes[i % runtimes];
        for (size_t g = 0; g < labels->gpu_count; g++) {
            where.device = labels->gpus[g];
            predict_label(model, &where, b);
        }
    }
    return (int64_t)(precisions * layouts * runtimes * labels->gpu_count);
}

static sooth_interval measured(double x)
{
    return (sooth_interval){x, NAN, NAN};
}

static int64_t put_rows(const set_item *item, int64_t batch, bytes *b)
{
    int64_t count = 0;
    for (const set_row *row = item->rows; row; row = row->next) {
        if (row->batch != batch)
            continue;
        set_label l = {.setting = row->setting,
                       .is_measured = true,
                       .latency_ms = measured(row->latency_ms),
                       .energy_j = measured(row->energy_j),
                       .memory_mib = measured(row->memory_mib),
                       .utilization = row->utilization,
                       .source = row->source};
        put_label(b, &l);
        count++;
    }
    return count;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* Writes each operator of the graph once, with the code that its nodes have. */
static int64_t put_operators(const sooth_model *model, bytes *b, arena *a)
{
    size_t layers = sooth_layer_count(model);
    struct {
        const char **items;
        int32_t count, capacity;
    } seen = {0};
    bytes_whole(b, set_op_code("Input"));
    put_text(b, "Input");
    put_text(b, "input");
    for (size_t l = 0; l < layers; l++) {
        sooth_layer layer = sooth_layer_at(model, l);
        bool is_new = true;
        for (int32_t i = 0; i < seen.count && is_new; i++)
            is_new = strcmp(seen.items[i], layer.op) != 0;
        if (!is_new)
            continue;
        *(const char **)ARENA_PUSH(a, &seen) = layer.op;
        bytes_whole(b, set_op_code(layer.op));
        put_text(b, layer.op);
        put_text(b, layer.kind);
    }
    return seen.count + 1;
}

/* Fills in a number whose place was reserved. */
static void set_whole(bytes *b, size_t at, int64_t x)
{
    if (!b->failed)
        memcpy(b->data + at, &x, sizeof x);
}

static void put_graph(const set_item *item, int64_t batch, sooth_model *model, const set_labels *labels, bytes *b,
                      arena *a)
{
    set_graph g = set_graph_of(model, a);
    set_figures f = set_figures_of(&g);
    put_text(b, item->name);
    put_text(b, item->family);
    put_text(b, item->spec);
    const int64_t numbers[] = {(int64_t)set_fingerprint(&g),
                               (int64_t)set_architecture(&g),
                               batch,
                               f.params,
                               f.macs,
                               f.flops,
                               f.conv_count,
                               f.dense_count,
                               f.relu_count,
                               g.node_count,
                               g.edge_count};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        bytes_whole(b, numbers[i]);
    bytes_str(b, set_graph_encode(&g, a));
    size_t counts = b->size;
    bytes_whole(b, 0);
    bytes_whole(b, 0);
    set_whole(b, counts, put_operators(model, b, a));
    int64_t rows = put_rows(item, batch, b);
    set_whole(b, counts + sizeof rows, rows + predict_labels(model, labels, b));
}

/* A separate function, because it calls setjmp. */
static sooth_status put_graphs(const set_item *item, const set_labels *labels, bytes *b, sooth_model **model, arena *a,
                               fail *f)
{
    if (setjmp(f->jump))
        return f->error->code;
    sooth_status loaded = sooth_load_file(item->spec, model, f->error);
    /* A missing or unreadable file fails only its own item; other system errors end the set. */
    bool is_in_reach = strncmp(item->spec, "zoo:", 4) == 0 || access(item->spec, R_OK) == 0;
    if (loaded != SOOTH_OK)
        return f->error->code = loaded == SOOTH_ERROR_SYSTEM && !is_in_reach ? SOOTH_ERROR_INPUT : loaded;
    put_text(b, "");
    bytes_whole(b, SOOTH_OK);
    size_t count_at = b->size;
    int64_t count = 0;
    bytes_whole(b, 0);
    sooth_error first = {.code = SOOTH_OK};
    for (size_t i = 0; i < item->batch_count; i++) {
        sooth_options dims = {.batch = item->batches[i], .dims = item->dims, .dim_count = item->dim_count};
        if (sooth_bind(*model, &dims, f->error) == SOOTH_OK) {
            put_graph(item, item->batches[i], *model, labels, b, a);
            count++;
        } else if (f->error->code == SOOTH_ERROR_SYSTEM) {
            return f->error->code;
        } else if (first.code == SOOTH_OK) {
            first = *f->error;
        }
    }
    if (!count) {
        *f->error = first;
        return first.code;
    }
    set_whole(b, count_at, count);
    put_text(b, first.message);
    return SOOTH_OK;
}

void set_item_compute(const set_item *item, const set_labels *labels, bytes *result)
{
    sooth_error error = {.code = SOOTH_OK};
    fail f = {.error = &error};
    arena scratch;
    sooth_model *model = NULL;
    arena_init(&scratch, &f, ARENA_GIB(4));
    sooth_status status = put_graphs(item, labels, result, &model, &scratch, &f);
    if (status != SOOTH_OK)
        put_error(result, status, error.message);
    sooth_free(model);
    arena_free(&scratch);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const char *take_text(str *at)
{
    return bytes_take_str(at).ptr;
}

static sooth_interval take_interval(str *at)
{
    sooth_interval x;
    x.value = bytes_take_real(at);
    x.low = bytes_take_real(at);
    x.high = bytes_take_real(at);
    return x;
}

const char *set_take_error(str *at, sooth_status *status, int64_t *graph_count)
{
    const char *message = take_text(at);
    *status = (sooth_status)bytes_take_whole(at);
    *graph_count = bytes_take_whole(at);
    return message;
}

set_graph_row set_take_graph(str *at)
{
    set_graph_row g;
    g.name = take_text(at);
    g.family = take_text(at);
    g.spec = take_text(at);
    g.fingerprint = (uint64_t)bytes_take_whole(at);
    g.architecture = (uint64_t)bytes_take_whole(at);
    g.figures.batch = bytes_take_whole(at);
    g.figures.params = bytes_take_whole(at);
    g.figures.macs = bytes_take_whole(at);
    g.figures.flops = bytes_take_whole(at);
    g.figures.conv_count = (int32_t)bytes_take_whole(at);
    g.figures.dense_count = (int32_t)bytes_take_whole(at);
    g.figures.relu_count = (int32_t)bytes_take_whole(at);
    g.node_count = bytes_take_whole(at);
    g.edge_count = bytes_take_whole(at);
    g.graph = bytes_take_str(at);
    g.operator_count = bytes_take_whole(at);
    g.label_count = bytes_take_whole(at);
    return g;
}

const char *set_take_missing(str *at)
{
    return take_text(at);
}

set_operator set_take_operator(str *at)
{
    set_operator o;
    o.code = (int32_t)bytes_take_whole(at);
    o.name = take_text(at);
    o.kind = take_text(at);
    return o;
}

set_label set_take_label(str *at)
{
    set_label l = {.error = ""};
    const char **const texts[] = {&l.setting.gpu,     &l.setting.mig,  &l.setting.precision, &l.setting.layout,
                                  &l.setting.runtime, &l.setting.mode, &l.setting.optimizer, &l.setting.stack};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = take_text(at);
    l.is_measured = bytes_take_whole(at) != 0;
    l.latency_ms = take_interval(at);
    l.energy_j = take_interval(at);
    l.memory_mib = take_interval(at);
    l.utilization = bytes_take_real(at);
    l.mig_profile = take_text(at);
    l.source = take_text(at);
    l.error = take_text(at);
    return l;
}
