#include "model.h"

#include "invariants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SOME_LAYERS = 40,   /* larger networks get fewer questions per input: more inputs find more than more questions */
    MANY_LAYERS = 3000, /* above this, one prediction and one report suffice */
    MOST_BATCH = 64,    /* limit of the largest-batch search */
    MAX_RANK_FED = 4,
};

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Pseudo-random numbers that depend only on the input's bytes. */
typedef struct draws {
    uint64_t state;
} draws;

static uint64_t hash_of(const uint8_t *bytes, size_t size)
{
    uint64_t h = 14695981039346656037U; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        h = (h ^ bytes[i]) * 1099511628211U;
    return h;
}

static size_t draw(draws *d, size_t count)
{
    uint64_t z = d->state += 0x9E3779B97F4A7C15U; /* SplitMix64 */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return (size_t)((z ^ (z >> 31)) % count);
}

/* True once in `count` draws, and less often for networks that take long. */
static bool now_and_then(draws *d, size_t count, const sooth_model *model)
{
    return draw(d, sooth_layer_count(model) > SOME_LAYERS ? 5 * count : count) == 0;
}

/* A random valid value for an option. */
static const char *draw_choice(draws *d, const char *part)
{
    size_t count = 0;
    while (sooth_predict_choice(part, count))
        count++;
    return sooth_predict_choice(part, draw(d, count));
}

static sooth_gpus *all_gpus(void)
{
    static sooth_gpus *gpus; /* kept, because reading them takes longer than a small network */
    if (!gpus && sooth_gpus_open(NULL, &gpus, NULL) != SOOTH_OK)
        broken("the GPUs that ship cannot be read");
    return gpus;
}

static sooth_predict_options draw_setting(draws *d)
{
    static const char *const STACKS[] = {"", "", "pt1.13-cu117", "pt2.4-cu124", "trt8.5"};
    static const char *const SOURCES[] = {"", "", "timm", "nvidia-dle"};
    sooth_predict_options where = {.device = sooth_gpus_at(all_gpus(), draw(d, sooth_gpus_count(all_gpus()))),
                                   .precision = draw_choice(d, "precision"),
                                   .layout = draw_choice(d, "layout"),
                                   .runtime = draw_choice(d, "runtime"),
                                   .mode = draw_choice(d, "mode"),
                                   .optimizer = draw_choice(d, "optimizer"),
                                   .stack = STACKS[draw(d, 5)],
                                   .source = SOURCES[draw(d, 4)],
                                   .memory = draw(d, 4) > 0,
                                   .by_estimate = draw(d, 2),
                                   .power_limit_w = draw(d, 4) ? 0 : 150,
                                   .co2_g_per_kwh = draw(d, 2) ? 0 : 400};
    size_t slices = sooth_mig_count(where.device);
    if (slices > 0 && draw(d, 3) == 0)
        where.mig = sooth_mig_at(where.device, draw(d, slices)).name;
    if (strcmp(where.mode, "train") != 0 || strcmp(where.runtime, "engine") == 0)
        where.optimizer = NULL;
    return where;
}

/* ---- one thing after the other ----------------------------------------------------------------------------------- */

/* A checked report of the bound model, owned by the caller. NULL: refused. */
static char *inspect(const sooth_model *model, const sooth_report_options *options)
{
    char *text;
    size_t size;
    sooth_error error;
    sooth_status status = sooth_report(model, options, &text, &size, &error);
    if (status != SOOTH_OK) {
        check_error(status, &error);
        return NULL;
    }
    if (options->format == SOOTH_FORMAT_JSON)
        check_inspect_json(text, size);
    else
        check_text(text, size, options->format);
    return text;
}

static char *inspect_plainly(const sooth_model *model)
{
    return inspect(model, &(sooth_report_options){.format = SOOTH_FORMAT_JSON, .values = true});
}

