/* inductor_ops.c: lowers each eager operator to a formula, a reduction with formulas around it, or a library call. */
#include "lower/fused/inductor.h"

#include "graph/infer.h"
#include "lower/aten.h"
#include "lower/fused/joint.h"

/* Values of unroll_reductions_threshold and max_pointwise_cat_inputs in PyTorch's torch/_inductor/config.py. */
enum { MAX_UNROLLED = 8, MAX_JOINED = 8 };

/* ---- small helpers ----------------------------------------------------------------------------------------------- */

static bool is_compiled_as(const kernel *k, aten_compiled kind)
{
    return aten_find(k->op)->compiled == kind;
}

bool inductor_needs_buffers(const kernel *k)
{
    return aten_find(k->op)->flags & NEEDS_BUFFERS || k->flags & KERNEL_UNKNOWN;
}

static bool is_elementwise(const kernel *k)
{
    return !(k->flags & (KERNEL_VIEW | KERNEL_UNKNOWN)) &&
           (is_compiled_as(k, COMPILED_FORMULA) || is_compiled_as(k, COMPILED_RESAMPLE));
}

static int op_weight(const kernel *k)
{
    enum { USUAL = 2 };
    const aten_op *op = aten_find(k->op);
    return op->compiled != COMPILED_RESAMPLE && op->steps ? op->steps : USUAL;
}

static extent output_extent(const inductor *c)
{
    return extent_of(&c->f.out->tensors.items[c->k->outputs[0]]);
}

static dtype output_dtype(const inductor *c)
{
    return c->f.out->tensors.items[c->k->outputs[0]].dtype;
}

static void finish(inductor *c, int32_t b)
{
    inductor_set_tensor(c, c->k->outputs[0], b);
}

static int gather_operands(inductor *c, operand *in)
{
    int count = c->k->input_count < MAX_OPERANDS ? c->k->input_count : MAX_OPERANDS;
    for (int i = 0; i < count; i++)
        inductor_operand_of(c, c->k->inputs[i], &in[i]);
    return count;
}

