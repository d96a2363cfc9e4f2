/* predict_html.c: `sooth predict --format html`: one page that needs nothing else: figures, a timeline of the layers, the roofline with
 * every layer in it, and a table that can be sorted. It is well-formed XML too. Light or dark as the reader's system is. */
#include "report/predict_memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char STYLE[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--card:#f4f5f7;--faint:#667080;--line:#d5d9e0;"
    "--compute:#2f6fde;--memory:#d9822b;--launch:#9aa3b2;--none:#c9ced6}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#14171b;--card:#1e2329;--faint:#97a1b0;"
    "--line:#343b45;--compute:#6da3ff;--memory:#f0a95b;--launch:#6d7786;--none:#454d59}}\n"
    "body{margin:0 auto;max-width:1100px;padding:24px;background:var(--paper);color:var(--ink);"
    "font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:22px;margin:0;overflow-wrap:anywhere}h2{font-size:17px;margin:32px 0 8px}"
    "p{margin:4px 0;color:var(--faint)}p.note{color:var(--ink)}svg+.wide{margin-top:12px}\n"
    ".cards{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}.card{background:var(--card);border-radius:8px;"
    "padding:10px 16px;flex:1 1 150px}.card b{display:block;font-size:21px}.card span{color:var(--faint);"
    "font-size:13px}\n"
    "svg{display:block;width:100%;height:auto}svg text{fill:var(--faint);font-size:12px}\n"
    ".compute{fill:var(--compute)}.memory{fill:var(--memory)}.launch{fill:var(--launch)}.none{fill:var(--none)}\n"
    ".time rect{stroke:var(--paper);stroke-width:.3}.time rect:hover,circle:hover{fill:var(--ink)}"
    "circle{fill-opacity:.7}.roof{fill:none;stroke:var(--ink);stroke-width:1.5}.grid{stroke:var(--line)}\n"
    ".context{fill:var(--launch)}.allocated{fill:var(--compute)}.reserved{fill:none;stroke:var(--memory);"
    "stroke-width:1.5}.capacity{stroke:#c0392b;stroke-dasharray:5 4}\n"
    ".key{display:inline-block;width:11px;height:11px;border-radius:3px;margin:0 5px 0 14px}"
    ".key.compute{background:var(--compute)}.key.memory{background:var(--memory)}.key.launch{background:var(--launch)}"
    "\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px}"
    "th{cursor:pointer;text-align:left;border-bottom:2px solid var(--line);padding:4px 8px;white-space:nowrap}"
    "td{border-bottom:1px solid var(--line);padding:3px 8px}td.n,th.n{text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}\n";

/* A click on a heading sorts by its column, a second one the other way round. No character here has a meaning in XML. */
static const char SCRIPT[] =
    "document.querySelectorAll('th').forEach(function (th) {\n"
    "  th.addEventListener('click', function () {\n"
    "    var body = th.closest('table').tBodies[0], rows = Array.from(body.rows), column = th.cellIndex;\n"
    "    var down = th.dataset.down = th.dataset.down === '1' ? '0' : '1';\n"
    "    var key = function (row) { var c = row.cells[column]; return c.dataset.v ? Number(c.dataset.v) : "
    "c.textContent; };\n"
    "    rows.sort(function (a, b) {\n"
    "      var x = key(a), y = key(b), order = typeof x === 'number' ? x - y : x.localeCompare(y);\n"
    "      return down === '1' ? -order : order;\n"
    "    });\n"
    "    rows.forEach(function (row) { body.appendChild(row); });\n"
    "  });\n"
    "});\n";

typedef struct page {
    predict_report *r;
    text *out;
    const sooth_prediction *p;
    sooth_prediction_totals t;
} page;

/* ---- pieces ---------------------------------------------------------------------------------------------------------- */

/* name="12.34": the decimal point whatever the locale. */
static void coordinate(text *t, const char *name, double x)
{
    char room[NUMBER_ROOM];
    text_printf(t, " %s=\"%s\"", name, number_real(room, round(x * 100) / 100));
}

static void cell(text *t, const char *s)
{
    text_puts(t, "<td>");
    text_xml(t, s);
    text_puts(t, "</td>");
}

/* A number as people read it, and as it is sorted. */
static void number_cell(text *t, double x, const char *shown)
{
    char room[NUMBER_ROOM];
    text_printf(t, "<td class=\"n\" data-v=\"%s\">%s</td>", isfinite(x) && x < 1e12 ? number_real(room, x) : "0",
                shown);
}

static void card(page *g, const char *name, const char *value, const char *note)
{
    text_printf(g->out, "<div class=\"card\"><span>%s</span><b>%s</b><span>%s</span></div>\n", name, value, note);
}

static const char *percent_text(char room[NUMBER_ROOM], double x)
{
    if (!isfinite(x))
        return "?";
    snprintf(room, NUMBER_ROOM, "%.1f %%", x);
    return room;
}

static void keys(text *t)
{
    text_puts(t, "<p>Bound by<i class=\"key compute\"></i>compute<i class=\"key memory\"></i>memory"
                 "<i class=\"key launch\"></i>launch</p>\n");
}

