/* text_test.c: how reports write numbers, names and JSON; the nearest name. */
#include "base/nearest.h"
#include "report/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int set_up(void **state)
{
    static fail f;
    static sooth_error error;
    static text t;
    f.error = &error;
    t = (text){.fail = &f};
    *state = &t;
    return 0;
}

static int tear_down(void **state)
{
    free(((text *)*state)->bytes);
    return 0;
}

static void numbers(void **state)
{
    (void)state;
    char room[NUMBER_ROOM];
    assert_string_equal(number_short(room, 0), "0");
    assert_string_equal(number_short(room, 999), "999");
    assert_string_equal(number_short(room, 1000), "1.00 K");
    assert_string_equal(number_short(room, 999994), "999.99 K");
    assert_string_equal(number_short(room, 999995), "1.00 M"); /* never "1000.00 K" */
    assert_string_equal(number_short(room, 25557032), "25.56 M");
    assert_string_equal(number_short(room, INT64_MAX), "9.22 E");
    assert_string_equal(number_short(room, SOOTH_UNKNOWN), "?");
    assert_string_equal(number_bytes(room, 1023), "1023 B");
    assert_string_equal(number_bytes(room, 1024), "1.00 KiB");
    assert_string_equal(number_bytes(room, 102228128), "97.49 MiB");
    assert_string_equal(number_grouped(room, 0), "0");
    assert_string_equal(number_grouped(room, 999), "999");
    assert_string_equal(number_grouped(room, 25557032), "25,557,032");
    assert_string_equal(number_grouped(room, INT64_MAX), "9,223,372,036,854,775,807");
    assert_string_equal(number_grouped(room, -1), "?");
    assert_string_equal(number_whole(room, 0), "0");
    assert_string_equal(number_whole(room, 25557032), "25557032");
    assert_string_equal(number_whole(room, INT64_MAX), "9223372036854775807");
    assert_string_equal(number_whole(room, -1), "?");
    assert_string_equal(number_real(room, 6), "6");
    assert_string_equal(number_real(room, -936.25), "-936.25");
    assert_string_equal(number_real(room, 0.0012345678), "0.001235");
    assert_string_equal(number_real(room, 0.00012345678), "0.00012345678"); /* six decimals would leave "0.000123" */
    assert_string_equal(number_real(room, 1e-13), "0");
}

/* Absurd numbers become empty fields, so that JSON and CSV stay valid. */
static void numbers_of_machines(void **state)
{
    text *t = *state;
    text_csv_real(t, 2.5);
    text_csv_real(t, 1e12);
    text_csv_real(t, NAN);
    text_csv_number(t, 7);
    text_csv_number(t, SOOTH_UNKNOWN);
    text_csv_text(t, "a,b");
    text_csv_text(t, NULL);
    json j = {.out = t};
    json_open(&j, '[', true);
    json_real(&j, 1e12);
    json_real(&j, -INFINITY);
    json_real(&j, 0.5);
    json_close(&j, ']');
    assert_string_equal(t->bytes, ",2.5,,,7,,\"a,b\",[null, null, 0.5]");
}

static void utf8(void **state)
{
    text *t = *state;
    static const struct {
        const char *bytes;
        uint32_t character;
        size_t length;
    } cases[] = {
        {"A", 'A', 1},
        {"\xc3\xa9", 0xE9, 2},
        {"\xe2\x82\xac", 0x20AC, 3},
        {"\xf0\x9f\x98\x80", 0x1F600, 4},
        {"\xff", 0xFFFD, 1},
        {"\x80", 0xFFFD, 1},
        {"\xc3", 0xFFFD, 1},             /* cut off */
        {"\xc0\x80", 0xFFFD, 1},         /* overlong */
        {"\xe0\x80\xaf", 0xFFFD, 1},     /* overlong */
        {"\xf0\x80\x80\xaf", 0xFFFD, 1}, /* overlong */
        {"\xed\xa0\x80", 0xFFFD, 1},     /* a surrogate */
        {"\xf4\x90\x80\x80", 0xFFFD, 1}, /* beyond Unicode */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *s = cases[i].bytes;
        assert_int_equal(utf8_next(&s), cases[i].character);
        assert_int_equal(s - cases[i].bytes, cases[i].length);
        if (cases[i].character != 0xFFFD) {
            t->size = 0;
            text_character(t, cases[i].character);
            assert_string_equal(t->bytes, cases[i].bytes);
        }
    }
}

