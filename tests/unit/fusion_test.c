/* fusion_test.c: loops over buffers, and their fusion into kernels. */
#include "lower/fused/fusion.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- accesses ---------------------------------------------------------------------------------------------------- */

typedef struct fixture {
    fail fail;
    sooth_error error;
    arena arena;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f.fail.error = &f.error;
    arena_init(&f.arena, &f.fail, (size_t)1 << 24);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    arena_free(&((fixture *)*state)->arena);
    return 0;
}

#define ACCESS(a, ...)                                                                                                 \
    access_of((a), (const piece[]){__VA_ARGS__}, (int)(sizeof((const piece[]){__VA_ARGS__}) / sizeof(piece)))

static void merging(void **state)
{
    arena *a = &((fixture *)*state)->arena;
    access x = ACCESS(a, {2, 60}, {3, 20}, {1, 7}, {4, 5}, {5, 1});
    assert_int_equal(x.count, 1);
    assert_int_equal(x.pieces[0].size, 120);
    assert_int_equal(x.pieces[0].stride, 1);
    x = ACCESS(a, {2, 60}, {4, 5}, {5, 1}); /* a slice */
    assert_int_equal(x.count, 2);
    assert_int_equal(access_touched(&x), 40);
    assert_false(access_covers(&x, 40));
    x = ACCESS(a, {4, 1}, {3, 4}); /* transposed: every element, in another order */
    assert_true(access_covers(&x, 12));
    assert_false(access_is_row(&x));
    x = ACCESS(a, {12, 1}, {7, 0}); /* each row is read seven times */
    assert_true(access_covers(&x, 12) && access_is_row(&x));
    assert_int_equal(access_repeated(&x), 7);
    x = ACCESS(a, {7, 0}, {12, 1});
    assert_true(access_covers(&x, 12));
    assert_false(access_is_row(&x));
}

static void composing(void **state)
{
    arena *a = &((fixture *)*state)->arena;
    /* (2,3,4) read transposed as (2,4,3), and stored as (2,4,3): the two cancel. */
    access at = ACCESS(a, {2, 12}, {4, 1}, {3, 4}), of = ACCESS(a, {2, 12}, {3, 1}, {4, 3});
    access x = access_compose(a, &at, &of);
    assert_int_equal(x.count, 1);
    assert_int_equal(x.pieces[0].size, 24);
    assert_int_equal(x.pieces[0].stride, 1);
    /* A loop over both dimensions is split where they meet. */
    at = ACCESS(a, {12, 1});
    of = ACCESS(a, {3, 1}, {4, 3});
    x = access_compose(a, &at, &of);
    assert_int_equal(x.count, 2);
    assert_true(access_covers(&x, 12));
    /* A loop that cannot be split has unknown strides. */
    at = ACCESS(a, {5, 2});
    x = access_compose(a, &at, &of);
    assert_true(x.is_scattered);
    assert_false(access_covers(&x, 5));
}

