/* forests.c: selects the rows of each forest, and applies the forests to all kernels. */
#include "learn/forests.h"
#include "learn/forest_fit.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_ROWS = 1000, ANY_GPU = -1 };

/* Kernels with a smaller share of a row's time are not trained on, because the row says little about them. */
static const float LEAST_SHARE = 0.05F;

static bool belongs(const dataset *d, const example *e, work_group g, int gpu)
{
    return e->program->sample_count == 1 && sample_head(d, &e->program->samples[0]).group == (uint8_t)g &&
           (gpu == ANY_GPU || e->gpu == gpu);
}

static int stack_of(const trainer *t, const example *e, work_group g)
{
    return net_stack_in(&t->net, e->stack, e->unknown_stack, g);
}

/* Share of the kernel in the predicted time, excluding the fixed times of the timer and the stack. */
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

static void release(gathered *rows)
{
    free(rows->inputs);
    free(rows->target);
    free(rows->weight);
}

/* Data from which forests grow: the trained networks and the rows. */
typedef struct ground {
    const trainer *t;
    const dataset *data;
    const int32_t *order;
    int32_t count;
    const float *errors; /* errors of the rows, in the order of `order` */
} ground;

/* Collects the rows of one group and GPU; collects none if there are too few. Returns false if out of memory. */
static bool gather(gathered *rows, const ground *from, work_group g, int gpu, uint32_t *stacks)
{
    size_t room = 0;
    for (int32_t i = 0; i < from->count; i++)
        room += belongs(from->data, &from->data->items[from->order[i]], g, gpu);
    *rows = (gathered){.count = 0};
    if (room < LEAST_ROWS)
        return true;
    rows->inputs = malloc(room * FOREST_WIDTH * sizeof *rows->inputs);
    rows->target = malloc(room * sizeof *rows->target);
    rows->weight = malloc(room * sizeof *rows->weight);
    if (!rows->inputs || !rows->target || !rows->weight)
        return false;
    for (int32_t i = 0; i < from->count; i++) {
        const example *e = &from->data->items[from->order[i]];
        if (!belongs(from->data, e, g, gpu))
            continue;
        float features[FEATURE_COUNT];
        int stack = stack_of(from->t, e, g);
        stacks[stack / 32] |= 1u << stack % 32;
        size_t at = rows->count++;
        sample_features(from->data, e, &e->program->samples[0], features);
        forest_input(features, stack, net_op(&from->t->net, sample_head(from->data, &e->program->samples[0]).op),
                     rows->inputs + at * FOREST_WIDTH);
        rows->weight[at] = kernel_share(from->t, e, from->errors[i]);
        rows->target[at] = -from->errors[i] / rows->weight[at];
    }
    return true;
}

/* Bins the features and grows the trees. Returns false if out of memory. */
static bool fit(const gathered *rows, const float *edges, size_t threads, forest_tree *trees, size_t count)
{
    uint8_t *columns = malloc(rows->count * FOREST_WIDTH), bins[FOREST_WIDTH];
    if (!columns)
        return false;
    for (size_t i = 0; i < rows->count; i++) {
        forest_bins(edges, rows->inputs + i * FOREST_WIDTH, bins);
        for (size_t k = 0; k < FOREST_WIDTH; k++)
            columns[k * rows->count + i] = bins[k];
    }
    bool worked = forest_fit(&(forest_rows){rows->count, columns, rows->target, rows->weight}, threads, trees, count);
    free(columns);
    return worked;
}

/* The forests of all groups and GPUs; those with few rows have no trees. */
typedef struct growing {
    forest items[FOREST_GROUPS * MAX_GPUS];
    forest_tree *trees[FOREST_GROUPS * MAX_GPUS];
} growing;

/* Returns false if out of memory. */
static bool grow_one(growing *set, size_t index, const ground *from, uint32_t kind, int gpu, const float *edges,
                     arena *a)
{
    forest *f = &set->items[index];
    gathered rows;
    bool worked = gather(&rows, from, FOREST_GROUP[kind], gpu, f->stacks);
    if (worked && rows.count) {
        f->count = (uint32_t)forest_tree_count(rows.count);
        set->trees[index] = ARENA_ARRAY(a, forest_tree, f->count);
        worked = fit(&rows, edges, from->t->threads, set->trees[index], f->count);
    }
    release(&rows);
    return worked;
}