static void inspect_somehow(const sooth_model *model, draws *d)
{
    sooth_report_options options = {.format = (sooth_format)draw(d, SOOTH_FORMAT_SVG + 1)};
    if (options.format < SOOTH_FORMAT_DOT) { /* pictures do not have the other options */
        options.values = draw(d, 2);
        options.top = draw(d, 2) * 3;
        options.depth = draw(d, 3);
        options.columns = draw(d, 2) * 60;
        options.colors = draw(d, 2);
        options.ascii = draw(d, 2);
    }
    free(inspect(model, &options));
}

static void same_text(const char *one, const char *other, const char *what)
{
    if (!one || !other || strcmp(one, other) == 0)
        return;
    size_t at = 0;
    while (one[at] == other[at])
        at++;
    size_t from = at > 60 ? at - 60 : 0;
    broken("%s differ at byte %zu: '%.160s' and '%.160s'", what, at, one + from, other + from);
}

static char *report(const sooth_prediction *prediction, size_t count, const sooth_report_options *options)
{
    const sooth_prediction *const predictions[] = {prediction, prediction};
    char *text;
    size_t size;
    sooth_error error;
    sooth_status status = sooth_prediction_report(predictions, count, options, &text, &size, &error);
    if (status != SOOTH_OK) {
        check_error(status, &error);
        return NULL;
    }
    check_text(text, size, options->format);
    return text;
}

static sooth_prediction *predict(sooth_model *model, const sooth_predict_options *where)
{
    sooth_error error;
    sooth_prediction *prediction;
    sooth_status status = sooth_predict(model, where, &prediction, &error);
    if (status != SOOTH_OK) {
        check_error(status, &error);
        if (prediction)
            broken("a prediction although it failed: %s", error.message);
        return NULL;
    }
    check_prediction(prediction);
    return prediction;
}

/* A prediction with its reports, and the same again for comparison. */
static void predict_somehow(sooth_model *model, draws *d)
{
    static const sooth_format FORMATS[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_CSV,  SOOTH_FORMAT_CSV,
                                           SOOTH_FORMAT_TRACE, SOOTH_FORMAT_HTML, SOOTH_FORMAT_MEMORY_SVG};
    sooth_predict_options where = draw_setting(d);
    sooth_prediction *first = predict(model, &where);
    sooth_report_options some = {.format = FORMATS[draw(d, 6)],
                                 .layers = draw(d, 2),
                                 .kernels = draw(d, 2),
                                 .memory = where.memory && draw(d, 2),
                                 .columns = draw(d, 2) * 60,
                                 .ascii = draw(d, 2)};
    size_t count = 1 + (draw(d, 4) == 0);
    bool is_repeated = now_and_then(d, 2, model);
    if (!first)
        return;
    free(report(first, count, &some));
    if (is_repeated && sooth_layer_count(model) <= MANY_LAYERS) {
        sooth_report_options all = {
            .format = SOOTH_FORMAT_JSON, .layers = true, .kernels = true, .memory = where.memory};
        sooth_predict_options other = draw_setting(d);
        sooth_prediction_free(predict(model, &other)); /* must not affect later answers */
        sooth_prediction *second = predict(model, &where);
        if (!second)
            broken("predicted once, then refused");
        char *one = report(first, 1, &all), *again = report(second, 1, &all);
        same_text(one, again, "two equal predictions");
        free(one);
        free(again);
        sooth_prediction_free(second);
    }
    sooth_prediction_free(first);
}

