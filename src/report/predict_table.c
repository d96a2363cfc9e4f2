/* predict_table.c: `sooth predict` for people: for one prediction the figures, the latency by limiting resource, the
 * slowest layers and the calibration of the intervals; for several a comparison. */
#include "report/grid.h"
#include "report/predict_memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { MOST_LAYERS = 10, WIDEST_NAME = 60 };

static void style(predict_report *r, const char *code)
{
    text_style(r->out, &r->options, code);
}

static void title(predict_report *r, const char *s)
{
    style(r, "1");
    text_printf(r->out, "\n  %s\n", s);
    style(r, "0");
}

static const char *share_text(char room[NUMBER_ROOM], double share)
{
    if (!isfinite(share))
        return "?";
    snprintf(room, NUMBER_ROOM, "%.1f %%", share);
    return room;
}

/* ---- one --------------------------------------------------------------------------------------------------------- */

static void model_line(predict_report *r, const sooth_prediction_totals *t)
{
    style(r, "1");
    text_name(r->out, t->file, SIZE_MAX, r->options.ascii);
    style(r, "0");
    text_puts(r->out, " on ");
    style(r, "1");
    text_name(r->out, t->gpu, SIZE_MAX, r->options.ascii);
    if (*t->mig)
        text_printf(r->out, " %s", t->mig);
    style(r, "0");
    style(r, "2");
    bool training = strcmp(t->mode, "train") == 0;
    text_printf(r->out, "  batch %" PRId64 ", %s, %s, %s, %s%s%s", t->batch, t->precision, t->layout, t->runtime,
                t->mode, training ? " with " : "", training ? t->optimizer : "");
    if (*t->stack) {
        text_puts(r->out, ", ");
        text_name(r->out, t->stack, WIDEST_NAME, r->options.ascii);
    }
    style(r, "0");
    text_puts(r->out, "\n\n");
}

static void figure(predict_report *r, const char *name, const char *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void figure(predict_report *r, const char *name, const char *value, const char *format, ...)
{
    char note[256];
    va_list args;
    va_start(args, format);
    vsnprintf(note, sizeof note, format, args);
    va_end(args);
    text_printf(r->out, "  %-16s  ", name);
    style(r, "1");
    size_t width = strlen(value);
    /* At least 12 columns wide, because numbers are never shortened. */
    text_cell(r->out, value, width > 12 ? width : 12, CELL_RIGHT, r->options.ascii);
    style(r, "0");
    text_printf(r->out, "  %s\n", note);
}

static void energy_figures(predict_report *r, const sooth_prediction_totals *t)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM], c[NUMBER_ROOM], value[NUMBER_ROOM + 16];
    const char *dot = r->options.ascii ? "-" : "·";
    snprintf(value, sizeof value, "%s J", number_digits(a, t->energy_j.value));
    figure(r, "energy", value, "%d %% interval %s to %s J %s %s J per 1,000 samples", t->interval_percent,
           number_digits(a, t->energy_j.low), number_digits(b, t->energy_j.high), dot,
           number_digits(c, t->energy_j_per_1000));
    snprintf(value, sizeof value, "%s W", number_digits(a, t->power_w.value));
    figure(r, "power", value, "%d %% interval %s to %s W %s board limit %s W", t->interval_percent,
           number_digits(a, t->power_w.low), number_digits(b, t->power_w.high), dot,
           number_digits(c, t->power_limit_w));
    if (isfinite(t->co2_g)) {
        snprintf(value, sizeof value, "%s mg", number_digits(a, 1e3 * t->co2_g));
        figure(r, "CO2", value, "%s mg per 1,000 samples", number_digits(b, 1e6 * t->co2_g / (double)t->batch));
    }
}

