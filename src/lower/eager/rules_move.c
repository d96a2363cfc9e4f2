/* rules_move.c: views and data movement: reshape, transpose, slices, concatenation, padding, lookups. */
#include "graph/infer.h"
#include "lower/eager/eager.h"

void lower_identity(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    str copies = node_attr_string(e->node, "eager_copies", "");
    if (str_is(copies, "contiguous"))
        t = eager_contiguous(e, t);
    if (str_is(copies, "clone")) {
        extent x = tensor_extent(e, t), from = x;
        extent_preserve(&x, &from);
        t = eager_launch_new(e, "clone", &t, 1, tensor_dtype(e, t), &x);
    }
    eager_set_result(e, 0, t);
}

/* True for a relative position bias, which is gathered as (positions, heads), transposed, and made contiguous for
 * the next sum. */
static bool is_table_of_positions(eager *e)
{
    const node *n = e->node;
    if (!e->is_static[n->outputs[0]] || e->is_stated)
        return false;
    const node *before = eager_maker_of(e, n->inputs[0], "Reshape");
    const node *after = eager_reader_of(e, n->outputs[0]);
    if (after && node_is(after, "Pad")) /* If tokens are added beside the map, a pad writes new memory instead. */
        return false;
    const node *lookup =
        before ? eager_maker_of(e, before->inputs[0], "Gather") : eager_maker_of(e, n->inputs[0], "Gather");
    return lookup && node_attr_int(lookup, "axis", 0) == 0;
}

/* True if the next node is in another module. Then the table's own module adds an axis and makes the bias
 * contiguous. */
static bool is_in_module_of_its_own(eager *e)
{
    const node *axis = eager_reader_of(e, e->node->outputs[0]);
    const node *user = axis ? eager_reader_of(e, axis->outputs[0]) : NULL;
    if (!axis || !user || !node_is(axis, "Unsqueeze"))
        return false;
    if (node_is(user, "Add") && user->input_count == 2 && eager_maker_of(e, user->inputs[0], NULL))
        user = eager_maker_of(e, user->inputs[0], NULL);
    return !str_eq(eager_node_scope(axis), eager_node_scope(user));
}

/* Unsqueezes the given axes. A new dimension has the stride of all dimensions after it. */
static bool unsqueeze(eager *e, const extent *from, extent *x)
{
    int32_t count = 0;
    const int64_t *axes = eager_node_ints(e, "axes", 1, &count);
    bool is_new[MAX_PLACED_RANK] = {false};
    for (int32_t i = 0; axes && i < count; i++) {
        if (axes[i] < -x->rank || axes[i] >= x->rank)
            return false;
        is_new[axes[i] < 0 ? axes[i] + x->rank : axes[i]] = true;
    }
    int at = from->rank - 1;
    int64_t whole = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        if (!is_new[i] && at < 0)
            return false;
        x->strides[i] = is_new[i] ? whole : from->strides[at];
        whole = mul_wrapping(x->strides[i], x->dims[i]);
        at -= !is_new[i];
    }
    return axes && at == -1;
}

/* Squeezes the given axes; the others keep their strides. */
static bool squeeze(eager *e, const extent *from, extent *x)
{
    int32_t count = 0;
    const int64_t *axes = eager_node_ints(e, "axes", 1, &count);
    bool is_gone[MAX_PLACED_RANK] = {false};
    for (int32_t i = 0; axes && i < count; i++) {
        if (axes[i] < -from->rank || axes[i] >= from->rank)
            return false;
        is_gone[axes[i] < 0 ? axes[i] + from->rank : axes[i]] = true;
    }
    int at = 0;
    for (int i = 0; i < from->rank; i++)
        if (!is_gone[i] && at < x->rank)
            x->strides[at++] = from->strides[i];
    return axes && at == x->rank;
}

