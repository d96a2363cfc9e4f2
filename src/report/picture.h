/* picture.h: the graph as pictures show it: inputs, layers and outputs as boxes, values as edges, constants hidden.
 * Shared by the writers of Graphviz and SVG. */
#ifndef SOOTH_REPORT_PICTURE_H
#define SOOTH_REPORT_PICTURE_H

#include "report/report.h"

/* Boxes in topological order: the network's inputs, its layers, its outputs. Every edge goes from a lower to a higher
 * one. */
typedef struct picture_edge {
    int32_t from, to;
    size_t value;
} picture_edge;

typedef struct picture {
    report *r;
    int32_t input_count, layer_count, output_count, box_count;
    struct {
        picture_edge *items;
        int32_t count, capacity;
    } edges; /* sorted by `to` */
} picture;

void picture_make(picture *p, report *r);

typedef enum box_role { BOX_INPUT, BOX_LAYER, BOX_OUTPUT } box_role;
/* Kind of a box, and the index of its layer or value. */
box_role picture_box(const picture *p, int32_t box, size_t *index);

/* Colours by kind of operator; the last one is for inputs and outputs. */
typedef struct picture_paint {
    const char *kind;  /* as in sooth_layer */
    const char *title; /* Title in the legend. */
    const char *fill, *stroke;
} picture_paint;
const picture_paint *picture_paints(size_t *count);
const picture_paint *picture_paint_of(const char *kind);

/* The name shortened to `width` columns, in the report's scratch memory. */
const char *picture_name(report *r, const char *name, size_t width);

#endif
