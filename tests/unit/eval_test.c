/* eval_test.c: answers do not depend on the number of threads, and a row that cannot be answered does not stop the
 * others. */
#include "learn/eval.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { NETWORKS = 120, OPERATORS = 2000 };

static const char *const GPUS[] = {"rtx-3090", "a100-sxm4-40gb", "t4", "abacus"};

static str networks(char *room, size_t size)
{
    size_t used = (size_t)snprintf(room, size, "graph,name,batch,gpu,precision,layout,latency_ms\n");
    for (int i = 0; i < NETWORKS; i++)
        used += (size_t)snprintf(room + used, size - used, "%s,resnet50,%d,%s,%s,%s,%d.5\n",
                                 i % 7 ? "zoo:resnet50" : "zoo:nothing", 1 + i % 5, GPUS[i % 4],
                                 i % 3 ? "fp16" : "fp32", i % 2 ? "nhwc" : "nchw", 1 + i % 11);
    assert_true(used < size);
    return (str){room, used};
}

static str operators(char *room, size_t size)
{
    size_t used = (size_t)snprintf(room, size, "op,device,dtype,batch,m,n,k,latency_ms\n");
    for (int i = 0; i < OPERATORS; i++)
        used += (size_t)snprintf(room + used, size - used, "%s,%s,fp32,1,%d,%d,64,0.%03d\n", i % 13 ? "gemm" : "sort",
                                 GPUS[i % 3], 1 + i, 8 + i % 9, 1 + i % 50);
    assert_true(used < size);
    return (str){room, used};
}

typedef struct bench {
    sooth_error error;
    fail fail;
    arena arena;
    evaluation one, many;
} bench;

static void evaluate_both(bench *b, sooth_gpus *gpus)
{
    static char room[2][1 << 17];
    const str texts[2] = {networks(room[0], sizeof room[0]), operators(room[1], sizeof room[1])};
    if (setjmp(b->fail.jump))
        fail_msg("%s", b->error.message);
    measured_rows *tables[2];
    for (int i = 0; i < 2; i++)
        tables[i] = rows_of_bytes(texts[i], "t.csv", gpus, NULL, &b->arena, &b->fail);
    evaluate(&b->one, tables, 2, NULL, 1, NULL, NULL, &b->arena);
    evaluate(&b->many, tables, 2, NULL, 5, NULL, NULL, &b->arena);
}

static void same_answers_on_any_number_of_threads(void **state)
{
    (void)state;
    sooth_gpus *gpus;
    bench b = {.fail = {.error = &b.error}};
    assert_int_equal(sooth_gpus_open(NULL, &gpus, &b.error), SOOTH_OK);
    arena_init(&b.arena, &b.fail, (size_t)1 << 30);
    evaluate_both(&b, gpus);
    assert_int_equal(b.one.count, NETWORKS + OPERATORS);
    size_t answered = 0;
    for (size_t i = 0; i < b.one.count; i++) {
        const eval_row *x = &b.one.rows[i], *y = &b.many.rows[i];
        assert_ptr_equal(x->row, y->row);
        assert_int_equal(x->reason != NULL, y->reason != NULL);
        if (x->reason) {
            assert_string_equal(x->reason, y->reason);
            assert_true(isnan(x->latency_ms) && isnan(y->latency_ms));
            continue;
        }
        assert_true(x->latency_ms > 0 && x->latency_ms == y->latency_ms && x->low_ms == y->low_ms);
        assert_true(x->roofline_ms == y->roofline_ms);
        assert_true(x->regression_ms == y->regression_ms || (isnan(x->regression_ms) && isnan(y->regression_ms)));
        answered++;
    }
    assert_in_range(answered, 1500, b.one.count);
    score s = eval_score(&b.one, EVAL_SOOTH, BY_GPU, NULL, &b.arena);
    assert_int_equal(s.n, answered);
    str t4 = STR("t4");
    assert_in_range(eval_score(&b.one, EVAL_SOOTH, BY_GPU, &t4, &b.arena).n, 500, 700);
    evaluation_free(&b.one);
    evaluation_free(&b.many);
    arena_free(&b.arena);
    sooth_gpus_free(gpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_answers_on_any_number_of_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