/* ---- sections -------------------------------------------------------------------------------------------------------- */

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
    text_puts(o, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>");
    text_xml(o, t->file);
    text_puts(o, " on ");
    text_xml(o, t->gpu);
    text_printf(o, "%s%s", *t->mig ? " " : "", t->mig);
    text_printf(o, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", STYLE);
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
    card(g, "latency", value, note);
    card(g, "throughput", number_digits(a, t->throughput_per_s), "samples per second");
    snprintf(value, sizeof value, "%s J", number_digits(a, t->energy_j.value));
    snprintf(note, sizeof note, "90 %% interval %s to %s J, %s J per 1,000 samples", number_digits(a, t->energy_j.low),
             number_digits(b, t->energy_j.high), number_digits(c, t->energy_j_per_1000));
    card(g, "energy", value, note);
    snprintf(value, sizeof value, "%s W", number_digits(a, t->power_w.value));
    snprintf(note, sizeof note, "90 %% interval %s to %s W", number_digits(a, t->power_w.low),
             number_digits(b, t->power_w.high));
    card(g, "power", value, note);
    if (isfinite(t->co2_g)) {
        snprintf(value, sizeof value, "%s g", number_digits(a, t->co2_g));
        snprintf(note, sizeof note, "%s g per 1,000 samples", number_digits(a, 1e3 * t->co2_g / (double)t->batch));
        card(g, "CO<sub>2</sub>", value, note);
    }
    snprintf(note, sizeof note, "of %s TFLOP/s", number_digits(a, t->peak_flops / 1e12));
    card(g, "GPU utilization", percent_text(b, t->compute_share), note);
    snprintf(note, sizeof note, "of %s GB/s", number_digits(a, t->bandwidth_bytes_s / 1e9));
    card(g, "DRAM bandwidth", percent_text(b, t->dram_share), note);
    if (t->occupancy > 0) {
        snprintf(note, sizeof note, "wave efficiency %s", percent_text(a, t->wave_efficiency));
        card(g, "occupancy", percent_text(b, t->occupancy), note);
    }
    sooth_memory m = sooth_prediction_memory(g->p);
    if (m.known) {
        snprintf(value, sizeof value, "%s MiB", number_grouped(a, (int64_t)round(m.total_mib.value)));
        const char *verdict = memory_verdict(&m);
        snprintf(note, sizeof note, "%s to %s MiB%s%s", number_grouped(a, (int64_t)round(m.total_mib.low)),
                 number_grouped(b, (int64_t)round(m.total_mib.high)), verdict ? ", " : "", verdict ? verdict : "");
        card(g, "memory", value, note);
    }
    snprintf(note, sizeof note, "%s ms busy", number_digits(a, t->device_ms));
    card(g, "kernels", number_grouped(b, (int64_t)sooth_predicted_kernel_count(g->p)), note);
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
        coordinate(g->out, "x", x);
        coordinate(g->out, "width", width);
        text_printf(g->out, "><title>%s: %s ms</title></rect>\n", parts[i].class, number_digits(room, parts[i].ms));
        x += width;
    }
    text_printf(g->out, "<text y=\"%.0f\"", y + 16);
    coordinate(g->out, "x", x + 8);
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
            coordinate(o, "x", at);
            coordinate(o, "width", width);
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
    double left, right, bottom, top; /* logarithms of what lies at the edges */
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
        coordinate(o, "x1", at);
        coordinate(o, "x2", at);
        text_printf(o, " y2=\"%d\"/><text text-anchor=\"middle\" y=\"%d\"", ROOF_HEIGHT - ROOF_BOTTOM,
                    ROOF_HEIGHT - ROOF_BOTTOM + 16);
        coordinate(o, "x", at);
        char room[NUMBER_ROOM];
        text_printf(o, ">%s</text>\n", number_real(room, pow(10, x)));
    }
    for (int y = (int)f->bottom; y <= (int)f->top; y++) {
        double at = roof_y(f, pow(10, y));
        text_printf(o, "<line class=\"grid\" x1=\"%d\" x2=\"%d\"", ROOF_LEFT, ROOF_WIDTH - ROOF_RIGHT);
        coordinate(o, "y1", at);
        coordinate(o, "y2", at);
        text_printf(o, "/><text text-anchor=\"end\" x=\"%d\"", ROOF_LEFT - 6);
        coordinate(o, "y", at + 4);
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
        coordinate(o, "cx", roof_x(&f, x));
        coordinate(o, "cy", roof_y(&f, y));
        coordinate(o, "r", 2 + 30 * sqrt(l.latency_ms / g->t.latency_ms.value));
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
        number_cell(o, (double)i, number_grouped(room, (int64_t)i + 1));
        cell(o, l.name);
        cell(o, l.op);
        number_cell(o, l.latency_ms, number_digits(room, l.latency_ms));
        number_cell(o, share, percent_text(room, share));
        number_cell(o, (double)l.flops / 1e6, number_short(room, l.flops));
        number_cell(o, (double)l.bytes / 1e3, number_bytes(room, l.bytes));
        number_cell(o, l.compute_share, percent_text(room, l.compute_share));
        number_cell(o, l.energy_j * 1e3, number_digits(room, l.energy_j * 1e3));
        cell(o, l.bound);
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
        number_cell(o, (double)i, number_grouped(room, (int64_t)i + 1));
        cell(o, k.name);
        cell(o, sooth_predicted_layer_at(g->p, k.layer).name);
        cell(o, k.output_count ? predict_shape(g->r, sooth_predicted_output(g->p, i, 0), "×") : "");
        number_cell(o, k.latency_ms * 1e3, number_digits(room, k.latency_ms * 1e3));
        number_cell(o, (double)k.flops / 1e6, number_short(room, k.flops));
        number_cell(o, (double)k.bytes / 1e3, number_bytes(room, k.bytes));
        cell(o, k.bound);
        cell(o, k.algorithm ? k.algorithm : "");
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

/* Peak memory by its parts, its course, and the layers whose tensors are alive at the peak. */
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
        cell(o, shares[i].name);
        number_cell(o, shares[i].mib, number_digits(room, shares[i].mib));
        cell(o, shares[i].note);
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
        cell(o, l.name);
        cell(o, l.op);
        number_cell(o, mib, number_digits(room, mib));
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
    text_printf(g.out, "<script>\n%s</script>\n</body>\n</html>\n", SCRIPT);
}
