/* predict_test.c: predictions through the public interface: guarantees that the program's output does not show. */
#include "base/threads.h"
#include "predict/setting.h"
#include "sooth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static sooth_model *loaded(const char *path, int64_t batch)
{
    sooth_error error;
    sooth_model *model;
    sooth_options options = {.batch = batch};
    assert_int_equal(sooth_load_file(path, &model, &error), SOOTH_OK);
    assert_int_equal(sooth_bind(model, &options, &error), SOOTH_OK);
    return model;
}

static double latency(sooth_model *model, const sooth_predict_options *options)
{
    sooth_error error;
    sooth_prediction *prediction;
    if (sooth_predict(model, options, &prediction, &error) != SOOTH_OK)
        fail_msg("%s", error.message);
    double ms = sooth_prediction_totals_of(prediction).latency_ms.value;
    sooth_prediction_free(prediction);
    return ms;
}

static void defaults_are_those_of_the_header(void **state)
{
    (void)state;
    sooth_model *model = loaded("zoo:resnet18", 4);
    sooth_prediction *prediction;
    assert_int_equal(sooth_predict(model, NULL, &prediction, NULL), SOOTH_OK);
    sooth_prediction_totals t = sooth_prediction_totals_of(prediction);
    assert_string_equal(t.gpu, "a100-sxm4-40gb");
    assert_string_equal(t.precision, "amp-fp16");
    assert_string_equal(t.layout, "nchw");
    assert_string_equal(t.runtime, "eager");
    assert_string_equal(t.mode, "infer");
    assert_string_equal(t.optimizer, "sgd-momentum");
    assert_string_equal(t.stack, "");
    assert_int_equal(t.batch, 4);
    sooth_prediction_free(prediction);
    double ms = latency(model, NULL);
    assert_true(ms > 0 && ms == latency(model, &(sooth_predict_options){.gpu = "", .precision = "amp", .stack = ""}));
    sooth_free(model);
}

/* A file's tensor names appear in messages, but cannot break the line or colour the terminal. */
static void messages_are_one_line(void **state)
{
    (void)state;
    static const char TEXT[] = "input: 'a' input_shape { dim: 2 dim: 4 }\n"
                               "layer { name: 'n' type: 'Strange' bottom: 'a' top: 'first\\nsecond\\033[31m' }\n";
    sooth_error error;
    sooth_model *model;
    sooth_prediction *prediction = NULL;
    assert_int_equal(sooth_load_memory(TEXT, sizeof TEXT - 1, "net.prototxt", &model, &error), SOOTH_OK);
    assert_int_equal(sooth_bind(model, NULL, &error), SOOTH_OK);
    assert_int_equal(sooth_predict(model, NULL, &prediction, &error), SOOTH_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "first?second?[31m"));
    sooth_free(model);
}

static void a_prediction_stands_by_itself(void **state)
{
    (void)state;
    sooth_error error;
    sooth_model *model = loaded("zoo:resnet18", 1);
    sooth_gpus *gpus;
    sooth_predict_options where = {.precision = "fp32"};
    assert_int_equal(sooth_gpus_open(NULL, &gpus, &error), SOOTH_OK);
    assert_int_equal(sooth_gpus_find(gpus, "t4", &where.device, &error), SOOTH_OK);
    sooth_prediction *one, *eight;
    assert_int_equal(sooth_predict(model, &where, &one, &error), SOOTH_OK);
    assert_int_equal(sooth_bind(model, &(sooth_options){.batch = 8}, &error), SOOTH_OK);
    assert_int_equal(sooth_predict(model, &where, &eight, &error), SOOTH_OK);
    sooth_free(model);
    sooth_gpus_free(gpus);
    assert_int_equal(sooth_prediction_totals_of(one).batch, 1);
    assert_int_equal(sooth_prediction_totals_of(eight).batch, 8);
    assert_string_equal(sooth_prediction_totals_of(one).gpu, "t4");
    assert_string_equal(sooth_predicted_layer_at(one, 0).name, "conv1");
    sooth_predicted_tensor output = sooth_predicted_output(eight, 0, 0);
    assert_string_equal(output.dtype, "float32");
    assert_int_equal(output.rank, 4);
    assert_int_equal(output.dims[0], 8);
    assert_true(sooth_prediction_totals_of(one).latency_ms.value < sooth_prediction_totals_of(eight).latency_ms.value);
    sooth_prediction_free(one);
    sooth_prediction_free(eight);
}

