/* forests.c: the rows of each forest, and what the forests say of all kernels. */
#include "learn/forests.h"
#include "learn/forest_fit.h"

#include <math.h>
#include <stdlib.h>

/* Of these groups there are tables of single kernels with more leaps than the networks follow. */
static const work_group GROUPS[] = {WORK_PRODUCT, WORK_CONV, WORK_ATTENTION};
enum { GROUPS_COUNT = sizeof GROUPS / sizeof *GROUPS, LEAST_ROWS = 300 };

/* Where so little of a row's time is the kernel's, the row says little about it. */
static const float LEAST_SHARE = 0.05F;

static bool belongs(const example *e, work_group g, int gpu)
{
    return e->sample_count == 1 && e->samples[0].group == (uint8_t)g && e->gpu == gpu;
}

static int stack_of(const trainer *t, const example *e, work_group g)
{
    return net_stack_in(&t->net, e->stack, e->unknown_stack, g);
}

/* The kernel's part of what is predicted for the row: neither its timer's nor its stack's fixed one. */
static float kernel_share(const trainer *t, const example *e, float error)
{
    float all_us = e->latency_us * expf(error);
    float share = 1 - (e->timer_us + expf(t->average[t->net.at.stack_fixed + (size_t)e->stack])) / all_us;
    return share > LEAST_SHARE ? share : LEAST_SHARE;
}

typedef struct gathered {
    float *inputs; /* [count][FOREST_WIDTH] */
    float *target, *weight;
    size_t count;
} gathered;

/* Rows of one group and GPU; false: no memory. */
static bool gather(gathered *rows, forest *f, const trainer *t, const dataset *data, const int32_t *order,
                   int32_t count, const float *errors)
{
    size_t room = 0;
    for (int32_t i = 0; i < count; i++)
        room += belongs(&data->items[order[i]], (work_group)f->group, (int)f->gpu);
    if (room < LEAST_ROWS)
        return true;
    rows->inputs = malloc(room * FOREST_WIDTH * sizeof *rows->inputs);
    rows->target = malloc(room * sizeof *rows->target);
    rows->weight = malloc(room * sizeof *rows->weight);
    if (!rows->inputs || !rows->target || !rows->weight)
        return false;
    for (int32_t i = 0; i < count; i++) {
        const example *e = &data->items[order[i]];
        if (!belongs(e, (work_group)f->group, (int)f->gpu))
            continue;
        int stack = stack_of(t, e, (work_group)f->group);
        f->stacks[stack / 32] |= 1u << stack % 32;
        forest_input(e->samples[0].features, stack, net_op(&t->net, e->samples[0].op),
                     rows->inputs + rows->count * FOREST_WIDTH);
        rows->weight[rows->count] = kernel_share(t, e, errors[i]);
        rows->target[rows->count] = -errors[i] / rows->weight[rows->count];
        rows->count++;
    }
    return true;
}

/* Bins by feature, as trees are grown; false: no memory. */
static bool fit(const gathered *rows, const float *edges, forest_tree *trees, size_t count)
{
    uint8_t *columns = malloc(rows->count * FOREST_WIDTH), bins[FOREST_WIDTH];
    if (!columns)
        return false;
    for (size_t i = 0; i < rows->count; i++) {
        forest_bins(edges, rows->inputs + i * FOREST_WIDTH, bins);
        for (size_t k = 0; k < FOREST_WIDTH; k++)
            columns[k * rows->count + i] = bins[k];
    }
    bool worked = forest_fit(&(forest_rows){rows->count, columns, rows->target, rows->weight}, trees, count);
    free(columns);
    return worked;
}

static void release(gathered *rows)
{
    free(rows->inputs);
    free(rows->target);
    free(rows->weight);
}

/* Trees of a set as it grows. */
typedef struct growing {
    forest items[GROUPS_COUNT * MAX_GPUS];
    float *edges[GROUPS_COUNT * MAX_GPUS];
    forest_tree *trees[GROUPS_COUNT * MAX_GPUS];
    uint32_t count, tree_count;
} growing;

static void add_forest(growing *set, forest f, const gathered *rows, arena *a)
{
    f.first = set->tree_count;
    f.count = (uint32_t)forest_tree_count(rows->count);
    float *edges = set->edges[set->count] = ARENA_ARRAY(a, float, (size_t)FOREST_WIDTH *FOREST_EDGES);
    forest_tree *trees = set->trees[set->count] = ARENA_ARRAY(a, forest_tree, f.count);
    if (!forest_edges(rows->inputs, rows->count, edges) || !fit(rows, edges, trees, f.count))
        fail_with(a->fail, SOOTH_ERROR_SYSTEM, "no memory for the trees");
    set->items[set->count++] = f;
    set->tree_count += f.count;
}

static forest_set join(const growing *from, arena *a)
{
    enum { FLOATS = FOREST_WIDTH * FOREST_EDGES };
    forest *items = ARENA_ARRAY(a, forest, (size_t)from->count + 1);
    float *edges = ARENA_ARRAY(a, float, (size_t)from->count *FLOATS + 1);
    forest_tree *trees = ARENA_ARRAY(a, forest_tree, (size_t)from->tree_count + 1);
    for (uint32_t i = 0; i < from->count; i++) {
        items[i] = from->items[i];
        memcpy(edges + (size_t)i * FLOATS, from->edges[i], FLOATS * sizeof *edges);
        memcpy(trees + items[i].first, from->trees[i], items[i].count * sizeof *trees);
    }
    return (forest_set){items, from->count, from->tree_count, edges, trees};
}

forest_set forests_grow(const trainer *t, const dataset *data, const int32_t *order, int32_t count, arena *a)
{
    growing *set = ARENA_NEW(a, growing);
    float *errors = ARENA_ARRAY(a, float, (size_t)count + 1);
    trainer_errors(t, data, order, count, errors, NULL);
    for (int k = 0; k < GROUPS_COUNT; k++)
        for (int gpu = 1; gpu < data->gpu_count; gpu++) {
            gathered rows = {.count = 0};
            forest f = {.group = (uint32_t)GROUPS[k], .gpu = (uint32_t)gpu};
            bool worked = gather(&rows, &f, t, data, order, count, errors);
            if (worked && rows.count)
                add_forest(set, f, &rows, a);
            release(&rows);
            if (!worked)
                fail_with(a->fail, SOOTH_ERROR_SYSTEM, "no memory for the trees");
        }
    return join(set, a);
}

void forests_apply(const forest_set *set, const trainer *t, dataset *data)
{
    for (int32_t i = 0; i < data->count; i++) {
        const example *e = &data->items[i];
        for (int32_t k = 0; k < e->sample_count; k++) {
            sample *s = &e->samples[k];
            work_group g = (work_group)s->group;
            int stack = stack_of(t, e, g);
            const forest *f = forest_find(set, g, e->gpu, stack);
            s->correction = f ? forest_correction(set, f, s->features, stack, net_op(&t->net, s->op)) : 0;
        }
    }
}
