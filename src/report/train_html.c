/* train_html.c: `sooth train-phase --format html`: a self-contained page with the stages, the pipeline, the step's
 * memory, the findings, and a sortable table of the layers. */
#include "report/chart.h"
#include "report/page.h"
#include "report/train_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { LEFT = 110, WIDTH = 780, BAR = 22, ROW = 30 };

/* ---- head -------------------------------------------------------------------------------------------------------- */

static void title(train_report *r)
{
    text_xml(r->out, r->totals.file);
    text_puts(r->out, " in training on ");
    text_xml(r->out, r->totals.gpu);
}

static void head(train_report *r)
{
    const sooth_train_totals *t = &r->totals;
    page_open(r->out);
    title(r);
    page_begin_body(r->out, CHART_STYLE);
    title(r);
    text_printf(r->out, "</h1>\n<p>batch %" PRId64 ", %s, %s, %s; host ", t->batch, t->precision, t->runtime,
                t->optimizer);
    text_xml(r->out, t->host);
    text_puts(r->out, ", data ");
    text_xml(r->out, t->data);
    text_printf(r->out, ", %s memory; %s</p>\n", t->pinned ? "pinned" : "pageable", t->origin);
    for (size_t i = 0; sooth_train_note(r->train, i); i++) {
        text_puts(r->out, "<p class=\"note\">");
        text_xml(r->out, sooth_train_note(r->train, i));
        text_puts(r->out, "</p>\n");
    }
}

static void cards(train_report *r)
{
    const sooth_train_totals *t = &r->totals;
    char a[NUMBER_ROOM], value[NUMBER_ROOM + 8], note[120];
    text_puts(r->out, "<div class=\"cards\">\n");
    snprintf(value, sizeof value, "%s ms", number_digits(a, t->overlaps ? t->step_ms_overlapped : t->step_ms_sum));
    snprintf(note, sizeof note, "%s ms without overlap", number_digits(a, t->step_ms_sum));
    page_card(r->out, "step", value, note);
    page_card(r->out, "throughput", number_digits(a, t->throughput_per_s), "samples per second");
    page_card(r->out, "limited by", t->limited_by, "stage");
    snprintf(note, sizeof note, "with %d workers", t->workers);
    page_card(r->out, "GPU waits", page_percent(value, t->gpu_waits_percent), note);
    snprintf(value, sizeof value, "%d", t->workers_needed);
    page_card(r->out, "workers needed", t->workers_needed >= 0 ? value : "none",
              t->workers_needed >= 0 ? "until the GPU does not wait" : "no number suffices");
    if (t->memory.known && t->memory.capacity_mib > 0) {
        snprintf(note, sizeof note, "of %s MiB", number_grouped(a, (int64_t)t->memory.capacity_mib));
        page_card(r->out, "memory", page_percent(value, 100 * t->memory.total_mib.value / t->memory.capacity_mib),
                  note);
    }
    text_puts(r->out, "</div>\n");
}

/* ---- stages and pipeline ----------------------------------------------------------------------------------------- */

static void bar(text *o, size_t series, double from, double length, double whole, double y, const char *name, double ms)
{
    char room[NUMBER_ROOM];
    text_printf(o, "<rect class=\"s%zu\" y=\"%.0f\" height=\"%d\"", series, y, BAR);
    page_coordinate(o, "x", LEFT + (whole > 0 ? from / whole * WIDTH : 0));
    page_coordinate(o, "width", whole > 0 ? fmax(0, length / whole * WIDTH) : 0);
    text_puts(o, "><title>");
    text_xml(o, name);
    text_printf(o, ": %s ms</title></rect>\n", number_digits(room, ms));
}

static void row_name(text *o, const char *name, double y)
{
    text_printf(o, "<text x=\"0\" y=\"%.0f\">", y + 16);
    text_xml(o, name);
    text_puts(o, "</text>\n");
}

