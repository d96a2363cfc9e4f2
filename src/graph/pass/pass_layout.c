/* pass_layout.c: recovers data movement (pixel and channel shuffle, window partition and reverse, roll) and global
 * pooling. */
#include "graph/infer.h"
#include "graph/pass/pass.h"

/* ---- a reshape, a transpose and a reshape ------------------------------------------------------------------------ */

typedef struct rearrangement {
    pass_group group;
    node *middle;
    value_id input, output;
    const num *split; /* dimensions after the first reshape */
    const int64_t *perm;
    int rank;
} rearrangement;

static bool read_rearrangement(pass_context *p, node *transpose, rearrangement *r)
{
    *r = (rearrangement){.middle = transpose};
    group_add(&r->group, transpose);
    node *before = pass_producer(p, transpose, 0, "Reshape");
    node *after = pass_only_reader(p, transpose->outputs[0]);
    int32_t count;
    r->perm = node_attr_ints(transpose, "perm", &count);
    const value *split = pass_value(p, transpose->inputs[0]);
    if (!before || !after || !pass_is(after, "Reshape") || !r->perm || split->rank != count)
        return false;
    group_add(&r->group, before);
    group_add(&r->group, after);
    r->input = before->inputs[0];
    r->output = after->outputs[0];
    r->split = split->dims;
    r->rank = count;
    return pass_value(p, r->input)->rank >= 1 && pass_value(p, r->output)->rank >= 1;
}

static bool permutes(const rearrangement *r, const int64_t *perm, int rank)
{
    return r->rank == rank && memcmp(r->perm, perm, (size_t)rank * sizeof *perm) == 0;
}

static node *replace(pass_context *p, const rearrangement *r, const char *name)
{
    return pass_replace_group(p, &r->group, r->middle, name, &r->input, 1, r->output);
}

/* Matches (N,C·r·r,H,W) ↔ (N,C,H·r,W·r), and the channel shuffle (N,g·C,H,W) with interleaved groups. */
static void try_pixel_shuffle(pass_context *p, const rearrangement *r)
{
    static const int64_t SHUFFLE[] = {0, 1, 4, 2, 5, 3}, UNSHUFFLE[] = {0, 1, 3, 5, 2, 4}, CHANNELS[] = {0, 2, 1, 3, 4};
    const value *x = pass_value(p, r->input), *y = pass_value(p, r->output);
    if (x->rank != 4 || y->rank != 4 || x->dims[0] != r->split[0])
        return;
    node *made = NULL;
    num block = NUM_UNKNOWN;
    if (permutes(r, SHUFFLE, 6) && r->split[2] == r->split[3] && y->dims[1] == r->split[1]) {
        block = r->split[2];
        made = replace(p, r, "DepthToSpace");
        if (made)
            pass_attr_string(p, made, "mode", "CRD");
    } else if (permutes(r, UNSHUFFLE, 6) && r->split[3] == r->split[5] && x->dims[1] == r->split[1]) {
        block = r->split[3];
        made = replace(p, r, "PixelUnshuffle");
    } else if (permutes(r, CHANNELS, 5) && pass_same_shape(p, r->input, r->output)) {
        block = r->split[1];
        made = replace(p, r, "ChannelShuffle");
    }
    if (made && num_known(block))
        pass_attr_int(p, made, pass_is(made, "ChannelShuffle") ? "groups" : "blocksize", block);
}

void pass_pixel_shuffle(pass_context *p)
{
    rearrangement r;
    PASS_FOR_EACH (p, n, "Transpose")
        if (read_rearrangement(p, n, &r))
            try_pixel_shuffle(p, &r);
}

static bool is_product(pass_context *p, num whole, num a, num b)
{
    return whole != NUM_UNKNOWN && whole == num_mul(&p->net->nums, a, b);
}

/* Matches (N,H,W,C) → (N·windows,h,w,C) and its reverse. Windows swap the middle axes of (N,H/h,h,W/w,w,C); MaxViT's
 * grids go through (N,h,H/h,w,W/w,C). A window over the whole map counts too, although it moves nothing. */
