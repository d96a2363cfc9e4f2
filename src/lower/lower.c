/* lower.c: which lowering a query asks for. */
#include "lower/lower.h"

#include "graph/infer.h"

program *lower(sooth_model *model, const lower_options *options, arena *a)
{
    if (options->runtime != RUNTIME_EAGER)
        fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED, "only eager PyTorch can be lowered: drop --runtime");
    return lower_eager(model, options, a);
}
