/* train_picture.c: memory of a training step over time: parts stacked, the three stages of the GPU marked, and the
 * GPU's limit. */
#include "report/chart.h"
#include "report/page.h"
#include "report/train_report.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 900, HEIGHT = 320, LEFT = 80, RIGHT = 20, TOP = 30, BOTTOM = 30, TICKS = 5, PARTS = 8 };

static const char *const PART_NAMES[PARTS] = {"context", "weights",      "gradients", "optimizer",
                                              "inputs",  "feature maps", "workspace", "cache"};

static void parts_of(const sooth_train_moment *m, double context_mib, double mib[PARTS])
{
    const double parts[PARTS] = {context_mib,   m->weights_mib,     m->gradients_mib, m->optimizer_mib,
                                 m->inputs_mib, m->activations_mib, m->workspace_mib, m->cache_mib};
    memcpy(mib, parts, sizeof parts);
}

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
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * fmin(1, mib / c->all_mib);
}

static void scale(const canvas *c)
{
    char room[NUMBER_ROOM];
    for (int i = 0; i <= TICKS; i++) {
        double mib = c->all_mib * i / TICKS;
        text_printf(c->out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\"", LEFT, WIDTH - RIGHT);
        page_coordinate(c->out, "y1", y_of(c, mib));
        page_coordinate(c->out, "y2", y_of(c, mib));
        text_printf(c->out, "/><text text-anchor=\"end\" x=\"%d\"", LEFT - 6);
        page_coordinate(c->out, "y", y_of(c, mib) + 4);
        text_printf(c->out, ">%s MiB</text>\n", number_grouped(room, (int64_t)round(mib)));
    }
}

/* Draws the parts of one moment as rectangles, from the bottom up. */
static void stack(const canvas *c, const sooth_train_moment *m, double context_mib)
{
    double mib[PARTS], base = 0;
    parts_of(m, context_mib, mib);
    for (size_t k = 0; k < PARTS; k++) {
        if (mib[k] > 0) {
            text_printf(c->out, "<rect class=\"s%zu\"", k);
            page_coordinate(c->out, "x", x_of(c, m->begin_ms));
            page_coordinate(c->out, "width", x_of(c, m->end_ms) - x_of(c, m->begin_ms));
            page_coordinate(c->out, "y", y_of(c, base + mib[k]));
            page_coordinate(c->out, "height", y_of(c, base) - y_of(c, base + mib[k]));
            text_puts(c->out, "/>\n");
        }
        base += mib[k];
    }
}

static void mark_stage(const canvas *c, const char *name, double at_ms)
{
    text_printf(c->out, "<line class=\"roof\" y1=\"%d\" y2=\"%d\"", TOP - 18, HEIGHT - BOTTOM);
    page_coordinate(c->out, "x1", x_of(c, at_ms));
    page_coordinate(c->out, "x2", x_of(c, at_ms));
    text_printf(c->out, "/><text y=\"%d\"", TOP - 8);
    page_coordinate(c->out, "x", x_of(c, at_ms) + 4);
    text_printf(c->out, ">%s</text>\n", name);
}

static void limit(const canvas *c, double capacity_mib)
{
    text_printf(c->out, "<line class=\"capacity\" x1=\"%d\" x2=\"%d\"", LEFT, WIDTH - RIGHT);
    page_coordinate(c->out, "y1", y_of(c, capacity_mib));
    page_coordinate(c->out, "y2", y_of(c, capacity_mib));
    text_printf(c->out, "/><text text-anchor=\"end\" x=\"%d\"", WIDTH - RIGHT);
    page_coordinate(c->out, "y", y_of(c, capacity_mib) - 4);
    text_puts(c->out, ">memory of the GPU</text>\n");
}

void train_memory_picture(train_report *r)
{
    const sooth_memory *m = &r->totals.memory;
    size_t count = sooth_train_moment_count(r->train);
    if (!m->known || !count)
        return;
    canvas c = {.out = r->out, .all_ms = sooth_train_moment_at(r->train, count - 1).end_ms};
    for (size_t i = 0; i < count; i++) {
        sooth_train_moment at = sooth_train_moment_at(r->train, i);
        double mib[PARTS], sum = 0;
        parts_of(&at, m->context_mib, mib);
        for (size_t k = 0; k < PARTS; k++)
            sum += mib[k];
        c.all_mib = fmax(c.all_mib, sum);
    }
    c.all_mib = fmax(c.all_mib, m->capacity_mib > 0 ? m->capacity_mib : 0) * 1.05;
    text_puts(r->out, "<h2>Memory of the step</h2>\n");
    chart_legend(r->out, PART_NAMES, PARTS);
    text_printf(r->out,
                "<div class=\"wide\"><svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\"><title>memory over time"
                "</title>\n",
                WIDTH, HEIGHT);
    scale(&c);
    const char *phase = "";
    for (size_t i = 0; i < count; i++) {
        sooth_train_moment at = sooth_train_moment_at(r->train, i);
        stack(&c, &at, m->context_mib);
    }
    for (size_t i = 0; i < count; i++) {
        sooth_train_moment at = sooth_train_moment_at(r->train, i);
        if (strcmp(at.phase, phase) != 0)
            mark_stage(&c, at.phase, at.begin_ms);
        phase = at.phase;
    }
    if (m->capacity_mib > 0)
        limit(&c, m->capacity_mib);
    text_puts(r->out, "</svg></div>\n");
}
