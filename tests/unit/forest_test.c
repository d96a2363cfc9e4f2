/* forest_test.c: the trees that correct the networks: their bins, how they learn steps, and the kernels they apply
 * to. */
#include "learn/forest_fit.h"
#include "learn/forests.h"
#include "predict/weights.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROWS = 3000, TREES = 200 };

static uint32_t next_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

/* Two features determine the result: a step of one, and below it a step of the other. */
static float truth(const float *input)
{
    return input[3] > 20 ? 0.2F : input[7] > 5 ? -0.1F : 0.05F;
}

typedef struct sampled {
    float inputs[ROWS][FOREST_WIDTH];
    float target[ROWS], weight[ROWS];
    float edges[FOREST_WIDTH * FOREST_EDGES];
    uint8_t columns[FOREST_WIDTH * ROWS];
} sampled;

static void draw(sampled *s, uint32_t seed)
{
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < FOREST_WIDTH; k++)
            s->inputs[i][k] = (float)(next_random(&seed) >> 16) / 65536 * (k == 3 ? 40 : 10);
        s->target[i] = truth(s->inputs[i]);
        s->weight[i] = 1;
    }
}

static forest_rows rows_of(sampled *s)
{
    assert_true(forest_edges(s->inputs[0], ROWS, s->edges));
    uint8_t bins[FOREST_WIDTH];
    for (int i = 0; i < ROWS; i++) {
        forest_bins(s->edges, s->inputs[i], bins);
        for (int k = 0; k < FOREST_WIDTH; k++)
            s->columns[k * ROWS + i] = bins[k];
    }
    return (forest_rows){ROWS, s->columns, s->target, s->weight};
}

static void edges_lie_between_values(void **state)
{
    (void)state;
    static float inputs[200][FOREST_WIDTH], edges[FOREST_WIDTH * FOREST_EDGES];
    for (int i = 0; i < 200; i++) {
        inputs[i][0] = (float)(i % 4); /* few values: an edge between each pair */
        inputs[i][1] = (float)i;       /* more values than edges */
    }
    assert_true(forest_edges(inputs[0], 200, edges));
    assert_true(edges[0] > 0 && edges[0] < 1 && edges[2] > 2 && edges[2] < 3 && isinf(edges[3]));
    assert_true(isinf(edges[2 * FOREST_EDGES])); /* a constant feature */
    const float *many = edges + FOREST_EDGES;
    for (int i = 1; i < FOREST_EDGES; i++)
        assert_true(many[i] > many[i - 1] && many[i] < 200);
    uint8_t bins[FOREST_WIDTH];
    forest_bins(edges, inputs[3], bins);
    assert_int_equal(bins[0], 3);
    float beyond[FOREST_WIDTH] = {9, 1e9F};
    forest_bins(edges, beyond, bins);
    assert_int_equal(bins[0], 3);
    assert_int_equal(bins[1], FOREST_EDGES);
}

static void steps_are_learned(void **state)
{
    (void)state;
    static sampled seen, other;
    static forest_tree trees[TREES], again[TREES];
    draw(&seen, 1);
    draw(&other, 2);
    forest_rows rows = rows_of(&seen);
    assert_true(forest_fit(&rows, 2, trees, TREES) && forest_fit(&rows, 1, again, TREES));
    assert_memory_equal(trees, again, sizeof trees);
    double before = 0, after = 0;
    for (int i = 0; i < ROWS; i++) {
        uint8_t bins[FOREST_WIDTH];
        forest_bins(seen.edges, other.inputs[i], bins);
        before += fabs((double)other.target[i]);
        after += fabs((double)(other.target[i] - forest_log(trees, TREES, bins)));
    }
    assert_true(after < 0.2 * before);
}

/* Trees find a step in any feature. */
static void every_feature_counts(void **state)
{
    (void)state;
    static sampled s;
    static forest_tree trees[TREES];
    for (int feature = 0; feature < FOREST_WIDTH; feature += FOREST_WIDTH - 1) {
        draw(&s, 4);
        for (int i = 0; i < ROWS; i++)
            s.target[i] = s.inputs[i][feature] > 5 ? 0.2F : -0.2F;
        forest_rows rows = rows_of(&s);
        assert_true(forest_fit(&rows, 2, trees, TREES));
        for (int i = 0; i < ROWS; i++) {
            uint8_t bins[FOREST_WIDTH];
            forest_bins(s.edges, s.inputs[i], bins);
            if (fabsf(s.inputs[i][feature] - 5) > 0.5F)
                assert_true(fabsf(s.target[i] - forest_log(trees, TREES, bins)) < 0.1F);
        }
    }
}

/* A correction is bounded, however far off a table is. */
static void corrections_are_bounded(void **state)
{
    (void)state;
    static sampled s;
    static forest_tree trees[2 * TREES];
    draw(&s, 3);
    for (int i = 0; i < ROWS; i++)
        s.target[i] = 9;
    forest_rows rows = rows_of(&s);
    assert_true(forest_fit(&rows, 2, trees, 2 * TREES));
    uint8_t bins[FOREST_WIDTH];
    forest_bins(s.edges, s.inputs[0], bins);
    assert_true(fabsf(forest_log(trees, 2 * TREES, bins) - 0.5F) < 1e-6F);
}

static void forests_are_for_what_they_grew_on(void **state)
{
    (void)state;
    forest items[] = {{.kind = 0, .gpu = 2, .stacks = {1u << 5}}, {.kind = 0, .gpu = 3, .stacks = {0, 1u << 8}}};
    forest_set set = {.items = items, .count = 2};
    assert_ptr_equal(forest_find(&set, WORK_PRODUCT, 2, 5), &items[0]);
    assert_ptr_equal(forest_find(&set, WORK_PRODUCT, 3, 40), &items[1]);
    assert_null(forest_find(&set, WORK_PRODUCT, 2, 6));
    assert_null(forest_find(&set, WORK_PRODUCT, 4, 5));
    assert_null(forest_find(&set, WORK_CONV, 2, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_lie_between_values),
        cmocka_unit_test(steps_are_learned),
        cmocka_unit_test(every_feature_counts),
        cmocka_unit_test(corrections_are_bounded),
        cmocka_unit_test(forests_are_for_what_they_grew_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
