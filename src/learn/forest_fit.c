/* forest_fit.c: gradient boosting on histograms, one tree level at a time. */
#include "learn/forest_fit.h"
#include "base/threads.h"

#include <math.h>
#include <stdlib.h>

enum { BINS = FOREST_EDGES + 1 };

/* Learning rate; bound on residuals, so that outliers do not dominate; regularization, in rows per leaf; fewest rows
 * per leaf. Tuned on held-out products, together with the features and the number of trees. */
static const float SHRINK = 0.2F, MOST_OFF = 0.05F, PULL = 1;
static const float LEAST_ROWS = 6;
enum { FEATURES_OF_TEN = 4, ROWS_OF_TEN = 8 };

/* ---- bins -------------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Computes bin edges between distinct values. Unused edges at the end are infinite. */
static void edges_of(float *sorted, size_t count, float *edges)
{
    qsort(sorted, count, sizeof *sorted, by_value);
    size_t made = 0, from = 0;
    for (size_t i = 1; i < count && made < FOREST_EDGES; i++) {
        if (sorted[i] <= sorted[i - 1])
            continue;
        /* Each bin gets an equal share of the remaining rows. */
        if ((i - from) * (FOREST_EDGES + 1 - made) >= count - from || count - i <= FOREST_EDGES - made) {
            edges[made++] = sorted[i - 1] + (sorted[i] - sorted[i - 1]) / 2;
            from = i;
        }
    }
    while (made < FOREST_EDGES)
        edges[made++] = INFINITY;
}

bool forest_edges(const float *inputs, size_t count, float *edges)
{
    float *column = malloc((count + 1) * sizeof *column);
    if (!column)
        return false;
    for (size_t f = 0; f < FOREST_WIDTH; f++) {
        for (size_t i = 0; i < count; i++)
            column[i] = inputs[i * FOREST_WIDTH + f];
        edges_of(column, count, edges + f * FOREST_EDGES);
    }
    free(column);
    return true;
}

size_t forest_tree_count(size_t rows)
{
    size_t count = rows / 60;
    return count < 100 ? 100 : count > 1000 ? 1000 : count;
}

/* ---- one tree ---------------------------------------------------------------------------------------------------- */

typedef struct sums {
    float slope, weight;
} sums;

typedef struct grower {
    const forest_rows *rows;
    size_t threads;
    forest_tree *tree;
    uint32_t number; /* index of the tree */
    float *left;     /* residual of the target, by row */
    sums *row_sums;  /* contribution of each row to the histogram; 0 for rows that the tree does not sample */
    uint8_t *node;   /* node in the current level, by row */
    int depth;
    /* Best split of each node of the level, by feature. */
    float (*gain)[FOREST_LEAVES];
    uint8_t (*bin)[FOREST_LEAVES];
    sums *histograms; /* [worker][FOREST_LEAVES][BINS] */
} grower;

