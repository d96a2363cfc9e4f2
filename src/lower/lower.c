/* lower.c: which lowering a query asks for. */
#include "lower/lower.h"

#include "graph/infer.h"

program *lower(sooth_model *model, const lower_options *options, arena *a)
{
    if (options->runtime != RUNTIME_EAGER && options->mode != MODE_INFER)
        fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "training is lowered for eager PyTorch alone: drop --runtime or --mode");
    if (options->runtime == RUNTIME_ENGINE)
        fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED, "inference engines are not lowered yet: drop --runtime");
    if (options->runtime == RUNTIME_INDUCTOR)
        return lower_inductor(model, options, a);
    return lower_eager(model, options, a);
}
