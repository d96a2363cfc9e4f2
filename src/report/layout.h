/* layout.h: coordinates of the boxes and edges of a graph. Geometry only: graph_svg.c fills the boxes.
 *
 * The layered drawing of Sugiyama and others ("Methods for Visual Understanding of Hierarchical System Structures",
 * 1981):
 *   1. rows      every box below those it reads from (longest path)
 *   2. strips    a network is a hundred times as long as wide, so rows are cut into strips side by side, where few
 *                edges cross
 *   3. lanes     an edge that crosses rows gets a narrow placeholder in each; very long ones become a named reference
 *   4. order     fewer crossings by the barycenter heuristic
 *   5. places    Brandes and Köpf, "Fast and Simple Horizontal Coordinate Assignment", 2001 (layout_place.c)
 * Every step but sorting is linear in boxes and lanes; the number of lanes is bounded. */
#ifndef SOOTH_REPORT_LAYOUT_H
#define SOOTH_REPORT_LAYOUT_H

#include "base/arena.h"

typedef struct layout_link {
    int32_t from, to;
} layout_link;

/* A box, or a lane: the place where an edge crosses a row. Boxes come first, under their own numbers. */
typedef struct layout_node {
    int32_t row;
    int32_t position; /* index in its row */
    int32_t owner;    /* box whose output runs through this lane; a box owns itself */
    double x;         /* x coordinate of its middle */
    double width;     /* width without margins */
} layout_node;

typedef struct layout_row {
    int32_t *nodes; /* from left to right */
    int32_t count, capacity;
    int32_t strip;
    double y; /* y coordinate of its upper side */
} layout_row;

typedef struct layout_strip {
    int32_t first_row, end_row;
    double left, right, bottom;
} layout_strip;

typedef struct layout {
    arena *arena;
    /* Set by the caller; lengths are in pixels. */
    int32_t box_count, input_count; /* the first boxes are the network's inputs */
    const layout_link *links;       /* from < to; sorted by `to` */
    int32_t link_count;
    double box_width, box_height, lane_width, gap_x, gap_y, gutter, top;
    /* Results. */
    struct {
        layout_node *items;
        int32_t count, capacity;
    } nodes;
    struct {
        layout_link *items;
        int32_t count, capacity;
    } steps;            /* drawn edges between nodes of neighbouring rows */
    bool *is_reference; /* indexed by link: too long to be drawn */
    layout_row *rows;
    int32_t row_count;
    layout_strip *strips;
    int32_t strip_count;
    double width, height;
} layout;

void layout_make(layout *l);

/* Fifth step: x of every node, within its strip. */
void layout_place(layout *l);

typedef struct layout_neighbours {
    int32_t *start; /* indexed by node: its first neighbour; start[n + 1] is the end */
    int32_t *nodes; /* neighbours of each node, sorted by position */
} layout_neighbours;
/* Neighbours in the row above or below that are in the same strip. */
layout_neighbours layout_find_neighbours(layout *l, bool above);

#endif