static void try_windows(pass_context *p, const rearrangement *r)
{
    static const int64_t WINDOW[] = {0, 1, 3, 2, 4, 5}, GRID[] = {0, 2, 4, 1, 3, 5}, GRID_BACK[] = {0, 3, 1, 4, 2, 5};
    const value *x = pass_value(p, r->input), *y = pass_value(p, r->output);
    bool is_grid = permutes(r, GRID, 6), is_grid_back = permutes(r, GRID_BACK, 6);
    if (!permutes(r, WINDOW, 6) && !is_grid && !is_grid_back)
        return;
    const num *s = r->split;
    bool divides = !is_grid_back && x->rank == 4 && x->dims[0] == s[0] && is_product(p, x->dims[1], s[1], s[2]) &&
                   is_product(p, x->dims[2], s[3], s[4]);
    const int *rows = is_grid_back ? (const int[]){3, 1} : (const int[]){1, 3};
    const int *columns = is_grid_back ? (const int[]){4, 2} : (const int[]){2, 4};
    bool joins = !is_grid && y->rank == 4 && y->dims[0] == s[0] && is_product(p, y->dims[1], s[rows[0]], s[rows[1]]) &&
                 is_product(p, y->dims[2], s[columns[0]], s[columns[1]]);
    if (!divides && !joins)
        return;
    int64_t size[2] = {s[divides ? 2 : 3], s[4]};
    if (is_grid) {
        size[0] = s[1];
        size[1] = s[3];
    }
    node *made = replace(p, r, divides ? "WindowPartition" : "WindowReverse");
    if (!made)
        return;
    if (num_known(size[0]) && num_known(size[1]))
        pass_attr_ints(p, made, "window", size, 2);
    if (is_grid || is_grid_back)
        pass_attr_int(p, made, "grid", 1);
}

void pass_windows(pass_context *p)
{
    rearrangement r;
    PASS_FOR_EACH (p, n, "Transpose")
        if (read_rearrangement(p, n, &r))
            try_windows(p, &r);
}

/* ---- roll -------------------------------------------------------------------------------------------------------- */

/* Reads a Slice of one axis with step 1. */
static bool slice_axis(pass_context *p, const node *n, num *start, num *end, num *axis)
{
    num found[4] = {0, 0, 0, 1};
    if (n->input_count < 4)
        return false;
    for (int32_t i = 1; i < n->input_count && i <= 4; i++) {
        int32_t count;
        value *v = n->inputs[i] == NO_VALUE ? NULL : &p->net->values.items[n->inputs[i]];
        const num *ints = v ? value_ints(p->net, v, &count) : NULL;
        if (!ints || count != 1 || !num_known(ints[0]))
            return false;
        found[i - 1] = ints[0];
    }
    *start = found[0];
    *end = found[1];
    *axis = found[2];
    return found[3] == 1;
}

/* Matches Concat(x[k:], x[:k]). */
static void try_roll(pass_context *p, node *concat)
{
    pass_group g = {.count = 0};
    group_add(&g, concat);
    node *tail = pass_producer(p, concat, 0, "Slice"), *head = pass_producer(p, concat, 1, "Slice");
    num starts[2], ends[2], axes[2];
    if (!tail || !head || tail->inputs[0] != head->inputs[0] || !slice_axis(p, tail, &starts[0], &ends[0], &axes[0]) ||
        !slice_axis(p, head, &starts[1], &ends[1], &axes[1]) || axes[0] != axes[1])
        return;
    value_id x = tail->inputs[0];
    const value *v = pass_value(p, x);
    num axis = node_attr_int(concat, "axis", 0);
    if (v->rank < 1 || (axis < 0 ? axis + v->rank : axis) != (axes[0] < 0 ? axes[0] + v->rank : axes[0]))
        return;
    num length = pass_dim(p, x, (int)axis);
    if (starts[1] != 0 || starts[0] != ends[1] || !num_known(length) || ends[0] < length)
        return;
    group_add(&g, tail);
    group_add(&g, head);
    num shift = starts[0] < 0 ? -starts[0] : length - starts[0];
    node *made = pass_replace_group(p, &g, concat, "Roll", &x, 1, concat->outputs[0]);
    if (made) {
        pass_attr_ints(p, made, "axes", &axis, 1);
        pass_attr_ints(p, made, "shifts", &shift, 1);
    }
}

