/* num_test.c: symbolic integers: equal expressions are equal numbers, overflow is unknown, division is Python's. */
#include "graph/num.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct fixture {
    fail fail;
    sooth_error error;
    arena arena;
    num_table table;
    num n, h;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.fail.error = &f.error};
    arena_init(&f.arena, &f.fail, 64 << 20);
    if (setjmp(f.fail.jump))
        return -1;
    num_table_init(&f.table, &f.arena);
    f.n = num_symbol(&f.table, STR("N"));
    f.h = num_symbol(&f.table, STR("height"));
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    arena_free(&((fixture *)*state)->arena);
    return 0;
}

static void plain_numbers(void **state)
{
    num_table *t = &((fixture *)*state)->table;
    assert_int_equal(num_add(t, 2, 3), 5);
    assert_int_equal(num_sub(t, 2, 3), -1);
    assert_int_equal(num_mul(t, -2, 3), -6);
    for (int a = -7; a <= 7; a++)
        for (int b = -3; b <= 3; b++) {
            if (b == 0) {
                assert_true(num_floordiv(t, a, b) == NUM_UNKNOWN);
                continue;
            }
            num quotient = num_floordiv(t, a, b), rest = num_mod(t, a, b);
            assert_int_equal(quotient * b + rest, a);
            assert_true(rest == 0 || (rest < 0) == (b < 0));
            assert_int_equal(num_ceildiv(t, a, b), quotient + (rest != 0));
        }
    assert_int_equal(num_min(t, 4, -4), -4);
    assert_int_equal(num_max(t, 4, -4), 4);
    assert_int_equal(num_product(t, (num[]){2, 3, 4}, 3), 24);
    assert_int_equal(num_product(t, NULL, 0), 1);
}

static void overflow_is_unknown(void **state)
{
    fixture *f = *state;
    num_table *t = &f->table;
    assert_true(num_add(t, INT64_MAX, 1) == NUM_UNKNOWN);
    assert_true(num_mul(t, INT64_MAX, 2) == NUM_UNKNOWN);
    assert_true(num_sub(t, -INT64_MAX / 2, INT64_MAX) == NUM_UNKNOWN);
    num big = num_mul(t, f->n, INT64_MAX);
    assert_true(num_mul(t, big, 2) == NUM_UNKNOWN);
    assert_true(num_add(t, big, big) == NUM_UNKNOWN);
    /* Powers and sums beyond the limits become unknown instead of growing. */
    num power = f->n;
    for (int i = 0; i < 100; i++)
        power = num_mul(t, power, f->n);
    assert_true(power == NUM_UNKNOWN);
}

static void equal_expressions_are_equal_numbers(void **state)
{
    fixture *f = *state;
    num_table *t = &f->table;
    num n = f->n, h = f->h;
    assert_true(num_symbolic(n));
    assert_false(num_known(n));
    assert_false(dim_known(n));
    assert_true(num_symbol(t, STR("N")) == n);
    assert_true(n != h);
    assert_true(num_add(t, n, h) == num_add(t, h, n));
    assert_true(num_mul(t, n, num_add(t, h, 3)) == num_add(t, num_mul(t, h, n), num_mul(t, 3, n)));
    assert_true(num_sub(t, num_add(t, n, h), h) == n);
    assert_int_equal(num_sub(t, n, n), 0);
    assert_int_equal(num_mul(t, n, 0), 0);
    assert_true(num_add(t, n, 0) == n);
    assert_true(num_mul(t, n, 1) == n);
    assert_true(num_mul(t, num_add(t, n, 1), num_sub(t, n, 1)) == num_sub(t, num_mul(t, n, n), 1));
}

static void division_takes_out_what_is_whole(void **state)
{
    fixture *f = *state;
    num_table *t = &f->table;
    num n = f->n, h = f->h;
    assert_true(num_floordiv(t, num_mul(t, n, 6), 3) == num_mul(t, n, 2));
    assert_true(num_floordiv(t, num_mul(t, n, h), h) == n);
    assert_int_equal(num_floordiv(t, n, n), 1);
    num half = num_floordiv(t, h, 2);
    assert_true(num_symbolic(half));
    assert_true(num_floordiv(t, num_add(t, h, 2), 2) == num_add(t, half, 1));
    assert_true(num_floordiv(t, num_add(t, num_mul(t, n, 4), 3), 4) == n);
    assert_true(num_ceildiv(t, num_mul(t, n, 4), 4) == n);
    assert_int_equal(num_mod(t, num_mul(t, n, 8), 4), 0);
    assert_true(num_floordiv(t, n, 0) == NUM_UNKNOWN);
}

