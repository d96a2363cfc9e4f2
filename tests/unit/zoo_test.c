/* zoo_test.c: networks of the zoo and their parameters: tensor names are unique, and malformed names are refused. */
#include "sooth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const NETWORKS[] = {
    "zoo:resnet/101?groups=32&width=4&image=64&classes=10",
    "zoo:vgg/11?norm=batch",
    "zoo:vgg/13?image=255&classes=1",
    "zoo:alexnet?image=223",
    "zoo:squeezenet/1.1?image=32",
    "zoo:resnet/18?image=32",
    "zoo:googlenet?image=32&classes=7",
    "zoo:inception_v3?image=75",
    "zoo:densenet/1?growth=8&stem=2&image=32",
    "zoo:mobilenet_v1?width=0.05&image=32",
    "zoo:mobilenet_v2/0.35?image=33",
    "zoo:mobilenet_v3?width=0.75&size=small&image=32",
    "zoo:mnasnet/1.4?image=97",
    "zoo:shufflenet_v2/2.0?image=33",
    "zoo:efficientnet?width=0.3&depth=0.05&image=32",
    "zoo:efficientnet_v2?size=m&width=0.5&image=45",
    "zoo:regnet?depth=1&w0=8&wa=0&wm=1.05&group=4096&se=1&image=32",
    "zoo:convnext/8?blocks=1,2,1,1&image=32",
    "zoo:vit/8?layers=1&hidden=64&heads=4&ffn=32&image=16",
    "zoo:swin/8?blocks=2&heads=2&window=3&image=36",
    "zoo:swin?blocks=1&image=32",
    "zoo:visformer/32?blocks=1&heads=4&stem=1&image=32",
    "zoo:poolformer/1,2,1,1?channels=8,16,24,32&image=32",
    "zoo:unet/4?depth=8&image=256",
    "zoo:unet/1?depth=1&image=2&classes=1",
    "zoo:yolov5/0.05?depth=0.05&image=32&classes=1",
    "zoo:nasbench201/|nor_conv_3x3~0|+|none~0|avg_pool_3x3~1|+|skip_connect~0|nor_conv_1x1~1|nor_conv_3x3~2|?cells=2",
    "zoo:fbnet/"
    "k3_e1,k3_e1_g2,k3_e3,k3_e6,k5_e1,k5_e1_g2,k5_e3,k5_e6,skip,skip,skip,skip,skip,k3_e1,k3_e1,k3_e1,k3_e1,k3_e1,"
    "k5_e1_g2,k5_e1,skip,k5_e6",
    "zoo:ofa?kernels=3,5,7,3,5,7,3,5,7,3,5,7,3,5,7,3,5,7,3,5&expansions=4&depths=2,3,4,2,3&resolution=129",
    "zoo:bert?layers=2&hidden=64&heads=4&ffn=32&vocab=99&positions=20&seq=7&head=pretrain",
    "zoo:gpt2?layers=2&hidden=64&heads=4&vocab=99&seq=7",
    "zoo:opt?layers=2&hidden=64&heads=4&vocab=99&seq=7",
    "zoo:switch?layers=4&decoder=2&hidden=64&heads=4&kv=8&ffn=32&experts=3&capacity=5&step=2&vocab=99&seq=7",
};
enum { COUNT = sizeof NETWORKS / sizeof *NETWORKS };

static sooth_model *load(const char *name)
{
    sooth_error error;
    sooth_model *model;
    if (sooth_load_file(name, &model, &error) != SOOTH_OK)
        fail_msg("%s: %s", name, error.message);
    const sooth_options options = {.batch = 2};
    if (sooth_bind(model, &options, &error) != SOOTH_OK)
        fail_msg("%s: %s", name, error.message);
    return model;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The zoo's builder does not look names up, so it must never make one twice. */
static void names_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT || sooth_zoo_name(i - COUNT); i++) {
        char name[512];
        snprintf(name, sizeof name, i < COUNT ? "%s" : "zoo:%s", i < COUNT ? NETWORKS[i] : sooth_zoo_name(i - COUNT));
        sooth_model *model = load(name);
        size_t count = sooth_value_count(model);
        const char **names = calloc(count, sizeof *names);
        assert_non_null(names);
        for (size_t k = 0; k < count; k++)
            names[k] = sooth_value_at(model, k).name;
        qsort(names, count, sizeof *names, by_text);
        for (size_t k = 1; k < count; k++)
            if (strcmp(names[k - 1], names[k]) == 0)
                fail_msg("%s: two values are called %s", name, names[k]);
        free(names);
        sooth_free(model);
    }
}

static void all_shapes_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        sooth_model *model = load(NETWORKS[i]);
        for (size_t k = 0; k < sooth_layer_count(model); k++) {
            assert_true(sooth_layer_at(model, k).op_known);
            sooth_value out = sooth_value_at(model, sooth_layer_output(model, k, 0));
            assert_true(out.rank >= 0);
            for (int d = 0; d < out.rank; d++)
                assert_true(out.dims[d] > 0);
        }
        assert_true(sooth_totals_of(model).macs > 0);
        sooth_free(model);
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

/* A name may come from any table: it is built, or refused with a message. */
static void damaged_names_are_refused(void **state)
{
    (void)state;
    static const char ALPHABET[] = "|~+?&=,/_0123459xe k";
    uint32_t seed = 1;
    int built = 0, refused = 0;
    for (int round = 0; round < 4000; round++) {
        char name[512];
        snprintf(name, sizeof name, "%s", NETWORKS[next_random(&seed) % COUNT]);
        size_t length = strlen(name);
        bool keeps_form = next_random(&seed) % 2; /* then only digits change */
        for (uint32_t changes = 1 + next_random(&seed) % 3; changes > 0; changes--) {
            char *at = &name[4 + next_random(&seed) % (length - 4)];
            if (*at >= '0' && *at <= '9')
                *at = (char)('0' + next_random(&seed) % 10);
            else if (!keeps_form)
                *at = ALPHABET[next_random(&seed) % (sizeof ALPHABET - 1)];
        }
        if (!keeps_form && next_random(&seed) % 4 == 0)
            name[5 + next_random(&seed) % (length - 5)] = '\0';
        sooth_error error;
        sooth_model *model;
        sooth_status status = sooth_load_file(name, &model, &error);
        if (status == SOOTH_OK) {
            built++;
            sooth_free(model);
            continue;
        }
        refused++;
        assert_null(model);
        assert_int_equal(status, SOOTH_ERROR_USAGE);
        assert_true(strlen(error.message) > 10);
    }
    assert_true(built > 100);
    assert_true(refused > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(all_shapes_are_known),
        cmocka_unit_test(damaged_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
