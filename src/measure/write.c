/* write.c: the parts that `sooth measure` adds to the report of a training step: the machine's peaks, losses,
 * libraries side by side, and the roofline. */
#include "measure/measure.h"
#include "plan/train_phase.h"
#include "report/grid.h"
#include "report/json.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_LAYERS = 20 };
static const size_t SCRATCH_CAP = (size_t)256 << 20;

typedef struct writer {
    const sooth_model *model;
    const measured *m;
    const sooth_report_options *options;
    bool compares;
    text *out;
    arena *scratch;
} writer;

static double sum_ms(const measured_layer *l, run_pass first, run_pass end)
{
    double ms = 0;
    for (int pass = first; pass < (int)end; pass++)
        ms += l->ms[pass].median;
    return ms;
}

static double flops_of(const writer *w, int layer)
{
    double flops = 0;
    for (int pass = PASS_FORWARD; pass < PASS_UPDATE; pass++)
        flops += measure_pass_flops(w->m, w->model, layer, (run_pass)pass);
    return flops;
}

static double roofline_of(const writer *w, int layer)
{
    double ms = 0;
    for (int pass = PASS_FORWARD; pass < PASS_UPDATE; pass++)
        ms += measure_roofline_ms(w->m, w->model, layer, (run_pass)pass);
    return ms;
}

/* ---- table ------------------------------------------------------------------------------------------------------- */

typedef struct ranked {
    int layer;
    double ms;
} ranked;

static int by_time(const void *a, const void *b)
{
    double x = ((const ranked *)a)->ms, y = ((const ranked *)b)->ms;
    return (x < y) - (x > y);
}

/* Writes forward and backward times of the layers, by library. */
static void write_libraries(writer *w)
{
    const run_net *net = w->m->net;
    grid_column columns[2 + 3 * RUN_LIBRARIES + 2] = {{"layer", CELL_LEFT, 0}, {"operator", CELL_LEFT, 3}};
    size_t count = 2;
    for (int i = 0; i < w->m->run_count; i++) {
        const char *name = run_library_name(w->m->runs[i].library);
        columns[count++] = (grid_column){arena_printf(w->scratch, "%s fwd ms", name).ptr, CELL_RIGHT, 0};
        columns[count++] = (grid_column){"bwd ms", CELL_RIGHT, 0};
        columns[count++] = (grid_column){"of peak", CELL_RIGHT, 1};
    }
    if (w->compares) {
        columns[count++] = (grid_column){"roofline ms", CELL_RIGHT, 0};
        columns[count++] = (grid_column){"ratio", CELL_RIGHT, 0};
    }
    ranked *rows = ARENA_ARRAY(w->scratch, ranked, (size_t)net->layer_count);
    for (int i = 0; i < net->layer_count; i++)
        rows[i] = (ranked){i, sum_ms(&w->m->runs[0].layers[i], PASS_FORWARD, PASS_UPDATE)};
    int shown = w->options->layers || net->layer_count < MOST_LAYERS ? net->layer_count : MOST_LAYERS;
    if (shown < net->layer_count)
        qsort(rows, (size_t)net->layer_count, sizeof *rows, by_time);
    char room[NUMBER_ROOM];
    grid g;
    grid_begin(&g, w->out, w->scratch, w->options, columns, count);
    for (int k = 0; k < shown; k++) {
        int i = rows[k].layer;
        grid_add(&g, net->layers[i].name);
        grid_add(&g, net->layers[i].op);
        for (int r = 0; r < w->m->run_count; r++) {
            const measured_layer *l = &w->m->runs[r].layers[i];
            double ms = sum_ms(l, PASS_FORWARD, PASS_UPDATE);
            grid_add(&g, number_digits(room, sum_ms(l, PASS_FORWARD, PASS_BACKWARD_DATA)));
            grid_add(&g, number_digits(room, sum_ms(l, PASS_BACKWARD_DATA, PASS_UPDATE)));
            grid_printf(&g, "%.1f %%", ms > 0 ? flops_of(w, i) / ms / w->m->machine.peak_flops_s * 1e5 : 0);
        }
        if (w->compares) {
            double roofline = roofline_of(w, i);
            grid_add(&g, number_digits(room, roofline));
            grid_add(&g, roofline > 0 ? number_digits(room, rows[k].ms / roofline) : "");
        }
    }
    grid_write(&g);
    if (shown < net->layer_count)
        text_printf(w->out, "  %d more layers: --layers lists them\n", net->layer_count - shown);
}

