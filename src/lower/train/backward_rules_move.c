/* backward_rules_move.c: gradients of views and data movement. */
#include "lower/train/backward.h"

/* Appends a kernel that writes a tensor like input 0. */
static tensor_id like_input(backward *b, const char *op, tensor_id t)
{
    extent x = tensor_extent(b->e, b->k.inputs[0]);
    extent_contiguous(&x);
    return eager_launch_new(b->e, op, &t, 1, tensor_dtype(b->e, t), &x);
}

void back_clone(backward *b)
{
    back_give(b, 0, b->dy);
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

void back_view(backward *b)
{
    extent x = tensor_extent(b->e, b->k.inputs[0]);
    back_give(b, 0, eager_reshape(b->e, b->dy, x.rank, x.dims));
}

/* Inverts the permutation of the forward pass. */
void back_permute(backward *b)
{
    eager *e = b->e;
    while (e->turns.count > 0 && e->turns.items[e->turns.count - 1].kernel > b->at)
        e->turns.count--;
    const turn *way = e->turns.count > 0 ? &e->turns.items[e->turns.count - 1] : NULL;
    if (!way || way->kernel != b->at) {
        back_give(b, 0, eager_transpose_last(e, b->dy));
        return;
    }
    extent from = tensor_extent(e, b->dy), x = {.rank = tensor_at(e, b->k.inputs[0])->rank};
    for (int i = 0; i < x.rank; i++) {
        x.dims[i] = from.dims[way->places[i]];
        x.strides[i] = from.strides[way->places[i]];
    }
    back_give(b, 0, eager_view_as(e, "permute", b->dy, &x));
}

void back_expand(backward *b)
{
    back_give(b, 0, b->dy); /* Broadcast dimensions are summed. */
}

/* True if the slices come from one chunk(): they cover one axis, with equal sizes except the last. */
static bool is_chunk(const backward *b, int32_t first, int32_t last)
{
    const eager *e = b->e;
    extent whole = tensor_extent(e, b->k.inputs[0]), part = {0};
    int axis = -1;
    int64_t covered = 0;
    for (int32_t i = first; i <= last; i++) {
        extent x = tensor_extent(e, e->out->kernels.items[i].outputs[0]);
        int own = -1;
        for (int d = 0; d < x.rank; d++)
            if (x.dims[d] != whole.dims[d] || x.strides[d] != whole.strides[d])
                own = own == -1 && x.strides[d] == whole.strides[d] ? d : x.rank;
        if (own < 0 || own == x.rank || (i > first && own != axis))
            return false;
        axis = own;
        part = i == first ? x : part;
        covered += x.dims[axis];
        if (x.dims[axis] > part.dims[axis] || (i < last && x.dims[axis] != part.dims[axis]))
            return false;
    }
    int64_t count = last - first + 1;
    return count > 1 && covered == whole.dims[axis] && part.dims[axis] == (covered + count - 1) / count;
}

/* True for x.unbind() that a program states: one operator, whose gradient is one stack. */
static bool is_stated_unbind(const backward *b)
{
    return b->e->node && node_attr_int(b->e->node, "eager_unbind", 0) != 0;
}

/* Searches once for the whole run, because some networks have very many parts. */
static void find_run(backward *b)
{
    part_run *run = &b->run;
    if (b->at >= run->first && b->at <= run->last)
        return;
    const kernel *kernels = b->e->out->kernels.items;
    *run = (part_run){.first = b->at, .last = b->at};
    while (run->first > 0 && strcmp(kernels[run->first - 1].op, b->k.op) == 0 &&
           kernels[run->first - 1].inputs[0] == b->k.inputs[0])
        run->first--;
    while (strcmp(kernels[run->last + 1].op, b->k.op) == 0 && kernels[run->last + 1].inputs[0] == b->k.inputs[0])
        run->last++;
    /* chunk() is one operator; where a program states its calls, only a split is. */
    run->is_one = is_stated_unbind(b) || strcmp(b->k.op, "split") == 0 ||
                  (!b->e->is_stated && strcmp(b->k.op, "slice") == 0 && is_chunk(b, run->first, run->last));
}

/* Gradient of a part: writes it into a tensor of zeros. */
void back_part(backward *b)
{
    bool is_slice = strcmp(b->k.op, "slice") == 0;
    find_run(b);
    if (b->run.is_one)
        back_split(b);
    else
        back_give(b, 0, like_input(b, is_slice ? "slice_backward" : "select_backward", b->dy));
}

/* True if all parts have size 1 and drop that dimension (unbind). */
static bool is_unbind(const backward *b, int32_t first, int32_t last)
{
    const eager *e = b->e;
    for (int32_t i = first; i <= last; i++) {
        const kernel *part = &e->out->kernels.items[i];
        value_id v = tensor_at(e, part->outputs[0])->value;
        const node *reader = v == NO_VALUE ? NULL : eager_reader_of(e, v);
        if (!reader || e->readers[v] != 1 || !node_is(reader, "Squeeze"))
            return false;
    }
    return true;
}

/* Handles all parts at the first one in the tape: the backward pass reaches it last, when all their gradients exist. */
void back_split(backward *b)
{
    eager *e = b->e;
    tensor_id whole = b->k.inputs[0];
    find_run(b);
    if (b->run.is_joined)
        return;
    b->run.is_joined = true;
    int32_t first = b->run.first, last = b->run.last;
    int32_t count = last - first + 1;
    bool unbinds = is_stated_unbind(b) || is_unbind(b, first, last);
    tensor_id *parts = ARENA_ARRAY(e->arena, tensor_id, (size_t)count);
    bool all_last = true;
    for (int32_t i = 0; i < count; i++) {
        tensor_id part = e->out->kernels.items[first + i].outputs[0];
        extent x = tensor_extent(e, part);
        extent_contiguous(&x);
        parts[i] = b->gradients[part];
        if (parts[i] == NO_TENSOR)
            parts[i] = eager_launch_new(e, "zeros", NULL, 0, tensor_dtype(e, part), &x);
        extent own = tensor_extent(e, parts[i]);
        all_last &= extent_suggests_channels_last(&own);
    }
    extent x = tensor_extent(e, whole);
    extent_contiguous(&x);
    if (all_last && !unbinds)
        extent_channels_last(&x);
    back_give(b, 0, eager_launch_new(e, unbinds ? "stack" : "cat", parts, count, eager_promote(e, parts, count), &x));
}

/* Gradient of as_strided: allocates zeros in the input's layout and copies the gradient into them. */
void back_restride(backward *b)
{
    eager *e = b->e;
    extent x = tensor_extent(e, b->k.inputs[0]), flat = {.rank = 1, .dims = {extent_elements(&x)}}, short_x = {0};
    extent_contiguous(&flat);
    for (int i = 0; i < x.rank; i++)
        if (x.dims[i] != 1)
            short_x.dims[short_x.rank++] = x.dims[i];
    extent_contiguous(&short_x);
    dtype type = tensor_dtype(e, b->dy);
    tensor_id part = eager_reshape(e, b->dy, short_x.rank, short_x.dims);
    tensor_id zeros = eager_launch_new(e, "new_zeros", NULL, 0, type, &flat);
    tensor_id place = eager_view_as(e, "as_strided", zeros, &short_x);
    eager_launch(e, "copy_", &part, 1, place, KERNEL_IN_PLACE);
    extent_contiguous(&x);
    back_give(b, 0, eager_view_as(e, "as_strided", zeros, &x));
}

void back_unfold(backward *b)
{
    back_give(b, 0, like_input(b, "unfold_backward", b->dy));
}

/* ---- lookups ----------------------------------------------------------------------------------------------------- */

void back_index(backward *b)
{
    eager *e = b->e;
    extent x = tensor_extent(e, b->k.inputs[0]);
    extent_contiguous(&x);
    dtype type = tensor_dtype(e, b->dy);
    tensor_id zeros = eager_launch_new(e, "new_zeros", NULL, 0, type, &x);
    tensor_id inputs[3] = {zeros, b->k.input_count > 1 ? b->k.inputs[1] : NO_TENSOR, b->dy};
    back_give(b, 0, eager_launch_new(e, "index_put", inputs, 3, type, &x));
}

/* Writes the gradient to the given places of a tensor of zeros. */
static void give_placed(backward *b, const char *zeros_op, const char *op)
{
    eager *e = b->e;
    extent x = tensor_extent(e, b->k.inputs[0]);
    extent_contiguous(&x);
    dtype type = tensor_dtype(e, b->dy);
    tensor_id places = b->k.output_count > 1 ? b->k.outputs[1] : b->k.inputs[b->k.input_count - 1];
    tensor_id inputs[3] = {eager_launch_new(e, zeros_op, NULL, 0, type, &x), places, b->dy};
    back_give(b, 0, eager_launch_new(e, op, inputs, 3, type, &x));
}

void back_gather(backward *b)
{
    give_placed(b, "new_zeros", "scatter_add");
}

void back_index_select(backward *b)
{
    give_placed(b, "new_zeros", "index_add");
}

/* Maxima, sorted or largest elements with their places. */
void back_picked(backward *b)
{
    if (b->k.output_count > 1)
        give_placed(b, "new_zeros", "scatter");
    else
        back_amax(b);
}

/* The gradient is zero where elements were overwritten; these pass theirs to the source. */
void back_scatter(backward *b)
{
    eager *e = b->e;
    tensor_id inputs[2] = {b->dy, b->k.inputs[b->k.input_count > 1 ? 1 : 0]};
    if (back_wants(b, 0))
        back_give(b, 0, back_launch_like(e, "scatter", inputs, 2, tensor_dtype(e, b->dy), b->dy));
    if (back_wants(b, 2))
        back_give(b, 2, back_launch_like(e, "gather", inputs, 2, tensor_dtype(e, b->dy), b->k.inputs[2]));
}

/* weight = g * v / |v|: one kernel for both gradients. */
void back_weight_norm(backward *b)
{
    eager *e = b->e;
    if (b->k.input_count < 2)
        return;
    tensor_id inputs[4] = {b->dy, b->k.inputs[0], b->k.inputs[1], b->k.outputs[b->k.output_count - 1]};
    tensor_id v = b->k.inputs[0], g = b->k.inputs[1];
    tensor_id of_v = back_launch_like(e, "_weight_norm_interface_backward", inputs, 4, tensor_dtype(e, v), v);
    tensor_id of_g = back_add_output_like(e, tensor_dtype(e, g), g);
    back_give(b, 0, of_v);
    back_give(b, 1, of_g);
}

void back_embedding(backward *b)
{
    extent x = tensor_extent(b->e, b->k.inputs[0]);
    extent_contiguous(&x);
    tensor_id inputs[2] = {b->dy, b->k.input_count > 1 ? b->k.inputs[1] : NO_TENSOR};
    back_give(b, 0, eager_launch_new(b->e, "embedding_dense_backward", inputs, 2, tensor_dtype(b->e, b->dy), &x));
}

/* The written part receives its gradient; the gradient of the other elements passes through the written view, or is a
 * copy in which the written part is zero. */
void back_index_put(backward *b)
{
    eager *e = b->e;
    int last = b->k.input_count - 1;
    if (e->is_stated && last > 0) {
        dtype type = tensor_dtype(e, b->dy);
        tensor_id values = b->k.inputs[last], inputs[3] = {b->dy, b->k.inputs[1], NO_TENSOR};
        if (back_wants(b, 0)) {
            inputs[2] = back_launch_like(e, "zeros_like", NULL, 0, type, values);
            back_give(b, 0, back_launch_like(e, "index_put", inputs, 3, type, b->dy));
        }
        if (back_wants(b, last))
            back_give(b, last, back_launch_like(e, "index", inputs, 2, type, values));
        return;
    }
    if (!back_wants(b, 2))
        return;
    extent x = tensor_extent(b->e, b->k.inputs[2]);
    extent_contiguous(&x);
    tensor_id inputs[2] = {b->dy, b->k.inputs[1]};
    back_give(b, 2, eager_launch_new(b->e, "index", inputs, 2, tensor_dtype(b->e, b->dy), &x));
}

/* Gradient of a write to a slice. The source receives a view of the gradient; the target receives zeros in that
 * slice. */
void back_copy(backward *b)
{
    if (!back_wants(b, 0))
        return;
    eager *e = b->e;
    extent x = tensor_extent(e, b->k.inputs[0]), whole = tensor_extent(e, b->dy);
    if (x.rank != whole.rank)
        return;
    extent zeros = x;
    extent_contiguous(&zeros);
    eager_launch_new(e, "zeros_like", NULL, 0, tensor_dtype(e, b->dy), &zeros);
    memcpy(x.strides, whole.strides, sizeof x.strides);
    back_give(b, 0, eager_view_as(e, "slice", b->dy, &x));
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

/* Each input receives a view of its part of the gradient. */
void back_cat(backward *b)
{
    eager *e = b->e;
    extent whole = tensor_extent(e, b->dy);
    for (int i = 0; i < b->k.input_count; i++) {
        if (!back_wants(b, i))
            continue;
        extent x = tensor_extent(e, b->k.inputs[i]);
        if (x.rank != whole.rank)
            continue;
        memcpy(x.strides, whole.strides, sizeof x.strides);
        back_give(b, i, eager_view_as(e, "slice", b->dy, &x));
    }
}

void back_stack(backward *b)
{
    eager *e = b->e;
    extent whole = tensor_extent(e, b->dy);
    int axis = e->node ? eager_node_axis(e, node_attr_int(e->node, "axis", 0), whole.rank) : 0;
    for (int i = 0; i < b->k.input_count; i++) {
        extent x = tensor_extent(e, b->k.inputs[i]);
        for (int d = 0; d < x.rank && x.rank + 1 == whole.rank; d++)
            x.strides[d] = whole.strides[d < axis ? d : d + 1];
        if (back_wants(b, i))
            back_give(b, i, eager_view_as(e, "select", b->dy, &x));
    }
}

/* The input's gradient is a copy without the border. */
void back_pad(backward *b)
{
    eager *e = b->e;
    extent from = tensor_extent(e, b->dy), x = tensor_extent(e, b->k.inputs[0]);
    extent_contiguous(&x);
    if (extent_suggests_channels_last(&from))
        extent_channels_last(&x);
    back_give(b, 0, eager_launch_new(e, "constant_pad_nd", &b->dy, 1, tensor_dtype(e, b->dy), &x));
}

/* Repeated dimensions are summed. */
void back_repeat(backward *b)
{
    eager *e = b->e;
    extent x = tensor_extent(e, b->k.inputs[0]), y = tensor_extent(e, b->dy), wide = {0};
    int lead = y.rank - x.rank;
    for (int i = 0; i < y.rank && wide.rank + 2 <= MAX_PLACED_RANK; i++) {
        int64_t own = i < lead ? 1 : x.dims[i - lead];
        if (own > 0 && y.dims[i] != own)
            wide.dims[wide.rank++] = y.dims[i] / own;
        if (i >= lead)
            wide.dims[wide.rank++] = own;
    }
    tensor_id t = eager_reshape(e, b->dy, wide.rank, wide.dims);
    back_give(b, 0, wide.rank == x.rank ? t : back_sum_over(e, t, &x));
}

/* Gradients of moves that are moves of the same kind. */
void back_fold(backward *b)
{
    const char *op = b->k.op;
    back_give(b, 0,
              like_input(b,
                         strcmp(op, "im2col") == 0            ? "col2im"
                         : strcmp(op, "col2im") == 0          ? "im2col"
                         : strcmp(op, "pixel_shuffle") == 0   ? "pixel_unshuffle"
                         : strcmp(op, "pixel_unshuffle") == 0 ? "pixel_shuffle"
                                                              : op,
                         b->dy));
}
