/* set_graph_test.c: graphs of data sets: what they hold, their stored form, and damaged ones. */
#include "plan/set_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static sooth_error error;
static fail failure = {.error = &error};
static arena memory;

static set_graph graph_of(const char *name, int64_t batch)
{
    sooth_model *model;
    if (sooth_load_file(name, &model, &error) != SOOTH_OK ||
        sooth_bind(model, &(sooth_options){.batch = batch}, &error) != SOOTH_OK)
        fail_msg("%s: %s", name, error.message);
    if (setjmp(failure.jump))
        fail_msg("%s", error.message);
    set_graph g = set_graph_of(model, &memory);
    sooth_free(model);
    return g;
}

static void resnet_has_what_its_layers_have(void **state)
{
    (void)state;
    set_graph g = graph_of("zoo:resnet18", 8);
    set_figures f = set_figures_of(&g);
    assert_int_equal(f.batch, 8);
    assert_int_equal(f.params, 11689512);
    assert_int_equal(f.macs, 8 * INT64_C(1814073344));
    assert_int_equal(f.conv_count, 20);
    assert_int_equal(f.dense_count, 1);
    assert_int_equal(f.relu_count, 17);
    assert_int_equal(g.op[0], set_op_code("Input"));
    const int32_t stem[SET_ATTRIBUTES] = {7, 7, 2, 2, 3, 3, 3, 3, 1, 1, 1, 64}, map[SET_DIMS] = {8, 64, 112, 112};
    assert_int_equal(g.op[1], set_op_code("Conv"));
    assert_memory_equal(g.attributes[1], stem, sizeof stem);
    assert_memory_equal(g.dims[1], map, sizeof map);
    assert_int_equal(g.attributes[g.node_count - 1][SET_CHANNELS], 1000);
    /* A chain of nodes; each of the eight additions has a second edge. */
    assert_int_equal(g.edge_count, g.node_count - 1 + 8);
}

static void fingerprints_see_the_batch_and_architectures_do_not(void **state)
{
    (void)state;
    set_graph one = graph_of("zoo:resnet50", 1), two = graph_of("zoo:resnet50", 2);
    set_graph small = graph_of("zoo:resnet50?image=128", 1), wide = graph_of("zoo:resnet50?width=65", 1);
    set_graph again = graph_of("zoo:resnet/50", 1);
    assert_true(set_fingerprint(&one) == set_fingerprint(&again));
    assert_true(set_fingerprint(&one) != set_fingerprint(&two));
    assert_true(set_fingerprint(&one) != set_fingerprint(&small));
    assert_true(set_architecture(&one) == set_architecture(&two));
    assert_true(set_architecture(&one) == set_architecture(&small));
    assert_true(set_architecture(&one) != set_architecture(&wide));
}

static void what_is_stored_is_read_again(void **state)
{
    (void)state;
    set_graph g = graph_of("zoo:swin_t", 2), read;
    str stored = set_graph_encode(&g, &memory);
    assert_null(set_graph_decode(stored, &memory, &read));
    assert_int_equal(read.node_count, g.node_count);
    assert_int_equal(read.edge_count, g.edge_count);
    assert_true(set_fingerprint(&read) == set_fingerprint(&g));
    assert_memory_equal(read.macs, g.macs, (size_t)g.node_count * sizeof *g.macs);
    assert_memory_equal(read.edges, g.edges, (size_t)g.edge_count * sizeof *g.edges);
}

static void damage_is_found(void **state)
{
    (void)state;
    set_graph g = graph_of("zoo:alexnet", 1), read;
    str stored = set_graph_encode(&g, &memory);
    for (size_t length = 0; length < stored.len; length++)
        assert_non_null(set_graph_decode((str){stored.ptr, length}, &memory, &read));
    char *copy = arena_copy(&memory, stored.ptr, stored.len, 1);
    for (size_t i = 0; i < stored.len; i++) {
        arena_mark mark = arena_marked(&memory);
        copy[i] ^= 0x40;
        /* A change in an unused code of the compressed stream leaves the graph unchanged. */
        assert_true(set_graph_decode((str){copy, stored.len}, &memory, &read) ||
                    set_fingerprint(&read) == set_fingerprint(&g));
        copy[i] ^= 0x40;
        arena_rewind(&memory, mark);
    }
}

static int begin(void **state)
{
    (void)state;
    arena_init(&memory, &failure, ARENA_GIB(1));
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(&memory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resnet_has_what_its_layers_have),
        cmocka_unit_test(fingerprints_see_the_batch_and_architectures_do_not),
        cmocka_unit_test(what_is_stored_is_read_again),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