static const char *const KINDS[] = {"conv", "matmul", "norm", "pool", "pointwise"};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS }; /* kinds that are not listed come last */

static int kind_of(const writer *w, int layer)
{
    int node = w->m->net->layers[layer].node, kind = 0;
    const char *name = node == NO_RUN ? "" : sooth_layer_at(w->model, (size_t)node).kind;
    while (kind < KIND_COUNT && strcmp(name, KINDS[kind]) != 0)
        kind++;
    return kind;
}

/* Writes the sums of one run over the layers of a kind; nothing if there are none. */
static void write_kind(writer *w, grid *g, int kind, int r)
{
    char room[NUMBER_ROOM];
    double ms[RUN_PASSES] = {0}, flops = 0;
    int layers = 0;
    for (int i = 0; i < w->m->net->layer_count; i++) {
        if (kind_of(w, i) != kind)
            continue;
        layers++;
        flops += flops_of(w, i);
        for (int pass = 0; pass < RUN_PASSES; pass++)
            ms[pass] += w->m->runs[r].layers[i].ms[pass].median;
    }
    if (!layers)
        return;
    double all_ms = ms[PASS_FORWARD] + ms[PASS_BACKWARD_DATA] + ms[PASS_BACKWARD_WEIGHTS];
    grid_add(g, kind < KIND_COUNT ? KINDS[kind] : "others");
    grid_add(g, run_library_name(w->m->runs[r].library));
    grid_printf(g, "%d", layers);
    for (int pass = 0; pass < RUN_PASSES; pass++)
        grid_add(g, number_digits(room, ms[pass]));
    grid_printf(g, "%.1f %%", all_ms > 0 ? flops / all_ms / w->m->machine.peak_flops_s * 1e5 : 0);
}

