/* intervals_test.c: intervals fitted to errors of known scale have the nominal coverage, and the right width. */
#include "learn/intervals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROWS = 20000, STACKS = 5, GPUS = 3 };

static double next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 0x1p53;
}

static double scale_of(const residual *r)
{
    return 0.01 * exp(2 * (double)r->traits[TRAIT_NEW] + (double)r->traits[WORK_CONV] + (r->stack == 2 ? 0.7 : 0)) *
           (r->graph == GRAPH_STRANGE ? 3 : 1);
}

/* Errors of the first model have a Laplace distribution; the second model has too few rows. */
static residual *make_rows(arena *a)
{
    residual *rows = ARENA_ARRAY(a, residual, ROWS);
    uint64_t state = 5;
    for (int i = 0; i < ROWS; i++) {
        residual *r = &rows[i];
        r->stack = (int16_t)(next_random(&state) * STACKS);
        r->gpu = 1;
        r->model = i % 1000 == 0;
        r->graph = next_random(&state) < 0.3 ? GRAPH_STRANGE : GRAPH_ALIKE;
        r->cluster = (uint32_t)(next_random(&state) * 500);
        r->set = (uint8_t)(i % 2);
        r->traits[TRAIT_NEW] = (float)next_random(&state);
        r->traits[WORK_CONV] = (float)next_random(&state);
        r->error = (float)(scale_of(r) * -log(1 - next_random(&state)) * (next_random(&state) < 0.5 ? 1 : -1));
    }
    return rows;
}

static void covers_its_level(void **state)
{
    (void)state;
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)1 << 28);
    if (setjmp(f.jump))
        fail_msg("%s", error.message);
    residual *rows = make_rows(&a);
    float *floats = ARENA_ARRAY(&a, float, interval_floats(STACKS, GPUS));
    float(*halves)[INTERVAL_LEVELS] = arena_alloc(&a, ROWS, sizeof *halves);
    intervals_fit(rows, ROWS, STACKS, GPUS, floats, halves, &a);
    interval_table t = interval_table_at(floats, STACKS, GPUS);
    assert_true(interval_is_sound(&t));
    int inside[2][GRAPH_KINDS][INTERVAL_LEVELS] = {{{0}}}, all[GRAPH_KINDS] = {0};
    int off = 0;
    for (int i = 0; i < ROWS; i++) {
        const residual *r = &rows[i];
        double own[INTERVAL_LEVELS];
        if (r->model)
            continue;
        interval_halves(&t, INTERVAL_EAGER, true, (interval_graph)r->graph, r->stack, r->gpu, r->traits, own);
        off += fabs(log(own[INTERVAL_90] / (log(10) * scale_of(r)))) > 0.2;
        all[r->graph]++;
        for (int k = 0; k < INTERVAL_LEVELS; k++) {
            inside[0][r->graph][k] += fabs((double)r->error) <= (double)halves[i][k];
            inside[1][r->graph][k] += fabs((double)r->error) <= own[k];
        }
    }
    for (int graph = GRAPH_ALIKE; graph < GRAPH_KINDS; graph++)
        for (int k = 0; k < INTERVAL_LEVELS; k++)
            for (int from = 0; from < 2; from++) {
                double share = 100.0 * inside[from][graph][k] / all[graph];
                if (fabs(share - INTERVAL_PERCENT[k]) > 2)
                    fail_msg("level %d of graphs %d: %g %%", INTERVAL_PERCENT[k], graph, share);
            }
    /* The width follows the scale, except for the largest ones. */
    if (off > ROWS / 50)
        fail_msg("%d of %d half widths are off by a factor of more than %g", off, ROWS, exp(0.2));
    arena_free(&a);
}

/* A model without rows takes those of the other classes. No rows at all: wide intervals. */
static void too_few_rows(void **state)
{
    (void)state;
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)1 << 28);
    if (setjmp(f.jump))
        fail_msg("%s", error.message);
    residual *rows = make_rows(&a);
    float *floats = ARENA_ARRAY(&a, float, interval_floats(STACKS, GPUS));
    float(*halves)[INTERVAL_LEVELS] = arena_alloc(&a, ROWS, sizeof *halves);
    intervals_fit(rows, ROWS, STACKS, GPUS, floats, halves, &a);
    interval_table t = interval_table_at(floats, STACKS, GPUS);
    double own[INTERVAL_LEVELS], other[INTERVAL_LEVELS];
    interval_halves(&t, INTERVAL_EAGER, true, GRAPH_ALIKE, 0, 1, rows[1].traits, own);
    interval_halves(&t, INTERVAL_ENGINE, true, GRAPH_ALIKE, 0, 1, rows[1].traits, other);
    assert_true(fabs(own[INTERVAL_90] - other[INTERVAL_90]) < 1e-9);
    interval_halves(&t, INTERVAL_OPERATOR, true, GRAPH_ALIKE, 0, 1, rows[1].traits, other);
    assert_true(other[INTERVAL_90] == 1 && other[0] < 1 && other[INTERVAL_LEVELS - 1] > 1);
    /* Unseen networks on unseen GPUs are less certain than on known ones. */
    for (int i = 0; i < ROWS / 2; i++)
        rows[i].model = 1;
    intervals_fit(rows, ROWS, STACKS, GPUS, floats, halves, &a);
    interval_halves(&t, INTERVAL_EAGER, true, GRAPH_STRANGE, 0, 0, rows[1].traits, own);
    interval_halves(&t, INTERVAL_EAGER, false, GRAPH_STRANGE, 0, 0, rows[1].traits, other);
    assert_true(other[INTERVAL_90] > 1.05 * own[INTERVAL_90]);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(covers_its_level), cmocka_unit_test(too_few_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