/* Gives every process the forests that each grew. */
static void exchange(growing *set, size_t count, const team *all, arena *a)
{
    bytes got = {0};
    bool is_good = true;
    for (size_t i = 0; i < count && is_good; i++) {
        forest *f = &set->items[i];
        int owner = (int)(i % (size_t)all->size);
        if (owner && owner == all->rank) {
            all->send(all->context, f, sizeof *f);
            all->send(all->context, set->trees[i], f->count * sizeof(forest_tree));
        } else if (owner && !all->rank) {
            is_good = all->receive(all->context, owner, &got) && got.size == sizeof *f;
            if (is_good)
                memcpy(f, got.data, sizeof *f);
            is_good = is_good && all->receive(all->context, owner, &got);
        }
        all->share(all->context, f, sizeof *f);
        if (owner != all->rank)
            set->trees[i] = ARENA_ARRAY(a, forest_tree, (size_t)f->count + 1);
        if (owner && !all->rank && is_good && got.size)
            memcpy(set->trees[i], got.data, got.size);
        if (f->count)
            all->share(all->context, set->trees[i], f->count * sizeof(forest_tree));
    }
    free(got.data);
    if (!is_good)
        fail_with(a->fail, SOOTH_ERROR_SYSTEM, "out of memory for the trees of other processes");
}

/* Computes bin edges over all GPUs, because the forests of a group share them. Returns false if out of memory. */
static bool find_edges(const ground *from, uint32_t kind, float *edges)
{
    uint32_t stacks[(MAX_STACKS + 31) / 32] = {0};
    gathered rows;
    bool worked = gather(&rows, from, FOREST_GROUP[kind], ANY_GPU, stacks) &&
                  (rows.count == 0 || forest_edges(rows.inputs, rows.count, edges));
    release(&rows);
    return worked;
}

/* The forests that have trees, with their trees after one another. */
static forest_set joined(growing *set, size_t count, const float *edges, arena *a)
{
    uint32_t kept = 0, tree_count = 0;
    for (size_t i = 0; i < count; i++) {
        set->items[i].first = tree_count;
        tree_count += set->items[i].count;
    }
    forest_tree *trees = ARENA_ARRAY(a, forest_tree, (size_t)tree_count + 1);
    for (size_t i = 0; i < count; i++) {
        forest *f = &set->items[i];
        if (!f->count)
            continue;
        memcpy(trees + f->first, set->trees[i], f->count * sizeof *trees);
        set->items[kept++] = *f;
    }
    return (forest_set){set->items, kept, tree_count, edges, trees};
}

forest_set forests_grow(const trainer *t, const dataset *data, const int32_t *order, int32_t count,
                        const forests_watch *watch, arena *a)
{
    growing *set = ARENA_NEW(a, growing);
    float *errors = ARENA_ARRAY(a, float, (size_t)count + 1);
    float *edges = arena_alloc(a, FOREST_EDGES_BYTES, 1);
    size_t index = 0, processes = t->team ? (size_t)t->team->size : 1, rank = t->team ? (size_t)t->team->rank : 0;
    trainer_errors(t, data, order, count, errors, NULL);
    const ground from = {t, data, order, count, errors};
    for (uint32_t kind = 0; kind < FOREST_GROUPS; kind++) {
        float *own = edges + (size_t)kind * FOREST_WIDTH * FOREST_EDGES;
        bool worked = find_edges(&from, kind, own);
        for (int gpu = 1; worked && gpu < data->gpu_count && !(watch->stop && *watch->stop); gpu++, index++) {
            set->items[index] = (forest){.kind = kind, .gpu = (uint32_t)gpu};
            if (index % processes == rank)
                worked = grow_one(set, index, &from, kind, gpu, own, a);
            if (watch->progress)
                watch->progress(watch->context, (int)kind * (data->gpu_count - 1) + gpu,
                                FOREST_GROUPS * (data->gpu_count - 1));
        }
        if (!worked)
            fail_with(a->fail, SOOTH_ERROR_SYSTEM, "out of memory for the trees");
    }
    if (t->team)
        exchange(set, index, t->team, a);
    return joined(set, index, edges, a);
}

void forests_forget(dataset *data)
{
    for (int32_t i = 0; i < data->count; i++) {
        free(data->items[i].corrections);
        data->items[i].corrections = NULL;
    }
}

void forests_apply(const forest_set *set, const trainer *t, dataset *data, const int32_t *order, int32_t count)
{
    for (int32_t i = 0; i < count && set->count; i++) {
        example *e = &data->items[order[i]];
        if (!e->corrections)
            e->corrections = malloc(((size_t)e->program->sample_count + 1) * sizeof *e->corrections);
        if (!e->corrections)
            fail_with(t->fail, SOOTH_ERROR_SYSTEM, "out of memory for the predictions of the trees");
        for (int32_t k = 0; k < e->program->sample_count; k++) {
            const sample *s = &e->program->samples[k];
            kernel_head head = sample_head(data, s);
            int stack = stack_of(t, e, (work_group)head.group);
            const forest *f = forest_find(set, (work_group)head.group, e->gpu, stack);
            float features[FEATURE_COUNT];
            if (f)
                sample_features(data, e, s, features);
            e->corrections[k] = f ? forest_correction(set, f, features, stack, net_op(&t->net, head.op)) : 0;
        }
    }
}
