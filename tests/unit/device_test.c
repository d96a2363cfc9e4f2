/* device_test.c: shipped GPU files are valid, names find them, and errors in a file are reported. */
#include "device/device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int open_list(void **state)
{
    sooth_gpus *gpus;
    sooth_error error;
    if (sooth_gpus_open(NULL, &gpus, &error) != SOOTH_OK) {
        fprintf(stderr, "%s\n", error.message);
        return -1;
    }
    *state = gpus;
    return 0;
}

static int close_list(void **state)
{
    sooth_gpus_free(*state);
    return 0;
}

static const sooth_gpu *found(sooth_gpus *gpus, const char *name)
{
    const sooth_gpu *gpu;
    sooth_error error;
    if (sooth_gpus_find(gpus, name, &gpu, &error) != SOOTH_OK)
        fail_msg("%s: %s", name, error.message);
    return gpu;
}

static bool is_near(double a, double b, double share)
{
    return fabs(a - b) <= share * fabs(b);
}

static void all_ship(void **state)
{
    assert_true(sooth_gpus_count(*state) >= 40);
    assert_null(sooth_gpus_at(*state, sooth_gpus_count(*state)));
}

/* A file is named like its GPU, and every number in it has an origin. */
static void files_are_complete(void **state)
{
    for (size_t i = 0; i < sooth_gpus_count(*state); i++) {
        const sooth_gpu *gpu = sooth_gpus_at(*state, i);
        char file[128];
        snprintf(file, sizeof file, "data/gpus/%s.txt", sooth_gpu_text(gpu, "name"));
        assert_string_equal(file, sooth_gpu_file(gpu));
        for (int k = DEVICE_FIRST_NUMBER; k < DEVICE_FIELD_COUNT; k++) {
            const char *field = sooth_gpu_field((size_t)k);
            bool given = !isnan(sooth_gpu_number(gpu, field));
            if (given && !*sooth_gpu_origin(gpu, field) && k != DEVICE_PER_BOARD)
                fail_msg("%s: %s has no origin", file, field);
        }
    }
}

/* The name and every alias of a GPU find that GPU only. */
static void names_are_unique(void **state)
{
    for (size_t i = 0; i < sooth_gpus_count(*state); i++) {
        const sooth_gpu *gpu = sooth_gpus_at(*state, i);
        const char *alias;
        assert_ptr_equal(found(*state, sooth_gpu_text(gpu, "name")), gpu);
        for (size_t k = 0; (alias = sooth_gpu_alias(gpu, k)); k++)
            if (found(*state, alias) != gpu)
                fail_msg("%s is an alias of more than %s", alias, sooth_gpu_text(gpu, "name"));
    }
}

