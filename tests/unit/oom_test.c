/* oom_test.c: out of memory at every single allocation: loading, binding, reports, writing ONNX, reading GPU files,
 * predicting. The linker wraps the allocators (see the Makefile); the k-th call fails, for every k until everything
 * succeeds. Nothing may crash, leak, or return anything but a system error. */
#include "sooth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static long calls;     /* allocations since the count began */
static long failing;   /* index of the failing call; 0: none */
static long live;      /* blocks and mappings not freed */
static bool keep_on;   /* all later calls fail too */
static bool is_inside; /* counts only calls inside the library */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__real_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __real_munmap(void *at, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *at, size_t size);

static bool fails_now(void)
{
    if (!is_inside)
        return false;
    calls++;
    return failing && (calls == failing || (keep_on && calls > failing));
}

static void *counted(void *p)
{
    live += is_inside && p;
    return p;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *p, size_t size)
{
    if (fails_now())
        return NULL;
    void *q = __real_realloc(p, size);
    return p ? q : counted(q);
}

void __wrap_free(void *p)
{
    live -= is_inside && p;
    __real_free(p);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (fails_now())
        return MAP_FAILED;
    void *p = __real_mmap(at, size, protection, flags, file, offset);
    live += is_inside && p != MAP_FAILED;
    return p;
}

int __wrap_munmap(void *at, size_t size)
{
    live -= is_inside;
    return __real_munmap(at, size);
}

/* All steps for a file; returns the first status that is not SOOTH_OK. */
static sooth_status whole_way(const char *path)
{
    sooth_error error = {0};
    sooth_model *model = NULL;
    sooth_status status = sooth_load_file(path, &model, &error);
    if (status != SOOTH_OK) {
        if (model || !error.message[0])
            return SOOTH_ANSWER_NO; /* the contract is broken */
        return status;
    }
    sooth_options options = {.batch = 2};
    status = sooth_bind(model, &options, &error);
    for (int format = SOOTH_FORMAT_TABLE; status == SOOTH_OK && format <= SOOTH_FORMAT_SVG; format++) {
        sooth_report_options how = {.format = (sooth_format)format, .values = format <= SOOTH_FORMAT_CSV};
        char *text = NULL;
        status = sooth_report(model, &how, &text, NULL, &error);
        free(text);
    }
    if (status == SOOTH_OK) {
        void *bytes = NULL;
        size_t size;
        status = sooth_write_onnx(model, &bytes, &size, &error);
        free(bytes);
    }
    if (status == SOOTH_OK)
        status = sooth_bind(model, NULL, &error);
    sooth_free(model);
    return status;
}

static sooth_status gpus_way(const char *path)
{
    sooth_error error = {0};
    sooth_gpus *gpus = NULL;
    const sooth_gpu *gpu = NULL;
    sooth_status status = sooth_gpus_open(NULL, &gpus, &error);
    if (status != SOOTH_OK)
        return gpus || !error.message[0] ? SOOTH_ANSWER_NO : status; /* the contract is broken */
    status = sooth_gpus_find(gpus, path, &gpu, &error);
    for (int format = SOOTH_FORMAT_TABLE; status == SOOTH_OK && format <= SOOTH_FORMAT_CSV; format++) {
        sooth_report_options how = {.format = (sooth_format)format};
        char *text = NULL;
        status = sooth_gpus_report(gpus, format == SOOTH_FORMAT_CSV ? NULL : gpu, &how, &text, NULL, &error);
        free(text);
    }
    sooth_gpus_free(gpus);
    return status;
}

static sooth_status predict_way(const char *path)
{
    sooth_error error = {0};
    sooth_model *model = NULL;
    sooth_prediction *predictions[2] = {NULL, NULL};
    sooth_status status = sooth_load_file(path, &model, &error);
    if (status != SOOTH_OK)
        return status;
    sooth_options options = {.batch = 2};
    status = sooth_bind(model, &options, &error);
    const char *const modes[2] = {"infer", "train"};
    for (int i = 0; i < 2 && status == SOOTH_OK; i++) {
        sooth_predict_options where = {.gpu = "t4", .mode = modes[i]};
        status = sooth_predict(model, &where, &predictions[i], &error);
        if ((status == SOOTH_OK) != (predictions[i] != NULL) || (status != SOOTH_OK && !error.message[0]))
            status = SOOTH_ANSWER_NO; /* the contract is broken */
    }
    sooth_free(model); /* predictions outlive it */
    for (int format = SOOTH_FORMAT_TABLE; status == SOOTH_OK && format <= SOOTH_FORMAT_HTML; format++) {
        if (format == SOOTH_FORMAT_DOT || format == SOOTH_FORMAT_SVG)
            continue;
        sooth_report_options how = {.format = (sooth_format)format, .kernels = true};
        char *text = NULL;
        status = sooth_prediction_report((const sooth_prediction *const *)predictions, 1, &how, &text, NULL, &error);
        free(text);
    }
    sooth_prediction_free(predictions[0]);
    sooth_prediction_free(predictions[1]);
    return status;
}

static void every_allocation_fails_once(sooth_status (*way)(const char *), const char *path)
{
    for (int round = 0; round < 2; round++) {
        keep_on = round == 1;
        sooth_status status;
        long k = 0;
        do {
            calls = live = 0;
            failing = ++k;
            is_inside = true;
            status = way(path);
            is_inside = false;
            if (live != 0)
                fail_msg("%s: %ld blocks leak when allocation %ld fails", path, live, k);
            if (status != SOOTH_OK && status != SOOTH_ERROR_SYSTEM)
                fail_msg("%s: status %d when allocation %ld fails", path, (int)status, k);
            if (status == SOOTH_OK && calls >= k)
                fail_msg("%s: the failure of allocation %ld went unnoticed", path, k);
        } while (calls >= k);
        assert_int_equal(status, SOOTH_OK);
        assert_true(k > 2);
    }
}

static void of_model(void **state)
{
    const char *build = getenv("SOOTH_BUILD");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/models/%s", build ? build : "build", (const char *)*state);
    every_allocation_fails_once(whole_way, path);
}

static void of_zoo(void **state)
{
    (void)state;
    every_allocation_fails_once(whole_way, "zoo:resnet18");
}

static void of_gpus(void **state)
{
    (void)state;
    every_allocation_fails_once(gpus_way, "data/gpus/t4.txt");
}

static void of_predictions(void **state)
{
    (void)state;
    predict_way("zoo:resnet18"); /* big-endian machines keep a copy of the weights after the first prediction */
    every_allocation_fails_once(predict_way, "zoo:resnet18");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(of_model, "convnet.onnx"),
        cmocka_unit_test_prestate(of_model, "control.onnx"),
        cmocka_unit_test_prestate(of_model, "transformer.onnx"),
        cmocka_unit_test_prestate(of_model, "convnet.onnx.gz"),
        cmocka_unit_test(of_zoo),
        cmocka_unit_test(of_gpus),
        cmocka_unit_test(of_predictions),
    };
    return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
