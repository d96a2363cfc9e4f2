#include "memory/limits.h"
#include "memory/backend.h"

/* Limit of 32-bit element counts, and of a grid's second and third dimension. */
static const double MOST_ELEMENTS = 2147483647.0, MOST_BLOCKS = 65535;

static double elements_of(const program *p, tensor_id id)
{
    const placed_tensor *t = &p->tensors.items[id];
    double n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (double)t->dims[i];
    return n;
}

/* Returns the number of elements of the largest of these tensors. */
static double largest_of(const program *p, const tensor_id *ids, int32_t count)
{
    double most = 0;
    for (int32_t i = 0; i < count; i++) {
        double n = elements_of(p, ids[i]);
        most = n > most ? n : most;
    }
    return most;
}

/* Operators with their own limits on tensor sizes. */
typedef enum limited_op {
    NOT_LIMITED,
    LIMITED_POOLING,
    LIMITED_REFLECTION,
    LIMITED_NORM,
    LIMITED_CONVOLUTION
} limited_op;

static bool is_limited_depthwise(const program *p, const kernel *k, int version)
{
    return is_depthwise(p, k) && !depthwise_uses_cudnn(p, k, version);
}

static limited_op limited_op_of(const program *p, const kernel *k, int version)
{
    switch (k->op[0]) {
    case 'a':
        return strcmp(k->op, "avg_pool2d") == 0 ? LIMITED_POOLING : NOT_LIMITED;
    case 'm':
        return strcmp(k->op, "max_pool2d_with_indices") == 0 ? LIMITED_POOLING : NOT_LIMITED;
    case 'r':
        return strcmp(k->op, "reflection_pad2d") == 0 ? LIMITED_REFLECTION : NOT_LIMITED;
    case 'c':
        if (kernel_is_convolution(k))
            return version < 113 || is_limited_depthwise(p, k, version) ? LIMITED_CONVOLUTION : NOT_LIMITED;
        return version < 113 && kernel_is(k, "cudnn_batch_norm") ? LIMITED_NORM : NOT_LIMITED;
    default:
        return NOT_LIMITED;
    }
}

/* Operators whose kernels have one thread block per sequence. In PyTorch 2.9, the kernel with a bias splits them; in
 * 2.4 it does not. */
static bool is_attention(const kernel *k, int version)
{
    return kernel_is_attention(k) && (version < 209 || kernel_is(k, "_scaled_dot_product_flash_attention"));
}

/* Records the distance to a limit. The first limit that is reached becomes the reason. */
static void meet(limit_distance *d, double share, const char *reason)
{
    if (share < 1)
        return;
    d->share = share > d->share ? share : d->share;
    d->reached = d->reached ? d->reached : reason;
}

limit_distance limit_of(const program *p, int version)
{
    limit_distance d = {0};
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        if (k->flags & KERNEL_VIEW)
            continue;
        if (is_attention(k, version) && k->input_count > 0)
            meet(&d, (double)p->tensors.items[k->inputs[0]].dims[0] / (MOST_BLOCKS + 1),
                 "attention over more than 65,535 sequences or windows does not fit into a grid of thread blocks");
        limited_op op = limited_op_of(p, k, version);
        if (op == NOT_LIMITED)
            continue;
        double reads = largest_of(p, k->inputs, k->input_count) / MOST_ELEMENTS;
        double writes = largest_of(p, k->outputs, k->output_count) / MOST_ELEMENTS;
        if (op == LIMITED_POOLING)
            meet(&d, writes, "poolings to 2^31 or more elements do not run in PyTorch");
        if (op == LIMITED_REFLECTION)
            meet(&d, reads, "reflections of 2^31 or more elements do not run in PyTorch");
        if (op == LIMITED_NORM)
            meet(&d, reads, "batch norms of 2^31 or more elements do not run before PyTorch 1.13");
        if (op == LIMITED_CONVOLUTION)
            meet(&d, reads > writes ? reads : writes,
                 version < 113
                     ? "convolutions of 2^31 or more elements do not run before PyTorch 1.13"
                     : "depthwise convolutions of 2^31 or more elements do not run in this version of PyTorch");
    }
    return d;
}
