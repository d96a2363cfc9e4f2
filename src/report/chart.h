/* chart.h: charts as SVG inside a page: axes with units, lines, points, bars, legends. Colours are classes of the page:
 * s0 … s7 for series. */
#ifndef SOOTH_REPORT_CHART_H
#define SOOTH_REPORT_CHART_H

#include "report/text.h"

enum { CHART_SERIES = 8 };

typedef struct chart_axis {
    const char *title; /* with its unit */
    double low, high;
    bool is_log;
} chart_axis;

typedef struct chart {
    text *out;
    chart_axis x, y;
} chart;

/* The style of charts, for the page's own style element. */
extern const char CHART_STYLE[];

/* Opens the picture and draws the grid. `label` is for screen readers. An axis whose values are all equal is
 * widened. */
void chart_open(chart *c, text *out, chart_axis x, chart_axis y, const char *label);
void chart_close(chart *c);

/* Widens an axis to include the value. Ignores values that are not finite, or not positive on a logarithmic axis. */
void chart_widen(chart_axis *axis, double value);

typedef struct chart_point {
    double x, y;
} chart_point;
/* Joins the points by straight lines, or by steps: across, then up. */
void chart_line(chart *c, const chart_point *points, size_t count, size_t series, bool steps);
/* A circle with a tooltip; `link` may be NULL. */
void chart_mark(chart *c, chart_point at, size_t series, const char *title, const char *link);

/* One coloured square and a name for each series. */
void chart_legend(text *out, const char *const *names, size_t count);

#endif
