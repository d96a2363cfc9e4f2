#include "report/layout.h"

#include <math.h>
#include <stdlib.h>

enum { SWEEPS = 8, LONGEST_LANE = 64, SHORTEST_LANE = 3 };
static const double ASPECT = 1.5; /* aspect ratio of the whole picture, width ÷ height */

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void assign_rows(layout *l)
{
    layout_node *n = l->nodes.items;
    size_t count = (size_t)l->box_count;
    /* smallest row of the boxes that read it; 0 if none does */
    int32_t *lowest = ARENA_ARRAY(l->arena, int32_t, count);
    bool *has_source = ARENA_ARRAY(l->arena, bool, count), *from_input = ARENA_ARRAY(l->arena, bool, count);
    for (int32_t i = 0; i < l->input_count; i++)
        from_input[i] = true;
    for (int32_t i = 0; i < l->link_count; i++) { /* links are sorted by `to`, so n[from] is final */
        layout_link k = l->links[i];
        if (n[k.to].row <= n[k.from].row)
            n[k.to].row = n[k.from].row + 1;
        has_source[k.to] = true;
        from_input[k.to] = from_input[k.to] || from_input[k.from];
    }
    /* Moves inputs, and results of constants, from the top to the row above their readers. Goes from the last box to
     * the first, so that readers already have their final rows. */
    int32_t last = 0, link = l->link_count;
    for (int32_t i = l->box_count - 1; i >= 0; i--) {
        if (lowest[i] && (!has_source[i] || !from_input[i]))
            n[i].row = lowest[i] - 1;
        for (; link > 0 && l->links[link - 1].to == i; link--) {
            int32_t from = l->links[link - 1].from;
            if (!lowest[from] || n[i].row < lowest[from])
                lowest[from] = n[i].row;
        }
        last = n[i].row > last ? n[i].row : last;
    }
    l->row_count = last + 1;
    l->rows = ARENA_ARRAY(l->arena, layout_row, (size_t)l->row_count);
}

/* ---- strips ------------------------------------------------------------------------------------------------------ */

/* Cost of a cut between two rows: two per value that crosses it, and one per link of that value. Links too long to
 * be drawn do not count. */
static int32_t *count_passing(layout *l)
{
    int32_t *passing = ARENA_ARRAY(l->arena, int32_t, (size_t)l->row_count + 1);
    int32_t *reach = ARENA_ARRAY(l->arena, int32_t, (size_t)l->box_count);
    for (int32_t i = 0; i < l->link_count; i++) {
        int32_t from = l->links[i].from, row = l->nodes.items[from].row, to = l->nodes.items[l->links[i].to].row;
        if (to - row > LONGEST_LANE)
            continue;
        passing[row]++;
        passing[to]--;
        reach[from] = to > reach[from] ? to : reach[from];
    }
    for (int32_t box = 0; box < l->box_count; box++) {
        if (reach[box]) {
            passing[l->nodes.items[box].row] += 2;
            passing[reach[box]] -= 2;
        }
    }
    for (int32_t r = 1; r <= l->row_count; r++)
        passing[r] += passing[r - 1];
    return passing;
}

