#include "memory/limits.h"

/* Elements that numbers of 32 bits can count, and blocks that a grid's second and third dimension can have. */
static const double MOST_ELEMENTS = 2147483648.0, MOST_BLOCKS = 65535;

static double elements_of(const placed_tensor *t)
{
    double n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (double)t->dims[i];
    return n;
}

/* Elements of the largest tensor that the kernel reads or writes. */
static double largest_tensor(const program *p, const kernel *k)
{
    double most = 0;
    for (int32_t i = 0; i < k->input_count + k->output_count; i++) {
        tensor_id id = i < k->input_count ? k->inputs[i] : k->outputs[i - k->input_count];
        double n = elements_of(&p->tensors.items[id]);
        most = n > most ? n : most;
    }
    return most;
}

static bool is_depthwise(const program *p, const kernel *k)
{
    int weight = k->phase == PHASE_BACKWARD ? 2 : 1; /* behind the gradient */
    if (k->input_count <= weight || !k->window || k->window->groups < 2)
        return false;
    const placed_tensor *w = &p->tensors.items[k->inputs[weight]];
    return w->rank > 1 && w->dims[1] == 1;
}

static bool is_before(str stack, const char *const *versions)
{
    for (; *versions; versions++)
        if (str_starts(stack, *versions))
            return true;
    return false;
}

const char *limit_reached(const program *p, const lower_options *options, str stack)
{
    static const char *const OLD[] = {"pt1.10", "pt1.11", "pt1.12", NULL};
    bool is_old = is_before(stack, OLD);
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        if (k->flags & KERNEL_VIEW)
            continue;
        if (strncmp(k->op, "_scaled_dot_product", 19) == 0 && k->input_count > 0 &&
            (double)p->tensors.items[k->inputs[0]].dims[0] > MOST_BLOCKS)
            return "attention over more than 65,535 sequences or windows does not fit into a grid of thread blocks";
        bool is_conv = strncmp(k->op, "convolution", 11) == 0;
        if (!is_conv || largest_tensor(p, k) < MOST_ELEMENTS)
            continue;
        if (is_old)
            return "convolutions of 2^31 or more elements do not run before PyTorch 1.13";
        if (is_depthwise(p, k) && (options->runtime == RUNTIME_INDUCTOR || options->layout == LAYOUT_NCHW))
            return "depthwise convolutions of 2^31 or more elements do not run in PyTorch";
    }
    return NULL;
}
