/* threads_test.c: a parallel loop processes every item once, and no worker runs two items at a time. */
#include "base/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cmocka.h>

enum { ITEMS = 10000, WORKERS = 7 };

typedef struct tally {
    atomic_int done[ITEMS];
    atomic_int busy[WORKERS];
    atomic_int clashes;
} tally;

static void count_item(void *context, size_t item, size_t worker)
{
    tally *t = context;
    if (worker >= WORKERS || atomic_fetch_add(&t->busy[worker], 1) != 0)
        atomic_fetch_add(&t->clashes, 1);
    else
        atomic_fetch_add(&t->done[item], 1);
    atomic_fetch_sub(&t->busy[worker % WORKERS], 1);
}

static void every_item_is_done_once(void **state)
{
    (void)state;
    for (size_t workers = 0; workers <= WORKERS; workers++) {
        static tally t;
        for (size_t i = 0; i < ITEMS; i++)
            t.done[i] = 0;
        parallel_for(ITEMS, workers, count_item, &t);
        assert_int_equal(t.clashes, 0);
        for (size_t i = 0; i < ITEMS; i++)
            assert_int_equal(t.done[i], 1);
    }
}

static void few_items_need_few_workers(void **state)
{
    (void)state;
    static tally t;
    parallel_for(0, WORKERS, count_item, &t);
    parallel_for(1, WORKERS, count_item, &t);
    assert_int_equal(t.done[0], 1);
    assert_int_equal(t.done[1], 0);
    assert_int_equal(t.clashes, 0);
}

static void there_is_a_core(void **state)
{
    (void)state;
    assert_true(threads_available() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once),
        cmocka_unit_test(few_items_need_few_workers),
        cmocka_unit_test(there_is_a_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