/* Each stage begins where the one before ends. */
static void stages(train_report *r)
{
    text *o = r->out;
    double at = 0, whole = r->totals.step_ms_sum;
    char room[NUMBER_ROOM];
    text_printf(o,
                "<h2>Stages, one after another</h2>\n<div class=\"wide\"><svg class=\"chart\" viewBox=\"0 0 1000 %d\" "
                "role=\"img\"><title>stages of a step</title>\n",
                SOOTH_TRAIN_STAGES * ROW);
    for (size_t i = 0; i < SOOTH_TRAIN_STAGES; i++) {
        sooth_train_stage s = sooth_train_stage_at(r->train, i);
        double y = (double)i * ROW;
        row_name(o, s.stage, y);
        bar(o, i, at, s.latency_ms.value, whole, y, s.stage, s.latency_ms.value);
        at += s.latency_ms.value;
        text_printf(o, "<text y=\"%.0f\"", y + 16);
        page_coordinate(o, "x", LEFT + (whole > 0 ? at / whole * WIDTH : 0) + 6);
        text_printf(o, ">%s ms</text>\n", number_digits(room, s.latency_ms.value));
    }
    text_puts(o, "</svg></div>\n");
}

/* Draws one period of the steady state: the loader prepares the next step while the device computes. */
static void pipeline(train_report *r)
{
    const sooth_train_totals *t = &r->totals;
    text *o = r->out;
    double whole = t->step_ms_overlapped, at = 0;
    sooth_train_stage copy = sooth_train_stage_at(r->train, 2);
    char room[NUMBER_ROOM];
    if (!t->overlaps)
        return;
    text_printf(o,
                "<h2>Steady state</h2>\n<p>One step of %s ms with %d workers. The loader prepares the next step while "
                "the GPU computes.</p>\n<div class=\"wide\"><svg class=\"chart\" viewBox=\"0 0 1000 %d\" "
                "role=\"img\"><title>pipeline</title>\n",
                number_digits(room, whole), t->workers, 3 * ROW);
    row_name(o, "loader", 0);
    bar(o, 1, 0, t->loader_ms, whole, 0, "loader", t->loader_ms);
    row_name(o, "link", ROW);
    bar(o, 2, 0, copy.latency_ms.value, whole, ROW, "copy", copy.latency_ms.value);
    row_name(o, "GPU", 2 * ROW);
    if (!t->pinned)
        at = copy.latency_ms.value;
    for (size_t i = 3; i < SOOTH_TRAIN_STAGES; i++) {
        sooth_train_stage s = sooth_train_stage_at(r->train, i);
        bar(o, i, at, s.latency_ms.value, whole, 2 * ROW, s.stage, s.latency_ms.value);
        at += s.latency_ms.value;
    }
    text_puts(o, "</svg></div>\n");
}

