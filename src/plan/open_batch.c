/* open_batch.c: sooth_bind_open: binds a model without requiring a batch. */
#include "sooth.h"

/* Returns the batch to bind if an input's first dimension is open: that of the first input, otherwise 1. Returns 0
 * if none is open. */
static int64_t batch_where_open(const sooth_model *model)
{
    int64_t batch = 1;
    bool is_open = false;
    for (size_t i = 0; i < sooth_input_count(model); i++) {
        sooth_value v = sooth_value_at(model, sooth_input(model, i));
        is_open |= v.rank > 0 && v.dims[0] < 0;
        if (i == 0 && v.rank > 0 && v.dims[0] > 0)
            batch = v.dims[0];
    }
    return is_open ? batch : 0;
}

sooth_status sooth_bind_open(sooth_model *model, sooth_options *options, sooth_error *error)
{
    sooth_status status = sooth_bind(model, options, error);
    int64_t batch = status == SOOTH_OK && !options->batch ? batch_where_open(model) : 0;
    if (!batch)
        return status;
    options->batch = batch;
    status = sooth_bind(model, options, error);
    if (status == SOOTH_OK || status == SOOTH_ERROR_SYSTEM)
        return status;
    options->batch = 0; /* A given shape contradicts the batch, so dimensions stay open. */
    return sooth_bind(model, options, error);
}