static void names_of_drivers_are_known(void **state)
{
    static const char *const same[][2] = {
        {"NVIDIA GeForce RTX 3090", "rtx-3090"},
        {"RTX3090", "rtx-3090"},
        {"Tesla V100-PCIE-32GB", "v100-pcie-32gb"},
        {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
        {"NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"},
        {"AMD Instinct MI250", "mi250"},
        {"A100", "a100-sxm4-40gb"},
        {"rtxpro6000maxq", "rtx-pro-6000-maxq"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_string_equal(sooth_gpu_text(found(*state, same[i][0]), "name"), same[i][1]);
}

static void unknown_names_suggest(void **state)
{
    static const struct {
        const char *name, *says;
    } cases[] = {
        {"rtx-309O", "did you mean 'rtx-3090'?"},
        {"H-10O", "did you mean"},
        {"quantum-9000-turbo", "`sooth gpus` lists them"},
        {"", "`sooth gpus` lists them"},
        {"NVIDIA", "`sooth gpus` lists them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sooth_gpu *gpu;
        sooth_error error;
        assert_int_equal(sooth_gpus_find(*state, cases[i].name, &gpu, &error), SOOTH_ERROR_USAGE);
        assert_null(gpu);
        if (!strstr(error.message, cases[i].says))
            fail_msg("'%s': %s", cases[i].name, error.message);
    }
}

/* Well-known peaks of data sheets. */
static void peaks(void **state)
{
    static const struct {
        const char *gpu, *precision;
        double tflops;
    } known[] = {
        {"a100", "fp32", 19.5},  {"a100", "tf32", 156},   {"a100", "bf16", 312},  {"a100", "int8", 624},
        {"h100", "fp16", 989},   {"h100", "fp8", 1979},   {"v100", "fp16", 125},  {"t4", "int8", 130},
        {"mi300x", "fp8", 2615}, {"mi210", "fp32", 45.3}, {"p100", "fp16", 18.7},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double flops = sooth_gpu_peak_flops(found(*state, known[i].gpu), known[i].precision);
        if (!is_near(flops / 1e12, known[i].tflops, 0.02))
            fail_msg("%s %s: %g", known[i].gpu, known[i].precision, flops / 1e12);
    }
    assert_true(is_near(sooth_gpu_vector_flops(found(*state, "mi210"), "fp32"), 22.6e12, 0.02));
    assert_true(sooth_gpu_peak_flops(found(*state, "v100"), "tf32") == 0);
    assert_true(isnan(sooth_gpu_peak_flops(found(*state, "v100"), "fp3")));
}

static void numbers_by_name(void **state)
{
    const sooth_gpu *gpu = found(*state, "a100");
    assert_true(sooth_gpu_number(gpu, "sms") == 108);
    assert_true(isnan(sooth_gpu_number(gpu, "name")) && isnan(sooth_gpu_number(gpu, "no such field")));
    assert_string_equal(sooth_gpu_text(gpu, "compute_capability"), "8.0");
    assert_null(sooth_gpu_text(gpu, "sms"));
    assert_true(*sooth_gpu_origin(gpu, "sms"));
    assert_null(sooth_gpu_field(DEVICE_FIELD_COUNT));
    assert_null(sooth_gpu_field_summary(DEVICE_FIELD_COUNT));
}

static bool is_read(str text)
{
    sooth_error error = {0};
    fail f = {.error = &error};
    arena a;
    arena_init(&a, &f, 1 << 20);
    device d = {0};
    volatile bool read = false;
    if (setjmp(f.jump) == 0) {
        device_read(&d, text, "", &a, &f);
        read = true;
    }
    arena_free(&a);
    assert_true(read || (error.code == SOOTH_ERROR_INPUT && error.message[0] != '\0'));
    return read;
}

/* Every line of a shipped file is replaced by others: each result is read, or refused with a message. */
static void damaged_files(void **state)
{
    (void)state;
    static const char *const spoiled[] = {"sms",       "sms =",           "= 5", "sms = 5 5", "sms = -1",
                                          "sms = 1e3", "boost_mhz = nan", "#",   ""};
    FILE *file = fopen("data/gpus/a100-sxm4-40gb.txt", "r");
    if (!file)
        skip();
    char content[8192];
    size_t size = fread(content, 1, sizeof content, file);
    fclose(file);
    assert_true(size > 0 && size < sizeof content);
    int refused = 0, read = 0;
    for (size_t at = 0; at < size;) {
        size_t end = at + (size_t)((char *)memchr(content + at, '\n', size - at) - (content + at)) + 1;
        for (size_t k = 0; k < sizeof spoiled / sizeof *spoiled; k++) {
            char changed[9000];
            int n = snprintf(changed, sizeof changed, "%.*s%s\n%.*s", (int)at, content, spoiled[k], (int)(size - end),
                             content + end);
            if (is_read((str){changed, (size_t)n}))
                read++;
            else
                refused++;
        }
        at = end;
    }
    assert_true(read > 0 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ship),
        cmocka_unit_test(files_are_complete),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(names_of_drivers_are_known),
        cmocka_unit_test(unknown_names_suggest),
        cmocka_unit_test(peaks),
        cmocka_unit_test(numbers_by_name),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests_name("device", tests, open_list, close_list);
}