void lower_reshape(eager *e)
{
    extent x = eager_output_extent(e, 0), from = tensor_extent(e, eager_input_of(e, 0));
    bool adds = node_is(e->node, "Unsqueeze");
    tensor_id t;
    if (adds && unsqueeze(e, &from, &x))
        t = eager_view_as(e, "unsqueeze", eager_input_of(e, 0), &x);
    else if (node_is(e->node, "Squeeze") && squeeze(e, &from, &x))
        t = eager_view_as(e, "squeeze", eager_input_of(e, 0), &x);
    else
        t = eager_reshape(e, eager_input_of(e, 0), x.rank, x.dims);
    const node *table = node_is(e->node, "Unsqueeze") ? eager_maker_of(e, e->node->inputs[0], "Transpose") : NULL;
    if (table) {
        const node *own = e->node;
        e->node = table;
        bool late = is_table_of_positions(e) && is_in_module_of_its_own(e);
        e->node = own;
        t = late ? eager_contiguous(e, t) : t;
    }
    eager_set_result(e, 0, t);
}

/* True for tokens (N,L,C) that become a map again; these are made contiguous in either memory format. */
static bool is_map_of_tokens(eager *e, const int64_t *perm, int32_t count)
{
    static const int64_t TO_MAP[] = {0, 3, 1, 2};
    const node *reshape = eager_maker_of(e, e->node->inputs[0], "Reshape");
    return !e->is_stated && perm && count == 4 && memcmp(perm, TO_MAP, sizeof TO_MAP) == 0 && reshape &&
           reshape->inputs[0] != NO_VALUE && str_eq(eager_node_scope(reshape), eager_node_scope(e->node)) &&
           e->net->values.items[reshape->inputs[0]].rank != 4;
}

void lower_transpose(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    int rank = tensor_at(e, t)->rank;
    int32_t count;
    const int64_t *perm = eager_node_ints(e, "perm", 1, &count);
    int64_t checked[MAX_PLACED_RANK];
    bool seen[MAX_PLACED_RANK] = {false};
    for (int i = 0; i < rank; i++) {
        checked[i] = perm && count == rank ? perm[i] : rank - 1 - i;
        if (checked[i] < 0 || checked[i] >= rank || seen[checked[i]]) {
            lower_unknown(e);
            return;
        }
        seen[checked[i]] = true;
    }
    t = eager_permute(e, t, checked);
    bool is_table = is_table_of_positions(e) && !is_in_module_of_its_own(e);
    if (is_table || is_map_of_tokens(e, perm, count))
        t = eager_contiguous(e, t);
    eager_set_result(e, 0, t);
}

void lower_expand(eager *e)
{
    extent x = eager_output_extent(e, 0);
    if (eager_input_rank(e, 0) > x.rank) {
        lower_unknown(e);
        return;
    }
    /* True for a reshaped scalar constant, which stands for a zero bias in exported files. */
    if (tensor_at(e, eager_input_of(e, 0))->is_number && e->is_static[e->node->outputs[0]] && !e->is_stated)
        return;
    eager_set_result(e, 0, eager_expand(e, eager_input_of(e, 0), x.rank, x.dims));
}

/* True for the last slice that removes window padding. Its result is made contiguous. */
static bool crops_windows(eager *e)
{
    const node *after = eager_reader_of(e, e->node->outputs[0]), *before = e->node;
    if (after && node_is(after, "Slice"))
        return false;
    while (before && node_is(before, "Slice"))
        before = eager_maker_of(e, before->inputs[0], NULL);
    return before && node_is(before, "WindowReverse");
}

/* The result has the strides of the input, multiplied by the steps. */
void lower_slice(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent from = tensor_extent(e, t), x = eager_output_extent(e, 0);
    int32_t axis_count = 0, step_count = 0;
    const int64_t *axes = eager_node_ints(e, "axes", 3, &axis_count),
                  *steps = eager_node_ints(e, "steps", 4, &step_count);
    if (from.rank != x.rank) {
        lower_unknown(e);
        return;
    }
    if (memcmp(from.dims, x.dims, (size_t)x.rank * sizeof *x.dims) == 0) { /* x[:] launches nothing. */
        eager_set_result(e, 0, t);
        return;
    }
    memcpy(x.strides, from.strides, sizeof x.strides);
    for (int32_t i = 0; steps && i < step_count; i++) {
        int64_t axis = axes && i < axis_count ? axes[i] : i;
        if (axis >= -x.rank && axis < x.rank && steps[i] > 1) {
            int64_t *stride = &x.strides[axis < 0 ? axis + x.rank : axis];
            *stride = mul_wrapping(*stride, steps[i]);
        }
    }
    t = eager_view_as(e, "slice", t, &x);
    eager_set_result(e, 0, crops_windows(e) ? eager_contiguous(e, t) : t);
}