static void figures(predict_report *r, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM], c[NUMBER_ROOM], value[NUMBER_ROOM + 16];
    snprintf(value, sizeof value, "%s ms", number_digits(a, t->latency_ms.value));
    figure(r, "latency", value, "%d %% interval %s to %s ms", t->interval_percent, number_digits(a, t->latency_ms.low),
           number_digits(b, t->latency_ms.high));
    snprintf(value, sizeof value, "%s /s", number_digits(a, t->throughput_per_s));
    figure(r, "throughput", value, "%s per second", t->batch == 1 ? "passes" : "samples");
    energy_figures(r, t);
    double seconds = t->latency_ms.value / 1e3;
    figure(r, "GPU utilization", share_text(value, t->compute_share), "%s of %s TFLOP/s",
           number_digits(a, seconds > 0 ? (double)t->flops / seconds / 1e12 : 0),
           number_digits(b, t->peak_flops / 1e12));
    double moved_gb_s = seconds > 0 ? (double)t->bytes / seconds / 1e9 : 0;
    double dram_gb_s = t->dram_share / 100 * t->bandwidth_bytes_s / 1e9;
    const double from_cache = 1.05; /* Bytes that kernels move ÷ bytes from memory, from which on a note says so. */
    figure(r, "DRAM bandwidth", share_text(value, t->dram_share), "%s of %s GB/s%s%s%s", number_digits(a, dram_gb_s),
           number_digits(b, t->bandwidth_bytes_s / 1e9), moved_gb_s > from_cache * dram_gb_s ? "; kernels move " : "",
           moved_gb_s > from_cache * dram_gb_s ? number_digits(c, moved_gb_s) : "",
           moved_gb_s > from_cache * dram_gb_s ? ", the rest within the L2 cache" : "");
    if (t->occupancy > 0)
        figure(r, "occupancy", share_text(value, t->occupancy),
               "resident threads as a share of the maximum, mean over kernel time");
    if (t->wave_efficiency > 0)
        figure(r, "wave efficiency", share_text(value, t->wave_efficiency),
               "thread blocks as a share of their waves' capacity, mean over kernel time");
    figure(r, "unit utilization", share_text(value, t->layer_share),
           "of the peak of the units that each kernel can use, mean over kernel time");
    const char *dot = r->options.ascii ? "-" : "·";
    figure(r, "kernels", number_grouped(value, (int64_t)sooth_predicted_kernel_count(p)),
           "%s ms on the GPU %s launched by the host in %s ms", number_digits(a, t->device_ms), dot,
           number_digits(b, t->host_ms));
}

static void split_line(predict_report *r, const char *name, double ms, double whole, const char *note)
{
    char room[NUMBER_ROOM];
    double share = whole > 0 ? ms / whole : 0;
    text_printf(r->out, "  %-10s  %10s ms  %5.1f %%  ", name, number_digits(room, ms), 100 * share);
    style(r, "34");
    size_t length = text_bar(r->out, share, r->options.ascii);
    style(r, "0");
    if (*note) {
        text_repeat(r->out, " ", TEXT_BAR + 2 - length);
        text_puts(r->out, note);
    }
    text_puts(r->out, "\n");
}

