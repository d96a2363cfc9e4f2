/* predict_html.c: `sooth predict --format html`: a self-contained page with figures, a timeline of the layers, the
 * roofline of every layer, and a sortable table. It is well-formed XML, and light or dark as the reader's system. */
#include "report/page.h"
#include "report/predict_memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

typedef struct page {
    predict_report *r;
    text *out;
    const sooth_prediction *p;
    sooth_prediction_totals t;
} page;

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static void keys(text *t)
{
    text_puts(t, "<p>Bound by<i class=\"key compute\"></i>compute<i class=\"key memory\"></i>memory"
                 "<i class=\"key launch\"></i>launch</p>\n");
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

static void note_line(text *o, const char *note)
{
    text_puts(o, "<p class=\"note\">");
    text_xml(o, note);
    text_puts(o, "</p>\n");
}

static void head(page *g)
{
    text *o = g->out;
    const sooth_prediction_totals *t = &g->t;
    page_open(o);
    text_xml(o, t->file);
    text_puts(o, " on ");
    text_xml(o, t->gpu);
    text_printf(o, "%s%s", *t->mig ? " " : "", t->mig);
    page_begin_body(o, "");
    text_xml(o, t->file);
    text_puts(o, " on ");
    text_xml(o, t->gpu);
    text_printf(o, "%s%s", *t->mig ? " " : "", t->mig);
    text_printf(o, "</h1>\n<p>batch %" PRId64 ", %s, %s, %s, %s", t->batch, t->precision, t->layout, t->runtime,
                t->mode);
    if (*t->stack)
        text_puts(o, ", ");
    text_xml(o, t->stack);
    text_puts(o, "</p>\n");
    const char *note;
    for (size_t i = 0; (note = sooth_prediction_note(g->p, i)); i++)
        note_line(o, note);
    if ((note = sooth_prediction_layers_note(g->p)))
        note_line(o, note);
}

static void cards(page *g)
{
    const sooth_prediction_totals *t = &g->t;
    char a[NUMBER_ROOM], b[NUMBER_ROOM], c[NUMBER_ROOM], value[NUMBER_ROOM + 8], note[160];
    text_puts(g->out, "<div class=\"cards\">\n");
    snprintf(value, sizeof value, "%s ms", number_digits(a, t->latency_ms.value));
    snprintf(note, sizeof note, "90 %% interval %s to %s ms", number_digits(a, t->latency_ms.low),
             number_digits(b, t->latency_ms.high));
    page_card(g->out, "latency", value, note);
    page_card(g->out, "throughput", number_digits(a, t->throughput_per_s), "samples per second");
    snprintf(value, sizeof value, "%s J", number_digits(a, t->energy_j.value));
    snprintf(note, sizeof note, "90 %% interval %s to %s J, %s J per 1,000 samples", number_digits(a, t->energy_j.low),
             number_digits(b, t->energy_j.high), number_digits(c, t->energy_j_per_1000));
    page_card(g->out, "energy", value, note);
    snprintf(value, sizeof value, "%s W", number_digits(a, t->power_w.value));
    snprintf(note, sizeof note, "90 %% interval %s to %s W", number_digits(a, t->power_w.low),
             number_digits(b, t->power_w.high));
    page_card(g->out, "power", value, note);
    if (isfinite(t->co2_g)) {
        snprintf(value, sizeof value, "%s g", number_digits(a, t->co2_g));
        snprintf(note, sizeof note, "%s g per 1,000 samples", number_digits(a, 1e3 * t->co2_g / (double)t->batch));
        page_card(g->out, "CO<sub>2</sub>", value, note);
    }
    snprintf(note, sizeof note, "of %s TFLOP/s", number_digits(a, t->peak_flops / 1e12));
    page_card(g->out, "GPU utilization", page_percent(b, t->compute_share), note);
    snprintf(note, sizeof note, "of %s GB/s", number_digits(a, t->bandwidth_bytes_s / 1e9));
    page_card(g->out, "DRAM bandwidth", page_percent(b, t->dram_share), note);
    if (t->occupancy > 0) {
        snprintf(note, sizeof note, "wave efficiency %s", page_percent(a, t->wave_efficiency));
        page_card(g->out, "occupancy", page_percent(b, t->occupancy), note);
    }
    sooth_memory m = sooth_prediction_memory(g->p);
    if (m.known) {
        snprintf(value, sizeof value, "%s MiB", number_grouped(a, (int64_t)round(m.total_mib.value)));
        const char *verdict = memory_verdict(&m);
        snprintf(note, sizeof note, "%s to %s MiB%s%s", number_grouped(a, (int64_t)round(m.total_mib.low)),
                 number_grouped(b, (int64_t)round(m.total_mib.high)), verdict ? ", " : "", verdict ? verdict : "");
        page_card(g->out, "memory", value, note);
    }
    snprintf(note, sizeof note, "%s ms busy", number_digits(a, t->device_ms));
    page_card(g->out, "kernels", number_grouped(b, (int64_t)sooth_predicted_kernel_count(g->p)), note);
    text_puts(g->out, "</div>\n");
}

static void stacked_bar(page *g, const char *name, double compute, double memory, double launch, double whole, double y)
{
    enum { LEFT = 130, WIDTH = 760, HEIGHT = 22 };
    const struct {
        const char *class;
        double ms;
    } parts[] = {{"compute", compute}, {"memory", memory}, {"launch", launch}};
    char room[NUMBER_ROOM];
    text_printf(g->out, "<text x=\"0\" y=\"%.0f\">%s</text>\n", y + 16, name);
    double x = LEFT;
    for (size_t i = 0; i < 3; i++) {
        double width = whole > 0 ? parts[i].ms / whole * WIDTH : 0;
        text_printf(g->out, "<rect class=\"%s\" y=\"%.0f\" height=\"%d\"", parts[i].class, y, HEIGHT);
        page_coordinate(g->out, "x", x);
        page_coordinate(g->out, "width", width);
        text_printf(g->out, "><title>%s: %s ms</title></rect>\n", parts[i].class, number_digits(room, parts[i].ms));
        x += width;
    }
    text_printf(g->out, "<text y=\"%.0f\"", y + 16);
    page_coordinate(g->out, "x", x + 8);
    text_printf(g->out, ">%s ms</text>\n", number_digits(room, compute + memory + launch));
}

static void splits(page *g)
{
    const sooth_prediction_totals *t = &g->t;
    bound_shares bounds = predict_bounds(g->p);
    double ideal = t->ideal_compute_ms + t->ideal_memory_ms + t->ideal_launch_ms;
    double whole = fmax(t->latency_ms.value, ideal);
    text_puts(g->out, "<h2>Where the time goes</h2>\n");
    keys(g->out);
    text_puts(g->out, "<svg viewBox=\"0 0 1000 66\" role=\"img\">\n");
    stacked_bar(g, "predicted", bounds.compute_ms, bounds.memory_ms, bounds.launch_ms, whole, 4);
    stacked_bar(g, "at the GPU's peaks", t->ideal_compute_ms, t->ideal_memory_ms, t->ideal_launch_ms, whole, 36);
    text_puts(g->out, "</svg>\n");
}

static void timeline(page *g)
{
    text *o = g->out;
    double total = g->t.latency_ms.value, at = 0;
    char room[NUMBER_ROOM];
    text_puts(o, "<h2>Layers one after the other</h2>\n<svg class=\"time\" viewBox=\"0 0 1000 70\" role=\"img\">\n");
    for (size_t i = 0; i < sooth_predicted_layer_count(g->p); i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(g->p, i);
        double width = total > 0 ? l.latency_ms / total * 1000 : 0;
        if (width > 0) {
            text_printf(o, "<rect class=\"%s\" y=\"0\" height=\"48\"", l.bound);
            page_coordinate(o, "x", at);
            page_coordinate(o, "width", width);
            text_puts(o, "><title>");
            text_xml(o, l.name);
            text_puts(o, " ");
            text_xml(o, l.op);
            text_printf(o, ": %s ms</title></rect>\n", number_digits(room, l.latency_ms));
        }
        at += width;
    }
    text_printf(o,
                "<text x=\"0\" y=\"64\">0</text><text x=\"1000\" y=\"64\" text-anchor=\"end\">%s ms</text>\n</svg>\n",
                number_digits(room, total));
}

/* The roofline: decades of FLOP per byte across, decades of FLOP/s up. */
typedef struct roofline {
    double left, right, bottom, top; /* logarithms at the edges */
} roofline;

enum { ROOF_WIDTH = 1000, ROOF_HEIGHT = 420, ROOF_LEFT = 70, ROOF_RIGHT = 24, ROOF_BOTTOM = 40 };

static double roof_x(const roofline *f, double intensity)
{
    return ROOF_LEFT + (log10(intensity) - f->left) / (f->right - f->left) * (ROOF_WIDTH - ROOF_LEFT - ROOF_RIGHT);
}

static double roof_y(const roofline *f, double flops)
{
    double height = ROOF_HEIGHT - ROOF_BOTTOM - 10;
    return 10 + (f->top - log10(flops)) / (f->top - f->bottom) * height;
}

static bool layer_point(const sooth_predicted_layer *l, double *intensity, double *flops_s)
{
    if (l->flops <= 0 || l->bytes <= 0 || !(l->latency_ms > 0))
        return false;
    *intensity = (double)l->flops / (double)l->bytes;
    *flops_s = (double)l->flops / (l->latency_ms / 1e3);
    return true;
}

static roofline roof_edges(const page *g)
{
    roofline f = {.left = -1, .right = 3, .bottom = 9, .top = ceil(log10(g->t.peak_flops))};
    for (size_t i = 0; i < sooth_predicted_layer_count(g->p); i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(g->p, i);
        double x, y;
        if (!layer_point(&l, &x, &y))
            continue;
        f.left = fmin(f.left, floor(log10(x)));
        f.right = fmax(f.right, ceil(log10(x)));
        f.bottom = fmin(f.bottom, floor(log10(y)));
        f.top = fmax(f.top, ceil(log10(y)));
    }
    return f;
}

/* "100 G" for 11. */
static void decade(text *o, int exponent)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    static const char *const digits[] = {"1", "10", "100"};
    bool has_unit = exponent >= 0 && exponent < 21;
    text_printf(o, ">%s%s</text>\n", has_unit ? digits[exponent % 3] : "", has_unit ? units[exponent / 3] : "");
}