/* Merges two concatenations, because torch.roll over two dimensions is one call. */
static void try_double_roll(pass_context *p, node *second)
{
    node *first = pass_producer(p, second, 0, "Roll");
    int32_t counts[2];
    if (!first)
        return;
    const int64_t *axes[2] = {node_attr_ints(first, "axes", &counts[0]), node_attr_ints(second, "axes", &counts[1])};
    const int64_t *shifts[2] = {node_attr_ints(first, "shifts", &counts[0]),
                                node_attr_ints(second, "shifts", &counts[1])};
    if (counts[0] != 1 || counts[1] != 1 || axes[0][0] == axes[1][0])
        return;
    int64_t both_axes[2] = {axes[0][0], axes[1][0]}, both_shifts[2] = {shifts[0][0], shifts[1][0]};
    pass_group g = {.count = 0};
    group_add(&g, first);
    group_add(&g, second);
    node *made = pass_replace_group(p, &g, second, "Roll", &first->inputs[0], 1, second->outputs[0]);
    if (made) {
        pass_attr_ints(p, made, "axes", both_axes, 2);
        pass_attr_ints(p, made, "shifts", both_shifts, 2);
    }
}

void pass_roll(pass_context *p)
{
    PASS_FOR_EACH (p, n, "Concat")
        if (n->input_count == 2)
            try_roll(p, n);
    PASS_FOR_EACH (p, n, "Roll")
        try_double_roll(p, n);
}

/* ---- global pooling ---------------------------------------------------------------------------------------------- */

/* True if v comes from a channels-last layer through pointwise operators, pads and concatenations only. */
static bool has_channels_last(pass_context *p, value_id v)
{
    enum { MAX_STEPS = 32 };
    for (int step = 0; step < MAX_STEPS; step++) {
        const node *n = pass_maker(p, pass_origin(p, v));
        if (!n || !n->op)
            return false;
        if (n->op->kind == OP_CONV || n->op->kind == OP_POOL || n->op->kind == OP_NORM)
            return node_attr_int(n, "channels_last", 0) != 0;
        bool keeps_places = n->op->kind == OP_POINTWISE || node_is(n, "Concat") || node_is(n, "Pad");
        if (!keeps_places || n->input_count < 1 || n->inputs[0] == NO_VALUE)
            return false;
        bool is_second = n->input_count > 1 && n->inputs[1] != NO_VALUE && p->is_static[n->inputs[0]];
        v = n->inputs[is_second ? 1 : 0];
    }
    return false;
}

/* Mean over height and width of (N,C,H,W) or (N,H,W,C). PyTorch runs AdaptiveAvgPool2d(1) and x.mean((2, 3)) alike,
 * but only the module sets the strides of its result. The attribute `mean` marks x.mean. */
void pass_global_pool(pass_context *p)
{
    PASS_FOR_EACH (p, n, "ReduceMean") {
        int64_t axes[MAX_RANK];
        if (pass_axes(p, n, axes) != 2 || pass_value(p, n->inputs[0])->rank != 4 || p->is_static[n->inputs[0]])
            continue;
        bool is_first = axes[0] == 2 && axes[1] == 3;
        bool is_last = axes[0] == 1 && axes[1] == 2 && has_channels_last(p, n->inputs[0]);
        if (!is_first && !is_last)
            continue;
        int64_t keepdims = node_attr_int(n, "keepdims", 1);
        pass_group g = {.count = 0};
        group_add(&g, n);
        node *made = pass_replace_group(p, &g, n, "GlobalAveragePool", &n->inputs[0], 1, n->outputs[0]);
        if (made)
            pass_attr_int(p, made, "mean", 1);
        if (made && !keepdims)
            pass_attr_int(p, made, "keepdims", 0);
        if (made && is_last)
            pass_attr_int(p, made, "channels_last", 1);
    }
}