static void plan_slices(sooth_model *model, draws *d)
{
    static const char *const GPUS[] = {"a100-sxm4-40gb", "a100-sxm4-80gb", "h100-sxm5-80gb", "a30"};
    static const sooth_format FORMATS[] = {SOOTH_FORMAT_TABLE, SOOTH_FORMAT_JSON, SOOTH_FORMAT_CSV, SOOTH_FORMAT_SVG,
                                           SOOTH_FORMAT_MIG_PARTED};
    sooth_options dims = {0};
    sooth_mig_workload work[2] = {{.model = model, .options = draw_setting(d), .dims = draw(d, 2) ? &dims : NULL},
                                  {.model = model, .options = draw_setting(d)}};
    work[0].latency_ms = draw(d, 2) ? 0 : 0.05 * (double)(1 + draw(d, 100));
    work[0].count = draw(d, 5);
    sooth_mig_options options = {.most_gpus = draw(d, 2), .time_limit_s = 0.01};
    sooth_error error;
    if (sooth_gpus_find(all_gpus(), GPUS[draw(d, 4)], &options.device, &error) != SOOTH_OK)
        broken("%s", error.message);
    sooth_mig_plan *plan;
    sooth_status status = sooth_mig_plan_make(work, 1 + draw(d, 2), &options, &plan, &error);
    if (status != SOOTH_OK && status != SOOTH_ANSWER_NO) {
        check_error(status, &error);
        return;
    }
    check_plan(plan);
    sooth_report_options how = {.format = FORMATS[draw(d, 5)], .ascii = draw(d, 2)};
    char *text;
    size_t size;
    status = sooth_mig_plan_report(plan, &how, &text, &size, &error);
    if (status == SOOTH_OK) {
        check_text(text, size, how.format);
        free(text);
    } else {
        check_error(status, &error);
    }
    sooth_mig_plan_free(plan);
}

static void find_largest(sooth_model *model, draws *d)
{
    sooth_predict_options where = draw_setting(d);
    sooth_error error;
    int64_t batch;
    sooth_status status = sooth_largest_batch(model, NULL, &where, MOST_BATCH, &batch, &error);
    if (status != SOOTH_OK) {
        check_error(status, &error);
        return;
    }
    if (batch < 0 || batch > MOST_BATCH)
        broken("the largest batch is %" PRId64, batch);
    where.memory = true;
    sooth_prediction *p = batch ? predict(model, &where) : NULL;
    if (!p)
        return;
    sooth_memory memory = sooth_prediction_memory(p);
    if (!(where.by_estimate ? memory.fits : memory.fits_upper) || memory.limit)
        broken("the largest batch, %" PRId64 ", does not fit", batch);
    sooth_prediction_free(p);
}

static int64_t layers_that_compute(const sooth_model *model)
{
    int64_t count = 0;
    for (size_t i = 0; i < sooth_layer_count(model); i++)
        count += strcmp(sooth_layer_at(model, i).op, "Transpose") != 0 &&
                 strcmp(sooth_layer_at(model, i).op, "Reshape") != 0;
    return count;
}

/* What a conversion keeps. Channels-last networks are written with additional transposes, and depthwise weights with a
 * reshape, so only computing layers count. */
typedef struct kept_figures {
    int64_t params, macs, flops, layers;
} kept_figures;

static kept_figures figures_kept(const sooth_model *model)
{
    sooth_totals t = sooth_totals_of(model);
    return (kept_figures){t.params, t.macs, t.flops, layers_that_compute(model)};
}

static bool is_program(const sooth_model *model)
{
    const char *format = sooth_info_of(model).format;
    return strcmp(format, "pt2") == 0 || strcmp(format, "torchscript") == 0;
}

/* Passes that do not run over programs: they recover layers, and drop what nobody reads although it runs. */
static const char RECOVERING[] =
    "shape-arithmetic,batch-norm,softmax,layer-norm,group-norm,weight-standardization,l2-normalize,gelu,mish,"
    "hard-swish,conv-bias,attention,pixel-shuffle,windows,roll,global-pool";

static void bind_converted(sooth_model *again, const char *skip_passes)
{
    sooth_error error;
    if (sooth_bind(again, &(sooth_options){.skip_passes = skip_passes}, &error) != SOOTH_OK)
        broken("the converted file cannot be bound: %s", error.message);
    check_model(again);
}

