#include "report/predict_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double MIB = 1024 * 1024;

void memory_shares(const sooth_memory *m, memory_share shares[MEMORY_SHARES])
{
    const memory_share all[MEMORY_SHARES] = {
        {"weights", m->weights_mib, "parameters and buffers"},
        {"gradients", m->gradients_mib, "of the parameters"},
        {"optimizer", m->optimizer_mib, "state of the optimizer"},
        {"inputs", m->inputs_mib, "samples and labels"},
        {"activations", m->activations_mib, "outputs of layers that are still needed"},
        {"workspace", m->workspace_mib, "scratch memory of libraries"},
        {"cache", m->cache_mib, "held by the allocator, unused at the peak"},
        {"context", m->context_mib, "driver, kernel code, library handles"},
    };
    memcpy(shares, all, sizeof all);
}

const char *memory_verdict(const sooth_memory *m)
{
    if (!(m->capacity_mib > 0))
        return NULL;
    return m->fits_upper ? "fits"
           : m->fits     ? "fits by the estimate, not by the upper end of the interval"
                         : "does not fit";
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static double peak_bytes(sooth_predicted_layer layer)
{
    return (double)layer.peak_bytes;
}

size_t *memory_largest_layers(predict_report *r, const sooth_prediction *p, size_t *count)
{
    return predict_rank(r, p, peak_bytes, count);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

memory_point *memory_over_time(predict_report *r, const sooth_prediction *p, size_t most, size_t *count)
{
    size_t kernels = sooth_predicted_kernel_count(p), each = most && kernels > most ? (kernels + most - 1) / most : 1;
    memory_point *points = ARENA_ARRAY(r->scratch, memory_point, kernels / each + 2);
    sooth_memory_parts *parts = ARENA_ARRAY(r->scratch, sooth_memory_parts, kernels + 1);
    sooth_prediction_memory_parts(p, parts);
    double now_ms = 0;
    *count = 0;
    for (size_t i = 0; i < kernels; i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        if (i % each == 0)
            points[(*count)++] = (memory_point){.begin_ms = now_ms, .kernel = i};
        memory_point *at = &points[*count - 1];
        now_ms += k.latency_ms;
        at->end_ms = now_ms;
        at->reserved_mib = fmax(at->reserved_mib, (double)k.reserved_bytes / MIB);
        if ((double)k.allocated_bytes / MIB > at->allocated_mib) {
            at->allocated_mib = (double)k.allocated_bytes / MIB;
            at->parts = parts[i];
            at->kernel = i;
        }
    }
    return points;
}

/* ---- picture ----------------------------------------------------------------------------------------------------- */

enum { WIDTH = 900, HEIGHT = 300, LEFT = 80, RIGHT = 20, TOP = 30, BOTTOM = 40, MOST_POINTS = 2000 };

typedef struct canvas {
    text *out;
    double all_ms, all_mib;
} canvas;

static double x_of(const canvas *c, double ms)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (c->all_ms > 0 ? ms / c->all_ms : 0);
}

static double y_of(const canvas *c, double mib)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * mib / c->all_mib;
}

/* Writes coordinates with a decimal point in any locale. */
static void place(text *out, const char *command, double x, double y)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM];
    text_printf(out, "%s%s %s", command, number_real(a, round(x * 10) / 10), number_real(b, round(y * 10) / 10));
}

/* Draws one step per point. With `floor_mib` it closes the area down to that level. */
static void steps(const canvas *c, const char *class, const memory_point *points, size_t count, double base_mib,
                  bool is_reserved)
{
    text_printf(c->out, "<path class=\"%s\" d=\"", class);
    if (!is_reserved)
        place(c->out, "M", x_of(c, 0), y_of(c, base_mib));
    for (size_t i = 0; i < count; i++) {
        double mib = base_mib + (is_reserved ? points[i].reserved_mib : points[i].allocated_mib);
        place(c->out, i == 0 && is_reserved ? "M" : "L", x_of(c, points[i].begin_ms), y_of(c, mib));
        place(c->out, "L", x_of(c, points[i].end_ms), y_of(c, mib));
    }
    if (!is_reserved) {
        place(c->out, "L", x_of(c, c->all_ms), y_of(c, base_mib));
        text_puts(c->out, "Z");
    }
    text_puts(c->out, "\"/>\n");
}