static void splits(predict_report *r, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    bound_shares bounds = predict_bounds(p);
    double latency = t->latency_ms.value, ideal = t->ideal_compute_ms + t->ideal_memory_ms + t->ideal_launch_ms;
    char room[NUMBER_ROOM];
    title(r, "latency by limiting resource");
    split_line(r, "compute", bounds.compute_ms, latency, "");
    split_line(r, "memory", bounds.memory_ms, latency, "");
    split_line(r, "launch", bounds.launch_ms, latency, "");
    style(r, "1");
    text_printf(r->out, "\n  roofline, on a GPU that reaches its peaks: %s ms\n", number_digits(room, ideal));
    style(r, "0");
    split_line(r, "compute", t->ideal_compute_ms, ideal, "compute-bound kernels");
    split_line(r, "memory", t->ideal_memory_ms, ideal, "memory-bound kernels");
    split_line(r, "launch", t->ideal_launch_ms, ideal, "waiting for the host");
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void memory_figure(predict_report *r, const sooth_memory *m, int percent)
{
    char room[NUMBER_ROOM], value[NUMBER_ROOM + 16], low[NUMBER_ROOM], high[NUMBER_ROOM];
    snprintf(value, sizeof value, "%s MiB", number_grouped(room, (int64_t)round(m->total_mib.value)));
    const char *from = number_grouped(low, (int64_t)round(m->total_mib.low));
    const char *to = number_grouped(high, (int64_t)round(m->total_mib.high));
    const char *verdict = memory_verdict(m);
    if (!verdict)
        figure(r, "memory", value, "%d %% interval %s to %s MiB", percent, from, to);
    else if (m->fits && !m->fits_upper)
        figure(r, "memory", value, "%d %% interval %s to %s of %s MiB: %s", percent, from, to,
               number_grouped(room, (int64_t)m->capacity_mib), verdict);
    else
        figure(r, "memory", value, "%d %% interval %s to %s MiB; %s into %s MiB", percent, from, to, verdict,
               number_grouped(room, (int64_t)m->capacity_mib));
}

static void memory_parts(predict_report *r, const sooth_memory *m)
{
    memory_share shares[MEMORY_SHARES];
    memory_shares(m, shares);
    title(r, "peak memory by part");
    for (int i = 0; i < MEMORY_SHARES; i++) {
        char room[NUMBER_ROOM];
        double share = m->total_mib.value > 0 ? shares[i].mib / m->total_mib.value : 0;
        if (shares[i].mib < 0.05)
            continue;
        text_printf(r->out, "  %-11s  %8s MiB  %5.1f %%  ", shares[i].name, number_digits(room, shares[i].mib),
                    100 * share);
        style(r, "34");
        size_t length = text_bar(r->out, share, r->options.ascii);
        style(r, "0");
        text_repeat(r->out, " ", TEXT_BAR + 2 - length);
        text_printf(r->out, "%s\n", shares[i].note);
    }
}

static void memory_layers(predict_report *r, const sooth_prediction *p, const sooth_memory *m)
{
    enum { MOST = 5 };
    static const grid_column columns[] = {
        {"layer", CELL_LEFT, 0}, {"operator", CELL_LEFT, 0}, {"MiB", CELL_RIGHT, 0}, {"of activations", CELL_RIGHT, 1}};
    size_t count;
    const size_t *order = memory_largest_layers(r, p, &count);
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count && i < MOST; i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(p, order[i]);
        char room[NUMBER_ROOM];
        double mib = (double)l.peak_bytes / (1024 * 1024);
        grid_add(&g, l.name);
        grid_add(&g, l.op);
        grid_add(&g, number_digits(room, mib));
        grid_add(&g, share_text(room, m->activations_mib > 0 ? 100 * mib / m->activations_mib : 0));
    }
    if (!count)
        return;
    title(r, "layers with the most activations at the memory peak");
    grid_write(&g);
}

static void memory_course(predict_report *r, const sooth_prediction *p)
{
    enum { MOST = 30 };
    static const grid_column columns[] = {{"layer", CELL_LEFT, 0},          {"ms", CELL_RIGHT, 0},
                                          {"phase", CELL_LEFT, 2},          {"kernel", CELL_LEFT, 3},
                                          {"allocated MiB", CELL_RIGHT, 0}, {"reserved MiB", CELL_RIGHT, 1}};
    size_t count;
    const memory_point *points = memory_over_time(r, p, r->options.kernels ? 0 : MOST, &count);
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, points[i].kernel);
        char room[NUMBER_ROOM];
        grid_add(&g, sooth_predicted_layer_at(p, k.layer).name);
        grid_add(&g, number_digits(room, points[i].begin_ms));
        grid_add(&g, k.phase);
        grid_add(&g, k.op);
        grid_add(&g, number_digits(room, points[i].allocated_mib));
        grid_add(&g, number_digits(room, points[i].reserved_mib));
    }
    title(r, "memory over time, without the context");
    grid_write(&g);
}

