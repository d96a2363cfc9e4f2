/* min_cut.c: minimum cut of a directed graph by Dinic's maximum flow. */
#include "lower/fused/joint.h"

enum { NO_EDGE = -1, FAR = INT32_MAX };

cut_graph cut_graph_new(arena *a, int32_t node_count)
{
    cut_graph g = {.arena = a, .node_count = node_count, .first = arena_room(a, (size_t)node_count, sizeof *g.first)};
    for (int32_t i = 0; i < node_count; i++)
        g.first[i] = NO_EDGE;
    return g;
}

void cut_add_edge(cut_graph *g, int32_t from, int32_t to, int64_t capacity)
{
    int32_t there = g->edges.count, back = there + 1;
    *(cut_edge *)ARENA_PUSH(g->arena, &g->edges) = (cut_edge){to, back, g->first[from], capacity};
    *(cut_edge *)ARENA_PUSH(g->arena, &g->edges) = (cut_edge){from, there, g->first[to], 0};
    g->first[from] = there;
    g->first[to] = back;
}

/* Sets the distance of each node from the source along edges with remaining capacity. */
static void find_levels(const cut_graph *g, int32_t source, int32_t *level, int32_t *queue)
{
    int32_t head = 0, tail = 0;
    for (int32_t i = 0; i < g->node_count; i++)
        level[i] = FAR;
    level[source] = 0;
    queue[tail++] = source;
    while (head < tail) {
        int32_t at = queue[head++];
        for (int32_t e = g->first[at]; e != NO_EDGE; e = g->edges.items[e].next) {
            const cut_edge *x = &g->edges.items[e];
            if (x->capacity > 0 && level[x->to] == FAR) {
                level[x->to] = level[at] + 1;
                queue[tail++] = x->to;
            }
        }
    }
}

/* Pushes flow along one shortest path. `edge` holds for each node the next edge to try. Returns false if none is
 * left. */
static bool push_path(cut_graph *g, int32_t source, int32_t sink, int32_t *level, int32_t *edge, int32_t *path)
{
    int32_t depth = 0, at = source;
    while (at != sink) {
        int32_t e = edge[at];
        while (e != NO_EDGE && (g->edges.items[e].capacity <= 0 || level[g->edges.items[e].to] != level[at] + 1))
            e = g->edges.items[e].next;
        edge[at] = e;
        if (e != NO_EDGE) {
            path[depth++] = e;
            at = g->edges.items[e].to;
            continue;
        }
        if (depth == 0)
            return false;
        level[at] = FAR; /* Leads nowhere. */
        at = g->edges.items[g->edges.items[path[--depth]].back].to;
    }
    int64_t flow = INT64_MAX;
    for (int32_t i = 0; i < depth; i++)
        flow = g->edges.items[path[i]].capacity < flow ? g->edges.items[path[i]].capacity : flow;
    for (int32_t i = 0; i < depth; i++) {
        cut_edge *x = &g->edges.items[path[i]], *back = &g->edges.items[x->back];
        x->capacity -= x->capacity >= CUT_UNLIMITED ? 0 : flow;
        back->capacity += back->capacity >= CUT_UNLIMITED ? 0 : flow;
    }
    return true;
}

bool *cut_source_side(cut_graph *g, int32_t source, int32_t sink)
{
    size_t count = (size_t)g->node_count + 1;
    int32_t *level = arena_room(g->arena, count, sizeof *level), *queue = arena_room(g->arena, count, sizeof *queue);
    int32_t *edge = arena_room(g->arena, count, sizeof *edge);
    bool *is_near = ARENA_ARRAY(g->arena, bool, count);
    find_levels(g, source, level, queue);
    while (level[sink] != FAR) {
        memcpy(edge, g->first, (size_t)g->node_count * sizeof *edge);
        while (push_path(g, source, sink, level, edge, queue))
            ;
        find_levels(g, source, level, queue);
    }
    for (int32_t i = 0; i < g->node_count; i++)
        is_near[i] = level[i] != FAR;
    return is_near;
}
