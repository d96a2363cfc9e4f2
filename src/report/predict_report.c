#include "report/predict_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t SCRATCH_CAP = (size_t)1 << 30;

compared predict_compared(const predict_report *r, size_t index)
{
    size_t passed = 0;
    for (; passed < r->options.refusal_count && r->options.refusals[passed].before + passed <= index; passed++)
        if (r->options.refusals[passed].before + passed == index)
            return (compared){.refusal = &r->options.refusals[passed]};
    return (compared){.prediction = index - passed < r->count ? r->predictions[index - passed] : NULL};
}

bound_shares predict_bounds(const sooth_prediction *p)
{
    bound_shares shares = {0};
    for (size_t i = 0; i < sooth_predicted_kernel_count(p); i++) {
        sooth_predicted_kernel k = sooth_predicted_kernel_at(p, i);
        *(*k.bound == 'c'   ? &shares.compute_ms
          : *k.bound == 'm' ? &shares.memory_ms
                            : &shares.launch_ms) += k.device_us / 1e3;
        shares.launch_ms += k.latency_ms - k.device_us / 1e3; /* The GPU waits for the host. */
    }
    return shares;
}

typedef struct ranked {
    double figure;
    size_t layer;
} ranked;

static int largest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->figure != y->figure)
        return x->figure > y->figure ? -1 : 1;
    return x->layer < y->layer ? -1 : x->layer > y->layer;
}

size_t *predict_rank(predict_report *r, const sooth_prediction *p, double (*figure)(sooth_predicted_layer),
                     size_t *count)
{
    size_t layers = sooth_predicted_layer_count(p), used = 0;
    ranked *all = ARENA_ARRAY(r->scratch, ranked, layers + 1);
    for (size_t i = 0; i < layers; i++) {
        double x = figure(sooth_predicted_layer_at(p, i));
        if (x > 0)
            all[used++] = (ranked){x, i};
    }
    if (used)
        qsort(all, used, sizeof *all, largest_first);
    size_t *order = ARENA_ARRAY(r->scratch, size_t, used + 1);
    for (size_t i = 0; i < used; i++)
        order[i] = all[i].layer;
    *count = used;
    return order;
}

static double latency(sooth_predicted_layer layer)
{
    return layer.latency_ms;
}

size_t *predict_costliest(predict_report *r, const sooth_prediction *p, size_t *count)
{
    return predict_rank(r, p, latency, count);
}

const char *predict_shape(predict_report *r, sooth_predicted_tensor t, const char *separator)
{
    enum { DIM_ROOM = 24 };
    if (t.rank == 0)
        return "scalar";
    size_t room = (size_t)t.rank * (DIM_ROOM + strlen(separator)) + 1;
    char *joined = ARENA_ARRAY(r->scratch, char, room), *at = joined;
    for (int i = 0; i < t.rank; i++)
        at += snprintf(at, room - (size_t)(at - joined), "%s%" PRId64, i ? separator : "", t.dims[i]);
    return joined;
}

static const char *misuse(const sooth_report_options *o, size_t count)
{
    if (count == 0)
        return "there is no prediction to report";
    count += o->refusal_count;
    if (o->format < SOOTH_FORMAT_TABLE || o->format > SOOTH_FORMAT_MEMORY_SVG || o->format == SOOTH_FORMAT_DOT ||
        o->format == SOOTH_FORMAT_SVG)
        return "predictions are written as table, JSON, CSV, trace, HTML or the picture of memory";
    if ((o->format == SOOTH_FORMAT_HTML || o->format == SOOTH_FORMAT_MEMORY_SVG) && count > 1)
        return "a page or a picture shows one prediction: give one GPU and one batch";
    if (o->format == SOOTH_FORMAT_TABLE && count > 1 && (o->layers || o->kernels || o->memory))
        return "a comparison has no layers: give one GPU and one batch, or another format";
    return NULL;
}

/* A separate function, because longjmp may lose local changes in the function that called setjmp. */
static bool write_report(predict_report *r)
{
    static void (*const writers[])(predict_report *) = {
        [SOOTH_FORMAT_TABLE] = predict_table, [SOOTH_FORMAT_JSON] = predict_json,
        [SOOTH_FORMAT_CSV] = predict_csv,     [SOOTH_FORMAT_TRACE] = predict_trace,
        [SOOTH_FORMAT_HTML] = predict_html,   [SOOTH_FORMAT_MEMORY_SVG] = predict_memory_svg};
    if (setjmp(r->out->fail->jump))
        return false;
    writers[r->options.format](r);
    return true;
}

sooth_status sooth_prediction_report(const sooth_prediction *const *predictions, size_t count,
                                     const sooth_report_options *options, char **text_out, size_t *size,
                                     sooth_error *error)
{
    sooth_error own;
    sooth_error *e = error_or(error, &own);
    *text_out = NULL;
    fail f = {.error = e};
    arena scratch;
    arena_init(&scratch, &f, SCRATCH_CAP);
    text out = {.fail = &f};
    predict_report r = {.predictions = predictions, .count = count, .out = &out, .scratch = &scratch};
    if (options)
        r.options = *options;
    const char *wrong = misuse(&r.options, count);
    if (!wrong && (r.options.format == SOOTH_FORMAT_MEMORY_SVG || r.options.memory) &&
        !sooth_prediction_memory(predictions[0]).known)
        wrong = "the prediction has no memory: ask for it (sooth_predict_options.memory)";
    if (wrong)
        return error_say(e, SOOTH_ERROR_USAGE, wrong);
    bool done = write_report(&r);
    arena_free(&scratch);
    return text_hand_out(&out, done, text_out, size);
}
