/* backward.c: computes gradients: walks the forward kernels in reverse, with one rule per operator. Casts, reductions
 * of broadcast dimensions and sums of gradients appear where autograd launches them. */
#include "lower/train/backward.h"

#include "lower/aten.h"
#include "lower/train/recompute.h"

bool back_is_op_or_in_place(const char *op, const char *name)
{
    size_t length = strlen(name);
    return strncmp(op, name, length) == 0 && (op[length] == '\0' || (op[length] == '_' && op[length + 1] == '\0'));
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

bool back_wants(const backward *b, int i)
{
    return i < b->k.input_count && b->needs[b->k.inputs[i]];
}

tensor_id back_sum_over(eager *e, tensor_id t, const extent *x)
{
    extent from = tensor_extent(e, t), result = *x;
    extent_contiguous(&result);
    bool widens = e->autocasts && eager_is_low(tensor_dtype(e, t));
    tensor_id made = eager_launch_new(e, "sum", &t, 1, widens ? DT_FLOAT32 : tensor_dtype(e, t), &result);
    e->out->kernels.items[e->out->kernels.count - 1].flops = extent_elements(&from);
    return made;
}

/* Sums over the dimensions that were broadcast from shape `x`. Returns `t` if there are none. */
static tensor_id sum_to(eager *e, tensor_id t, const extent *x)
{
    extent from = tensor_extent(e, t), kept = from;
    int lead = from.rank - x->rank;
    bool sums = lead > 0;
    for (int i = 0; i < from.rank; i++) {
        bool is_lead = i < lead;
        if (is_lead || (x->dims[i - lead] == 1 && from.dims[i] != 1)) {
            sums |= from.dims[i] != 1;
            kept.dims[i] = 1;
        }
    }
    if (!sums || lead < 0)
        return t;
    if (x->rank == 0)
        return back_sum_over(e, t, x);
    t = back_sum_over(e, t, &kept);
    return lead > 0 ? eager_reshape(e, t, x->rank, x->dims) : t;
}

/* True if the weight stands for several parameters, because exporters merge small weights of equal value. */
static bool is_merged(const backward *b, tensor_id to, int64_t from)
{
    extent x = tensor_extent(b->e, to);
    return !b->e->is_stated && tensor_at(b->e, to)->is_weight && b->from[to] != from &&
           extent_elements(&x) <= LOWER_LARGEST_MERGED;
}

void back_give(backward *b, int i, tensor_id gradient)
{
    eager *e = b->e;
    if (gradient == NO_TENSOR || !back_wants(b, i))
        return;
    tensor_id to = b->k.inputs[i];
    extent x = tensor_extent(e, to);
    gradient = sum_to(e, gradient, &x);
    extent got = tensor_extent(e, gradient);
    if (got.rank != x.rank || memcmp(got.dims, x.dims, (size_t)x.rank * sizeof *x.dims) != 0)
        gradient = eager_reshape(e, gradient, x.rank, x.dims);
    gradient = eager_cast(e, gradient, tensor_dtype(e, to));
    tensor_id *sum = &b->gradients[to];
    tensor_id both[2] = {*sum, gradient};
    int64_t from = (int64_t)b->at * INT16_MAX + i;
    if (*sum == NO_TENSOR) {
        b->from[to] = from;
        *sum = gradient;
    } else if (is_merged(b, to, from)) {
        *(struct twin *)ARENA_PUSH(e->arena, &b->twins) = (struct twin){to, gradient};
    } else {
        *sum = back_work(e, "add", both, 2, tensor_dtype(e, gradient), 1);
    }
}

tensor_id back_work(eager *e, const char *op, const tensor_id *inputs, int count, dtype type, double flops)
{
    tensor_id made = eager_pointwise(e, op, inputs, count, type);
    eager_count_flops(e, flops);
    return made;
}

tensor_id back_launch_like(eager *e, const char *op, const tensor_id *inputs, int count, dtype type, tensor_id like)
{
    extent x = tensor_extent(e, like), order = x;
    extent_preserve(&x, &order);
    return eager_launch_new(e, op, inputs, count, type, &x);
}

tensor_id back_add_output_like(eager *e, dtype type, tensor_id like)
{
    extent x = tensor_extent(e, like), order = x;
    extent_preserve(&x, &order);
    return eager_add_output(e, type, &x);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* True for a floating-point weight that training updates: no running statistics of norms, and no tables of the
 * exporter. */
static bool is_parameter(const eager *e, const placed_tensor *t)
{
    return t->is_weight && !t->is_number && dtype_is_float(t->dtype) &&
           (t->value == NO_VALUE || eager_is_learned(e, t->value));
}

static void find_needs(backward *b, int32_t end)
{
    const eager *e = b->e;
    for (int32_t i = 0; i < b->tensor_count; i++)
        b->needs[i] = is_parameter(e, tensor_at(e, i));
    for (int32_t i = 0; i < end; i++) {
        const kernel *k = &e->out->kernels.items[i];
        bool needs = false;
        for (int32_t j = 0; j < k->input_count; j++)
            needs |= b->needs[k->inputs[j]];
        needs &= !(k->flags & KERNEL_HIDDEN);
        for (int32_t j = 0; j < k->output_count; j++)
            b->needs[k->outputs[j]] |= needs && dtype_is_float(tensor_dtype(e, k->outputs[j]));
    }
}

/* One kernel computes all gradients of an operator without a rule. */
static void back_unknown(backward *b)
{
    eager *e = b->e;
    for (int i = 0; i < b->k.input_count; i++)
        if (back_wants(b, i) && dtype_is_float(tensor_dtype(e, b->k.inputs[i]))) {
            tensor_id inputs[2] = {b->dy, b->k.inputs[i]};
            tensor_id like = b->k.inputs[i];
            tensor_id made = back_launch_like(e, b->k.op, inputs, 2, tensor_dtype(e, like), like);
            kernel *k = &e->out->kernels.items[e->out->kernels.count - 1];
            k->flags = KERNEL_UNKNOWN;
            k->file_op = b->k.file_op;
            e->out->unknown_count++;
            back_give(b, i, made);
        }
}

/* ---- writes to views --------------------------------------------------------------------------------------------- */

/* Returns the kernel that made a forward tensor as a view; -1 if the tensor has its own memory. */
static int32_t view_of(const backward *b, tensor_id t)
{
    const kernel *kernels = b->e->out->kernels.items;
    for (int32_t i = b->at - 1; i >= 0; i--)
        if (kernels[i].output_count > 0 && kernels[i].outputs[0] == t)
            return kernels[i].flags & KERNEL_VIEW && strcmp(kernels[i].op, "_unsafe_view") != 0 ? i : -1;
    return -1;
}

/* Returns the tensor whose view the current kernel writes in place; NO_TENSOR for any other kernel. */
static tensor_id written_base(const backward *b)
{
    const eager *e = b->e;
    tensor_id base = NO_TENSOR;
    if (!e->node || b->k.flags & KERNEL_VIEW || !node_attr_int(e->node, "eager_in_place", 0) ||
        tensor_at(e, b->k.outputs[0])->value != e->node->outputs[0])
        return NO_TENSOR;
    for (int32_t i = view_of(b, b->k.inputs[0]); i >= 0; i = view_of(b, base))
        base = e->out->kernels.items[i].inputs[0];
    return base;
}

/* autograd's CopySlices: copies the gradient of the whole, takes the operator's gradient on a copy of the part, and
 * writes the result back. */
static void differentiate_write(backward *b, tensor_id base, aten_gradient rule)
{
    eager *e = b->e;
    tensor_id part = b->k.inputs[0];
    dtype type = tensor_dtype(e, b->dy);
    extent whole = tensor_extent(e, base), x = tensor_extent(e, part);
    tensor_id kept = eager_launch_new(e, "copy_", &b->dy, 1, type, &whole);
    tensor_id place = eager_view_as(e, "as_strided", kept, &x);
    b->dy = back_launch_like(e, "clone", &place, 1, type, place);
    rule(b);
    tensor_id *given = &b->gradients[part];
    if (!b->needs[part] || *given == NO_TENSOR)
        return;
    eager_launch(e, "copy_", given, 1, place, KERNEL_IN_PLACE);
    *given = place;
}

void back_differentiate(backward *b, int32_t end)
{
    eager *e = b->e;
    find_needs(b, end);
    recompute *regions = back_recompute_begin(e, end);
    for (b->at = end - 1; b->at >= 0; b->at--) {
        b->k = e->out->kernels.items[b->at];
        if (b->k.flags & KERNEL_HIDDEN)
            continue;
        bool any = false, wanted = false;
        for (int32_t i = 0; i < b->k.output_count; i++)
            any |= b->gradients[b->k.outputs[i]] != NO_TENSOR;
        for (int32_t i = 0; i < b->k.input_count; i++)
            wanted |= b->needs[b->k.inputs[i]];
        if (!any || !wanted)
            continue;
        back_recompute_before(regions, b->at);
        b->dy = b->gradients[b->k.outputs[0]];
        e->layer = b->k.layer;
        e->node = b->k.layer == NO_NODE ? NULL : &e->net->nodes.items[b->k.layer];
        aten_gradient rule = aten_gradient_of(b->k.op);
        tensor_id base = written_base(b);
        if (base != NO_TENSOR && b->gradients[b->k.inputs[0]] == NO_TENSOR)
            differentiate_write(b, base, rule ? rule : back_unknown);
        else
            (rule ? rule : back_unknown)(b);
        back_recompute_after(regions, b->at);
    }
    back_recompute_end(regions);
}