static void layers(predict_report *r, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    static const grid_column columns[] = {
        {"layer", CELL_LEFT, 0},   {"operator", CELL_LEFT, 0}, {"ms", CELL_RIGHT, 0},    {"share", CELL_RIGHT, 0},
        {"GPU ms", CELL_RIGHT, 5}, {"FLOPs", CELL_RIGHT, 2},   {"bytes", CELL_RIGHT, 3}, {"utilization", CELL_RIGHT, 1},
        {"mJ", CELL_RIGHT, 4},     {"bound by", CELL_LEFT, 0}};
    size_t count, most = r->options.top ? r->options.top : MOST_LAYERS;
    const size_t *order = predict_costliest(r, p, &count);
    bool all = r->options.layers;
    size_t shown = all ? sooth_predicted_layer_count(p) : count < most ? count : most;
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, columns, sizeof columns / sizeof *columns);
    double left_ms = t->latency_ms.value;
    for (size_t i = 0; i < shown; i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(p, all ? i : order[i]);
        char room[NUMBER_ROOM];
        grid_add(&g, l.name);
        grid_add(&g, l.op);
        grid_add(&g, number_digits(room, l.latency_ms));
        grid_add(&g, share_text(room, t->latency_ms.value > 0 ? 100 * l.latency_ms / t->latency_ms.value : 0));
        grid_add(&g, number_digits(room, l.device_ms));
        grid_add(&g, number_short(room, l.flops));
        grid_add(&g, number_bytes(room, l.bytes));
        grid_add(&g, share_text(room, l.compute_share));
        grid_add(&g, number_digits(room, l.energy_j * 1e3));
        grid_add(&g, l.bound);
        left_ms -= l.latency_ms;
    }
    title(r, all ? "layers" : "slowest layers");
    grid_write(&g);
    char room[NUMBER_ROOM];
    if (!all && count > shown)
        text_printf(r->out, "  %zu more layers take %s ms (--layers lists them)\n", count - shown,
                    number_digits(room, fmax(left_ms, 0)));
    if (t->host_ms > t->device_ms)
        text_puts(r->out, "  GPU ms: time while kernels run; during the rest of ms the GPU waits for launches\n");
}

static void kernels(predict_report *r, const sooth_prediction *p)
{
    static const grid_column columns[] = {
        {"kernel", CELL_LEFT, 0}, {"layer", CELL_LEFT, 6},    {"output", CELL_LEFT, 0},
        {"type", CELL_LEFT, 1},   {"us", CELL_RIGHT, 0},      {"FLOPs", CELL_RIGHT, 4},
        {"bytes", CELL_RIGHT, 5}, {"bound by", CELL_LEFT, 2}, {"algorithm", CELL_LEFT, 3}};
    grid g;
    grid_begin(&g, r->out, r->scratch, &r->options, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < sooth_predicted_kernel_count(p); i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        sooth_predicted_tensor output = sooth_predicted_output(p, i, 0);
        char room[NUMBER_ROOM];
        grid_printf(&g, "%s%s", k.is_hidden ? "+ " : "", k.name);
        grid_add(&g, sooth_predicted_layer_at(p, k.layer).name);
        grid_add(&g, k.output_count ? predict_shape(r, output, r->options.ascii ? "x" : "×") : "");
        grid_add(&g, output.dtype);
        grid_add(&g, number_digits(room, k.latency_ms * 1e3));
        grid_add(&g, number_short(room, k.flops));
        grid_add(&g, number_bytes(room, k.bytes));
        grid_add(&g, k.bound);
        grid_add(&g, k.algorithm ? k.algorithm : "");
    }
    title(r, "kernels in launch order (+: launched by the operator before)");
    grid_write(&g);
}

/* Prints a note, which may contain text from a file. */
static void note_line(predict_report *r, const char *whose, const char *note)
{
    text_puts(r->out, "  ");
    text_name(r->out, whose, SIZE_MAX, r->options.ascii);
    text_puts(r->out, *whose ? ": " : "");
    text_name(r->out, note, SIZE_MAX, r->options.ascii);
    text_puts(r->out, "\n");
}

static void basis(predict_report *r, const sooth_prediction *p, const sooth_prediction_totals *t)
{
    text_printf(r->out, "\n  Intervals: latency calibrated on %s; power on %s.\n", t->interval_kind,
                t->energy_interval_kind);
    const char *note;
    for (size_t i = 0; (note = sooth_prediction_note(p, i)); i++)
        note_line(r, "", note);
    if ((note = sooth_prediction_layers_note(p)))
        note_line(r, "", note);
}

