/* memory_test.c: the caching allocator on sequences with known answers, lifetimes of small programs, the shipped
 * constants. */
#include "memory/allocator.h"
#include "memory/backend.h"
#include "memory/constants.h"
#include "memory/limits.h"
#include "memory/memory.h"
#include "predict/answer.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MIB ((int64_t)1024 * 1024)

static sooth_error error;
static fail failure = {.error = &error};
static arena room;

static int open_room(void **state)
{
    (void)state;
    arena_init(&room, &failure, (size_t)1 << 28);
    return 0;
}

static int close_room(void **state)
{
    (void)state;
    arena_free(&room);
    return 0;
}

/* ---- the allocator ----------------------------------------------------------------------------------------------- */

static void sizes_are_rounded_and_pooled(void **state)
{
    (void)state;
    allocator *m = allocator_new(&room, INT64_MAX);
    allocator_take(m, 1);
    assert_true(allocator_allocated(m) == 512 && allocator_reserved(m) == 2 * MIB);
    allocator_take(m, 513); /* the same segment */
    assert_true(allocator_allocated(m) == 512 + 1024 && allocator_reserved(m) == 2 * MIB);
    allocator_take(m, MIB); /* still small, still in the first 2 MiB */
    assert_true(allocator_reserved(m) == 2 * MIB);
    allocator_take(m, MIB + 1); /* large: 20 MiB */
    assert_true(allocator_reserved(m) == 22 * MIB);
    allocator_take(m, 10 * MIB); /* from the rest of the 20 MiB */
    assert_true(allocator_reserved(m) == 22 * MIB);
    allocator_take(m, 11 * MIB + 1); /* rounded to 2 MiB */
    assert_true(allocator_reserved(m) == 34 * MIB);
}

static void smallest_free_block_is_taken(void **state)
{
    (void)state;
    allocator *m = allocator_new(&room, INT64_MAX);
    allocation large = allocator_take(m, 100 * MIB), small = allocator_take(m, 40 * MIB);
    allocator_give(m, large);
    allocator_give(m, small);
    allocation again = allocator_take(m, 40 * MIB);
    assert_true(again == small);
    /* The large block is split: the remaining 60 MiB serve the next request. */
    allocator_take(m, 40 * MIB);
    allocator_take(m, 60 * MIB);
    assert_true(allocator_reserved(m) == 140 * MIB);
    assert_true(allocator_allocated(m) == 140 * MIB);
}

static void little_that_is_left_stays_with_the_block(void **state)
{
    (void)state;
    allocator *m = allocator_new(&room, INT64_MAX);
    allocation b = allocator_take(m, 30 * MIB);
    allocator_give(m, b);
    allocator_take(m, 29 * MIB); /* 1 MiB is not split off */
    assert_true(allocator_allocated(m) == 30 * MIB);
    assert_true(allocator_reserved(m) == 30 * MIB);
}

static void free_neighbours_join(void **state)
{
    (void)state;
    allocator *m = allocator_new(&room, INT64_MAX);
    allocation whole = allocator_take(m, 96 * MIB);
    allocator_give(m, whole);
    allocation parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = allocator_take(m, 32 * MIB);
    assert_true(allocator_reserved(m) == 96 * MIB);
    allocator_give(m, parts[0]);
    allocator_give(m, parts[2]);
    allocator_give(m, parts[1]);
    allocator_take(m, 96 * MIB);
    assert_true(allocator_reserved(m) == 96 * MIB);
    assert_true(allocator_peak_reserved(m) == 96 * MIB);
}

/* More free blocks than a chunk of the list holds, unsorted: each is found by its size. Large blocks are segments of
 * their own. */
static void each_of_many_free_blocks_is_found(void **state)
{
    (void)state;
    enum { COUNT = 3001, SIZES = 2000 };
    static allocation blocks[COUNT];
    allocator *m = allocator_new(&room, INT64_MAX);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = allocator_take(m, 2 * MIB * (i % SIZES + 5));
    int64_t reserved = allocator_reserved(m), allocated = allocator_allocated(m);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            allocator_give(m, blocks[i * 1009 % COUNT]);
        static bool is_taken[COUNT];
        memset(is_taken, false, sizeof is_taken);
        for (int i = 0; i < COUNT; i++) {
            int size = i * 757 % COUNT % SIZES;
            int expected = is_taken[size] ? size + SIZES : size; /* of two equal ones, the one at the lower address */
            assert_true(allocator_take(m, 2 * MIB * (size + 5)) == blocks[expected]);
            is_taken[expected] = true;
        }
        assert_true(allocator_allocated(m) == allocated && allocator_reserved(m) == reserved);
    }
    for (int i = 0; i < COUNT; i++)
        allocator_give(m, blocks[i]);
    allocator_empty_cache(m);
    assert_true(allocator_allocated(m) == 0 && allocator_reserved(m) == 0);
}