static void rows_sum_to_the_total(void **state)
{
    sooth_model *model = loaded("zoo:resnet50", 16);
    sooth_predict_options where = {.gpu = "rtx-3090", .mode = *state};
    sooth_prediction *prediction;
    assert_int_equal(sooth_predict(model, &where, &prediction, NULL), SOOTH_OK);
    sooth_prediction_totals t = sooth_prediction_totals_of(prediction);
    double layers_ms = 0, kernels_ms = 0;
    size_t launched = 0;
    for (size_t i = 0; i < sooth_predicted_layer_count(prediction); i++) {
        sooth_predicted_layer l = sooth_predicted_layer_at(prediction, i);
        layers_ms += l.latency_ms;
        launched += l.kernel_count;
    }
    for (size_t i = 0; i < sooth_predicted_kernel_count(prediction); i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(prediction, i);
        kernels_ms += k.latency_ms;
        assert_true(k.layer < sooth_predicted_layer_count(prediction));
        assert_true(k.latency_ms >= 0 && k.device_us > 0);
    }
    assert_int_equal(launched, sooth_predicted_kernel_count(prediction));
    assert_true(fabs(layers_ms - t.latency_ms.value) < 1e-6 * t.latency_ms.value);
    assert_true(fabs(kernels_ms - t.latency_ms.value) < 1e-6 * t.latency_ms.value);
    assert_true(t.latency_ms.low <= t.latency_ms.value && t.latency_ms.value <= t.latency_ms.high);
    assert_true(fabs(t.throughput_per_s * t.latency_ms.value / 1e3 - 16) < 1e-6);
    assert_true(t.compute_share > 0 && t.compute_share <= 100);
    sooth_prediction_free(prediction);
    sooth_free(model);
}

static double sum_of(const sooth_memory_parts *p)
{
    return p->weights_mib + p->gradients_mib + p->optimizer_mib + p->inputs_mib + p->activations_mib + p->workspace_mib;
}

static void parts_of_memory_sum_at_every_kernel(void **state)
{
    sooth_model *model = loaded("zoo:resnet18", 4);
    sooth_predict_options where = {.gpu = "t4", .mode = *state, .memory = true};
    sooth_prediction *prediction;
    assert_int_equal(sooth_predict(model, &where, &prediction, NULL), SOOTH_OK);
    size_t count = sooth_predicted_kernel_count(prediction);
    sooth_memory_parts *parts = malloc(count * sizeof *parts);
    assert_non_null(parts);
    sooth_prediction_memory_parts(prediction, parts);
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(prediction, i);
        assert_true(fabs(sum_of(&parts[i]) - (double)k.allocated_bytes / (1 << 20)) < 1e-9);
        assert_true(parts[i].activations_mib >= 0 && parts[i].gradients_mib >= 0);
        most = fmax(most, parts[i].activations_mib);
    }
    sooth_memory m = sooth_prediction_memory(prediction);
    const sooth_memory_parts *peak = &parts[m.peak_kernel];
    assert_true(most > 0);
    assert_true(peak->weights_mib == m.weights_mib && peak->activations_mib == m.activations_mib);
    assert_true(peak->gradients_mib == m.gradients_mib && peak->optimizer_mib == m.optimizer_mib);
    free(parts);
    sooth_prediction_free(prediction);
    sooth_free(model);
}

