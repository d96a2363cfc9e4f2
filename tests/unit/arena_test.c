/* arena_test.c: guarantees of the arena: zeroed and aligned memory, the cap, growth, strings, failure by longjmp. */
#include "base/arena.h"

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
    arena_init(&f.arena, &f.fail, 1 << 20);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    arena_free(&((fixture *)*state)->arena);
    return 0;
}

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    fixture *f = *state;
    if (setjmp(f->fail.jump))
        fail_msg("%s", f->error.message);
    unsigned char *last = NULL;
    for (size_t size = 1; size < 700; size++) {
        unsigned char *p = arena_alloc(&f->arena, 1, size);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xee, size);
        if (last)
            assert_int_equal(last[0], 0xee);
        last = p;
    }
}

static void nothing_is_somewhere(void **state)
{
    fixture *f = *state;
    if (setjmp(f->fail.jump))
        fail_msg("%s", f->error.message);
    assert_non_null(arena_alloc(&f->arena, 0, 8));
    assert_non_null(arena_copy(&f->arena, NULL, 0, 8));
}

static void cap_is_the_inputs_fault(void **state)
{
    fixture *f = *state;
    if (setjmp(f->fail.jump) == 0) {
        arena_alloc(&f->arena, 1, (1 << 20) + 1);
        fail_msg("more than the cap was given out");
    }
    assert_int_equal(f->error.code, SOOTH_ERROR_INPUT);
}

static void cap_holds_for_small_pieces(void **state)
{
    fixture *f = *state;
    volatile size_t given = 0;
    if (setjmp(f->fail.jump) == 0)
        for (; given <= 2 << 20; given += 48)
            arena_alloc(&f->arena, 1, 48);
    assert_int_equal(f->error.code, SOOTH_ERROR_INPUT);
    assert_true(given <= 1 << 20);
}

static void overflow_is_caught(void **state)
{
    fixture *f = *state;
    if (setjmp(f->fail.jump) == 0) {
        arena_alloc(&f->arena, SIZE_MAX / 2, 3);
        fail_msg("a product that overflows was given out");
    }
    assert_int_equal(f->error.code, SOOTH_ERROR_SYSTEM);
}

static void push_keeps_what_was_there(void **state)
{
    fixture *f = *state;
    if (setjmp(f->fail.jump))
        fail_msg("%s", f->error.message);
    struct {
        int *items;
        int32_t count, capacity;
    } list = {0};
    for (int i = 0; i < 5000; i++)
        *(int *)ARENA_PUSH(&f->arena, &list) = i;
    assert_int_equal(list.count, 5000);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(list.items[i], i);
}

static void strings_end_with_nul(void **state)
{
    fixture *f = *state;
    if (setjmp(f->fail.jump))
        fail_msg("%s", f->error.message);
    str s = arena_str(&f->arena, (str){"abcdef", 3});
    assert_string_equal(s.ptr, "abc");
    assert_int_equal(s.len, 3);
    s = arena_printf(&f->arena, "%d-%s", 42, "x");
    assert_string_equal(s.ptr, "42-x");
    assert_true(str_eq(arena_str(&f->arena, (str){0}), (str){0}));
}

/* Texts come from the other end of a block than what needs alignment. */
static void strings_and_objects_stay_apart(void **state)
{
    fixture *f = *state;
    enum { COUNT = 3000 };
    static str texts[COUNT];
    static int64_t *objects[COUNT];
    if (setjmp(f->fail.jump))
        fail_msg("%s", f->error.message);
    arena_mark before = {0};
    for (int round = 0; round < 2; round++) {
        for (int i = round == 0 ? 0 : 101; i < COUNT; i++) { /* those before the mark stay */
            char text[64];
            snprintf(text, sizeof text, "%d%.*s", i, i % 40, "----------------------------------------");
            texts[i] = arena_str(&f->arena, str_of(text));
            objects[i] = arena_room(&f->arena, 3, sizeof **objects);
            assert_int_equal((uintptr_t)objects[i] % ARENA_ALIGN, 0);
            for (int k = 0; k < 3; k++)
                objects[i][k] = -(int64_t)i;
            if (i == 100 && round == 0)
                before = arena_marked(&f->arena);
        }
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(atoi(texts[i].ptr), i);
            assert_int_equal(strlen(texts[i].ptr), texts[i].len);
            for (int k = 0; k < 3; k++)
                assert_int_equal(objects[i][k], -i);
        }
        arena_rewind(&f->arena, before);
        for (int i = 0; i <= 100; i++)
            assert_true(atoi(texts[i].ptr) == i && objects[i][2] == -i);
        assert_int_equal(f->arena.used_bytes, before.used_bytes);
    }
}

static void freed_arena_can_be_used_again(void **state)
{
    fixture *f = *state;
    if (setjmp(f->fail.jump))
        fail_msg("%s", f->error.message);
    for (int round = 0; round < 3; round++) {
        assert_non_null(arena_alloc(&f->arena, 900, 1000));
        arena_free(&f->arena);
        assert_int_equal(f->arena.used_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_is_zeroed_aligned_and_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_somewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cap_is_the_inputs_fault, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cap_holds_for_small_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(overflow_is_caught, set_up, tear_down),
        cmocka_unit_test_setup_teardown(push_keeps_what_was_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strings_end_with_nul, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strings_and_objects_stay_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(freed_arena_can_be_used_again, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