static void box(const canvas *c, const char *class, double from_mib, double to_mib)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM];
    text_printf(c->out, "<rect class=\"%s\" x=\"%d\" width=\"%d\" y=\"%s\"", class, LEFT, WIDTH - LEFT - RIGHT,
                number_real(a, round(y_of(c, to_mib) * 10) / 10));
    text_printf(c->out, " height=\"%s\"/>\n", number_real(b, round((y_of(c, from_mib) - y_of(c, to_mib)) * 10) / 10));
}

static void label(const canvas *c, double x, double y, const char *anchor, const char *s)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM];
    text_printf(c->out, "<text x=\"%s\" y=\"%s\" text-anchor=\"%s\">", number_real(a, round(x * 10) / 10),
                number_real(b, round(y * 10) / 10), anchor);
    text_xml(c->out, s);
    text_puts(c->out, "</text>\n");
}

/* Distance between grid lines: 1, 2 or 5 times a power of ten. */
static double tick_of(double most)
{
    double tick = pow(10, floor(log10(most / 4)));
    return most / tick > 20 ? 5 * tick : most / tick > 8 ? 2 * tick : tick;
}

static void scale(const canvas *c)
{
    char room[NUMBER_ROOM + 8], number[NUMBER_ROOM];
    double tick = tick_of(c->all_mib);
    for (int i = 0; i * tick <= c->all_mib; i++) {
        double mib = i * tick;
        char y[NUMBER_ROOM];
        number_real(y, round(y_of(c, mib) * 10) / 10);
        text_printf(c->out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%s\" y2=\"%s\"/>\n", LEFT, WIDTH - RIGHT, y,
                    y);
        snprintf(room, sizeof room, "%s MiB", number_grouped(number, (int64_t)mib));
        label(c, LEFT - 6, y_of(c, mib) + 4, "end", room);
    }
    snprintf(room, sizeof room, "%s ms", number_digits(number, c->all_ms));
    label(c, WIDTH - RIGHT, HEIGHT - BOTTOM + 16, "end", room);
    label(c, LEFT, HEIGHT - BOTTOM + 16, "start", "0 ms");
}

static const char STYLE[] = "<style>text{font:12px sans-serif;fill:#667080}.grid{stroke:#d5d9e0}"
                            ".context{fill:#9aa3b2}.allocated{fill:#2f6fde}.reserved{fill:none;stroke:#d9822b;"
                            "stroke-width:1.5}.capacity{stroke:#c0392b;stroke-dasharray:5 4}</style>\n";

void predict_memory_svg(predict_report *r)
{
    const sooth_prediction *p = r->predictions[0];
    sooth_memory m = sooth_prediction_memory(p);
    size_t count;
    const memory_point *points = memory_over_time(r, p, MOST_POINTS, &count);
    canvas c = {.out = r->out, .all_ms = count ? points[count - 1].end_ms : 0, .all_mib = m.total_mib.value * 1.05};
    bool shows_capacity = m.capacity_mib > 0 && m.capacity_mib < 2 * m.total_mib.value;
    if (shows_capacity)
        c.all_mib = fmax(c.all_mib, m.capacity_mib * 1.05);
    text_printf(r->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n%s", WIDTH,
                HEIGHT, STYLE);
    text_puts(r->out, "<title>memory over time</title>\n");
    scale(&c);
    box(&c, "context", 0, m.context_mib);
    steps(&c, "allocated", points, count, m.context_mib, false);
    steps(&c, "reserved", points, count, m.context_mib, true);
    if (shows_capacity) {
        char y[NUMBER_ROOM];
        number_real(y, round(y_of(&c, m.capacity_mib) * 10) / 10);
        text_printf(r->out, "<line class=\"capacity\" x1=\"%d\" x2=\"%d\" y1=\"%s\" y2=\"%s\"/>\n", LEFT, WIDTH - RIGHT,
                    y, y);
        label(&c, WIDTH - RIGHT, y_of(&c, m.capacity_mib) - 4, "end", "memory of the GPU");
    }
    if (m.peak_kernel != SIZE_MAX) {
        size_t layer = sooth_predicted_kernel_at(p, m.peak_kernel).layer;
        char note[300];
        snprintf(note, sizeof note, "peak: %.200s", sooth_predicted_layer_at(p, layer).name);
        label(&c, LEFT, TOP - 12, "start", note);
    }
    label(&c, LEFT, HEIGHT - 6, "start", "grey: context, blue: tensors and workspaces, line: held by the allocator");
    text_puts(r->out, "</svg>\n");
}
