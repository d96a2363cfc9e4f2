/* serving.c: sooth_serving_of: predicts a language model on a server: one pass over the prompts, then one step per
 * new token of all sequences. */
#include "base/fail.h"

#include "sooth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The dimensions of the caller, with `seq` new tokens after `past` cached ones. */
typedef struct token_dims {
    sooth_options options;
    sooth_dim_binding *all; /* free() */
} token_dims;

static sooth_status add_tokens(const sooth_options *dims, int64_t seq, int64_t past, token_dims *to, sooth_error *error)
{
    *to = (token_dims){.options = *dims, .all = calloc(dims->dim_count + 2, sizeof *to->all)};
    if (!to->all)
        return error_say(error, SOOTH_ERROR_SYSTEM, "out of memory");
    for (size_t i = 0; i < dims->dim_count; i++)
        to->all[i] = dims->dims[i];
    to->all[to->options.dim_count++] = (sooth_dim_binding){"seq", seq};
    to->all[to->options.dim_count++] = (sooth_dim_binding){"past", past};
    to->options.dims = to->all;
    return SOOTH_OK;
}

static sooth_status bind_tokens(sooth_model *model, const sooth_options *dims, int64_t seq, int64_t past,
                                sooth_error *error)
{
    token_dims with;
    sooth_status status = add_tokens(dims, seq, past, &with, error);
    if (status == SOOTH_OK)
        status = sooth_bind(model, &with.options, error);
    free(with.all);
    if (status == SOOTH_ERROR_USAGE)
        error_add(error, "; a context needs a language model with a KV cache (dimensions seq and past)");
    return status;
}

static sooth_status largest(sooth_model *model, const sooth_options *dims, const sooth_predict_options *where,
                            int64_t context, int64_t *sequences, sooth_error *error)
{
    token_dims with;
    sooth_status status = add_tokens(dims, 1, context, &with, error);
    with.options.batch = 0;
    if (status == SOOTH_OK)
        status = sooth_largest_batch(model, &with.options, where, 0, sequences, error);
    free(with.all);
    return status;
}

static void copy_text(char *to, size_t room, const char *text)
{
    snprintf(to, room, "%s", text ? text : "");
}

sooth_status sooth_serving_of(sooth_model *model, const sooth_options *dims, const sooth_predict_options *options,
                              int64_t context, sooth_serving *serving, sooth_error *error)
{
    if (!model || !serving || context < 1 || context > INT32_MAX)
        return error_say(error, SOOTH_ERROR_USAGE, "serving needs a model and a context from 1 to 2147483647 tokens");
    static const sooth_options NO_DIMS = {.batch = 1};
    static const sooth_predict_options NO_OPTIONS = {.gpu = NULL};
    sooth_options bound = dims ? *dims : NO_DIMS;
    bound.batch = bound.batch ? bound.batch : 1;
    sooth_predict_options where = options ? *options : NO_OPTIONS;
    where.memory = true;
    *serving = (sooth_serving){.batch = bound.batch, .context = context};
    sooth_prediction *p;
    sooth_status status = bind_tokens(model, &bound, context, 0, error);
    if (status == SOOTH_OK)
        status = sooth_predict(model, &where, &p, error);
    if (status != SOOTH_OK)
        return status;
    serving->prefill_ms = sooth_prediction_totals_of(p).latency_ms;
    serving->prefill_memory_mib = sooth_prediction_memory(p).total_mib;
    sooth_prediction_free(p);
    status = bind_tokens(model, &bound, 1, context, error);
    if (status == SOOTH_OK)
        status = sooth_predict(model, &where, &p, error);
    if (status != SOOTH_OK)
        return status;
    sooth_prediction_totals t = sooth_prediction_totals_of(p);
    sooth_memory m = sooth_prediction_memory(p);
    serving->decode_ms = t.latency_ms;
    serving->energy_j_per_token = (sooth_interval){t.energy_j.value / (double)t.batch, t.energy_j.low / (double)t.batch,
                                                   t.energy_j.high / (double)t.batch};
    serving->tokens_per_s = 1e3 * (double)bound.batch / t.latency_ms.value;
    serving->memory_mib = m.total_mib;
    serving->weights_mib = m.weights_mib;
    serving->kv_cache_mib = m.inputs_mib;
    serving->capacity_mib = m.capacity_mib;
    serving->fits = m.fits_upper;
    copy_text(serving->gpu, sizeof serving->gpu, t.gpu);
    copy_text(serving->precision, sizeof serving->precision, t.precision);
    copy_text(serving->runtime, sizeof serving->runtime, t.runtime);
    copy_text(serving->weights, sizeof serving->weights, t.weights);
    sooth_prediction_free(p);
    if (!(m.capacity_mib > 0))
        return SOOTH_OK;
    return largest(model, &bound, &where, context, &serving->largest_batch, error);
}