static void comparing(void **state)
{
    arena *a = &((fixture *)*state)->arena;
    access x = ACCESS(a, {4, 1}, {3, 4}), y = ACCESS(a, {3, 4}, {4, 1}), z = ACCESS(a, {3, 8}, {4, 1});
    assert_true(access_hash(&x) == access_hash(&y));
    assert_false(access_hash(&x) == access_hash(&z));
    y.part = 1; /* another slice */
    assert_false(access_hash(&x) == access_hash(&y));
    access order = ACCESS(a, {4, 1}, {3, 4});
    x = access_sorted(a, &x, &order);
    assert_int_equal(x.count, 1);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

enum { ROWS = 6, COLUMNS = 4 };

typedef struct bench {
    fusion f;
    program out;
} bench;

static int32_t add_buffer(bench *b, arena *a, int64_t elements, int32_t writer)
{
    int64_t *numbers = arena_alloc(a, 2, sizeof *numbers);
    numbers[0] = elements;
    numbers[1] = 1;
    placed_tensor *t = ARENA_PUSH(a, &b->out.tensors);
    *t = (placed_tensor){.dtype = DT_FLOAT32, .rank = 1, .dims = numbers, .strides = numbers + 1};
    fuse_buffer *buffer = ARENA_PUSH(a, &b->f.buffers);
    *buffer = (fuse_buffer){.tensor = b->out.tensors.count - 1,
                            .elements = elements,
                            .bytes = 4 * elements,
                            .layout = ACCESS(a, {elements, 1}),
                            .writer = writer};
    return b->f.buffers.count - 1;
}

/* Adds a loop that writes a buffer; returns the buffer. */
static int32_t add_loop(bench *b, arena *a, int64_t elements, int64_t reduced)
{
    static const char *op = "loop";
    int32_t buffer = add_buffer(b, a, elements, b->f.nodes.count);
    fuse_node *n = ARENA_PUSH(a, &b->f.nodes);
    *n =
        (fuse_node){.elements = elements, .reduced = reduced, .ops = &op, .op_count = 1, .layer = NO_NODE, .repeat = 1};
    n->reads = arena_alloc(a, 4, sizeof *n->reads);
    n->writes[n->write_count++] = buffer;
    return buffer;
}

static void read_buffer(bench *b, int32_t buffer, access at)
{
    fuse_node *n = &b->f.nodes.items[b->f.nodes.count - 1];
    n->reads[n->read_count++] = (fuse_read){.buffer = buffer, .times = 1, .at = at};
}

static const program *fuse(bench *b, arena *a, int32_t output)
{
    b->f.arena = a;
    b->f.out = &b->out;
    b->f.buffers.items[output].is_output = true;
    fusion_emit(&b->f);
    return &b->out;
}

static void chain(void **state)
{
    arena *a = &((fixture *)*state)->arena;
    bench b = {0};
    int32_t x = add_buffer(&b, a, ROWS * COLUMNS, NO_FUSE_NODE), y = add_loop(&b, a, ROWS * COLUMNS, 1);
    read_buffer(&b, x, ACCESS(a, {ROWS * COLUMNS, 1}));
    int32_t z = add_loop(&b, a, ROWS * COLUMNS, 1);
    read_buffer(&b, y, ACCESS(a, {COLUMNS, 1}, {ROWS, COLUMNS})); /* in another order, but still one element each */
    const program *p = fuse(&b, a, z);
    assert_int_equal(p->kernels.count, 1);
    assert_string_equal(p->kernels.items[0].op, "triton_poi");
    assert_int_equal(p->kernels.items[0].bytes_read, 4 * ROWS * COLUMNS);
    assert_int_equal(p->kernels.items[0].bytes_written, 4 * ROWS * COLUMNS); /* the intermediate is never written */
}

static void windows_stay_apart(void **state)
{
    arena *a = &((fixture *)*state)->arena;
    bench b = {0};
    int32_t x = add_buffer(&b, a, ROWS * COLUMNS, NO_FUSE_NODE), y = add_loop(&b, a, ROWS * COLUMNS, 1);
    read_buffer(&b, x, ACCESS(a, {ROWS * COLUMNS, 1}));
    int32_t z = add_loop(&b, a, ROWS * COLUMNS, 1);
    read_buffer(&b, y, access_scattered(a, ROWS * COLUMNS));
    assert_int_equal(fuse(&b, a, z)->kernels.count, 2);
}

static void norm(void **state)
{
    arena *a = &((fixture *)*state)->arena;
    bench b = {0};
    access rows = ACCESS(a, {ROWS, COLUMNS}), columns = ACCESS(a, {COLUMNS, 1});
    int32_t x = add_buffer(&b, a, ROWS * COLUMNS, NO_FUSE_NODE), mean = add_loop(&b, a, ROWS, COLUMNS);
    read_buffer(&b, x, access_join(a, &rows, &columns));
    int32_t y = add_loop(&b, a, ROWS * COLUMNS, 1);
    read_buffer(&b, x, ACCESS(a, {ROWS * COLUMNS, 1}));
    read_buffer(&b, mean, ACCESS(a, {ROWS, 1}, {COLUMNS, 0}));
    const program *p = fuse(&b, a, y);
    assert_int_equal(p->kernels.count, 1);
    assert_string_equal(p->kernels.items[0].op, "triton_per");
    assert_int_equal(p->kernels.items[0].loops.reduced, COLUMNS);
    assert_int_equal(p->kernels.items[0].input_count, 1);
}

static void columns_are_no_rows(void **state)
{
    arena *a = &((fixture *)*state)->arena;
    bench b = {0};
    access rows = ACCESS(a, {ROWS, COLUMNS}), columns = ACCESS(a, {COLUMNS, 1});
    int32_t x = add_buffer(&b, a, ROWS * COLUMNS, NO_FUSE_NODE), mean = add_loop(&b, a, ROWS, COLUMNS);
    read_buffer(&b, x, access_join(a, &rows, &columns));
    int32_t y = add_loop(&b, a, ROWS * COLUMNS, 1);
    read_buffer(&b, mean, ACCESS(a, {COLUMNS, 0}, {ROWS, 1})); /* reads all rows for each column */
    assert_int_equal(fuse(&b, a, y)->kernels.count, 2);
}

static void no_way_around(void **state)
{
    arena *a = &((fixture *)*state)->arena;
    bench b = {0};
    int32_t x = add_buffer(&b, a, ROWS, NO_FUSE_NODE), first = add_loop(&b, a, ROWS, 1);
    read_buffer(&b, x, ACCESS(a, {ROWS, 1}));
    int32_t between = add_loop(&b, a, 1, ROWS * 2); /* fuses with none of the others */
    read_buffer(&b, first, ACCESS(a, {ROWS, 1}));
    int32_t last = add_loop(&b, a, ROWS, 1);
    read_buffer(&b, first, ACCESS(a, {ROWS, 1}));
    read_buffer(&b, between, ACCESS(a, {ROWS, 0}));
    const program *p = fuse(&b, a, last);
    assert_int_equal(p->kernels.count, 3); /* the first and the last would wait for each other */
    assert_string_equal(p->kernels.items[1].op, "triton_per");
}

/* How a kernel's loops access their inputs. */
static void loads(void **state)
{
    arena *a = &((fixture *)*state)->arena;
    bench b = {0};
    int32_t x = add_buffer(&b, a, ROWS * COLUMNS, NO_FUSE_NODE), few = add_buffer(&b, a, COLUMNS, NO_FUSE_NODE);
    int32_t y = add_loop(&b, a, ROWS * COLUMNS, 1);
    read_buffer(&b, x, ACCESS(a, {ROWS * COLUMNS, 1}));
    read_buffer(&b, few, ACCESS(a, {ROWS, 0}, {COLUMNS, 1})); /* in the cache, in any order */
    const kernel_loops *l = &fuse(&b, a, y)->kernels.items[0].loops;
    assert_true(l->loads == 2 && l->scattered == 0 && l->gathered == 0 && l->turned == 0 && l->reduced == 1);
    b = (bench){0};
    x = add_buffer(&b, a, ROWS * COLUMNS, NO_FUSE_NODE);
    y = add_loop(&b, a, ROWS * COLUMNS, 1);
    read_buffer(&b, x, ACCESS(a, {COLUMNS, 1}, {ROWS, COLUMNS}));
    read_buffer(&b, x, access_scattered(a, ROWS * COLUMNS));
    b.f.nodes.items[0].reads[1].times = 3;
    l = &fuse(&b, a, y)->kernels.items[0].loops;
    assert_true(l->loads == 4 && l->scattered == 3 && l->gathered == 0 && l->turned == 1);
    b = (bench){0};
    x = add_buffer(&b, a, ROWS * COLUMNS, NO_FUSE_NODE);
    y = add_loop(&b, a, ROWS * COLUMNS, 1);
    access anywhere = access_scattered(a, ROWS * COLUMNS), row = ACCESS(a, {ROWS * COLUMNS, 1});
    anywhere.is_gathered = true;
    read_buffer(&b, x, access_compose(a, &anywhere, &row)); /* stays unknown through its readers */
    l = &fuse(&b, a, y)->kernels.items[0].loops;
    assert_true(l->loads == 1 && l->scattered == 1 && l->gathered == 1 && l->turned == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(merging, set_up, tear_down),
        cmocka_unit_test_setup_teardown(composing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(comparing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_stay_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(norm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(columns_are_no_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_way_around, set_up, tear_down),
        cmocka_unit_test_setup_teardown(loads, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("fusion", tests, NULL, NULL);
}
