#include "report/chart.h"
#include "report/page.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 900, HEIGHT = 360, LEFT = 64, RIGHT = 30, TOP = 12, BOTTOM = 44, MOST_TICKS = 20 };

const char CHART_STYLE[] =
    ":root{--s0:#2f6fde;--s1:#d9822b;--s2:#2a9d6f;--s3:#b8459b;--s4:#8a6d3b;--s5:#c0392b;--s6:#5b6abf;--s7:#7a8794}\n"
    "@media(prefers-color-scheme:dark){:root{--s0:#6da3ff;--s1:#f0a95b;--s2:#5fd0a0;--s3:#e88fce;--s4:#cdb07a;"
    "--s5:#ff8a7a;--s6:#9aa6ff;--s7:#aab4c0}}\n"
    ".s0{--c:var(--s0)}.s1{--c:var(--s1)}.s2{--c:var(--s2)}.s3{--c:var(--s3)}.s4{--c:var(--s4)}.s5{--c:var(--s5)}"
    ".s6{--c:var(--s6)}.s7{--c:var(--s7)}\n"
    ".chart{min-width:560px}.chart .line{fill:none;stroke:var(--c);stroke-width:2}.chart circle{fill:var(--c)}"
    ".chart rect{fill:var(--c)}.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;"
    "margin:0 5px 0 14px;background:var(--c)}.legend{color:var(--ink)}\n";

/* ---- axes -------------------------------------------------------------------------------------------------------- */

void chart_widen(chart_axis *axis, double value)
{
    if (!isfinite(value) || (axis->is_log && value <= 0))
        return;
    if (!(axis->high >= axis->low)) { /* NAN: no value was added to the axis */
        axis->low = axis->high = value;
        return;
    }
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

/* Step between ticks: 1, 2 or 5 times a power of ten, for about six steps. */
static double tick_step(double extent)
{
    double step = pow(10, floor(log10(extent / 6)));
    return extent / step > 25 ? step * 5 : extent / step > 12 ? step * 2 : step;
}

/* Returns the nearest of 1, 2, 5 times a power of ten that is not below x if `is_up`, otherwise not above it. */
static double round_log(double x, bool is_up)
{
    static const double STEPS[] = {1, 2, 5, 10};
    double decade = pow(10, floor(log10(x) + 1e-9));
    int i = is_up ? 0 : 3;
    if (is_up)
        while (i < 3 && STEPS[i] * decade < x * (1 - 1e-9))
            i++;
    else
        while (i > 0 && STEPS[i] * decade > x * (1 + 1e-9))
            i--;
    return STEPS[i] * decade;
}

/* Extends the axis to round numbers. */
static void settle(chart_axis *axis)
{
    if (!(axis->high >= axis->low)) {
        axis->low = axis->is_log ? 1 : 0;
        axis->high = axis->is_log ? 10 : 1;
    }
    if (axis->is_log) {
        axis->low = round_log(axis->low, false);
        axis->high = round_log(axis->high, true);
        if (axis->high <= axis->low)
            axis->high = axis->low * 10;
        return;
    }
    if (axis->high <= axis->low)
        axis->high = axis->low + 1;
    double step = tick_step(axis->high - axis->low);
    axis->low = floor(axis->low / step + 1e-9) * step;
    axis->high = ceil(axis->high / step - 1e-9) * step;
}

static double along(const chart_axis *a, double value)
{
    if (a->is_log)
        return log10(fmax(value, a->low) / a->low) / log10(a->high / a->low);
    return (value - a->low) / (a->high - a->low);
}

static double at_x(const chart *c, double x)
{
    return LEFT + along(&c->x, x) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const chart *c, double y)
{
    return HEIGHT - BOTTOM - along(&c->y, y) * (HEIGHT - TOP - BOTTOM);
}

static size_t ticks_of(const chart_axis *a, double ticks[MOST_TICKS])
{
    size_t count = 0;
    if (a->is_log) {
        bool all = log10(a->high / a->low) < 4; /* over larger ranges only powers of ten */
        double t = all ? a->low : pow(10, ceil(log10(a->low) - 1e-9));
        for (; t <= a->high * (1 + 1e-9) && count < MOST_TICKS; t = all ? round_log(t * 1.5, true) : t * 10)
            ticks[count++] = t;
        return count;
    }
    double step = tick_step(a->high - a->low);
    for (double t = ceil(a->low / step - 1e-9) * step; t <= a->high + step * 1e-9 && count < MOST_TICKS; t += step)
        ticks[count++] = t;
    return count;
}

/* Formats a tick: "250", "1 k", "20 M". */
static void tick_text(text *t, double x)
{
    static const char *const UNITS[] = {"", " k", " M", " G", " T", " P"};
    int unit = 0;
    while (fabs(x) >= 1000 && unit < 5) {
        x /= 1000;
        unit++;
    }
    char room[NUMBER_ROOM];
    text_printf(t, "%s%s", number_real(room, round(x * 1e4) / 1e4), UNITS[unit]);
}

static void grid_x(chart *c)
{
    double ticks[MOST_TICKS];
    size_t count = ticks_of(&c->x, ticks);
    for (size_t i = 0; i < count; i++) {
        double x = at_x(c, ticks[i]);
        text_printf(c->out, "<line class=\"grid\" y1=\"%d\" y2=\"%d\"", TOP, HEIGHT - BOTTOM);
        page_coordinate(c->out, "x1", x);
        page_coordinate(c->out, "x2", x);
        text_printf(c->out, "/><text text-anchor=\"middle\" y=\"%d\"", HEIGHT - BOTTOM + 16);
        page_coordinate(c->out, "x", x);
        text_puts(c->out, ">");
        tick_text(c->out, ticks[i]);
        text_puts(c->out, "</text>\n");
    }
}

static void grid_y(chart *c)
{
    double ticks[MOST_TICKS];
    size_t count = ticks_of(&c->y, ticks);
    for (size_t i = 0; i < count; i++) {
        double y = at_y(c, ticks[i]);
        text_printf(c->out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\"", LEFT, WIDTH - RIGHT);
        page_coordinate(c->out, "y1", y);
        page_coordinate(c->out, "y2", y);
        text_printf(c->out, "/><text text-anchor=\"end\" x=\"%d\"", LEFT - 6);
        page_coordinate(c->out, "y", y + 4);
        text_puts(c->out, ">");
        tick_text(c->out, ticks[i]);
        text_puts(c->out, "</text>\n");
    }
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

void chart_open(chart *c, text *out, chart_axis x, chart_axis y, const char *label)
{
    *c = (chart){.out = out, .x = x, .y = y};
    settle(&c->x);
    settle(&c->y);
    text_printf(out, "<div class=\"wide\"><svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH,
                HEIGHT);
    text_xml(out, label);
    text_puts(out, "\">\n");
    grid_x(c);
    grid_y(c);
    text_printf(out, "<text text-anchor=\"middle\" x=\"%d\" y=\"%d\">", (WIDTH + LEFT - RIGHT) / 2, HEIGHT - 8);
    text_xml(out, x.title);
    text_printf(out, "</text><text text-anchor=\"middle\" transform=\"translate(14 %d) rotate(-90)\">",
                (HEIGHT - BOTTOM + TOP) / 2);
    text_xml(out, y.title);
    text_puts(out, "</text>\n");
}

void chart_close(chart *c)
{
    text_puts(c->out, "</svg></div>\n");
}

static void path_point(chart *c, char letter, double x, double y)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM];
    text_printf(c->out, "%c%s %s", letter, number_real(a, round(x * 10) / 10), number_real(b, round(y * 10) / 10));
}

