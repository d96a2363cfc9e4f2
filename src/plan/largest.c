/* largest.c: sooth_largest_batch: the batch is doubled until it does not fit, then the space between is halved. What fits is not a matter of
 * size alone: algorithms change with the batch, and the allocator goes other ways where room is short. So nothing near the end is guessed; only
 * batches that take a small part of the room are passed over. A trial computes memory, not times. */
#include "predict/answer.h"

#include <math.h>

static const int64_t MOST = 1 << 20; /* more samples than any GPU has room for */

typedef struct search {
    sooth_model *model;
    sooth_options dims;
    sooth_predict_options where;
    sooth_error *error;
    int64_t fitting, failing; /* the largest that fits, the smallest that does not; what is between is open */
    int64_t bound;            /* the batch that the model is bound to; 0: not known */
} search;

/* Whether the batch fits. What is too large to be lowered at all does not, if one sample can be. `share` is that of the room which it takes,
 * INFINITY if it is not known. */
static sooth_status try_batch(search *s, int64_t batch, double *share)
{
    sooth_options dims = s->dims;
    sooth_memory m;
    dims.batch = batch;
    s->bound = 0;
    *share = INFINITY;
    sooth_status status = sooth_bind(s->model, &dims, s->error);
    if (status == SOOTH_OK) {
        s->bound = batch;
        status = predict_memory(s->model, &s->where, &m, s->error);
    }
    if (status == SOOTH_ERROR_UNSUPPORTED && batch > 1) {
        s->failing = batch;
        return SOOTH_OK;
    }
    if (status != SOOTH_OK)
        return status;
    if (isnan(m.capacity_mib))
        return error_say(s->error, SOOTH_ERROR_UNSUPPORTED, "how much memory the GPU has is not known");
    bool fits = (s->where.by_estimate ? m.fits : m.fits_upper) && !m.limit;
    *(fits ? &s->fitting : &s->failing) = batch;
    if (fits)
        *share = m.total_mib.high / m.capacity_mib;
    return SOOTH_OK;
}

/* Doubles the batch until it does not fit. Twice the batch takes at most twice the memory, so where that is a small part of the room,
 * some steps need no trial. If something else than memory ends there, they are made after all. */
static sooth_status double_batch(search *s)
{
    static const double SURE = 0.25; /* of the room */
    double share;
    sooth_status status = try_batch(s, 1, &share);
    for (int64_t next = 2; status == SOOTH_OK && s->fitting > 0 && next < s->failing;) {
        int64_t ahead = next;
        while (share * (double)(2 * ahead / s->fitting) <= SURE && 2 * ahead < s->failing)
            ahead *= 2;
        int64_t end = s->failing;
        status = try_batch(s, ahead, &share);
        if (status == SOOTH_OK && s->fitting != ahead && ahead > next) { /* not by its memory */
            s->failing = end;
            share = INFINITY;
            continue;
        }
        next = 2 * ahead;
    }
    return status;
}

sooth_status sooth_largest_batch(sooth_model *model, const sooth_options *dims, const sooth_predict_options *options,
                                 int64_t most, int64_t *batch, sooth_error *error)
{
    sooth_error own;
    search s = {.model = model, .error = error_or(error, &own)};
    s.dims = dims ? *dims : (sooth_options){0};
    s.where = options ? *options : (sooth_predict_options){0};
    s.where.memory = true;
    s.failing = (most > 0 ? most : MOST) + 1;
    sooth_gpus *gpus;
    sooth_status status = predict_device(&s.where, &gpus, &s.where.device, s.error);
    if (status == SOOTH_OK)
        status = double_batch(&s);
    while (status == SOOTH_OK && s.failing - s.fitting > 1) {
        double share;
        status = try_batch(&s, s.fitting + (s.failing - s.fitting) / 2, &share);
    }
    sooth_gpus_free(gpus);
    *batch = status == SOOTH_OK ? s.fitting : 0;
    s.dims.batch = s.fitting > 0 ? s.fitting : 1;
    if (status == SOOTH_OK && s.bound != s.dims.batch) /* the model is left with it */
        status = sooth_bind(model, &s.dims, s.error);
    return status;
}