static void segments_do_not_join(void **state)
{
    (void)state;
    allocator *m = allocator_new(&room, INT64_MAX);
    allocation a = allocator_take(m, 32 * MIB), b = allocator_take(m, 32 * MIB);
    allocator_give(m, a);
    allocator_give(m, b);
    allocator_take(m, 64 * MIB);
    assert_true(allocator_reserved(m) == 128 * MIB);
    assert_true(allocator_peak_reserved(m) == 128 * MIB);
    allocator_empty_cache(m);
    assert_true(allocator_reserved(m) == 64 * MIB);
}

static void cache_is_given_back_before_it_fails(void **state)
{
    (void)state;
    allocator *m = allocator_new(&room, 100 * MIB);
    allocation a = allocator_take(m, 40 * MIB), b = allocator_take(m, 40 * MIB);
    allocator_give(m, a);
    assert_true(allocator_take(m, 60 * MIB) != NO_ALLOCATION); /* 40 MiB of the cache were released */
    assert_true(allocator_reserved(m) == 100 * MIB);
    assert_true(allocator_take(m, 1 * MIB) == NO_ALLOCATION);
    allocator_give(m, b);
    assert_true(allocator_take(m, 1 * MIB) != NO_ALLOCATION);
}

static void huge_requests_are_refused(void **state)
{
    (void)state;
    allocator *m = allocator_new(&room, INT64_MAX / 4);
    assert_true(allocator_take(m, INT64_MAX) != NO_ALLOCATION || allocator_reserved(m) == 0);
    assert_true(allocator_rounded(-5) == 512);
}

/* ---- lifetimes --------------------------------------------------------------------------------------------------- */

static sooth_model *model_of(const char *path, int64_t batch)
{
    sooth_model *model;
    assert_int_equal(sooth_load_file(path, &model, &error), SOOTH_OK);
    assert_int_equal(sooth_bind(model, &(sooth_options){.batch = batch}, &error), SOOTH_OK);
    return model;
}

static const memory_use *use_with(sooth_model *model, const lower_options *options, int64_t limit, int version)
{
    model->fail.error = &error;
    if (setjmp(model->fail.jump))
        fail_msg("%s", error.message);
    program *p = lower(model, options, &room);
    lifetime_rules rules = lifetime_rules_of(version, false);
    requests_question asked = {.program = p,
                               .lifetimes = lifetimes_of(p, &model->net, options, rules, &room, &room),
                               .options = options,
                               .version = version};
    memory_question q = {.requests = memory_requests_of(&asked, &room, &room), .limit_bytes = limit};
    return memory_of(&q, &room, &room);
}

static const memory_use *use_of(sooth_model *model, const lower_options *options, int64_t limit)
{
    return use_with(model, options, limit, torch_version(STR("")));
}

static void weights_and_state_are_counted(void **state)
{
    (void)state;
    sooth_model *model = model_of("zoo:resnet50", 2);
    int64_t weights = 4 * sooth_totals_of(model).params;
    lower_options options = {.mode = MODE_TRAIN};
    const memory_use *u = use_of(model, &options, INT64_MAX);
    assert_true(u->requests->live_before > 2 * weights &&
                u->requests->live_before < 2.1 * (double)weights); /* with momentum */
    /* one gradient per weight */
    assert_true(u->requests->live_end[PHASE_BACKWARD] - u->requests->live_before >= weights);
    assert_true(u->requests->saved > 0 &&
                u->requests->live_peak[PHASE_FORWARD] >= u->requests->live_before + u->requests->saved);
    options.optimizer = OPTIMIZER_SGD;
    int64_t without = use_of(model, &options, INT64_MAX)->requests->live_before;
    assert_true(without < 1.1 * (double)weights);
    options.optimizer = OPTIMIZER_ADAM;
    assert_true(use_of(model, &options, INT64_MAX)->requests->live_before > 3 * weights);
    options = (lower_options){.mode = MODE_INFER};
    u = use_of(model, &options, INT64_MAX);
    assert_true(u->requests->saved == 0 && u->requests->live_before < without * 1.1);
    sooth_free(model);
}