static void roof_grid(text *o, const roofline *f)
{
    for (int x = (int)f->left; x <= (int)f->right; x++) {
        double at = roof_x(f, pow(10, x));
        text_puts(o, "<line class=\"grid\" y1=\"10\"");
        page_coordinate(o, "x1", at);
        page_coordinate(o, "x2", at);
        text_printf(o, " y2=\"%d\"/><text text-anchor=\"middle\" y=\"%d\"", ROOF_HEIGHT - ROOF_BOTTOM,
                    ROOF_HEIGHT - ROOF_BOTTOM + 16);
        page_coordinate(o, "x", at);
        char room[NUMBER_ROOM];
        text_printf(o, ">%s</text>\n", number_real(room, pow(10, x)));
    }
    for (int y = (int)f->bottom; y <= (int)f->top; y++) {
        double at = roof_y(f, pow(10, y));
        text_printf(o, "<line class=\"grid\" x1=\"%d\" x2=\"%d\"", ROOF_LEFT, ROOF_WIDTH - ROOF_RIGHT);
        page_coordinate(o, "y1", at);
        page_coordinate(o, "y2", at);
        text_printf(o, "/><text text-anchor=\"end\" x=\"%d\"", ROOF_LEFT - 6);
        page_coordinate(o, "y", at + 4);
        decade(o, y);
    }
}

