/* inductor_reduce.c: splits reductions with too few outputs to fill the device into several passes, as TorchInductor
 * does. */
#include "lower/fused/inductor.h"

enum { MAX_PASSES = 4, VARIANCE_PARTS = 3 /* mean, squares and count of Welford's method */ };

/* Returns the divisor of `n` that is nearest to `to`, if their distance is below `reach`; otherwise 0. */
static int64_t nearest_divisor(int64_t n, int64_t to, int64_t reach)
{
    for (int64_t gap = 0; gap < reach; gap++) {
        if (to > gap && n % (to - gap) == 0)
            return to - gap;
        if (n % (to + gap) == 0)
            return to + gap;
    }
    return 0;
}

/* True if there are at least `times_multiprocessors` for each multiprocessor. Narrows the program's range of
 * multiprocessor counts to those with the same answer. */
static bool is_at_least(inductor *c, int64_t number, int64_t times_multiprocessors)
{
    /* The largest multiprocessor count for which the answer is true. */
    int64_t own = c->options->multiprocessors, edge = number / times_multiprocessors;
    program *out = c->f.out;
    if (edge >= own && edge < out->most_multiprocessors)
        out->most_multiprocessors = (uint16_t)edge;
    if (edge < own && edge >= out->least_multiprocessors)
        out->least_multiprocessors = (uint16_t)(edge + 1);
    return edge >= own;
}

/* Returns the number of parts into which a reduction with few outputs is split to fill the device. Follows
 * reduction_split_factor() in PyTorch's torch/_inductor/choices.py: 256 threads per block, 2,048 threads per
 * multiprocessor, 32 to 512 elements per thread. A divisor of the reduced size replaces the best size if it is close
 * enough (30, 20 or 50). */
static int64_t split_factor(inductor *c, int64_t outputs, int64_t reduced, bool is_inner)
{
    const int64_t threads = 256, per_block = is_inner ? threads : 4, resident = 2048;
    int64_t all = mul_wrapping(outputs, reduced), size;
    if (is_inner && (reduced <= 8192 || is_at_least(c, outputs, 2)))
        return 1;
    if (!is_at_least(c, all, 32 * resident)) {
        size = 32;
    } else if (!is_at_least(c, all, 512 * resident)) {
        c->f.out->least_multiprocessors = c->f.out->most_multiprocessors = c->options->multiprocessors;
        int64_t target = c->options->multiprocessors * resident / (is_inner ? 2 * threads : threads);
        int64_t blocks = is_inner ? outputs : (outputs + 127) / 128;
        target = (target + blocks - 1) / blocks;
        int64_t wanted = (reduced + per_block * target - 1) / (per_block * target);
        int64_t closest = nearest_divisor(reduced, wanted, is_inner ? 30 : 20);
        size = closest == 0 ? wanted : closest > 32 ? closest : 32;
    } else {
        int64_t closest = nearest_divisor(reduced, 512, 50);
        size = closest == 0 ? 512 : closest;
    }
    return (reduced + per_block * size - 1) / (per_block * size);
}

/* True if most full-size reads of a reduction are contiguous. In later passes the loops are merged, so only the last
 * loop counts. */
static bool reads_inner(inductor *c, const read_list *l, int64_t elements, bool is_part)
{
    int inner = 0, outer = 0;
    for (int i = 0; i < l->count; i++) {
        const access *at = &l->items[i].at;
        if (at->is_scattered || access_touched(at) != elements)
            continue;
        access near = {.pieces = at->pieces + at->outer_count, .count = (int16_t)(at->count - at->outer_count)};
        access there = access_compose(c->arena, &near, &c->f.buffers.items[l->items[i].buffer].layout);
        bool steps = false;
        for (int k = is_part ? there.count - 1 : 0; k >= 0 && k < there.count; k++)
            steps |= there.pieces[k].stride == 1;
        inner += steps;
        outer += !steps;
    }
    return inner > outer;
}

static int64_t splits_of(inductor *c, const read_list *l, int64_t outputs, int64_t reduced, bool is_part)
{
    if (!c->options->multiprocessors)
        return 1;
    if (outputs == 1)
        return split_factor(c, outputs, reduced, true);
    if (reduced <= 32 || is_at_least(c, outputs, 2 * 32))
        return 1;
    return split_factor(c, outputs, reduced, reads_inner(c, l, mul_wrapping(outputs, reduced), is_part));
}

static void add_reduction(inductor *c, const fuse_node *shape, const read_list *l, const int32_t *writes, int count)
{
    fuse_node *n = inductor_add_node(c, FUSE_LOOP);
    n->elements = shape->elements;
    n->reduced = shape->reduced;
    n->reads = arena_copy(c->arena, l->items, (size_t)l->count, sizeof *l->items);
    n->read_count = l->count;
    n->ops = shape->ops;
    n->op_count = shape->op_count;
    n->flops = shape->flops;
    n->write_count = count;
    memcpy(n->writes, writes, (size_t)count * sizeof *writes);
}

