/* inductor_products.c: rewrites linear layers on strided rows. Eager PyTorch copies the rows and runs one product;
 * TorchInductor runs a batched product on the strided rows and repeats the weight. */
#include "lower/fused/inductor.h"

enum { NO_KERNEL = -1, SEVERAL = -2 };

typedef struct chain_index {
    int32_t *maker;  /* Indexed by tensor: the kernel that writes it. */
    int32_t *reader; /* Indexed by tensor: the kernel that reads it; SEVERAL for more than one. */
} chain_index;

static chain_index index_chains(const program *p, arena *a)
{
    chain_index x = {ARENA_ARRAY(a, int32_t, (size_t)p->tensors.count + 1),
                     ARENA_ARRAY(a, int32_t, (size_t)p->tensors.count + 1)};
    for (tensor_id t = 0; t < p->tensors.count; t++)
        x.maker[t] = x.reader[t] = NO_KERNEL;
    for (int32_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        for (int n = 0; n < k->input_count; n++)
            x.reader[k->inputs[n]] = x.reader[k->inputs[n]] == NO_KERNEL ? i : SEVERAL;
        for (int n = 0; n < k->output_count; n++)
            x.maker[k->outputs[n]] = i;
    }
    return x;
}

/* Returns the tensor's only reader if it is a view; otherwise NO_KERNEL. */
static int32_t only_view(const program *p, const chain_index *x, tensor_id t)
{
    int32_t i = x->reader[t];
    return i >= 0 && p->kernels.items[i].flags & KERNEL_VIEW ? i : NO_KERNEL;
}

/* Repeats the matrix `batch` times without copying it. */
static tensor_id repeated(program *p, arena *a, tensor_id matrix, int64_t batch)
{
    placed_tensor made = p->tensors.items[matrix];
    int64_t *numbers = ARENA_ARRAY(a, int64_t, 6);
    numbers[0] = batch;
    memcpy(numbers + 1, made.dims, 2 * sizeof *numbers);
    memcpy(numbers + 4, made.strides, 2 * sizeof *numbers);
    made.rank = 3;
    made.dims = numbers;
    made.strides = numbers + 3;
    *(placed_tensor *)ARENA_PUSH(a, &p->tensors) = made;
    return p->tensors.count - 1;
}

/* Replaces the sequence clone, view, product, view by one batched product. `k` is the index of the product. */
static void batch_product(program *p, arena *a, const chain_index *x, kernel *k, bool *is_gone)
{
    int32_t before = x->maker[k->inputs[0]], after = only_view(p, x, k->outputs[0]);
    if (before == NO_KERNEL || after == NO_KERNEL || x->reader[k->inputs[0]] == SEVERAL)
        return;
    tensor_id rows = p->kernels.items[before].inputs[0];
    int32_t copy = x->maker[rows];
    if (copy == NO_KERNEL || only_view(p, x, rows) != before)
        return;
    const kernel *clone = &p->kernels.items[copy];
    tensor_id made = p->kernels.items[after].outputs[0];
    const placed_tensor *from = &p->tensors.items[clone->inputs[0]], *to = &p->tensors.items[made];
    if (strcmp(clone->op, "clone") != 0 || clone->flags & KERNEL_HIDDEN || from->rank != 3 ||
        p->tensors.items[rows].rank != 3 || to->rank != 3 || to->dims[0] != from->dims[0] ||
        to->dims[1] != from->dims[1] || p->tensors.items[k->inputs[1]].rank != 2)
        return;
    tensor_id *held = ARENA_ARRAY(a, tensor_id, 3);
    held[0] = clone->inputs[0];
    held[1] = repeated(p, a, k->inputs[1], from->dims[0]);
    held[2] = made;
    k->op = "bmm";
    k->inputs = held;
    k->outputs = held + 2;
    is_gone[copy] = is_gone[before] = is_gone[after] = true;
}

void inductor_batch_turned_products(program *p, arena *a)
{
    chain_index x = index_chains(p, a);
    bool *is_gone = ARENA_ARRAY(a, bool, (size_t)p->kernels.count + 1);
    for (int32_t i = 0; i < p->kernels.count; i++)
        if (strcmp(p->kernels.items[i].op, "mm") == 0 && p->kernels.items[i].input_count == 2)
            batch_product(p, a, &x, &p->kernels.items[i], is_gone);
    int32_t kept = 0;
    for (int32_t i = 0; i < p->kernels.count; i++)
        if (!is_gone[i])
            p->kernels.items[kept++] = p->kernels.items[i];
    p->kernels.count = kept;
}
