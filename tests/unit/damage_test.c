/* damage_test.c: models truncated at every byte, and with every byte replaced, are read or refused with a message.
 * AddressSanitizer and valgrind detect wrong accesses. */
#include "sooth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEP_UNDER_TOOLS = 7 }; /* distance between tested bytes under slow tools */

static uint8_t *read_model(const char *name, size_t *size)
{
    const char *build = getenv("SOOTH_BUILD");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/models/%s", build ? build : "build", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

/* Loads a copy that ends at the end of its memory, so that reads beyond it are detected. */
static sooth_status try_model(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    sooth_error error = {0};
    sooth_model *model;
    sooth_status status = sooth_load_memory(copy, size, "damaged", &model, &error);
    if (status == SOOTH_OK) {
        sooth_options options = {.batch = 2};
        status = sooth_bind(model, &options, &error);
        if (status == SOOTH_ERROR_USAGE) /* the damaged model has no batch to bind */
            status = sooth_bind(model, NULL, &error);
        if (status == SOOTH_OK) {
            char *text = NULL;
            assert_int_equal(sooth_report(model, NULL, &text, NULL, NULL), SOOTH_OK);
            free(text);
        }
        sooth_free(model);
    } else {
        assert_null(model);
    }
    if (status != SOOTH_OK) {
        assert_int_equal(error.code, status);
        assert_true(strlen(error.message) > 5);
        assert_null(strchr(error.message, '\n'));
    }
    assert_true(status == SOOTH_OK || status == SOOTH_ERROR_INPUT || status == SOOTH_ERROR_UNSUPPORTED);
    free(copy);
    return status;
}

static size_t step(void)
{
    return getenv("SOOTH_TEST_SLOW") ? STEP_UNDER_TOOLS : 1;
}

static void every_truncation(void **state)
{
    size_t size;
    uint8_t *bytes = read_model(*state, &size);
    assert_int_equal(try_model(bytes, size), SOOTH_OK);
    size_t refused = 0;
    for (size_t n = 0; n < size; n += step())
        refused += try_model(bytes, n) != SOOTH_OK;
    /* A cut between two fields of the outermost message may leave a valid model; there are few. */
    assert_true(refused * 10 > (size / step()) * 9);
    free(bytes);
}

static void every_byte_replaced(void **state)
{
    size_t size;
    uint8_t *bytes = read_model(*state, &size);
    for (size_t i = 0; i < size; i += step()) {
        uint8_t original = bytes[i];
        const uint8_t others[] = {0, 0xff, (uint8_t)(original ^ 0x80), (uint8_t)(original + 1),
                                  (uint8_t)(original ^ 0x07)};
        for (size_t k = 0; k < sizeof others; k++) {
            bytes[i] = others[k];
            try_model(bytes, size);
        }
        bytes[i] = original;
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_truncation, "convnet.onnx"),
        cmocka_unit_test_prestate(every_truncation, "convnet.onnx.gz"),
        cmocka_unit_test_prestate(every_truncation, "control.onnx"),
        cmocka_unit_test_prestate(every_byte_replaced, "convnet.onnx"),
        cmocka_unit_test_prestate(every_byte_replaced, "convnet.onnx.gz"),
        cmocka_unit_test_prestate(every_byte_replaced, "control.onnx"),
        cmocka_unit_test_prestate(every_byte_replaced, "transformer.onnx"),
    };
    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
