/* training.c: loss, gradients and parameter update of a training step. */
#include "lower/train/backward.h"

/* ---- parameters -------------------------------------------------------------------------------------------------- */

typedef struct parameter_list {
    tensor_id *items, *gradients;
    int count;
} parameter_list;

/* Stores the gradient of a parameter, copied only if its layout differs. Before PyTorch 2, gradients persisted
 * between steps, so new ones were added to zeros. */
static tensor_id settle_gradient(eager *e, tensor_id parameter, tensor_id gradient)
{
    extent want = tensor_extent(e, parameter), got = tensor_extent(e, gradient);
    if (!extent_is_dense(&want))
        extent_contiguous(&want);
    if (e->options->single_updates) {
        tensor_id kept = eager_tensor_new(e, tensor_dtype(e, parameter), &want);
        eager_launch(e, "add_", (const tensor_id[]){kept, gradient}, 2, kept, KERNEL_IN_PLACE);
        eager_count_flops(e, 1);
        return kept;
    }
    bool lies_alike = got.rank == want.rank;
    for (int i = 0; lies_alike && i < want.rank; i++)
        lies_alike = want.dims[i] == 1 || want.strides[i] == got.strides[i];
    return lies_alike ? gradient : eager_launch_new(e, "copy_", &gradient, 1, tensor_dtype(e, gradient), &want);
}

static parameter_list settle_gradients(backward *b)
{
    eager *e = b->e;
    size_t room = (size_t)b->tensor_count + (size_t)b->twins.count + 1;
    parameter_list list = {.items = ARENA_ARRAY(e->arena, tensor_id, room),
                           .gradients = ARENA_ARRAY(e->arena, tensor_id, room)};
    for (int32_t i = 0; i < b->tensor_count; i++) {
        const placed_tensor *t = tensor_at(e, i);
        if (!t->is_weight || b->gradients[i] == NO_TENSOR)
            continue;
        value_id v = t->value;
        e->layer = v == NO_VALUE ? NO_NODE : e->first_reader[v];
        list.items[list.count] = i;
        list.gradients[list.count++] = settle_gradient(e, i, b->gradients[i]);
    }
    for (int32_t i = 0; i < b->twins.count; i++) {
        const struct twin *t = &b->twins.items[i];
        extent x = tensor_extent(e, t->parameter);
        tensor_id own = eager_tensor_new(e, tensor_dtype(e, t->parameter), &x);
        e->out->tensors.items[own].is_weight = true;
        list.items[list.count] = own;
        list.gradients[list.count++] = settle_gradient(e, own, t->gradient);
    }
    e->layer = NO_NODE;
    return list;
}

/* ---- update ------------------------------------------------------------------------------------------------------ */

/* Appends one optimizer step over all parameters: it reads the given lists and writes the first. */
enum { MAX_LISTS = 3 };

typedef struct update {
    eager *e;
    parameter_list parameters;
} update;

static tensor_id *like_parameters(update *u, bool is_state)
{
    eager *e = u->e;
    tensor_id *made = ARENA_ARRAY(e->arena, tensor_id, (size_t)u->parameters.count + 1);
    for (int i = 0; i < u->parameters.count; i++) {
        extent x = tensor_extent(e, u->parameters.items[i]);
        made[i] = eager_tensor_new(e, tensor_dtype(e, u->parameters.items[i]), &x);
        e->out->tensors.items[made[i]].is_weight = e->out->tensors.items[made[i]].is_state = is_state;
    }
    return made;
}

