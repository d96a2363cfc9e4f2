/* forest.c: evaluates boosted trees. */
#include "predict/forest.h"

void forest_input(const float features[FEATURE_COUNT], int stack, int op, float input[FOREST_WIDTH])
{
    memcpy(input, features, FEATURE_COUNT * sizeof *input);
    features_forget_reuse(input);
    input[FEATURE_COUNT] = (float)stack;
    input[FEATURE_COUNT + 1] = (float)op;
}

void forest_bins(const float *edges, const float input[FOREST_WIDTH], uint8_t bins[FOREST_WIDTH])
{
    for (size_t i = 0; i < FOREST_WIDTH; i++) {
        const float *of = edges + i * FOREST_EDGES;
        size_t low = 0, high = FOREST_EDGES;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (of[middle] < input[i])
                low = middle + 1;
            else
                high = middle;
        }
        bins[i] = (uint8_t)low;
    }
}

/* Index of the leaf that a kernel with these bins reaches. */
static int forest_leaf(const forest_tree *tree, const uint8_t bins[FOREST_WIDTH])
{
    int node = 0;
    for (int depth = 0; depth < FOREST_DEPTH; depth++)
        node = 2 * node + 1 + (bins[tree->feature[node]] > tree->bin[node]);
    return node - FOREST_NODES;
}

float forest_log(const forest_tree *trees, size_t count, const uint8_t bins[FOREST_WIDTH])
{
    /* In units of FOREST_UNIT: 0.5, so that the factor is between exp(-0.5) and exp(0.5). */
    static const int32_t MOST = 0x8000;
    int32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += trees[i].leaves[forest_leaf(&trees[i], bins)];
    sum = sum > MOST ? MOST : sum < -MOST ? -MOST : sum;
    return (float)sum * FOREST_UNIT;
}

const forest *forest_find(const forest_set *set, work_group g, int gpu, int stack)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const forest *f = &set->items[i];
        if (FOREST_GROUP[f->kind] == g && f->gpu == (uint32_t)gpu)
            return f->stacks[stack / 32] >> stack % 32 & 1 ? f : NULL;
    }
    return NULL;
}

float forest_correction(const forest_set *set, const forest *f, const float features[FEATURE_COUNT], int stack, int op)
{
    float input[FOREST_WIDTH];
    uint8_t bins[FOREST_WIDTH];
    forest_input(features, stack, op, input);
    forest_bins(set->edges + (size_t)f->kind * FOREST_WIDTH * FOREST_EDGES, input, bins);
    return forest_log(set->trees + f->first, f->count, bins);
}
