/* mig_test.c: the reader of the slice table, slices as devices, and the layout search against a brute-force search. */
#include "plan/mig_search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct bench {
    sooth_error error;
    fail fail;
    arena arena;
    sooth_gpus *gpus;
} bench;

static int set_up(void **state)
{
    bench *b = calloc(1, sizeof *b);
    b->fail.error = &b->error;
    arena_init(&b->arena, &b->fail, (size_t)1 << 28);
    *state = b;
    return sooth_gpus_open(NULL, &b->gpus, &b->error);
}

static int tear_down(void **state)
{
    bench *b = *state;
    sooth_gpus_free(b->gpus);
    arena_free(&b->arena);
    free(b);
    return 0;
}

static const device *gpu_called(bench *b, const char *name)
{
    const sooth_gpu *gpu;
    assert_int_equal(sooth_gpus_find(b->gpus, name, &gpu, &b->error), SOOTH_OK);
    return gpu;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void all_ship(void **state)
{
    static const char *const GPUS[] = {"a30",           "a100-sxm4-40gb", "a100-pcie-80gb", "h100-sxm5-80gb",
                                       "h100-nvl-94gb", "h200-sxm-141gb", "b200-sxm-180gb"};
    for (size_t i = 0; i < sizeof GPUS / sizeof *GPUS; i++) {
        const sooth_gpu *gpu = gpu_called(*state, GPUS[i]);
        assert_true(sooth_mig_count(gpu) >= 5);
        for (size_t k = 0; k < sooth_mig_count(gpu); k++)
            assert_true(*sooth_mig_at(gpu, k).origin);
    }
    assert_int_equal(sooth_mig_count(gpu_called(*state, "rtx-3090")), 0);
    assert_string_equal(sooth_mig_at(gpu_called(*state, "a100"), 99).name, "");
}

static void a_profile_has_its_numbers(void **state)
{
    const sooth_gpu *a100 = gpu_called(*state, "a100-sxm4-40gb");
    sooth_mig_profile p = sooth_mig_at(a100, 0);
    assert_string_equal(p.name, "1g.5gb");
    assert_int_equal(p.id, 19);
    assert_int_equal(p.sms, 14);
    assert_true(p.memory_gib == 4.75 && p.bandwidth_share == 0.125 && p.l2_share == 0.125);
    assert_int_equal(p.start_slots, 0x7F);
    assert_int_equal(sooth_mig_slots(a100), 8);
}

static void names_find_profiles(void **state)
{
    const mig_table *t = gpu_called(*state, "a100-sxm4-40gb")->slices;
    assert_string_equal(mig_find(t, STR("MIG 3G.20GB"))->name.ptr, "3g.20gb");
    assert_string_equal(mig_find(t, STR("2g"))->name.ptr, "2g.10gb");
    assert_null(mig_find(t, STR("1g"))); /* ambiguous: 1g.5gb or 1g.10gb */
    assert_null(mig_find(t, STR("")));
    assert_null(mig_find(t, STR("9g.90gb")));
}

static void a_slice_is_a_device(void **state)
{
    const device *whole = gpu_called(*state, "a100-sxm4-40gb");
    device slice;
    device_slice(&slice, whole, mig_find(whole->slices, STR("2g.10gb")));
    assert_true(slice.numbers[DEVICE_SMS] == 28);
    assert_true(slice.numbers[DEVICE_USABLE_MIB] == 9.75 * 1024);
    assert_true(slice.numbers[DEVICE_BANDWIDTH_GB_S] == 1555.0 / 4);
    assert_true(slice.numbers[DEVICE_L2_MIB] == 10);
    assert_true(fabs(device_peak_flops(&slice, STR("fp16")) / device_peak_flops(whole, STR("fp16")) - 28.0 / 108) <
                1e-9);
    assert_true(slice.numbers[DEVICE_BOOST_MHZ] == whole->numbers[DEVICE_BOOST_MHZ]);
    assert_ptr_equal(slice.whole, whole);
}

/* Error message for the text; NULL if it was read. */
static const char *refusal(bench *b, const char *text)
{
    mig_list list = {0};
    if (setjmp(b->fail.jump))
        return b->error.message;
    mig_read(&list, str_of(text), "", &b->arena, &b->fail);
    return NULL;
}

#define HEAD "gpu = a\nslots = 8, compute 7\n"
#define REST ", sms 14, memory_gib 4.75, bandwidth 1/8, l2 0.125, copy_engines 1"

static void what_is_wrong_is_told(void **state)
{
    static const struct {
        const char *text, *part;
    } CASES[] = {
        {"1g.5gb = id 1", "line 1: the profile '1g.5gb' comes before"},
        {"slots = 8, compute 7", "'slots' comes before"},
        {"gpu = a\nslots = 8", "line 2: write 'slots' as in"},
        {"gpu = a\nslots = 99, compute 7", "write 'slots' as in"},
        {"gpu = a\nslots = 8, compute 7\nslots = 8, compute 7", "given twice"},
        {"gpu = a\ngpu = b", "a has no profiles"},
        {"gpu = a, a", "given twice"},
        {"hello", "is not 'key = value"},
        {"gpu =", "has no value"},
        {HEAD "1g.5gb = id 19", "has no 'compute'"},
        {HEAD "1g.5gb = id 19, compute 2" REST ", most 7, size 1, starts 0", "2 compute slices in its line, but 1 in"},
        {HEAD "1g.4gb = id 19, compute 1" REST ", most 7, size 1, starts 0", "its name says less"},
        {HEAD "big = id 19, compute 1" REST ", most 1, size 1, starts 0", "is not a profile name"},
        {HEAD "1g.5gb = id 19, compute 1" REST ", most 2, size 1, starts 0", "2 of 1g.5gb do not fit"},
        {HEAD "1g.5gb = id 19, compute 1" REST ", most 1, size 2, starts 7", "cannot begin at slot 7"},
        {HEAD "1g.5gb = id 19, compute 1" REST ", most 1, size 1, starts", "has no place to begin"},
        {HEAD "1g.5gb = id 19, compute 1" REST ", most 1, size 1, starts 99", "'starts 99' is out of range"},
        {HEAD "1g.5gb = id 19, compute 1.5" REST ", most 1, size 1, starts 0", "a whole number"},
        {HEAD "1g.5gb = id 19, compute 1, bandwidth 3/2" REST, "'bandwidth 3/2' is out of range"},
        {HEAD "1g.5gb = id 19, compute 1, l2 1/0" REST, "is not a number"},
        {HEAD "1g.5gb = id 19, compute 1, l2 1e9" REST, "is not a number"},
        {HEAD "1g.5gb = id 19, id 20", "'id' is given twice"},
        {HEAD "1g.5gb = id 19, sm 14", "did you mean 'sms'?"},
        {HEAD "8g.5gb = id 19, compute 8" REST ", most 1, size 1, starts 0", "more compute slices than its GPU"},
        {HEAD "1g.5gb = id 1, compute 1" REST ", most 1, size 1, starts 0\n"
              "1g.6gb = id 1, compute 1" REST ", most 1, size 1, starts 0",
         "have the same id"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *message = refusal(*state, CASES[i].text);
        if (!message || !strstr(message, CASES[i].part))
            fail_msg("%s\n=> %s\nexpected: %s", CASES[i].text, message ? message : "read", CASES[i].part);
    }
    assert_null(
        refusal(*state, HEAD "1g.5gb = id 19, compute 1" REST ", most 7, size 1, starts 0 1 2 3 4 5 6 # listing"));
}

static void slices_larger_than_their_gpu(void **state)
{
    bench *b = *state;
    mig_list list = {0};
    device d = *gpu_called(b, "t4");
    mig_read(&list,
             STR("gpu = t4\nslots = 1, compute 1\n1g.16gb = id 1, compute 1, sms 41, memory_gib 15, bandwidth 1, l2 1, "
                 "copy_engines 1, most 1, size 1, starts 0"),
             "", &b->arena, &b->fail);
    if (setjmp(b->fail.jump) == 0) {
        mig_attach(&list, &d, "", &b->fail);
        fail_msg("a slice of 41 multiprocessors of 40");
    }
    assert_non_null(strstr(b->error.message, "is larger than t4"));
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

typedef struct brute {
    const mig_table *table;
    const mig_demand *demands;
    int32_t owner[16]; /* demand of each instance */
    int32_t instances, gpus;
    mig_gpu on[4];
} brute;

/* Tries every instance on every GPU, with every suitable profile and every start. */
static bool try_all(brute *b, int32_t instance)
{
    if (instance == b->instances)
        return true;
    uint32_t profiles = b->demands[b->owner[instance]].profiles;
    for (int32_t g = 0; g < b->gpus; g++)
        for (int32_t p = 0; p < b->table->profile_count; p++)
            for (int32_t at = 0; profiles & 1U << p && at < b->table->slots; at++) {
                mig_gpu *gpu = &b->on[g];
                gpu->slices[gpu->count++] = (mig_slice){b->owner[instance], p, at};
                bool done = mig_is_legal(b->table, gpu) && try_all(b, instance + 1);
                gpu->count--;
                if (done)
                    return true;
            }
    return false;
}

/* Fewest GPUs; 0: more than three. */
static int32_t fewest(const mig_table *table, const mig_demand *demands, int32_t count)
{
    brute b = {.table = table, .demands = demands};
    for (int32_t d = 0; d < count; d++)
        for (int32_t i = 0; i < demands[d].count; i++)
            b.owner[b.instances++] = d;
    for (b.gpus = 1; b.gpus <= 3; b.gpus++)
        if (try_all(&b, 0))
            return b.gpus;
    return 0;
}

static void check_layout(const mig_table *table, const mig_demand *demands, int32_t count, const mig_layout *layout)
{
    int32_t given[MIG_MAX_DEMANDS] = {0};
    for (int32_t g = 0; g < layout->gpu_count; g++) {
        assert_true(mig_is_legal(table, &layout->gpus[g]));
        assert_true(layout->gpus[g].count > 0);
        for (int32_t i = 0; i < layout->gpus[g].count; i++) {
            const mig_slice *s = &layout->gpus[g].slices[i];
            assert_true(demands[s->demand].profiles & 1U << s->profile);
            given[s->demand]++;
        }
    }
    for (int32_t d = 0; d < count; d++)
        assert_int_equal(given[d], demands[d].count);
    assert_true(layout->least <= layout->gpu_count);
}

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 16;
}

static void compare_with_brute_force(bench *b, const char *gpu, int rounds, int32_t most)
{
    const mig_table *t = gpu_called(b, gpu)->slices;
    uint32_t seed = 7;
    for (int i = 0; i < rounds; i++) {
        mig_demand demands[3];
        int32_t count = 1 + (int32_t)(next(&seed) % 3), left = most;
        for (int32_t d = 0; d < count; d++) {
            uint32_t all = (1U << t->profile_count) - 1;
            demands[d].profiles = next(&seed) % 3 ? 1U << next(&seed) % (uint32_t)t->profile_count : next(&seed) & all;
            demands[d].profiles = demands[d].profiles ? demands[d].profiles : all;
            demands[d].count = (int32_t)(next(&seed) % (uint32_t)(left > 3 ? 4 : left + 1));
            left -= demands[d].count;
        }
        arena_mark mark = arena_marked(&b->arena);
        mig_layout layout = mig_search(t, demands, count, NULL, &b->arena);
        check_layout(t, demands, count, &layout);
        int32_t expected = fewest(t, demands, count);
        if (layout.gpu_count || expected != 1) /* no instances need no GPU */
            assert_true(expected ? layout.gpu_count == expected : layout.gpu_count > 3);
        assert_int_equal(layout.least, layout.gpu_count);
        arena_rewind(&b->arena, mark);
    }
}

static void layouts_are_the_best(void **state)
{
    compare_with_brute_force(*state, "a30", 300, 7);
    compare_with_brute_force(*state, "a100-sxm4-40gb", 300, 5);
}

static int32_t profile_called(const mig_table *t, const char *name)
{
    return (int32_t)(mig_find(t, str_of(name)) - t->profiles);
}

/* A greedy search fails here: two GPUs hold 4g, 3g and 2g, 2g, 2g, 1g, but 3g, 3g on one GPU leaves 4g, 2g, 2g, 2g,
 * 1g for two more. */
static void known_layouts(void **state)
{
    bench *b = *state;
    const mig_table *t = gpu_called(b, "a100-sxm4-40gb")->slices;
    mig_demand ones = {1U << profile_called(t, "1g.5gb"), 7};
    assert_int_equal(mig_search(t, &ones, 1, NULL, &b->arena).gpu_count, 1);
    ones.count = 8;
    assert_int_equal(mig_search(t, &ones, 1, NULL, &b->arena).gpu_count, 2);
    ones.count = 57;
    assert_int_equal(mig_search(t, &ones, 1, NULL, &b->arena).gpu_count, 9);
    mig_demand mixed[] = {{1U << profile_called(t, "4g.20gb"), 1},
                          {1U << profile_called(t, "3g.20gb"), 1},
                          {1U << profile_called(t, "2g.10gb"), 3},
                          {1U << profile_called(t, "1g.5gb"), 1}};
    mig_layout layout = mig_search(t, mixed, 4, NULL, &b->arena);
    assert_int_equal(layout.gpu_count, 2);
    check_layout(t, mixed, 4, &layout);
}

static bool stop_at_once(void *context, int32_t tried, int32_t best, double seconds)
{
    (void)tried;
    (void)best;
    *(int *)context += 1;
    return seconds < 0;
}

/* With many GPUs the result is a valid layout, optimal or not, within the time limit. */
static void large_requests_are_bounded(void **state)
{
    bench *b = *state;
    const mig_table *t = gpu_called(b, "a100-sxm4-40gb")->slices;
    int calls = 0;
    mig_demand demands[6];
    for (int32_t i = 0; i < 6; i++)
        demands[i] = (mig_demand){1U << (i < 1 ? 0 : i + 1), 37 + i};
    mig_search_options options = {.time_limit_s = 0.5, .progress = stop_at_once, .context = &calls};
    mig_layout layout = mig_search(t, demands, 6, &options, &b->arena);
    check_layout(t, demands, 6, &layout);
}

/* An artificial table: 16 slots, 24 profiles, each at most once per GPU. The result is valid and comes soon. */
static void a_table_full_of_choices(void **state)
{
    bench *b = *state;
    mig_table t = {.slots = 16, .compute = 16};
    for (int32_t i = 0; i < 24; i++)
        t.profiles[t.profile_count++] =
            (mig_profile){.name = STR("x"), .compute = 1, .size = 1 + i % 3, .most = 1, .starts = 0x3FFF, .sms = 1};
    mig_demand demands[24];
    for (int32_t i = 0; i < 24; i++)
        demands[i] = (mig_demand){i % 2 ? 1U << i : 0xFFFFFF, 3};
    mig_search_options options = {.time_limit_s = 0.2};
    mig_layout layout = mig_search(&t, demands, 24, &options, &b->arena);
    check_layout(&t, demands, 24, &layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_ship, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_profile_has_its_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_find_profiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slice_is_a_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slices_larger_than_their_gpu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(layouts_are_the_best, set_up, tear_down),
        cmocka_unit_test_setup_teardown(known_layouts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_requests_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_table_full_of_choices, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
