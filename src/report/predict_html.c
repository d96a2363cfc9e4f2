/* predict_html.c: `sooth predict --format html`: a self-contained page with figures, pictures and sortable tables.
 * It is well-formed XML and follows the reader's light or dark mode. web/charts.js draws the pictures, when the page
 * is opened, from the answer, which the page contains as JSON. */
#include "report/page.h"
#include "report/predict_memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

extern const char report_shipped_script[], report_shipped_style[]; /* shipped.S */

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

/* Opens the element in which web/charts.js draws this picture. */
static void picture(page *g, const char *name)
{
    text_printf(g->out, "<div data-plot=\"%s\"></div>\n", name);
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
    page_begin_body(o, report_shipped_style);
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
    snprintf(note, sizeof note, "%d %% interval %s to %s ms", t->interval_percent, number_digits(a, t->latency_ms.low),
             number_digits(b, t->latency_ms.high));
    page_card(g->out, "latency", value, note);
    page_card(g->out, "throughput", number_digits(a, t->throughput_per_s), "samples per second");
    snprintf(value, sizeof value, "%s J", number_digits(a, t->energy_j.value));
    snprintf(note, sizeof note, "%d %% interval %s to %s J, %s J per 1,000 samples", t->interval_percent,
             number_digits(a, t->energy_j.low), number_digits(b, t->energy_j.high),
             number_digits(c, t->energy_j_per_1000));
    page_card(g->out, "energy", value, note);
    snprintf(value, sizeof value, "%s W", number_digits(a, t->power_w.value));
    snprintf(note, sizeof note, "%d %% interval %s to %s W", t->interval_percent, number_digits(a, t->power_w.low),
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

static void splits(page *g)
{
    text_puts(g->out, "<h2>Where the time goes</h2>\n");
    keys(g->out);
    picture(g, "split");
}

static void timeline(page *g)
{
    text_puts(g->out, "<h2>Host and GPU over time</h2>\n");
    picture(g, "timeline");
}

static void roofline_section(page *g)
{
    if (!(g->t.peak_flops > 0) || !(g->t.bandwidth_bytes_s > 0))
        return;
    text_puts(g->out, "<h2>Roofline</h2>\n<p>Each layer: FLOPs for each byte it reads or writes, and FLOP/s that it "
                      "reaches. The larger the circle, the more time.</p>\n");
    keys(g->out);
    picture(g, "roofline");
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

/* Writes the section on memory: the peak by part, memory over time, and the layers with tensors alive at the peak. */
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
    text_puts(o, "<p>Part<i class=\"key part-context\"></i>context<i class=\"key part-weights\"></i>weights"
                 "<i class=\"key part-optimizer\"></i>optimizer<i class=\"key part-inputs\"></i>inputs"
                 "<i class=\"key part-gradients\"></i>gradients<i class=\"key part-activations\"></i>activations"
                 "<i class=\"key part-workspace\"></i>workspace"
                 "<i class=\"key part-cache\"></i>cache of the allocator</p>\n");
    picture(g, "memory");
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

/* Escapes '<' and '>', which occur only inside strings, so that neither HTML nor XML interprets the text. */
static void escape_from(text *t, size_t start)
{
    size_t special = 0;
    for (size_t i = start; i < t->size; i++)
        special += t->bytes[i] == '<' || t->bytes[i] == '>';
    size_t from = t->size;
    text_repeat(t, "     ", special);
    for (size_t to = t->size; special;) {
        char c = t->bytes[--from];
        bool is_special = c == '<' || c == '>';
        to -= is_special ? 6 : 1;
        if (is_special)
            memcpy(t->bytes + to, c == '<' ? "\\u003c" : "\\u003e", 6);
        else
            t->bytes[to] = c;
        special -= is_special;
    }
}

/* Writes the answer as JSON, and the charts that draw it. */
static void script(page *g)
{
    text *o = g->out;
    predict_report all = *g->r;
    all.options.kernels = true;
    all.options.totals = false;
    all.options.memory = sooth_prediction_memory(g->p).known;
    page_begin_script(o);
    text_puts(o, "const answer = ");
    size_t start = o->size;
    predict_json(&all);
    escape_from(o, start);
    text_puts(o, report_shipped_script);
    page_end_script(o);
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
    script(&g);
}
