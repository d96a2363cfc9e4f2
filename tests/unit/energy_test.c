/* energy_test.c: the coefficient reader, the physics of power, power limits, slow sensors, and the data behind
 * intervals. */
#include "device/device.h"
#include "learn/energy_fit.h"
#include "learn/energy_interval.h"
#include "learn/energy_sensor.h"
#include "predict/energy.h"
#include "sooth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define INTERVALS                                                                                                      \
    "interval known convolutions = 0.1\ninterval known products = 0.2\ninterval known other = 0.3\n"                   \
    "interval new convolutions = 0.4\ninterval new products = 0.5\ninterval new other = 0.6\n"
#define COEFFICIENTS                                                                                                   \
    "base_hbm = 0.1\nbase_hbm3 = 0.15\nbase_gddr = 0.2\nbusy = 0.3\nhalf_busy = 0.05\nsmall_us = 40\nvector = "        \
    "0.9\ntensor = "                                                                                                   \
    "0.8\ntensor_8 = 0.7\n"                                                                                            \
    "hbm_pj_byte = 20\ngddr_pj_byte = 90\nl2_pj_byte = 10\ncap = 0.98\nclock_exponent = 3\nclock_bound = 0.5\n"

static void assert_near(double x, double expected, double within)
{
    if (!(fabs(x - expected) <= within))
        fail_msg("%.12g is not %.12g", x, expected);
}

static sooth_status read_model(power_model *m, const char *text, sooth_error *error)
{
    fail f = {.error = error};
    *error = (sooth_error){.code = SOOTH_OK};
    if (setjmp(f.jump) == 0)
        power_model_read(m, str_of(text), "FILE: ", &f);
    return error->code;
}

static void texts_are_read(void **state)
{
    (void)state;
    power_model m;
    sooth_error error;
    assert_int_equal(read_model(&m, "# all\n" COEFFICIENTS INTERVALS "gpu t4 = 0.25 1.5 0.9 # measured\n", &error),
                     SOOTH_OK);
    assert_near(m.coefficients[POWER_TENSOR], 0.8, 1e-12);
    assert_near(m.intervals[1][POWER_WORK_PRODUCT], 0.5, 1e-12);
    assert_int_equal(m.gpu_count, 1);
    assert_near(m.gpus[0].scale, 1.5, 1e-12);
}