void lower_split(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent from = tensor_extent(e, t);
    for (int i = 0; i < e->node->output_count; i++) {
        if (e->node->outputs[i] == NO_VALUE)
            continue;
        extent x = eager_output_extent(e, i);
        if (x.rank != from.rank) {
            lower_unknown(e);
            return;
        }
        memcpy(x.strides, from.strides, sizeof x.strides);
        eager_set_result(e, i, eager_view_as(e, "split", t, &x));
    }
}

/* A single index gives a view; a list of indices gathers rows. */
void lower_gather(eager *e)
{
    tensor_id t = eager_input_of(e, 0), index = eager_input_of(e, 1);
    extent from = tensor_extent(e, t), x = eager_output_extent(e, 0);
    if (from.rank == 0) {
        lower_unknown(e);
        return;
    }
    int axis = eager_node_axis(e, node_attr_int(e->node, "axis", 0), from.rank);
    if (tensor_at(e, index)->rank == 0 && x.rank == from.rank - 1) {
        for (int i = 0; i < x.rank; i++)
            x.strides[i] = from.strides[i < axis ? i : i + 1];
        eager_set_result(e, 0, eager_view_as(e, "select", t, &x));
        return;
    }
    if (!e->trains && !e->is_stated && axis == 1 && from.rank == 2 && e->is_static[e->node->inputs[0]] &&
        e->is_static[e->node->inputs[1]]) {
        /* For table[:, positions] of a weight, networks keep the result between passes. */
        tensor_id kept = eager_tensor_new(e, tensor_dtype(e, t), &x);
        eager_set_result(e, 0, kept);
        return;
    }
    tensor_id inputs[2] = {t, index};
    /* nn.Embedding: rows of a stored table by indices that are computed or given. */
    bool is_embedding =
        node_attr_int(e->node, "eager_embedding", 0) || (axis == 0 && from.rank == 2 && tensor_at(e, t)->is_weight &&
                                                         !e->is_static[e->node->inputs[1]] && !e->is_stated);
    eager_set_result(e, 0,
                     eager_launch_new(e, is_embedding ? "embedding" : "index", inputs, 2, tensor_dtype(e, t), &x));
}

/* Lowers x[index] = y on a copy of x. Consecutive writes share one copy. */
void lower_scatter(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    if (!eager_own_maker_of(e, e->node->inputs[0], "ScatterND"))
        t = eager_clone(e, t);
    extent x = tensor_extent(e, t);
    tensor_id made = eager_view_as(e, "alias", t, &x);
    eager_launch(e, "index_put_", (const tensor_id[]){t, eager_input_of(e, 1), eager_input_of(e, 2)}, 3, made,
                 KERNEL_IN_PLACE);
    eager_set_result(e, 0, made);
}

void lower_one_hot(eager *e)
{
    extent x = eager_output_extent(e, 0);
    extent_contiguous(&x);
    tensor_id made = eager_launch_new(e, "zeros", NULL, 0, DT_INT64, &x);
    eager_launch(e, "scatter_", (const tensor_id[]){made, eager_input_of(e, 0)}, 2, made, KERNEL_IN_PLACE);
    eager_set_result(e, 0, made);
}

static bool is_stack(eager *e, int axis)
{
    const node *n = e->node;
    for (int i = 0; i < n->input_count; i++) {
        const value *v = n->inputs[i] == NO_VALUE ? NULL : &e->net->values.items[n->inputs[i]];
        const node *maker = v && v->producer != NO_NODE ? &e->net->nodes.items[v->producer] : NULL;
        if (!maker || !node_is(maker, "Unsqueeze") || v->rank <= axis || v->dims[axis] != 1)
            return false;
    }
    return n->input_count > 1;
}

