/* plan_test.c: plans of sweeps, and lines of a survey's journal. */
#include "plan/study_plan.h"
#include "plan/survey.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

/* Reads a plan; NULL if it is refused. */
static const study_plan *read_plan(const char *text, arena *a, fail *f)
{
    if (setjmp(f->jump))
        return NULL;
    return study_plan_read("plan", str_of(text), a, f);
}

/* The memory of a plan grows with its families, not with their square. */
static void test_many_families(void **state)
{
    (void)state;
    enum { FAMILIES = 2000, ROOM = 64 };
    char *text = malloc((size_t)FAMILIES * ROOM), *at = text;
    for (int i = 0; i < FAMILIES; i++)
        at += snprintf(at, ROOM, "[f%d]\ngraph = zoo:resnet/{d}\nd = 18\n", i);
    sooth_error error;
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, (size_t)32 << 20);
    const study_plan *plan = read_plan(text, &a, &f);
    assert_non_null(plan);
    assert_int_equal(plan->families.count, FAMILIES);
    assert_true(str_is(plan->families.items[FAMILIES - 1].space->graph, "zoo:resnet/{d}"));
    arena_free(&a);
    free(text);
}

/* Reads a line with a right checksum. */
static bool read_line(const char *text, sooth_survey_row rows[2], char errors[2 * SURVEY_ERROR_ROOM])
{
    bool is_done[2] = {false};
    sooth_survey s = {.rows = rows, .row_count = 2, .rows_of_network = 1, .errors = errors};
    const sooth_survey_options o = {.network_count = 2};
    size_t length = strlen(text);
    char *line = malloc(length + 10); /* exactly: a sanitizer sees every byte beyond */
    sprintf(line, "%s %08lx", text, (unsigned long)crc32_z(0, (const Bytef *)text, length));
    bool is_read = survey_read_line(line, &o, &s, is_done);
    assert_int_equal(is_read, is_done[0] + is_done[1]);
    free(line);
    return is_read;
}

#define NUMBERS " 0x1p+0 0x1p-1 0x1p+1 0x1p+0 0x1p-1 0x1p+1 0x1p+0 0x1p-1 0x1p+1 1234 0x1p+4 0x1p+0 0x1p+0"

static void test_journal(void **state)
{
    (void)state;
    sooth_survey_row rows[2] = {{.error = ""}, {.error = ""}};
    char errors[2 * SURVEY_ERROR_ROOM];
    assert_true(read_line("1 !out%20of%25memory", rows, errors));
    assert_string_equal(rows[1].error, "out of%memory");
    assert_true(read_line("0" NUMBERS " 0x1p+3 0x1p+5 0x1p-1 0x1p-2 0x1p-3 0 0 0 0 0 0x1p-4", rows, errors));
    assert_true(rows[0].params == 8 && rows[0].macs == 32 && rows[0].flops == 1234 && rows[0].throughput_per_s == 16);
    assert_true(rows[0].latency_ms.low == 0.5 && rows[0].latency_ms.high == 2);
    assert_true(rows[0].utilization == 0.5 && rows[0].occupancy == 0.25 && rows[0].dram_utilization == 0.125);
    assert_true(rows[0].lost.other == 0.0625);
    /* A percent sign without two digits, at the end of the text. */
    assert_false(read_line("0 !a%", rows, errors));
    assert_false(read_line("0 !a%4", rows, errors));
    assert_false(read_line("0 !", rows, errors));
    assert_false(read_line("2 !a", rows, errors));
    /* Counts that no network has. */
    assert_false(read_line("0" NUMBERS " 0x1p+63 0x1p+5 0x1p-1 0x1p-2 0x1p-3 0 0 0 0 0 0", rows, errors));
    assert_false(read_line("0" NUMBERS " nan 0x1p+5 0x1p-1 0x1p-2 0x1p-3 0 0 0 0 0 0", rows, errors));
    assert_false(read_line("0" NUMBERS, rows, errors));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_families), cmocka_unit_test(test_journal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