void chart_line(chart *c, const chart_point *points, size_t count, size_t series, bool steps)
{
    if (!count)
        return;
    text_printf(c->out, "<path class=\"line s%zu\" d=\"", series % CHART_SERIES);
    for (size_t i = 0; i < count; i++) {
        double x = at_x(c, points[i].x), y = at_y(c, points[i].y);
        if (steps && i)
            path_point(c, 'L', x, at_y(c, points[i - 1].y));
        path_point(c, i ? 'L' : 'M', x, y);
    }
    text_puts(c->out, "\"/>\n");
}

void chart_mark(chart *c, chart_point at, size_t series, const char *title, const char *link)
{
    if (link) {
        text_puts(c->out, "<a href=\"");
        text_xml(c->out, link);
        text_puts(c->out, "\">");
    }
    text_printf(c->out, "<circle class=\"s%zu\" r=\"4\"", series % CHART_SERIES);
    page_coordinate(c->out, "cx", at_x(c, at.x));
    page_coordinate(c->out, "cy", at_y(c, at.y));
    text_puts(c->out, "><title>");
    text_xml(c->out, title);
    text_printf(c->out, "</title></circle>%s\n", link ? "</a>" : "");
}

void chart_legend(text *out, const char *const *names, size_t count)
{
    text_puts(out, "<p class=\"legend\">");
    for (size_t i = 0; i < count; i++) {
        text_printf(out, "<i class=\"s%zu\"></i>", i % CHART_SERIES);
        text_xml(out, names[i]);
    }
    text_puts(out, "</p>\n");
}