static void stage_table(train_report *r)
{
    static const char *const NAMES[] = {"read", "decode", "copy", "forward", "backward", "update"};
    text *o = r->out;
    char room[NUMBER_ROOM];
    chart_legend(o, NAMES, SOOTH_TRAIN_STAGES);
    text_puts(o, "<div class=\"wide\"><table><thead><tr><th>stage</th><th class=\"n\">ms</th><th class=\"n\">from</th>"
                 "<th class=\"n\">to</th><th class=\"n\">us per sample</th><th>resource</th><th class=\"n\">busy</th>"
                 "</tr></thead><tbody>\n");
    for (size_t i = 0; i < SOOTH_TRAIN_STAGES; i++) {
        sooth_train_stage s = sooth_train_stage_at(r->train, i);
        double each_us = s.latency_ms.value * 1e3 / (double)r->totals.samples;
        text_puts(o, "<tr>");
        page_cell(o, s.stage);
        page_number_cell(o, s.latency_ms.value, number_digits(room, s.latency_ms.value));
        page_number_cell(o, s.latency_ms.low, number_digits(room, s.latency_ms.low));
        page_number_cell(o, s.latency_ms.high, number_digits(room, s.latency_ms.high));
        page_number_cell(o, each_us, number_digits(room, each_us));
        page_cell(o, s.resource);
        page_number_cell(o, s.resource_share, page_percent(room, s.resource_share));
        text_puts(o, "</tr>\n");
    }
    text_puts(o,
              "</tbody></table></div>\n<h2>What would change</h2>\n<div class=\"wide\"><table><thead><tr>"
              "<th>change</th><th class=\"n\">step ms</th><th class=\"n\">samples/s</th><th class=\"n\">GPU waits</th>"
              "</tr></thead><tbody>\n");
    for (size_t i = 0; sooth_train_change_at(r->train, i).name; i++) {
        sooth_train_change c = sooth_train_change_at(r->train, i);
        double rate = (double)c.samples / c.step_ms * 1e3;
        text_puts(o, "<tr>");
        page_cell(o, c.name);
        page_number_cell(o, c.step_ms, number_digits(room, c.step_ms));
        page_number_cell(o, rate, number_digits(room, rate));
        page_number_cell(o, c.gpu_waits_percent, page_percent(room, c.gpu_waits_percent));
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

/* ---- findings and layers ----------------------------------------------------------------------------------------- */

static void findings(train_report *r)
{
    text *o = r->out;
    char room[NUMBER_ROOM];
    text_puts(o,
              "<h2>Findings of the study of 2018</h2>\n<div class=\"wide\"><table><thead><tr><th>finding</th>"
              "<th class=\"n\">value</th><th class=\"n\">study</th><th>verdict</th><th>why</th></tr></thead><tbody>\n");
    for (size_t i = 0; sooth_train_finding_at(r->train, i).name; i++) {
        sooth_train_finding f = sooth_train_finding_at(r->train, i);
        text_puts(o, "<tr>");
        page_cell(o, f.name);
        page_number_cell(o, f.value, isfinite(f.value) ? number_digits(room, f.value) : "?");
        page_number_cell(o, f.study, number_digits(room, f.study));
        page_cell(o, f.holds ? "as in the study" : "not here");
        page_cell(o, f.why);
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

static void ms_cell(text *o, double ms)
{
    char room[NUMBER_ROOM];
    page_number_cell(o, ms, isfinite(ms) ? number_digits(room, ms) : "");
}

static void share_cell(text *o, double share)
{
    char room[NUMBER_ROOM];
    page_number_cell(o, share, isfinite(share) ? page_percent(room, share) : "");
}

static void bytes_cell(text *o, int64_t bytes)
{
    char room[NUMBER_ROOM];
    page_number_cell(o, (double)bytes / 1e3, bytes >= 0 ? number_bytes(room, bytes) : "");
}

static void layers(train_report *r)
{
    static const char *const NUMBERS[] = {
        "forward ms", "data ms",  "weights ms", "update ms", "efficiency", "occupancy", "SMs",          "DRAM",
        "L2",         "cuDNN ms", "cuBLAS ms",  "weights",   "gradients",  "optimizer", "feature maps", "workspace"};
    text *o = r->out;
    text_puts(o,
              "<h2>Layers</h2>\n<div class=\"wide\"><table><thead><tr><th>layer</th><th>operator</th><th>library</th>"
              "<th>algorithm</th><th>bound by</th>");
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
        text_printf(o, "<th class=\"n\">%s</th>", NUMBERS[i]);
    text_puts(o, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < sooth_train_layer_count(r->train); i++) {
        sooth_train_layer l = sooth_train_layer_at(r->train, i);
        text_puts(o, "<tr>");
        page_cell(o, l.name);
        page_cell(o, l.op);
        page_cell(o, l.library);
        page_cell(o, l.algorithm);
        page_cell(o, l.bound);
        ms_cell(o, l.forward_ms);
        ms_cell(o, l.backward_data_ms);
        ms_cell(o, l.backward_weights_ms);
        ms_cell(o, l.update_ms);
        share_cell(o, l.efficiency);
        share_cell(o, l.occupancy);
        share_cell(o, l.sm_coverage);
        share_cell(o, l.dram);
        share_cell(o, l.l2);
        ms_cell(o, train_has_library(&l.cudnn) ? l.cudnn.forward_ms + l.cudnn.backward_ms : NAN);
        ms_cell(o, train_has_library(&l.cublas) ? l.cublas.forward_ms + l.cublas.backward_ms : NAN);
        bytes_cell(o, l.weight_bytes);
        bytes_cell(o, l.gradient_bytes);
        bytes_cell(o, l.optimizer_bytes);
        bytes_cell(o, l.feature_map_bytes);
        bytes_cell(o, l.workspace_bytes);
        text_puts(o, "</tr>\n");
    }
    text_puts(o, "</tbody></table></div>\n");
}

void train_html(train_report *r)
{
    head(r);
    cards(r);
    stages(r);
    pipeline(r);
    stage_table(r);
    train_memory_picture(r);
    findings(r);
    layers(r);
    page_close(r->out);
}
