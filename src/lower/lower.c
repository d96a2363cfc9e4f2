/* lower.c: which lowering a query asks for. */
#include "lower/lower.h"

#include "graph/infer.h"

program *lower(sooth_model *model, const lower_options *options, arena *a)
{
    if (options->runtime != RUNTIME_EAGER && options->mode != MODE_INFER)
        fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "training is lowered for eager PyTorch alone: drop --runtime or --mode");
    if (options->runtime == RUNTIME_ENGINE)
        return lower_engine(model, options, a);
    if (options->precision == PRECISION_INT8 || options->precision == PRECISION_FP8)
        fail_with(&model->fail, SOOTH_ERROR_USAGE,
                  "int8 and fp8 are precisions of engines alone: add --runtime engine");
    if (options->runtime == RUNTIME_INDUCTOR)
        return lower_inductor(model, options, a);
    return lower_eager(model, options, a);
}