/* True if half of the channels bypass a stage; the stage's result is then made contiguous before the concatenation. */
static bool is_cross_stage(eager *e)
{
    const node *n = e->node;
    const node *split = n->input_count == 2 ? eager_maker_of(e, n->inputs[0], "Split") : NULL;
    return split && split->output_count == 2 && split->outputs[0] == n->inputs[0] &&
           split->outputs[1] != n->inputs[1] && eager_input_rank(e, 0) == 4;
}

/* Lowers a stack as PyTorch does: a concatenation along the next axis, viewed with one more dimension. */
static void stack_channels_last(extent *x, int axis)
{
    extent joined = {.rank = x->rank - 1};
    for (int i = 0; i < joined.rank; i++)
        joined.dims[i] = i < axis ? x->dims[i] : i > axis ? x->dims[i + 1] : mul_wrapping(x->dims[i], x->dims[i + 1]);
    extent_channels_last(&joined);
    if (axis == joined.rank || !extent_view(&joined, x))
        extent_contiguous(x);
}

/* The result is channels last if all inputs are. */
void lower_concat(eager *e)
{
    const node *n = e->node;
    extent x = eager_output_extent(e, 0);
    tensor_id *inputs = ARENA_ARRAY(e->arena, tensor_id, (size_t)n->input_count + 1);
    int count = 0;
    bool last = true;
    bool states_stack = str_is(node_attr_string(n, "eager_call", ""), "stack");
    bool stacks = x.rank > 0 && (!e->is_stated || states_stack) &&
                  is_stack(e, eager_node_axis(e, node_attr_int(n, "axis", 0), x.rank));
    bool crosses = !e->is_stated && is_cross_stage(e);
    for (int i = 0; i < n->input_count; i++) {
        tensor_id t = eager_input_of(e, i);
        if (t == NO_TENSOR)
            continue;
        if (stacks)
            t = eager_tensor_of(e, eager_maker_of(e, n->inputs[i], "Unsqueeze")->inputs[0]);
        if (crosses && i == 1)
            t = eager_contiguous(e, t);
        extent own = tensor_extent(e, t);
        last &= extent_suggests_channels_last(&own);
        inputs[count++] = t;
    }
    bool repeats = stacks && !e->is_stated;
    for (int i = 1; i < count; i++)
        repeats &= inputs[i] == inputs[0];
    if (repeats) { /* Lowers repeat_interleave() as a broadcast and a copy. */
        tensor_id wide = eager_expand(e, eager_input_of(e, 0), x.rank, x.dims);
        eager_set_result(e, 0, eager_clone(e, wide));
        return;
    }
    if (last && count > 0 && stacks)
        stack_channels_last(&x, eager_node_axis(e, node_attr_int(n, "axis", 0), x.rank));
    else if (last && count > 0)
        extent_channels_last(&x);
    eager_set_result(e, 0,
                     eager_launch_new(e, stacks ? "stack" : "cat", inputs, count, eager_promote(e, inputs, count), &x));
}

void lower_pad(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent from = tensor_extent(e, t), x = eager_output_extent(e, 0);
    str mode = node_attr_string(e->node, "mode", "constant");
    const node *reader = eager_reader_of(e, e->node->outputs[0]);
    if (!e->is_stated && reader && node_is(reader, "AveragePool") && e->readers[e->node->outputs[0]] == 1) {
        e->of_value[e->node->outputs[0]] = t; /* Exporters write a pad of width zero to count the border in the mean. */
        return;
    }
    static const char *const REFLECTIONS[] = {"reflection_pad1d", "reflection_pad2d", "reflection_pad3d"},
                             *const REPLICATIONS[] = {"replication_pad1d", "replication_pad2d", "replication_pad3d"};
    int spatial = x.rank <= 3 ? 0 : x.rank == 4 ? 1 : 2;
    const char *op = str_is(mode, "reflect") ? REFLECTIONS[spatial]
                     : str_is(mode, "edge")  ? REPLICATIONS[spatial]
                                             : "constant_pad_nd";
    if (str_is(mode, "constant") && extent_suggests_channels_last(&from))
        extent_channels_last(&x);
    eager_set_result(e, 0, eager_launch_new(e, op, &t, 1, tensor_dtype(e, t), &x));
}

