/* lower.c: which lowering a query asks for. */
#include "lower/lower.h"

#include "graph/infer.h"

program *lower(sooth_model *model, const lower_options *options, arena *a)
{
    if (options->runtime != RUNTIME_EAGER || options->mode != MODE_INFER)
        fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "only eager inference can be lowered: drop --runtime and --mode");
    return lower_eager(model, options, a);
}