/* ---- several ----------------------------------------------------------------------------------------------------- */

static bool has_note(const sooth_prediction *p, const char *wanted)
{
    const char *note;
    for (size_t i = 0; (note = sooth_prediction_note(p, i)); i++)
        if (strcmp(note, wanted) == 0)
            return true;
    return false;
}

/* Prints a note; if only some predictions have it, the names of their GPUs precede it. */
static void compared_note(predict_report *r, size_t first, const char *note)
{
    str whose = {"", 0};
    bool all = first == 0;
    for (size_t i = first; i < r->count; i++) {
        const char *gpu = sooth_prediction_totals_of(r->predictions[i]).gpu;
        bool has = has_note(r->predictions[i], note), is_named = false;
        for (size_t k = first; k < i && !is_named; k++)
            is_named = has_note(r->predictions[k], note) &&
                       strcmp(sooth_prediction_totals_of(r->predictions[k]).gpu, gpu) == 0;
        all = all && has;
        if (has && !is_named)
            whose = arena_printf(r->scratch, "%s%s%s", whose.ptr, whose.len ? ", " : "", gpu);
    }
    note_line(r, all ? "" : whose.ptr, note);
}

/* Prints the reasons of empty rows, once per GPU if they are the same for all batches. */
static void refusals(predict_report *r)
{
    const sooth_refusal *all = r->options.refusals;
    for (size_t i = 0; i < r->options.refusal_count; i++) {
        bool is_told = false;
        for (size_t k = 0; k < i && !is_told; k++)
            is_told = strcmp(all[k].gpu, all[i].gpu) == 0 && strcmp(all[k].reason, all[i].reason) == 0;
        if (!is_told)
            note_line(r, strstr(all[i].reason, all[i].gpu) ? "no answer" : all[i].gpu, all[i].reason);
    }
}

static void compared_notes(predict_report *r)
{
    bool any = r->options.refusal_count > 0;
    text_puts(r->out, any ? "\n" : "");
    refusals(r);
    bool is_open = false;
    for (size_t i = 0; i < r->count && !is_open; i++) {
        sooth_memory m = sooth_prediction_memory(r->predictions[i]);
        is_open = m.known && m.fits && !m.fits_upper;
        if (is_open)
            text_printf(r->out, "%s  perhaps: %s\n", any ? "" : "\n", memory_verdict(&m));
    }
    any = any || is_open;
    for (size_t i = 0; i < r->count; i++) {
        const char *note;
        for (size_t n = 0; (note = sooth_prediction_note(r->predictions[i], n)); n++) {
            bool is_told = false;
            for (size_t k = 0; k < i && !is_told; k++)
                is_told = has_note(r->predictions[k], note);
            if (is_told)
                continue;
            text_puts(r->out, any ? "" : "\n");
            compared_note(r, i, note);
            any = true;
        }
    }
}

static void compared_row(grid *g, const sooth_prediction *p, bool has_co2)
{
    sooth_prediction_totals t = sooth_prediction_totals_of(p);
    bound_shares bounds = predict_bounds(p);
    char room[NUMBER_ROOM];
    grid_printf(g, "%s%s%s", t.gpu, *t.mig ? " " : "", t.mig);
    grid_printf(g, "%" PRId64, t.batch);
    grid_add(g, number_digits(room, t.latency_ms.value));
    grid_add(g, number_digits(room, t.latency_ms.low));
    grid_add(g, number_digits(room, t.latency_ms.high));
    grid_add(g, number_digits(room, t.device_ms));
    grid_add(g, number_digits(room, fmax(0, t.latency_ms.value - t.device_ms)));
    grid_add(g, number_digits(room, t.throughput_per_s));
    grid_add(g, number_digits(room, t.energy_j.value));
    grid_add(g, number_digits(room, t.power_w.value));
    if (has_co2)
        grid_add(g, number_digits(room, 1e3 * t.co2_g));
    grid_add(g, share_text(room, t.compute_share));
    grid_add(g, share_text(room, t.dram_share));
    grid_add(g, t.occupancy > 0 ? share_text(room, t.occupancy) : "");
    double most = fmax(bounds.compute_ms, fmax(bounds.memory_ms, bounds.launch_ms));
    grid_add(g, most == bounds.launch_ms ? "launch" : most == bounds.memory_ms ? "memory" : "compute");
    sooth_memory m = sooth_prediction_memory(p);
    grid_add(g, m.known ? number_grouped(room, (int64_t)round(m.total_mib.value)) : "");
    grid_add(g, !m.known || !(m.capacity_mib > 0) ? "" : m.fits_upper ? "yes" : m.fits ? "perhaps" : "no");
}