static void parts_sum_to_the_peak(void **state)
{
    (void)state;
    sooth_model *model = model_of("zoo:vit_b_16", 4);
    for (int mode = 0; mode < 2; mode++) {
        lower_options options = {.mode = mode ? MODE_TRAIN : MODE_INFER, .precision = PRECISION_AMP_FP16};
        const memory_use *u = use_of(model, &options, INT64_MAX);
        int64_t sum = 0;
        for (int i = 0; i < MEMORY_PART_COUNT; i++)
            sum += u->parts[i];
        assert_true(sum == u->allocated && u->reserved >= u->allocated);
        assert_true(u->fits && u->failed_kernel == -1);
    }
    sooth_free(model);
}

static void norms_of_sixteen_bits_need_less(void **state)
{
    (void)state;
    sooth_model *model = model_of("zoo:vit_b_16", 4);
    lower_options options = {.precision = PRECISION_AMP_FP16};
    int64_t wide = use_of(model, &options, INT64_MAX)->allocated;
    options.norms = NORMS_LOW_MAPS; /* it has no norms of maps */
    assert_true(use_of(model, &options, INT64_MAX)->allocated == wide);
    options.norms = NORMS_LOW;
    assert_true(use_of(model, &options, INT64_MAX)->allocated < wide);
    sooth_free(model);
}

static void softmax_kept_what_it_reads(void **state)
{
    (void)state;
    sooth_model *model = model_of("zoo:vit_b_16", 4);
    lower_options options = {.mode = MODE_TRAIN, .explicit_attention = true};
    int64_t scores = (int64_t)4 * 12 * 197 * 197 * 4 * 12; /* 12 heads in 12 layers */
    assert_true(use_with(model, &options, INT64_MAX, 110)->requests->saved -
                    use_with(model, &options, INT64_MAX, 111)->requests->saved ==
                scores);
    sooth_free(model);
}

static void compiled_kernels_were_tried_on_copies(void **state)
{
    (void)state;
    sooth_model *model = model_of("zoo:resnet50", 64);
    lower_options options = {.precision = PRECISION_FP16, .runtime = RUNTIME_INDUCTOR};
    int64_t now = use_with(model, &options, INT64_MAX, 206)->allocated,
            before = use_with(model, &options, INT64_MAX, 205)->allocated;
    int64_t map = (int64_t)64 * 256 * 56 * 56 * 2; /* one map is overwritten by the sums */
    assert_true(before >= now + map && before <= now + map + 256000512);
    options.runtime = RUNTIME_EAGER;
    assert_true(use_with(model, &options, INT64_MAX, 206)->allocated ==
                use_with(model, &options, INT64_MAX, 205)->allocated);
    sooth_free(model);
}

static void norms_in_place_keep_no_input(void **state)
{
    (void)state;
    sooth_model *model = model_of("zoo:resnet50", 8);
    model->fail.error = &error;
    if (setjmp(model->fail.jump))
        fail_msg("%s", error.message);
    lower_options options = {.mode = MODE_TRAIN};
    const program *p = lower(model, &options, &room);
    lifetime_rules rules = lifetime_rules_of(112, false);
    requests_question q = {.program = p,
                           .lifetimes = lifetimes_of(p, &model->net, &options, rules, &room, &room),
                           .options = &options,
                           .version = 112};
    int64_t apart = memory_requests_of(&q, &room, &room)->saved;
    rules.norms_in_place = true;
    q.lifetimes = lifetimes_of(p, &model->net, &options, rules, &room, &room);
    int64_t in_place = memory_requests_of(&q, &room, &room)->saved;
    /* A block whose convolutions write 1, 1 and 4 parts keeps 12 parts: outputs of convolutions, norms, and the sum
     * in the last one's place. In place, norms overwrite convolutions but the sum does not: 10 parts. */
    assert_true(in_place > apart * 0.8 && in_place < apart * 0.87);
    sooth_free(model);
}

/* Half of the requests are played before the copy, half by both. */
static void a_copy_goes_on_as_the_original(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    allocation blocks[2][COUNT];
    allocator *m[2] = {allocator_new(&room, INT64_MAX), NULL};
    unsigned random = 1;
    for (int i = 0; i < COUNT; i++) {
        if (i == COUNT / 2) {
            m[1] = allocator_copy(&room, m[0], INT64_MAX);
            memcpy(blocks[1], blocks[0], sizeof blocks[0]);
        }
        random = random * 1103515245 + 12345;
        for (int copy = 0; copy < 2 && m[copy]; copy++) {
            blocks[copy][i] = allocator_take(m[copy], (int64_t)(random >> 8) * (i % 3 ? 1 : 40));
            if (i % 4 == 3)
                allocator_give(m[copy], blocks[copy][i - (int)(random >> 16) % 2]);
        }
        if (m[1])
            assert_true(allocator_allocated(m[0]) == allocator_allocated(m[1]) &&
                        allocator_reserved(m[0]) == allocator_reserved(m[1]) && blocks[0][i] == blocks[1][i]);
    }
    allocator_empty_cache(m[0]);
    assert_true(allocator_reserved(m[0]) < allocator_reserved(m[1]));
}