static void faults_are_told_with_their_line(void **state)
{
    static const struct {
        const char *text, *message;
    } FAULTS[] = {
        {COEFFICIENTS, "FILE: there is no 'interval known convolutions'"},
        {INTERVALS, "FILE: there is no 'base_hbm'; make the file again with 'sooth learn --energy'"},
        {"base_hbm = 7\n", "FILE: line 1: '7' is no number from 0.01 to 0.6"},
        {"\nbase_hbm 0.1\n", "FILE: line 2: there is no ' = ' after the name"},
        {"base_hbm = 0.1 0.2\n", "FILE: line 1: more follows the value; a comment begins with '#'"},
        {"warmth = 1\n", "FILE: line 1: there is no coefficient 'warmth'"},
        {"interval old products = 1\n", "FILE: line 1: there is no interval 'old products'"},
        {"gpu t4 = 0.2\n", "FILE: line 1: '' is no number from 0.1 to 10"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof FAULTS / sizeof *FAULTS; i++) {
        power_model m;
        sooth_error error;
        assert_int_equal(read_model(&m, FAULTS[i].text, &error), SOOTH_ERROR_INPUT);
        assert_string_equal(error.message, FAULTS[i].message);
    }
}

static device half_of(const device *d)
{
    device half = *d;
    static const device_field SHARED[] = {DEVICE_SMS, DEVICE_BANDWIDTH_GB_S, DEVICE_TDP_W};
    for (size_t i = 0; i < sizeof SHARED / sizeof *SHARED; i++)
        half.numbers[SHARED[i]] /= 2;
    return half;
}

static void power_is_physics(void **state)
{
    (void)state;
    power_model m;
    sooth_error error;
    sooth_gpus *gpus;
    const sooth_gpu *gpu;
    assert_int_equal(read_model(&m, COEFFICIENTS INTERVALS, &error), SOOTH_OK);
    assert_int_equal(sooth_gpus_open(NULL, &gpus, &error), SOOTH_OK);
    assert_int_equal(sooth_gpus_find(gpus, "a100-sxm4-40gb", &gpu, &error), SOOTH_OK);
    power_view v = power_view_of(&m, gpu, 0), low = power_view_of(&m, gpu, 200);
    assert_near(v.base_w, 40, 1e-9);
    static const struct {
        const char *gpu;
        double base_w;
    } BASES[] = {{"h100-sxm5-80gb", 0.15 * 700}, {"h200-sxm-141gb", 0.15 * 700}, {"a100-sxm4-80gb", 40}, {"t4", 14}};
    for (size_t i = 0; i < sizeof BASES / sizeof *BASES; i++) { /* HBM3, HBM3e, HBM2e, GDDR */
        const sooth_gpu *other;
        assert_int_equal(sooth_gpus_find(gpus, BASES[i].gpu, &other, &error), SOOTH_OK);
        assert_near(power_view_of(&m, other, 0).base_w, BASES[i].base_w, 1e-9);
    }
    assert_near(v.cap_w, 392, 1e-9);
    assert_near(low.cap_w, 196, 1e-9);
    power_work nothing = {.device_us = 10, .active = 1}, little = {10, 0.1, 0.5, 1, UNIT_TENSOR};
    power_work much = {10, 5, 4, 1, UNIT_TENSOR}, few = {10, 5, 4, 0.1, UNIT_TENSOR};
    assert_near(power_raw(&v, &nothing), v.base_w, 1e-9);
    assert_true(power_raw(&v, &little) > v.base_w);
    assert_true(power_raw(&v, &much) > power_raw(&v, &little));
    assert_true(power_raw(&v, &few) < power_raw(&v, &much));
    /* At a hundredth of the peaks, a kernel with much work is slow, and one with little work waits. */
    power_work slow = {10000, 50, 50, 1, UNIT_VECTOR}, waits = {10, 0.05, 0.05, 1, UNIT_VECTOR};
    assert_true(power_raw(&v, &slow) - v.base_w > 3 * (power_raw(&v, &waits) - v.base_w));
    /* A limit that a kernel does not reach changes nothing. Below it the kernel takes longer, but less so if it is
     * memory-bound. */
    assert_near(power_stretch(&low, &nothing, power_raw(&low, &nothing)), 1, 1e-12);
    power_work memory = {10, 5, 10, 1, UNIT_TENSOR};
    double raw = power_raw(&low, &much), stretch = power_stretch(&low, &much, raw);
    assert_true(stretch > 1.1 && stretch < 3);
    assert_true(power_stretch(&low, &memory, raw) < stretch);
    /* A limit above the device's own has no effect. */
    assert_near(power_view_of(&m, gpu, 900).cap_w, v.cap_w, 1e-9);
    /* Half of a GPU draws half the power for the same load. */
    device half = half_of(gpu);
    power_view of_half = power_view_of(&m, &half, 0);
    assert_near(2 * power_raw(&of_half, &much), power_raw(&v, &much), 1e-9);
    sooth_gpus_free(gpus);
}

static void a_measured_gpu_has_numbers_of_its_own(void **state)
{
    (void)state;
    power_model m;
    sooth_error error;
    sooth_gpus *gpus;
    const sooth_gpu *gpu;
    assert_int_equal(read_model(&m, COEFFICIENTS INTERVALS "gpu t4 = 0.25 1.5 0.9\n", &error), SOOTH_OK);
    assert_int_equal(sooth_gpus_open(NULL, &gpus, &error), SOOTH_OK);
    assert_int_equal(sooth_gpus_find(gpus, "t4", &gpu, &error), SOOTH_OK);
    power_view v = power_view_of(&m, gpu, 0);
    assert_true(v.is_known);
    assert_near(v.base_w, 0.25 * 70, 1e-9);
    assert_near(v.cap_w, 0.9 * 70, 1e-9);
    assert_near(v.busy_w, 1.5 * 0.3 * 70, 1e-9);
    sooth_gpus_free(gpus);
}

/* Kernels and layers sum to the total; the interval contains it; no average exceeds the limit. */
static void predictions_add_up(void **state)
{
    (void)state;
    static const char *const GPUS[] = {"a100-sxm4-40gb", "t4", "mi250", "b200-sxm-180gb"};
    static const double LIMITS_W[] = {150, 50, 250, 400};
    sooth_model *model;
    sooth_error error;
    assert_int_equal(sooth_load_file("zoo:resnet18", &model, &error), SOOTH_OK);
    assert_int_equal(sooth_bind(model, &(sooth_options){.batch = 16}, &error), SOOTH_OK);
    for (size_t i = 0; i < 2 * sizeof GPUS / sizeof *GPUS; i++) {
        sooth_prediction *p;
        sooth_predict_options options = {.gpu = GPUS[i / 2],
                                         .mode = i % 2 ? "train" : "infer",
                                         .power_limit_w = i % 2 ? LIMITS_W[i / 2] : 0,
                                         .co2_g_per_kwh = 360};
        assert_int_equal(sooth_predict(model, &options, &p, &error), SOOTH_OK);
        sooth_prediction_totals t = sooth_prediction_totals_of(p);
        double layers = 0, kernels = 0, ms = 0;
        for (size_t k = 0; k < sooth_predicted_layer_count(p); k++)
            layers += sooth_predicted_layer_at(p, k).energy_j;
        for (size_t k = 0; k < sooth_predicted_kernel_count(p); k++) {
            kernels += sooth_predicted_kernel_at(p, k).energy_j;
            ms += sooth_predicted_kernel_at(p, k).latency_ms;
        }
        assert_near(layers / t.energy_j.value, 1, 1e-9);
        assert_near(kernels / t.energy_j.value, 1, 1e-9);
        assert_near(ms / t.latency_ms.value, 1, 1e-9);
        assert_true(t.energy_j.low < t.energy_j.value && t.energy_j.value < t.energy_j.high);
        assert_true(t.power_w.value <= t.power_limit_w * 1.02);
        assert_near(t.power_w.value * t.latency_ms.value / 1e3, t.energy_j.value, 1e-9 * t.energy_j.value);
        assert_near(t.energy_j_per_1000, t.energy_j.value / 16 * 1000, 1e-9 * t.energy_j_per_1000);
        assert_near(t.co2_g, t.energy_j.value / 3.6e6 * 360, 1e-12);
        sooth_prediction_free(p);
    }
    sooth_free(model);
}

static measured_row operator_row(const char *name, lower_precision precision, double latency_ms)
{
    static program any;
    measured_row row = {
        .name = str_of(name), .source = STR("aiconfigurator"), .latency_ms = latency_ms, .kernels = &any};
    row.where.lower.precision = precision;
    return row;
}

static void runs_are_as_long_as_the_collector_makes_them(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        lower_precision precision;
        double latency_ms;
        int64_t n, k;
        double run_s;
        bool is_own, has_zeros;
    } RUNS[] = {
        {"gemm", PRECISION_BF16, 0.06, 4096, 4096, 1, true, false}, /* six layers, 3000 times */
        {"gemm", PRECISION_BF16, 0.05, 4096, 4096, 0.9, false, false},
        {"gemm", PRECISION_BF16, 0.06, 4096, 65536, 1, true, true},
        {"gemm", PRECISION_BF16, 0.06, 65536, 51200, 1, true, true},
        {"gemm", PRECISION_FP8, 1, 4096, 65536, 1, false, false},
        {"encoder_attention", PRECISION_BF16, 0.4, 0, 0, 1, true, false},
        {"encoder_attention", PRECISION_BF16, 0.1, 0, 0, 0.3, false, false},
        {"context_attention", PRECISION_BF16, 2, 0, 0, 1, false, false},
    };
    for (size_t i = 0; i < sizeof RUNS / sizeof *RUNS; i++) {
        measured_row row = operator_row(RUNS[i].name, RUNS[i].precision, RUNS[i].latency_ms);
        kernel_figures figures = {.gemm = {1, 16, RUNS[i].n, RUNS[i].k}};
        kernel_time main = {.figures = &figures};
        sensor_run run = sensor_run_of(&row, &main);
        assert_near(run.run_s, RUNS[i].run_s, 1e-9);
        assert_int_equal(run.is_own, RUNS[i].is_own);
        assert_int_equal(run.has_zeros, RUNS[i].has_zeros);
        row.source = STR("zeus"); /* other sources report power directly */
        assert_true(sensor_run_of(&row, &main).is_own);
    }
}

