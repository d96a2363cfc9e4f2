/* graph_dot.c: `sooth inspect --format dot`: the graph in Graphviz's language. */
#include "report/picture.h"

#include <inttypes.h>

enum { NAME_COLUMNS = 40 };

/* Escapes a label. Only a quote ends a string in DOT, but labels interpret backslashes. */
static void escaped(text *t, const char *s)
{
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            text_puts(t, "\\");
        text_add(t, s, 1);
    }
}

static void layer_box(report *r, int32_t box, size_t index)
{
    text *t = r->out;
    sooth_layer l = sooth_layer_at(r->model, index);
    const picture_paint *paint = picture_paint_of(l.kind);
    text_printf(t, "  n%" PRId32 " [fillcolor=\"%s\" color=\"%s\" label=\"", box, paint->fill, paint->stroke);
    escaped(t, picture_name(r, l.op, NAME_COLUMNS));
    text_puts(t, "\\n");
    escaped(t, picture_name(r, l.name, NAME_COLUMNS));
    text_puts(t, "\" tooltip=\"");
    escaped(t, picture_name(r, l.name, SIZE_MAX));
    char params[NUMBER_ROOM], macs[NUMBER_ROOM];
    text_printf(t, "\\n%s parameters, %s MACs\"", number_short(params, l.params), number_short(macs, l.macs));
    text_puts(t, l.op_known ? "];\n" : " style=\"filled,rounded,dashed\"];\n");
}

static void end_box(report *r, int32_t box, size_t value, const char *role)
{
    text *t = r->out;
    sooth_value v = sooth_value_at(r->model, value);
    text_printf(t, "  n%" PRId32 " [fillcolor=\"#33373d\" fontcolor=\"white\" label=\"", box);
    escaped(t, picture_name(r, v.name, NAME_COLUMNS));
    text_printf(t, "\" tooltip=\"%s ", role);
    escaped(t, picture_name(r, v.name, SIZE_MAX));
    text_puts(t, "\"];\n");
}

void graph_dot(report *r)
{
    text *t = r->out;
    picture p;
    picture_make(&p, r);
    text_puts(t, "digraph \"");
    escaped(t, picture_name(r, sooth_info_of(r->model).file, SIZE_MAX));
    text_puts(t, "\" {\n"
                 "  graph [rankdir=TB nodesep=0.3 ranksep=0.4 fontname=\"Helvetica\"];\n"
                 "  node [shape=box style=\"filled,rounded\" fontname=\"Helvetica\" fontsize=11];\n"
                 "  edge [fontname=\"Helvetica\" fontsize=9 color=\"#777777\" fontcolor=\"#555555\"];\n");
    for (int32_t box = 0; box < p.box_count; box++) {
        size_t index;
        box_role role = picture_box(&p, box, &index);
        if (role == BOX_LAYER)
            layer_box(r, box, index);
        else
            end_box(r, box, index, role == BOX_INPUT ? "input" : "output");
    }
    for (int32_t i = 0; i < p.edges.count; i++) {
        const picture_edge *e = &p.edges.items[i];
        text_printf(t, "  n%" PRId32 " -> n%" PRId32 " [label=\"", e->from, e->to);
        escaped(t, picture_name(r, report_shape(r, e->value, "×"), SIZE_MAX));
        text_puts(t, "\"];\n");
    }
    text_puts(t, "}\n");
}