static void a_limit_is_kept(void **state)
{
    (void)state;
    sooth_model *model = model_of("zoo:resnet50", 16);
    lower_options options = {.mode = MODE_TRAIN};
    const memory_use *free_use = use_of(model, &options, INT64_MAX);
    const memory_use *tight = use_of(model, &options, free_use->allocated / 2);
    assert_false(tight->fits);
    assert_true(tight->failed_kernel >= 0 && tight->reserved <= free_use->allocated / 2);
    sooth_free(model);
}

/* ---- other batches --------------------------------------------------------------------------------------------------- */

static void batches_between_two_trials_are_played(void **state)
{
    (void)state;
    sooth_gpus *gpus;
    sooth_predict_options where = {.memory = true, .mode = "train"};
    assert_int_equal(sooth_gpus_open(NULL, &gpus, &error), SOOTH_OK);
    assert_int_equal(sooth_gpus_find(gpus, "a100-sxm4-40gb", &where.device, &error), SOOTH_OK);
    sooth_model *model = model_of("zoo:resnet50", 1);
    memory_trial trials[4]; /* of 1, 64, 80, 96 samples */
    arena kept;
    arena_init(&kept, NULL, (size_t)1 << 28);
    for (int i = 0; i < 4; i++) {
        trials[i].batch = i ? 48 + 16 * i : 1;
        assert_int_equal(sooth_bind(model, &(sooth_options){.batch = trials[i].batch}, &error), SOOTH_OK);
        assert_int_equal(predict_trial(model, &where, &trials[i], &kept, &error), SOOTH_OK);
    }
    footprint f;
    bool is_known;
    assert_int_equal(predict_between(model, &trials[1], &trials[3], 80, &f, &is_known, &error), SOOTH_OK);
    assert_true(is_known && f.fits && !f.limit);
    assert_true(f.value_mib > 0.99 * trials[2].footprint.value_mib &&
                f.value_mib < 1.01 * trials[2].footprint.value_mib);
    assert_true(f.live_mib > trials[1].footprint.live_mib && f.live_mib < trials[3].footprint.live_mib);
    assert_int_equal(predict_between(model, &trials[1], &trials[1], 80, &f, &is_known, &error), SOOTH_OK);
    assert_false(is_known);
    arena_free(&kept);
    sooth_free(model);
    sooth_gpus_free(gpus);
}

/* ---- the rest -------------------------------------------------------------------------------------------------------- */

static void constants_that_ship_are_sound(void **state)
{
    (void)state;
    device hopper = {.texts[DEVICE_COMPUTE_CAPABILITY] = STR("9.0")},
           any = {.texts[DEVICE_COMPUTE_CAPABILITY] = STR("1.2")};
    assert_true(memory_constants_for(&hopper, &failure).of[PRODUCT_WORKSPACE_KIB] == 32768);
    assert_true(memory_constants_for(&any, &failure).of[PRODUCT_WORKSPACE_KIB] == 8320);
    memory_constants c;
    assert_false(memory_constants_read(&c, STR("context_train_mib = 1\n"), STR(""), STR("")));
    assert_false(memory_constants_read(&c, STR("no_such_name = 1\n"), STR(""), STR("")));
    /* Damaged text inside the library is an error and does not end the program. */
    if (setjmp(failure.jump) == 0) {
        memory_constants_in(STR("context_train_mib = many\n"), &any, &failure);
        fail_msg("damaged constants were taken");
    }
    assert_int_equal(error.code, SOOTH_ERROR_SYSTEM);
    assert_non_null(strstr(error.message, "data/memory.txt inside this program is damaged"));
}

static void versions_are_read(void **state)
{
    (void)state;
    assert_int_equal(torch_version(STR("pt1.10-cu113")), 110);
    assert_int_equal(torch_version(STR("pt2.9.1-cu128")), 209);
    assert_true(torch_version(STR("")) > 1000 && torch_version(STR("pt2.x")) > 1000 &&
                torch_version(STR("tf2.4")) > 1000);
}