static void roof_line(page *g, const roofline *f)
{
    double left = pow(10, f->left), right = pow(10, f->right), peak = g->t.peak_flops;
    double ridge = fmin(fmax(peak / g->t.bandwidth_bytes_s, left), right);
    double start = fmax(left * g->t.bandwidth_bytes_s, pow(10, f->bottom));
    const double points[3][2] = {{start / g->t.bandwidth_bytes_s, start}, {ridge, peak}, {right, peak}};
    text_puts(g->out, "<path class=\"roof\" d=\"");
    for (int i = 0; i < 3; i++) {
        char x[NUMBER_ROOM], y[NUMBER_ROOM];
        text_printf(g->out, "%s%s %s", i ? "L" : "M", number_real(x, round(roof_x(f, points[i][0]) * 10) / 10),
                    number_real(y, round(roof_y(f, points[i][1]) * 10) / 10));
    }
    text_puts(g->out, "\"/>\n");
}

static void roofline_section(page *g)
{
    text *o = g->out;
    if (!(g->t.peak_flops > 0) || !(g->t.bandwidth_bytes_s > 0))
        return;
    roofline f = roof_edges(g);
    text_puts(o, "<h2>Roofline</h2>\n<p>Each layer: FLOPs for each byte it reads or writes, and FLOP/s that it "
                 "reaches. The larger "
                 "the circle, the more time.</p>\n");
    keys(o);
    text_printf(o, "<svg viewBox=\"0 0 %d %d\" role=\"img\">\n", ROOF_WIDTH, ROOF_HEIGHT);
    roof_grid(o, &f);
    roof_line(g, &f);
    for (size_t i = 0; i < sooth_predicted_layer_count(g->p); i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(g->p, i);
        double x, y;
        if (!layer_point(&l, &x, &y))
            continue;
        text_printf(o, "<circle class=\"%s\"", l.bound);
        page_coordinate(o, "cx", roof_x(&f, x));
        page_coordinate(o, "cy", roof_y(&f, y));
        page_coordinate(o, "r", 2 + 30 * sqrt(l.latency_ms / g->t.latency_ms.value));
        text_puts(o, "><title>");
        text_xml(o, l.name);
        char a[NUMBER_ROOM], b[NUMBER_ROOM];
        text_printf(o, ": %s FLOP/byte, %s GFLOP/s</title></circle>\n", number_digits(a, x), number_digits(b, y / 1e9));
    }
    text_printf(o, "<text text-anchor=\"middle\" x=\"%d\" y=\"%d\">FLOP/byte, upwards FLOP/s</text>\n</svg>\n",
                ROOF_WIDTH / 2, ROOF_HEIGHT - 6);
}