/* Writes sums by kind of layer and library. */
static void write_kinds(writer *w)
{
    static const grid_column COLUMNS[] = {{"kind", CELL_LEFT, 0},       {"library", CELL_LEFT, 0},
                                          {"layers", CELL_RIGHT, 1},    {"forward ms", CELL_RIGHT, 0},
                                          {"data ms", CELL_RIGHT, 1},   {"weights ms", CELL_RIGHT, 1},
                                          {"update ms", CELL_RIGHT, 0}, {"of peak", CELL_RIGHT, 0}};
    grid g;
    grid_begin(&g, w->out, w->scratch, w->options, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (int kind = 0; kind <= KIND_COUNT; kind++)
        for (int r = 0; r < w->m->run_count; r++)
            write_kind(w, &g, kind, r);
    grid_write(&g);
}

static void write_table(writer *w)
{
    const measured *m = w->m;
    char room[NUMBER_ROOM];
    text_printf(w->out, "\n  processor: %d threads, at most %s GFLOP/s", m->threads,
                number_digits(room, m->machine.peak_flops_s / 1e9));
    text_printf(w->out, " and %s GB/s, measured in this run\n",
                number_digits(room, m->machine.bandwidth_bytes_s / 1e9));
    for (int r = 0; r < m->run_count; r++) {
        const measured_run *run = &m->runs[r];
        text_printf(w->out, "  %-9s a step takes %s ms", run_library_name(run->library),
                    number_digits(room, run->step_ms.median));
        text_printf(w->out, " (quartiles %s", number_digits(room, run->step_ms.low));
        text_printf(w->out, " to %s)", number_digits(room, run->step_ms.high));
        text_printf(w->out, "; loss %s", number_digits(room, run->losses[0]));
        text_printf(w->out, " in the first step, %s in the last\n", number_digits(room, run->losses[m->steps - 1]));
    }
    text_puts(w->out, "\n  forward and backward by library\n");
    write_libraries(w);
    text_puts(w->out, "\n  sums by kind of layer\n");
    write_kinds(w);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_time(json *j, const char *key, const measured_time *t)
{
    sooth_interval x = {.value = t->median, .low = t->low, .high = t->high};
    json_pair_interval(j, key, x);
}

static void json_library_layers(writer *w, json *j, const measured_run *run)
{
    static const char *const PASSES[] = {"forward_ms", "backward_data_ms", "backward_weights_ms", "update_ms"};
    json_key(j, "layers");
    json_open(j, '[', false);
    for (int i = 0; i < w->m->net->layer_count; i++) {
        const measured_layer *l = &run->layers[i];
        json_open(j, '{', true);
        json_pair_string(j, "name", w->m->net->layers[i].name);
        json_pair_string(j, "library", l->library);
        json_pair_text(j, "algorithm", l->algorithm);
        for (int pass = 0; pass < RUN_PASSES; pass++)
            json_time(j, PASSES[pass], &l->ms[pass]);
        if (w->compares) {
            json_pair_real(j, "roofline_forward_ms", measure_roofline_ms(w->m, w->model, i, PASS_FORWARD));
            json_pair_real(j, "roofline_backward_ms",
                           measure_roofline_ms(w->m, w->model, i, PASS_BACKWARD_DATA) +
                               measure_roofline_ms(w->m, w->model, i, PASS_BACKWARD_WEIGHTS));
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_libraries(writer *w, json *j)
{
    static const char *const PARTS[] = {"weight_bytes",      "gradient_bytes",     "optimizer_bytes",
                                        "feature_map_bytes", "map_gradient_bytes", "workspace_bytes"};
    json_key(j, "libraries");
    json_open(j, '[', false);
    for (int r = 0; r < w->m->run_count; r++) {
        const measured_run *run = &w->m->runs[r];
        json_open(j, '{', false);
        json_pair_string(j, "library", run_library_name(run->library));
        json_time(j, "step_ms", &run->step_ms);
        for (int i = 0; i < RUN_PARTS; i++)
            json_pair_number(j, PARTS[i], run->bytes[i]);
        json_library_layers(w, j, run);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* Adds members to the object that the report of the step has written. */
static void write_json(writer *w)
{
    json writer = {.out = w->out, .depth = 1, .has_items = {true, true}}, *j = &writer;
    const image_times *images = &w->m->images;
    json_pair_bool(j, "measured", true);
    json_key(j, "machine");
    json_open(j, '{', true);
    json_pair_string(j, "cpu", w->m->machine.cpu);
    json_pair_number(j, "cores", w->m->machine.cores);
    json_pair_number(j, "threads", w->m->threads);
    json_pair_real(j, "peak_gflops", w->m->machine.peak_flops_s / 1e9);
    json_pair_real(j, "bandwidth_gb_s", w->m->machine.bandwidth_bytes_s / 1e9);
    json_close(j, '}');
    json_key(j, "images");
    if (images->images) {
        json_open(j, '{', true);
        json_pair_real(j, "read_cold_ms", images->read_cold.median);
        json_pair_real(j, "read_warm_ms", images->read_warm.median);
        json_pair_real(j, "decode_ms", images->decode.median);
        json_pair_real(j, "augment_ms", images->augment.median);
        json_pair_real(j, "loader_ms", images->loader_ms);
        json_close(j, '}');
    } else {
        json_null(j);
    }
    json_key(j, "losses");
    json_open(j, '[', true);
    for (int i = 0; i < w->m->steps; i++)
        json_real(j, w->m->runs[0].losses[i]);
    json_close(j, ']');
    json_libraries(w, j);
    text_puts(w->out, "\n}\n");
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

/* Returns the length of an object's text without its end, so that members can be added. */
static size_t open_size(const char *object, size_t size)
{
    while (size && object[size - 1] != '}')
        size--;
    size -= size > 0;
    while (size && object[size - 1] == '\n')
        size--;
    return size;
}

static bool write_all(writer *w, const char *step, size_t size, fail *f)
{
    if (setjmp(f->jump))
        return false;
    bool is_json = w->options->format == SOOTH_FORMAT_JSON;
    text_add(w->out, step, is_json ? open_size(step, size) : size);
    if (is_json)
        write_json(w);
    else if (w->options->format == SOOTH_FORMAT_TABLE)
        write_table(w);
    return true;
}

sooth_status measure_report(struct sooth_train *t, const sooth_model *model, const measured *m, bool compares,
                            const sooth_report_options *options, char **bytes, size_t *size, sooth_error *error)
{
    fail f = {.error = error};
    char *step;
    size_t step_size;
    sooth_status status = sooth_train_report(t, options, &step, &step_size, error);
    if (status != SOOTH_OK)
        return status;
    text out = {.fail = &f};
    arena scratch;
    arena_init(&scratch, &f, SCRATCH_CAP);
    writer w = {model, m, options, compares, &out, &scratch};
    bool done = write_all(&w, step, step_size, &f);
    status = text_hand_out(&out, done, bytes, size);
    arena_free(&scratch);
    free(step);
    return status;
}