static void what_cannot_be_indexed_is_told(void **state)
{
    (void)state;
    sooth_model *model = model_of("zoo:mobilenet_v2", 4096); /* 96 x 112 x 112 elements per image */
    model->fail.error = &error;
    if (setjmp(model->fail.jump))
        fail_msg("%s", error.message);
    lower_options options = {.precision = PRECISION_FP16};
    assert_non_null(limit_of(lower(model, &options, &room), torch_version(STR("pt2.4-cu124"))).reached);
    assert_null(limit_of(lower(model, &options, &room), torch_version(STR("pt2.9.1-cu128")))
                    .reached); /* cuDNN has 64-bit counts */
    assert_null(limit_of(lower(model, &options, &room), torch_version(STR(""))).reached);
    lower_options last = {.precision = PRECISION_FP16, .layout = LAYOUT_NHWC};
    assert_null(limit_of(lower(model, &last, &room), torch_version(STR("pt2.4-cu124")))
                    .reached); /* processes a part of the batch at a time */
    assert_non_null(limit_of(lower(model, &last, &room), torch_version(STR("pt2.9.1-cu128"))).reached);
    assert_non_null(limit_of(lower(model, &last, &room), torch_version(STR("pt1.12-cu113"))).reached);
    assert_int_equal(sooth_bind(model, &(sooth_options){.batch = 8}, &error), SOOTH_OK);
    model->fail.error = &error;
    assert_null(limit_of(lower(model, &options, &room), torch_version(STR("pt1.10-cu113"))).reached);
    sooth_free(model);
}

/* Flash attention has one thread block dimension for the sequences; the kernel for a bias now processes them in
 * parts. */
static void sequences_are_counted_for_attention(void **state)
{
    (void)state;
    const int64_t dims[] = {65536, 1, 4, 4}, strides[] = {16, 16, 4, 1};
    placed_tensor tensor = {.dtype = DT_FLOAT16, .rank = 4, .dims = dims, .strides = strides};
    const tensor_id operands[] = {0};
    kernel k = {.op = "_scaled_dot_product_flash_attention",
                .input_count = 1,
                .output_count = 1,
                .inputs = operands,
                .outputs = operands};
    program p = {.tensors = {&tensor, 1, 1}, .kernels = {&k, 1, 1}, .storage_count = 1};
    assert_non_null(limit_of(&p, torch_version(STR("pt2.4-cu124"))).reached);
    assert_non_null(limit_of(&p, torch_version(STR("pt2.9.1-cu128"))).reached);
    k.op = "_scaled_dot_product_efficient_attention";
    assert_non_null(limit_of(&p, torch_version(STR("pt2.4-cu124"))).reached);
    assert_null(limit_of(&p, torch_version(STR("pt2.9.1-cu128"))).reached);
    k.op = "cudnn_batch_norm";
    assert_null(limit_of(&p, torch_version(STR("pt1.12-cu113"))).reached);
    const int64_t many[] = {65536, 512, 8, 8};
    tensor.dims = many; /* 2^31 elements */
    assert_non_null(limit_of(&p, torch_version(STR("pt1.12-cu113"))).reached);
    assert_null(limit_of(&p, torch_version(STR("pt1.13-cu117"))).reached);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_rounded_and_pooled),
        cmocka_unit_test(smallest_free_block_is_taken),
        cmocka_unit_test(little_that_is_left_stays_with_the_block),
        cmocka_unit_test(free_neighbours_join),
        cmocka_unit_test(each_of_many_free_blocks_is_found),
        cmocka_unit_test(segments_do_not_join),
        cmocka_unit_test(cache_is_given_back_before_it_fails),
        cmocka_unit_test(huge_requests_are_refused),
        cmocka_unit_test(weights_and_state_are_counted),
        cmocka_unit_test(parts_sum_to_the_peak),
        cmocka_unit_test(a_copy_goes_on_as_the_original),
        cmocka_unit_test(a_limit_is_kept),
        cmocka_unit_test(batches_between_two_trials_are_played),
        cmocka_unit_test(constants_that_ship_are_sound),
        cmocka_unit_test(versions_are_read),
        cmocka_unit_test(what_cannot_be_indexed_is_told),
        cmocka_unit_test(sequences_are_counted_for_attention),
        cmocka_unit_test(norms_of_sixteen_bits_need_less),
        cmocka_unit_test(softmax_kept_what_it_reads),
        cmocka_unit_test(norms_in_place_keep_no_input),
        cmocka_unit_test(compiled_kernels_were_tried_on_copies),
    };
    return cmocka_run_group_tests(tests, open_room, close_room);
}