static const node *node_of(const inductor *c)
{
    return c->k->layer == NO_NODE ? NULL : &c->model->net.nodes.items[c->k->layer];
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

static void lower_elementwise(inductor *c)
{
    operand in[MAX_OPERANDS];
    extent out = output_extent(c);
    int count = gather_operands(c, in);
    if (aten_find(c->k->op)->flags & READS_TWICE && count == 1 && extent_elements(&out) == extent_elements(&in[0].at)) {
        /* The first formula reads the input twice, in float32. */
        in[0].box = inductor_make_pointwise(c, c->k->op, &out, DT_FLOAT32, in, 1, 1);
        in[0].at = out;
        in[0].part = 0;
        inductor_mark_reuse(c, in[0].box, 2);
    }
    finish(c, inductor_make_pointwise(c, c->k->op, &out, output_dtype(c), in, count, op_weight(c->k)));
}

/* Lowers an operator whose one-dimensional inputs belong to channels: a convolution's bias, a batch norm's
 * parameters. */
static void lower_by_channel(inductor *c)
{
    operand in[MAX_OPERANDS], one;
    extent out = output_extent(c);
    int count = c->k->input_count < MAX_OPERANDS ? c->k->input_count : MAX_OPERANDS;
    for (int i = 0; i < count; i++) {
        inductor_operand_of(c, c->k->inputs[i], i ? &one : &in[0]);
        if (i)
            inductor_operand_broadcast(&in[i], &one, &out, 1);
    }
    finish(c, inductor_make_pointwise(c, c->k->op, &out, output_dtype(c), in, count, op_weight(c->k)));
}

static void lower_scattered(inductor *c, int times)
{
    operand in[MAX_OPERANDS];
    extent out = output_extent(c);
    int count = gather_operands(c, in);
    for (int i = 0; i < count; i++) /* Each tap is a separate lookup. */
        inductor_mark_reuse(c, in[i].box, times);
    finish(c, inductor_make_scattered(c, c->k->op, &out, output_dtype(c), in, count, times,
                                      !is_op(c->k, "constant_pad_nd")));
}

static void lower_pool(inductor *c)
{
    const kernel_window *w = c->k->window;
    int64_t taps = 1;
    for (int i = 0; w && i < w->rank; i++)
        taps = mul_wrapping(taps, w->size[i] > 0 ? w->size[i] : 1);
    operand x;
    inductor_operand_of(c, c->k->inputs[0], &x);
    if (c->boxes.items[x.box].reads_all > 1)
        inductor_realize(c, x.box);
    if (taps > MAX_TAPS) {
        inductor_call_library(c);
        return;
    }
    extent out = output_extent(c);
    inductor_operand_of(c, c->k->inputs[0], &x);
    finish(c, inductor_make_scattered(c, c->k->op, &out, output_dtype(c), &x, 1, (int)taps, false));
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* Marks the dimensions of `x` that `y` lacks or has with size 1. */
static void find_reduced(const extent *x, const extent *y, bool *is_reduced)
{
    int at = 0;
    for (int i = 0; i < x->rank; i++) {
        bool same_rank = x->rank == y->rank;
        is_reduced[i] = same_rank ? y->dims[i] == 1 && x->dims[i] != 1 : at >= y->rank || y->dims[at] != x->dims[i];
        at += !is_reduced[i];
    }
}

static int64_t count_reduced(const extent *x, const bool *is_reduced)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n = is_reduced[i] ? mul_wrapping(n, x->dims[i]) : n;
    return n;
}

/* Lowers reductions of one loop over all operands, such as the sums in a norm's gradient. */
static void lower_sums(inductor *c)
{
    operand in[MAX_OPERANDS];
    int count = gather_operands(c, in), outputs = c->k->output_count < MAX_NODE_WRITES ? c->k->output_count : 1;
    extent full = in[0].at, out = output_extent(c);
    bool is_reduced[MAX_PLACED_RANK];
    find_reduced(&full, &out, is_reduced);
    int32_t first = inductor_make_reduction(c, c->k->op, &full, is_reduced, &out, output_dtype(c), in, count, outputs);
    for (int i = 0; i < outputs; i++)
        inductor_set_tensor(c, c->k->outputs[i], first + i);
}

/* Lowers the gradient of a pooling: each element gathers from the windows that contain it, and with them the positions
 * of the maxima if there are any. */
static void lower_pool_gradient(inductor *c)
{
    const kernel_window *w = c->k->window;
    operand in[MAX_OPERANDS];
    int64_t windows = 1;
    for (int i = 0; w && i < w->rank; i++) {
        int64_t step = w->stride[i] > 0 ? w->stride[i] : 1;
        windows = mul_wrapping(windows, (w->size[i] + step - 1) / step);
    }
    bool is_max = is_op(c->k, "max_pool2d_with_indices_backward");
    if (!w || w->rank != 2 || windows < 1 || windows > MAX_TAPS || c->k->input_count != (is_max ? 2 : 1)) {
        inductor_call_library(c);
        return;
    }
    int count = gather_operands(c, in);
    inductor_mark_reuse(c, in[0].box, (int)windows);
    gather_operands(c, in);
    extent out = output_extent(c);
    finish(c, inductor_make_scattered(c, c->k->op, &out, output_dtype(c), in, count, (int)windows, false));
}

static void lower_reduction(inductor *c)
{
    if (c->trains && (c->k->input_count > 1 || c->k->output_count > 1)) {
        lower_sums(c);
        return;
    }
    operand x;
    inductor_operand_of(c, c->k->inputs[0], &x);
    extent out = output_extent(c);
    bool is_reduced[MAX_PLACED_RANK];
    find_reduced(&x.at, &out, is_reduced);
    int64_t reduced = count_reduced(&x.at, is_reduced);
    if (reduced <= MAX_UNROLLED && extent_elements(&out) != 1)
        finish(c, inductor_make_scattered(c, c->k->op, &out, output_dtype(c), &x, 1, (int)reduced, false));
    else
        finish(c, inductor_make_reduction(c, c->k->op, &x.at, is_reduced, &out, output_dtype(c), &x, 1, 1));
}

/* True for a 4-D formula under a reshaping view. When it is stored in a buffer, its loops have another order than
 * the reduction's, so the reduction cannot fuse with its readers. */
static bool is_turned_formula(const inductor *c, const operand *x)
{
    const box *b = &c->boxes.items[x->box];
    return b->buffer == NO_BOX && b->own.rank == 4 && x->at.rank == 4 &&
           memcmp(b->own.dims, x->at.dims, 4 * sizeof *x->at.dims) != 0;
}

/* Lowers a norm: a reduction to statistics, then a formula that reads them. Weights align with `first_dim`; a negative
 * value aligns them with the last dimension. */
static void normalise(inductor *c, const extent *full, const operand *x, const bool *is_reduced, int statistics,
                      int first_dim)
{
    extent rows = *full, out = output_extent(c);
    for (int i = 0; i < full->rank; i++)
        rows.dims[i] = is_reduced[i] ? 1 : full->dims[i];
    extent_contiguous(&rows);
    bool was_turned = is_turned_formula(c, x);
    inductor_mark_reuse(c, x->box, 2);
    int32_t first = inductor_make_reduction(c, c->k->op, full, is_reduced, &rows, DT_FLOAT32, x, 1, statistics);
    c->f.nodes.items[c->f.nodes.count - 1].is_apart = was_turned && c->boxes.items[x->box].buffer != NO_BOX;
    operand in[MAX_OPERANDS];
    in[0] = *x;
    int count = 1;
    for (int i = 0; i < statistics; i++) {
        operand row = {.box = first + i, .at = rows};
        inductor_operand_broadcast(&in[count++], &row, full, 0);
    }
    for (int i = 1; i < c->k->input_count && count < MAX_OPERANDS; i++) {
        operand weight;
        inductor_operand_of(c, c->k->inputs[i], &weight);
        inductor_operand_broadcast(&in[count++], &weight, full,
                                   first_dim < 0 ? full->rank - weight.at.rank : first_dim);
    }
    /* The result has the shape of `full` and, if the ranks agree, the layout of the output. */
    extent walked = *full;
    if (full->rank == out.rank)
        walked = out;
    else
        extent_contiguous(&walked);
    finish(c, inductor_make_pointwise(c, c->k->op, &walked, output_dtype(c), in, count, 8));
}

static void lower_layer_norm(inductor *c)
{
    operand x;
    inductor_operand_of(c, c->k->inputs[0], &x);
    bool is_reduced[MAX_PLACED_RANK] = {false};
    int rank = c->k->input_count > 1 ? c->f.out->tensors.items[c->k->inputs[1]].rank : 1;
    for (int i = 0; i < x.at.rank; i++)
        is_reduced[i] = i >= x.at.rank - rank;
    normalise(c, &x.at, &x, is_reduced, is_op(c->k, "_fused_rms_norm") ? 1 : 2, -1);
}

/* Lowers a group norm: statistics over (N, groups, C/groups, …), then a formula over (N, C, …). */
static void lower_group_norm(inductor *c)
{
    operand x;
    inductor_operand_of(c, c->k->inputs[0], &x);
    int64_t groups = node_of(c) ? node_attr_int(node_of(c), "num_groups", 1) : 1;
    extent full = {.rank = x.at.rank + 1};
    if (x.at.rank < 2 || x.at.rank + 1 > MAX_PLACED_RANK || groups < 1 || x.at.dims[1] % groups != 0) {
        inductor_call_library(c);
        return;
    }
    bool is_reduced[MAX_PLACED_RANK] = {false};
    for (int i = 0; i < full.rank; i++) {
        int own = i < 2 ? i : i - 1;
        full.dims[i] = i == 1 ? groups : i == 2 ? x.at.dims[1] / groups : x.at.dims[own];
        full.strides[i] = i == 1 ? mul_wrapping(x.at.strides[1], x.at.dims[1] / groups) : x.at.strides[own];
        is_reduced[i] = i >= 2;
    }
    extent rows = {.rank = full.rank, .dims = {full.dims[0], groups}};
    for (int i = 2; i < full.rank; i++)
        rows.dims[i] = 1;
    extent_contiguous(&rows);
    operand grouped = {.box = x.box, .part = x.part, .at = full};
    inductor_mark_reuse(c, x.box, 2);
    int32_t first = inductor_make_reduction(c, c->k->op, &full, is_reduced, &rows, DT_FLOAT32, &grouped, 1, 2);
    /* Each channel reads the statistics of its group. */
    extent out = output_extent(c);
    operand in[MAX_OPERANDS];
    in[0] = x;
    int count = 1;
    for (int i = 0; i < 2; i++) {
        operand row = {.box = first + i, .at = {.rank = out.rank}};
        for (int d = 0; d < out.rank; d++) {
            row.at.dims[d] = out.dims[d];
            row.at.strides[d] = d == 0 ? groups : d == 1 && groups == out.dims[1] ? 1 : 0;
        }
        in[count++] = row;
    }
    for (int i = 1; i < c->k->input_count && count < MAX_OPERANDS; i++) {
        operand weight;
        inductor_operand_of(c, c->k->inputs[i], &weight);
        inductor_operand_broadcast(&in[count++], &weight, &out, 1);
    }
    finish(c, inductor_make_pointwise(c, c->k->op, &out, output_dtype(c), in, count, 8));
}

static void lower_softmax(inductor *c)
{
    operand x;
    inductor_operand_of(c, c->k->inputs[0], &x);
    bool is_reduced[MAX_PLACED_RANK] = {false};
    const node *n = node_of(c);
    int64_t axis = n && node_is(n, "Softmax") ? node_attr_int(n, "axis", -1) : -1;
    axis = axis < 0 ? axis + x.at.rank : axis;
    if (x.at.rank < 1 || axis < 0 || axis >= x.at.rank) {
        inductor_call_library(c);
        return;
    }
    is_reduced[axis] = true;
    if (x.at.dims[axis] <= MAX_UNROLLED && extent_elements(&x.at) > x.at.dims[axis]) {
        /* Short rows are unrolled, so that each element reads its whole row. */
        extent out = output_extent(c);
        finish(c, inductor_make_scattered(c, c->k->op, &out, output_dtype(c), &x, 1, (int)x.at.dims[axis], false));
        return;
    }
    normalise(c, &x.at, &x, is_reduced, 2, -1);
}

/* Lowers the batch norm that standardizes a convolution's weight; it reduces all dimensions except dimension 1. */
static void lower_weight_norm(inductor *c)
{
    operand x;
    inductor_operand_of(c, c->k->inputs[0], &x);
    bool is_reduced[MAX_PLACED_RANK] = {false};
    for (int i = 0; i < x.at.rank; i++)
        is_reduced[i] = i != 1;
    normalise(c, &x.at, &x, is_reduced, 2, 1);
}

/* ---- concatenation ----------------------------------------------------------------------------------------------- */

/* True if all readers of the tensor, also through views, are pointwise, a concatenation or a pad. */
static bool feeds_formulas(const inductor *c, tensor_id t, int depth)
{
    if (c->is_output[t] || depth == 0)
        return false;
    for (int32_t i = c->user_start[t]; i < c->user_start[t + 1]; i++) {
        const kernel *k = &c->in->kernels.items[c->users[i]];
        if (k->flags & KERNEL_VIEW ? !feeds_formulas(c, k->outputs[0], depth - 1)
                                   : !is_elementwise(k) && !is_op(k, "cat") && !is_op(k, "constant_pad_nd"))
            return false;
    }
    return true;
}

/* True if another formula reads this part of the concatenation, which must then be stored separately. */
static bool has_other_readers(const inductor *c, tensor_id t)
{
    t = c->same[t];
    const box *b = &c->boxes.items[c->box_of_storage[c->f.out->tensors.items[t].storage]];
    int others = 0;
    for (int32_t i = c->user_start[t]; i < c->user_start[t + 1]; i++) {
        const kernel *k = &c->in->kernels.items[c->users[i]];
        if (k == c->k)
            continue;
        others++;
        if (is_elementwise(k) || (k->flags & KERNEL_VIEW && feeds_formulas(c, k->outputs[0], 8)))
            return true;
    }
    return others > 0 && b->buffer == NO_BOX;
}

/* True if the kernel that computes this part can write it directly into the concatenation. */
static bool can_write_in_place(const inductor *c, const operand *x)
{
    const box *b = &c->boxes.items[x->box];
    return b->is_computed && extent_elements(&b->own) == extent_elements(&x->at) &&
           (b->buffer == NO_BOX || !c->f.buffers.items[b->buffer].is_fixed);
}

static void lower_join(inductor *c)
{
    operand in[MAX_OPERANDS];
    extent out = output_extent(c);
    int count = gather_operands(c, in);
    bool any_formula = false, all_formulas = true, is_shared = false, has_sums = false;
    for (int i = 0; i < count; i++) {
        const box *b = &c->boxes.items[in[i].box];
        bool is_formula = b->buffer == NO_BOX || !can_write_in_place(c, &in[i]);
        any_formula |= is_formula;
        all_formulas &= is_formula;
        is_shared |= is_op(c->k, "cat") && has_other_readers(c, c->k->inputs[i]);
        for (int k = 0; b->buffer == NO_BOX && k < b->read_count; k++) {
            int32_t writer = c->f.buffers.items[b->reads[k].buffer].writer;
            has_sums |= writer != NO_FUSE_NODE && c->f.nodes.items[writer].reduced != 1;
        }
    }
    if (count <= MAX_JOINED && !is_shared &&
        ((any_formula && feeds_formulas(c, c->k->outputs[0], 8)) || (all_formulas && !has_sums))) {
        finish(c, inductor_make_scattered(c, c->k->op, &out, output_dtype(c), in, count, 1, false));
        return;
    }
    fuse_read *reads = ARENA_ARRAY(c->arena, fuse_read, (size_t)count + 1);
    bool is_last = false;
    for (int i = 0; i < count; i++) {
        if (!can_write_in_place(c, &in[i]) || c->boxes.items[in[i].box].dtype != output_dtype(c)) {
            extent own = in[i].at;
            extent_contiguous(&own);
            in[i].box = inductor_make_pointwise(c, c->k->op, &own, output_dtype(c), &in[i], 1, 1);
        }
        is_last |= c->boxes.items[in[i].box].is_last;
        inductor_realize(c, in[i].box);
        int32_t buffer = c->boxes.items[in[i].box].buffer;
        c->f.buffers.items[buffer].is_fixed = true;
        reads[i] = (fuse_read){.buffer = buffer, .times = 1, .at = access_scattered(c->arena, 1)};
    }
    inductor_join_buffers(c, reads, count, is_last && c->is_last);
}

/* True if the output has the input's shape, as for a pad of zero width. */
static bool keeps_shape(const inductor *c)
{
    extent x = extent_of(&c->f.out->tensors.items[c->k->inputs[0]]), y = output_extent(c);
    return x.rank == y.rank && memcmp(x.dims, y.dims, (size_t)x.rank * sizeof *x.dims) == 0;
}

/* ---- one kernel -------------------------------------------------------------------------------------------------- */

/* Lowers a kernel that is neither a view nor a library call and has few enough operands for a formula. */
static void lower_as(inductor *c, const aten_op *op)
{
    const kernel *k = c->k;
    switch (op->compiled) {
    case COMPILED_BATCH_NORM:
        lower_weight_norm(c);
        return;
    case COMPILED_REDUCTION:
        lower_reduction(c);
        return;
    case COMPILED_ROW_NORM:
        lower_layer_norm(c);
        return;
    case COMPILED_GROUP_NORM:
        lower_group_norm(c);
        return;
    case COMPILED_SOFTMAX:
        lower_softmax(c);
        return;
    case COMPILED_JOIN:
        lower_join(c);
        return;
    case COMPILED_WINDOW_GRADIENT:
        lower_pool_gradient(c);
        return;
    default:
        break;
    }
    if (k->window)
        lower_pool(c);
    else if (op->compiled == COMPILED_RESAMPLE)
        lower_scattered(c, op->steps);
    else if (op->compiled == COMPILED_MOVE && !(is_op(k, "constant_pad_nd") && keeps_shape(c)))
        lower_scattered(c, 1);
    else
        lower_elementwise(c);
}

void lower_kernel(inductor *c)
{
    const kernel *k = c->k;
    const aten_op *op = aten_find(k->op);
    bool is_small = k->input_count <= MAX_OPERANDS;
    if (op->compiled == COMPILED_FRAME) {
        inductor_call_library(c);
        return;
    }
    if (k->flags & KERNEL_VIEW || (k->flags & KERNEL_HIDDEN && is_op(k, "clone")))
        return;
    if (k->input_count == 0 && c->trains) {
        extent out = output_extent(c);
        finish(c, inductor_make_pointwise(c, k->op, &out, output_dtype(c), NULL, 0, 1));
        return;
    }
    if (k->input_count == 0 || k->flags & KERNEL_UNKNOWN || op->compiled == COMPILED_CALL)
        inductor_call_library(c);
    else if (k->flags & KERNEL_HIDDEN || (op->compiled == COMPILED_BATCH_NORM && k->input_count > 2))
        lower_by_channel(c);
    else if (is_small)
        lower_as(c, op);
    else
        inductor_call_library(c);
}