/* Writes the model, reads it back and compares the networks. */
static void convert(const sooth_model *model)
{
    void *bytes;
    size_t size;
    sooth_error error;
    sooth_model *again;
    sooth_status status = sooth_write_onnx(model, &bytes, &size, &error);
    if (status != SOOTH_OK) {
        check_error(status, &error);
        return;
    }
    if (sooth_load_memory(bytes, size, "fuzz", &again, &error) != SOOTH_OK)
        broken("the converted file cannot be loaded: %s", error.message);
    bind_converted(again, NULL);
    kept_figures a = figures_kept(model), b = figures_kept(again);
    if (memcmp(&a, &b, sizeof a) != 0 && is_program(model)) {
        bind_converted(again, RECOVERING);
        b = figures_kept(again);
    }
    if (memcmp(&a, &b, sizeof a) != 0)
        broken("converted: %" PRId64 " parameters, %" PRId64 " MACs, %" PRId64 " FLOPs, %" PRId64
               " layers became %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64,
               a.params, a.macs, a.flops, a.layers, b.params, b.macs, b.flops, b.layers);
    sooth_free(again);
    free(bytes);
}

/* ---- binding ----------------------------------------------------------------------------------------------------- */

static bool bind(sooth_model *model, const sooth_options *options)
{
    sooth_error error;
    sooth_status status = sooth_bind(model, options, &error);
    if (status != SOOTH_OK)
        check_error(status, &error);
    else
        check_model(model);
    return status == SOOTH_OK;
}

static void bind_somehow(sooth_model *model, draws *d)
{
    sooth_options options = {.batch = (int64_t)draw(d, 5),
                             .skip_passes = draw(d, 3) ? NULL : "all",
                             .extra_passes = draw(d, 3) ? NULL : "all"};
    int64_t dims[MAX_RANK_FED];
    for (int i = 0; i < MAX_RANK_FED; i++)
        dims[i] = (int64_t)draw(d, 6) - 1; /* includes SOOTH_AS_IN_FILE */
    char *name = NULL;
    sooth_shape_binding shape = {.dims = dims, .rank = draw(d, MAX_RANK_FED + 1)};
    if (draw(d, 3) == 0 && sooth_input_count(model) > 0) {
        name = strdup(
            sooth_value_at(model, sooth_input(model, 0)).name); /* the model's own string is freed by the next bind */
        shape.input = name;
        options.shapes = &shape;
        options.shape_count = 1;
    }
    if (bind(model, &options)) {
        inspect_somehow(model, d);
        if (sooth_layer_count(model) <= MANY_LAYERS)
            predict_somehow(model, d);
    }
    free(name);
}

static void use_model(sooth_model *model, draws *d)
{
    bool is_large = sooth_layer_count(model) > MANY_LAYERS;
    inspect_somehow(model, d);
    predict_somehow(model, d);
    if (is_large)
        return;
    if (now_and_then(d, 3, model))
        convert(model);
    if (now_and_then(d, 6, model))
        plan_slices(model, d);
    bool is_bound_anew = now_and_then(d, 2, model), is_searched = now_and_then(d, 8, model);
    if (!is_bound_anew && !is_searched)
        return;
    char *before = inspect_plainly(model);
    if (is_bound_anew)
        bind_somehow(model, d);
    if (is_searched)
        find_largest(model, d);
    if (bind(model, NULL)) {
        char *after = inspect_plainly(model);
        same_text(before, after, "reports of a model before and after it was bound to other dimensions");
        free(after);
    } else {
        broken("bound once, then refused");
    }
    free(before);
}

void fuzz_model(const uint8_t *bytes, size_t size)
{
    const char *given = getenv("FUZZ_SETTINGS");
    draws d = {given ? strtoull(given, NULL, 10) : hash_of(bytes, size)};
    invariants_settings = d.state;
    sooth_error error;
    sooth_model *model;
    sooth_status status = sooth_load_memory(bytes, size, "fuzz", &model, &error);
    if (status != SOOTH_OK) {
        check_error(status, &error);
        if (model)
            broken("a model although it failed: %s", error.message);
        return;
    }
    if (bind(model, NULL))
        use_model(model, &d);
    else
        bind_somehow(model, &d); /* it may fit with other dimensions */
    sooth_free(model);
}
