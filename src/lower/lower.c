/* lower.c: selects the lowering of a runtime and classifies kernels by operator. */
#include "lower/lower.h"

#include "graph/infer.h"

bool *lower_output_values(const network *net, arena *a)
{
    bool *is_output = ARENA_ARRAY(a, bool, (size_t)net->values.count + 1);
    for (int32_t i = 0; i < net->outputs.count; i++)
        is_output[net->outputs.items[i]] = true;
    for (int32_t i = net->nodes.count - 1; i >= 0; i--) {
        const node *n = &net->nodes.items[i];
        bool is_name = !n->is_dead && n->input_count > 0 && n->output_count > 0 && n->inputs[0] != NO_VALUE &&
                       (node_is(n, "Identity") || node_is(n, "Dropout"));
        if (is_name && n->outputs[0] != NO_VALUE && is_output[n->outputs[0]])
            is_output[n->inputs[0]] = true;
    }
    return is_output;
}

static bool is_one_of(const char *op, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(op, names[i]) == 0)
            return true;
    return false;
}

bool kernel_is_attention(const kernel *k)
{
    static const char *const NAMES[] = {
        "_scaled_dot_product_flash_attention",     "_scaled_dot_product_flash_attention_backward",
        "_scaled_dot_product_efficient_attention", "_scaled_dot_product_efficient_attention_backward",
        "_scaled_dot_product_cudnn_attention",     "_scaled_dot_product_cudnn_attention_backward",
    };
    static const char BEGIN[] = "_scaled";
    return k->op[0] == '_' && strncmp(k->op, BEGIN, sizeof BEGIN - 1) == 0 &&
           is_one_of(k->op, NAMES, sizeof NAMES / sizeof *NAMES);
}

bool kernel_is_compiled(const kernel *k)
{
    static const char *const NAMES[] = {"triton_poi", "triton_red", "triton_per"};
    return k->op[0] == 't' && is_one_of(k->op, NAMES, sizeof NAMES / sizeof *NAMES);
}

static program *lower_for_runtime(sooth_model *model, const lower_options *options, arena *a)
{
    if (options->runtime == RUNTIME_ENGINE && options->mode != MODE_INFER)
        fail_with(&model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "engines do not train: use --runtime eager or inductor, or drop --mode");
    if (options->runtime == RUNTIME_ENGINE)
        return lower_engine(model, options, a);
    if (options->precision >= PRECISION_INT8)
        fail_with(&model->fail, SOOTH_ERROR_USAGE, "int8, fp8 and int4 need an engine: add --runtime engine");
    if (options->narrow_cache)
        fail_with(&model->fail, SOOTH_ERROR_USAGE, "a KV cache in 8 bits needs an engine: add --runtime engine");
    if (options->runtime == RUNTIME_INDUCTOR)
        return lower_inductor(model, options, a);
    return lower_eager(model, options, a);
}

program *lower(sooth_model *model, const lower_options *options, arena *a)
{
    program *p = lower_for_runtime(model, options, a);
    if (options->runtime != RUNTIME_INDUCTOR)
        p->most_multiprocessors = UINT16_MAX;
    return p;
}