static uint32_t chance(uint32_t a, uint32_t b)
{
    uint32_t h = a * 0x9e3779b1u ^ (b + 0x7f4a7c15u) * 0x85ebca77u;
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

static bool sees_feature(const grower *g, size_t feature)
{
    return chance(g->number, (uint32_t)feature) % 10 < FEATURES_OF_TEN;
}

static float score(sums s)
{
    return s.slope * s.slope / (s.weight + PULL);
}

/* Finds the best split of each node of the level by one feature. */
static void split_by(void *context, size_t feature, size_t worker)
{
    grower *g = context;
    size_t nodes = (size_t)1 << g->depth;
    for (size_t n = 0; n < nodes; n++)
        g->gain[feature][n] = 0;
    if (!sees_feature(g, feature))
        return;
    sums *histogram = g->histograms + worker * FOREST_LEAVES * BINS;
    memset(histogram, 0, nodes * BINS * sizeof *histogram);
    const uint8_t *bins = g->rows->bins + feature * g->rows->count;
    for (size_t i = 0; i < g->rows->count; i++) {
        sums *at = &histogram[(size_t)g->node[i] * BINS + bins[i]];
        at->slope += g->row_sums[i].slope;
        at->weight += g->row_sums[i].weight;
    }
    for (size_t n = 0; n < nodes; n++) {
        const sums *of = histogram + n * BINS;
        sums all = {0, 0}, low = {0, 0};
        for (int b = 0; b < BINS; b++) {
            all.slope += of[b].slope;
            all.weight += of[b].weight;
        }
        for (int b = 0; b + 1 < BINS; b++) {
            low.slope += of[b].slope;
            low.weight += of[b].weight;
            sums high = {all.slope - low.slope, all.weight - low.weight};
            if (of[b].weight <= 0 || low.weight < LEAST_ROWS || high.weight < LEAST_ROWS)
                continue;
            float gain = score(low) + score(high) - score(all);
            if (gain > g->gain[feature][n]) {
                g->gain[feature][n] = gain;
                g->bin[feature][n] = (uint8_t)b;
            }
        }
    }
}

/* A node without a gain sends all its rows to the first child. */
static void choose_splits(grower *g)
{
    size_t nodes = (size_t)1 << g->depth;
    for (size_t n = 0; n < nodes; n++) {
        size_t best = 0;
        for (size_t f = 1; f < FOREST_WIDTH; f++)
            if (g->gain[f][n] > g->gain[best][n])
                best = f;
        bool gains = g->gain[best][n] > 0;
        g->tree->feature[nodes - 1 + n] = gains ? (uint8_t)best : 0;
        g->tree->bin[nodes - 1 + n] = gains ? g->bin[best][n] : FOREST_EDGES;
    }
}

static void send_rows(grower *g)
{
    size_t nodes = (size_t)1 << g->depth;
    for (size_t i = 0; i < g->rows->count; i++) {
        size_t n = g->node[i], at = nodes - 1 + n;
        uint8_t bin = g->rows->bins[(size_t)g->tree->feature[at] * g->rows->count + i];
        g->node[i] = (uint8_t)(2 * n + (bin > g->tree->bin[at]));
    }
}

static void fill_leaves(grower *g)
{
    sums leaves[FOREST_LEAVES] = {{0, 0}};
    for (size_t i = 0; i < g->rows->count; i++) {
        leaves[g->node[i]].slope += g->row_sums[i].slope;
        leaves[g->node[i]].weight += g->row_sums[i].weight;
    }
    for (size_t n = 0; n < FOREST_LEAVES; n++)
        g->tree->leaves[n] = (int16_t)lrintf(SHRINK * leaves[n].slope / (leaves[n].weight + PULL) / FOREST_UNIT);
}

static void grow(grower *g)
{
    for (size_t i = 0; i < g->rows->count; i++) {
        float off = g->left[i] > MOST_OFF ? MOST_OFF : g->left[i] < -MOST_OFF ? -MOST_OFF : g->left[i];
        float weight = chance(~g->number, (uint32_t)i) % 10 < ROWS_OF_TEN ? g->rows->weight[i] : 0;
        g->row_sums[i] = (sums){off * weight, weight};
        g->node[i] = 0;
    }
    for (g->depth = 0; g->depth < FOREST_DEPTH; g->depth++) {
        parallel_for(FOREST_WIDTH, g->threads, split_by, g);
        choose_splits(g);
        send_rows(g);
    }
    fill_leaves(g);
    for (size_t i = 0; i < g->rows->count; i++)
        g->left[i] -= (float)g->tree->leaves[g->node[i]] * FOREST_UNIT;
}

bool forest_fit(const forest_rows *rows, size_t threads, forest_tree *trees, size_t count)
{
    grower g = {.rows = rows,
                .threads = threads,
                .left = malloc((rows->count + 1) * sizeof *g.left),
                .row_sums = malloc((rows->count + 1) * sizeof *g.row_sums),
                .node = malloc(rows->count + 1),
                .gain = malloc(FOREST_WIDTH * sizeof *g.gain),
                .bin = malloc(FOREST_WIDTH * sizeof *g.bin),
                .histograms = malloc(threads * FOREST_LEAVES * BINS * sizeof *g.histograms)};
    bool worked = g.left && g.row_sums && g.node && g.gain && g.bin && g.histograms;
    if (worked) {
        memcpy(g.left, rows->target, rows->count * sizeof *g.left);
        memset(trees, 0, count * sizeof *trees);
        for (size_t i = 0; i < count; i++) {
            g.tree = &trees[i];
            g.number = (uint32_t)i;
            grow(&g);
        }
    }
    free(g.left);
    free(g.row_sums);
    free(g.node);
    free(g.gain);
    free(g.bin);
    free(g.histograms);
    return worked;
}