/* Splits a reduction with few outputs into passes that reduce parts. Changes the reads and the shape to those of the
 * last pass. */
static bool split_reduction(inductor *c, fuse_node *shape, read_list *l, int parts, int depth)
{
    int64_t splits = splits_of(c, l, shape->elements, shape->reduced, depth > 0);
    if (splits <= 1 || depth == MAX_PASSES)
        return false;
    fuse_node first = *shape;
    first.elements = mul_wrapping(shape->elements, splits);
    first.reduced = (shape->reduced + splits - 1) / splits;
    bool is_last = !split_reduction(c, &first, l, parts, depth + 1);
    /* No other kernel has loops over these parts, so fusion with one is impossible. */
    for (int i = 0; is_last && i < l->count; i++)
        l->items[i].at.is_scattered = true;
    extent x = {.rank = 2, .dims = {shape->elements, splits}};
    extent_contiguous(&x);
    int32_t made[MAX_NODE_WRITES] = {0};
    for (int i = 0; i < parts; i++)
        made[i] = inductor_add_buffer(c, inductor_new_tensor(c, &x, DT_FLOAT32), c->f.nodes.count);
    add_reduction(c, &first, l, made, parts);
    l->count = 0;
    for (int i = 0; i < parts; i++) {
        piece loops[2] = {{shape->elements, splits}, {splits, 1}};
        access outer = access_of(c->arena, loops, 1), inner = access_of(c->arena, loops + 1, 1);
        inductor_add_read(l, (fuse_read){.buffer = made[i], .times = 1, .at = access_join(c->arena, &outer, &inner)});
    }
    shape->reduced = splits;
    shape->flops = 0;
    return true;
}

int32_t inductor_make_reduction(inductor *c, const char *op, const extent *full, const bool *is_reduced,
                                const extent *out, dtype type, const operand *in, int count, int output_count)
{
    int outer_dims[MAX_PLACED_RANK], inner_dims[MAX_PLACED_RANK], outer_count = 0, inner_count = 0;
    fuse_node shape = {.elements = 1, .reduced = 1};
    for (int i = 0; i < full->rank; i++) {
        if (is_reduced[i]) {
            inner_dims[inner_count++] = i;
            shape.reduced = mul_wrapping(shape.reduced, full->dims[i]);
        } else {
            outer_dims[outer_count++] = i;
            shape.elements = mul_wrapping(shape.elements, full->dims[i]);
        }
    }
    read_list l; /* Large, so only the first `count` entries are initialized. */
    l.count = 0;
    operand wide[MAX_OPERANDS];
    count = count < MAX_OPERANDS ? count : MAX_OPERANDS;
    shape.flops = c->k->flops;
    for (int i = 0; i < count; i++) {
        inductor_operand_broadcast(&wide[i], &in[i], full, full->rank - in[i].at.rank);
        access outer = inductor_walk_operand(c, &wide[i], outer_dims, outer_count),
               inner = inductor_walk_operand(c, &wide[i], inner_dims, inner_count);
        inductor_read_operand(c, &l, &wide[i], &outer, &inner, 1);
        const box *b = &c->boxes.items[in[i].box];
        shape.flops = add_saturated(shape.flops, b->buffer == NO_BOX ? b->flops : 0);
    }
    inductor_keep_ops(c, &shape.ops, &shape.op_count, op, in, count);
    bool is_variance =
        output_count == 2 && strcmp(op, "_softmax") != 0 && strcmp(op, "_log_softmax") != 0 && strcmp(op, "sum") != 0;
    split_reduction(c, &shape, &l, is_variance ? VARIANCE_PARTS : output_count, 0);
    int32_t first = c->boxes.count, node = c->f.nodes.count, writes[MAX_NODE_WRITES] = {0};
    for (int i = 0; i < output_count; i++) {
        bool may = output_count == 1 || output_count == c->k->output_count;
        tensor_id own = c->k->outputs[may ? i : 0];
        extent result = extent_of(tensor_at(c, own));
        bool is_result = may && tensor_at(c, own)->dtype == type && extent_elements(&result) == extent_elements(out);
        tensor_id t = is_result ? own : inductor_new_tensor(c, out, type);
        int32_t b = inductor_add_box(c, t);
        writes[i] = inductor_add_buffer(c, t, node);
        c->boxes.items[b].buffer = writes[i];
        c->boxes.items[b].is_computed = true;
        c->boxes.items[b].reads_all = c->boxes.items[b].op_total = 1;
    }
    add_reduction(c, &shape, &l, writes, output_count);
    return first;
}
