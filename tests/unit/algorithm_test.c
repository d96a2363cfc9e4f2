/* algorithm_test.c: algorithms and launches of the kernels of whole networks: properties of every kernel, and
 * well-known choices. tests/corpus/algorithms.py measures the agreement with the libraries. */
#include "predict/algorithm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* A network's program, and a GPU. */
typedef struct scene {
    sooth_model *model;
    device_list gpus;
    fail fail;
    sooth_error error;
    arena arena;
    const program *program;
    work_list works;
    device_view view;
} scene;

static scene *open_scene(const char *network, const char *gpu, const lower_options *options)
{
    scene *s = calloc(1, sizeof *s);
    s->fail.error = s->gpus.fail.error = &s->error;
    if (setjmp(s->fail.jump) || setjmp(s->gpus.fail.jump))
        fail_msg("%s", s->error.message);
    sooth_options bind = {.batch = 32};
    assert_int_equal(sooth_load_file(network, &s->model, &s->error), SOOTH_OK);
    assert_int_equal(sooth_bind(s->model, &bind, &s->error), SOOTH_OK);
    s->model->fail.error = &s->error;
    if (setjmp(s->model->fail.jump))
        fail_msg("%s", s->error.message);
    arena_init(&s->arena, &s->fail, (size_t)1 << 28);
    arena_init(&s->gpus.arena, &s->gpus.fail, (size_t)1 << 26);
    device_list_add_shipped(&s->gpus);
    setting where = {.device = device_list_find(&s->gpus, str_of(gpu)), .lower = *options};
    assert_non_null(where.device);
    s->view = view_device(&where);
    s->program = lower(s->model, options, &s->arena);
    s->works = work_of_program(s->program, &s->arena);
    return s;
}

static void close_scene(scene *s)
{
    arena_free(&s->arena);
    arena_free(&s->gpus.arena);
    sooth_free(s->model);
    free(s);
}

static const work *work_at(const scene *s, int32_t i)
{
    return s->works.of_kernel[i] < 0 ? NULL : &s->works.items[s->works.of_kernel[i]];
}

/* Number of kernels with this algorithm. */
static int count_named(const scene *s, const char *name, bool tensor_cores)
{
    int count = 0;
    for (int32_t i = 0; i < s->program->kernels.count; i++) {
        const work *w = work_at(s, i);
        if (!w)
            continue;
        algorithm a = algorithm_of(w, &s->program->kernels.items[i], &s->view);
        count += a.name && strcmp(a.name, name) == 0 && a.uses_tensor_cores == tensor_cores;
    }
    return count;
}

static int count_op(const scene *s, const char *op)
{
    int count = 0;
    for (int32_t i = 0; i < s->program->kernels.count; i++)
        count += strcmp(s->program->kernels.items[i].op, op) == 0;
    return count;
}

static void numbers_are_possible(void **state)
{
    (void)state;
    static const char *const NETWORKS[] = {"zoo:resnet18", "zoo:mobilenet_v2", "zoo:bert", "zoo:vit_b_16"};
    static const char *const GPUS[] = {"a100-sxm4-40gb", "t4", "p4", "mi100", "rtx-5090"};
    for (size_t n = 0; n < sizeof NETWORKS / sizeof *NETWORKS; n++) {
        for (size_t g = 0; g < sizeof GPUS / sizeof *GPUS; g++) {
            lower_options options = {.mode = n % 2 ? MODE_TRAIN : MODE_INFER, .precision = PRECISION_AMP_FP16};
            scene *s = open_scene(NETWORKS[n], GPUS[g], &options);
            for (int32_t i = 0; i < s->program->kernels.count; i++) {
                const kernel *k = &s->program->kernels.items[i];
                const work *w = work_at(s, i);
                if (!w)
                    continue;
                algorithm a = algorithm_of(w, k, &s->view);
                assert_true(a.blocks >= 1 && isfinite(a.blocks));
                assert_true(a.waves > 0 && isfinite(a.waves));
                assert_true(a.wave_efficiency > 0 && a.wave_efficiency <= 1);
                assert_true(a.occupancy > 0 && a.occupancy <= 1);
                assert_true(a.workspace_bytes >= 0 && a.split_k >= 1);
                assert_true((a.name != NULL) == (a.reason != NULL));
                assert_true((a.name != NULL) == (w->gemm[0] > 0));
            }
            close_scene(s);
        }
    }
}