void lower_tile(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent x = eager_output_extent(e, 0);
    eager_set_result(e, 0, eager_launch_new(e, "repeat", &t, 1, tensor_dtype(e, t), &x));
}

void lower_roll(eager *e)
{
    tensor_id t = eager_input_of(e, 0);
    extent x = eager_output_extent(e, 0);
    eager_set_result(e, 0, eager_launch_new(e, "roll", &t, 1, tensor_dtype(e, t), &x));
}

/* ---- rearrangements that a pass has recognised ------------------------------------------------------------------- */

/* Appends a view of rank 6, a permutation, and a reshape that copies. */
static void rearrange(eager *e, const int64_t *split, int rank, const int64_t *perm)
{
    extent x = eager_output_extent(e, 0);
    tensor_id t = eager_reshape(e, eager_input_of(e, 0), rank, split);
    t = eager_permute(e, t, perm);
    eager_set_result(e, 0, eager_reshape(e, t, x.rank, x.dims));
}

static void lower_windows(eager *e, const extent *from, const extent *to, const int64_t window[2])
{
    static const int64_t WINDOW[] = {0, 1, 3, 2, 4, 5}, GRID[] = {0, 2, 4, 1, 3, 5}, GRID_BACK[] = {0, 3, 1, 4, 2, 5};
    bool grid = node_attr_int(e->node, "grid", 0) != 0, divides = node_is(e->node, "WindowPartition");
    const extent *map = divides ? from : to; /* (N,H,W,C) */
    int64_t h = window[0], w = window[1], rows = map->dims[1] / h, columns = map->dims[2] / w;
    int64_t n = map->dims[0], c = map->dims[3];
    int64_t split[6] = {n, rows, h, columns, w, c};
    const int64_t *perm = WINDOW;
    if (divides && grid) {
        memcpy(split, (int64_t[6]){n, h, rows, w, columns, c}, sizeof split);
        perm = GRID;
    } else if (!divides && grid) {
        memcpy(split, (int64_t[6]){n, rows, columns, h, w, c}, sizeof split);
        perm = GRID_BACK;
    } else if (!divides) {
        memcpy(split, (int64_t[6]){n, rows, columns, h, w, c}, sizeof split);
    }
    rearrange(e, split, 6, perm);
}

void lower_rearrange(eager *e)
{
    const node *n = e->node;
    extent from = tensor_extent(e, eager_input_of(e, 0)), to = eager_output_extent(e, 0);
    int32_t count = 0;
    const int64_t *window = node_attr_ints(n, "window", &count);
    const extent *map = node_is(n, "WindowPartition") ? &from : &to;
    if (window && count == 2 && window[0] > 0 && window[1] > 0 && map->rank == 4) {
        lower_windows(e, &from, &to, window);
        return;
    }
    int64_t block = node_attr_int(n, node_is(n, "ChannelShuffle") ? "groups" : "blocksize", 0);
    if (block <= 0 || from.rank != 4 || to.rank != 4) {
        tensor_id t = eager_input_of(e, 0);
        eager_set_result(e, 0, eager_launch_new(e, "clone", &t, 1, tensor_dtype(e, t), &to));
        return;
    }
    const int64_t *d = from.dims;
    if (node_is(n, "ChannelShuffle")) {
        rearrange(e, (const int64_t[]){d[0], block, d[1] / block, d[2], d[3]}, 5, (const int64_t[]){0, 2, 1, 3, 4});
        return;
    }
    if (node_is(n, "PixelUnshuffle"))
        rearrange(e, (const int64_t[]){d[0], d[1], d[2] / block, block, d[3] / block, block}, 6,
                  (const int64_t[]){0, 1, 3, 5, 2, 4});
    else
        rearrange(e, (const int64_t[]){d[0], to.dims[1], block, block, to.dims[2] / block, to.dims[3] / block}, 6,
                  (const int64_t[]){0, 1, 4, 2, 5, 3});
}
