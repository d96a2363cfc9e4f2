/* model.h: what the fuzz targets of the model readers do with a file: loading, binding under several options, walking the whole
 * interface, all report writers, writing ONNX again, predicting. */
#ifndef SOOTH_FUZZ_MODEL_H
#define SOOTH_FUZZ_MODEL_H

#include "sooth.h"

#include <stdlib.h>

enum { MAX_RANK_FED = 4 };

static volatile size_t sink; /* so that reading what was handed out is not optimized away */

static void use(const char *text)
{
    for (size_t i = 0; text && text[i]; i++)
        sink += (size_t)text[i];
}

static void walk(const sooth_model *model)
{
    for (size_t i = 0; i < sooth_value_count(model); i++) {
        sooth_value v = sooth_value_at(model, i);
        use(v.name);
        use(v.dtype);
        for (int d = 0; d < v.rank; d++)
            use(v.dims[d] < 0 ? sooth_dim_text(model, v.dims[d]) : "");
    }
    for (size_t i = 0; i < sooth_layer_count(model); i++) {
        sooth_layer layer = sooth_layer_at(model, i);
        use(layer.name);
        use(layer.op);
        use(layer.kind);
        for (size_t j = 0; j < layer.input_count; j++) {
            size_t index = sooth_layer_input(model, i, j);
            use(index == SIZE_MAX ? "" : sooth_value_at(model, index).name);
        }
        for (size_t j = 0; j < layer.output_count; j++) {
            size_t index = sooth_layer_output(model, i, j);
            use(index == SIZE_MAX ? "" : sooth_value_at(model, index).name);
        }
    }
    for (size_t i = 0; i < sooth_note_count(model); i++)
        use(sooth_note_at(model, i));
    sink += (size_t)sooth_totals_of(model).macs;
    use(sooth_info_of(model).producer);
}

static void write_reports(const sooth_model *model, uint8_t choice)
{
    for (int format = SOOTH_FORMAT_TABLE; format <= SOOTH_FORMAT_SVG; format++) {
        bool picture = format >= SOOTH_FORMAT_DOT; /* for which the other options do not exist */
        sooth_report_options options = {.format = (sooth_format)format,
                                        .values = !picture && choice & 1,
                                        .top = !picture && choice & 2 ? 3 : 0,
                                        .depth = !picture && choice & 4 ? 2 : 0};
        char *text;
        if (sooth_report(model, &options, &text, NULL, NULL) == SOOTH_OK) {
            use(text);
            free(text);
        }
    }
    void *bytes;
    size_t size;
    if (sooth_write_onnx(model, &bytes, &size, NULL) == SOOTH_OK)
        free(bytes);
}

/* Every layout, a precision with casts, training, a compiling runtime; one format of the report each time. */
static void predict(sooth_model *model, uint8_t choice)
{
    static sooth_gpus *gpus; /* reading them takes longer than a small network */
    static const sooth_format formats[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_JSON, SOOTH_FORMAT_CSV, SOOTH_FORMAT_TRACE,
                                           SOOTH_FORMAT_HTML};
    sooth_error error;
    if (!gpus && sooth_gpus_open(NULL, &gpus, &error) != SOOTH_OK)
        abort();
    sooth_predict_options where = {.device = sooth_gpus_at(gpus, choice % sooth_gpus_count(gpus)),
                                   .precision = choice & 1 ? "amp" : "fp32",
                                   .layout = choice & 2 ? "nhwc" : "nchw",
                                   .mode = choice & 4 ? "train" : "infer",
                                   .runtime = choice & 8 ? "inductor" : "eager",
                                   .stack = choice & 16 ? "pt1.13-cu117" : ""};
    sooth_prediction *prediction;
    if (sooth_predict(model, &where, &prediction, &error) != SOOTH_OK) {
        use(error.message);
        return;
    }
    const sooth_prediction *const predictions[] = {prediction, prediction};
    sooth_report_options options = {.format = formats[choice % 5], .kernels = choice & 32, .layers = choice & 64};
    char *text;
    if (sooth_prediction_report(predictions, 1 + (choice >> 7), &options, &text, NULL, &error) == SOOTH_OK)
        use(text);
    free(text);
    sooth_prediction_free(prediction);
}

static inline int fuzz_model(const uint8_t *bytes, size_t size, uint8_t choice)
{
    sooth_error error;
    sooth_model *model;
    if (sooth_load_memory(bytes, size, "fuzz", &model, &error) != SOOTH_OK) {
        use(error.message);
        return 0;
    }
    if (sooth_bind(model, NULL, &error) == SOOTH_OK) {
        walk(model);
        write_reports(model, choice);
        predict(model, choice);
        int64_t dims[MAX_RANK_FED];
        for (int i = 0; i < MAX_RANK_FED; i++)
            dims[i] = (choice >> i) % 5;
        sooth_shape_binding shape = {.dims = dims, .rank = choice % (MAX_RANK_FED + 1)};
        sooth_options options = {.batch = 1 + choice % 3,
                                 .skip_passes = choice & 8 ? "all" : NULL,
                                 .extra_passes = choice & 16 ? "all" : NULL};
        if (sooth_bind(model, &options, &error) == SOOTH_OK) {
            walk(model);
            predict(model, choice);
        } else {
            use(error.message);
        }
        if (sooth_bind(model, NULL, &error) == SOOTH_OK && sooth_input_count(model) > 0) {
            char name[64];
            const char *from = sooth_value_at(model, sooth_input(model, 0)).name;
            size_t length = 0; /* bind makes the network anew: the name must outlive it */
            while (from[length] && length + 1 < sizeof name) {
                name[length] = from[length];
                length++;
            }
            name[length] = '\0';
            shape.input = name;
            options = (sooth_options){.shapes = &shape, .shape_count = 1};
            if (sooth_bind(model, &options, &error) == SOOTH_OK)
                walk(model);
        }
    }
    sooth_free(model);
    return 0;
}

#endif
