#include "memory/backend.h"

int torch_version(str stack)
{
    enum { NEWEST = 9999 };
    if (!str_starts(stack, "pt") || stack.len < 5 || stack.ptr[3] != '.' || stack.ptr[4] < '0' || stack.ptr[4] > '9')
        return NEWEST;
    int minor = 0;
    for (size_t i = 4; i < stack.len && minor < 10 && stack.ptr[i] >= '0' && stack.ptr[i] <= '9'; i++)
        minor = 10 * minor + (stack.ptr[i] - '0');
    return 100 * (stack.ptr[2] - '0') + minor;
}

static int weight_at(const kernel *k)
{
    return k->phase == PHASE_BACKWARD ? 2 : 1; /* Backward kernels read the gradient first. */
}

bool is_depthwise(const program *p, const kernel *k)
{
    if (k->input_count <= weight_at(k) || !k->window || k->window->groups < 2)
        return false;
    const placed_tensor *w = &p->tensors.items[k->inputs[weight_at(k)]];
    return w->rank > 1 && w->dims[1] == 1;
}

/* Applies PyTorch's test of sizes and strides (c10/core/MemoryFormat.h). */
bool is_channels_last(const placed_tensor *t)
{
    static const int ORDER[] = {1, 3, 2, 0};
    int64_t least = 0;
    if (t->rank != 4 || t->strides[1] == 0)
        return false;
    for (int i = 0; i < 4; i++) {
        int d = ORDER[i];
        if (t->dims[d] == 0 || t->strides[d] < least || (d == 0 && least == t->strides[1]))
            return false;
        least = t->strides[d] * (t->dims[d] > 1 ? t->dims[d] : 1);
    }
    return true;
}

/* True if cuDNN runs this channels-first depthwise convolution: check_cudnn_depthwise_workload_with_filter() in
 * aten/src/ATen/native/Convolution.cpp. */
static bool is_for_cudnn(const placed_tensor *in, const placed_tensor *weight, const kernel_window *window)
{
    int64_t filter = window->size[1], stride = window->stride[1], channels = in->dims[1], width = in->dims[3];
    if (dtype_bits(in->dtype) != 16 || dtype_bits(weight->dtype) != 16 || channels < 32 ||
        window->size[0] != window->size[1] || window->stride[0] != window->stride[1] || window->dilation[0] > 1 ||
        window->dilation[1] > 1 || (filter != 1 && filter != 3 && filter != 5) || width < 7)
        return false;
    return stride == 1 || (stride == 2 && filter > 1 && (channels >= 512 || (channels >= 256 && width >= 28)));
}

static bool is_too_large(const placed_tensor *t) /* True if a tensor exceeds 32-bit indices. */
{
    double n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (double)t->dims[i];
    return n >= 2147483647.0;
}

bool depthwise_uses_cudnn(const program *p, const kernel *k, int version)
{
    const placed_tensor *in = &p->tensors.items[k->inputs[weight_at(k) - 1]],
                        *weight = &p->tensors.items[k->inputs[weight_at(k)]];
    if (in->rank != 4 || k->window->rank != 2)
        return true;
    bool is_last = is_channels_last(in) || is_channels_last(weight);
    if (version >= 209 && is_too_large(in)) /* For this layout, PyTorch avoids cuDNN 9.10.2's 64-bit kernels. */
        return !is_last;
    return is_last || is_for_cudnn(in, weight, k->window);
}
