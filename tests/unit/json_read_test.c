/* json_read_test.c: accepted and refused JSON. */
#include "base/json_read.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct fixture {
    fail fail;
    sooth_error error;
    arena arena;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.fail.error = &f.error};
    arena_init(&f.arena, &f.fail, 16 << 20);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    arena_free(&((fixture *)*state)->arena);
    return 0;
}

static const json_node *parsed(fixture *f, const char *text)
{
    if (setjmp(f->fail.jump))
        return NULL;
    return json_read(text ? str_of(text) : (str){NULL, 0}, "x.json", &f->arena, &f->fail);
}

static void values(void **state)
{
    fixture *f = *state;
    const json_node *n =
        parsed(f, "\xef\xbb\xbf {\"a\": [1, -2.5, 1e3, true, null, \"t\"], \"b\": {\"c\": {}}, \"a\": 7} \n");
    assert_non_null(n);
    assert_int_equal(n->count, 3);
    const json_node *a = json_get(n, "a");
    assert_int_equal(a->count, 6);
    assert_int_equal(json_int(json_at(a, 0), 0), 1);
    assert_true(json_double(json_at(a, 1), 0) == -2.5);
    assert_int_equal(json_int(json_at(a, 2), 0), 1000);
    assert_int_equal(json_int(json_at(a, 3), 0), 1);
    assert_true(json_is_null(json_at(a, 4)));
    assert_true(str_is(json_text(json_at(a, 5)), "t"));
    assert_null(json_at(a, 6));
    assert_int_equal(json_get(json_get(n, "b"), "c")->count, 0);
    assert_null(json_get(json_get(n, "z"), "c"));
}

static void numbers(void **state)
{
    fixture *f = *state;
    assert_true(json_int(parsed(f, "9223372036854775807"), 0) == INT64_MAX);
    assert_true(json_double(parsed(f, "18446744073709551616"), 0) == 18446744073709551616.0);
    assert_true(fabs(json_double(parsed(f, "1e-05"), 0) - 1e-5) < 1e-20);
    assert_true(fabs(json_double(parsed(f, "0.35355339059327373"), 0) - 0.35355339059327373) < 1e-15);
    assert_true(json_double(parsed(f, "1e-400"), 1) == 0);
    assert_true(isinf(json_double(parsed(f, "1e99999999999"), 0)));
    assert_true(isinf(json_double(parsed(f, "-Infinity"), 0)));
    assert_true(isnan(json_double(parsed(f, "NaN"), 0)));
}

static void texts(void **state)
{
    fixture *f = *state;
    const json_node *n = parsed(f, "\"a\\\"\\n\\u00e9\\ud83d\\ude00\\u12\"");
    assert_true(n->has_escapes);
    assert_true(str_is(json_decoded(n, &f->arena), "a\"\n\xc3\xa9\xf0\x9f\x98\x80\\u12"));
    assert_true(str_is(json_first(parsed(f, "{\"\\u0041\": 1}"))->key, "A"));
}

static void refused(void **state)
{
    fixture *f = *state;
    static const char *const wrong[] = {
        "",    "{", "[1", "[1,]", "{\"a\" 1}",   "{\"a\":}", "{a: 1}", "[1 2]", "\"abc",   "\"a\\",
        "nul", "-", "1e", "[1]]", "{\"a\": 1,}", "}",        "[1}",    "--1",   "{\"a\"}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (parsed(f, wrong[i]))
            fail_msg("'%s' was read", wrong[i]);
    assert_null(parsed(f, NULL)); /* a request without a body */
    char deep[3 * JSON_READ_MAX_DEPTH + 1] = {0};
    memset(deep, '[', JSON_READ_MAX_DEPTH + 1);
    assert_null(parsed(f, deep));
    assert_non_null(strstr(f->error.message, "nested more than 256 levels deep, at byte 257"));
    memset(deep + JSON_READ_MAX_DEPTH, ']', JSON_READ_MAX_DEPTH);
    assert_non_null(parsed(f, deep));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
