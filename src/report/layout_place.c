/* layout_place.c: horizontal coordinates of the nodes of a strip, by Brandes and Köpf.
 *
 * Each node is aligned with the median of its neighbours above (or below), which forms vertical blocks: chains and
 * lanes become straight. Blocks are packed as closely as their order allows. This is done four times, leaning up or
 * down and left or right; each node gets the mean of the two middle results. Compaction uses longest paths over the
 * graph of blocks instead of the paper's recursion, which can run deep. */
#include "report/layout.h"

#include <math.h>

typedef struct placement {
    layout *l;
    const layout_strip *strip;
    bool *clashes; /* indexed by step up (as in up->nodes): crosses a straight step, so must not be straightened */
    const layout_neighbours *up, *down;
    int32_t *up_index;     /* indexed by step down: index of the same step among the steps up */
    int32_t *root, *align; /* blocks: the first node, and a ring of links through the nodes */
    double *x[4];
    /* Graph of blocks, indexed by their roots. */
    int32_t *pending, *queue;
    int32_t *strip_nodes;
    int32_t strip_node_count;
} placement;

static bool is_lane(const layout *l, int32_t node)
{
    return node >= l->box_count;
}

/* Marks the steps up from a node that end outside the bounds, except those between lanes. */
static void mark_outside(placement *p, int32_t node, int32_t left_bound, int32_t right_bound)
{
    layout *l = p->l;
    const layout_neighbours *up = p->up;
    for (int32_t k = up->start[node]; k < up->start[node + 1]; k++) {
        int32_t position = l->nodes.items[up->nodes[k]].position;
        bool is_inner = is_lane(l, node) && is_lane(l, up->nodes[k]);
        if (!is_inner && (position < left_bound || position > right_bound))
            p->clashes[k] = true;
    }
}

/* Marks steps that cross a step between lanes, because lanes are always straight. */
static void mark_clashes(placement *p)
{
    layout *l = p->l;
    const layout_neighbours *up = p->up;
    for (int32_t r = p->strip->first_row + 1; r < p->strip->end_row; r++) {
        const layout_row *row = &l->rows[r];
        int32_t left_bound = 0, scanned = 0;
        for (int32_t i = 0; i < row->count; i++) {
            int32_t node = row->nodes[i], right_bound = l->rows[r - 1].count;
            bool inner = false;
            if (is_lane(l, node) && up->start[node + 1] > up->start[node]) {
                int32_t above = up->nodes[up->start[node]];
                inner = is_lane(l, above);
                if (inner)
                    right_bound = l->nodes.items[above].position;
            }
            if (!inner && i + 1 < row->count)
                continue;
            for (; scanned <= i; scanned++)
                mark_outside(p, row->nodes[scanned], left_bound, right_bound);
            left_bound = right_bound;
        }
    }
}

/* Measures, in boxes, the longest path from each node to an end of its strip. */
static void measure_depth(placement *p, const layout_neighbours *n, bool from_below, int32_t *depth)
{
    layout *l = p->l;
    int32_t first = p->strip->first_row, end = p->strip->end_row;
    for (int32_t r = first; r < end; r++) {
        const layout_row *row = &l->rows[from_below ? first + end - 1 - r : r];
        for (int32_t i = 0; i < row->count; i++) {
            int32_t node = row->nodes[i], longest = 0;
            for (int32_t k = n->start[node]; k < n->start[node + 1] && !is_lane(l, node); k++)
                longest = depth[n->nodes[k]] > longest ? depth[n->nodes[k]] : longest;
            depth[node] = is_lane(l, node) ? 0 : longest + 1;
        }
    }
}

/* Keeps the trunk of a network straight: at a box, the steps on the longest branch have priority. Branches of equal
 * length all have it. */
static void mark_side_branches(placement *p)
{
    layout *l = p->l;
    int32_t *below = p->root, *above = p->align; /* arrays that are free at this stage */
    measure_depth(p, p->down, true, below);
    measure_depth(p, p->up, false, above);
    for (int32_t i = 0; i < p->strip_node_count; i++) {
        int32_t node = p->strip_nodes[i], longest = 0;
        if (is_lane(l, node))
            continue;
        for (int32_t k = p->down->start[node]; k < p->down->start[node + 1]; k++)
            longest = below[p->down->nodes[k]] > longest ? below[p->down->nodes[k]] : longest;
        for (int32_t k = p->down->start[node]; k < p->down->start[node + 1]; k++)
            if (below[p->down->nodes[k]] < longest)
                p->clashes[p->up_index[k]] = true;
        longest = 0;
        for (int32_t k = p->up->start[node]; k < p->up->start[node + 1]; k++)
            longest = above[p->up->nodes[k]] > longest ? above[p->up->nodes[k]] : longest;
        for (int32_t k = p->up->start[node]; k < p->up->start[node + 1]; k++)
            if (above[p->up->nodes[k]] < longest)
                p->clashes[k] = true;
    }
}

