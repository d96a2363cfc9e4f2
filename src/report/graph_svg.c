/* graph_svg.c: `sooth inspect --format svg`: the graph as a picture, laid out here (layout.h) without other programs.
 * Boxes show operator, name, output shape and MACs; a bar compares the layer with the most expensive one. */
#include "report/layout.h"
#include "report/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    MARGIN = 28,
    BOX_WIDTH = 196,
    BOX_HEIGHT = 38,
    LANE_WIDTH = 8,
    GAP_X = 16,
    GAP_Y = 20,
    GUTTER = 76,
    LEGEND_ITEM = 132,
    LEGEND_LINE = 22,
    NAME_COLUMNS = 34,
    LEAST_WIDTH = 760
};

typedef struct drawing {
    report *r;
    text *out;
    picture p;
    layout l;
    int64_t most_macs;
    double top, left; /* position of the graph: below title and legend, centred if the picture is narrow */
} drawing;

/* ---- title and legend -------------------------------------------------------------------------------------------- */

static int kinds_in_use(drawing *d, int64_t *counts)
{
    size_t paint_count;
    const picture_paint *paints = picture_paints(&paint_count);
    int used = 0;
    for (size_t i = 0; i + 1 < paint_count; i++) {
        counts[i] = 0;
        for (size_t k = 0; k < d->r->operator_count; k++)
            if (picture_paint_of(d->r->operators[k].kind) == &paints[i])
                counts[i] += d->r->operators[k].count;
        used += counts[i] > 0;
    }
    return used;
}

static void head(drawing *d, double width)
{
    text *t = d->out;
    report *r = d->r;
    sooth_info info = sooth_info_of(r->model);
    char params[NUMBER_ROOM], macs[NUMBER_ROOM], flops[NUMBER_ROOM], weights[NUMBER_ROOM];
    text_printf(t, "<text class=\"title\" x=\"%d\" y=\"%d\">", MARGIN, MARGIN + 14);
    const char *base = strrchr(info.file, '/');
    text_xml(t, picture_name(r, base && base[1] ? base + 1 : info.file, 60));
    text_printf(t, "</text>\n<text class=\"sub\" x=\"%d\" y=\"%d\">", MARGIN, MARGIN + 36);
    text_printf(t, "%" PRId64 " layers · %s parameters · %s MACs · %s FLOPs · %s of weights", r->totals.nodes,
                number_short(params, r->totals.params),
                report_sum(r, &r->sums, MACS_BIT, r->totals.macs, number_short(macs, r->totals.macs)),
                report_sum(r, &r->sums, FLOPS_BIT, r->totals.flops, number_short(flops, r->totals.flops)),
                number_bytes(weights, r->totals.weight_bytes));
    if (r->totals.unknown_layers > 0)
        text_printf(t, " · %" PRId64 " layers of unknown cost", r->totals.unknown_layers);
    text_puts(t, "</text>\n");

    size_t paint_count;
    const picture_paint *paints = picture_paints(&paint_count);
    int64_t counts[32] = {0};
    kinds_in_use(d, counts);
    int per_line = (int)((width - 2 * MARGIN) / LEGEND_ITEM), shown = 0;
    for (size_t i = 0; i + 1 < paint_count; i++) {
        if (!counts[i])
            continue;
        int x = MARGIN + shown % per_line * LEGEND_ITEM, y = MARGIN + 50 + shown / per_line * LEGEND_LINE;
        text_printf(t,
                    "<g class=\"%s\"><rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" rx=\"3\"/></g>"
                    "<text class=\"legend\" x=\"%d\" y=\"%d\">%s <tspan class=\"faint\">%" PRId64 "</tspan></text>\n",
                    paints[i].kind, x, y, x + 20, y + 11, paints[i].title, counts[i]);
        shown++;
    }
}