static void cut_strips(layout *l)
{
    int32_t *in_row = ARENA_ARRAY(l->arena, int32_t, (size_t)l->row_count);
    for (int32_t i = 0; i < l->box_count; i++)
        in_row[l->nodes.items[i].row]++;
    int32_t widest = 1;
    for (int32_t r = 0; r < l->row_count; r++)
        widest = in_row[r] > widest ? in_row[r] : widest;
    /* Target width of a strip: between the mean and the widest row, because one very wide row must not decide alone. */
    double boxes = ((widest < 6 ? widest : 6) + (double)l->box_count / l->row_count) / 2;
    double strip_width = boxes * (l->box_width + l->gap_x) + l->gutter, row_height = l->box_height + l->gap_y;
    double wanted = floor(sqrt(ASPECT * l->row_count * row_height / strip_width) + 0.3);
    int32_t count = l->row_count < 16 || wanted < 1 ? 1 : (int32_t)wanted;
    if (count > l->row_count / 4 && count > 1)
        count = l->row_count / 4;
    int32_t *passing = count_passing(l);
    l->strips = ARENA_ARRAY(l->arena, layout_strip, (size_t)count);
    l->strip_count = count;
    int32_t first = 0;
    for (int32_t s = 0; s < count; s++) {
        int32_t end = l->row_count;
        if (s + 1 < count) {
            int32_t slack = l->row_count / count / 5;
            end = (int32_t)((int64_t)l->row_count * (s + 1) / count);
            /* Finds the cheapest cut; among equal ones, that nearest to the middle of the allowed range. */
            for (int32_t d = 1, middle = end; d <= slack; d++) {
                if (passing[middle - d - 1] < passing[end - 1])
                    end = middle - d;
                if (middle + d < l->row_count && passing[middle + d - 1] < passing[end - 1])
                    end = middle + d;
            }
        }
        l->strips[s] = (layout_strip){.first_row = first, .end_row = end};
        for (int32_t r = first; r < end; r++)
            l->rows[r].strip = s;
        first = end;
    }
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

static int32_t span(const layout *l, int32_t link)
{
    return l->nodes.items[l->links[link].to].row - l->nodes.items[l->links[link].from].row;
}

/* Length of the longest link that is drawn, which limits lanes to a small multiple of the boxes. */
static int32_t longest_drawn(layout *l)
{
    int32_t *reach = ARENA_ARRAY(l->arena, int32_t, (size_t)l->box_count);
    for (int32_t longest = LONGEST_LANE; longest > SHORTEST_LANE; longest = longest * 2 / 3) {
        int64_t lanes = 0;
        memset(reach, 0, (size_t)l->box_count * sizeof *reach);
        for (int32_t i = 0; i < l->link_count; i++) {
            int32_t from = l->links[i].from, length = span(l, i);
            if (length <= longest && length > reach[from]) {
                lanes += length - (reach[from] ? reach[from] : 1);
                reach[from] = length;
            }
        }
        if (lanes < 6 * (int64_t)l->box_count + 1000)
            return longest;
    }
    return SHORTEST_LANE;
}

static void add_step(layout *l, int32_t from, int32_t to)
{
    layout_link *step = ARENA_PUSH(l->arena, &l->steps);
    *step = (layout_link){from, to};
}

/* Adds lanes. One chain of lanes per box serves all its readers. */
static void add_lanes(layout *l)
{
    l->is_reference = ARENA_ARRAY(l->arena, bool, (size_t)l->link_count);
    int32_t longest = longest_drawn(l);
    int32_t *first_lane = ARENA_ARRAY(l->arena, int32_t, (size_t)l->box_count); /* index + 1 */
    int32_t *lane_count = ARENA_ARRAY(l->arena, int32_t, (size_t)l->box_count);
    for (int32_t i = 0; i < l->link_count; i++) {
        int32_t from = l->links[i].from, to = l->links[i].to, length = span(l, i);
        int32_t strips = l->rows[l->nodes.items[to].row].strip - l->rows[l->nodes.items[from].row].strip;
        l->is_reference[i] = length > longest || strips > 1;
        if (!l->is_reference[i] && length - 1 > lane_count[from])
            lane_count[from] = length - 1;
    }
    for (int32_t box = 0; box < l->box_count; box++) {
        for (int32_t k = 0; k < lane_count[box]; k++) {
            layout_node *lane = ARENA_PUSH(l->arena, &l->nodes);
            int32_t id = l->nodes.count - 1;
            *lane = (layout_node){.row = l->nodes.items[box].row + 1 + k, .owner = box, .width = l->lane_width};
            if (k == 0)
                first_lane[box] = id + 1;
            add_step(l, k ? id - 1 : box, id);
        }
    }
    for (int32_t i = 0; i < l->link_count; i++) {
        int32_t from = l->links[i].from, length = span(l, i);
        if (!l->is_reference[i])
            add_step(l, length == 1 ? from : first_lane[from] - 1 + length - 2, l->links[i].to);
    }
}

static void fill_rows(layout *l)
{
    for (int32_t i = 0; i < l->nodes.count; i++)
        l->rows[l->nodes.items[i].row].capacity++;
    for (int32_t r = 0; r < l->row_count; r++)
        l->rows[r].nodes = ARENA_ARRAY(l->arena, int32_t, (size_t)l->rows[r].capacity);
    for (int32_t i = 0; i < l->nodes.count; i++) {
        layout_row *row = &l->rows[l->nodes.items[i].row];
        l->nodes.items[i].position = row->count;
        row->nodes[row->count++] = i;
    }
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

typedef struct ranked {
    double rank;
    int32_t node, position;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* Lists the neighbours in the order of steps; sorted positions are not needed for means. */
static layout_neighbours unsorted_neighbours(layout *l, bool above, bool across_strips)
{
    layout_neighbours result = {.start = ARENA_ARRAY(l->arena, int32_t, (size_t)l->nodes.count + 1),
                                .nodes = ARENA_ARRAY(l->arena, int32_t, (size_t)l->steps.count)};
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < l->steps.count; i++) {
            layout_link s = l->steps.items[i];
            int32_t node = above ? s.to : s.from, other = above ? s.from : s.to;
            if (!across_strips && l->rows[l->nodes.items[node].row].strip != l->rows[l->nodes.items[other].row].strip)
                continue;
            if (pass == 0)
                result.start[node + 1]++;
            else
                result.nodes[result.start[node]++] = other;
        }
        if (pass == 0) {
            for (int32_t n = 0; n < l->nodes.count; n++)
                result.start[n + 1] += result.start[n];
        } else { /* filling the list has moved every start to its end */
            for (int32_t n = l->nodes.count; n > 0; n--)
                result.start[n] = result.start[n - 1];
            result.start[0] = 0;
        }
    }
    return result;
}

static void sweep_row(layout *l, layout_row *row, const layout_neighbours *n, ranked *room)
{
    for (int32_t i = 0; i < row->count; i++) {
        int32_t node = row->nodes[i], start = n->start[node], end = n->start[node + 1];
        double sum = 0;
        for (int32_t k = start; k < end; k++) {
            const layout_node *other = &l->nodes.items[n->nodes[k]];
            /* Position relative to the row's length, which makes rows of different lengths comparable. */
            sum += (other->position + 0.5) / l->rows[other->row].count;
        }
        double own = (i + 0.5) / row->count;
        room[i] = (ranked){end > start ? sum / (end - start) : own, node, i};
    }
    qsort(room, (size_t)row->count, sizeof *room, compare_ranked);
    for (int32_t i = 0; i < row->count; i++) {
        row->nodes[i] = room[i].node;
        l->nodes.items[room[i].node].position = i;
    }
}

static void order_rows(layout *l)
{
    layout_neighbours up = unsorted_neighbours(l, true, true), down = unsorted_neighbours(l, false, true);
    int32_t widest = 0;
    for (int32_t r = 0; r < l->row_count; r++)
        widest = l->rows[r].count > widest ? l->rows[r].count : widest;
    ranked *room = ARENA_ARRAY(l->arena, ranked, (size_t)widest);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int32_t r = 1; r < l->row_count && sweep % 2 == 0; r++)
            sweep_row(l, &l->rows[r], &up, room);
        for (int32_t r = l->row_count - 2; r >= 0 && sweep % 2 == 1; r--)
            sweep_row(l, &l->rows[r], &down, room);
    }
}