static void tensor_cores_take_convolutions_of_16_bits(void **state)
{
    (void)state;
    scene *s = open_scene("zoo:resnet50", "a100-sxm4-80gb",
                          &(lower_options){.precision = PRECISION_FP16, .layout = LAYOUT_NHWC});
    assert_int_equal(count_op(s, "convolution"), 53);
    assert_int_equal(count_named(s, "implicit GEMM", true), 53);
    close_scene(s);
}

static void winograd_needs_cores_without_tf32(void **state)
{
    (void)state;
    scene *s = open_scene("zoo:resnet18", "t4", &(lower_options){.precision = PRECISION_FP32});
    assert_true(count_named(s, "Winograd", false) >= 8); /* of the 13 that are 3 x 3 with stride 1 */
    close_scene(s);
    s = open_scene("zoo:resnet18", "a100", &(lower_options){.precision = PRECISION_TF32});
    assert_int_equal(count_named(s, "Winograd", false), 0);
    assert_true(count_named(s, "implicit GEMM", true) >= 16);
    close_scene(s);
    s = open_scene("zoo:resnet18", "h100-sxm5-80gb", &(lower_options){.precision = PRECISION_FP32});
    assert_int_equal(count_named(s, "Winograd", false), 0);
    close_scene(s);
}

static void depthwise_convolutions_are_direct(void **state)
{
    (void)state;
    scene *s =
        open_scene("zoo:mobilenet_v2", "rtx-3090", &(lower_options){.precision = PRECISION_FP16, .mode = MODE_TRAIN});
    assert_int_equal(count_named(s, "direct depthwise", false), 2 * 17); /* forward and backward */
    close_scene(s);
}

static void products_fill_rounds(void **state)
{
    (void)state;
    scene *s = open_scene("zoo:resnet50", "a100-sxm4-80gb", &(lower_options){.precision = PRECISION_FP32});
    int products = 0;
    for (int32_t i = 0; i < s->program->kernels.count; i++) {
        const work *w = work_at(s, i);
        if (!w || w->group != WORK_PRODUCT)
            continue;
        algorithm a = algorithm_of(w, &s->program->kernels.items[i], &s->view);
        assert_string_equal(a.name, "GEMM");
        assert_true(a.blocks == ceil(w->gemm[1] / a.tile_m) * ceil(w->gemm[2] / a.tile_n));
        assert_int_equal(w->gemm[1], 32);
        assert_int_equal(w->gemm[2], 1000);
        products++;
    }
    assert_int_equal(products, 1);
    close_scene(s);
}