static void align_row(placement *p, const layout_row *row, bool upward, bool leftward)
{
    layout *l = p->l;
    const layout_neighbours *n = upward ? p->up : p->down;
    int32_t bound = leftward ? -1 : INT32_MAX;
    for (int32_t i = 0; i < row->count; i++) {
        int32_t node = row->nodes[leftward ? i : row->count - 1 - i];
        int32_t start = n->start[node], degree = n->start[node + 1] - start;
        if (degree == 0)
            continue;
        int32_t low = start + (degree - 1) / 2, high = start + degree / 2;
        for (int turn = 0; turn < 2 && p->align[node] == node; turn++) {
            int32_t k = (turn == 0) == leftward ? low : high;
            int32_t other = n->nodes[k], position = l->nodes.items[other].position;
            if (p->clashes[upward ? k : p->up_index[k]] || (leftward ? position <= bound : position >= bound))
                continue;
            p->align[other] = node;
            p->root[node] = p->root[other];
            p->align[node] = p->root[node];
            bound = position;
        }
    }
}

static void align_blocks(placement *p, bool upward, bool leftward)
{
    for (int32_t i = 0; i < p->strip_node_count; i++)
        p->root[p->strip_nodes[i]] = p->align[p->strip_nodes[i]] = p->strip_nodes[i];
    int32_t first = p->strip->first_row, end = p->strip->end_row;
    for (int32_t r = first; r < end; r++)
        align_row(p, &p->l->rows[upward ? r : first + end - 1 - r], upward, leftward);
}

/* Returns the neighbour in the row; -1 if there is none. `before` selects the previous one in packing order, which
 * is the left one when packing leftward. */
static int32_t beside(const layout *l, int32_t node, bool leftward, bool before)
{
    const layout_node *n = &l->nodes.items[node];
    int32_t position = n->position + (leftward == before ? -1 : 1);
    const layout_row *row = &l->rows[n->row];
    return position < 0 || position >= row->count ? -1 : row->nodes[position];
}

static double distance(const layout *l, int32_t a, int32_t b)
{
    return (l->nodes.items[a].width + l->nodes.items[b].width) / 2 + l->gap_x;
}

/* Packs each block as far to the side as earlier blocks allow, then moves each towards later ones. */
static void pack_blocks(placement *p, bool leftward, double *x)
{
    layout *l = p->l;
    int32_t queued = 0;
    for (int32_t i = 0; i < p->strip_node_count; i++)
        p->pending[p->strip_nodes[i]] = 0;
    for (int32_t i = 0; i < p->strip_node_count; i++) {
        int32_t node = p->strip_nodes[i];
        p->pending[p->root[node]] += beside(l, node, leftward, true) >= 0;
        x[node] = 0;
    }
    for (int32_t i = 0; i < p->strip_node_count; i++) {
        int32_t node = p->strip_nodes[i];
        if (p->root[node] == node && p->pending[node] == 0)
            p->queue[queued++] = node;
    }
    for (int32_t i = 0; i < queued; i++) {
        int32_t block = p->queue[i], node = block;
        do {
            int32_t next = beside(l, node, leftward, false);
            if (next >= 0) {
                int32_t other = p->root[next];
                x[other] = fmax(x[other], x[block] + distance(l, node, next));
                if (--p->pending[other] == 0)
                    p->queue[queued++] = other;
            }
            node = p->align[node];
        } while (node != block);
    }
    for (int32_t i = queued - 1; i >= 0; i--) {
        int32_t block = p->queue[i], node = block;
        double limit = INFINITY;
        do {
            int32_t next = beside(l, node, leftward, false);
            if (next >= 0)
                limit = fmin(limit, x[p->root[next]] - distance(l, node, next));
            node = p->align[node];
        } while (node != block);
        if (limit < INFINITY)
            x[block] = fmax(x[block], limit);
    }
    for (int32_t i = 0; i < p->strip_node_count; i++) {
        int32_t node = p->strip_nodes[i];
        if (p->root[node] != node)
            x[node] = x[p->root[node]];
    }
    if (!leftward)
        for (int32_t i = 0; i < p->strip_node_count; i++)
            x[p->strip_nodes[i]] = -x[p->strip_nodes[i]];
}