static void cells(void **state)
{
    text *t = *state;
    text_cell(t, "ab", 4, CELL_LEFT, false);
    text_cell(t, "ab", 4, CELL_RIGHT, false);
    assert_string_equal(t->bytes, "ab    ab");
    t->size = 0;
    text_cell(t, "encoder.layer.11.output", 13, CELL_LEFT, false);
    assert_string_equal(t->bytes, "en….11.output");
    t->size = 0;
    text_cell(t, "encoder.layer.11.output", 13, CELL_LEFT, true);
    assert_string_equal(t->bytes, "e...11.output");
    t->size = 0;
    text_cell(t, "\xe5\xb1\x82\xe5\xb1\x82", 5, CELL_LEFT, false); /* two wide characters */
    assert_string_equal(t->bytes, "\xe5\xb1\x82\xe5\xb1\x82 ");
    t->size = 0;
    text_cell(t, "\x1b[31m", 6, CELL_LEFT, false);
    assert_string_equal(t->bytes, "\xef\xbf\xbd[31m ");
    t->size = 0;
    for (size_t width = 0; width < 12; width++) {
        t->size = 0;
        text_cell(t,
                  "a\xe5\xb1\x82"
                  "b\xe5\xb1\x82"
                  "c\xe5\xb1\x82"
                  "d",
                  width, CELL_LEFT, false);
        assert_true(t->size == 0 || name_width(t->bytes) <= width);
    }
}

static void json_escapes_and_nests(void **state)
{
    text *t = *state;
    json j = {.out = t};
    json_open(&j, '{', true);
    json_pair_string(&j, "a\"b", "\\ \n \x01 \xff \xe2\x80\xa8");
    json_key(&j, "list");
    json_open(&j, '[', true);
    json_number(&j, 1);
    json_number(&j, SOOTH_UNKNOWN);
    json_bool(&j, true);
    json_close(&j, ']');
    json_key(&j, "none");
    json_open(&j, '{', false);
    json_close(&j, '}');
    json_close(&j, '}');
    assert_string_equal(
        t->bytes, "{\"a\\\"b\": \"\\\\ \\n \\u0001 \xef\xbf\xbd \\u2028\", \"list\": [1, null, true], \"none\": {}}");
}

typedef struct taken {
    char *bytes;
    size_t size, pieces, most_pieces;
} taken;

static bool take(void *context, const char *bytes, size_t size)
{
    taken *to = context;
    if (to->pieces == to->most_pieces)
        return false;
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    to->pieces++;
    return true;
}

static void large_texts_are_passed_on(void **state)
{
    text *t = *state;
    enum { ROWS = 1500000 };
    taken to = {.bytes = malloc((size_t)ROWS * 8), .most_pieces = 100};
    const text_sink sink = {take, &to};
    assert_non_null(to.bytes);
    t->sink = &sink;
    text_puts(t, "short\n");
    text_pass_on(t);
    assert_int_equal(to.pieces, 0); /* an error after this leaves nothing behind */
    for (int i = 0; i < ROWS; i++) {
        text_printf(t, "%06d\n", i % 1000000);
        text_pass_on(t);
    }
    text_end(t);
    assert_true(to.pieces > 1 && t->capacity < (size_t)ROWS * 7);
    assert_int_equal(to.size, 6 + (size_t)ROWS * 7);
    for (int i = 0; i < ROWS; i += 997)
        assert_int_equal(strtol(to.bytes + 6 + (size_t)i * 7, NULL, 10), i % 1000000);
    to.most_pieces = to.pieces;
    text_puts(t, "x");
    bool failed = setjmp(t->fail->jump) != 0;
    if (!failed)
        text_end(t);
    free(to.bytes);
    assert_true(failed);
    assert_int_equal(t->fail->error->code, SOOTH_ERROR_SYSTEM);
}

static str nearest_of(const char *wanted)
{
    static const char *const names[] = {"inspect", "convert", "predict", "mig"};
    nearest n = nearest_to(str_of(wanted));
    for (size_t i = 0; i < 4; i++)
        nearest_try(&n, str_of(names[i]));
    return n.best;
}

static void suggestions(void **state)
{
    (void)state;
    assert_true(str_is(nearest_of("inpsect"), "inspect"));
    assert_true(str_is(nearest_of("predikt"), "predict"));
    assert_true(str_is(nearest_of("mgi"), "mig"));
    assert_int_equal(nearest_of("dance").len, 0);
    assert_int_equal(nearest_of("").len, 0);
    assert_int_equal(nearest_distance(STR("abc"), STR("acb")), 1);
    assert_int_equal(nearest_distance(STR(""), STR("abc")), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test_setup_teardown(numbers_of_machines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(utf8, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cells, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_escapes_and_nests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_texts_are_passed_on, set_up, tear_down),
        cmocka_unit_test(suggestions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