static void numbers_of_a_work_lie_where_they_are_looked_for(void **state)
{
    (void)state;
    for (int layout = LAYOUT_NCHW; layout <= LAYOUT_NHWC; layout++) {
        scene *s = open_scene("zoo:resnet18", "a100",
                              &(lower_options){.precision = PRECISION_FP16, .layout = (lower_layout)layout});
        int seen = 0;
        for (int32_t i = 0; i < s->program->kernels.count; i++) {
            const work *w = work_at(s, i);
            if (!w || w->group != WORK_CONV)
                continue;
            assert_true(w->features[WORK_INPUT_CHANNELS_LAST] == (layout == LAYOUT_NHWC));
            assert_true(w->features[WORK_CONV_IMAGES] == 5);
            assert_true(w->features[WORK_INPUT_BITS_32] == 0.5F);
            /* TF32 and 16-bit kernels copy their operands to channels last unless they already are; channels are
             * multiples of eight except the first. */
            algorithm a = algorithm_of(w, &s->program->kernels.items[i], &s->view);
            assert_true((a.workspace_bytes > 0) == (layout == LAYOUT_NCHW));
            seen++;
        }
        assert_int_equal(seen, 20);
        close_scene(s);
    }
    scene *s = open_scene("zoo:bert", "a100", &(lower_options){.precision = PRECISION_FP16});
    int norms = 0;
    for (int32_t i = 0; i < s->program->kernels.count; i++) {
        const kernel *k = &s->program->kernels.items[i];
        const work *w = work_at(s, i);
        if (!w || strcmp(k->op, "native_layer_norm") != 0)
            continue;
        const placed_tensor *x = &s->program->tensors.items[k->inputs[0]];
        double rows = w->elements / (double)x->dims[x->rank - 1];
        assert_true(algorithm_of(w, k, &s->view).blocks == rows);
        norms++;
    }
    assert_true(norms > 0);
    close_scene(s);
}

/* Grids recorded with PyTorch 2.15: resnet18 with 64 images has means of 32,768 rows in 2,048 blocks of float32, and
 * in 64 blocks of 16 bits with channels last. Here there are 32 images. */
static void means_are_launched_as_recorded(void **state)
{
    (void)state;
    static const struct {
        lower_precision precision;
        lower_layout layout;
        double blocks;
    } RECORDED[] = {{PRECISION_FP32, LAYOUT_NCHW, 1024}, {PRECISION_FP16, LAYOUT_NHWC, 32}};
    for (size_t r = 0; r < 2; r++) {
        scene *s = open_scene("zoo:resnet18", "a100",
                              &(lower_options){.precision = RECORDED[r].precision, .layout = RECORDED[r].layout});
        int seen = 0;
        for (int32_t i = 0; i < s->program->kernels.count; i++) {
            const kernel *k = &s->program->kernels.items[i];
            const work *w = work_at(s, i);
            if (!w || w->group != WORK_REDUCE)
                continue;
            assert_true(algorithm_of(w, k, &s->view).blocks == RECORDED[r].blocks);
            seen++;
        }
        assert_int_equal(seen, 1);
        close_scene(s);
    }
}

/* Contiguous operands are copied before. */
static void convolutions_run_in_the_layout_that_they_write(void **state)
{
    (void)state;
    scene *s = open_scene("zoo:resnet18", "a100", &(lower_options){.precision = PRECISION_FP16, .layout = LAYOUT_NHWC});
    int seen = 0;
    for (int32_t i = 0; i < s->program->kernels.count; i++) {
        const kernel *k = &s->program->kernels.items[i];
        if (strcmp(k->op, "convolution") != 0)
            continue;
        placed_tensor *x = &s->program->tensors.items[k->inputs[0]];
        const int64_t strides[] = {x->dims[1] * x->dims[2] * x->dims[3], x->dims[2] * x->dims[3], x->dims[3], 1};
        x->strides = arena_copy(&s->arena, strides, 4, sizeof *strides);
    }
    s->works = work_of_program(s->program, &s->arena);
    for (int32_t i = 0; i < s->program->kernels.count; i++) {
        const work *w = work_at(s, i);
        if (!w || w->group != WORK_CONV)
            continue;
        assert_true(w->features[WORK_INPUT_CHANNELS_LAST] == 1);
        seen++;
    }
    assert_int_equal(seen, 20);
    close_scene(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_possible),
        cmocka_unit_test(tensor_cores_take_convolutions_of_16_bits),
        cmocka_unit_test(winograd_needs_cores_without_tf32),
        cmocka_unit_test(depthwise_convolutions_are_direct),
        cmocka_unit_test(products_fill_rounds),
        cmocka_unit_test(means_are_launched_as_recorded),
        cmocka_unit_test(numbers_of_a_work_lie_where_they_are_looked_for),
        cmocka_unit_test(convolutions_run_in_the_layout_that_they_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