/* Rows measured by a sensor are recognized as that sensor's. */
static void a_sensor_is_found_again(void **state)
{
    (void)state;
    const sensor made = {.window_s = 0.3, .idle = 1.2};
    sensor_row rows[40];
    for (int i = 0; i < 40; i++) {
        sensor_run run = {.run_s = 0.02 + i * 0.024};
        double own_w = 150 + (i * 37) % 550;
        rows[i] = (sensor_row){run.run_s, own_w, 120, sensor_reading(&made, &run, own_w, 120)};
    }
    /* One reading, taken before the run. */
    assert_near(rows[0].measured_w, 1.2 * 120, 1e-9);
    sensor found = sensor_fit(rows, 40);
    assert_near(found.window_s, made.window_s, 1e-9);
    assert_near(found.idle, made.idle, 1e-9);
    assert_near(sensor_reading(&found, &(sensor_run){.run_s = 1, .is_own = true}, 500, 120), 500, 1e-9);
}

/* A quarter of the multiprocessors draws half the power of all; blocks beyond the capacity draw no more. */
static void few_blocks_draw_less(void **state)
{
    (void)state;
    power_view v = {.sms = 100, .vector_peak = 1e13, .tensor_peak = 1e14};
    kernel k = {0};
    static const double BLOCKS[] = {25, 100, 400, 0}, ACTIVE[] = {0.5, 1, 1, 1};
    for (size_t i = 0; i < sizeof BLOCKS / sizeof *BLOCKS; i++) {
        kernel_figures figures = {.blocks = BLOCKS[i], .peak_flops = 1e13};
        kernel_time t = {.figures = &figures, .device_us = 10};
        assert_near(power_work_of(&v, &k, &t).active, ACTIVE[i], 1e-12);
    }
}

