/* largest.c: sooth_largest_batch: the batch is doubled until it does not fit, then the space between is halved. */
#include "base/fail.h"
#include "sooth.h"

#include <math.h>

static const int64_t MOST = 1 << 20; /* more samples than any GPU has room for */

typedef struct search {
    sooth_model *model;
    sooth_options dims;
    sooth_predict_options where;
    sooth_error *error;
} search;

/* Whether the batch fits. What is too large to be lowered at all does not, if one sample can be. */
static sooth_status try_batch(const search *s, int64_t batch, bool *fits)
{
    sooth_options dims = s->dims;
    sooth_prediction *prediction;
    *fits = false;
    dims.batch = batch;
    sooth_status status = sooth_bind(s->model, &dims, s->error);
    if (status == SOOTH_OK)
        status = sooth_predict(s->model, &s->where, &prediction, s->error);
    if (status == SOOTH_ERROR_UNSUPPORTED && batch > 1)
        return SOOTH_OK;
    if (status != SOOTH_OK)
        return status;
    sooth_memory memory = sooth_prediction_memory(prediction);
    sooth_prediction_free(prediction);
    *fits = (s->where.by_estimate ? memory.fits : memory.fits_upper) && !memory.limit;
    if (!isnan(memory.capacity_mib))
        return SOOTH_OK;
    return error_say(s->error, SOOTH_ERROR_UNSUPPORTED, "how much memory the GPU has is not known");
}

sooth_status sooth_largest_batch(sooth_model *model, const sooth_options *dims, const sooth_predict_options *options,
                                 int64_t most, int64_t *batch, sooth_error *error)
{
    sooth_error own;
    search s = {.model = model, .error = error_or(error, &own)};
    s.dims = dims ? *dims : (sooth_options){0};
    s.where = options ? *options : (sooth_predict_options){0};
    s.where.memory = true;
    int64_t fitting = 0, failing = (most > 0 ? most : MOST) + 1;
    bool fits = true;
    sooth_status status = SOOTH_OK;
    for (int64_t next = 1; status == SOOTH_OK && fits && next < failing; next *= 2) {
        status = try_batch(&s, next, &fits);
        *(fits ? &fitting : &failing) = next;
    }
    while (status == SOOTH_OK && failing - fitting > 1) {
        int64_t middle = fitting + (failing - fitting) / 2;
        status = try_batch(&s, middle, &fits);
        *(fits ? &fitting : &failing) = middle;
    }
    *batch = status == SOOTH_OK ? fitting : 0;
    if (status == SOOTH_OK) { /* the model is left with it */
        s.dims.batch = fitting > 0 ? fitting : 1;
        status = sooth_bind(model, &s.dims, s.error);
    }
    return status;
}
