/* handles_test.c: handles are independent: threads with their own handles give the answers of a single thread. `make
 * tsan` detects shared state. */
#include "base/threads.h"
#include "sooth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct question {
    const char *model, *gpu, *runtime, *mode;
    int64_t batch;
} question;

static const question QUESTIONS[] = {
    {"zoo:resnet18", "a100-sxm4-40gb", "eager", "infer", 8}, {"zoo:resnet18", "t4", "inductor", "infer", 4},
    {"zoo:mobilenet_v2", "t4", "engine", "infer", 1},        {"zoo:bert", "h100-sxm5-80gb", "eager", "train", 2},
    {"zoo:vit_b_16", "rtx-3090", "inductor", "infer", 2},    {"zoo:resnet18", "v100-sxm2-16gb", "eager", "train", 4},
};
enum { QUESTION_COUNT = sizeof QUESTIONS / sizeof *QUESTIONS, ROUNDS = 4, WORKERS = 4 };

typedef struct answers {
    char *texts[QUESTION_COUNT * ROUNDS];
    const sooth_predictor *predictor; /* shared by all; NULL: the library's */
} answers;

static bool write_all(sooth_model *model, const sooth_predict_options *where, char *to, size_t room)
{
    sooth_prediction *prediction = NULL;
    char *inspected = NULL, *predicted = NULL;
    void *onnx = NULL;
    size_t inspected_size, predicted_size, onnx_size;
    bool is_done = sooth_report(model, &(sooth_report_options){.format = SOOTH_FORMAT_JSON}, &inspected,
                                &inspected_size, NULL) == SOOTH_OK &&
                   sooth_write_onnx(model, &onnx, &onnx_size, NULL) == SOOTH_OK &&
                   sooth_predict(model, where, &prediction, NULL) == SOOTH_OK &&
                   sooth_prediction_report((const sooth_prediction *const *)&prediction, 1,
                                           &(sooth_report_options){.format = SOOTH_FORMAT_JSON}, &predicted,
                                           &predicted_size, NULL) == SOOTH_OK;
    if (is_done)
        snprintf(to, room, "%zu %zu %s", inspected_size, onnx_size, predicted);
    free(inspected);
    free(predicted);
    free(onnx);
    sooth_prediction_free(prediction);
    return is_done;
}

static void ask(void *context, size_t item, size_t worker)
{
    (void)worker;
    answers *all = context;
    const question *q = &QUESTIONS[item % QUESTION_COUNT];
    const size_t room = 1 << 20;
    char *text = calloc(room, 1);
    sooth_model *model = NULL;
    sooth_predict_options where = {.gpu = q->gpu, .runtime = q->runtime, .mode = q->mode, .predictor = all->predictor};
    if (text && sooth_load_file(q->model, &model, NULL) == SOOTH_OK &&
        sooth_bind(model, &(sooth_options){.batch = q->batch}, NULL) == SOOTH_OK &&
        !write_all(model, &where, text, room))
        text[0] = '\0';
    sooth_free(model);
    all->texts[item] = text;
}

static void compare(const sooth_predictor *predictor)
{
    static answers one, many;
    one.predictor = many.predictor = predictor;
    for (size_t i = 0; i < QUESTION_COUNT; i++)
        ask(&one, i, 0);
    parallel_for((size_t)QUESTION_COUNT * ROUNDS, WORKERS, ask, &many);
    for (size_t i = 0; i < (size_t)QUESTION_COUNT * ROUNDS; i++) {
        assert_non_null(many.texts[i]);
        assert_true(strlen(many.texts[i]) > 1000);
        assert_string_equal(many.texts[i], one.texts[i % QUESTION_COUNT]);
        free(many.texts[i]);
    }
    for (size_t i = 0; i < QUESTION_COUNT; i++)
        free(one.texts[i]);
}

static void threads_give_the_answers_of_one(void **state)
{
    (void)state;
    compare(NULL);
}

static void threads_share_a_predictor(void **state)
{
    (void)state;
    sooth_predictor *predictor;
    assert_int_equal(sooth_predictor_open("data/weights.bin", &predictor, NULL), SOOTH_OK);
    compare(predictor);
    sooth_predictor_free(predictor);
}

static void paths_that_are_not_there_are_errors(void **state)
{
    (void)state;
    sooth_error error;
    sooth_model *model = (sooth_model *)&error; /* must be NULL afterwards */
    sooth_predictor *predictor = (sooth_predictor *)&error;
    assert_int_equal(sooth_load_file(NULL, &model, &error), SOOTH_ERROR_USAGE);
    assert_null(model);
    assert_non_null(strstr(error.message, "no path"));
    assert_int_equal(sooth_predictor_open(NULL, &predictor, &error), SOOTH_ERROR_USAGE);
    assert_null(predictor);
    assert_non_null(strstr(error.message, "no path"));
    assert_int_equal(sooth_predictor_open(NULL, &predictor, NULL), SOOTH_ERROR_USAGE);
    assert_int_equal(sooth_load_memory("x", 1, NULL, &model, &error), SOOTH_ERROR_INPUT);
    assert_null(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_give_the_answers_of_one),
        cmocka_unit_test(threads_share_a_predictor),
        cmocka_unit_test(paths_that_are_not_there_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