static void unknown_stays_unknown(void **state)
{
    fixture *f = *state;
    num_table *t = &f->table;
    const num others[] = {1, -5, f->n};
    for (int i = 0; i < 3; i++) {
        num x = others[i];
        assert_true(num_add(t, NUM_UNKNOWN, x) == NUM_UNKNOWN);
        assert_true(num_sub(t, x, NUM_UNKNOWN) == NUM_UNKNOWN);
        assert_true(num_mul(t, x, NUM_UNKNOWN) == NUM_UNKNOWN);
        assert_true(num_floordiv(t, NUM_UNKNOWN, x) == NUM_UNKNOWN);
        assert_true(num_max(t, NUM_UNKNOWN, x) == NUM_UNKNOWN);
        assert_true(num_min(t, x, NUM_UNKNOWN) == NUM_UNKNOWN);
    }
    assert_null(num_text(t, NUM_UNKNOWN));
    assert_null(num_text(t, 7));
}

static void texts_are_readable(void **state)
{
    fixture *f = *state;
    num_table *t = &f->table;
    assert_string_equal(num_text(t, f->n), "N");
    assert_string_equal(num_text(t, num_mul(t, f->n, 4)), "4*N");
    assert_string_equal(num_text(t, num_sub(t, num_mul(t, f->n, f->h), 1)), "N*height-1");
    assert_string_equal(num_text(t, num_add(t, num_floordiv(t, num_sub(t, f->h, 1), 2), 1)),
                        num_text(t, num_floordiv(t, num_add(t, f->h, 1), 2)));
}

/* A num_sum equals repeated addition, until both are too long. */
static void long_sums_are_sums(void **state)
{
    fixture *f = *state;
    num_table *t = &f->table;
    num_sum *long_sum = num_sum_begin(t);
    num sum = 0, factor = f->n;
    assert_true(num_sum_end(t, long_sum) == 0);
    for (int i = 0; i < 40; i++) {
        num x = i % 3 == 0 ? i - 5 : i % 3 == 1 ? num_mul(t, factor, i) : num_sub(t, f->h, num_mul(t, f->n, i));
        if (i % 5 == 4 && i < 36)
            factor = num_mul(t, factor, i % 2 ? f->h : f->n);
        sum = num_add(t, sum, x);
        num_sum_add(t, long_sum, x);
        assert_true(num_sum_end(t, long_sum) == sum);
    }
    assert_true(num_symbolic(sum));
    num_sum_add(t, long_sum, NUM_UNKNOWN);
    num_sum_add(t, long_sum, 1);
    assert_true(num_sum_end(t, long_sum) == NUM_UNKNOWN);

    num_sum *wide = num_sum_begin(t);
    sum = 0;
    for (int i = 0; i < 20; i++) {
        char name[40];
        int len = snprintf(name, sizeof name, "a_name_of_thirty_characters_%02d", i);
        num x = num_symbol(t, (str){name, (size_t)len});
        sum = num_add(t, sum, x);
        num_sum_add(t, wide, x);
        assert_true(num_sum_end(t, wide) == sum);
    }
    assert_true(sum == NUM_UNKNOWN);
}

/* More operations than the cache holds: each gives the same number again. */
static void operations_give_the_same_again(void **state)
{
    enum { COUNT = 20000 };
    fixture *f = *state;
    num_table *t = &f->table;
    static num sums[COUNT], products[COUNT], halves[COUNT];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < COUNT; i++) {
            num sum = num_add(t, f->n, i), product = num_mul(t, i, f->h), half = num_floordiv(t, sum, 2);
            assert_true(round == 0 || (sums[i] == sum && products[i] == product && halves[i] == half));
            sums[i] = sum;
            products[i] = product;
            halves[i] = half;
        }
    assert_string_equal(num_text(t, sums[COUNT - 1]), "N+19999");
    assert_string_equal(num_text(t, products[COUNT - 1]), "19999*height");
    assert_string_equal(num_text(t, halves[COUNT - 1]), "floor((N+1)/2)+9999");
    assert_string_equal(num_text(t, num_min(t, f->n, -3)), "min(N,-3)");
    assert_string_equal(num_text(t, num_max(t, num_floordiv(t, f->h, f->n), f->n)), "max(floor((height)/(N)),N)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plain_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(overflow_is_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_expressions_are_equal_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(division_takes_out_what_is_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_stays_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_are_readable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_sums_are_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(operations_give_the_same_again, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