static void refused_row(grid *g, const sooth_refusal *no)
{
    grid_printf(g, "%s%s%s", no->gpu, *no->mig ? " " : "", no->mig);
    if (no->batch > 0)
        grid_printf(g, "%" PRId64, no->batch);
    else
        grid_add(g, "none");
    grid_add(g, "no answer");
    for (size_t c = 3; c < g->column_count; c++)
        grid_add(g, "");
}

static void comparison(predict_report *r)
{
    enum { CO2 = 10 };
    static const grid_column all[] = {
        {"GPU", CELL_LEFT, 0},
        {"batch", CELL_RIGHT, 0},
        {"latency ms", CELL_RIGHT, 0},
        {"low", CELL_RIGHT, 0},
        {"high", CELL_RIGHT, 0},
        {"GPU ms", CELL_RIGHT, 0},
        {"waiting", CELL_RIGHT, 2},
        {"samples/s", CELL_RIGHT, 1},
        {"J", CELL_RIGHT, 6},
        {"W", CELL_RIGHT, 7},
        [CO2] = {"CO2 mg", CELL_RIGHT, 0},
        {"GPU", CELL_RIGHT, 2},
        {"DRAM", CELL_RIGHT, 4},
        {"occupancy", CELL_RIGHT, 5},
        {"mostly bound by", CELL_LEFT, 3},
        {"memory MiB", CELL_RIGHT, 0},
        {"fits", CELL_LEFT, 0},
    };
    sooth_prediction_totals first = sooth_prediction_totals_of(r->predictions[0]);
    style(r, "1");
    text_name(r->out, first.file, SIZE_MAX, r->options.ascii);
    style(r, "0");
    style(r, "2");
    bool has_graph = strcmp(first.host, "CUDA graph") == 0;
    text_printf(r->out, "  %s, %s, %s, %s, %s%s", first.precision, first.layout, first.runtime, first.mode, first.host,
                has_graph ? "" : " host");
    style(r, "0");
    text_puts(r->out, "\n\n");
    grid g;
    grid_column columns[GRID_COLUMNS];
    size_t column_count = 0;
    bool has_co2 = isfinite(first.co2_g);
    for (size_t c = 0; c < sizeof all / sizeof *all; c++)
        if (c != CO2 || has_co2)
            columns[column_count++] = all[c];
    grid_begin(&g, r->out, r->scratch, &r->options, columns, column_count);
    for (size_t i = 0; i < r->count + r->options.refusal_count; i++) {
        compared row = predict_compared(r, i);
        if (row.refusal)
            refused_row(&g, row.refusal);
        else
            compared_row(&g, row.prediction, has_co2);
    }
    grid_write(&g);
    compared_notes(r);
}

void predict_table(predict_report *r)
{
    if (r->count + r->options.refusal_count > 1) {
        comparison(r);
        return;
    }
    const sooth_prediction *p = r->predictions[0];
    sooth_prediction_totals t = sooth_prediction_totals_of(p);
    model_line(r, &t);
    sooth_memory m = sooth_prediction_memory(p);
    figures(r, p, &t);
    if (m.known)
        memory_figure(r, &m, t.interval_percent);
    splits(r, p, &t);
    layers(r, p, &t);
    if (m.known) {
        memory_parts(r, &m);
        memory_layers(r, p, &m);
    }
    if (r->options.memory)
        memory_course(r, p);
    if (r->options.kernels)
        kernels(r, p);
    basis(r, p, &t);
}
