#include "memory/limits.h"
#include "memory/backend.h"

/* Elements that numbers of 32 bits can count, and blocks that a grid's second and third dimension can have. */
static const double MOST_ELEMENTS = 2147483647.0, MOST_BLOCKS = 65535;

static double elements_of(const program *p, tensor_id id)
{
    const placed_tensor *t = &p->tensors.items[id];
    double n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (double)t->dims[i];
    return n;
}

/* Elements of the largest tensor among these. */
static double largest_of(const program *p, const tensor_id *ids, int32_t count)
{
    double most = 0;
    for (int32_t i = 0; i < count; i++) {
        double n = elements_of(p, ids[i]);
        most = n > most ? n : most;
    }
    return most;
}

/* Operators whose tensors may not be as large as others'. */
typedef enum limited_op {
    NOT_LIMITED,
    LIMITED_POOLING,
    LIMITED_REFLECTION,
    LIMITED_NORM,
    LIMITED_CONVOLUTION
} limited_op;

static limited_op limited_op_of(const kernel *k)
{
    switch (k->op[0]) {
    case 'a':
        return strcmp(k->op, "avg_pool2d") == 0 ? LIMITED_POOLING : NOT_LIMITED;
    case 'm':
        return strcmp(k->op, "max_pool2d_with_indices") == 0 ? LIMITED_POOLING : NOT_LIMITED;
    case 'r':
        return strcmp(k->op, "reflection_pad2d") == 0 ? LIMITED_REFLECTION : NOT_LIMITED;
    case 'c':
        return strcmp(k->op, "cudnn_batch_norm") == 0 ? LIMITED_NORM
               : kernel_is_convolution(k)             ? LIMITED_CONVOLUTION
                                                      : NOT_LIMITED;
    default:
        return NOT_LIMITED;
    }
}

/* Whose thread blocks have the sequences as a dimension. The kernel that takes a bias is given them in parts by now (2.4 does not yet do
 * so, 2.9 does). */
static bool is_attention(const kernel *k, int version)
{
    return strcmp(k->op, "_scaled_dot_product_flash_attention") == 0 || (kernel_is_attention(k) && version < 209);
}

const char *limit_reached(const program *p, int version)
{
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        if (k->flags & KERNEL_VIEW)
            continue;
        if (is_attention(k, version) && k->input_count > 0 &&
            (double)p->tensors.items[k->inputs[0]].dims[0] > MOST_BLOCKS)
            return "attention over more than 65,535 sequences or windows does not fit into a grid of thread blocks";
        limited_op op = limited_op_of(k);
        if (op == NOT_LIMITED)
            continue;
        bool reads = largest_of(p, k->inputs, k->input_count) >= MOST_ELEMENTS;
        bool writes = largest_of(p, k->outputs, k->output_count) >= MOST_ELEMENTS;
        if (writes && op == LIMITED_POOLING)
            return "poolings to 2^31 or more elements do not run in PyTorch";
        if (reads && op == LIMITED_REFLECTION)
            return "reflections of 2^31 or more elements do not run in PyTorch";
        if (reads && version < 113 && op == LIMITED_NORM)
            return "batch norms of 2^31 or more elements do not run before PyTorch 1.13";
        if ((!reads && !writes) || op != LIMITED_CONVOLUTION)
            continue;
        if (version < 113)
            return "convolutions of 2^31 or more elements do not run before PyTorch 1.13";
        if (is_depthwise(p, k) && !depthwise_uses_cudnn(p, k, version))
            return "depthwise convolutions of 2^31 or more elements do not run in this version of PyTorch";
    }
    return NULL;
}