static void extent(const placement *p, const double *x, double *least, double *most)
{
    *least = INFINITY;
    *most = -INFINITY;
    for (int32_t i = 0; i < p->strip_node_count; i++) {
        int32_t node = p->strip_nodes[i];
        double half = p->l->nodes.items[node].width / 2;
        *least = fmin(*least, x[node] - half);
        *most = fmax(*most, x[node] + half);
    }
}

/* Shifts the four results to one side of the narrowest: the side to which each leans. */
static void combine(placement *p)
{
    double least[4], most[4];
    int narrowest = 0;
    for (int k = 0; k < 4; k++) {
        extent(p, p->x[k], &least[k], &most[k]);
        if (most[k] - least[k] < most[narrowest] - least[narrowest])
            narrowest = k;
    }
    for (int32_t i = 0; i < p->strip_node_count; i++) {
        int32_t node = p->strip_nodes[i];
        double sorted[4] = {0};
        for (int k = 0; k < 4; k++) {
            bool leftward = k % 2 == 0;
            double shift = leftward ? least[narrowest] - least[k] : most[narrowest] - most[k],
                   v = p->x[k][node] + shift;
            int at = k;
            for (; at > 0 && sorted[at - 1] > v; at--)
                sorted[at] = sorted[at - 1];
            sorted[at] = v;
        }
        p->l->nodes.items[node].x = (sorted[1] + sorted[2]) / 2;
    }
}

/* Maps each step down to the index of the same step among the steps up, by walking both lists from left to right. */
static void match_steps(placement *p)
{
    layout *l = p->l;
    for (int32_t i = 0; i < p->strip_node_count; i++)
        p->pending[p->strip_nodes[i]] = 0; /* From here on: number of the node's steps up that are already matched. */
    for (int32_t r = p->strip->first_row; r < p->strip->end_row; r++) {
        for (int32_t i = 0; i < l->rows[r].count; i++) {
            int32_t node = l->rows[r].nodes[i];
            for (int32_t k = p->down->start[node]; k < p->down->start[node + 1]; k++) {
                int32_t below = p->down->nodes[k];
                p->up_index[k] = p->up->start[below] + p->pending[below]++;
            }
        }
    }
}

void layout_place(layout *l)
{
    /* Indexed by node of the whole graph, so one allocation serves all strips. */
    size_t count = (size_t)l->nodes.count, steps = (size_t)l->steps.count;
    layout_neighbours up = layout_find_neighbours(l, true), down = layout_find_neighbours(l, false);
    placement p = {.l = l, .up = &up, .down = &down};
    p.clashes = ARENA_ARRAY(l->arena, bool, steps);
    p.up_index = ARENA_ARRAY(l->arena, int32_t, steps);
    p.root = ARENA_ARRAY(l->arena, int32_t, count);
    p.align = ARENA_ARRAY(l->arena, int32_t, count);
    p.pending = ARENA_ARRAY(l->arena, int32_t, count);
    p.queue = ARENA_ARRAY(l->arena, int32_t, count);
    p.strip_nodes = ARENA_ARRAY(l->arena, int32_t, count);
    for (int k = 0; k < 4; k++)
        p.x[k] = ARENA_ARRAY(l->arena, double, count);
    for (int32_t s = 0; s < l->strip_count; s++) {
        p.strip = &l->strips[s];
        p.strip_node_count = 0;
        for (int32_t r = p.strip->first_row; r < p.strip->end_row; r++)
            for (int32_t i = 0; i < l->rows[r].count; i++)
                p.strip_nodes[p.strip_node_count++] = l->rows[r].nodes[i];
        match_steps(&p);
        mark_clashes(&p);
        mark_side_branches(&p);
        for (int k = 0; k < 4; k++) {
            align_blocks(&p, k < 2, k % 2 == 0);
            pack_blocks(&p, k % 2 == 0, p.x[k]);
        }
        combine(&p);
    }
}
