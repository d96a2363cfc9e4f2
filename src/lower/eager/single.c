/* single.c: programs of one operator. */
#include "lower/eager/single.h"

#include <assert.h>

single *single_new(arena *a, fail *f)
{
    single *s = ARENA_NEW(a, single);
    s->model.fail.error = f->error;
    s->model.file = STR("the operator");
    s->node = (node){.name = STR(""), .type = STR(""), .repeat = 1};
    s->ops = ops_index_new(a);
    return s;
}

eager *single_begin(single *s, const char *op, const lower_options *options, arena *a)
{
    s->node.op = ops_find_canonical(s->ops, op);
    s->eager = (eager){.model = &s->model,
                       .out = ARENA_NEW(a, program),
                       .options = options,
                       .arena = a,
                       .node = &s->node,
                       .layer = NO_NODE};
    /* Few rows need more tensors, and a table may have 100,000 rows. */
    ARENA_RESERVE(a, &s->eager.out->tensors, 5);
    ARENA_RESERVE(a, &s->eager.out->kernels, 2);
    return &s->eager;
}

tensor_id single_tensor(eager *e, dtype type, int rank, const int64_t *dims)
{
    extent x = {.rank = rank};
    memcpy(x.dims, dims, (size_t)rank * sizeof *dims);
    extent_contiguous(&x);
    return eager_tensor_new(e, type, &x);
}

tensor_id single_weight(eager *e, dtype type, int rank, const int64_t *dims)
{
    tensor_id t = single_tensor(e, type, rank, dims);
    e->out->tensors.items[t].is_weight = true;
    return t;
}

static tensor_id gradient_like(eager *e, tensor_id t)
{
    extent x = tensor_extent(e, t);
    return eager_tensor_new(e, tensor_dtype(e, t), &x);
}

void single_convolution_backward(eager *e, tensor_id x, tensor_id w, const kernel_window *window, extent y,
                                 bool of_input, bool of_weight)
{
    extent xw = tensor_extent(e, w);
    extent_contiguous(&y);
    tensor_id given = eager_tensor_new(e, tensor_dtype(e, x), &y), made = gradient_like(e, of_input ? x : w);
    kernel *k = eager_launch(e, "convolution_backward", (const tensor_id[]){given, x, w}, 3, made, 0);
    k->phase = PHASE_BACKWARD;
    k->window = window;
    k->macs = eager_convolution_macs(&y, &xw);
    if (of_input && of_weight) {
        eager_add_output(e, tensor_dtype(e, w), &xw);
        k->macs = k->macs > INT64_MAX / 2 ? INT64_MAX : 2 * k->macs;
    }
    k->flops = k->macs > INT64_MAX / 2 ? INT64_MAX : 2 * k->macs;
}

void single_norm_backward(eager *e, const char *op, const tensor_id *inputs, int count)
{
    tensor_id all[8] = {gradient_like(e, inputs[0])};
    assert(count > 0 && count < 8);
    memcpy(all + 1, inputs, (size_t)count * sizeof *inputs);
    tensor_id made = gradient_like(e, inputs[0]);
    kernel *k = eager_launch(e, op, all, count + 1, made, 0);
    k->phase = PHASE_BACKWARD;
    eager_count_flops(e, 2 * (double)e->node->op->flops_per_element);
    for (int i = 1; i < count && i < 3; i++) { /* Weight and bias. */
        extent x = tensor_extent(e, inputs[i]);
        eager_add_output(e, tensor_dtype(e, inputs[i]), &x);
    }
}