layout_neighbours layout_find_neighbours(layout *l, bool above)
{
    layout_neighbours n = unsorted_neighbours(l, above, false);
    int32_t *fill = ARENA_ARRAY(l->arena, int32_t, (size_t)l->nodes.count);
    layout_neighbours other = unsorted_neighbours(l, !above, false);
    /* Walking all rows from left to right visits each node's neighbours in order. */
    for (int32_t r = 0; r < l->row_count; r++) {
        for (int32_t i = 0; i < l->rows[r].count; i++) {
            int32_t node = l->rows[r].nodes[i];
            for (int32_t k = other.start[node]; k < other.start[node + 1]; k++) {
                int32_t reader = other.nodes[k];
                n.nodes[n.start[reader] + fill[reader]++] = node;
            }
        }
    }
    return n;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void place_strips(layout *l)
{
    layout_place(l);
    double left = 0, pitch = l->box_height + l->gap_y;
    for (int32_t s = 0; s < l->strip_count; s++) {
        layout_strip *strip = &l->strips[s];
        double least = INFINITY, most = -INFINITY;
        for (int32_t r = strip->first_row; r < strip->end_row; r++) {
            for (int32_t i = 0; i < l->rows[r].count; i++) {
                const layout_node *n = &l->nodes.items[l->rows[r].nodes[i]];
                least = fmin(least, n->x - n->width / 2);
                most = fmax(most, n->x + n->width / 2);
            }
        }
        for (int32_t r = strip->first_row; r < strip->end_row; r++) {
            l->rows[r].y = l->top + (r - strip->first_row) * pitch;
            for (int32_t i = 0; i < l->rows[r].count; i++)
                l->nodes.items[l->rows[r].nodes[i]].x += left - least;
        }
        strip->left = left;
        strip->right = left + most - least;
        strip->bottom = l->top + (strip->end_row - strip->first_row) * pitch - l->gap_y;
        l->height = fmax(l->height, strip->bottom);
        l->width = strip->right;
        left = strip->right + l->gutter;
    }
}

void layout_make(layout *l)
{
    for (int32_t i = 0; i < l->box_count; i++) {
        layout_node *box = ARENA_PUSH(l->arena, &l->nodes);
        *box = (layout_node){.owner = i, .width = l->box_width};
    }
    if (l->box_count == 0)
        return;
    assign_rows(l);
    cut_strips(l);
    add_lanes(l);
    fill_rows(l);
    order_rows(l);
    place_strips(l);
}
