/* score_test.c: the figures of `sooth eval` against hand-computed ones. */
#include "learn/baseline.h"
#include "learn/score.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static sooth_error error;
static fail failure = {.error = &error};

static score of(const scored *rows, size_t count)
{
    arena a;
    arena_init(&a, &failure, (size_t)1 << 24);
    score s = score_of(rows, count, &a);
    arena_free(&a);
    return s;
}

#define assert_near(x, y) assert_true(fabs((x) - (y)) < 1e-9)

static void figures(void **state)
{
    (void)state;
    const scored rows[] = {
        {100, 104, 90, 120}, {200, 180, 185, 250}, {10, 10.8, 9, 10}, {1, 1, NAN, NAN}, {50, NAN, 1, 99}};
    score s = of(rows, 5);
    assert_int_equal(s.n, 4);
    assert_near(s.mape, (4 + 10 + 8 + 0) / 4.0);
    assert_near(s.median, 6);        /* errors 0 4 8 10 */
    assert_near(s.p90, 8 + 0.7 * 2); /* at position 2.7 */
    assert_near(s.within5, 50);
    assert_near(s.within10, 100);
    assert_near(s.spearman, 1);
    assert_near(s.coverage90, 100.0 * 3 / 3);
    assert_near(s.width90, 100 * (30 / 104.0 + 65 / 180.0 + 1 / 10.8) / 3);
}

static void intervals_that_miss(void **state)
{
    (void)state;
    const scored rows[] = {{10, 10, 11, 12}, {10, 10, 8, 9}, {10, 10, 10, 10}, {10, 10, 9, 11}};
    assert_near(of(rows, 4).coverage90, 50);
}

static void ranks(void **state)
{
    (void)state;
    const scored turned[] = {{1, 3, 0, 0}, {2, 2, 0, 0}, {3, 1, 0, 0}};
    assert_near(of(turned, 3).spearman, -1);
    /* Ranks 0 1.5 1.5 3 against 0 1 2 3: 4.5 / sqrt(4.5 * 5). */
    const scored tied[] = {{1, 1, 0, 0}, {2, 2, 0, 0}, {2, 3, 0, 0}, {4, 4, 0, 0}};
    assert_near(of(tied, 4).spearman, 4.5 / sqrt(4.5 * 5));
    const scored flat[] = {{1, 2, 0, 0}, {2, 2, 0, 0}};
    assert_true(isnan(of(flat, 2).spearman));
}

static void nothing(void **state)
{
    (void)state;
    score s = of(NULL, 0);
    assert_int_equal(s.n, 0);
    assert_true(isnan(s.mape) && isnan(s.median) && isnan(s.spearman) && isnan(s.coverage90));
    const scored one = {2, 1, NAN, NAN};
    s = of(&one, 1);
    assert_near(s.mape, 50);
    assert_near(s.p90, 50);
}

/* ---- baselines --------------------------------------------------------------------------------------------------- */

static void a_quadratic_is_found_again(void **state)
{
    (void)state;
    enum { N = 300 };
    regression_row rows[N];
    unsigned random = 1;
    for (int i = 0; i < N; i++) {
        double x[3];
        for (int k = 0; k < 3; k++) {
            random = random * 1103515245u + 12345u;
            x[k] = 1 + (random >> 16) % 1000 / 100.0;
        }
        double log_ms = 0.5 + 0.3 * x[0] + 0.2 * x[1] - 0.1 * x[2] + 0.02 * x[0] * x[0] + 0.01 * x[1] * x[2];
        rows[i] =
            (regression_row){.work = {exp(x[0]), exp(x[1]), exp(x[2])}, .measured = exp(log_ms), .fold = (uint32_t)i};
    }
    arena a;
    arena_init(&a, &failure, (size_t)1 << 24);
    regress(rows, N, &a);
    for (int i = 0; i < N; i++)
        assert_true(fabs(rows[i].predicted / rows[i].measured - 1) < 1e-3);
    /* A few rows give no curve: times are proportional to the work. */
    regression_row few[4] = {{.work = {1, 1, 1}, .measured = 2, .fold = 0},
                             {.work = {2, 1, 1}, .measured = 4, .fold = 1},
                             {.work = {4, 1, 1}, .measured = 8, .fold = 2},
                             {.work = {8, 1, 1}, .measured = 16, .fold = 3}};
    regress(few, 4, &a);
    for (int i = 0; i < 4; i++)
        assert_near(few[i].predicted, few[i].measured);
    regression_row lone = {.work = {1, 1, 1}, .measured = 2};
    regress(&lone, 1, &a);
    assert_true(isnan(lone.predicted));
    arena_free(&a);
}

static void another_gpu_by_one_constant(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, &failure, (size_t)1 << 24);
    /* The second GPU takes 2, 2 and 3 times as long; the third shares only one key. */
    constant_row rows[] = {{.key = 1, .gpu = 7, .measured = 1}, {.key = 2, .gpu = 7, .measured = 2},
                           {.key = 3, .gpu = 7, .measured = 3}, {.key = 1, .gpu = 9, .measured = 2},
                           {.key = 2, .gpu = 9, .measured = 4}, {.key = 3, .gpu = 9, .measured = 9},
                           {.key = 3, .gpu = 5, .measured = 1}, {.key = 4, .gpu = 5, .measured = 1}};
    scale_from_other_gpu(rows, 8, &a);
    assert_near(rows[0].predicted, 1);
    assert_near(rows[2].predicted, 4.5);
    assert_near(rows[4].predicted, 4);
    assert_near(rows[5].predicted, 6);
    assert_near(rows[6].predicted, 1);
    assert_true(isnan(rows[7].predicted));
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures),
        cmocka_unit_test(intervals_that_miss),
        cmocka_unit_test(ranks),
        cmocka_unit_test(nothing),
        cmocka_unit_test(a_quadratic_is_found_again),
        cmocka_unit_test(another_gpu_by_one_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