static void layer_table(page *g)
{
    text *o = g->out;
    text_puts(
        o,
        "<h2>Layers</h2>\n<div class=\"wide\"><table><thead><tr><th class=\"n\">#</th><th>layer</th><th>operator</th>"
        "<th class=\"n\">ms</th><th class=\"n\">share</th><th class=\"n\">FLOPs</th><th class=\"n\">bytes</th>"
        "<th class=\"n\">utilization</th><th class=\"n\">mJ</th><th>bound by</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < sooth_predicted_layer_count(g->p); i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(g->p, i);
        if (!l.kernel_count)
            continue;
        char room[NUMBER_ROOM];
        double share = g->t.latency_ms.value > 0 ? 100 * l.latency_ms / g->t.latency_ms.value : 0;
        text_puts(o, "<tr>");
        page_number_cell(o, (double)i, number_grouped(room, (int64_t)i + 1));
        page_cell(o, l.name);
        page_cell(o, l.op);
        page_number_cell(o, l.latency_ms, number_digits(room, l.latency_ms));
        page_number_cell(o, share, page_percent(room, share));
        page_number_cell(o, (double)l.flops / 1e6, number_short(room, l.flops));
        page_number_cell(o, (double)l.bytes / 1e3, number_bytes(room, l.bytes));
        page_number_cell(o, l.compute_share, page_percent(room, l.compute_share));
        page_number_cell(o, l.energy_j * 1e3, number_digits(room, l.energy_j * 1e3));
        page_cell(o, l.bound);
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

static void kernel_table(page *g)
{
    text *o = g->out;
    text_puts(
        o,
        "<h2>Kernels in launch order</h2>\n<div class=\"wide\"><table><thead><tr><th class=\"n\">#</th><th>kernel</th>"
        "<th>layer</th><th>output</th><th class=\"n\">us</th><th class=\"n\">FLOPs</th><th class=\"n\">bytes</th>"
        "<th>bound by</th><th>algorithm</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < sooth_predicted_kernel_count(g->p); i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(g->p, i);
        char room[NUMBER_ROOM];
        text_puts(o, "<tr>");
        page_number_cell(o, (double)i, number_grouped(room, (int64_t)i + 1));
        page_cell(o, k.name);
        page_cell(o, sooth_predicted_layer_at(g->p, k.layer).name);
        page_cell(o, k.output_count ? predict_shape(g->r, sooth_predicted_output(g->p, i, 0), "×") : "");
        page_number_cell(o, k.latency_ms * 1e3, number_digits(room, k.latency_ms * 1e3));
        page_number_cell(o, (double)k.flops / 1e6, number_short(room, k.flops));
        page_number_cell(o, (double)k.bytes / 1e3, number_bytes(room, k.bytes));
        page_cell(o, k.bound);
        page_cell(o, k.algorithm ? k.algorithm : "");
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

static void basis(page *g)
{
    text *o = g->out;
    text_puts(o, "<h2>What the numbers rest on</h2>\n<p>Interval: ");
    text_xml(o, g->t.interval_kind);
    text_puts(o, "; of the power: ");
    text_xml(o, g->t.energy_interval_kind);
    text_puts(o, ".</p>\n");
}

/* Peak memory by part, memory over time, and the layers with tensors alive at the peak. */
static void memory_section(page *g)
{
    enum { MOST = 10 };
    sooth_memory m = sooth_prediction_memory(g->p);
    memory_share shares[MEMORY_SHARES];
    char room[NUMBER_ROOM];
    size_t count;
    if (!m.known)
        return;
    text *o = g->out;
    memory_shares(&m, shares);
    text_puts(o, "<h2>Memory over time</h2>\n");
    memory_picture(g->r, g->p, true);
    text_puts(o, "<div class=\"wide\"><table><thead><tr><th>part</th><th class=\"n\">MiB</th><th>what</th></tr></thead>"
                 "<tbody>\n");
    for (int i = 0; i < MEMORY_SHARES; i++) {
        text_puts(o, "<tr>");
        page_cell(o, shares[i].name);
        page_number_cell(o, shares[i].mib, number_digits(room, shares[i].mib));
        page_cell(o, shares[i].note);
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
    const size_t *order = memory_largest_layers(g->r, g->p, &count);
    if (!count)
        return;
    text_puts(o, "<h2>Layers that set the peak of memory</h2>\n<div class=\"wide\"><table><thead><tr><th>layer</th>"
                 "<th>operator</th><th class=\"n\">MiB</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count && i < MOST; i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(g->p, order[i]);
        double mib = (double)l.peak_bytes / (1024 * 1024);
        text_puts(o, "<tr>");
        page_cell(o, l.name);
        page_cell(o, l.op);
        page_number_cell(o, mib, number_digits(room, mib));
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

void predict_html(predict_report *r)
{
    page g = {.r = r, .out = r->out, .p = r->predictions[0], .t = sooth_prediction_totals_of(r->predictions[0])};
    head(&g);
    cards(&g);
    splits(&g);
    timeline(&g);
    memory_section(&g);
    roofline_section(&g);
    layer_table(&g);
    if (r->options.kernels)
        kernel_table(&g);
    basis(&g);
    page_close(g.out);
}