static void step(update *u, const char *op, double flops, const tensor_id *to, const tensor_id *a, const tensor_id *c,
                 bool is_fresh)
{
    eager *e = u->e;
    const tensor_id *lists[MAX_LISTS] = {to, a, c};
    int count = u->parameters.count;
    if (e->options->single_updates) {
        for (int i = 0; i < count; i++) {
            tensor_id inputs[MAX_LISTS] = {is_fresh ? NO_TENSOR : to[i], a ? a[i] : NO_TENSOR, c ? c[i] : NO_TENSOR};
            eager_launch(e, op, inputs, MAX_LISTS, to[i], is_fresh ? 0 : KERNEL_IN_PLACE);
            eager_count_flops(e, flops);
        }
        return;
    }
    tensor_id *inputs = ARENA_ARRAY(e->arena, tensor_id, (size_t)count * MAX_LISTS + 1);
    int input_count = 0;
    for (int l = is_fresh ? 1 : 0; l < MAX_LISTS; l++)
        for (int i = 0; lists[l] && i < count; i++)
            inputs[input_count++] = lists[l][i];
    str name = arena_printf(e->arena, "_foreach_%s", op);
    eager_launch(e, name.ptr, inputs, input_count, to[0], is_fresh ? 0 : KERNEL_IN_PLACE);
    eager_set_outputs(e, to, count);
    double elements = 0;
    for (int i = 0; i < count; i++) {
        extent x = tensor_extent(e, to[i]);
        elements += (double)extent_elements(&x);
    }
    e->out->kernels.items[e->out->kernels.count - 1].flops = elements * flops < 9e18 ? (int64_t)(elements * flops) : 0;
}

static void update_by_gradient(update *u, bool has_momentum, bool is_nesterov)
{
    const tensor_id *by = u->parameters.gradients;
    if (has_momentum) {
        const tensor_id *momentum = like_parameters(u, true);
        step(u, "mul_", 1, momentum, NULL, NULL, false);
        step(u, "add_", 2, momentum, by, NULL, false);
        if (is_nesterov)
            step(u, "add_", 2, by, momentum, NULL, false);
        by = is_nesterov ? by : momentum;
    }
    step(u, "add_", 2, u->parameters.items, by, NULL, false);
}

/* `adds_decay`: Adam with weight_decay; `decays`: AdamW. */
static void update_by_moments(update *u, bool adds_decay, bool decays)
{
    const tensor_id *gradients = u->parameters.gradients;
    if (adds_decay) { /* Out of place, because the caller owns the gradients. */
        const tensor_id *sum = like_parameters(u, false);
        step(u, "add", 2, sum, gradients, u->parameters.items, true);
        gradients = sum;
    }
    const tensor_id *mean = like_parameters(u, true), *square = like_parameters(u, true);
    if (decays)
        step(u, "mul_", 1, u->parameters.items, NULL, NULL, false);
    if (u->e->options->single_updates) {
        step(u, "mul_", 1, mean, NULL, NULL, false);
        step(u, "add_", 2, mean, gradients, NULL, false);
    } else {
        step(u, "lerp_", 3, mean, gradients, NULL, false);
    }
    step(u, "mul_", 1, square, NULL, NULL, false);
    step(u, "addcmul_", 3, square, gradients, gradients, false);
    const tensor_id *root = like_parameters(u, false);
    step(u, "sqrt", 4, root, square, NULL, true);
    step(u, "div_", 1, root, NULL, NULL, false);
    step(u, "add_", 1, root, NULL, NULL, false);
    step(u, "addcdiv_", 3, u->parameters.items, mean, root, false);
}

static void update_parameters(eager *e, const parameter_list *parameters)
{
    update u = {e, *parameters};
    if (parameters->count == 0 || e->options->optimizer == OPTIMIZER_NONE)
        return;
    switch (e->options->optimizer) {
    case OPTIMIZER_ADAM:
    case OPTIMIZER_ADAMW:
    case OPTIMIZER_ADAM_L2:
        update_by_moments(&u, e->options->optimizer == OPTIMIZER_ADAM_L2, e->options->optimizer == OPTIMIZER_ADAMW);
        break;
    default:
        update_by_gradient(&u, e->options->optimizer != OPTIMIZER_SGD, e->options->optimizer == OPTIMIZER_NESTEROV);
    }
    if (e->options->single_updates) /* zero_grad() */
        step(&u, "zero_", 0, parameters->gradients, NULL, NULL, true);
}