/* Every rule applies only inside this picture, because a page may embed it. */
static void style(drawing *d)
{
    static const struct {
        const char *selector, *rule;
    } rules[] = {
        {"text", "font-family:Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif;fill:#22262b"},
        {"rect", "stroke-width:1.2"},
        {"path", "fill:none;stroke:#8d95a0;stroke-width:1.3"},
        {".title", "font-size:18px;font-weight:bold"},
        {".sub", "font-size:12.5px;fill:#5a626c"},
        {".legend", "font-size:11.5px"},
        {".faint", "fill:#8a919b"},
        {".o", "font-size:11.5px;font-weight:bold"},            /* operator */
        {".n", "font-size:9.5px;fill:#5d656f"},                 /* name */
        {".s", "font-size:10px;text-anchor:end"},               /* shape */
        {".m", "font-size:9.5px;fill:#5d656f;text-anchor:end"}, /* MACs */
        {".b", "stroke:none;opacity:.75"},                      /* bar */
        {".u rect", "stroke-dasharray:4 3"},                    /* unknown operator */
        {".e rect", "fill:#33373d;stroke:#33373d"},             /* input, output */
        {".e text", "fill:#fff"},
        {".e .n", "fill:#c9ced6"},
        {".r", "font-size:9px;fill:#7a4a00"}, /* reference */
        {".p", "fill:#fff6e0;stroke:#d9a441"},
    };
    text *t = d->out;
    text_puts(t, "<style>\n");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        text_printf(t, ".sooth %s{%s}\n", rules[i].selector, rules[i].rule);
    size_t count;
    const picture_paint *paints = picture_paints(&count);
    for (size_t i = 0; i + 1 < count; i++)
        text_printf(t, ".sooth .%s rect{fill:%s;stroke:%s}\n.sooth .%s .b{fill:%s}\n", paints[i].kind, paints[i].fill,
                    paints[i].stroke, paints[i].kind, paints[i].stroke);
    text_puts(
        t, "</style>\n<defs><marker id=\"sooth-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" "
           "markerHeight=\"6\" orient=\"auto\"><path d=\"M0 1L7 4L0 7z\" style=\"fill:#8d95a0;stroke:none\"/></marker>"
           "</defs>\n");
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

/* Number of columns left of the shape, for bold characters. */
static size_t op_columns(const char *shape)
{
    size_t used = name_width(shape) * 7 / 9;
    return used < 20 ? 26 - used : 6;
}

static void box_text(drawing *d, const char *class, double x, double y, const char *s)
{
    text_printf(d->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    text_xml(d->out, s);
    text_puts(d->out, "</text>");
}

static void layer_box(drawing *d, size_t index, double x, double y)
{
    report *r = d->r;
    text *t = d->out;
    sooth_layer l = sooth_layer_at(r->model, index);
    const char *shape = picture_name(r, report_shape(r, report_first_output(r->model, index), "×"), 24);
    char params[NUMBER_ROOM], macs[NUMBER_ROOM], flops[NUMBER_ROOM], weights[NUMBER_ROOM], bytes[NUMBER_ROOM];
    text_printf(t, "<g class=\"%s%s\"><title>", picture_paint_of(l.kind)->kind, l.op_known ? "" : " u");
    text_xml(t, picture_name(r, l.op, 80));
    text_puts(t, "  ");
    text_xml(t, picture_name(r, l.name, 400));
    text_puts(t, "\noutput ");
    text_xml(t, picture_name(r, report_shape(r, report_first_output(r->model, index), "×"), 200));
    text_printf(t, "\n%s parameters, %s MACs, %s FLOPs\n%s of weights, %s of activations",
                number_short(params, l.params), number_short(macs, l.macs), number_short(flops, l.flops),
                number_bytes(weights, l.weight_bytes), number_bytes(bytes, l.activation_bytes));
    if (l.repeat > 1)
        text_printf(t, "\nruns %" PRId64 " times", l.repeat);
    text_printf(t, "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"5\"/>", x, y, BOX_WIDTH,
                BOX_HEIGHT);
    if (l.macs > 0 && d->most_macs > 0)
        text_printf(t, "<rect class=\"b\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"2.5\" rx=\"1\"/>", x + 4,
                    y + BOX_HEIGHT - 4, fmax(1, (BOX_WIDTH - 8) * (double)l.macs / (double)d->most_macs));
    box_text(d, "o", x + 8, y + 15, picture_name(r, l.op, op_columns(shape)));
    box_text(d, "s", x + BOX_WIDTH - 8, y + 15, shape);
    bool costs = l.macs > 0;
    box_text(d, "n", x + 8, y + 28.5, picture_name(r, l.name, costs ? NAME_COLUMNS - 9 : NAME_COLUMNS));
    if (costs)
        box_text(d, "m", x + BOX_WIDTH - 8, y + 28.5, number_short(macs, l.macs));
    text_puts(t, "</g>\n");
}

static void end_box(drawing *d, size_t value, const char *role, double x, double y)
{
    report *r = d->r;
    sooth_value v = sooth_value_at(r->model, value);
    const char *shape = picture_name(r, report_shape(r, value, "×"), 24);
    text_printf(d->out, "<g class=\"e\"><title>%s ", role);
    text_xml(d->out, picture_name(r, v.name, 400));
    text_printf(d->out, "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"%d\"/>", x, y, BOX_WIDTH,
                BOX_HEIGHT, BOX_HEIGHT / 2);
    box_text(d, "o", x + 18, y + 16, picture_name(r, v.name, op_columns(shape) - 2));
    box_text(d, "s", x + BOX_WIDTH - 16, y + 16, shape);
    const char *kind = arena_printf(r->scratch, "%s %s", role, v.dtype ? v.dtype : "").ptr;
    box_text(d, "n", x + 18, y + 29.5, kind);
    text_puts(d->out, "</g>\n");
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

/* Tracks in the gutters, so that edges of different values do not overlap. */
typedef struct wrap_lanes {
    int32_t *of_owner; /* index + 1 */
    int32_t *count;    /* by strip */
} wrap_lanes;

static bool is_box(const drawing *d, int32_t node)
{
    return node < d->l.box_count;
}

/* An edge meets a box at the point where the edge is straightest, not always in the middle. */
static double port(const drawing *d, int32_t node, double towards)
{
    const layout_node *n = &d->l.nodes.items[node];
    double reach = is_box(d, node) ? n->width / 2 - 14 : 0;
    return fmin(fmax(towards, n->x - reach), n->x + reach);
}

/* Draws an edge between strips: from the foot of one strip through the gutter to the head of the next, with four
 * rounded corners. */
static void wrapped_path(drawing *d, double x0, double y0, double x1, double y1, int32_t strip, int32_t lane)
{
    double offset = 7.0 * (lane % 7), radius = 7;
    double low = d->l.strips[strip].bottom + 14 + offset, high = d->top - 14 - offset * 0.6;
    double middle = d->left + d->l.strips[strip].right + 44 + offset;
    text_printf(d->out,
                "<path d=\"M%.1f %.1fV%.1fQ%.1f %.1f %.1f %.1fH%.1fQ%.1f %.1f %.1f %.1fV%.1fQ%.1f %.1f %.1f %.1fH%.1f"
                "Q%.1f %.1f %.1f %.1fV%.1f",
                x0, y0, low - radius, x0, low, x0 + radius, low, middle - radius, middle, low, middle, low - radius,
                high + radius, middle, high, middle + radius, high, x1 - radius, x1, high, x1, high + radius, y1);
}

static void edge(drawing *d, const layout_link *step, wrap_lanes *wraps)
{
    const layout *l = &d->l;
    const layout_node *from = &l->nodes.items[step->from], *to = &l->nodes.items[step->to];
    const layout_row *above = &l->rows[from->row], *below = &l->rows[to->row];
    double y0 = above->y + BOX_HEIGHT, y1 = below->y;
    double x0 = d->left + port(d, step->from, to->x), x1 = d->left + port(d, step->to, from->x), bend = GAP_Y * 0.62;
    if (above->strip != below->strip) { /* edges of one value share a track in the gutter */
        if (!wraps->of_owner[from->owner])
            wraps->of_owner[from->owner] = ++wraps->count[above->strip];
        wrapped_path(d, d->left + from->x, y0, d->left + to->x, y1, above->strip, wraps->of_owner[from->owner] - 1);
    } else if (fabs(x0 - x1) < 0.05) {
        text_printf(d->out, "<path d=\"M%.1f %.1fV%.1f", x0, y0, y1);
    } else {
        text_printf(d->out, "<path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x0, y0, x0, y0 + bend, x1, y1 - bend,
                    x1, y1);
    }
    if (!is_box(d, step->to)) /* Continues through the row of the lane. */
        text_printf(d->out, "V%.1f", y1 + BOX_HEIGHT);
    text_puts(d->out, is_box(d, step->to) ? "\" marker-end=\"url(#sooth-arrow)\"/>\n" : "\"/>\n");
}

/* Draws a link that is too long as a tag at the reader, with the name of the first source and the number of others. */
static void references(drawing *d)
{
    report *r = d->r;
    int32_t *count = ARENA_ARRAY(r->scratch, int32_t, (size_t)d->p.box_count);
    for (int32_t i = 0; i < d->p.edges.count; i++)
        count[d->p.edges.items[i].to] += d->l.is_reference[i];
    for (int32_t i = 0; i < d->p.edges.count; i++) {
        const picture_edge *e = &d->p.edges.items[i];
        if (!d->l.is_reference[i] || !count[e->to])
            continue;
        const layout_node *n = &d->l.nodes.items[e->to];
        const char *name = sooth_value_at(r->model, e->value).name, *shown = picture_name(r, name, 24);
        if (count[e->to] > 1)
            shown = arena_printf(r->scratch, "%s +%" PRId32, shown, count[e->to] - 1).ptr;
        count[e->to] = 0;
        double width = 5.0 * (double)name_width(shown) + 12, y = d->l.rows[n->row].y - 14;
        double x = d->left + n->x + BOX_WIDTH / 2.0 - width;
        text_puts(d->out, "<g><title>reads ");
        text_xml(d->out, picture_name(r, name, 400));
        text_printf(d->out, "</title><rect class=\"p\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\" rx=\"6\"/>",
                    x, y, width);
        box_text(d, "r", x + 6, y + 9, shown);
        text_puts(d->out, "</g>\n");
    }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void lay_out(drawing *d)
{
    layout_link *links = ARENA_ARRAY(d->r->scratch, layout_link, (size_t)d->p.edges.count);
    for (int32_t i = 0; i < d->p.edges.count; i++)
        links[i] = (layout_link){d->p.edges.items[i].from, d->p.edges.items[i].to};
    d->l = (layout){.arena = d->r->scratch,
                    .box_count = d->p.box_count,
                    .input_count = d->p.input_count,
                    .links = links,
                    .link_count = d->p.edges.count,
                    .box_width = BOX_WIDTH,
                    .box_height = BOX_HEIGHT,
                    .lane_width = LANE_WIDTH,
                    .gap_x = GAP_X,
                    .gap_y = GAP_Y,
                    .gutter = GUTTER,
                    .top = d->top};
    layout_make(&d->l);
}

void graph_svg(report *r)
{
    drawing d = {.r = r, .out = r->out};
    picture_make(&d.p, r);
    for (size_t i = 0; i < sooth_layer_count(r->model); i++) {
        int64_t macs = sooth_layer_at(r->model, i).macs;
        d.most_macs = macs > d.most_macs ? macs : d.most_macs;
    }
    /* The legend's height depends on the picture's width, which is only known after the layout, so the smallest
     * width is assumed. */
    int64_t counts[32] = {0};
    int per_line = (LEAST_WIDTH - 2 * MARGIN) / LEGEND_ITEM, kinds = kinds_in_use(&d, counts);
    int legend_lines = (kinds + per_line - 1) / per_line;
    d.top = MARGIN + 94 + legend_lines * LEGEND_LINE;
    lay_out(&d);
    double width = fmax(d.l.width + 2 * MARGIN, LEAST_WIDTH), height = fmax(d.l.height, d.top) + MARGIN + 40;
    d.left = (width - d.l.width) / 2;
    text_printf(r->out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sooth\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 "
                "0 %.0f %.0f\">\n",
                width, height, width, height);
    style(&d);
    text_printf(r->out, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n", width, height);
    head(&d, width);
    wrap_lanes wraps = {.of_owner = ARENA_ARRAY(r->scratch, int32_t, (size_t)d.p.box_count),
                        .count = ARENA_ARRAY(r->scratch, int32_t, (size_t)d.l.strip_count)};
    for (int32_t i = 0; i < d.l.steps.count; i++)
        edge(&d, &d.l.steps.items[i], &wraps);
    for (int32_t box = 0; box < d.p.box_count; box++) {
        size_t index;
        box_role role = picture_box(&d.p, box, &index);
        const layout_node *n = &d.l.nodes.items[box];
        double x = d.left + n->x - BOX_WIDTH / 2.0, y = d.l.rows[n->row].y;
        if (role == BOX_LAYER)
            layer_box(&d, index, x, y);
        else
            end_box(&d, index, role == BOX_INPUT ? "input" : "output", x, y);
    }
    references(&d);
    text_puts(r->out, "</svg>\n");
}