static void kernels_fill_a_measured_run(void **state)
{
    (void)state;
    /* Device-bound: kernels scale with the run, up to five times. */
    assert_near(energy_stretch(20, 10, 10), 2, 1e-12);
    assert_near(energy_stretch(5, 10, 10), 0.5, 1e-12);
    assert_near(energy_stretch(1000, 10, 10), 5, 1e-12);
    /* A host faster than predicted leaves the kernels unchanged, unless they do not fit into the time. */
    assert_near(energy_stretch(6, 10, 4), 1, 1e-12);
    assert_near(energy_stretch(3, 10, 4), 0.75, 1e-12);
    /* A host slower than predicted, which dominates the time, hardly stretches the kernels. */
    assert_near(energy_stretch(40, 10, 5), 2, 1e-12);
    assert_true(energy_stretch(40, 10, 0.1) < 1.02);
}

/* Two sources have products, one with many rows, the other with errors of 0.2 to 0.9; a third has convolutions. */
static void intervals_rest_on_several_sources(void **state)
{
    (void)state;
    enum { MANY = 1024, FEW = 8 };
    static interval_row rows[2 * (MANY + 2 * FEW)];
    static sooth_error error;
    static fail f = {.error = &error};
    static arena a;
    arena_init(&a, &f, 1 << 22);
    size_t n = 0;
    for (int i = 0; i < MANY; i++)
        rows[n++] = (interval_row){0.1, 1.0 / MANY, 0, POWER_WORK_PRODUCT, true};
    for (int i = 0; i < FEW; i++)
        rows[n++] = (interval_row){0.2 + 0.1 * i, 1.0 / FEW, 1, POWER_WORK_PRODUCT, true};
    for (int i = 0; i < FEW; i++)
        rows[n++] = (interval_row){0.05, 1.0 / FEW, 2, POWER_WORK_CONVOLUTION, true};
    if (setjmp(f.jump) == 0) {
        /* Sources have equal weight: quantile 0.9 of both is quantile 0.8 of the second, seven of its eight rows. */
        assert_near(interval_half(rows, n, true, POWER_WORK_PRODUCT, -1, &a), 0.8, 1e-9);
        /* Only one source has convolutions, so all three count: quantile 0.9 is 0.7 of the second, six of its eight
         * rows. */
        assert_near(interval_half(rows, n, true, POWER_WORK_CONVOLUTION, -1, &a), 0.7, 1e-9);
        /* No row has a known GPU. */
        assert_near(interval_half(rows, n, false, POWER_WORK_PRODUCT, -1, &a), 0.7, 1e-9);
        /* Without the second source only errors of 0.1 and 0.05 are left. */
        assert_near(interval_half(rows, n, true, POWER_WORK_PRODUCT, 1, &a), 0.1, 1e-9);
        /* Known GPUs must not get a wider interval than new ones. */
        for (size_t i = 0; i < n; i++) {
            rows[n + i] = rows[i];
            rows[n + i].is_new = false;
            rows[n + i].error += 1;
        }
        assert_near(interval_half(rows, 2 * n, false, POWER_WORK_PRODUCT, -1, &a), 1.8, 1e-9);
        assert_near(interval_half(rows, 2 * n, true, POWER_WORK_PRODUCT, -1, &a), 1.8, 1e-9);
        /* One source says nothing about others: the default applies. */
        assert_near(interval_half(rows, MANY, true, POWER_WORK_PRODUCT, -1, &a), 0.5, 1e-9);
    } else
        fail_msg("%s", error.message);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(faults_are_told_with_their_line),
        cmocka_unit_test(power_is_physics),
        cmocka_unit_test(a_measured_gpu_has_numbers_of_its_own),
        cmocka_unit_test(predictions_add_up),
        cmocka_unit_test(runs_are_as_long_as_the_collector_makes_them),
        cmocka_unit_test(a_sensor_is_found_again),
        cmocka_unit_test(few_blocks_draw_less),
        cmocka_unit_test(kernels_fill_a_measured_run),
        cmocka_unit_test(intervals_rest_on_several_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