/* ---- loss -------------------------------------------------------------------------------------------------------- */

/* Cross entropy of the first output. Classes are dimension 1 of a map, otherwise the last dimension. */
static tensor_id add_loss(eager *e)
{
    tensor_id y = NO_TENSOR;
    for (int32_t i = 0; i < e->net->outputs.count && y == NO_TENSOR; i++) {
        value_id v = e->net->outputs.items[i];
        tensor_id t = e->of_turned[v] != NO_TENSOR ? eager_tensor_of(e, v) : e->of_value[v];
        y = t != NO_TENSOR && dtype_is_float(tensor_dtype(e, t)) && tensor_at(e, t)->rank > 0 ? t : NO_TENSOR;
    }
    if (y == NO_TENSOR)
        fail_with(&e->model->fail, SOOTH_ERROR_UNSUPPORTED,
                  "the network has no output from which a loss could be computed");
    extent x = tensor_extent(e, y);
    if (e->transformers && x.rank == 3) {
        y = eager_loss_logits(e, y);
        x = tensor_extent(e, y);
        e->out->returns_loss = true;
    }
    bool is_map = x.rank >= 4;
    if (x.rank == 1 || x.rank == 3) {
        int64_t classes = x.dims[x.rank - 1], rows = classes > 0 ? extent_elements(&x) / classes : 0;
        y = eager_reshape(e, y, 2, (const int64_t[]){rows, classes});
    }
    x = tensor_extent(e, y);
    extent_contiguous(&x);
    y = eager_launch_new(e, "_log_softmax", &y, 1, tensor_dtype(e, y), &x);
    e->out->kernels.items[e->out->kernels.count - 1].axes_behind = (int8_t)(is_map ? x.rank - 2 : 0);
    enum { LOG_SOFTMAX_FLOPS = 12 };
    eager_count_flops(e, LOG_SOFTMAX_FLOPS);
    y = eager_to_float(e, y);
    extent labels = x, number = {.rank = 0};
    labels.rank = x.rank - 1;
    for (int i = 1; i < labels.rank; i++)
        labels.dims[i] = x.dims[i + 1];
    extent_contiguous(&labels);
    tensor_id target = eager_tensor_new(e, DT_INT64, &labels);
    tensor_id inputs[2] = {y, target};
    tensor_id loss =
        eager_launch_new(e, is_map ? "nll_loss2d_forward" : "nll_loss_forward", inputs, 2, tensor_dtype(e, y), &number);
    eager_add_output(e, tensor_dtype(e, y), &number);
    return loss;
}

static void mark_phase(program *p, int32_t from, kernel_phase phase)
{
    for (int32_t i = from; i < p->kernels.count; i++)
        p->kernels.items[i].phase = (uint8_t)phase;
}

void lower_training(eager *e)
{
    e->node = NULL;
    e->layer = NO_NODE;
    tensor_id loss = add_loss(e);
    int32_t begin = e->out->kernels.count;
    size_t count = (size_t)e->out->tensors.count;
    backward b = {.e = e,
                  .gradients = ARENA_ARRAY(e->arena, tensor_id, count + 1),
                  .from = ARENA_ARRAY(e->arena, int64_t, count + 1),
                  .needs = ARENA_ARRAY(e->arena, bool, count + 1),
                  .tensor_count = (int32_t)count,
                  .run = {.last = -1}};
    for (size_t i = 0; i < count; i++)
        b.gradients[i] = NO_TENSOR;
    b.gradients[loss] = back_launch_like(e, "ones_like", NULL, 0, tensor_dtype(e, loss), loss);
    e->autocasts = e->low != DT_UNKNOWN && e->options->autocast_backward;
    back_differentiate(&b, begin);
    e->node = NULL;
    parameter_list parameters = settle_gradients(&b);
    mark_phase(e->out, begin, PHASE_BACKWARD);
    int32_t end = e->out->kernels.count;
    update_parameters(e, &parameters);
    mark_phase(e->out, end, PHASE_UPDATE);
}