static void what_is_beyond_the_end_is_empty(void **state)
{
    (void)state;
    sooth_model *model = loaded("zoo:resnet18", 1);
    sooth_prediction *prediction;
    assert_int_equal(sooth_predict(model, NULL, &prediction, NULL), SOOTH_OK);
    size_t count;
    assert_string_equal(sooth_predicted_layer_at(prediction, SIZE_MAX).name, "");
    assert_string_equal(sooth_predicted_kernel_at(prediction, SIZE_MAX).op, "");
    assert_string_equal(sooth_predicted_input(prediction, SIZE_MAX, 0).dtype, "");
    assert_string_equal(sooth_predicted_input(prediction, 0, SIZE_MAX).dtype, "");
    assert_string_equal(sooth_predicted_output(prediction, SIZE_MAX, 0).dtype, "");
    assert_null(sooth_prediction_unknown(prediction, 0, &count));
    assert_null(sooth_predicted_fused(prediction, 0, 0)); /* eager: nothing is fused */
    assert_null(sooth_predicted_fused(prediction, SIZE_MAX, 0));
    assert_null(sooth_predict_choice("precision", 1000));
    assert_null(sooth_predict_choice("colour", 0));
    sooth_prediction_free(prediction);
    sooth_prediction_free(NULL);
    sooth_free(model);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    sooth_error error;
    sooth_model *model;
    sooth_prediction *prediction;
    assert_int_equal(sooth_load_file("zoo:resnet18", &model, &error), SOOTH_OK);
    assert_int_equal(sooth_predict(model, NULL, &prediction, &error), SOOTH_ERROR_USAGE); /* not bound */
    assert_null(prediction);
    assert_int_equal(sooth_bind(model, &(sooth_options){.batch = 1}, &error), SOOTH_OK);
    const sooth_predict_options wrong[] = {{.gpu = "z80"},
                                           {.precision = "fp15"},
                                           {.layout = "chwn"},
                                           {.runtime = "steam"},
                                           {.mode = "guess"},
                                           {.optimizer = "luck"},
                                           {.gpu = "t4", .precision = "nothing at all"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(sooth_predict(model, &wrong[i], &prediction, &error), SOOTH_ERROR_USAGE);
        assert_null(prediction);
        assert_true(error.message[0]);
    }
    assert_true(latency(model, NULL) > 0); /* the model is unaffected */
    char *text;
    assert_int_equal(sooth_prediction_report(NULL, 0, NULL, &text, NULL, &error), SOOTH_ERROR_USAGE);
    sooth_free(model);
}

static void names_and_settings_agree(void **state)
{
    (void)state;
    for (setting_part part = SETTING_PRECISION; part <= SETTING_OPTIMIZER; part++) {
        const char *name;
        for (size_t i = 0; (name = setting_choice(part, i)); i++) {
            setting s = setting_default(), again = setting_default();
            assert_true(setting_set(&s, part, str_of(name)));
            assert_true(setting_set(&again, part, str_of(setting_name(&s, part))));
            assert_string_equal(setting_name(&s, part), setting_name(&again, part));
            assert_string_equal(sooth_predict_choice(setting_part_name(part), i), name);
        }
        setting s = setting_default();
        assert_true(setting_set(&s, part, STR("")));
        assert_false(setting_set(&s, part, STR("no such name")));
    }
    setting s = setting_default();
    setting_set_stack(&s, STR("pt1.13-cu117"));
    assert_true(s.lower.explicit_attention && s.lower.single_updates);
    setting_set_stack(&s, STR("pt2.4-cu124"));
    assert_false(s.lower.explicit_attention || s.lower.single_updates);
    assert_int_equal(s.lower.steps, STEPS_HALF);
    setting_set_stack(&s, STR("pt2.9.1-cu128"));
    assert_int_equal(s.lower.steps, STEPS_FLOAT);
    setting_set_stack(&s, STR(""));
    assert_int_equal(s.lower.steps, STEPS_NEWEST);
}

/* What the model keeps of a prediction must not affect one with other options. */
static void the_kept_program_is_the_right_one(void **state)
{
    (void)state;
    sooth_model *model = loaded("zoo:resnet18", 4);
    const sooth_predict_options asked[] = {{.precision = "fp32"},
                                           {.precision = "fp16"},
                                           {.precision = "fp16", .layout = "nhwc"},
                                           {.precision = "fp16", .mode = "train"},
                                           {.precision = "fp16", .mode = "train", .optimizer = "adam"},
                                           {.precision = "fp16", .mode = "train", .stack = "pt1.13-cu117"}};
    enum { COUNT = sizeof asked / sizeof *asked };
    double fresh[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sooth_model *other = loaded("zoo:resnet18", 4);
        fresh[i] = latency(other, &asked[i]);
        sooth_free(other);
    }
    for (size_t i = 0; i < (size_t)3 * COUNT; i++)
        assert_true(latency(model, &asked[i * 5 % COUNT]) == fresh[i * 5 % COUNT]);
    sooth_free(model);
}

typedef struct race {
    double ms[64];
} race;

static void predict_item(void *context, size_t item, size_t worker)
{
    (void)worker;
    sooth_model *model = NULL;
    sooth_prediction *prediction = NULL;
    race *r = context;
    if (sooth_load_file("zoo:resnet18", &model, NULL) == SOOTH_OK &&
        sooth_bind(model, &(sooth_options){.batch = 1 + (int64_t)item % 4}, NULL) == SOOTH_OK &&
        sooth_predict(model, NULL, &prediction, NULL) == SOOTH_OK)
        r->ms[item] = sooth_prediction_totals_of(prediction).latency_ms.value;
    sooth_prediction_free(prediction);
    sooth_free(model);
}

static void threads_get_the_same_answers(void **state)
{
    (void)state;
    race alone = {0}, together = {0};
    parallel_for(64, 1, predict_item, &alone);
    parallel_for(64, 4, predict_item, &together);
    for (size_t i = 0; i < 64; i++) {
        assert_true(alone.ms[i] > 0);
        assert_true(alone.ms[i] == together.ms[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_header),
        cmocka_unit_test(messages_are_one_line),
        cmocka_unit_test(a_prediction_stands_by_itself),
        cmocka_unit_test_prestate(rows_sum_to_the_total, "infer"),
        cmocka_unit_test_prestate(rows_sum_to_the_total, "train"),
        cmocka_unit_test_prestate(parts_of_memory_sum_at_every_kernel, "infer"),
        cmocka_unit_test_prestate(parts_of_memory_sum_at_every_kernel, "train"),
        cmocka_unit_test(what_is_beyond_the_end_is_empty),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(names_and_settings_agree),
        cmocka_unit_test(the_kept_program_is_the_right_one),
        cmocka_unit_test(threads_get_the_same_answers),
    };
    return cmocka_run_group_tests_name("predict", tests, NULL, NULL);
}
